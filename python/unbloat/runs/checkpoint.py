"""A grid of real runs, which may be interrupted and then goes on where it stopped.

A simulated run is a pure function of its scenario and the code, so a kept one is as good as a new one. A run on the
kernel is not: whoever asks again wants it to be done again. But the finished runs of an interrupted grid are not lost.
A mark says that the grid has begun until all its runs are there, and runs cached since then count as finished.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


class Checkpoint:
    """The mark of one grid, named after the keys of all its runs."""

    def __init__(self, folder: Path, keys: Iterable[str]) -> None:
        name = hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()
        self._mark = folder / "begun" / name

    def begin(self) -> int:
        """Mark the grid as begun, unless it is; return since when, in ns of the file system's clock."""
        try:
            self._mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._mark.exists():
                self._mark.touch()
            return self._mark.stat().st_mtime_ns
        except OSError:  # A cache that cannot be written to goes on with nothing.
            return time.time_ns()

    def finish(self) -> None:
        """Forget it: the next time all runs are made anew."""
        with suppress(OSError):
            self._mark.unlink()
