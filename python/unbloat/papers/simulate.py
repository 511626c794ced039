"""The runs that a paper's numbers need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from unbloat.claims.quantities import MeasuredRun
from unbloat.papers.batches import Axes, Batch, Simulate, without_repeat
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.experiment import Manner, execute
from unbloat.runs.progress import StagedProgress
from unbloat.scenarios.source import source_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def simulator(
    *,
    on: str = "simulator",
    kernel: str | None = None,
    cache: bool | None,
    jobs: int | None,
    checkpoint: Checkpoint | None = None,
    stages: StagedProgress | None = None,
) -> Simulate:
    """Return the function that runs the cells of a batch; the arguments are those of `Scenario.run`.

    With `stages` one line shows how far all batches are, in place of one for each.
    """

    def simulate(batch: Batch, seeds: Sequence[int], only: Callable[[Axes], bool]) -> list[MeasuredRun]:
        results = execute(
            source_of(batch.file, batch.repeated(seeds)),
            Manner(on, kernel, cache, None, jobs, checkpoint, stages=stages),
            lambda axes: only(without_repeat(axes)),
            batch.series or False,
        )
        windows = _columns_of(results.series(), WINDOW) if batch.series else {}
        rates = _columns_of(results.series(), RATE) if batch.series else {}
        return [
            MeasuredRun(
                without_repeat(record.axes), record.run["seed"], record.run, windows.get(number), rates.get(number)
            )
            for number, record in enumerate(results.records)
        ]

    return simulate


WINDOW = ["time_s", "cwnd_packets", "retransmitted_packets"]
RATE = ["time_s", "goodput_mbps", "in_flight_packets"]


def _columns_of(series: pd.DataFrame, columns: list[str]) -> dict[int, dict[int, np.ndarray]]:
    """Collect these columns by the run's number and the flow: one row per column."""
    found: dict[int, dict[int, np.ndarray]] = {}
    for key, rows in series.groupby(["run", "flow"], sort=True):
        run, flow = cast("tuple[int, int]", key)
        found.setdefault(int(run), {})[int(flow)] = rows[columns].to_numpy(dtype=float).T
    return found
