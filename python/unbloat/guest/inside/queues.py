"""The queues of a shell's link over time, as lines of CSV; on this kernel and in a guest alike."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any, Protocol

STEP_NS = 10_000_000
"""The time from one line to the next."""
COLUMNS = ("queue_bytes", "queue_packets", "drops", "throughput_mbps", "capacity_mbps")


class Writer(Protocol):
    """Whatever takes text."""

    def write(self, text: str, /) -> object:
        """Take some."""


class Queues:
    """Writes a line for each direction of a link at each step.

    Steps count from the start of the link, and arrive a little later. The least difference to the clock so far gives
    the time of day.
    """

    def __init__(self, file: Writer) -> None:
        """Write the names of the columns."""
        self._file = file
        self._start_s = math.inf
        file.write(",".join(("time_s", "link", *COLUMNS)) + "\n")

    def tell(self, step: Mapping[str, Any]) -> None:
        """Write a step, as `GridPoint.shell` reports it."""
        self._start_s = min(self._start_s, time.time() - step["time_s"])
        at = f"{self._start_s + step['time_s']:.3f}"
        for link in step["links"]:
            cells = ("" if link[name] is None else f"{link[name]:.10g}" for name in COLUMNS)
            self._file.write(",".join((at, link["link"], *cells)) + "\n")
