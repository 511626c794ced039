"""`unbloat shell`: any program behind an emulated link, which another terminal may watch.

A shell sends its link's steps to every process that connects to its socket. The socket has a name in the kernel's
abstract namespace, which vanishes with the process. The first message names the shell; each later message is a step.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Literal

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import ControlOption, KernelOption, RttOption, ScenarioArgument, SetOption, assigned, listed
from unbloat.cli.terminal import tell
from unbloat.guest.inside.queues import STEP_NS as QUEUES_STEP_NS
from unbloat.guest.inside.queues import Queues
from unbloat.system.core_types import Step

SHELL_EXAMPLES = """\
sudo unbloat shell home-dsl --far 'iperf3 -s -1' -- iperf3 -c receiver
unbloat shell home-dsl --on vm --far 'iperf3 -s -1' -- iperf3 -c receiver
sudo unbloat shell home-dsl --live
sudo unbloat shell mobile-lte --at receiver"""


def shell_command(
    context: typer.Context,
    scenario: ScenarioArgument,
    cc: ControlOption = None,
    rtt: RttOption = None,
    assignments: SetOption = None,
    on: Annotated[
        Literal["kernel", "vm"],
        typer.Option(
            "--on", metavar="kernel|vm", help="kernel: the running kernel, as root. vm: a stock kernel in a guest."
        ),
    ] = "kernel",
    kernel: KernelOption = None,
    at: Annotated[
        Literal["sender", "receiver"],
        typer.Option("--at", metavar="sender|receiver", help="End of the link at which the program runs."),
    ] = "sender",
    far: Annotated[
        str | None,
        typer.Option("--far", metavar="COMMAND", help="Command to run at the other end, such as 'iperf3 -s'."),
    ] = None,
    queues: Annotated[
        Path | None,
        typer.Option(
            "--queues", metavar="FILE", help="Write the link's queues to this file as CSV, a hundred times a second."
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Show the live queue of a shell that runs in another terminal."),
    ] = False,
) -> int:
    """Run a shell, or any program, behind an emulated link.

    The scenario's link sets queues, rates, delays and losses. Every connection uses the congestion control of the
    scenario's first flow; the command ignores the other flows and the duration. The two ends reach only each other, as
    "sender" and "receiver". The command ends with the program and returns its status.

    To watch the queue, run the same command with --live in a second terminal.

    On the running kernel the command needs root. A guest needs none: its programs read the files of this machine, and
    lose what they write when the guest ends.
    """
    from unbloat.scenarios.checks import check_kernel
    from unbloat.scenarios.chosen import chosen_source
    from unbloat.system.paths import ALGORITHMS

    check_kernel(kernel, on)
    keys, times = assigned(assignments), listed(rtt, "--rtt") or None
    points = chosen_source(scenario, keys, listed(cc, "--cc") or None, rtt=times).points()
    if live:
        if on == "vm" or context.obj or far or queues:
            raise InputError(
                "shell --live: watches a shell in another terminal of this machine, not in a guest; start "
                "that shell with its program and without --live"
            )
        watch(points[0].name)
        return 0
    if len(points) > 1:
        axes = ", ".join(axis for axis, _ in points[0].axes)
        raise InputError(f"{scenario}: has a sweep over {axes}; a shell has one link: choose with --set AXIS=VALUE")
    program = context.obj or [os.environ.get("SHELL") or "/bin/sh"]
    beyond = ["/bin/sh", "-c", far] if far else None
    if not context.obj:
        other = "receiver" if at == "sender" else "sender"
        tell(
            f"this shell is the {at} behind the link of {points[0].name}, and can reach the {other} only; "
            "exit leaves it"
        )
    if on == "vm":
        return in_guest(kernel, points[0], at, program, beyond, queues)
    # An interrupt at the terminal is for the program, which would inherit SIG_IGN from us, but not a handler.
    signal.signal(signal.SIGINT, lambda *_: None)
    with closing(Sender(points[0].name, program)) as watched, written(queues) as file:
        steps, step_ns = (Both(watched, Queues(file)), QUEUES_STEP_NS) if file else (watched, STEP_NS)
        status, unsound = points[0].shell(
            ALGORITHMS, at=at, program=program, far=beyond, series_ns=step_ns, steps=steps.tell
        )
    if unsound:
        tell(f"warning: unsound: {unsound}. What the program measured may come from this machine, not from the link")
    return status


def in_guest(
    kernel: str | None,
    point: _core.GridPoint,
    at: str,
    program: Sequence[str],
    far: Sequence[str] | None,
    queues: Path | None,
) -> int:
    """Run the program in a guest; return its status."""
    from unbloat.guest.program import Link, run
    from unbloat.runs.progress import prepared
    from unbloat.system.paths import ALGORITHMS

    # What no guest can have is said before one is booted, as is what does not compile.
    point.check_shell("vm")
    point.objects(ALGORITHMS)
    return run(prepared(kernel), program, link=Link(point, at, far, queues))


# ---------------------------------------------------------------- Watching its link


@contextmanager
def written(file: Path | None) -> Iterator[IO[str] | None]:
    """Open a file to write, if there is one; raises `InputError` if that fails."""
    from unbloat.system.files import whole

    if file is None:
        yield None
        return
    with whole(file) as draft, draft.open("w", encoding="utf-8") as opened:
        yield opened


class Both:
    """Steps for a file, of which watchers get some."""

    def __init__(self, watched: Sender, queues: Queues) -> None:
        self._watched = watched
        self._queues = queues
        self._left = 0

    def tell(self, step: Step) -> None:
        """Write a step; send watchers as many as they get without a file."""
        self._queues.tell(step)
        self._left -= 1
        if self._left <= 0:
            self._left = STEP_NS // QUEUES_STEP_NS
            self._watched.tell(step)


STEP_NS = 50_000_000
"""The step of the series, ns; ten steps fall into a column of the picture."""
NAME = "unbloat-shell-"
SOCKETS = Path("/proc/net/unix")
LARGEST = 1 << 16
"""Bytes of a message."""
MOST_WATCHERS = 8


class Sender:
    """The shell's end of the connection to its watchers."""

    def __init__(self, scenario: str, program: Sequence[str]) -> None:
        """Listen for watchers."""
        self._greeting = json.dumps({"scenario": scenario, "program": program[0]}).encode()
        self._watchers: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        # The name has a random part, so that nobody else can take it first.
        self._listener.bind(f"\0{NAME}{os.getpid()}-{secrets.token_hex(8)}")
        self._listener.listen()

    def tell(self, step: Step) -> None:
        """Send all watchers a step; one that does not take it in time is dropped."""
        with suppress(BlockingIOError):
            self._admit(self._listener.accept()[0])
        message = json.dumps(step).encode()
        for watcher in list(self._watchers):
            self._send(watcher, message)

    def _admit(self, watcher: socket.socket) -> None:
        watcher.setblocking(False)
        if len(self._watchers) == MOST_WATCHERS:
            watcher.close()
            return
        self._watchers.append(watcher)
        self._send(watcher, self._greeting)

    def _send(self, watcher: socket.socket, message: bytes) -> None:
        try:
            watcher.send(message)
        except OSError:
            watcher.close()
            self._watchers.remove(watcher)

    def close(self) -> None:
        """Stop listening, and drop all watchers."""
        for end in (*self._watchers, self._listener):
            end.close()


def watch(scenario: str) -> None:
    """Show the link of the shell with this scenario that was started last, until it ends."""
    from unbloat.report.live import Display, View

    found = connect(scenario)
    if found is None:
        raise InputError(
            f"shell --live: no shell with the scenario {scenario} runs on this machine; start one in another terminal: "
            "the same command without --live"
        )
    shell, title = found
    with shell, closing(Display(sys.stdout, View(title, []))) as display:
        while message := shell.recv(LARGEST):
            display.show(json.loads(message))
    tell("the shell has ended")


def connect(scenario: str) -> tuple[socket.socket, str] | None:
    """Connect to a shell; return the connection and the shell's name."""
    for number, name in sorted(shells(), reverse=True):
        shell = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with suppress(OSError, ValueError, KeyError, TypeError):
            shell.connect(f"\0{name}")
            greeting = json.loads(shell.recv(LARGEST)) if is_trusted(shell) else {}
            if greeting["scenario"] == scenario:
                return shell, f"{scenario} · {Path(greeting['program']).name} of unbloat shell, process {number}"
        shell.close()
    return None


def shells() -> set[tuple[int, str]]:
    """List the processes of the shells that can be watched, and the names of their sockets."""
    found = re.findall(rf"@({NAME}(\d+)-\w+)$", SOCKETS.read_text(errors="replace"), re.MULTILINE)
    return {(int(number), name) for name, number in found}


def is_trusted(shell: socket.socket) -> bool:
    """Return whether root, or this user, listens there: anybody may take such a name."""
    credentials = shell.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return user in (0, os.getuid())
