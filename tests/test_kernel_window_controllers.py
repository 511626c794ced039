"""Window controllers at a device of the running kernel: `unbloat load --dev`, `unload`, `status`, `clean`; as root."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import UNBLOAT, Done, Sandbox
from sentences import stderr_of
from unbloat.system.paths import ALGORITHMS, mechanism_names

pytest_plugins = ["kernel_sandbox"]

DOWNLOAD = """
import socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family)
def serve():
    with server.accept()[0] as sender:
        sender.sendall(bytes(4_000_000))
threading.Thread(target=serve).start()
with socket.create_connection(server.getsockname()[:2]) as receiver:
    while receiver.recv(1 << 16):
        pass
"""
"""Over the loopback, whose device both ends share."""
NEEDED = {"rtac": ["--param", "bdp=68"]}
"""Options without which a controller is not loaded."""


@pytest.fixture
def device(sandbox: Sandbox) -> str:
    assert sandbox("ip", "link", "set", "lo", "up").returncode == 0
    return "lo"


def download(sandbox: Sandbox, address: str = "127.0.0.1", port: int = 4321, *prefix: object) -> None:
    done = sandbox(*prefix, sys.executable, "-c", DOWNLOAD, address, port)
    assert done.returncode == 0, done.stderr


def controllers(unbloat: Sandbox) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(unbloat("status", "--json").stdout)["window_controllers"]
    return found


def windows(unbloat: Sandbox, port: int = 4321) -> list[tuple[int, int]]:
    """Give what the receiving ends of downloads show and what their stacks offer."""
    (controller,) = controllers(unbloat)
    flows = [flow for flow in controller["flows"] if flow["to"].endswith(f":{port}")]
    return [(flow["window_bytes"], flow["offered_bytes"]) for flow in flows]


def left(sandbox: Sandbox) -> str:
    """Give what the kernel and the notes still have."""
    return sandbox("sh", "-c", "tc qdisc show dev lo clsact; ls /run").stdout


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_window_is_lowered_until_it_is_unloaded(
    sandbox: Sandbox, unbloat: Sandbox, device: str, address: str
) -> None:
    done = unbloat("load", "static", "--dev", device, "--param", "most=2")
    assert (done.stdout, done.stderr) == (snapshot("static lowers the windows that leave through lo\nmost = 2\n"), "")
    download(sandbox, address)
    ((window, offered),) = windows(unbloat)
    assert 0 < window < offered
    (controller,) = controllers(unbloat)
    assert controller["parameters"] == {"most": "2"}
    assert "base RTT" in unbloat("status").stdout
    again = unbloat("load", "drwa", "--dev", device)
    assert (again.returncode, again.stderr) == (
        2,
        snapshot("unbloat: lo has static already: unbloat unload static --dev lo\n"),
    )
    assert unbloat("unload", "static").stdout == snapshot("lo no longer has static\n")
    assert left(sandbox) == "" and controllers(unbloat) == []


@pytest.mark.parametrize("controller", mechanism_names("window"))
def test_every_controller_passes_the_verifier_and_lets_data_through(
    sandbox: Sandbox, unbloat: Sandbox, device: str, controller: str
) -> None:
    done = unbloat("load", controller, "--dev", device, *NEEDED.get(controller, []), "--json")
    assert json.loads(done.stdout)["source"] == controller, done.stderr
    download(sandbox)
    assert windows(unbloat)
    assert unbloat("unload", controller, "--dev", device).returncode == 0


def test_a_file_of_one_s_own(sandbox: Sandbox, unbloat: Sandbox, device: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.bpf.c"
    file.write_text(
        '#include "vmlinux.h"\n#include <bpf/bpf_helpers.h>\n#include "window_control.h"\n'
        "static __always_inline __u32 mine(struct window_flow *flow, const struct window_ack *ack)\n"
        '{\n\treturn 3 * flow->mss;\n}\nWINDOW_CONTROL(mine)\nchar _license[] SEC("license") = "GPL";\n'
    )
    done = unbloat("load", file, "--dev", device)
    assert done.returncode == 0, done.stderr
    download(sandbox)
    ((window, offered),) = windows(unbloat)
    assert 0 < window < offered
    assert unbloat("unload", file).returncode == 0


def test_only_those_that_are_meant(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    for options, ports in [
        (["--port", "4321"], [4321]),
        (["--dest", "127.0.0.0/8"], [4321, 4322]),
        (["--dest", "192.0.2.0/24"], []),
        (["--dest", "::1"], []),
    ]:
        assert unbloat("load", "static", "--dev", device, "--param", "most=2", *options).returncode == 0
        for port in (4321, 4322):
            download(sandbox, "127.0.0.1", port)
        (controller,) = controllers(unbloat)
        assert [port for port in (4321, 4322) if windows(unbloat, port)] == ports, controller
        assert unbloat("unload", "static").returncode == 0


def test_only_a_control_group(sandbox: Sandbox, unbloat: Sandbox, device: str, name: str) -> None:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    root = next(Path(mount) for _, mount, kind, *_ in mounts if kind == "cgroup2")
    group = root / f"{name}.slice"
    group.mkdir()
    try:
        done = unbloat("load", "static", "--dev", device, "--param", "most=2", "--cgroup", group.name)
        assert done.stdout.replace(str(group), "GROUP") == snapshot("""\
static lowers the windows that leave through lo, of GROUP
most = 2
"""), done.stderr
        download(sandbox, "127.0.0.1", 4321)
        assert windows(unbloat, 4321) == []
        download(sandbox, "127.0.0.1", 4322, "sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group)
        assert len(windows(unbloat, 4322)) == 1
        assert unbloat("unload", "static").returncode == 0
    finally:
        group.rmdir()


def test_what_others_have_at_the_device_stays(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    def filters() -> str:
        return sandbox("tc", "filter", "show", "dev", device, "egress").stdout

    assert sandbox("tc", "qdisc", "add", "dev", device, "clsact").returncode == 0
    assert unbloat("load", "static", "--dev", device).returncode == 0
    assert unbloat("unload", "static").returncode == 0
    assert "clsact" in left(sandbox) and not filters()
    assert sandbox("tc", "qdisc", "del", "dev", device, "clsact").returncode == 0

    # Made by us, but somebody else has come to use it.
    assert unbloat("load", "static", "--dev", device).returncode == 0
    words = f"tc filter add dev {device} egress prio 7 protocol ip u32 match u32 0 0 action ok"
    other = sandbox(*words.split())
    if other.returncode != 0:
        other = sandbox(*f"tc filter add dev {device} egress prio 7 matchall action ok".split())
    assert unbloat("unload", "static").returncode == 0
    assert ("clsact" in left(sandbox)) == (other.returncode == 0)

    assert sandbox("tc", "qdisc", "del", "dev", device, "clsact").returncode == (2 if other.returncode else 0)
    assert sandbox("tc", "qdisc", "add", "dev", device, "ingress").returncode == 0
    refused = unbloat("load", "static", "--dev", device)
    assert refused.returncode == 1 and stderr_of(refused) == snapshot(
        "unbloat: lo has the queue discipline ingress, which excludes clsact: remove it (tc qdisc del dev lo ingress) and move its filters to clsact"
    )


def test_a_load_that_is_killed_leaves_nothing_behind(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    # As it is in the middle: noted, the discipline there, one program of both.
    assert unbloat("load", "static", "--dev", device).returncode == 0
    assert sandbox("tc", "filter", "del", "dev", device, "egress").returncode == 0
    done = unbloat("clean", "--json")
    assert json.loads(done.stdout)["removed"] == snapshot(["the window controller static at lo"]), done
    assert left(sandbox) == ""

    script = 'for after in 0.2 0.4 0.6 0.8 1.0; do timeout -s KILL $after "$@" >/dev/null 2>&1; done'
    killed = sandbox("sh", "-c", script, "sh", *UNBLOAT, "load", "static", "--dev", device)
    assert killed.returncode in (0, 2, 137), killed
    unbloat("clean")
    for controller in controllers(unbloat):
        assert unbloat("unload", controller["source"]).returncode == 0
    assert left(sandbox) == ""


@pytest.fixture
def odd_device(sandbox: Sandbox) -> str:
    """A device whose name systemd writes otherwise."""
    assert sandbox("ip", "link", "add", "br-lan", "type", "veth", "peer", "name", "other").returncode == 0
    return "br-lan"


def test_a_device_that_has_another_name_by_now(sandbox: Sandbox, unbloat: Sandbox, odd_device: str) -> None:
    assert unbloat("load", "static", "--dev", odd_device).returncode == 0
    assert sandbox("ip", "link", "set", odd_device, "name", "renamed").returncode == 0
    assert [controller["device"] for controller in controllers(unbloat)] == ["renamed"]
    assert sandbox("ip", "link", "add", odd_device, "type", "veth", "peer", "name", "another").returncode == 0
    refused = unbloat("unload", "static", "--dev", odd_device)
    assert (refused.returncode, stderr_of(refused)) == (
        2,
        snapshot(
            "unbloat: br-lan does not have the window controller static; `unbloat load` has loaded static at renamed"
        ),
    )
    assert unbloat("unload", "static", "--dev", "renamed").stdout == snapshot("renamed no longer has static\n")
    assert controllers(unbloat) == []


def test_at_boot(sandbox: Sandbox, installed: Sandbox, odd_device: str, tmp_path: Path) -> None:
    path = r"/etc/systemd/system/unbloat-window-br\x2dlan.service"
    options = ["--param", "most=20", "--port", "443", "--dest", "192.0.2.0/24", "--router"]
    done = installed("load", "static", "--dev", odd_device, *options, "--persist")
    assert done.stdout.splitlines()[2:] == [
        rf"wrote {path}; systemd does not run here: enable it with systemctl enable unbloat-window-br\x2dlan.service"
    ], done.stderr
    unit = sandbox("cat", path).stdout
    device_unit = r"sys-subsystem-net-devices-br\x2dlan.device"
    assert f"BindsTo={device_unit}\n" in unit and f"WantedBy={device_unit}\n" in unit
    program = f"{sys.executable} -m unbloat"
    assert f"ExecStart={program} load static --dev br-lan {' '.join(options)}\n" in unit
    assert f"ExecStop=-{program} unload static --dev br-lan --keep-unit\n" in unit

    (before,) = controllers(installed)
    for what, at_devices in [("ExecStop=-", []), ("ExecStart=", [before])]:
        (command,) = [line.removeprefix(what) for line in unit.splitlines() if line.startswith(what)]
        assert sandbox(*command.split(), PYTHONPATH=str(tmp_path / "lib")).returncode == 0
        assert controllers(installed) == at_devices
    assert sandbox("cat", path).stdout == unit

    other = installed("unload", "rtac", "--dev", odd_device)
    assert other.returncode == 2 and sandbox("cat", path).stdout == unit
    assert installed("unload", "static").stdout.replace(str(path), "UNIT") == snapshot("""\
br-lan no longer has static
removed UNIT
""")
    assert sandbox("ls", "/etc/systemd/system").stdout == ""


def test_a_file_of_one_s_own_at_boot(sandbox: Sandbox, installed: Sandbox, odd_device: str, tmp_path: Path) -> None:
    """Its copy is what the unit loads, and goes with the unit, though the device is gone."""
    file = tmp_path / "mine.bpf.c"
    file.write_text((ALGORITHMS / "window" / "static.bpf.c").read_text())
    sandbox("mkdir", "-p", "/var/lib/unbloat")
    loaded = json.loads(installed("load", "./mine.bpf.c", "--dev", odd_device, "--persist", "--json").stdout)
    unit = sandbox("cat", loaded["unit"]).stdout
    copy = rf"/var/lib/unbloat/window-br\x2dlan{file}"
    assert sandbox("cat", copy).stdout == file.read_text()
    assert f'load "{copy}" --dev'.replace("\\", "\\\\") in unit
    assert sandbox("ip", "link", "del", odd_device).returncode == 0
    removed = json.loads(installed("unload", "./mine.bpf.c", "--dev", odd_device, "--json").stdout)
    assert removed == {"unloaded": [{"device": odd_device, "unit": loaded["unit"]}]}
    assert sandbox("ls", "/etc/systemd/system", "/var/lib/unbloat").stdout.split() == [
        "/etc/systemd/system:",
        "/var/lib/unbloat:",
    ]


def test_what_cannot_be(unbloat: Sandbox, device: str) -> None:
    def refused(*arguments: str) -> str:
        done: Done = unbloat("load", *arguments)
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr.removeprefix("unbloat: ").strip()

    assert refused("rtac") == snapshot("rtac is a window controller: name its device, such as --dev wlan0")
    assert re.sub("; valid: .*", "", refused("rtac", "--dev", "nowhere")) == snapshot("unknown network device nowhere")
    assert refused("cubic", "--dev", device).startswith('unknown window controller "cubic"; valid: ')
    assert refused("rtac", "--dev", device, "--default") == snapshot(
        "--default is only for congestion controls; a mechanism at a device stays there until `unbloat unload`"
    )
    assert refused("rtac", "--dev", device, "--dest", "x").startswith('"x" is not an address or network')
    assert refused("rtac", "--dev", device, "--param", "bpd=3") == snapshot(
        "rtac has no parameter bpd; valid: alpha (0/1024 to 1023/1024; 128/1024), bdp (1 to 20000; 236), inverse_k (0 to 4294967295; 0), most (2 to 100000; 1810), rtt_min_add (0 to 1s; 0), rtt_weight (1/1024 to 1024/1024; 128/1024), skip_on_hole (true or false; true), theta (101% to 1000%; 138%)"
    )
    assert refused("rtac", "--dev", device, "--persist") == snapshot(
        "--persist: systemd starts no unit when lo appears; write a unit that loads it"
    )
    assert refused("rtac", "--dev", "eth0", "--cgroup", "x", "--persist") == snapshot(
        "--persist: a control group may not exist yet when the device appears; leave --cgroup out"
    )
    router = refused("rtac", "--dev", device, "--cgroup", "x", "--router")
    assert router == snapshot(
        "--cgroup is for sockets of this computer, and --router for connections of other computers; leave one of the two out"
    )
    done = unbloat("unload", "rtac", "--dev", device)
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: lo does not have the window controller rtac; `unbloat load` has loaded nothing"
    )
