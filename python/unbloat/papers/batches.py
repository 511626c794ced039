"""The runs behind a paper's numbers: every grid point of its scenarios, as often as its draws and its verdicts need."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unbloat._core import GridPoint
from unbloat.claims.claim import settings_of
from unbloat.claims.measurements import Measurements, do_differ
from unbloat.claims.verdicts import SURE
from unbloat.papers.judge import open_cells
from unbloat.papers.paper import Paper, RepeatRule
from unbloat.results.grid_points import Repeats, points_of
from unbloat.results.record import Record
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.experiment import Manner, execute
from unbloat.runs.progress import StagedProgress
from unbloat.scenarios.source import source_of

REPEAT = "repeat"
"""The axis of a grid point's repeats."""


@dataclass(frozen=True)
class Batch:
    """Grid points of one scenario file that are run alike."""

    name: str
    """The name under which results are asked for."""
    file: Path
    labels: tuple[str, ...] = ()
    """Labels that a grid point must have; without any, every grid point runs."""
    overrides: Mapping[str, object] = field(default_factory=dict)
    series: str = ""
    """The step of the recorded series, such as `10ms`; empty records none."""
    places: frozenset[Place] | None = None
    """The grid points to run; None runs all."""
    perturbations: Sequence[Mapping[str, object]] = ()
    """Overrides besides the seed, for one repeat after the other."""

    def repeated(self, seeds: Sequence[int]) -> dict[str, object]:
        """Return the overrides that run every grid point with these seeds, the n-th with the n-th perturbation."""
        changes = self.perturbations or [{}]
        repeats = [{"label": str(seed), "seed": seed, **changes[(seed - 1) % len(changes)]} for seed in seeds]
        return {**self.overrides, f"sweep.{REPEAT}": repeats}

    def points(self) -> list[GridPoint]:
        """Read its grid points."""
        return [point for point in source_of(self.file, self.overrides).points() if self.wants(dict(point.axes))]

    def wants(self, axes: Axes) -> bool:
        """Return whether a grid point is among them."""
        return set(self.labels) <= set(axes.values()) and (self.places is None or place_of(axes) in self.places)


Axes = Mapping[str, str]
Place = tuple[tuple[str, str], ...]


def place_of(axes: Axes) -> Place:
    """Name a grid point by its labels, in no order."""
    return tuple(sorted(axes.items()))


Simulate = Callable[[Batch, Sequence[int], Callable[[Axes], bool]], Sequence[Record]]
"""Runs those grid points of a batch that the function picks, with each of the seeds."""


def batches_of(paper: Paper) -> list[Batch]:
    """List the runs that the paper's tables, claims and figures need.

    Raises `ClaimError` where a part of the paper names a grid point that there is not.
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
    """Leave out the grid points that a part of a paper does not measure."""
    return replace(batch, places=_needed(paper, batch)) if paper.asked else batch


def _needed(paper: Paper, batch: Batch) -> frozenset[Place] | None:
    """List the grid points that a part of a paper measures; figures show whole scenarios."""
    if any(batch.name == scenario for figure in paper.figures for scenario, _ in figure.places()):
        return None
    points = source_of(batch.file, batch.overrides).points()
    grid = Measurements(batch.name, [Repeats(dict(point.axes), [], [], batch.name, "", None) for point in points])
    settings: list[Sequence[str]] = []
    for table in paper.tables:
        for group in table.groups:
            if group.scenario == batch.name:
                settings += (labels for row in group.rows for labels in table.labels(group, row))
    for statements in paper.statements:
        if statements.scenario == batch.name:
            for claim in statements.claims:
                settings += settings_of(claim, statements.at, grid)
    return frozenset(place_of(grid.point(labels).axes) for labels in settings)


def without_repeat(axes: Axes) -> dict[str, str]:
    """Return a grid point's labels without that of its repeat."""
    return {name: label for name, label in axes.items() if name != REPEAT}


def measure(batches: Sequence[Batch], repeats: RepeatRule, simulate: Simulate) -> dict[str, Measurements]:
    """Run the batches with seeds 1, 2 and so on; return the measurements of each under its name."""
    return {batch.name: Measurements(batch.name, _points(batch, repeats, simulate)) for batch in batches}


def _points(batch: Batch, repeats: RepeatRule, simulate: Simulate) -> list[Repeats]:
    runs: list[Record] = []
    points: list[Repeats] = []
    settled: set[Place] = set()

    def goes_on(axes: Axes) -> bool:
        return batch.wants(axes) and place_of(axes) not in settled

    for seeds in repeats.at_first():
        runs += simulate(batch, seeds, goes_on)
        points = points_of(runs)
        settled |= {place_of(point.axes) for point in points if not do_differ(point.records)}
        if len(settled) == len(points):
            break
    return points


log = logging.getLogger(__name__)


def measure_until_sure(paper: Paper, simulate: Simulate) -> dict[str, Measurements]:
    """Run each grid point a few times, and on where that may decide what an interval of `SURE` leaves open."""
    batches = batches_of(paper)
    found = measure(batches, paper.repeats, simulate)
    for repeats in paper.repeats.looks():
        made = _open(paper, found)
        runs = sum(repeats - count for places in made.values() for count in places.values())
        if not runs:
            break
        log.info(
            f"{paper.name}: verdicts hang on more repeats of {sum(map(len, made.values()))} grid points: {runs} runs"
        )
        for batch in batches:
            if batch.name in made:
                more = _more(batch, made[batch.name], repeats, simulate)
                found[batch.name] = Measurements(batch.name, points_of([*found[batch.name].runs, *more]))
    return found


def _open(paper: Paper, found: Mapping[str, Measurements]) -> dict[str, dict[Place, int]]:
    """Count the repeats of the grid points whose further ones may decide something, by scenario."""
    made: dict[str, dict[Place, int]] = {}
    for scenario, labels in open_cells(paper, {name: each.judged_with(SURE) for name, each in found.items()}):
        point = found[scenario].point(labels)
        if found[scenario].draws(point):
            made.setdefault(scenario, {})[place_of(point.axes)] = len(point.records)
    return made


def _more(batch: Batch, made: Mapping[Place, int], repeats: int, simulate: Simulate) -> Iterator[Record]:
    """Run grid points on until each has all of its repeats: some may have paused for a stage."""

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
    """Return the function that runs the grid points of a batch; the arguments are those of `Scenario.run`.

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
