"""The runs behind a paper's numbers: every grid point of its scenarios, as often as its draws and its verdicts need."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from unbloat.claims.batches import Axes, Batch, Place, Simulate, measure, place_of
from unbloat.claims.claim import settings_of
from unbloat.claims.measurements import Measurements
from unbloat.claims.verdicts import SURE
from unbloat.papers.judge import open_cells
from unbloat.papers.paper import Paper
from unbloat.results.grid_points import Repeats, points_of
from unbloat.results.record import Outcome
from unbloat.scenarios.source import source_of


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
    points = source_of(batch.source, batch.overrides).points()
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


def _more(batch: Batch, made: Mapping[Place, int], repeats: int, simulate: Simulate) -> Iterator[Outcome]:
    """Run grid points on until each has all of its repeats: some may have paused for a stage."""

    def with_so_many(count: int) -> Callable[[Axes], bool]:
        return lambda axes: made.get(place_of(axes)) == count

    for count in sorted({each for each in made.values() if each < repeats}):
        yield from simulate(batch, range(count + 1, repeats + 1), with_so_many(count))
