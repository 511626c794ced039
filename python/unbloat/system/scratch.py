"""Removal that stays inside of a folder, and temporary folders that do not outlive their process.

A process that is killed cannot remove its folder. So each process locks its folder. The lock goes with its
holder, and the next process removes the folders that nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path


def remove_from(folder: Path, name: str) -> None:
    """Remove a file, a link or a whole folder of that name from `folder`, as far as this user may; it may be gone.

    Links go, what they lead to stays. Raises `ValueError` for a name that leads out of the folder.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} names nothing in a folder")
    with suppress(OSError):
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # It opens each folder below from the one above, and no link.
            shutil.rmtree(name, ignore_errors=True, dir_fd=here)
            os.unlink(name, dir_fd=here)
        finally:
            os.close(here)


# ---------------------------------------------------------------- Temporary folders


PREFIX = "unbloat-run-"
"""The beginning of names in the system's folder for temporary files."""
BESIDE = ".unbloat-run-"
"""The beginning of names in a folder of the user's; files are made there and then renamed to their places."""
TRIES = 10


class Scratch:
    """A temporary folder that goes away with this object, or with its process."""

    def __init__(self, within: Path | None = None) -> None:
        """Make it, after those that were left behind have been removed; `within` is a folder of the user's."""
        place, prefix = (Path(tempfile.gettempdir()), PREFIX) if within is None else (within, BESIDE)
        _sweep(place, prefix)
        self.folder, lock = _made(place, prefix)
        self._end = weakref.finalize(self, _remove, self.folder, lock)

    def close(self) -> None:
        """Remove it now."""
        self._end()


def sweep() -> list[Path]:
    """Remove this user's folders for temporary files that no process holds; return their paths."""
    return _sweep(Path(tempfile.gettempdir()), PREFIX)


def _sweep(place: Path, prefix: str) -> list[Path]:
    removed = []
    for folder in place.glob(f"{prefix}*"):
        lock = _locked(folder)
        if lock is not None:
            _remove(folder, lock)
            removed.append(folder)
    return removed


def _made(place: Path, prefix: str) -> tuple[Path, int | None]:
    """Make a folder and lock it; another one if somebody has taken it for abandoned before it was locked."""
    for _ in range(TRIES):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        lock = _locked(folder)
        if lock is not None:
            return folder, lock
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder, None  # A file system without locks: nobody can take it for abandoned there.


def _locked(folder: Path) -> int | None:
    """Lock a folder of this user's; None if somebody holds it, or if it has gone meanwhile."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        here = folder.stat()
        if os.fstat(lock).st_uid == os.geteuid() and os.path.samestat(os.fstat(lock), here):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _remove(folder: Path, lock: int | None) -> None:
    """Remove a folder that we hold, and unlock it."""
    remove_from(folder.parent, folder.name)
    if lock is not None:
        os.close(lock)
