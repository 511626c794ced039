"""The runs behind a paper's numbers: every cell of its scenarios, as often as its draws need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from unbloat._core import Cell
from unbloat.claims.claim import settings_of
from unbloat.claims.measurements import Measurements, do_differ
from unbloat.papers.paper import Paper, RepeatRule
from unbloat.results.record import Record
from unbloat.results.rows import Run
from unbloat.scenarios.source import source_of

REPEAT = "repeat"
"""The axis of a cell's repeats."""


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
    places: frozenset[Place] | None = None
    """Only these cells; all if None."""
    perturbations: Sequence[Mapping[str, object]] = ()
    """What the repeats change one after the other, besides the seed."""

    def repeated(self, seeds: Sequence[int]) -> dict[str, object]:
        """Return the overrides that run every cell with these seeds, the n-th with the n-th perturbation."""
        changes = self.perturbations or [{}]
        repeats = [{"label": str(seed), "seed": seed, **changes[(seed - 1) % len(changes)]} for seed in seeds]
        return {**self.overrides, f"sweep.{REPEAT}": repeats}

    def cells(self) -> list[Cell]:
        """Read its cells."""
        return [cell for cell in source_of(self.file, self.overrides).cells() if self.wants(dict(cell.axes))]

    def wants(self, axes: Axes) -> bool:
        """Return whether a cell is among them."""
        return set(self.labels) <= set(axes.values()) and (self.places is None or place_of(axes) in self.places)


Axes = Mapping[str, str]
Place = tuple[tuple[str, str], ...]


def place_of(axes: Axes) -> Place:
    """Name a cell by its labels, in no order."""
    return tuple(sorted(axes.items()))


Simulate = Callable[[Batch, Sequence[int], Callable[[Axes], bool]], Sequence[Record]]
"""Runs those cells of a batch that the function picks, with each of the seeds."""


def batches_of(paper: Paper) -> list[Batch]:
    """List the runs that the paper's tables, claims and figures need.

    Raises `ClaimError` where a part of the paper names a cell that there is not.
    """
    overrides = {**(paper.reading.set if paper.reading else {}), **paper.changed}
    batches = [
        Batch(
            name,
            paper.folder / f"{name}.toml",
            overrides=overrides,
            series=paper.series.get(name, ""),
            perturbations=paper.perturbed(name),
        )
        for name in paper.scenarios()
    ]
    return [narrowed(batch, paper) for batch in batches]


def narrowed(batch: Batch, paper: Paper) -> Batch:
    """Leave out the cells that a part of a paper does not measure."""
    return replace(batch, places=_needed(paper, batch)) if paper.asked else batch


def _needed(paper: Paper, batch: Batch) -> frozenset[Place] | None:
    """List the cells that a part of a paper measures; figures show whole scenarios."""
    if any(batch.name == scenario for figure in paper.figures for scenario, _ in figure.places()):
        return None
    cells = source_of(batch.file, batch.overrides).cells()
    grid = Measurements(
        batch.name, [Record(without_repeat(dict(cell.axes)), cast("Run", {"seed": 1, "sound": True})) for cell in cells]
    )
    settings: list[Sequence[str]] = []
    for table in paper.tables:
        for group in table.groups:
            if group.scenario == batch.name:
                settings += (labels for row in group.rows for labels in table.labels(group, row))
    for statements in paper.statements:
        if statements.scenario == batch.name:
            for claim in statements.claims:
                settings += settings_of(claim, statements.at, grid)
    return frozenset(place_of(run.axes) for labels in settings for run in grid.pick(labels))


def without_repeat(axes: Axes) -> dict[str, str]:
    """Return a cell's labels without that of its repeat."""
    return {name: label for name, label in axes.items() if name != REPEAT}


def measure(batches: Sequence[Batch], repeats: RepeatRule, simulate: Simulate) -> dict[str, Measurements]:
    """Run the batches with seeds 1, 2 and so on; return the measurements of each under its name."""
    return {batch.name: Measurements(batch.name, _runs(batch, repeats, simulate)) for batch in batches}


def _runs(batch: Batch, repeats: RepeatRule, simulate: Simulate) -> list[Record]:
    cells: dict[Place, list[Record]] = {}
    settled: set[Place] = set()

    def goes_on(axes: Axes) -> bool:
        return batch.wants(axes) and place_of(axes) not in settled

    for seeds in repeats.at_first():
        for run in simulate(batch, seeds, goes_on):
            cells.setdefault(place_of(run.axes), []).append(run)
        settled |= {place for place, runs in cells.items() if not do_differ(runs)}
        if len(settled) == len(cells):
            break
    return [run for runs in cells.values() for run in runs]
