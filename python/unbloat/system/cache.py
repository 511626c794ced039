"""What the cache holds: finished runs, compiled congestion controls, kernels and booted machines."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from unbloat.system.paths import cache_folder
from unbloat.system.removal import remove_from


@dataclass(frozen=True)
class Kind:
    """One folder of the cache."""

    folder: str
    about: str
    pattern: str
    """The pattern of what is kept or removed as a whole there."""


KINDS = (
    Kind("runs", "finished runs and their time series", "??/*"),
    Kind("short-runs", "records of short runs", "*"),
    Kind("mechanisms", "compiled congestion controls", "*"),
    Kind("kernels", "kernels for guests", "*"),
    Kind("guests", "booted guests", "*"),
)
LOCKS = (".lock",)
"""Files that processes lock while they are at work."""


@dataclass(frozen=True)
class Thing:
    """A file or a folder of the cache."""

    path: Path
    size: int
    """In bytes."""
    used: float
    """When it was read or written last, in seconds since 1970, as well as the file system knows."""

    def remove(self) -> None:
        """Remove it; another process may have done so."""
        remove_from(self.path.parent, self.path.name)


def things(kind: Kind) -> list[Thing]:
    """List what there is of a kind."""
    folder = cache_folder(kind.folder)
    return [thing for path in folder.glob(kind.pattern) if path.name not in LOCKS for thing in _thing(path)]


def _thing(path: Path) -> Iterator[Thing]:
    with suppress(FileNotFoundError):  # Another process has just removed it.
        files = [each for each in path.rglob("*") if not each.is_dir()] if path.is_dir() else [path]
        states = [file.lstat() for file in files]
        # Listing a folder changes its access time, so for folders only the time of modification is of use.
        used = max([path.lstat().st_mtime, *(state.st_atime for state in states)])
        yield Thing(path, sum(state.st_size for state in states), used)


def prune(unused_s: float = -math.inf) -> dict[str, list[Thing]]:
    """Remove what was not used for so long, by default all; return what was removed, by folder."""
    since = time.time() - unused_s
    gone = {kind.folder: [thing for thing in things(kind) if thing.used < since] for kind in KINDS}
    for removed in gone.values():
        for thing in removed:
            thing.remove()
    return gone
