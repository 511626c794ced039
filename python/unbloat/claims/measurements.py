"""Quantities of finished runs, picked by the labels of a sweep's axes and averaged over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from unbloat.claims.expressions import ClaimError, Selector
from unbloat.claims.quantities import Quantity, quantity_named
from unbloat.claims.uncertainty import Seed
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

    def take(
        self, name: str, labels: Sequence[str], selectors: dict[str, Selector], unit: str = "", without: Seed = None
    ) -> float:
        """Measure in one cell, as the mean over its seeds, in `unit` (the quantity's own if empty)."""
        return _mean(self.repeats(name, labels, selectors, unit, without))

    def repeats(
        self, name: str, labels: Sequence[str], selectors: dict[str, Selector], unit: str = "", without: Seed = None
    ) -> list[float]:
        """Measure in one cell, for each of its seeds.

        Without one of them, where there are others: a cell that draws nothing is run with two seeds only, and comes to
        the same with any.
        """
        quantity = quantity_named(name)
        factor = _factor(quantity.unit, unit or quantity.unit)
        return [self._value(run, name, quantity, selectors) * factor for run in self._left(labels, without)]

    def _left(self, labels: Sequence[str], without: Seed) -> list[Record]:
        runs = self.pick(labels)
        return [run for run in runs if run.seed != without] or runs

    def _value(self, run: Record, name: str, quantity: Quantity, selectors: dict[str, Selector]) -> float:
        """Take it once only: some quantities look through a whole series."""
        key = (id(run), name, tuple(selectors.items()))
        if key not in self._values:
            self._values[key] = quantity.take(run, selectors)
        return self._values[key]

    def labels(self, axes: Sequence[str], at: Sequence[str]) -> list[tuple[str, ...]]:
        """List the cells that axes span in a setting, each by its labels on them; no axes span one cell."""
        known = self.runs[0].axes
        for axis in axes:
            if axis not in known:
                raise ClaimError(f"{self.scenario}: no axis `{axis}`; there are {', '.join(known)}")
        setting = {self._axis(label): label for label in at}
        runs = [run for run in self.runs if all(run.axes[axis] == label for axis, label in setting.items())]
        return list(dict.fromkeys(tuple(run.axes[axis] for axis in axes) for run in runs))

    def take_flows(self, name: str, labels: Sequence[str], unit: str = "", without: Seed = None) -> list[float]:
        """Measure each flow of a cell: the means over the seeds of the largest value, the second largest and so on."""
        quantity = quantity_named(name)
        factor = _factor(quantity.unit, unit or quantity.unit)
        ordered = [
            sorted(
                (self._value(run, name, quantity, {"flow": flow + 1}) for flow in range(len(run.run["flows"]))),
                reverse=True,
            )
            for run in self._left(labels, without)
        ]
        return [_mean(values) * factor for values in zip(*ordered, strict=True)]

    def each_flow(self, name: str, labels: Sequence[str], groups: Sequence[str], unit: str = "") -> list[float]:
        """Measure each flow of a cell in each of its repeats: those of some groups, or all without groups."""
        quantity = quantity_named(name)
        factor = _factor(quantity.unit, unit or quantity.unit)
        return [
            self._value(run, name, quantity, {"flow": number}) * factor
            for run in self.pick(labels)
            for number, flow in enumerate(run.run["flows"], 1)
            if not groups or flow.get("name") in groups
        ]


def _mean(values: Sequence[float]) -> float:
    """Average; equal values to themselves, so that a cell that draws nothing has the same mean without a seed."""
    return values[0] if len(set(values)) == 1 else fmean(values)


_FACTORS = {("ms", "s"): 1e-3, ("s", "ms"): 1e3, ("B", "KB"): 1e-3, ("Mbit/s", "kb/s"): 1e3}
_AS_PRINTED = {"Mb/s": "Mbit/s", "R": "of 93.2", "index": "", "windows": ""}
"""Units as papers write them."""


def _factor(own: str, wanted: str) -> float:
    if own in (wanted, _AS_PRINTED.get(wanted)):
        return 1.0
    if (own, wanted) not in _FACTORS:
        raise ClaimError(f"a quantity in {own or 'no unit'} cannot be given in {wanted}")
    return _FACTORS[own, wanted]


def do_differ(runs: Sequence[Record]) -> bool:
    """Return whether runs of one cell with different seeds come to something different."""
    return len({_outcome(run) for run in runs}) > 1


def _outcome(run: Record) -> str:
    return repr({key: value for key, value in run.run.items() if key != "seed"})
