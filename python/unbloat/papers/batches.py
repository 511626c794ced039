"""The runs behind a paper's numbers: every cell of its scenarios, as often as its draws need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unbloat.papers.measurements import Measurements
from unbloat.papers.paper import Paper
from unbloat.papers.quantities import MeasuredRun


@dataclass(frozen=True)
class Batch:
    """Cells of one scenario file that are run alike."""

    name: str
    """Under which the results are asked for."""
    file: Path
    labels: tuple[str, ...] = ()
    """Only the cells with all these labels; every cell without."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    series: str = ""
    """At what step the windows are recorded, such as `10ms`; not at all if empty."""


Axes = Mapping[str, str]
Simulate = Callable[[Batch, Sequence[int], Callable[[Axes], bool]], Sequence[MeasuredRun]]
"""Runs those cells of a batch that the function picks, with each of the seeds."""


def batches_of(paper: Paper) -> list[Batch]:
    """List the runs that the paper's tables, claims and figures need."""
    overrides = paper.reading.set if paper.reading else {}
    return [
        Batch(name, paper.folder / f"{name}.toml", (), overrides, paper.series.get(name, ""))
        for name in paper.scenarios()
    ]


def measure(batches: Sequence[Batch], seeds: int, simulate: Simulate) -> dict[str, Measurements]:
    """Run the batches with seeds 1 to `seeds`; give the measurements of each under its name.

    A cell whose first two seeds agree to the last digit draws nothing, and further seeds would only repeat it.
    """
    return {batch.name: Measurements(batch.name, _runs(batch, seeds, simulate)) for batch in batches}


def _runs(batch: Batch, seeds: int, simulate: Simulate) -> list[MeasuredRun]:
    def asked_for(axes: Axes) -> bool:
        return set(batch.labels) <= set(axes.values())

    runs = list(simulate(batch, range(1, min(seeds, 2) + 1), asked_for))
    outcomes: dict[str, set[str]] = {}
    for run in runs:
        outcomes.setdefault(repr(dict(run.axes)), set()).add(_outcome(run))
    drawing = {place for place, seen in outcomes.items() if len(seen) > 1}
    if drawing and seeds > 2:
        runs += simulate(batch, range(3, seeds + 1), lambda axes: repr(dict(axes)) in drawing)
    return runs


def _outcome(run: MeasuredRun) -> str:
    return repr({key: value for key, value in run.record.items() if key != "seed"})
