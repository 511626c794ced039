"""The folder in which this computer's journals of cures are, with its lock.

It is in `/run`, as what a cure changes is in the kernel: neither outlives a reboot. The process at work has the folder
locked; a journal without a lock is a dead process's.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from unbloat._core import RunError

RUN = Path("/run/unbloat-line")
POLL_S = 0.05
"""The time between two looks at a lock."""


def require_rights() -> None:
    """Raise `RunError` unless this process is root's."""
    if os.geteuid() != 0:
        raise RunError("loading a cure, and undoing it, needs root's rights: run it with sudo")


class Folder:
    """The folder of this network namespace's journals, locked until it is closed."""

    def __init__(self, wait_s: float = 0.0) -> None:
        """Lock it; raises `RunError` if another process has it for longer than `wait_s`."""
        require_rights()
        self.path = here()
        end = time.monotonic() + wait_s
        while (lock := self._locked()) is None:
            if time.monotonic() >= end:
                raise RunError("another unbloat is trying a cure on this computer: wait until it has ended")
            time.sleep(POLL_S)
        self.lock = lock
        self.trial, self.kept = self.path / "trial.json", self.path / "kept.json"

    def _locked(self) -> int | None:
        self.path.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have removed it.
            if os.path.samestat(os.fstat(lock), self.path.stat()):
                return lock
        os.close(lock)
        return None

    def close(self) -> None:
        """Unlock it; without a journal it goes."""
        for folder in (self.path, RUN):
            with suppress(OSError):
                folder.rmdir()
        os.close(self.lock)


def here() -> Path:
    """Return the folder of this network namespace."""
    return RUN / str(Path("/proc/self/ns/net").stat().st_ino)
