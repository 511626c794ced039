"""Quantities of finished runs: grid points picked by the labels of a sweep's axes, values folded over their seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import fmean

import numpy as np

from unbloat._core import quantity
from unbloat.claims.expressions import ClaimError, Selectors
from unbloat.claims.quantities import quantity_named, taken
from unbloat.claims.verdicts import Values
from unbloat.results.bottleneck import NO_LINKS, Bottlenecks
from unbloat.results.grid_points import Repeats
from unbloat.results.metrics import Metric
from unbloat.results.record import Record, why_unsound
from unbloat.results.statistics import CONFIDENCE


class Measurements:
    """The runs of one scenario file. Repeats that are not sound are left out where the grid point has others."""

    def __init__(self, scenario: str, points: Sequence[Repeats], confidence: float = CONFIDENCE) -> None:
        if not points:
            raise ClaimError(f"{scenario}: no grid point of the sweep has the labels asked for")
        self.scenario = scenario
        self.points = points
        self.confidence = confidence
        """Confidence level of the intervals that judge claims."""
        self.seeds = sorted({run.seed for run in self.runs})
        self._points: dict[tuple[str, ...], Repeats] = {}
        self._values: dict[object, float] = {}
        self._draws: dict[tuple[str, ...], bool] = {}

    @property
    def runs(self) -> list[Record]:
        """The runs of all grid points."""
        return [run for point in self.points for run in point.records]

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """The link of which metrics of links are, as in tables of results."""
        return Bottlenecks.of(self.runs)

    def judged_with(self, confidence: float) -> Measurements:
        """Return the same runs, of which the intervals have this confidence."""
        return Measurements(self.scenario, self.points, confidence)

    def shared(self, settings: Iterable[Sequence[str]]) -> Measurements:
        """Return these runs without the repeats that some of the grid points named here do not have.

        An interval of what several grid points give is taken seed by seed. A grid point that draws nothing has each
        repeat, because it comes to the same with any.
        """
        drawing = [point for point in map(self.point, settings) if self.draws(point)]
        last = min((max(run.seed for run in point.records) for point in drawing), default=self.seeds[-1])
        if last == self.seeds[-1]:
            return self
        points = [replace(point, records=[run for run in point.records if run.seed <= last]) for point in self.points]
        part = Measurements(self.scenario, points, self.confidence)
        part._draws, part._values = self._draws, self._values
        return part

    def draws(self, point: Repeats) -> bool:
        """Return whether a grid point's runs differ by their seeds; they do so from the second on if they do at all."""
        place = tuple(point.axes.values())
        if place not in self._draws:
            self._draws[place] = do_differ(point.records[:2])
        return self._draws[place]

    def pick(self, labels: Sequence[str]) -> list[Record]:
        """Return the runs of the grid point that the labels name; raises `ClaimError` if they name none or several."""
        point = self.point(labels)
        return point.sound or point.records

    def why_unsound(self, labels: Sequence[str]) -> str:
        """Say why a grid point's runs are not to be believed; empty if they are."""
        run = self.pick(labels)[0]
        return "" if run.is_sound else f"{', '.join(run.axes.values())}: {why_unsound(run.run)}"

    def point(self, labels: Sequence[str]) -> Repeats:
        """Return the one grid point that the labels name; raises `ClaimError` if they name none or several."""
        key = tuple(labels)
        if key not in self._points:
            # Within an axis the later label wins: a claim's own labels come after those of its setting.
            points = self._with(labels)
            open_axes = [axis for axis in self.points[0].axes if len({point.axes[axis] for point in points}) > 1]
            if open_axes:
                raise ClaimError(
                    f"{self.scenario}: {', '.join(labels)} needs a label of each of {', '.join(open_axes)}"
                )
            if not points:
                raise ClaimError(f"{self.scenario}: no grid point of the sweep has the labels {', '.join(labels)}")
            self._points[key] = points[0]
        return self._points[key]

    def _with(self, labels: Sequence[str]) -> list[Repeats]:
        """List the grid points with these labels."""
        wanted = {self._axis(label): label for label in labels}
        return [point for point in self.points if all(point.axes[axis] == label for axis, label in wanted.items())]

    def _axis(self, label: str) -> str:
        axes = [axis for axis in self.points[0].axes if any(point.axes[axis] == label for point in self.points)]
        if len(axes) != 1:
            known = sorted({value for point in self.points for value in point.axes.values()})
            raise ClaimError(
                f"{self.scenario}: `{label}` is on {len(axes)} axes; the sweep's labels are {', '.join(known)}"
            )
        return axes[0]

    def labels(self, axes: Sequence[str], at: Sequence[str]) -> list[tuple[str, ...]]:
        """List the grid points that axes span in a setting, each by its labels on them; no axes span one grid point."""
        known = self.points[0].axes
        for axis in axes:
            if axis not in known:
                raise ClaimError(f"{self.scenario}: unknown axis `{axis}`; valid: {', '.join(known)}")
        return list(dict.fromkeys(tuple(point.axes[axis] for axis in axes) for point in self._with(at)))

    def values(
        self, name: str, labels: Sequence[str], selectors: Selectors | None = None, unit: str = ""
    ) -> list[float]:
        """Measure in one grid point, for each of its seeds, in `unit` (the quantity's own if empty)."""
        measure = self._measure(name, unit)
        return [measure(run, selectors or {}) for run in self.pick(labels)]

    def means(self, name: str, labels: Sequence[str], selectors: Selectors | None = None, unit: str = "") -> Values:
        """Measure in one grid point: the mean over its seeds, then the mean without each seed in turn."""
        return self._means(labels, self.values(name, labels, selectors, unit))

    def means_of_flows(self, name: str, labels: Sequence[str], unit: str = "") -> list[Values]:
        """Measure each flow of a grid point: the mean over its seeds of the largest value, of the second and so on."""
        measure = self._measure(name, unit)
        ordered = (
            sorted((measure(run, {"flow": flow["flow"] + 1}) for flow in run.run["flows"]), reverse=True)
            for run in self.pick(labels)
        )
        return [self._means(labels, values) for values in zip(*ordered, strict=True)]

    def each_flow(self, name: str, labels: Sequence[str], groups: Sequence[str], unit: str = "") -> list[float]:
        """Measure each flow of a grid point in each of its repeats: those of some groups, or all without groups."""
        measure = self._measure(name, unit)
        return [
            measure(run, {"flow": flow["flow"] + 1})
            for run in self.pick(labels)
            for flow in run.run["flows"]
            if not groups or flow.get("name") in groups
        ]

    def _measure(self, name: str, unit: str) -> Callable[[Record, Selectors], float]:
        """Return what measures a run, each only once: some quantities look through a whole series."""
        measured = quantity_named(name)
        factor = _factor(measured.unit, unit or measured.unit)
        bottlenecks = self.bottlenecks if isinstance(measured, Metric) and measured.of == "link" else NO_LINKS

        def measure(run: Record, selectors: Selectors) -> float:
            key = (id(run), name, tuple(selectors.items()))
            if key not in self._values:
                self._values[key] = taken(measured, run, selectors, bottlenecks)
            return self._values[key] * factor

        return measure

    def _means(self, labels: Sequence[str], values: Sequence[float]) -> Values:
        """Average over all seeds, then without each; a grid point that draws nothing comes to the same without any."""
        pairs = list(zip(self.pick(labels), values, strict=True))
        without = ([value for run, value in pairs if run.seed != seed] or values for seed in self.seeds)
        return np.array([_mean(values), *map(_mean, without)])


def _mean(values: Sequence[float]) -> float:
    """Average; equal values to themselves, so that a grid point that draws nothing has the same mean without a seed."""
    return values[0] if len(set(values)) == 1 else fmean(values)


def _factor(own: str, wanted: str) -> float:
    """Return the factor between units; papers call a number without a unit, or a score, what they like."""
    one, other = (quantity(_as_in_scenarios(unit)) for unit in (own, wanted))
    if own == wanted or (other is None and (not own or own.startswith("of "))):
        return 1.0
    if one is None or other is None or one[0] != other[0]:
        raise ClaimError(f"a quantity in {own or 'no unit'} cannot be given in {wanted}")
    return one[1] / other[1]


def _as_in_scenarios(unit: str) -> str:
    """Write one of a unit as scenarios do, where Mbit/s is mbit; papers may print other spellings."""
    return "1" + re.sub(r"([kMG]?)b(it)?/s", lambda found: f"{found[1].lower()}bit", unit)


def do_differ(runs: Sequence[Record]) -> bool:
    """Return whether runs of one grid point with different seeds come to something different."""
    return len({_outcome(run) for run in runs}) > 1


def _outcome(run: Record) -> str:
    return repr({key: value for key, value in run.run.items() if key != "seed"})
