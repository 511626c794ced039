"""How long a paper's runs take, guessed before they begin from what their links can carry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from unbloat._core import Cell
from unbloat.paper_runs import Batch
from unbloat.progress import clock, count
from unbloat.source import source_of

PACKETS_PER_S = 3e6
"""What one core simulates, with a margin for slower machines and other work (docs/speed.md has 5 to 11 million)."""
RUN_S = 0.1
"""What a run takes besides: its process, its congestion controls, its records."""


def forecast(batches: Iterable[tuple[Batch, int]], jobs: int | None) -> str:
    """Say how many runs there are and how long all of them take if none is kept; with each batch go its repeats."""
    runs, packets = 0, 0.0
    for batch, seeds in batches:
        cells = source_of(batch.file, batch.overrides).cells()
        chosen = [cell for cell in cells if set(batch.labels) <= {label for _, label in cell.axes}]
        runs += seeds * len(chosen)
        packets += seeds * sum(map(most_packets, chosen))
    seconds = (packets / PACKETS_PER_S + runs * RUN_S) / (jobs or len(os.sched_getaffinity(0)))
    return f"{runs} runs of {count(packets)} packets at most: {clock(seconds)} if all are new"


def most_packets(cell: Cell) -> float:
    """Give how many data packets the slowest link can carry in a run; none is counted where all follow recordings."""
    scenario = json.loads(cell.json())
    bits: float = 8 * min(group["packet"] for group in scenario["flows"])
    return (cell.slowest_rate_bps or 0) * cell.duration_s / bits
