"""`unbloat attach` and `detach`, which give the processes of a control group their congestion control; with root."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import UNBLOAT, Sandbox, statuses
from sentences import stderr_of

pytest_plugins = ["kernel_sandbox"]

CONTROLS_OF_BOTH_ENDS = """
import socket
def control(end): return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode()
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()) as client, server.accept()[0] as accepted:
        print(control(client), control(accepted))
"""


@pytest.fixture
def group(name: str) -> Iterator[Path]:
    """Make a control group of the test's own."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    root = next(Path(mount) for _, mount, kind, *_ in mounts if kind == "cgroup2")
    folder = root / f"{name}.slice"
    folder.mkdir()
    yield folder
    folder.rmdir()


def inside(group: Path, *command: object) -> list[object]:
    """Give the command that runs another in a group."""
    return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, *command]


def both_ends_in(sandbox: Sandbox) -> Callable[..., list[str]]:
    """Connect over the sandbox's loopback, by a program started through `prefix`; give the controls of both ends."""
    sandbox("ip", "link", "set", "lo", "up")
    return lambda *prefix: sandbox(*prefix, sys.executable, "-c", CONTROLS_OF_BOTH_ENDS).stdout.split()


def test_connections_of_a_control_group_get_the_control_attached_to_it(
    sandbox: Sandbox, unbloat: Sandbox, name: str, group: Path
) -> None:
    both_ends = both_ends_in(sandbox)
    default = both_ends()
    assert len(default) == 2 and unbloat("load", "vegas", "--as", name).returncode == 0
    done = unbloat("attach", name, group.name)
    assert (done.stdout, done.stderr) == (f"every new connection of {group} gets {name}\n", "")
    assert both_ends(*inside(group)) == [name, name]
    assert both_ends() == default
    assert [status["cgroups"] for status in statuses(unbloat, name)] == [[str(group)]]

    # Another in its place, by a program of the group about itself.
    again = sandbox(*inside(group, *UNBLOAT, "attach", "reno", "--json"))
    assert json.loads(again.stdout) == {"control": "reno", "cgroup": str(group)}
    assert both_ends(*inside(group)) == ["reno", "reno"]
    assert unbloat("detach", group).stdout.replace(str(group), "GROUP") == snapshot(
        "new connections of GROUP no longer get reno\n"
    )
    assert both_ends(*inside(group)) == default

    assert unbloat("attach", name, group).returncode == 0
    unloaded = unbloat("unload", name)
    assert unloaded.stdout.splitlines()[1:] == [f"new connections of {group} no longer get it"], unloaded
    assert both_ends(*inside(group)) == default
    assert sandbox("ls", "/sys/fs/bpf/unbloat-cgroups", "/run/unbloat-cgroups").stdout == ""


def test_what_belongs_to_a_group_that_is_no_more_goes_with_the_next_command(
    sandbox: Sandbox, unbloat: Sandbox, name: str, group: Path
) -> None:
    short = group / "short"
    short.mkdir()
    assert unbloat("attach", "reno", short).returncode == 0
    assert len(sandbox("ls", "/sys/fs/bpf/unbloat-cgroups").stdout.split()) == 1
    assert [status["cgroups"] for status in statuses(unbloat, "reno")] == [[str(short)]]
    short.rmdir()
    assert not statuses(unbloat, "reno")
    assert sandbox("ls", "/sys/fs/bpf/unbloat-cgroups", "/run/unbloat-cgroups").stdout == ""

    short.mkdir()
    assert unbloat("attach", "reno", short).returncode == 0
    short.rmdir()
    assert unbloat("attach", "reno", group).returncode == 0
    number = str(group.stat().st_ino)
    assert sandbox("ls", "/sys/fs/bpf/unbloat-cgroups").stdout.split() == [number]
    assert sandbox("ls", "/run/unbloat-cgroups").stdout.split() == [f"{number}.json"]
    assert unbloat("detach", group).returncode == 0


@pytest.mark.parametrize("first", ["outer", "inner"])
def test_the_innermost_group_s_control_counts(
    sandbox: Sandbox, unbloat: Sandbox, name: str, group: Path, first: str
) -> None:
    both_ends, inner = both_ends_in(sandbox), group / "inner"
    inner.mkdir()
    try:
        assert unbloat("load", "vegas", "--as", name).returncode == 0
        for outside, within in [(name, "reno"), ("reno", name)]:
            order = {"outer": (outside, group), "inner": (within, inner)}
            for _, (control, place) in sorted(order.items(), reverse=first == "outer"):
                assert unbloat("attach", control, place).returncode == 0
            assert both_ends(*inside(group)) == [outside, outside]
            assert both_ends(*inside(inner)) == [within, within]
            assert unbloat("detach", inner).returncode == 0
            assert both_ends(*inside(inner)) == [outside, outside]
            assert unbloat("detach", group).returncode == 0
        assert unbloat("unload", name).returncode == 0
    finally:
        inner.rmdir()


def test_the_kernel_s_own_control_of_a_group_is_shown(unbloat: Sandbox, group: Path) -> None:
    assert unbloat("attach", "reno", group).returncode == 0
    (status,) = statuses(unbloat, "reno")
    assert (status["held_by"], status["sockets"], status["cgroups"]) == ("kernel", None, [str(group)])
    line = next(line for line in unbloat("status").stdout.splitlines() if line.startswith("reno "))
    assert line.split() == ["reno", "-", "kernel", "-", str(group)] or line.split()[-1] == str(group)
    assert unbloat("detach", group).returncode == 0
    assert not statuses(unbloat, "reno")


def test_everyone_is_meant_only_where_it_is_said(sandbox: Sandbox, unbloat: Sandbox, group: Path) -> None:
    own = sandbox(*inside(group.parent, *UNBLOAT, "attach", "reno"))
    assert own.returncode == 2
    assert stderr_of(own).replace(str(group.parent), "GROUP") == snapshot(
        "unbloat: the group that this command runs in, GROUP, is the root with every process of the machine: name another group, or add --everyone"
    )
    for named in (group.parent, "/"):
        done = unbloat("attach", "reno", named)
        assert done.returncode == 2
        assert stderr_of(done).replace(str(group.parent), "GROUP") == snapshot(
            "unbloat: this group, GROUP, is the root with every process of the machine: name another group, or add --everyone"
        )
    assert unbloat("attach", "reno", group, "--everyone").returncode == 2
    assert not sandbox("ls", "/sys/fs/bpf/unbloat-cgroups").stdout

    # Before the namespace is made: what is mounted within it goes with it.
    sandbox("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    # The root of a namespace of control groups, which for this machine is only the test's group.
    only_here = 'umount --all --types cgroup2; mount -t cgroup2 none "$0" && exec "$@"'
    namespace = ["unshare", "--cgroup", "--mount", "sh", "-c", only_here, group.parent]
    done = sandbox(*inside(group, *namespace, *UNBLOAT, "attach", "reno", "--everyone"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(str(group.parent), "GROUP") == snapshot("every new connection of GROUP gets reno\n")
    assert both_ends_in(sandbox)(*inside(group)) == ["reno", "reno"]
    done = sandbox(*inside(group, *namespace, *UNBLOAT, "detach", "--everyone"))
    assert done.returncode == 0, done.stderr


def test_the_recipe_for_one_program(sandbox: Sandbox, unbloat: Sandbox, name: str, group: Path) -> None:
    """As docs/how-to/backup.md has it, but for the names, the program, and that these tests are root already."""
    text = (Path(__file__).parents[1] / "docs/how-to/backup.md").read_text()
    (script,) = re.findall(r"## One program, once\n.*?```sh\nsudo sh -c '(.*?)'\n```", text, flags=re.DOTALL)
    program = f"{sys.executable} -c '{CONTROLS_OF_BOTH_ENDS}'"
    changes = {
        "/lowly": f"/{group.name}",
        "unbloat attach clpc": f"{' '.join(UNBLOAT)} attach {name}",
        'runuser -u "$SUDO_USER" -- rsync -a photos/ backup.example.net:photos/': program,
    }
    for what, other in changes.items():
        assert what in script
        script = script.replace(what, other)
    sandbox("ip", "link", "set", "lo", "up")
    assert unbloat("load", "vegas", "--as", name).returncode == 0
    done = sandbox("sh", "-c", script)
    assert done.stdout.splitlines()[-1:] == [f"{name} {name}"], done.stderr
    assert done.stdout.splitlines()[0].replace(str(group), "GROUP").replace(name, "NAME") == snapshot(
        "every new connection of GROUP gets NAME"
    )
    assert unbloat("unload", name).returncode == 0
