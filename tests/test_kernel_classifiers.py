"""Classifiers at a device of the running kernel: `unbloat load sorpc --dev`, `unload`, `status`, `clean`; as root."""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import UNBLOAT, Sandbox
from sentences import stderr_of

pytest_plugins = ["kernel_sandbox"]

UPLOAD = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
sender, server = (socket.socket(family, socket.SOCK_STREAM) for _ in range(2))
server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
server.bind((sys.argv[1], 4321))
server.listen()
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 200_000)
sender.connect(server.getsockname()[:2])
with sender, server.accept()[0] as receiver:
    sender.setblocking(False)
    written = 0
    try:
        while True:
            written += sender.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    while written:
        written -= len(receiver.recv(1 << 16))
"""
"""Fills its send buffer before anybody reads, so that what leaves then leaves a full one.

The kernel doubles both sizes: of 400 kB of memory, of which 131 kB at most have left, more than half is there when the
receiver has read so much that the next packet leaves.
"""
MESSAGES = """
import socket, sys
server = socket.create_server(("127.0.0.1", 4322))
with socket.create_connection(server.getsockname()) as sender, server.accept()[0] as receiver:
    for _ in range(20):
        sender.sendall(bytes(100))
        assert receiver.recv(1000)
"""
DATAGRAMS = """
import socket, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 4323))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1:]:
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[1], 16))
for _ in range(20):
    sender.sendto(bytes(100), receiver.getsockname())
    assert receiver.recv(1000)
"""


@pytest.fixture
def device(sandbox: Sandbox) -> str:
    assert sandbox("ip", "link", "set", "lo", "up").returncode == 0
    return "lo"


@pytest.fixture
def ethernet(sandbox: Sandbox, device: str) -> str:
    """A device whose packets are as small as those of Ethernet: when a window opens, many leave in one go.

    A packet of 64 kB leaves alone, and whether it meets the next one depends on how busy the machine is.
    """
    assert sandbox("ip", "link", "set", device, "mtu", 1500, "gso_max_segs", 1).returncode == 0
    return device


def run(sandbox: Sandbox, program: str, *arguments: object) -> None:
    done = sandbox(sys.executable, "-c", program, *arguments)
    assert done.returncode == 0, done.stderr


def classifiers(unbloat: Sandbox) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(unbloat("status", "--json").stdout)["classifiers"]
    return found


def packets(unbloat: Sandbox) -> list[int]:
    """Give what each queue has had."""
    (classifier,) = classifiers(unbloat)
    return [band["packets"] for band in classifier["bands"]]


def qdiscs(sandbox: Sandbox) -> str:
    return sandbox("tc", "qdisc", "show", "dev", "lo").stdout


def notes(sandbox: Sandbox) -> str:
    return sandbox("ls", "/run").stdout


@pytest.mark.parametrize("big_tcp", [False, True], ids=["usual", "big"])
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_who_fills_its_buffer_goes_last(
    sandbox: Sandbox, unbloat: Sandbox, device: str, address: str, big_tcp: bool
) -> None:
    """Also what leaves in packets of more than 64 kB, of which IP does not say how long they are."""
    if big_tcp:
        assert sandbox("ip", "link", "set", device, "gso_max_size", 200_000).returncode == 0
    before = qdiscs(sandbox)
    done = unbloat("load", "sorpc", "--dev", device)
    assert done.stdout == snapshot("sorpc sorts the packets that leave lo\n")
    assert stderr_of(done) == snapshot(
        "unbloat: warning: lo sends every packet at once (it had noqueue), so packets never wait here: unload it, and set --rate a little below the line's"
    )
    run(sandbox, MESSAGES)
    run(sandbox, DATAGRAMS)
    first, last, never = packets(unbloat)
    assert first >= 60 and last == never == 0, "messages, their acknowledgements, and datagrams"
    run(sandbox, UPLOAD, address)
    (classifier,) = classifiers(unbloat)
    assert classifier["bands"][1]["bytes"] > 60_000, "a third of the buffer, or more"
    assert all(0 <= band["delay_ms_mean"] <= band["delay_ms_max"] for band in classifier["bands"][:2])
    sent = {flow["to"].rpartition(":")[2]: flow for flow in classifier["flows"]}
    assert sent["4322"]["band"] == 0 and sent["4322"]["occupancy_percent"] < 50, sent
    assert "4321" in sent and sent["4321"]["sndbuf_bytes"] > 0
    assert "send buffer" in unbloat("status").stdout
    again = unbloat("load", "single", "--dev", device)
    assert (again.returncode, again.stderr) == (
        2,
        snapshot("unbloat: lo has sorpc already: unbloat unload sorpc --dev lo\n"),
    )
    assert unbloat("unload", "sorpc").stdout == snapshot("lo no longer has sorpc\n")
    assert qdiscs(sandbox) == before and notes(sandbox) == "" and classifiers(unbloat) == []


@pytest.mark.parametrize("classifier", ["sorpc", "sorpc_fair", "single", "pfifo_fast"])
def test_every_classifier_passes_the_verifier(unbloat: Sandbox, device: str, classifier: str) -> None:
    done = unbloat("load", classifier, "--dev", device, "--json")
    assert json.loads(done.stdout)["source"] == classifier, done.stderr
    assert unbloat("unload", classifier, "--dev", device).returncode == 0


def test_types_of_service_have_the_bands_of_the_kernel_s_pfifo_fast(
    sandbox: Sandbox, unbloat: Sandbox, device: str
) -> None:
    """Low delay goes first, what asks for nothing next, throughput last."""
    assert unbloat("load", "pfifo_fast", "--dev", device).returncode == 0
    for service, expected in [("0x00", [0, 20, 0]), ("0x10", [20, 20, 0]), ("0x08", [20, 20, 20])]:
        run(sandbox, DATAGRAMS, service)
        assert packets(unbloat) == expected
    assert unbloat("unload", "pfifo_fast").returncode == 0


def test_parameters_arrive(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    assert unbloat("load", "sorpc", "--dev", device, "--param", "sor_threshold=0%").returncode == 0
    run(sandbox, MESSAGES)
    first, last, never = packets(unbloat)
    assert last == 20 and first > 0 and never == 0, "every message is data, and nothing else is"
    assert classifiers(unbloat)[0]["parameters"]["sor_threshold"] == "0/1024"
    assert unbloat("unload", "sorpc").returncode == 0


def test_an_upload_that_has_too_much_in_the_host_keeps_it(sandbox: Sandbox, unbloat: Sandbox, ethernet: str) -> None:
    """What the classifier drops TCP sends later, until all has arrived."""
    done = unbloat("load", "sorpc_fair", "--dev", ethernet, "--rate", "20mbit", "--param", "max_waiting=5kb")
    assert done.returncode == 0, done.stderr
    run(sandbox, MESSAGES)
    run(sandbox, UPLOAD, "127.0.0.1")
    first, last, _ = classifiers(unbloat)[0]["bands"]
    assert last["dropped"] > 0 and last["packets"] > 0 and first["dropped"] == 0
    assert "dropped" in unbloat("status").stdout
    assert unbloat("unload", "sorpc_fair").returncode == 0


def test_how_long_packets_wait(sandbox: Sandbox, unbloat: Sandbox, ethernet: str) -> None:
    """64 kB that leave at once take 256 ms at 2 Mbit/s; no packet waits for longer than all of this takes."""
    assert unbloat("load", "sorpc", "--dev", ethernet, "--rate", "2mbit").returncode == 0
    begins = time.monotonic()
    run(sandbox, UPLOAD, "127.0.0.1")
    ms = 1000 * (time.monotonic() - begins)
    (classifier,) = classifiers(unbloat)
    first, last, _ = classifier["bands"]
    assert 30 < last["delay_ms_mean"] <= last["delay_ms_max"] < ms, classifier
    assert first["delay_ms_max"] < ms
    assert "delay mean" in unbloat("status").stdout
    assert sandbox("ls", "/sys/fs/bpf/unbloat-classifiers").stdout.count("\n") == 1
    assert unbloat("unload", "sorpc").returncode == 0
    assert "unbloat" not in sandbox("ls", "/sys/fs/bpf").stdout


def test_a_file_of_one_s_own(sandbox: Sandbox, unbloat: Sandbox, device: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.bpf.c"
    file.write_text(
        '#include "vmlinux.h"\n#include <bpf/bpf_helpers.h>\n#include "classify.h"\n'
        "static __always_inline __u32 mine(struct classify_flow *flow, const struct classify_packet *packet)\n"
        '{\n\treturn packet->kind == PACKET_UDP;\n}\nCLASSIFIER(mine)\nchar _license[] SEC("license") = "GPL";\n'
    )
    done = unbloat("load", file, "--dev", device)
    assert done.returncode == 0, done.stderr
    run(sandbox, DATAGRAMS)
    assert packets(unbloat) == [0, 20, 0]
    assert unbloat("unload", file).returncode == 0


def test_at_boot(sandbox: Sandbox, installed: Sandbox, tmp_path: Path) -> None:
    """A unit beside that of a window controller at the same device, and unlike it."""
    assert sandbox("ip", "link", "add", "eth7", "type", "veth", "peer", "name", "other").returncode == 0
    words = ["--param", "no_overtake=false", "--rate", "19mbit"]
    assert installed("load", "static", "--dev", "eth7", "--persist").returncode == 0
    done = installed("load", "sorpc", "--dev", "eth7", *words, "--persist")
    path = "/etc/systemd/system/unbloat-classifier-eth7.service"
    assert done.stdout.splitlines()[1].replace(str(path), "UNIT") == snapshot(
        "wrote UNIT; systemd does not run here: enable it with systemctl enable unbloat-classifier-eth7.service"
    ), done.stderr
    unit = sandbox("cat", path).stdout
    assert f"ExecStart={sys.executable} -m unbloat load sorpc --dev eth7 {' '.join(words)}\n" in unit
    for what, there in [("ExecStop=-", []), ("ExecStart=", [19_000_000])]:
        (command,) = [line.removeprefix(what) for line in unit.splitlines() if line.startswith(what)]
        assert sandbox(*command.split(), PYTHONPATH=str(tmp_path / "lib")).returncode == 0
        assert [classifier["rate_bps"] for classifier in classifiers(installed)] == there
    assert installed("unload", "sorpc").stdout.replace(str(path), "UNIT") == snapshot("""\
eth7 no longer has sorpc
removed UNIT
""")
    assert sandbox("ls", "/etc/systemd/system").stdout == "unbloat-window-eth7.service\n"
    assert installed("unload", "static").returncode == 0


def test_a_rate_is_a_class_of_htb(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    done = unbloat("load", "sorpc", "--dev", device, "--rate", "20mbit")
    assert done.stdout == snapshot("sorpc sorts the packets that leave lo, at 20 Mbit/s\n"), done.stderr
    classes = sandbox("tc", "class", "show", "dev", "lo").stdout
    assert "4247:ff root rate 20Mbit ceil 20Mbit" in classes
    assert "4247:1 parent 4247:ff prio 0 rate 20Mbit ceil 20Mbit" in classes
    assert "4247:2 parent 4247:ff prio 1 rate 8Kbit ceil 20Mbit" in classes
    assert "4247:3 parent 4247:ff prio 2 rate 8Kbit ceil 20Mbit" in classes
    run(sandbox, MESSAGES)
    sent = sandbox("tc", "-s", "class", "show", "dev", "lo", "classid", "4247:1").stdout
    assert "Sent 0 bytes" not in sent, sent
    assert unbloat("unload", "sorpc").returncode == 0


KNOWN = [
    ["noqueue"],
    ["pfifo", "limit", "77"],
    ["bfifo", "limit", "77000"],
    ["pfifo_fast"],
    ["codel", "limit", "77", "target", "7ms", "noecn"],
    ["fq_codel", "limit", "77", "target", "7ms", "flows", "64"],
    ["fq", "limit", "77", "flow_limit", "7"],
    ["pie", "limit", "77", "target", "7ms", "ecn"],
    ["fq_pie", "limit", "77", "flows", "64"],
    ["cake", "bandwidth", "7Mbit", "rtt", "70ms"],
]


EVERYWHERE = {"noqueue", "pfifo", "bfifo", "pfifo_fast"}
"""Of them, those that every kernel has. The oldest stock one, in a guest, has all."""


@pytest.mark.parametrize("rate", [[], ["--rate", "20mbit"]], ids=["prio", "htb"])
def test_what_was_there_comes_back(sandbox: Sandbox, unbloat: Sandbox, device: str, rate: list[str]) -> None:
    """With its options."""
    tried = set()
    for known in KNOWN:
        added = sandbox("tc", "qdisc", "add", "dev", device, "root", "handle", "7:", *known)
        if "kind is unknown" in added.stderr:
            continue
        assert added.returncode == 0, added.stderr
        before = without_number(qdiscs(sandbox))
        done = unbloat("load", "sorpc", "--dev", device, *rate)
        is_warned = known == ["noqueue"] and not rate  # No packet waits before such a device.
        assert known[0] in done.stdout and bool(done.stderr) is is_warned, done
        assert "qdisc prio 4247:" in qdiscs(sandbox) or "qdisc htb 4247:" in qdiscs(sandbox)
        assert unbloat("unload", "sorpc").returncode == 0
        assert without_number(qdiscs(sandbox)) == before and notes(sandbox) == ""
        assert sandbox("tc", "qdisc", "del", "dev", device, "root").returncode == 0
        tried.add(known[0])
    assert tried >= EVERYWHERE


def without_number(qdisc: str) -> str:
    """Drop its number, which the kernel chooses."""
    return re.sub(r"^(qdisc \w+) \w+:", r"\1", qdisc)


def test_what_was_there_comes_back_after_somebody_took_ours(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    """Unless they have given the device another."""
    for other in ([], ["bfifo", "limit", "7000"]):
        sandbox("tc", "qdisc", "replace", "dev", device, "root", "handle", "7:", "pfifo", "limit", "77")
        assert unbloat("load", "sorpc", "--dev", device).returncode == 0
        assert sandbox("tc", "qdisc", "del", "dev", device, "root").returncode == 0
        if other:
            assert sandbox("tc", "qdisc", "add", "dev", device, "root", *other).returncode == 0
        assert unbloat("clean").stdout == snapshot("removed the classifier sorpc at lo\n")
        there = ("qdisc bfifo", "limit 7000b") if other else ("qdisc pfifo", "limit 77p")
        assert all(words in qdiscs(sandbox) for words in there), qdiscs(sandbox)
        assert "clsact" not in qdiscs(sandbox) and notes(sandbox) == ""


def test_what_the_kernel_does_not_give_back_leaves_the_classifier(
    sandbox: Sandbox, unbloat: Sandbox, device: str
) -> None:
    assert sandbox("tc", "qdisc", "add", "dev", device, "root", "handle", "7:", "pfifo", "limit", "77").returncode == 0
    assert unbloat("load", "sorpc", "--dev", device).returncode == 0
    (file,) = sandbox("find", "/run/unbloat-classifiers", "-type", "f").stdout.split()
    note = json.loads(sandbox("cat", file).stdout)
    options = note["before"]["options"]
    # Half of what this discipline wants.
    write(sandbox, file, {**note, "before": {**note["before"], "options": options[:2]}})
    done = unbloat("unload", "sorpc")
    assert (done.returncode, done.stdout) == (1, "")
    assert stderr_of(done) == snapshot(
        "unbloat: the pfifo of lo cannot be restored, and the classifier stays: the kernel refuses these parameters of pfifo"
    )
    assert "4247:" in qdiscs(sandbox) and classifiers(unbloat)[0]["source"] == "sorpc"
    write(sandbox, file, note)
    assert unbloat("unload", "sorpc").returncode == 0
    assert "pfifo" in qdiscs(sandbox) and "limit 77p" in qdiscs(sandbox) and notes(sandbox) == ""


def write(sandbox: Sandbox, file: str, note: dict[str, Any]) -> None:
    assert sandbox("sh", "-c", 'printf %s "$1" > "$2"', "sh", json.dumps(note), file).returncode == 0


def test_what_was_there_comes_back_from_processes_that_are_killed(
    sandbox: Sandbox, unbloat: Sandbox, device: str
) -> None:
    """Wherever they are."""
    assert sandbox("tc", "qdisc", "add", "dev", device, "root", "handle", "7:", "pfifo", "limit", "77").returncode == 0
    for command in ("load", "unload"):
        script = 'for after in 0.2 0.4 0.6 0.8 1.0; do timeout -s KILL $after "$@" >/dev/null 2>&1; done'
        sandbox("sh", "-c", script, "sh", *UNBLOAT, command, "sorpc", "--dev", device)
        assert all(words in qdiscs(sandbox) for words in ("qdisc pfifo", "limit 77p")) or "4247:" in qdiscs(sandbox)
        unbloat("clean")
        if command == "load":
            unbloat("load", "sorpc", "--dev", device)
    unbloat("unload", "sorpc")
    assert all(words in qdiscs(sandbox) for words in ("qdisc pfifo", "limit 77p")), qdiscs(sandbox)
    assert "clsact" not in qdiscs(sandbox) and notes(sandbox) == ""


def test_what_could_not_come_back_is_not_replaced(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    assert sandbox("tc", "qdisc", "add", "dev", device, "root", "handle", "7:", "htb").returncode == 0
    before = qdiscs(sandbox)
    done = unbloat("load", "sorpc", "--dev", device)
    assert (done.returncode, done.stderr) == (
        1,
        snapshot(
            "unbloat: lo has the queue discipline htb, which unbloat could not restore exactly: remove it (tc qdisc del dev lo root)\n"
        ),
    )
    assert qdiscs(sandbox) == before and notes(sandbox) == ""


def test_what_a_killed_process_has_begun_is_taken_away(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    before = qdiscs(sandbox)
    assert unbloat("load", "sorpc", "--dev", device).returncode == 0
    # As if it had been killed between the queues and the program.
    assert sandbox("tc", "qdisc", "del", "dev", device, "clsact").returncode == 0
    assert unbloat("clean").stdout == snapshot("removed the classifier sorpc at lo\n")
    assert qdiscs(sandbox) == before and notes(sandbox) == ""


def test_a_window_controller_stands_beside_it(sandbox: Sandbox, unbloat: Sandbox, device: str) -> None:
    before = qdiscs(sandbox)
    for mechanism in ("static", "sorpc"):
        assert unbloat("load", mechanism, "--dev", device).returncode == 0
    run(sandbox, MESSAGES)
    assert sum(packets(unbloat)) > 40
    assert json.loads(unbloat("status", "--json").stdout)["window_controllers"][0]["flows"]
    for mechanism in ("static", "sorpc"):
        assert unbloat("unload", mechanism).returncode == 0
    assert qdiscs(sandbox) == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["load", "sorpc"],
            snapshot("unbloat: sorpc sorts the packets that leave a device: name it, such as --dev eth0"),
        ),
        (
            ["load", "sorpc", "--dev", "lo", "--port", "80"],
            snapshot("unbloat: --port is for window controllers; sorpc sorts all packets that leave lo"),
        ),
        (
            ["load", "rtac", "--dev", "lo", "--rate", "1mbit"],
            snapshot("unbloat: --rate is only for classifiers, such as sorpc, not for rtac"),
        ),
        (
            ["load", "sorpc", "--dev", "lo", "--rate", "fast"],
            snapshot('unbloat: --rate: "fast" is not a rate; write a number and its unit, such as "2mbit"'),
        ),
        (
            ["load", "sorpc", "--dev", "lo", "--rate", "0mbit"],
            snapshot("unbloat: --rate: 0bit is too low; a device needs at least 8kbit"),
        ),
        (
            ["load", "sorpc", "--dev", "lo", "--rate", "7.9kbit"],
            snapshot("unbloat: --rate: 7900bit is too low; a device needs at least 8kbit"),
        ),
        (
            ["load", "sorpc", "--dev", "lo", "--persist"],
            snapshot("unbloat: --persist: systemd starts no unit when lo appears; write a unit that loads it"),
        ),
        (
            ["load", "sorpc", "--dev", "nonesuch"],
            snapshot("unbloat: unknown network device nonesuch; valid: lo"),
        ),
        (
            ["unload", "sorpc"],
            snapshot("unbloat: no device has the classifier sorpc; `unbloat load` has loaded nothing"),
        ),
    ],
)
def test_wrong_input_gets_a_sentence(unbloat: Sandbox, device: str, arguments: list[str], told: str) -> None:
    done = unbloat(*arguments)
    assert done.returncode == 2
    # Some machines have more devices.
    assert re.sub("valid: lo.*", "valid: lo", stderr_of(done)) == told
