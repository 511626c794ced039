"""Repeats until a paper's verdicts are sure, at most as many as its authors made."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import groupby

from unbloat.claims.measurements import Measurements
from unbloat.claims.verdicts import SURE
from unbloat.papers.batches import Axes, Batch, Place, Simulate, batches_of, measure, place_of
from unbloat.papers.judge import open_cells
from unbloat.papers.paper import Paper
from unbloat.results.record import Record

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
