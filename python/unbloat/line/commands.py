"""The shell commands of a cure: what loads it, what undoes it, and how root's shell runs both."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Protocol

from unbloat._core import RunError

PATIENCE_S = 60.0
"""The longest that a cure's command may take, or somebody else's."""
LOAD = re.compile(r"(?:sudo )?unbloat load ([^ ;&|]+)(?: [^;&|]*)?")
"""A command that only loads a mechanism."""


class Cure(Protocol):
    """A cure, as `cures.py` lists it."""

    @property
    def name(self) -> str:
        """The cure in a word."""

    @property
    def command(self) -> str:
        """The shell command that loads it."""

    @property
    def undo(self) -> str:
        """The shell command that undoes it."""


@dataclass(frozen=True)
class Commands:
    """A cure's name, the command that loads it, and the one that undoes it."""

    name: str
    command: str
    undo: str

    @classmethod
    def of(cls, cure: Cure) -> Commands:
        """Take from a cure what a journal needs."""
        return cls(cure.name, cure.command, cure.undo)

    @property
    def mechanism(self) -> str | None:
        """The mechanism that `unbloat load` loads, if that is all that the command does."""
        found = LOAD.fullmatch(self.command)
        return found[1] if found else None

    @property
    def device(self) -> str | None:
        """The device that the command names, if it names one."""
        found = re.search(r"(?:--)?\bdev (\S+)", self.command)
        return found[1] if found else None

    def undo_with(self, *options: str) -> str:
        """Return the command that undoes the cure, with options for `unbloat unload` if it calls that."""
        return self.undo.replace("unbloat unload ", f"unbloat unload {' '.join(options)} ")


def script_of(command: str) -> str:
    """Write a cure's command as root's shell runs it: without sudo, and with this unbloat."""
    unbloat = shlex.join([sys.executable, "-P", "-m", "unbloat"])
    return f'sudo() {{ "$@"; }}; unbloat() {{ {unbloat} "$@"; }}; {command}'


def run(command: str, lock: int) -> None:
    """Run a cure's command; raises `RunError` if it fails.

    It shares the lock, so that nobody undoes a cure while a killed process's command still loads it.
    """
    with subprocess.Popen(
        ["/bin/sh", "-c", script_of(command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
        pass_fds=[lock],
    ) as process:
        try:
            _, told = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise RunError(f"`{command}` did not end within {PATIENCE_S:.0f} s") from None
    if process.returncode:
        reason = told.strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
        raise RunError(f"`{command}` failed: {reason[0].removeprefix('unbloat: ')}")
