"""Programs of this machine run in a guest: with this machine's files, on the guest's kernel."""

from __future__ import annotations

import json
import os
import select
import socket
import termios
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unbloat.vm import qemu
from unbloat.vm.guest import Guest

STDIN, STDOUT = 0, 1


def run(guest: Guest, command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> int:
    """Run a command in a guest, in this folder and with this terminal if there is one; give its status as a shell does.

    It sees all files that this user may read. What it writes stays in the guest and goes with it.
    Raises `RunError` if the guest ends by itself.
    """
    near, far = socket.socketpair()
    with near, qemu.resume_for_program(guest.state, far) as machine:
        far.close()
        machine.memory.give_task(json.dumps(task(command, environment)).encode())
        machine.go()
        with raw_terminal():
            relay = Relay(near)

            def wait() -> None:
                relay.wait(qemu.PAUSE_S)
                machine.require_life()

            answer = json.loads(machine.memory.take_answer(wait))
            relay.finish()
    status: int = answer["status"]
    return status


def task(command: Sequence[str], environment: Mapping[str, str] | None) -> dict[str, Any]:
    """Describe the program to the agent."""
    size = None
    if os.isatty(STDIN):
        columns, lines = os.get_terminal_size(STDIN)
        size = [lines, columns]
    return {
        "command": list(command),
        "folder": str(Path.cwd()),
        "environment": dict(os.environ if environment is None else environment),
        "terminal": size,
    }


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Leave what is typed to the terminal in the guest, interrupts included."""
    if not os.isatty(STDIN):
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

    def __init__(self, guest: socket.socket) -> None:
        self._guest = guest
        self._ends = [guest.fileno(), *([STDIN] if os.isatty(STDIN) else [])]

    def wait(self, seconds: float) -> None:
        """Carry what there is; wait for so long if there is nothing."""
        ready, _, _ = select.select(self._ends, [], [], seconds)
        if self._guest.fileno() in ready:
            write(STDOUT, self._guest.recv(1 << 16))
        if STDIN in ready:
            self._guest.sendall(os.read(STDIN, 1 << 10))

    def finish(self) -> None:
        """Carry what the guest has said last."""
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
