"""The runs that a paper's numbers need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from unbloat.papers.batches import Axes, Batch, Simulate, without_repeat
from unbloat.results.record import Record
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.experiment import Manner, execute
from unbloat.runs.progress import StagedProgress
from unbloat.scenarios.source import source_of


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

    def simulate(batch: Batch, seeds: Sequence[int], only: Callable[[Axes], bool]) -> list[Record]:
        results = execute(
            source_of(batch.file, batch.repeated(seeds)),
            Manner(on, kernel, cache, None, jobs, checkpoint, stages=stages),
            lambda axes: only(without_repeat(axes)),
            batch.series or False,
        )
        series = dict(list(results.series().groupby("run"))) if batch.series else {}
        return [
            replace(record, axes=without_repeat(record.axes), series=series.get(number))
            for number, record in results.by_number.items()
        ]

    return simulate
