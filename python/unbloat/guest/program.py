"""Programs of this machine run in a guest: with this machine's files, on the guest's kernel."""

from __future__ import annotations

import json
import os
import select
import socket
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from unbloat import _core
from unbloat._core import InputError, RunError
from unbloat.guest import qemu
from unbloat.guest.guest import Guest
from unbloat.guest.inside.messages import LinkTask, ProgramTask
from unbloat.guest.inside.shared import SharedMemory
from unbloat.scenarios.portable import encoded_objects, located, scenario_of
from unbloat.system.files import write_text
from unbloat.system.paths import ALGORITHMS

STDIN, STDOUT = 0, 1


@dataclass(frozen=True)
class Link:
    """A link that a program is behind, with the arguments of `GridPoint.shell`."""

    point: _core.GridPoint
    at: str
    far: Sequence[str] | None
    queues: Path | None = None
    """The file for the queues over time."""

    def as_dict(self) -> LinkTask:
        """Describe it to the agent; its congestion controls go along, compiled."""
        return {
            "point": scenario_of(self.point),
            "algorithms": str(ALGORITHMS),
            "at": self.at,
            "far": None if self.far is None else list(self.far),
            "objects": encoded_objects(self.point),
            "queues": self.queues is not None,
        }


def run(
    guest: Guest,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    link: Link | None = None,
    at_once: bool = False,
) -> int:
    """Run a command in a guest, in this folder and with this terminal if any; return its status as a shell does.

    It sees all files that this user may read. Files that it writes stay in the guest and vanish with it. With a link,
    it is behind that. With `at_once` the guest's clock never waits for real time. Raises `RunError` if the program is
    missing or the guest ends by itself, and what `GridPoint.shell` does.
    """
    with_terminal = os.isatty(STDIN) and os.isatty(STDOUT)
    near, far = socket.socketpair()
    with near, qemu.resume_for_program(guest.state, far, at_once=at_once) as machine:
        far.close()
        memory = machine.memory
        follow_size(memory, with_terminal)
        machine.begin(json.dumps(task(command, environment, link, with_terminal)).encode())
        with raw_terminal(with_terminal):
            relay = Relay(near, with_terminal)

            def wait() -> None:
                relay.wait(qemu.PAUSE_S)
                follow_size(memory, with_terminal)
                machine.look()

            answer = json.loads(memory.take_answer(wait))
            relay.finish()
    if "error" in answer:
        sentence = located(answer["error"], link.point) if link else answer["error"]
        raise (InputError if answer["wrong_input"] else RunError)(sentence)
    if link and link.queues:
        write_text(link.queues, answer["queues"])
    status: int = answer["status"]
    return status


def task(
    command: Sequence[str], environment: Mapping[str, str] | None, link: Link | None, with_terminal: bool
) -> ProgramTask:
    """Describe the program to the agent."""
    return {
        "command": list(command),
        "folder": str(Path.cwd()),
        "environment": dict(os.environ if environment is None else environment),
        "terminal": with_terminal,
        "link": link.as_dict() if link else None,
    }


def follow_size(memory: SharedMemory, with_terminal: bool) -> None:
    """Let the guest know how large the terminal is now."""
    if with_terminal:
        size = os.get_terminal_size(STDOUT)
        memory.terminal_size = (size.lines, size.columns)


@contextmanager
def raw_terminal(with_terminal: bool) -> Iterator[None]:
    """Pass everything that is typed to the guest's terminal, interrupts included."""
    if not with_terminal:
        yield
        return
    before = termios.tcgetattr(STDIN)
    try:
        tty.setraw(STDIN)
        yield
    finally:
        termios.tcsetattr(STDIN, termios.TCSADRAIN, before)


class Relay:
    """Carries bytes between this process's terminal and the guest's."""

    def __init__(self, guest: socket.socket, with_terminal: bool) -> None:
        self._guest = guest
        self._ends = [guest.fileno(), *([STDIN] if with_terminal else [])]

    def wait(self, seconds: float) -> None:
        """Carry what there is; wait for so long if there is nothing."""
        ready, _, _ = select.select(self._ends, [], [], seconds)
        if self._guest.fileno() in ready:
            write(STDOUT, self._heard())
        if STDIN in ready:
            with suppress(ConnectionError):  # As below.
                self._guest.sendall(os.read(STDIN, 1 << 10))

    def _heard(self) -> bytes:
        try:
            return self._guest.recv(1 << 16)
        except ConnectionError:  # The machine has just ended, and whoever watches it will see that.
            return b""

    def finish(self) -> None:
        """Copy the guest's last output."""
        self._guest.setblocking(False)
        try:
            while said := self._guest.recv(1 << 16):
                write(STDOUT, said)
        except BlockingIOError:
            pass


def write(file: int, data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(file, data) :]
