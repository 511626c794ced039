"""Quantities of finished runs, picked by the labels of a sweep's axes and averaged over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from unbloat.papers.expressions import ClaimError, Selector
from unbloat.papers.quantities import MeasuredRun, quantity_named


class Measurements:
    """The runs of one scenario file."""

    def __init__(self, scenario: str, runs: Sequence[MeasuredRun]) -> None:
        if not runs:
            raise ClaimError(f"{scenario}: no cell of the sweep has the labels asked for")
        self.scenario = scenario
        self.runs = runs

    def pick(self, labels: Sequence[str]) -> list[MeasuredRun]:
        """Give the runs of the one cell that the labels name; raises `ClaimError` if they name none or several."""
        # The later label wins within an axis: a claim's own brackets stand behind the setting it is made in.
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

    def take(self, name: str, labels: Sequence[str], selectors: dict[str, Selector], unit: str = "") -> float:
        """Measure in one cell, as the mean over its seeds, in `unit` (the quantity's own if empty)."""
        return fmean(self.repeats(name, labels, selectors, unit))

    def repeats(self, name: str, labels: Sequence[str], selectors: dict[str, Selector], unit: str = "") -> list[float]:
        """Measure in one cell, for each of its seeds."""
        quantity = quantity_named(name)
        factor = _factor(quantity.unit, unit or quantity.unit)
        return [quantity.take(run, selectors) * factor for run in self.pick(labels)]

    def labels(self, axes: Sequence[str], at: Sequence[str]) -> list[tuple[str, ...]]:
        """List the cells that axes span in a setting, each by its labels on them; no axes span one cell."""
        known = self.runs[0].axes
        for axis in axes:
            if axis not in known:
                raise ClaimError(f"{self.scenario}: no axis `{axis}`; there are {', '.join(known)}")
        setting = {self._axis(label): label for label in at}
        runs = [run for run in self.runs if all(run.axes[axis] == label for axis, label in setting.items())]
        return list(dict.fromkeys(tuple(run.axes[axis] for axis in axes) for run in runs))

    def take_flows(self, name: str, labels: Sequence[str], unit: str = "") -> list[float]:
        """Measure each flow of a cell: the means over the seeds of the largest value, the second largest and so on."""
        quantity = quantity_named(name)
        factor = _factor(quantity.unit, unit or quantity.unit)
        runs = self.pick(labels)
        ordered = [
            sorted((quantity.take(run, {"flow": flow + 1}) for flow in range(len(run.record["flows"]))), reverse=True)
            for run in runs
        ]
        return [fmean(values) * factor for values in zip(*ordered, strict=True)]


_FACTORS = {("ms", "s"): 1e-3, ("s", "ms"): 1e3, ("B", "KB"): 1e-3, ("Mb/s", "kb/s"): 1e3, ("", "index"): 1.0}


def _factor(own: str, wanted: str) -> float:
    if own == wanted:
        return 1.0
    if (own, wanted) not in _FACTORS:
        raise ClaimError(f"a quantity in {own or 'no unit'} cannot be given in {wanted}")
    return _FACTORS[own, wanted]
