"""A line that tells how far the runs are, for whoever waits longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

PATIENCE_S = 2.0
BETWEEN_S = 0.1
WIDTH = 24


class Progress:
    """Counts the seconds of all runs and draws them on stderr, if that is a terminal."""

    def __init__(self, durations_s: Sequence[float], shown: bool | None = None, *, is_real: bool = False) -> None:
        """Expect runs of these lengths; `shown` overrides the question whether stderr is a terminal.

        Real runs have no speed worth telling.
        """
        self._is_real = is_real
        self._durations = list(durations_s)
        self._shares = [0.0] * len(self._durations)
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._start = time.monotonic()
        self._next = self._start + PATIENCE_S
        self._drawn = False

    def update(self, run: int, share: float) -> None:
        """Note that a run is this far; 1 is finished."""
        self._shares[run] = share
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + BETWEEN_S
            self._drawn = True
            print(f"\r\x1b[K{self.line(now - self._start)}", end="", file=sys.stderr, flush=True)

    def line(self, elapsed_s: float) -> str:
        """Give the line: bar, share, finished runs, speed, time left."""
        done = sum(share * duration for share, duration in zip(self._shares, self._durations, strict=True))
        share = done / max(sum(self._durations), 1e-9)
        filled = round(share * WIDTH)
        bar = "█" * filled + "░" * (WIDTH - filled)
        finished = sum(share == 1 for share in self._shares)
        runs = f"{finished}/{len(self._shares)} runs, " if len(self._shares) > 1 else ""
        speed = "" if self._is_real else f"{done / max(elapsed_s, 1e-9):.3g} simulated s/s, "
        left = elapsed_s * (1 - share) / share if share else float("inf")
        return f"{bar} {share:4.0%}  {runs}{speed}{clock(left)} left"

    def close(self) -> None:
        """Wipe the line."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Write a time as m:ss or h:mm:ss."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
