"""Cures that are tried, kept and undone on the running kernel: these tests need root."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import Done, Sandbox
from leftovers import descendants, is_alive, wait_until

pytest_plugins = ["kernel_sandbox"]

CC = "net.ipv4.tcp_congestion_control"
LOWAT = "net.ipv4.tcp_notsent_lowat"
PREFIX = """\
import json, os, sys, time
from pathlib import Path
from unbloat import Error
from unbloat.line import apply, state
from unbloat.line.commands import Commands
cure = Commands(*json.loads(sys.argv[1]))
def shown():
    return state.read(cure.command).to_json()
"""
OWN = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
"""The machine's own default, which any network namespace may choose; in the sandbox it is Reno before."""
CURE = ("own", f"sudo sysctl -w {CC}={OWN}", f"sudo sysctl -w {CC}=reno")


Python = Callable[..., Done]


@pytest.fixture
def python(sandbox: Sandbox) -> Python:
    """Run a script about a cure in the sandbox, whose connections get Reno by default."""
    sandbox("sysctl", "-w", f"{CC}=reno")

    def call(cure: tuple[str, str, str], script: str, turn: int = 0, **environment: str) -> Done:
        return sandbox(sys.executable, "-c", PREFIX + script, json.dumps(cure), turn, **environment)

    return call


@pytest.fixture
def start(holder: int, python: Python, tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Start a script there, and wait until it has said that it is ready."""

    def call(cure: tuple[str, str, str], script: str, turn: int = 0) -> "subprocess.Popen[str]":
        enter = ["nsenter", "--target", str(holder), "--mount", "--net", f"--wd={tmp_path}"]
        words = [*enter, sys.executable, "-c", PREFIX + script, json.dumps(cure), str(turn)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout and process.stdout.readline() == "ready\n"
        return process

    return call


TRY = """
with apply.Trial(cure) as trial:
    before = shown()
    trial.switch("after")
    trial.switch("after")
    after = shown()
    trial.switch("before")
    assert shown() == before, (before, shown())
    trial.switch("after")
    assert shown() == after
assert shown() == before
print(json.dumps([entry for entry in after if entry not in before]))
"""
ONCE = """
before = shown()
with apply.Trial(cure) as trial:
    trial.switch("after")
    after = shown()
assert shown() == before, (before, shown())
print(json.dumps([entry for entry in after if entry not in before]))
"""
HOLD = """
with apply.Trial(cure) as trial:
    trial.switch("after")
    print("ready", flush=True)
    time.sleep(1000)
"""


def changed(done: Done) -> list[list[object]]:
    assert done.returncode == 0, done.stderr
    entries: list[list[object]] = json.loads(done.stdout)
    return entries


def setting(sandbox: Sandbox, name: str) -> str:
    return sandbox("sysctl", "-n", name).stdout.strip()


def nothing_left(sandbox: Sandbox) -> bool:
    return sandbox("ls", "/run/unbloat-line").returncode != 0


# ---------------------------------------------------------------- Trying


def test_a_setting_is_changed_and_comes_back(python: Python, sandbox: Sandbox) -> None:
    assert changed(python(CURE, TRY)) == [[["setting", CC], OWN]]
    assert nothing_left(sandbox)


def test_a_loaded_control_is_the_default_meanwhile(python: Python, sandbox: Sandbox, name: str) -> None:
    cure = (name, f"sudo unbloat load bbr --as {name} --default", f"sudo unbloat unload {name}")
    assert changed(python(cure, ONCE)) == [[["setting", CC], name], [["control", name], True]]
    assert nothing_left(sandbox) and sandbox("ls", "/run/unbloat").returncode != 0


def test_a_control_in_use_goes_too(python: Python, sandbox: Sandbox, name: str) -> None:
    cure = (name, f"unbloat load bbr --as {name} --default", f"unbloat unload {name}")
    script = """
import socket
os.system("ip link set lo up")
with apply.Trial(cure) as trial:
    trial.switch("after")
    server = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(server.getsockname())
print(json.dumps(shown()))
"""
    entries = changed(python(cure, script))
    assert [["setting", CC], "reno"] in entries and [["control", name], True] not in entries


DEVICE = "ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up"


RATE = "rate 10mbit burst 10kb latency 50ms"


@pytest.mark.parametrize(
    "chosen, command",
    [
        ("root pfifo limit 123", f"sudo tc qdisc replace dev v0 root tbf {RATE}"),
        (
            "root handle 1: bfifo limit 45678",
            f"tc qdisc del dev v0 root && tc qdisc add dev v0 root handle 1: tbf {RATE}",
        ),
        (None, f"tc qdisc add dev v0 root tbf {RATE}"),
    ],
)
def test_the_queue_discipline_comes_back_as_it_was(
    python: Python, sandbox: Sandbox, chosen: str | None, command: str
) -> None:
    sandbox("sh", "-c", f"{DEVICE} && tc qdisc replace dev v0 {chosen}" if chosen else DEVICE)
    before = sandbox("tc", "qdisc", "show", "dev", "v0").stdout
    # The cure's own command does not know what was there before.
    ((place, now),) = changed(python(("tbf", command, "sudo tc qdisc del dev v0 root"), ONCE))
    assert isinstance(place, list) and place[:2] == ["discipline", "v0"]
    assert isinstance(now, dict) and now["kind"] == "tbf"
    assert sandbox("tc", "qdisc", "show", "dev", "v0").stdout == before


EVERY_KIND = """
import socket, subprocess
from unbloat.system import qdiscs
index = socket.if_nametoindex("v0")
chosen = [
    "noqueue", "pfifo limit 50", "handle 5: bfifo limit 5000", "handle 9: pfifo_fast", "handle 6: fq limit 3000 flow_limit 50",
    "codel limit 88 target 4999us interval 77777us ce_threshold 3ms", "cake bandwidth 9mbit diffserv4 nat rtt 50ms",
    "fq_codel limit 777 target 7777us interval 91ms flows 64 memory_limit 1000000 ce_threshold 2ms noecn",
    "pie limit 500 target 20ms tupdate 30ms alpha 3 beta 12 ecn", "handle 7: fq_pie limit 2000 flows 300 ecn",
]
for options in chosen:
    # A kernel may lack it.
    if subprocess.run(f"tc qdisc replace dev v0 root {options}", shell=True, capture_output=True).returncode:
        continue
    before = qdiscs.of_devices()[index]
    for other in ("replace dev v0 root handle 4: tbf rate 9mbit burst 10kb latency 9ms", "del dev v0 root"):
        subprocess.run(f"tc qdisc {other}", shell=True, check=True)
        assert qdiscs.of_devices()[index] != before
        qdiscs.put_back(index, before)
        assert qdiscs.of_devices()[index] == before, (before, qdiscs.of_devices()[index])
    subprocess.run("tc qdisc del dev v0 root", shell=True, check=True)
    print(before.kind)
"""


def test_every_discipline_that_the_kernel_has_comes_back_to_the_byte(python: Python, sandbox: Sandbox) -> None:
    sandbox("sh", "-c", DEVICE)
    done = python(CURE, EVERY_KIND)
    assert done.returncode == 0, done.stderr
    assert {"noqueue", "pfifo", "bfifo", "pfifo_fast"} <= {*done.stdout.split()}


def test_a_classifier_and_a_window_controller(python: Python, sandbox: Sandbox) -> None:
    sandbox("sh", "-c", f"{DEVICE} && tc qdisc replace dev v0 root pfifo limit 99")
    before = sandbox("tc", "qdisc", "show", "dev", "v0").stdout
    load = "unbloat load sorpc --dev v0 --rate 20mbit && unbloat load rtac_auto --dev v0"
    unload = "unbloat unload rtac_auto --dev v0; unbloat unload sorpc --dev v0"
    places = [place for place, _ in changed(python(("both", load, unload), ONCE))]
    assert ["window", "v0", "rtac_auto"] in places and ["classifier", "v0", "sorpc"] in places
    assert sandbox("tc", "qdisc", "show", "dev", "v0").stdout == before


def test_a_command_that_fails_half_way_leaves_nothing(python: Python, sandbox: Sandbox) -> None:
    cure = ("half", f"{CURE[1]} && sysctl -w {LOWAT}=1000 && sysctl -w net.ipv4.no_such_thing=1", CURE[2])
    script = """
before = shown()
try:
    with apply.Trial(cure) as trial:
        trial.switch("after")
except Error as error:
    print(type(error).__name__, error)
assert shown() == before
"""
    done = python(cure, script)
    assert done.stdout.replace("sysctl: ", "").replace(f"={OWN} ", "=OWN ") == snapshot(
        """\
RunError `sudo sysctl -w net.ipv4.tcp_congestion_control=OWN && sysctl -w net.ipv4.tcp_notsent_lowat=1000 && sysctl -w net.ipv4.no_such_thing=1` failed: cannot stat /proc/sys/net/ipv4/no_such_thing: No such file or directory
"""
    )
    assert nothing_left(sandbox)


@contextmanager
def trying(python: Python, cure: tuple[str, str, str], start: Callable[..., "subprocess.Popen[str]"]) -> Iterator[None]:
    process = start(cure, HOLD)
    yield
    process.kill()
    process.wait()


ONE = """
try:
    apply.Trial(cure)
except Error as error:
    print(type(error).__name__, error)
"""


def test_one_trial_at_a_time(
    python: Python, sandbox: Sandbox, start: Callable[..., "subprocess.Popen[str]"], unbloat: Sandbox
) -> None:
    with trying(python, CURE, start):
        assert python(CURE, ONE).stdout == snapshot(
            "RunError another unbloat is trying a cure on this computer: wait until it has ended\n"
        )
    wait_until(lambda: nothing_left(sandbox))


def test_what_could_not_return_is_not_replaced(python: Python, sandbox: Sandbox) -> None:
    sandbox("sh", "-c", f"{DEVICE} && tc qdisc replace dev v0 root handle 7: htb")
    done = python(("cake", "sudo tc qdisc replace dev v0 root cake bandwidth 9000kbit", ""), ONE)
    assert done.stdout == snapshot(
        "InputError v0 has the queue discipline htb, which unbloat could not restore exactly: remove it (tc qdisc del dev v0 root)\n"
    )
    assert nothing_left(sandbox)


def test_without_rights_nothing_happens(python: Python) -> None:
    done = python(CURE, "os.setgroups([]), os.setgid(65534), os.setuid(65534)" + ONE)
    assert done.stdout == snapshot("RunError loading a cure, and undoing it, needs root's rights: run it with sudo\n")


# ---------------------------------------------------------------- Dying


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_state_comes_back_when_the_process_dies(
    python: Python, sandbox: Sandbox, start: Start, name: str, how: int
) -> None:
    cure = (name, f"unbloat load bbr --as {name} --default", f"unbloat unload {name}")
    process = start(cure, HOLD)
    assert setting(sandbox, CC) == name
    process.send_signal(how)
    process.wait()
    wait_until(lambda: nothing_left(sandbox))
    assert setting(sandbox, CC) == "reno" and name not in sandbox("ls", "/sys/fs/bpf").stdout


def test_a_command_that_runs_meanwhile_ends_first(python: Python, sandbox: Sandbox, start: Start) -> None:
    cure = ("slow", f"touch begun; sleep 0.5; {CURE[1]}; touch loaded", CURE[2])
    process = start(cure, 'print("ready", flush=True)' + HOLD)
    wait_until(lambda: sandbox("ls", "begun").returncode == 0)
    process.kill()
    process.wait()
    wait_until(lambda: nothing_left(sandbox))
    assert sandbox("ls", "loaded").returncode == 0 and setting(sandbox, CC) == "reno"


def killed_with_all(process: "subprocess.Popen[str]") -> None:
    every = [process.pid, *descendants(process.pid)]
    assert len(every) >= 2
    for each in reversed(every):
        os.kill(each, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(is_alive, every)))


def test_if_all_are_killed_clean_undoes_it(
    python: Python, sandbox: Sandbox, start: Start, unbloat: Sandbox, name: str
) -> None:
    load = f"unbloat load bbr --as {name} --default && sysctl -w {LOWAT}=131072"
    before = setting(sandbox, LOWAT)
    killed_with_all(start(("two", load, f"unbloat unload {name}; sysctl -w {LOWAT}=7"), HOLD))
    assert (setting(sandbox, CC), setting(sandbox, LOWAT)) == (name, "131072")
    done = unbloat("clean")
    # Other tests leave temporary folders behind meanwhile.
    assert "removed the cure two of a killed proof" in done.stdout.splitlines() and done.returncode == 0
    assert (setting(sandbox, CC), setting(sandbox, LOWAT)) == ("reno", before)
    assert nothing_left(sandbox) and "cure" not in unbloat("clean").stdout


def test_if_all_are_killed_the_next_trial_undoes_it(python: Python, sandbox: Sandbox, start: Start) -> None:
    killed_with_all(start(CURE, HOLD))
    assert setting(sandbox, CC) == OWN
    cure = ("lowat", f"sysctl -w {LOWAT}=4242", "")
    assert changed(python(cure, TRY)) == [[["setting", LOWAT], "4242"]]
    assert setting(sandbox, CC) == "reno"


SYSTEMD_RUN = """\
#!/bin/sh
echo "$@" | sed 's/ -- .*//' >>scopes
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


def test_the_holder_has_a_scope_where_systemd_runs(python: Python, sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemd-run").write_text(SYSTEMD_RUN)
    (tmp_path / "bin/systemd-run").chmod(0o755)
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    sandbox("mkdir", "-p", "/run/systemd/system")
    done = sandbox(sys.executable, "-c", PREFIX + TRY, json.dumps(CURE), PATH=path)
    assert changed(done) == [[["setting", CC], OWN]]
    assert (tmp_path / "scopes").read_text() == "--scope --quiet --collect\n" * 2

    (tmp_path / "bin/systemd-run").write_text("#!/bin/sh\nexit 1\n")
    assert changed(sandbox(sys.executable, "-c", PREFIX + TRY, json.dumps(CURE), PATH=path)) == [[["setting", CC], OWN]]


def test_if_the_holder_is_killed_this_process_undoes_it(python: Python, sandbox: Sandbox) -> None:
    script = """
import os, signal
trial = apply.Trial(cure)
trial.switch("after")
os.kill(trial._process.pid, signal.SIGKILL)
try:
    trial.switch("before")
except Error as error:
    print(error)
trial.close()
"""
    assert python(CURE, script).stdout == snapshot("the process that held own has ended; own is undone\n")
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)


def test_a_device_that_goes_takes_its_cure_along(python: Python, sandbox: Sandbox) -> None:
    sandbox("sh", "-c", f"{DEVICE} && tc qdisc replace dev v0 root pfifo limit 99")
    cure = ("sorpc", f"unbloat load sorpc --dev v0 --rate 20mbit && {CURE[1]}", "unbloat unload sorpc --dev v0")
    script = """
with apply.Trial(cure) as trial:
    trial.switch("after")
    os.system("ip link del v0")
    if "again" in os.environ:
        os.system("ip link add v0 type veth peer name v1")
print("[]")
"""
    assert changed(python(cure, script)) == []
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)
    sandbox("sh", "-c", DEVICE)
    assert changed(python(cure, script, again="1")) == []
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)


PROVE = """
from unbloat.line.prove import Budget, Turn, prove
from unbloat.line.switchback import Quantity
sides = []
def measure(side, allowance):
    sides.append(side)
    if len(sides) == int(sys.argv[2]):
        print("ready", flush=True)
        time.sleep(1000)
    is_own = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip() == OWN
    return Turn({"loaded RTT": (40 if is_own else 200) + len(sides)}, 1000)
with apply.Trial(cure) as trial:
    proof = prove(measure, trial.switch, [Quantity("loaded RTT", "ms", "less")], Budget(), washout_s=0, seed=3)
    if proof.verdict == "better":
        trial.keep()
print(proof.verdict, "after" in sides[:4], apply.kept()[0].cure.name)
""".replace("OWN", repr(OWN))


def test_a_cure_that_turns_prove_is_kept(python: Python, sandbox: Sandbox) -> None:
    assert python(CURE, PROVE, turn=0).stdout == "better True own\n"
    assert setting(sandbox, CC) == OWN
    assert python(CURE, UNDO).stdout == "own\n"
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)


def test_a_proof_that_is_killed_leaves_nothing(python: Python, sandbox: Sandbox, start: Start) -> None:
    process = start(CURE, PROVE, turn=4)
    process.kill()
    process.wait()
    wait_until(lambda: nothing_left(sandbox))
    assert setting(sandbox, CC) == "reno"


# ---------------------------------------------------------------- Keeping

KEEP = "print(apply.apply(cure))"
UNDO = "print(' and '.join(cure.name for cure in apply.undo()))"
ERROR = """
try:
    apply.{}
except Error as error:
    print(type(error).__name__, error)
"""


def test_a_kept_cure_stays_until_it_is_undone(python: Python, sandbox: Sandbox, unbloat: Sandbox) -> None:
    assert python(CURE, KEEP).stdout == "None\n"
    assert setting(sandbox, CC) == OWN and "cure" not in unbloat("clean").stdout
    assert python(CURE, "print(apply.kept()[0].cure.name)").stdout == "own\n"
    assert python(CURE, ERROR.format("apply(cure)")).stdout == snapshot(
        "InputError own is applied already: unbloat line --undo\n"
    )
    # A trial of another cure comes back to the kept one.
    assert changed(python(("lowat", f"sysctl -w {LOWAT}=4242", ""), TRY)) == [[["setting", LOWAT], "4242"]]
    assert setting(sandbox, CC) == OWN
    assert python(CURE, UNDO).stdout == "own\n"
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)
    assert python(CURE, ERROR.format("undo()")).stdout == snapshot(
        "InputError no cure is applied: unbloat line --apply loads one\n"
    )


def test_a_journal_of_another_version(python: Python, sandbox: Sandbox) -> None:
    python(CURE, KEEP)
    sandbox("sh", "-c", "cp /run/unbloat-line/*/kept.json kept; echo '{\"x\": 1}' | tee /run/unbloat-line/*/kept.json")
    done = python(CURE, ERROR.format("undo()"))
    assert re.sub(r"\d{5,}", "N", done.stdout) == snapshot(
        "RunError /run/unbloat-line/N/kept.json: another version of unbloat has begun this and must end it; or undo its cure by hand, and remove the file\n"
    )
    sandbox("sh", "-c", "cp kept /run/unbloat-line/*/kept.json")
    assert python(CURE, UNDO).stdout == "own\n"


def test_a_cure_that_was_undone_by_hand_after_a_boot(python: Python, sandbox: Sandbox) -> None:
    cure = ("gone", CURE[1], "unbloat unload none_such")
    sandbox("mkdir", "-p", "/var/lib/unbloat")
    record = {"cure": dict(zip(("name", "command", "undo"), cure, strict=True)), "network": None}
    sandbox("sh", "-c", f"echo '{json.dumps([record])}' >/var/lib/unbloat/line-cures.json")
    assert python(cure, ERROR.format("undo()")).stdout == snapshot(
        "RunError `unbloat unload --drain none_such` failed: unknown congestion control none_such; `unbloat load` has loaded nothing; nothing loads gone at the next boot any more\n"
    )
    assert "no cure is applied" in python(cure, ERROR.format("undo()")).stdout and nothing_left(sandbox)


def test_what_somebody_else_has_chosen_since_stays(python: Python, sandbox: Sandbox) -> None:
    cure = ("two", f"{CURE[1]}; sysctl -w {LOWAT}=131072", "true")
    python(cure, KEEP)
    sandbox("sysctl", "-w", f"{LOWAT}=99")
    assert python(cure, UNDO).stdout == "two\n"
    assert (setting(sandbox, CC), setting(sandbox, LOWAT)) == ("reno", "99")


def test_a_cure_that_persists_has_a_unit(installed: Sandbox, python: Python, sandbox: Sandbox, tmp_path: Path) -> None:
    there = {"PYTHONPATH": str(tmp_path / "lib")}
    done = python(CURE, "print(apply.apply(cure, persist=True))", **there)
    assert done.stdout == snapshot(
        "wrote /etc/systemd/system/unbloat-line-cure.service; systemd does not run here: enable it with systemctl enable unbloat-line-cure.service\n"
    ), done.stderr
    unit = sandbox("cat", "/etc/systemd/system/unbloat-line-cure.service").stdout
    (command,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert command.endswith(f'sudo sysctl -w {CC}={OWN}"') and "sudo() {" in command
    assert setting(sandbox, CC) == OWN

    # After a boot the journal is gone, and its own command undoes it.
    sandbox("rm", "-r", "/run/unbloat-line")
    assert "own is applied already" in python(CURE, ERROR.format("apply(cure)"), **there).stdout
    assert python(CURE, UNDO, **there).stdout == "own\n"
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)
    assert sandbox("ls", "/etc/systemd/system", "/var/lib/unbloat").stdout.split() == [
        "/etc/systemd/system:",
        "/var/lib/unbloat:",
    ]


def test_a_loaded_control_that_persists_has_the_unit_of_load(
    installed: Sandbox, python: Python, sandbox: Sandbox, tmp_path: Path, name: str
) -> None:
    there = {"PYTHONPATH": str(tmp_path / "lib")}
    cure = (name, f"sudo unbloat load bbr --as {name} --default", f"sudo unbloat unload {name}")
    done = python(cure, "print(apply.apply(cure, persist=True))", **there)
    assert (done.stdout, done.stderr) == ("None\n", "")
    assert sandbox("ls", "/etc/systemd/system").stdout == f"unbloat-{name}.service\n"
    assert python(cure, UNDO, **there).stdout == f"{name}\n"
    assert sandbox("ls", "/etc/systemd/system").stdout == "" and setting(sandbox, CC) == "reno"


def test_a_checkout_does_not_persist(python: Python, sandbox: Sandbox) -> None:
    done = python(CURE, ERROR.format("apply(cure, persist=True)"))
    assert done.stdout.startswith("InputError --persist: this unbloat runs from the checkout ")
    assert setting(sandbox, CC) == "reno" and nothing_left(sandbox)


# ---------------------------------------------------------------- Keeping in a network

NETWORKS = """
ip netns add house
for pair in v:10.0.1 w:10.0.2; do
    device=${pair%%:*}0 net=${pair##*:}
    ip link add $device type veth peer name gate netns house
    ip -n house link set gate name g$device
    ip -n house address add $net.1/24 dev g$device
    ip -n house link set g$device up
    ip address add $net.2/24 dev $device
    ip link set $device up
done
ip route add default via 10.0.1.1
"""
STAY = "print(apply.apply(cure, persist=True, network=network.found()))"


@pytest.fixture
def followed(installed: Sandbox, python: Python, sandbox: Sandbox, tmp_path: Path) -> Iterator[Python]:
    """Run scripts in a computer with two networks; what follows the network ends with the test."""
    sandbox("sh", "-c", NETWORKS)

    def call(cure: tuple[str, str, str], script: str) -> Done:
        return python(cure, "from unbloat.line import network\n" + script, PYTHONPATH=str(tmp_path / "lib"))

    yield call
    call(CURE, UNDO)


def test_a_cure_stays_in_its_network(followed: Python, sandbox: Sandbox) -> None:
    done = followed(CURE, STAY)
    assert done.stdout == snapshot(
        "wrote /etc/systemd/system/unbloat-line-cure.service; systemd does not run here: enable it with systemctl enable unbloat-line-cure.service\n"
    ), done.stderr
    assert setting(sandbox, CC) == OWN

    sandbox("ip", "route", "replace", "default", "via", "10.0.2.1")
    wait_until(lambda: setting(sandbox, CC) == "reno")
    sandbox("ip", "route", "replace", "default", "via", "10.0.1.1")
    wait_until(lambda: setting(sandbox, CC) == OWN)

    # Another network whose gateway has that address, too.
    sandbox("ip", "-n", "house", "link", "set", "gv0", "address", "02:00:00:00:00:99")
    sandbox("ip", "neigh", "flush", "dev", "v0")
    wait_until(lambda: setting(sandbox, CC) == "reno")

    assert followed(CURE, UNDO).stdout == "own\n"
    assert nothing_left(sandbox) and setting(sandbox, CC) == "reno"
    assert sandbox("ls", "/etc/systemd/system", "/var/lib/unbloat").stdout.split() == [
        "/etc/systemd/system:",
        "/var/lib/unbloat:",
    ]


def test_each_network_has_its_cure(followed: Python, sandbox: Sandbox, unbloat: Sandbox) -> None:
    lowat = ("lowat", f"sysctl -w {LOWAT}=131072", f"sysctl -w {LOWAT}=7")
    before = setting(sandbox, LOWAT)
    followed(CURE, STAY)
    assert "own is applied already" in followed(CURE, ERROR.format("apply(cure)")).stdout
    sandbox("ip", "route", "replace", "default", "via", "10.0.2.1")
    wait_until(lambda: setting(sandbox, CC) == "reno")
    assert followed(lowat, STAY).returncode == 0
    assert (setting(sandbox, CC), setting(sandbox, LOWAT)) == ("reno", "131072")
    shown = re.sub(r"(\w\w:){5}\w\w", "MAC", unbloat("status").stdout)
    assert shown.partition("\n\n")[2] == snapshot("""\
cure of the line: lowat, loaded, only in the network of 10.0.2.1 (MAC) at w0
cure of the line: own, waits, only in the network of 10.0.1.1 (MAC) at v0
""")

    sandbox("ip", "route", "replace", "default", "via", "10.0.1.1")
    wait_until(lambda: (setting(sandbox, CC), setting(sandbox, LOWAT)) == (OWN, before))
    assert followed(CURE, UNDO).stdout == "own and lowat\n"
    assert (setting(sandbox, CC), setting(sandbox, LOWAT)) == ("reno", before) and nothing_left(sandbox)


def test_unloading_forgets_the_cure_of_a_network(followed: Python, sandbox: Sandbox, unbloat: Sandbox) -> None:
    cure = ("sorpc", "sudo unbloat load sorpc --dev v0 --rate 20mbit", "sudo unbloat unload sorpc --dev v0")
    assert followed(cure, STAY).returncode == 0
    sandbox("sh", "-c", "ip link del v0; ip route add default via 10.0.2.1")
    wait_until(lambda: "sorpc, waits" in unbloat("status").stdout)
    done = unbloat("unload", "sorpc", "--dev", "v0")
    assert (done.stdout, done.stderr) == snapshot(
        ("", "unbloat: the cure of the line that loads sorpc is undone: sorpc\n")
    )
    assert "sorpc" not in unbloat("status").stdout
    wait_until(lambda: nothing_left(sandbox))


@pytest.mark.parametrize(
    "change, why",
    [
        ("true", ""),
        ("ip route del default", "this computer has no default route, and its network is unknown"),
        (
            "ip link add t0 type veth peer name t1 && ip link set t0 up && ip route replace default dev t0",
            "the default route leads through t0 without a gateway, as a VPN's does, and the network is unknown",
        ),
        (
            "ip route replace default via 10.0.1.77",
            "the gateway 10.0.1.77 does not answer at v0, and the network is unknown",
        ),
        ("ip route replace default via 10.0.1.77 && ip neigh add 10.0.1.77 lladdr 02:00:00:00:00:01 dev v0", ""),
    ],
)
def test_a_network_without_a_gateway_is_unknown(python: Python, sandbox: Sandbox, change: str, why: str) -> None:
    sandbox("sh", "-c", NETWORKS)
    sandbox("sh", "-c", change)
    script = """
from unbloat.line import network
try:
    assert network.found() == network.here()
except Error as error:
    assert network.here() is None
    print(error)
"""
    done = python(CURE, script)
    assert (done.stdout.strip(), done.stderr) == (why, "")
