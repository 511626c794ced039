"""`unbloat shell --live`: the link of a shell, watched from another terminal.

A shell tells its link's steps to whoever connects to its socket. That has a name in the kernel's abstract namespace: it
is no file, and goes with the process. The message that comes first says what is watched, each other one is a step.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from unbloat._core import InputError
from unbloat.cli.terminal import tell
from unbloat.report.live import Display, View

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

    def tell(self, step: str) -> None:
        """Send all watchers a step; one that does not take it in time is dropped."""
        with suppress(BlockingIOError):
            self._admit(self._listener.accept()[0])
        for watcher in list(self._watchers):
            self._send(watcher, step.encode())

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
