"""Who is best by a measure in one setting, who is alike, who is behind, and what the runs leave undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from unbloat.report.figures.looks import ordered
from unbloat.report.measures import Measure, measures_of
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.repeats import Repeats
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Difference, Estimate, difference


@dataclass(frozen=True)
class Side:
    """A label of the compared axis in one setting, and its mean."""

    label: str
    cell: Repeats
    value: Estimate
    mean: float
    behind: Difference | None
    """How far it lies from the best."""


@dataclass(frozen=True)
class Verdict:
    """One measure in one setting."""

    measure: Measure
    setting: tuple[str, ...]
    """The labels of the other axes."""
    best: Sequence[Side]
    """The best, and those that differ from it by less than the tolerance; nobody where no side has a value."""
    undecided: Sequence[Side]
    """Those whose difference from the best has an interval that holds 0."""
    behind: Sequence[Side]
    """The others, the nearest first: no lead is without a difference above the tolerance that is decided."""
    without: Sequence[str]
    """Sides without a value in any run, such as a flow that never ends."""
    partly: Mapping[str, tuple[int, int]]
    """Sides of which so many of all runs have a value, which may be the lucky ones: nobody is ahead by this measure."""

    @property
    def is_decided(self) -> bool:
        """Return whether somebody is behind the best, or has no value at all."""
        return bool(self.best) and bool(self.behind or self.without) and not self.partly

    @property
    def is_alike(self) -> bool:
        """Return whether no two sides differ by more than the tolerance."""
        return not (self.behind or self.undecided or self.without or self.partly)

    @property
    def gap(self) -> float:
        """How many times worse the worst is than the best; 1 where nothing is decided."""
        if not self.is_decided:
            return 1.0
        if self.without:
            return math.inf
        first, last = self.best[0], self.behind[-1]
        return self.measure.gap(first.mean, last.mean, (first.cell, last.cell))


@dataclass(frozen=True)
class Experiment:
    """Cells that can be held against each other: of one scenario, on one backend, over the same axes."""

    results: RunSet

    @cached_property
    def cells(self) -> list[Repeats]:
        """The cells with sound runs."""
        return [cell for cell in self.results.cells if cell.sound]

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """The links that are judged."""
        return Bottlenecks.of(self.results.records)

    @cached_property
    def measures(self) -> list[Measure]:
        """What its cells are judged by."""
        return measures_of(self.cells, self.bottlenecks)

    @cached_property
    def axes(self) -> list[str]:
        """The axes with several labels, the compared one first."""
        return ordered([record for cell in self.cells for record in cell.sound])

    @cached_property
    def settings(self) -> dict[tuple[str, ...], dict[str, Repeats]]:
        """The cells of each setting, by their labels on the compared axis."""
        found: dict[tuple[str, ...], dict[str, Repeats]] = {}
        if self.axes:
            axis, *others = self.axes
            for cell in self.cells:
                found.setdefault(tuple(cell.axes[each] for each in others), {})[cell.axes[axis]] = cell
        return found

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Judge every setting by every measure, the worst case for a person first; settings stay together."""
        of_settings = []
        for setting, cells in self.settings.items():
            if len(cells) > 1:
                found = [verdict_of(measure, setting, cells) for measure in self.measures]
                of_settings.append(sorted(found, key=_urgency))
        of_settings.sort(key=lambda found: min(map(_urgency, found), default=(1, 0.0)))
        return [verdict for found in of_settings for verdict in found]


def experiments_of(results: RunSet) -> list[Experiment]:
    """Part results by what can be held against each other."""
    found: dict[object, list[int]] = {}
    for number, record in results.by_number.items():
        run = record.run
        place = (run["scenario"], run["on"], run.get("kernel"), tuple(record.cell_axes))
        found.setdefault(place, []).append(number)
    if len(found) < 2:
        return [Experiment(results)]
    return [Experiment(results.part(numbers)) for numbers in found.values()]


def verdict_of(measure: Measure, setting: tuple[str, ...], cells: Mapping[str, Repeats]) -> Verdict:
    """Hold the sides of a setting against the best of them."""
    values = {label: measure.estimate(cell) for label, cell in cells.items()}
    partly = {
        label: (value.n, len(cells[label].sound))
        for label, value in values.items()
        if 0 < value.n < len(cells[label].sound)
    }
    means = {label: float(value.mean) for label, value in values.items() if value.mean is not None}
    ranked = sorted(means, key=means.__getitem__, reverse=not measure.is_less_better)
    first = ranked[0] if ranked else ""
    best, undecided, behind = [], [], []
    for label in ranked:
        by = None if label == first else difference(*(measure.by_seed(cells[each]) for each in (label, first)))
        side = Side(label, cells[label], values[label], means[label], by)
        if measure.are_alike(means[first], means[label], (cells[first], cells[label])):
            best.append(side)
        elif by is not None and by.is_clear is False:
            undecided.append(side)
        else:
            behind.append(side)
    without = [label for label in cells if label not in means]
    return Verdict(measure, setting, best, undecided, behind, without, partly)


def _urgency(verdict: Verdict) -> tuple[int, float]:
    """Return where it stands: first what people feel, then by how many times the worst is worse than the best."""
    return (0 if verdict.measure.kind == "felt" and verdict.is_decided else 1, -verdict.gap)


def cost_of(verdict: Verdict, others: Sequence[Verdict]) -> list[Verdict]:
    """List the verdicts of the same setting in which the best of this one is behind, the dearest first.

    Rate is paid for in what people wait for, and in how long packets do; these in rate, or in another's waiting.
    """
    best = verdict.best[0].label
    kinds = ("felt", "wait") if verdict.measure.kind == "rate" else ("felt", "rate")
    found = [
        each
        for each in others
        if each.setting == verdict.setting
        and each is not verdict
        and each.measure.kind in kinds
        and each.is_decided
        and any(side.label == best for side in each.behind)
    ]
    return sorted(found, key=lambda each: -each.gap)
