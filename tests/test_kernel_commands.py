"""`unbloat load`, `unload` and `status` on the running kernel: these tests need root."""

import json
import os
import socket
import sys
from pathlib import Path
from threading import Event, Thread

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import Done, Sandbox, as_nobody, statuses
from leftovers import wait_until
from sentences import stderr_of

pytest_plugins = ["kernel_sandbox"]

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

USERS_FILE = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
const volatile __u32 gain = 1;
SEC("struct_ops") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked)
{
	BODY
}
SEC("struct_ops") __u32 BPF_PROG(keep, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC("struct_ops") __u32 BPF_PROG(undo, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC(".struct_ops")
struct tcp_congestion_ops mine = {
	.cong_avoid = (void *)grow, .ssthresh = (void *)keep, .undo_cwnd = (void *)undo, .name = "NAME"
};
char _license[] SEC("license") = "GPL";
"""


def offered(name: str) -> bool:
    return name in AVAILABLE.read_text().split()


def connection(name: str) -> tuple[socket.socket, socket.socket]:
    """Connect over the loopback, with a congestion control at the one end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        return sender, server.accept()[0]


def transfer(sender: socket.socket, receiver: socket.socket, count: int) -> None:
    """Send so many times 64 kB, one after the other."""
    block = bytes(65536)
    for _ in range(count):
        sender.sendall(block)
        assert len(receiver.recv(65536, socket.MSG_WAITALL)) == len(block)


def users_file(folder: Path, name: str, body: str = "tcp_sk(sk)->snd_cwnd += gain;") -> Path:
    file = folder / "mine.bpf.c"
    file.write_text(USERS_FILE.replace("NAME", name).replace("BODY", body))
    return file


def test_a_loaded_control_stays_until_it_is_unloaded(sandbox: Sandbox, unbloat: Sandbox, name: str) -> None:
    done = unbloat("load", "cubic_plus", "--as", name, "--param", "threshold=25ms")
    assert (done.returncode, done.stderr) == (0, "")
    first, parameters = done.stdout.splitlines()
    assert first.replace(name, "NAME") == snapshot("loaded cubic_plus as NAME")
    assert "threshold = 25ms" in parameters and "theta = 90%" in parameters
    assert offered(name)

    sender, receiver = connection(name)
    with sender, receiver:
        assert sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == name.encode()
        transfer(sender, receiver, 20)
    assert sandbox("ls", "/sys/fs/bpf/unbloat").stdout.split() == [name]

    (status,) = statuses(unbloat, name)
    assert (status["held_by"], status["source"], status["is_default"]) == ("pin", "cubic_plus", False)
    assert isinstance(status["parameters"], dict) and status["parameters"]["threshold"] == "25ms"

    done = unbloat("unload", name)
    assert (done.returncode, done.stdout.replace(name, "NAME")) == (0, snapshot("the kernel no longer offers NAME\n"))
    assert not offered(name) and not statuses(unbloat, name)
    # Some kernels put files of their own there.
    left = set(sandbox("ls", "/sys/fs/bpf", "/run").stdout.split())
    assert {"/run:", "/sys/fs/bpf:"} <= left <= {"/run:", "/sys/fs/bpf:", "maps.debug", "progs.debug"}


def test_a_name_with_dots(unbloat: Sandbox, name: str) -> None:
    name = f"{name}.b"
    assert unbloat("load", "reno", "--as", name).returncode == 0
    assert [status["held_by"] for status in statuses(unbloat, name)] == ["pin"]
    done = unbloat("unload", name)
    assert (done.returncode, done.stdout.replace(name, "NAME")) == (0, snapshot("the kernel no longer offers NAME\n"))


def test_nobody_else_may_touch_the_pins(sandbox: Sandbox, unbloat: Sandbox, name: str) -> None:
    assert unbloat("load", "reno", "--as", name).returncode == 0
    assert sandbox("stat", "--format", "%A", "/sys/fs/bpf").stdout == "drwx-----T\n"
    assert unbloat("unload", name).returncode == 0


def test_a_control_in_use_is_not_unloaded_but_drained(unbloat: Sandbox, name: str) -> None:
    assert unbloat("load", "reno", "--as", name).returncode == 0
    sender, receiver = connection(name)
    with sender, receiver:
        (status,) = statuses(unbloat, name)
        assert status["sockets"] == 1
        refused = unbloat("unload", name)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert stderr_of(refused).replace(name, "NAME") == snapshot(
            "unbloat: NAME is in use by 1 socket: close them, or add --drain, which lets them keep it until they close"
        )
        assert offered(name)

        drained = json.loads(unbloat("unload", name, "--drain", "--json").stdout)
        assert drained == {
            "name": name,
            "draining": 1,
            "default_is_restored": False,
            "default_now": None,
            "cgroups": [],
            "unit": None,
        }
        assert not offered(name)
        # The kernel counts its own reference until the link's end is complete.
        wait_until(lambda: [(each["held_by"], each["sockets"]) for each in statuses(unbloat, name)] == [("sockets", 1)])
        transfer(sender, receiver, 20)
    assert not statuses(unbloat, name)


def test_the_default_is_put_back(sandbox: Sandbox, unbloat: Sandbox, name: str) -> None:
    def default() -> str:
        return sandbox("cat", "/proc/sys/net/ipv4/tcp_congestion_control").stdout.strip()

    before = default()
    done = unbloat("load", "bbr", "--as", name, "--default")
    assert done.stdout.splitlines()[-1].replace(before, "BEFORE") == snapshot(
        "new connections use it by default (before: BEFORE)"
    )
    assert default() == name
    (status,) = statuses(unbloat, name)
    assert (status["is_default"], status["sockets"]) == (True, 0)
    assert json.loads(unbloat("unload", name, "--json").stdout)["default_now"] == before
    assert default() == before

    # One that not everybody may choose is nobody's default in a namespace; nothing of it stays.
    done = unbloat("load", "reno", "--as", name, "--default")
    assert done.returncode == 1
    assert stderr_of(done).replace(name, "NAME") == snapshot(
        "unbloat: NAME cannot be the default here: in another network namespace than the machine's first, a default needs the flag TCP_CONG_NON_RESTRICTED"
    )
    assert not offered(name) and not statuses(unbloat, name) and default() == before


def test_the_default_is_put_back_past_a_control_that_has_gone(sandbox: Sandbox, unbloat: Sandbox, name: str) -> None:
    def default() -> str:
        return sandbox("cat", "/proc/sys/net/ipv4/tcp_congestion_control").stdout.strip()

    # Not the one that is taken where nothing is known.
    sandbox("sh", "-c", "echo reno >/proc/sys/net/ipv4/tcp_congestion_control")
    lower, upper = f"{name}a", f"{name}b"
    for control in (lower, upper):
        assert unbloat("load", "bbr", "--as", control, "--default").returncode == 0
    assert unbloat("unload", lower).returncode == 0
    assert default() == upper
    assert unbloat("unload", upper).stdout.splitlines()[1:] == [snapshot("every new connection gets reno again")]
    assert default() == "reno"

    assert unbloat("load", "bbr", "--as", name, "--default").returncode == 0
    sandbox("sh", "-c", f"echo '{{' >/run/unbloat/{name}.json")
    done = unbloat("unload", name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == snapshot(
        "every new connection gets reno; what it was before is not known, or gone"
    )


def test_what_its_calls_cost(unbloat: Sandbox, name: str) -> None:
    assert unbloat("load", "cubic", "--as", name).returncode == 0
    sender, receiver = connection(name)
    with sender, receiver:
        stop = Event()

        def keep_sending() -> None:
            while not stop.is_set():
                transfer(sender, receiver, 1)

        traffic = Thread(target=keep_sending)
        traffic.start()
        try:
            (status,) = statuses(unbloat, name, "--measure", "300ms")
            table = unbloat("status", "--measure", "100ms").stdout
        finally:
            stop.set()
            traffic.join()
    assert isinstance(status["callbacks"], list)
    calls = {each["callback"]: each for each in status["callbacks"]}
    assert {"cong_avoid", "pkts_acked", "ssthresh", "init"} <= calls.keys()
    assert calls["cong_avoid"]["calls"] > 10
    assert 1 < calls["cong_avoid"]["ns_per_call"] < 100_000
    assert (calls["init"]["calls"], calls["init"]["ns_per_call"]) == (0, None)
    measured = {line.split()[1] for line in table.splitlines() if line.startswith(f"{name} ")}
    assert "a call" in table and "cong_avoid" in measured and "init" not in measured


def test_a_users_file(unbloat: Sandbox, tmp_path: Path, name: str) -> None:
    file = users_file(tmp_path, name)
    loaded = json.loads(unbloat("load", "mine.bpf.c", "--param", "gain=3", "--json").stdout)
    assert loaded == {
        "name": name,
        "source": "mine.bpf.c",
        "parameters": {"gain": "3"},
        "default_before": None,
        "unit": None,
    }
    assert unbloat("unload", name).returncode == 0
    assert json.loads(unbloat("load", f"{file}#mine", "--as", f"{name}a", "--json").stdout)["name"] == f"{name}a"


def test_what_the_verifier_says(unbloat: Sandbox, tmp_path: Path, name: str) -> None:
    # Past the compiler, for which the member is constant.
    users_file(tmp_path, name, "*(__u32 *)&tcp_sk(sk)->snd_una = ack;")
    refused = unbloat("load", "./mine.bpf.c")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert refused.stderr.startswith(
        "unbloat: the kernel's verifier refuses ./mine.bpf.c: grow: no write support to tcp_sock"
    )
    assert all(option in refused.stderr for option in ("--verbose", "--log FILE"))
    verbose = unbloat("load", "./mine.bpf.c", "--verbose").stderr
    assert "BEGIN PROG LOAD LOG" in verbose and "no write support to tcp_sock" in verbose.splitlines()[-1]
    assert unbloat("load", "./mine.bpf.c", "--log", "verifier.log").returncode == 2
    assert "BEGIN PROG LOAD LOG" in (tmp_path / "verifier.log").read_text()


def test_at_boot(sandbox: Sandbox, installed: Sandbox, tmp_path: Path, name: str) -> None:
    (tmp_path / "gain.h").write_text("const volatile __u32 more = 1;\n")
    file = users_file(tmp_path, "some_name")
    file.write_text(file.read_text().replace("const volatile", '#include "gain.h"\nconst volatile', 1))
    path = f"/etc/systemd/system/unbloat-{name}.service"
    sandbox("mkdir", "-p", "/var/lib/unbloat")
    done = installed("load", "./mine.bpf.c", "--as", name, "--param", "gain=2", "--persist")
    assert done.stdout.splitlines()[-1:] == [
        f"wrote {path}; systemd does not run here: enable it with systemctl enable unbloat-{name}.service"
    ], done.stderr
    unit = sandbox("cat", path).stdout
    copy = f"/var/lib/unbloat/{name}{file}"
    program = f"{sys.executable} -m unbloat"
    assert f"ExecStart={program} load {copy} --as {name} --param gain=2\n" in unit
    assert f"ExecStop={program} unload {name} --drain --keep-unit\n" in unit
    assert sandbox("cat", copy).stdout == file.read_text()
    # What the user does with the file afterwards makes no difference at the next boot, nor can others change the copy.
    file.write_text("nonsense\n")
    assert sandbox("stat", "--format", "%U %a", copy).stdout == "root 644\n"

    # The unit's own commands: stop leaves the unit, start brings the control back.
    def do(what: str) -> Done:
        (command,) = [line.partition("=")[2] for line in unit.splitlines() if line.startswith(f"{what}=")]
        return sandbox(*command.split(), PYTHONPATH=str(tmp_path / "lib"))

    for _ in range(2):
        assert do("ExecStop").returncode == 0
        assert not offered(name)
        started = do("ExecStart")
        assert (started.returncode, offered(name)) == (0, True), started.stderr
    assert sandbox("cat", path).stdout == unit

    assert installed("unload", name).stdout.splitlines()[-1] == f"removed {path}"
    assert (
        not sandbox("ls", "/etc/systemd/system", "/var/lib/unbloat")
        .stdout.replace("/etc/systemd/system:", "")
        .replace("/var/lib/unbloat:", "")
        .strip()
    )
    # A unit whose control did not come up can be removed too.
    sandbox("touch", path)
    assert installed("unload", name).stdout.replace(str(path), "UNIT").replace(name, "NAME") == snapshot(
        "NAME was not loaded; removed UNIT\n"
    )
    sandbox("touch", path)
    assert json.loads(installed("unload", name, "--json").stdout) == {"name": name, "unit": path}


def test_what_is_loaded_can_be_kept_for_the_next_boot(sandbox: Sandbox, installed: Sandbox, name: str) -> None:
    """Before, it had to be unloaded first, which is refused while sockets use it."""
    assert installed("load", "cubic_plus", "--as", name, "--param", "threshold=25ms").returncode == 0
    path = f"/etc/systemd/system/unbloat-{name}.service"
    done = installed("load", "cubic_plus", "--as", name, "--persist")
    assert done.stdout.replace(str(path), "UNIT").replace(name, "NAME") == snapshot("""\
the kernel has it already
wrote UNIT; systemd does not run here: enable it with systemctl enable unbloat-NAME.service
"""), done.stderr
    unit = sandbox("cat", path).stdout
    assert f"load cubic_plus --as {name} " in unit and "--param threshold=25ms" in unit
    assert installed("unload", name).returncode == 0
    (command,) = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("ExecStart=")]
    words = [word.replace("%%", "%") for word in command.split()[3:]]
    done = installed(*words)
    assert done.returncode == 0 and "threshold = 25ms" in done.stdout, done.stderr
    assert installed("unload", name).returncode == 0


def test_no_unit_runs_from_a_checkout(sandbox: Sandbox, unbloat: Sandbox, name: str) -> None:
    """It may be moved, changed or deleted, and root would run what is there then."""
    done = unbloat("load", "reno", "--as", name, "--persist")
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == snapshot(
        "unbloat: --persist: this unbloat runs from the checkout ROOT, which may be gone at the next boot: `sudo make install` there, then load it with /usr/local/bin/unbloat"
    )
    assert not offered(name) and not sandbox("ls", "/etc/systemd/system").stdout


def test_at_boot_with_systemd(sandbox: Sandbox, installed: Sandbox, tmp_path: Path, name: str) -> None:
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n')
    systemctl.chmod(0o755)
    sandbox("mkdir", "-p", "/run/systemd/system")
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = installed("load", "reno", "--as", name, "--persist", PATH=path)
    assert done.stdout.splitlines()[-1].replace(name, "NAME") == snapshot(
        "wrote and enabled /etc/systemd/system/unbloat-NAME.service"
    ), done.stderr
    assert installed("unload", name, PATH=path).returncode == 0
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [f"--quiet enable unbloat-{name}.service", f"--quiet disable unbloat-{name}.service"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["load", "cubic_pluss"],
            snapshot("unbloat: unknown name cubic_pluss (did you mean cubic_plus?); `unbloat list` shows all"),
        ),
        (["load", "./nowhere.bpf.c"], snapshot("unbloat: the file ./nowhere.bpf.c does not exist")),
        (
            ["load", "vegas_plus", "--param", "a=1"],
            snapshot(
                "unbloat: vegas_plus has no parameter a; valid: alpha (1 to 10000; 2), beta (1 to 10000; 4), cut_rounds (0 to 3; 0), cut_while_high (true or false; true), eps (0 to 1s; 0), eps_shift (0 to 31; 10), exit_ss_on_serious (true or false; true), gamma (0 to 10000; 1), gate_slow_start (true or false; true), kept (1% to 100%; 50%), period (0 to 10s; 0), period_from_start (true or false; true), queued_over_rtt (true or false; false), reset_max_rtt (true or false; false), serious_needs_jitter (true or false; true), shift_epoch_on_hold (true or false; true), slow_start_every_second (true or false; false), theta (1% to 100%; 90%), threshold (0 to 10s; 0), u_hi (0% to 99%; 99%)"
            ),
        ),
        (
            ["load", "cubic_plus", "--param", "theta=150%"],
            snapshot('unbloat: cubic_plus cannot be set up: theta must be from 1% to 100%, not "150%"'),
        ),
        (
            ["load", "reno", "--as", "sixteen_letters_"],
            snapshot(
                'unbloat: "sixteen_letters_" cannot name a congestion control: a name has 1 to 15 characters, which are ASCII letters, digits, "_" and ".", but not dots alone'
            ),
        ),
        (
            ["load", "reno", "--as", "reno"],
            snapshot(
                'unbloat: the kernel already has a congestion control "reno": unload it, or choose another name with --as'
            ),
        ),
        (
            ["unload", "never_heard_of"],
            snapshot("unbloat: unknown congestion control never_heard_of; `unbloat load` has loaded nothing"),
        ),
        (
            ["unload", "reno"],
            snapshot("unbloat: reno belongs to the kernel or to another process; `unbloat load` has loaded nothing"),
        ),
        (["detach", "--everyone"], snapshot("unbloat: `unbloat attach` gave nothing to /sys/fs/cgroup/unified")),
        (
            ["status", "--measure", "soon"],
            snapshot('unbloat: "soon" is not a time; write a number and its unit, such as "10ms"'),
        ),
    ],
)
def test_wrong_input(unbloat: Sandbox, arguments: list[str], told: str) -> None:
    done = unbloat(*arguments)
    assert (done.returncode, done.stdout, stderr_of(done)) == (2, "", told)


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["attach", "nothing"], 'the kernel lacks the congestion control "nothing"; it has reno'),
        (["attach", "reno", "nowhere.slice"], "nowhere.slice is not a control group: name a folder under "),
    ],
)
def test_what_the_kernel_does_not_have(unbloat: Sandbox, arguments: list[str], start: str) -> None:
    done = unbloat(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"unbloat: {start}")


def test_wrong_files(unbloat: Sandbox, tmp_path: Path, name: str) -> None:
    file = users_file(tmp_path, name, "unknown_name = 1;")
    done = unbloat("load", "./mine.bpf.c")
    assert done.returncode == 2
    assert "./mine.bpf.c:9:2: error: " in done.stderr
    file.write_text(file.read_text().replace('"GPL"', '"Proprietary"').replace("unknown_name = 1;", ""))
    done = unbloat("load", "./mine.bpf.c")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        'unbloat: ./mine.bpf.c has the licence "Proprietary", which the kernel refuses for a congestion control; valid: GPL, GPL v2, GPL and additional rights, Dual BSD/GPL, Dual MIT/GPL, Dual MPL/GPL'
    )


def test_a_users_file_needs_clang(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    file = users_file(tmp_path, name)
    load = ["env", "PATH=", sys.executable, "-m", "unbloat", "load"]
    done = sandbox(*load, file)
    assert (done.returncode, stderr_of(done)) == (
        2,
        snapshot(
            "unbloat: TMP/mine.bpf.c must be compiled for the kernel, and clang is missing: install it (Debian: apt-get install clang)"
        ),
    )
    assert sandbox(*load, "reno", "--as", name).returncode == 0


def test_without_types(unbloat: Sandbox) -> None:
    done = unbloat("load", "reno", UNBLOAT_BTF="/nonexistent")
    assert (done.returncode, done.stdout) == (1, "")
    assert stderr_of(done) == snapshot(
        "unbloat: kernel types (BTF) are missing: UNBLOAT_BTF names /nonexistent, which contains none; loading needs a kernel with CONFIG_DEBUG_INFO_BTF, as Debian, Ubuntu and Fedora have"
    )


def test_without_types_at_all(sandbox: Sandbox, unbloat: Sandbox) -> None:
    sandbox("mount", "-t", "tmpfs", "none", "/sys/kernel/btf")
    for command in (["load", "reno"], ["status"]):
        done = unbloat(*command)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert done.stderr.startswith(
            "unbloat: kernel types (BTF) are missing: /sys/kernel/btf/vmlinux does not exist; loading needs"
        )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["load", "reno"],
            snapshot(
                "unbloat: loading a congestion control needs root's rights (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): run it with sudo"
            ),
        ),
        (
            ["status"],
            snapshot(
                "unbloat: looking at the kernel's BPF programs needs root's rights (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): run it with sudo"
            ),
        ),
    ],
)
def test_without_root(arguments: list[str], told: str) -> None:
    done = as_nobody(*arguments)
    assert (done.returncode, done.stdout, stderr_of(done)) == (1, "", told)
