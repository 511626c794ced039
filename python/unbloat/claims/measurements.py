"""Quantities of finished runs: cells picked by the labels of a sweep's axes, values folded over their seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from statistics import fmean

import numpy as np

from unbloat._core import quantity
from unbloat.claims.expressions import ClaimError, Selectors
from unbloat.claims.quantities import quantity_named, taken
from unbloat.claims.verdicts import Values
from unbloat.results.bottleneck import NO_LINKS, Bottlenecks
from unbloat.results.metrics import Metric
from unbloat.results.record import Record, why_unsound
from unbloat.results.statistics import CONFIDENCE


class Measurements:
    """The runs of one scenario file. Repeats that are not sound are left out where the cell has others."""

    def __init__(self, scenario: str, runs: Sequence[Record], confidence: float = CONFIDENCE) -> None:
        if not runs:
            raise ClaimError(f"{scenario}: no cell of the sweep has the labels asked for")
        self.scenario = scenario
        self.runs = runs
        self.confidence = confidence
        """Confidence level of the intervals that judge claims."""
        self.seeds = sorted({run.seed for run in runs})
        self._picked: dict[tuple[str, ...], list[Record]] = {}
        self._values: dict[object, float] = {}
        self._draws: dict[tuple[str, ...], bool] = {}

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """The link of which metrics of links are, as in tables of results."""
        return Bottlenecks.of(self.runs)

    def judged_with(self, confidence: float) -> Measurements:
        """Return the same runs, of which the intervals have this confidence."""
        return Measurements(self.scenario, self.runs, confidence)

    def shared(self, settings: Iterable[Sequence[str]]) -> Measurements:
        """Return these runs without the repeats that some of the cells named here do not have.

        An interval of what several cells give is taken seed by seed. A cell that draws nothing has each repeat, because
        it comes to the same with any.
        """
        picked = [self._pick(labels) for labels in settings]
        last = min((max(run.seed for run in runs) for runs in picked if self.draws(runs)), default=self.seeds[-1])
        if last == self.seeds[-1]:
            return self
        part = Measurements(self.scenario, [run for run in self.runs if run.seed <= last], self.confidence)
        part._draws, part._values = self._draws, self._values
        return part

    def draws(self, runs: Sequence[Record]) -> bool:
        """Return whether a cell's runs differ by their seeds; they do so from the second on if they do at all."""
        place = tuple(runs[0].axes.values())
        if place not in self._draws:
            self._draws[place] = do_differ(runs[:2])
        return self._draws[place]

    def pick(self, labels: Sequence[str]) -> list[Record]:
        """Return the runs of the one cell that the labels name; raises `ClaimError` if they name none or several."""
        key = tuple(labels)
        if key not in self._picked:
            runs = self._pick(labels)
            self._picked[key] = [run for run in runs if run.is_sound] or runs
        return self._picked[key]

    def why_unsound(self, labels: Sequence[str]) -> str:
        """Say why a cell's runs are not to be believed; empty if they are."""
        run = self.pick(labels)[0]
        return "" if run.is_sound else f"{', '.join(run.axes.values())}: {why_unsound(run.run)}"

    def _pick(self, labels: Sequence[str]) -> list[Record]:
        # Within an axis the later label wins: a claim's own labels come after those of its setting.
        wanted = {self._axis(label): label for label in labels}
        runs = [run for run in self.runs if all(run.axes[axis] == label for axis, label in wanted.items())]
        rest = [axis for axis in self.runs[0].axes if axis not in wanted]
        open_axes = [axis for axis in rest if len({run.axes[axis] for run in runs}) > 1]
        if open_axes:
            raise ClaimError(f"{self.scenario}: {', '.join(labels)} leaves {', '.join(open_axes)} open")
        return runs

    def _axis(self, label: str) -> str:
        axes = [axis for axis in self.runs[0].axes if any(run.axes[axis] == label for run in self.runs)]
        if len(axes) != 1:
            known = sorted({value for run in self.runs for value in run.axes.values()})
            raise ClaimError(
                f"{self.scenario}: `{label}` is on {len(axes)} axes; the sweep's labels are {', '.join(known)}"
            )
        return axes[0]

    def values(
        self, name: str, labels: Sequence[str], selectors: Selectors | None = None, unit: str = ""
    ) -> list[float]:
        """Measure in one cell, for each of its seeds, in `unit` (the quantity's own if empty)."""
        measure = self._measure(name, unit)
        return [measure(run, selectors or {}) for run in self.pick(labels)]

    def means(self, name: str, labels: Sequence[str], selectors: Selectors | None = None, unit: str = "") -> Values:
        """Measure in one cell: the mean over its seeds, then the mean without each seed in turn."""
        return self._means(labels, self.values(name, labels, selectors, unit))

    def means_of_flows(self, name: str, labels: Sequence[str], unit: str = "") -> list[Values]:
        """Measure each flow of a cell: the means over the seeds of the largest value, the second largest and so on."""
        measure = self._measure(name, unit)
        ordered = (
            sorted((measure(run, {"flow": flow["flow"] + 1}) for flow in run.run["flows"]), reverse=True)
            for run in self.pick(labels)
        )
        return [self._means(labels, values) for values in zip(*ordered, strict=True)]

    def each_flow(self, name: str, labels: Sequence[str], groups: Sequence[str], unit: str = "") -> list[float]:
        """Measure each flow of a cell in each of its repeats: those of some groups, or all without groups."""
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
        """Average over all seeds, then without each; a cell that draws nothing comes to the same without any."""
        pairs = list(zip(self.pick(labels), values, strict=True))
        without = ([value for run, value in pairs if run.seed != seed] or values for seed in self.seeds)
        return np.array([_mean(values), *map(_mean, without)])

    def labels(self, axes: Sequence[str], at: Sequence[str]) -> list[tuple[str, ...]]:
        """List the cells that axes span in a setting, each by its labels on them; no axes span one cell."""
        known = self.runs[0].axes
        for axis in axes:
            if axis not in known:
                raise ClaimError(f"{self.scenario}: no axis `{axis}`; there are {', '.join(known)}")
        setting = {self._axis(label): label for label in at}
        runs = [run for run in self.runs if all(run.axes[axis] == label for axis, label in setting.items())]
        return list(dict.fromkeys(tuple(run.axes[axis] for axis in axes) for run in runs))


def _mean(values: Sequence[float]) -> float:
    """Average; equal values to themselves, so that a cell that draws nothing has the same mean without a seed."""
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
    """Write one of a unit as scenarios do, where Mbit/s, or Mb/s, is mbit."""
    return "1" + re.sub(r"([kMG]?)b(it)?/s", lambda found: f"{found[1].lower()}bit", unit)


def do_differ(runs: Sequence[Record]) -> bool:
    """Return whether runs of one cell with different seeds come to something different."""
    return len({_outcome(run) for run in runs}) > 1


def _outcome(run: Record) -> str:
    return repr({key: value for key, value in run.run.items() if key != "seed"})
