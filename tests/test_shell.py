"""`unbloat shell`: its arguments, and programs behind a link, for which these tests need root."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from sentences import stderr_of
from unbloat.cli.app import COMMANDS


def parsed(*words: str) -> click.Context:
    """Read a command line without doing what it says."""
    (command,) = [entry.command() for entry in COMMANDS if entry.name == words[0]]
    return command.make_context(words[0], list(words[1:]))


def test_what_stands_behind_the_dashes_is_the_program_s() -> None:
    context = parsed("shell", "home-dsl", "--at", "receiver", "--", "iperf3", "-s", "--", "--at")
    assert (context.params["scenario"], context.params["at"]) == ("home-dsl", "receiver")
    assert context.obj == ["iperf3", "-s", "--", "--at"]
    assert parsed("shell", "home-dsl").obj == []
    with pytest.raises(click.MissingParameter) as refusal:
        parsed("shell", "--", "ls")
    assert refusal.value.param is not None and refusal.value.param.name == "scenario"


def test_other_commands_keep_their_dashes() -> None:
    assert parsed("run", "--", "-odd-name.toml").params["scenario"] == "-odd-name.toml"


def test_its_arguments() -> None:
    words = ["shell", "home-dsl", "--far", "iperf3 -s", "--set", "link.bottleneck.rate=1mbit", "--cc", "bbr"]
    args = parsed(*words).params
    assert (args["scenario"], args["at"], args["far"]) == ("home-dsl", "sender", "iperf3 -s")
    assert (list(args["assignments"]), list(args["cc"])) == (["link.bottleneck.rate=1mbit"], ["bbr"])


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["nowhere.toml"],
            snapshot("unbloat: nowhere.toml: no such file, and no such scenario in `unbloat list`"),
        ),
        (
            ["small.toml", "--at", "middle"],
            snapshot("unbloat: --at: 'middle' is not one of 'sender', 'receiver'; see `unbloat shell --help`"),
        ),
        (
            ["sweep.toml"],
            snapshot(
                "unbloat: sweep.toml: has a sweep over flows.0.cc, link.bottleneck.queue.limit; a shell has one link: choose with --set AXIS=VALUE"
            ),
        ),
    ],
)
def test_wrong_input_is_a_sentence_and_status_2(cli: Cli, small: Path, sweep: Path, args: list[str], told: str) -> None:
    done = cli("shell", *args, "--", "true")
    assert done.returncode == 2
    assert stderr_of(done) == told


SERVER = """
import socket
with socket.create_server(("", 5000)) as server:
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
"""
CLIENT = """
import socket, time
control = lambda end: end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode()
before = control(socket.socket())
connection = socket.create_connection(("receiver", 5000))
began = time.monotonic()
connection.sendall(bytes(500_000))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
print(time.monotonic() - began, before, control(connection))
"""


def test_the_two_ends_reach_each_other_through_the_link(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    far = f"{sys.executable} {tmp_path}/server.py"
    done = cli("shell", small, "--cc", "cubic_plus", "--far", far, "--", sys.executable, tmp_path / "client.py")
    assert done.returncode == 0, done.stderr
    seconds, before, control = done.stdout.split()
    # 500 kB at 4 Mbit/s, at best.
    assert float(seconds) > 1.0
    assert control.startswith("ub"), "the scenario's own control, under the name of this one run"
    assert before == control, "and not the default of this machine"


def test_it_writes_the_queues_down(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    far = f"{sys.executable} {tmp_path}/server.py"
    before = time.time()
    done = cli("shell", small, "--queues", "q.csv", "--far", far, "--", sys.executable, tmp_path / "client.py")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "q.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["link"] for row in rows} == {"bottleneck", "bottleneck.reverse"}
    up = [row for row in rows if row["link"] == "bottleneck"]
    assert before - 1 < float(up[0]["time_s"]) < float(up[-1]["time_s"]) < time.time() + 1
    assert float(up[-1]["time_s"]) - float(up[0]["time_s"]) > 1.0
    carried_kb = sum(float(row["throughput_mbps"]) for row in up) * 0.01 / 8e-3
    assert 450 < carried_kb < 600 and any(int(row["queue_bytes"]) > 3000 for row in up)


def test_the_status_is_the_program_s(cli: Cli, small: Path) -> None:
    assert cli("shell", small, "--", "sh", "-c", "exit 7").returncode == 7
    assert cli("shell", small, "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_a_shell_says_where_it_is(cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/true")
    done = cli("shell", small, "--at", "receiver")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[0] == snapshot(
        "unbloat: this shell is the receiver behind the link of small, and can reach the sender only; exit leaves it"
    )
    assert cli("shell", small, "--", "true").stderr == ""


def test_a_link_that_stood_still_is_unsound(small: Path) -> None:
    """The emulator is stopped for a second while the program sends."""
    send = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nprint('ready', flush=True)\n"
    send += "for _ in range(200):\n    s.sendto(bytes(500), ('receiver', 9))\n    time.sleep(0.01)\n"
    command = [sys.executable, "-m", "unbloat", "shell", str(small), "--", sys.executable, "-c", send]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate()
    assert process.returncode == 0
    assert errors.count("\n") == 1 and "unsound" in errors


def test_a_program_that_is_not_there_is_a_sentence(cli: Cli, small: Path) -> None:
    done = cli("shell", small, "--", "no-such-program")
    assert done.returncode == 1
    assert stderr_of(done) == snapshot(
        "unbloat: no-such-program cannot be started: No such file or directory (os error 2)"
    )


LOOK_AROUND = """
import json, os, socket
names = {name: socket.gethostbyname(name) for name in ("sender", "receiver", "localhost")}
words = {name: os.environ["UNBLOAT_" + name.upper()] for name in ("sender", "receiver")}
with socket.create_server((words["sender" if SENDER else "receiver"], 0)):
    pass
cards = [name for _, name in socket.if_nameindex()]
processes = sum(name.isdigit() for name in os.listdir("/proc"))
print(json.dumps({"names": names, "words": words, "cards": cards, "processes": processes}))
"""


@pytest.mark.parametrize("at", ["sender", "receiver"])
def test_what_a_program_sees(cli: Cli, small: Path, at: str) -> None:
    """Its own host and the other one, by name, and nothing of the machine's network."""
    program = f"SENDER = {at == 'sender'}\n{LOOK_AROUND}"
    done = cli("shell", small, "--at", at, "--", sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["names"] == {**seen["words"], "localhost": "127.0.0.1"}
    assert seen["words"]["sender"] != seen["words"]["receiver"]
    assert sorted(seen["cards"]) == ["lo", "ub0"]
    # The one that keeps the others together, and this one.
    assert seen["processes"] == 2


def test_programs_end_with_the_network(cli: Cli, small: Path) -> None:
    done = cli("shell", small, "--", "sh", "-c", "ip link delete ub0; sleep 1000")
    assert done.returncode == 1 and done.stderr.startswith("unbloat: ") and "Traceback" not in done.stderr


def test_it_puts_no_file_anywhere(small: Path, tmp_path: Path) -> None:
    """So nobody can lay a link in its way, and nothing stays behind."""
    command = [sys.executable, "-m", "unbloat", "shell", str(small), "--", "getent", "hosts", "receiver"]
    nowhere = {**os.environ, "TMPDIR": str(tmp_path / "not there")}
    done = subprocess.run(command, cwd=tmp_path, env=nowhere, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[1:] == ["receiver"]


def test_a_machine_without_a_file_of_hosts(small: Path, tmp_path: Path) -> None:
    """A clean root of Debian has none; programs run nevertheless, without names for the two ends."""
    hide = 'cp -a /etc etc; rm -f etc/hosts; mount --bind etc /etc; exec "$@"'
    command = ["unshare", "-m", "sh", "-ec", hide, "sh", sys.executable, "-m", "unbloat", "shell", str(small)]
    done = subprocess.run([*command, "--", "true"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


CONTROL = """
import socket, sys
if sys.argv[1] == "serve":
    connection = socket.create_server(("", 5000)).accept()[0]
else:
    connection = socket.create_connection((sys.argv[1], 5000))
control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
print(control.rstrip(bytes(1)).decode(), flush=True)
connection.sendall(b"x")
connection.recv(1)
"""


@pytest.mark.parametrize(
    ("at", "other", "control", "listed"),
    [("sender", "receiver", "vegas", r"ub\.[0-9a-f]{12}"), ("receiver", "sender", "kernel:reno", "reno")],
)
def test_both_ends_use_the_control(
    cli: Cli, small: Path, tmp_path: Path, at: str, other: str, control: str, listed: str
) -> None:
    (tmp_path / "control.py").write_text(CONTROL)
    program = f"{sys.executable} {tmp_path}/control.py"
    done = cli("shell", small, "--at", at, "--cc", control, "--far", f"{program} serve", "--", *program.split(), other)
    assert done.returncode == 0, done.stderr
    seen = done.stdout.split()
    assert len(seen) == 2 and seen[0] == seen[1]
    assert re.fullmatch(listed, seen[0])


def test_it_waits_for_a_server_that_takes_its_time(cli: Cli, small: Path) -> None:
    """Python's asks for its own name as it starts, and must not wait for a name server that cannot be reached."""
    far = f"sleep 0.7; {sys.executable} -m http.server 80 >/dev/null 2>&1"
    fetch = "import urllib.request; print(urllib.request.urlopen('http://receiver/').status)"
    done = cli("shell", small, "--far", far, "--", sys.executable, "-c", fetch)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


def test_it_does_not_wait_for_one_that_has_gone(cli: Cli, small: Path, tmp_path: Path) -> None:
    """It would for two seconds. The machine may stand still as long, but hardly three times."""

    def waited_s() -> float:
        done = cli("shell", small, "--far", f"date +%s%N >{tmp_path}/gone; no-such-server", "--", "date", "+%s%N")
        assert done.returncode == 0 and "no-such-server" in done.stderr
        return (int(done.stdout) - int((tmp_path / "gone").read_text())) / 1e9

    assert any(waited_s() < 1.5 for _ in range(3))


def test_without_the_device(small: Path) -> None:
    hide = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        'mount -t tmpfs none /dev/net && exec "$@"',
        "sh",
    ]
    shell = [*hide, sys.executable, "-m", "unbloat", "shell", str(small), "--", "true"]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert stderr_of(done) == snapshot("unbloat: /dev/net/tun cannot be opened: No such file or directory")


def test_without_kernel_types(cli: Cli, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBLOAT_BTF", "/nonexistent")
    done = cli("shell", small, "--", "true")
    assert done.returncode == 1
    assert stderr_of(done) == snapshot(
        "unbloat: kernel types (BTF) are missing: UNBLOAT_BTF names /nonexistent, which contains none; loading needs a kernel with CONFIG_DEBUG_INFO_BTF, as Debian, Ubuntu and Fedora have"
    )


def test_without_root_s_rights_it_says_so(small: Path) -> None:
    for bare in (["setpriv", "--bounding-set=-all", "--inh-caps=-all"], ["unshare", "--user"]):
        shell = [*bare, sys.executable, "-m", "unbloat", "shell", str(small), "--", "true"]
        done = subprocess.run(shell, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 1
        assert "root's rights" in done.stderr and "sudo" in done.stderr and done.stderr.count("\n") == 1
