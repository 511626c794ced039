"""Cures that persist: loaded at every boot, or while the default route leads through the network they are for.

For the latter a process follows the network. A unit of systemd keeps it running, where systemd runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from unbloat._core import RunError
from unbloat.line.commands import Commands, script_of
from unbloat.line.folder import RUN, here
from unbloat.line.network import Network
from unbloat.system import systemd

FILE = systemd.SOURCES / "line-cures.json"
FOLLOWER = [sys.executable, "-P", "-m", "unbloat.line.follow"]
PATIENCE_S, POLL_S = 10.0, 0.05
"""The longest wait for a process that is to end, and the time between two looks."""


@dataclass(frozen=True)
class Persisted:
    """A cure that persists."""

    cure: Commands
    network: Network | None = None
    """The network in which it is loaded; None loads it at every boot."""


def read() -> list[Persisted]:
    """Return the cures that persist.

    Raises
    ------
    RunError
        Another version of unbloat wrote them.

    """
    if not FILE.exists():
        return []
    try:
        return [
            Persisted(Commands(**each["cure"]), Network(**each["network"]) if each["network"] else None)
            for each in json.loads(FILE.read_text())
        ]
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{FILE}: another version of unbloat wrote it and must undo its cures; or remove it") from None


def write(entries: Sequence[Persisted]) -> None:
    """Note the cures that persist; without any, their unit goes as well."""
    if entries:
        systemd.write_file(FILE, json.dumps([asdict(each) for each in entries]))
    else:
        FILE.unlink(missing_ok=True)
        systemd.remove_command()


def write_unit(cure: Commands) -> str:
    """Write the unit that runs a cure's command at every boot; return a sentence about it."""
    start, stop = (["/bin/sh", "-c", script_of(text)] for text in (cure.command, cure.undo))
    return systemd.install_command(cure.name, start, stop, cure.device).sentence


# ---------------------------------------------------------------- The process that follows the network


def write_follower() -> str:
    """Write the unit of the process that follows the network; return a sentence about it."""
    return systemd.install_follower(FOLLOWER).sentence


def follow() -> None:
    """Start the process that follows the network, unless it is there."""
    if systemd.RUNNING.is_dir():
        systemd.systemctl("start", systemd.LINE.path.name)
    else:
        null = subprocess.DEVNULL
        subprocess.Popen(FOLLOWER, stdin=null, stdout=null, stderr=null, start_new_session=True)


def stop_following() -> None:
    """End the process that follows the network, if there is one, and wait until it has ended."""
    file = _following()
    end = time.monotonic() + PATIENCE_S
    while file.exists() and time.monotonic() < end:
        if (lock := locked(file)) is not None:
            file.unlink(missing_ok=True)  # A killed one left it.
            os.close(lock)
            break
        with suppress(OSError, ValueError):
            os.kill(int(file.read_text()), signal.SIGTERM)
        time.sleep(POLL_S)
    for place in (file.parent, RUN):
        with suppress(OSError):
            place.rmdir()


@contextmanager
def following() -> Iterator[bool]:
    """Note that this process follows the network; yield False if another one does."""
    file = _following()
    file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    lock = locked(file)
    if lock is None:
        yield False
        return
    try:
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        yield True
    finally:
        file.unlink(missing_ok=True)
        os.close(lock)


def _following() -> Path:
    return here() / "follows"


def locked(file: Path) -> int | None:
    """Open and lock a file; None if another process has it locked."""
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    os.close(lock)
    return None
