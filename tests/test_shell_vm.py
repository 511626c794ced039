"""`unbloat shell --on vm`: programs of this machine behind a link in a guest, with a terminal and without."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import guests
import pytest
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S, descendants
from sentences import stderr_of
from test_cli import wait_for_children

DEFAULT = "/proc/sys/net/ipv4/tcp_congestion_control"
STALLS_IGNORED = "/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress"
SEND = """
import socket, sys, time
while True:
    try:
        receiver = socket.create_connection((sys.argv[1], 5000))
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
receiver.sendall(bytes(1_000_000))
"""
SERVE = """
import socket, time
server = socket.create_server(("", 5000))
connection, _ = server.accept()
controls = [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16) for end in (server, connection)]
start, got = time.monotonic(), 0
while part := connection.recv(1 << 16):
    got += len(part)
print(got, time.monotonic() - start, *(control.rstrip(bytes(1)).decode() for control in controls), flush=True)
"""


@pytest.fixture(autouse=True)
def kernel(cache: Path) -> str:
    """The kernel of the guests, which are booted before the test begins."""
    return guests.booted(cache)


def test_the_program_is_on_another_kernel_among_the_host_s_files(
    cli: Cli, small: Path, tmp_path: Path, kernel: str
) -> None:
    (tmp_path / "here").write_text("from here")
    script = f"uname -r; cat {DEFAULT}; cat here; echo more >> here; pwd; echo to stderr >&2; exit 7"
    # One that not everybody may choose on a kernel as it comes.
    where = ["--on", "vm", "--kernel", kernel, "--cc", "kernel:vegas"]
    done = cli("shell", small, *where, "--", "sh", "-c", script)
    release, default, *rest = done.stdout.split("\n")
    assert release.startswith(f"{kernel}.") and release != os.uname().release
    assert default == "vegas"
    assert rest == [f"from here{tmp_path}", "to stderr", ""]
    assert done.returncode == 7
    assert (tmp_path / "here").read_text() == "from here", "what a program writes stays in the guest"


def test_a_slow_boot_is_no_stall(cli: Cli, kernel: str, small: Path) -> None:
    """The guest's clock jumps by the time that the boot took; its kernel warns of nothing where the program writes."""
    done = cli("shell", small, "--on", "vm", "--kernel", kernel, "--", "cat", STALLS_IGNORED)
    assert done.stdout == "1\n"


def test_both_ends_are_behind_the_link(cli: Cli, small: Path, tmp_path: Path, kernel: str) -> None:
    (tmp_path / "send.py").write_text(SEND)
    (tmp_path / "serve.py").write_text(SERVE)
    near = [sys.executable, tmp_path / "serve.py"]
    far = f"{sys.executable} {tmp_path / 'send.py'} receiver"
    where = ["--on", "vm", "--kernel", kernel, "--cc", "vegas", "--at", "receiver", "--queues", "queues.csv"]
    done = cli("shell", small, *where, "--far", far, "--", *near)
    got, seconds, before, after = done.stdout.split()
    assert int(got) == 1_000_000
    # 4 Mbit/s, of which 1448 of 1500 bytes are the program's; the guest waits for a machine that has no time for it.
    assert float(seconds) > 0.98 * 1_000_000 * 8 / 4e6 * 1500 / 1448
    assert before == after and after.startswith("ub."), "every socket begins with the scenario's own control"
    head, *rows = (tmp_path / "queues.csv").read_text().splitlines()
    assert head == "time_s,link,queue_bytes,queue_packets,drops,throughput_mbps,capacity_mbps"
    carried = [float(row.split(",")[5]) for row in rows if row.split(",")[1] == "bottleneck"]
    assert 1_000_000 < sum(carried) * 0.01 / 8e-6 < 1_100_000


@pytest.mark.parametrize(
    ("args", "status", "told"),
    [
        (
            ["--on", "vm", "--", "no-such-program"],
            1,
            snapshot("unbloat: no-such-program cannot be started: No such file or directory (os error 2)"),
        ),
        (
            ["--on", "vm", "--kernel", "./no-such-image", "--", "true"],
            2,
            snapshot("unbloat: kernel no-such-image: No such file or directory"),
        ),
        (
            ["--kernel", "6.1", "--", "true"],
            2,
            snapshot("unbloat: kernel 6.1: only guests (--on vm) run a chosen kernel, not runs --on kernel"),
        ),
        (
            ["--on", "vm", "--set", "flows.0.profile=newreno", "--", "true"],
            2,
            snapshot(
                'unbloat: flows.0.profile: the kernel\'s TCP always recovers by proportional rate reduction; leave profile.prr as in profile "linux", or simulate'
            ),
        ),
    ],
)
def test_what_is_wrong_is_a_sentence(
    cli: Cli, small: Path, kernel: str, args: list[str], status: int, told: str
) -> None:
    named = [] if "--kernel" in args else ["--kernel", kernel]
    done = cli("shell", small, *named, *args)
    assert (done.returncode, done.stdout) == (status, "")
    assert stderr_of(done) == told


AT_A_TERMINAL = """
stty noflsh size
trap : INT
echo READY
read word
sh -c "echo got $word; exec sleep 1000"
exec sh
"""
# Who says what it got is who is interrupted: the shell before it would swallow what comes too soon. The line keeps what
# is on it then (NOFLSH, termios(3)): it is emptied only after the signal, which may be after the next prompt.


class Terminal:
    """A user at a terminal, who has started a shell in a guest."""

    def __init__(self, small: Path, kernel: str) -> None:
        self.process, self.line = pty.fork()
        if self.process == 0:
            words = ["shell", str(small), "--on", "vm", "--kernel", kernel, "--", "sh", "-c", AT_A_TERMINAL]
            os.execve(sys.executable, [sys.executable, "-m", "unbloat", *words], {**os.environ, "PS1": "# "})
        self.resize(30, 100)

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self.line, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self.line, text.encode())

    def read_until(self, mark: str) -> str:
        seen, end = b"", time.monotonic() + PATIENCE_S
        while mark.encode() not in seen:
            assert select.select([self.line], [], [], max(0, end - time.monotonic()))[0], f"no {mark} in {seen!r}"
            seen += os.read(self.line, 1 << 16)
        return seen.decode()

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture
def terminal(small: Path, kernel: str) -> Iterator[Terminal]:
    user = Terminal(small, kernel)
    yield user
    if Path(f"/proc/{user.process}").exists():
        os.kill(user.process, signal.SIGKILL)
    os.close(user.line)


def test_a_user_at_a_terminal(terminal: Terminal) -> None:
    assert "30 100" in terminal.read_until("READY")
    terminal.type("something\n")
    terminal.read_until("got something")
    terminal.type("\x03")
    terminal.read_until("# ")
    terminal.resize(40, 120)
    terminal.type("until stty size | grep 40.120; do sleep 0.1; done\n")
    terminal.read_until("40 120")
    machines = descendants(terminal.process)
    terminal.type("exit 5\n")
    assert terminal.status() == 5
    assert machines and not any(Path(f"/proc/{machine}").exists() for machine in machines)


def test_an_interrupt_without_a_terminal_ends_the_guest(small: Path, kernel: str) -> None:
    words = ["shell", str(small), "--on", "vm", "--kernel", kernel, "--", "sleep", "1000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unbloat", *words], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    machines = wait_for_children(process.pid)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said.count("\n")) == (130, 1)
    assert not any(Path(f"/proc/{machine}").exists() for machine in machines)
