"""The runs behind a paper's numbers: every cell of its scenarios, as often as its draws and its verdicts need."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unbloat._core import Cell
from unbloat.claims.claim import settings_of
from unbloat.claims.measurements import Measurements, do_differ
from unbloat.claims.verdicts import SURE
from unbloat.papers.judge import open_cells
from unbloat.papers.paper import Paper, RepeatRule
from unbloat.results.cells import Repeats, cells_of
from unbloat.results.record import Record
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
    """The name under which results are asked for."""
    file: Path
    labels: tuple[str, ...] = ()
    """Labels that a cell must have; without any, every cell runs."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    series: str = ""
    """The step of the recorded series, such as `10ms`; empty records none."""
    places: frozenset[Place] | None = None
    """The cells to run; None runs all."""
    perturbations: Sequence[Mapping[str, object]] = ()
    """Overrides besides the seed, for one repeat after the other."""

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
    grid = Measurements(batch.name, [Repeats(dict(cell.axes), [], [], batch.name, "", None) for cell in cells])
    settings: list[Sequence[str]] = []
    for table in paper.tables:
        for group in table.groups:
            if group.scenario == batch.name:
                settings += (labels for row in group.rows for labels in table.labels(group, row))
    for statements in paper.statements:
        if statements.scenario == batch.name:
            for claim in statements.claims:
                settings += settings_of(claim, statements.at, grid)
    return frozenset(place_of(grid.cell(labels).axes) for labels in settings)


def without_repeat(axes: Axes) -> dict[str, str]:
    """Return a cell's labels without that of its repeat."""
    return {name: label for name, label in axes.items() if name != REPEAT}


def measure(batches: Sequence[Batch], repeats: RepeatRule, simulate: Simulate) -> dict[str, Measurements]:
    """Run the batches with seeds 1, 2 and so on; return the measurements of each under its name."""
    return {batch.name: Measurements(batch.name, _cells(batch, repeats, simulate)) for batch in batches}


def _cells(batch: Batch, repeats: RepeatRule, simulate: Simulate) -> list[Repeats]:
    runs: list[Record] = []
    cells: list[Repeats] = []
    settled: set[Place] = set()

    def goes_on(axes: Axes) -> bool:
        return batch.wants(axes) and place_of(axes) not in settled

    for seeds in repeats.at_first():
        runs += simulate(batch, seeds, goes_on)
        cells = cells_of(runs)
        settled |= {place_of(cell.axes) for cell in cells if not do_differ(cell.records)}
        if len(settled) == len(cells):
            break
    return cells


log = logging.getLogger(__name__)


def measure_until_sure(paper: Paper, simulate: Simulate) -> dict[str, Measurements]:
    """Run each cell a few times, and on where that may decide what an interval of `SURE` leaves open."""
    batches = batches_of(paper)
    found = measure(batches, paper.repeats, simulate)
    for repeats in paper.repeats.looks():
        made = _open(paper, found)
        runs = sum(repeats - count for places in made.values() for count in places.values())
        if not runs:
            break
        log.info(f"{paper.name}: verdicts hang on more repeats of {sum(map(len, made.values()))} cells: {runs} runs")
        for batch in batches:
            if batch.name in made:
                more = _more(batch, made[batch.name], repeats, simulate)
                found[batch.name] = Measurements(batch.name, cells_of([*found[batch.name].runs, *more]))
    return found


def _open(paper: Paper, found: Mapping[str, Measurements]) -> dict[str, dict[Place, int]]:
    """Count the repeats of the cells whose further ones may decide something, by scenario."""
    made: dict[str, dict[Place, int]] = {}
    for scenario, labels in open_cells(paper, {name: each.judged_with(SURE) for name, each in found.items()}):
        cell = found[scenario].cell(labels)
        if found[scenario].draws(cell):
            made.setdefault(scenario, {})[place_of(cell.axes)] = len(cell.records)
    return made


def _more(batch: Batch, made: Mapping[Place, int], repeats: int, simulate: Simulate) -> Iterator[Record]:
    """Run cells on until each has all of its repeats: some may have paused for a stage."""

    def with_so_many(count: int) -> Callable[[Axes], bool]:
        return lambda axes: made.get(place_of(axes)) == count

    for count in sorted({each for each in made.values() if each < repeats}):
        yield from simulate(batch, range(count + 1, repeats + 1), with_so_many(count))


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
