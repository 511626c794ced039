"""The runs behind a paper's numbers: every cell of its scenarios, as often as its draws and its verdicts need."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import cast

from unbloat._core import Cell
from unbloat.claims.claim import settings_of
from unbloat.claims.measurements import Measurements, do_differ
from unbloat.claims.verdicts import SURE
from unbloat.papers.judge import open_cells
from unbloat.papers.paper import Paper, RepeatRule
from unbloat.results.record import Record
from unbloat.results.rows import Run
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.experiment import Manner, execute
from unbloat.runs.progress import StagedProgress
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


log = logging.getLogger(__name__)


def measure_until_sure(paper: Paper, simulate: Simulate) -> dict[str, Measurements]:
    """Run each cell a few times, and on where that may decide what an interval of `SURE` leaves open."""
    batches = batches_of(paper)
    found = measure(batches, paper.repeats, simulate)
    for repeats in paper.repeats.looks():
        wanted = _places(paper, found)
        runs = sum(repeats - len(cell) for name, places in wanted.items() for cell in _cells(found[name], places))
        if not runs:
            break
        log.info(f"{paper.name}: verdicts hang on more repeats of {sum(map(len, wanted.values()))} cells: {runs} runs")
        for batch in batches:
            if wanted.get(batch.name):
                found[batch.name] = _extended(batch, found[batch.name], wanted[batch.name], repeats, simulate)
    return found


def _places(paper: Paper, found: Mapping[str, Measurements]) -> dict[str, set[Place]]:
    """Name the cells whose further repeats may decide something, by scenario."""
    places: dict[str, set[Place]] = {}
    for scenario, labels in open_cells(paper, {name: each.judged_with(SURE) for name, each in found.items()}):
        runs = found[scenario].pick(labels)
        if found[scenario].draws(runs):
            places.setdefault(scenario, set()).add(place_of(runs[0].axes))
    return places


def _cells(measurements: Measurements, places: set[Place]) -> list[list[Record]]:
    """List the runs of each of these cells."""
    runs = sorted(
        (run for run in measurements.runs if place_of(run.axes) in places), key=lambda run: place_of(run.axes)
    )
    return [list(cell) for _, cell in groupby(runs, lambda run: place_of(run.axes))]


def _extended(
    batch: Batch, measurements: Measurements, places: set[Place], repeats: int, simulate: Simulate
) -> Measurements:
    """Run cells on until each has so many repeats: some may have paused for a stage."""
    made = {place_of(cell[0].axes): len(cell) for cell in _cells(measurements, places)}
    runs: list[Record] = list(measurements.runs)
    for count in sorted(set(made.values())):
        runs += _those_with(batch, made, count, range(count + 1, repeats + 1), simulate)
    return Measurements(batch.name, runs)


def _those_with(
    batch: Batch, made: Mapping[Place, int], count: int, seeds: range, simulate: Simulate
) -> Sequence[Record]:
    def has(axes: Axes) -> bool:
        return made.get(place_of(axes)) == count

    return simulate(batch, seeds, has) if seeds else []


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
