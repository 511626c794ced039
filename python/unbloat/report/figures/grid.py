"""Grid points as pictures show them: their values, their colours and dashes, their panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from unbloat._core import InputError
from unbloat.report import names
from unbloat.results.bottleneck import RATES, Bottlenecks
from unbloat.results.metrics import MEAN, Metric, metric_named, number
from unbloat.results.record import Record
from unbloat.results.rows import Run
from unbloat.results.statistics import Estimate, estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from unbloat.report.figures.style import Size, Style
    from unbloat.results.run_set import RunSet

MOST_GROUPS = 4
"""More groups of flows than this are folded into one."""
USUAL = ("goodput", "queue_delay")
"""Metrics that are drawn where nobody says which."""
SPAN = 100.0
"""Ratio of the largest value to the least one from which an axis is logarithmic."""


def spans_decades(values: Iterable[float | None]) -> bool:
    """Return whether the least of the values, without those of 0, could not be seen beside the largest."""
    positive = [value for value in values if value is not None and value > 0]
    return bool(positive) and max(positive) > SPAN * min(positive)


def metrics_named(wanted: Sequence[str]) -> list[Metric]:
    """Return metrics by their short names or their columns' names; raises `InputError` for an unknown one."""
    return [metric_named(name) for name in wanted or USUAL]


def quantity(metric: Metric, bottlenecks: Bottlenecks, unit: str | None = None) -> str:
    """Name a metric with its unit, or another one, as an axis has it, and with its link where there are several."""
    name, unit = bottlenecks.heading(metric).removesuffix(" mean"), metric.unit if unit is None else unit
    if metric.name in RATES and not bottlenecks.is_shared:
        name += " of a flow"  # They do not add up, so that means are drawn.
    return f"{name} ({unit})" if unit else name


# ---------------------------------------------------------------- Groups of flows


def groups_of(records: Sequence[Record], metric: Metric) -> list[str]:
    """List the groups of flows that a metric is drawn for one by one; a lone empty name means all of them together."""
    groups = dict.fromkeys(names.flow_group(flow) for record in records for flow in record.run["flows"])
    each_run = [{names.flow_group(flow) for flow in record.run["flows"]} for record in records]
    apart = metric.of == "flow" and 1 < len(groups) <= MOST_GROUPS and all(len(own) > 1 for own in each_run)
    # One that the metric says nothing of, such as an upload's opinion score, needs no look.
    flows = [flow for record in records for flow in record.run["flows"] if number(flow, metric.name) is not None]
    known = {names.flow_group(flow) for flow in flows} or groups
    return [group for group in groups if group in known] if apart else [""]


def groups_of_all(records: Sequence[Record], metrics: Sequence[Metric]) -> list[str]:
    """List the groups of a picture of several metrics; those that have none are in a group without a name, the last."""
    found = dict.fromkeys(group for metric in metrics for group in groups_of(records, metric))
    return sorted(found, key=lambda group: not group)


def value_of(run: Run, metric: Metric, bottlenecks: Bottlenecks, group: str = "") -> float | None:
    """Take a metric of a run: of a group of flows or all of them, of the bottleneck, of the run."""
    flows = [flow for flow in run["flows"] if not group or names.flow_group(flow) == group]
    if metric.name in RATES and not bottlenecks.is_shared:
        return MEAN.of(flows, metric.name)
    return bottlenecks.take(run, metric, flows)


@dataclass(frozen=True)
class Sample:
    """All values of a metric in a grid point, or in a group of its flows."""

    label: str
    axes: Mapping[str, str]
    group: str
    values: np.ndarray


def values_of(records: Sequence[Record], metric: Metric, whole: Sequence[Record] | None = None) -> list[Sample]:
    """Collect all values of a metric, those of single flows, links or runs, by grid points and groups; empty ones too.

    The bottleneck is that of the whole picture.
    """
    several = groups_of(records, metric) != [""]
    bottlenecks = Bottlenecks.of(whole or records)
    found = []
    for where, repeats in repeated(records):
        values: dict[str, list[float]] = {}
        for run in (record.run for record in repeats):
            for row in run["flows"] if metric.fold else [bottlenecks.link(run) if metric.of == "link" else run]:
                known = values.setdefault(names.flow_group(row) if metric.fold and several else "", [])
                if (value := number(row, metric.name)) is not None:
                    known.append(float(value))
        axes = repeats[0].point_axes
        found += [
            Sample(names.joined(where, group) or "all", axes, group, np.array(known)) for group, known in values.items()
        ]
    return found


# ---------------------------------------------------------------- Grid points


@dataclass(frozen=True)
class Point:
    """A grid point with the values of its repeats."""

    axes: dict[str, str]
    values: tuple[float, ...]
    missing: int = 0
    """Sound runs without a value, such as those that ended before a flow did."""

    @property
    def estimate(self) -> Estimate:
        """The mean of the values with its interval."""
        return estimate(self.values)


def points(
    records: Sequence[Record], metric: Metric, group: str = "", whole: Sequence[Record] | None = None
) -> list[Point]:
    """Return a point for each grid point in its order; unsound runs do not count."""
    grid_points: dict[tuple[tuple[str, str], ...], list[float | None]] = {}
    bottlenecks = Bottlenecks.of(whole or records)
    for record in records:
        values = grid_points.setdefault(tuple(record.point_axes.items()), [])
        if record.is_sound:
            values.append(value_of(record.run, metric, bottlenecks, group))
    return [
        Point(dict(axes), tuple(float(value) for value in values if value is not None), values.count(None))
        for axes, values in grid_points.items()
    ]


def means_of(records: Sequence[Record], metric: Metric) -> list[float]:
    """Return the mean of each grid point and group of flows; 0 where none is known."""
    return [
        point.estimate.mean or 0.0 for group in groups_of(records, metric) for point in points(records, metric, group)
    ]


def axes_of(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the axes that have several labels, and the labels of each."""
    labels: dict[str, dict[str, None]] = {}
    for record in records:
        for axis, label in record.point_axes.items():
            labels.setdefault(axis, {})[label] = None
    return {axis: list(known) for axis, known in labels.items() if len(known) > 1}


def reach(estimates: Sequence[Estimate], metric: Metric, foot: float = 0.0) -> np.ndarray:
    """Return how far intervals reach down and up, cut to values that the metric can have; 0 without interval.

    `foot` is the least value of a logarithmic axis, which has no place for less.
    """
    high = np.inf if metric.most is None else metric.most
    ends = [
        (min(each.half_width, each.mean - foot), min(each.half_width, high - each.mean))
        if each.half_width and each.mean is not None
        else (0.0, 0.0)
        for each in estimates
    ]
    clipped: np.ndarray = np.clip(np.array(ends, dtype=float).reshape(-1, 2).T, 0, None)
    return clipped


def repeated(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield the sound runs of each grid point with its name."""
    grid_points: dict[str, list[Record]] = {}
    for record in records:
        if record.is_sound:
            grid_points.setdefault(names.run_label(record), []).append(record)
    yield from grid_points.items()


# ---------------------------------------------------------------- Looks


COMPARED = ("cc", "window_controller", "classifier")
"""Axes that sweeps are made for, by the last words of their names, in any place among the others."""
MOST_PANELS = 12
"""More panels than this for one quantity are too many for a picture."""


def ordered(records: Sequence[Record], without: Sequence[str] = ()) -> list[str]:
    """List the axes with several labels, the one that is compared first."""
    axes = [axis for axis in axes_of(records) if axis not in without]
    return sorted(axes, key=lambda axis: axis.rpartition(".")[2] not in COMPARED)


@dataclass(frozen=True)
class Looks:
    """The colours and dashes of a picture's grid points and groups of flows, the same in each of its panels."""

    axis: str | None
    """The axis of the colours; None where colours tell groups apart."""
    others: tuple[str, ...]
    """The axes of the dashes."""
    hues: list[str]
    """Labels or groups that have a colour each."""
    dashes: list[str]

    @classmethod
    def of(
        cls,
        whole: Sequence[Record],
        part: Sequence[Record] | None = None,
        groups: Sequence[str] = ("",),
        without: Sequence[str] = (),
    ) -> Looks:
        """Assign looks by all records of a picture to those of a panel, whose records may lack some axes."""
        there = {axis for record in part or whole for axis in record.point_axes}
        axes = [axis for axis in ordered(whole, without) if axis in there]
        if not axes:
            return cls(None, (), list(groups), [""])
        axis, rest = axes[0], tuple(axes[1:])
        hues = dict.fromkeys(record.point_axes.get(axis, "") for record in whole)
        dashes = dict.fromkeys(_joined(record.point_axes, rest, group) for record in whole for group in groups)
        return cls(axis, rest, list(hues), list(dashes))

    def look(self, axes: Mapping[str, str], group: str = "") -> tuple[int, int]:
        """Return the numbers of the colour and of the dashes of a group of flows in a grid point."""
        if self.axis is None:
            return self.hues.index(group) if group in self.hues else 0, 0
        return self.hues.index(axes.get(self.axis, "")), self.dashes.index(_joined(axes, self.others, group))

    @property
    def are_several(self) -> bool:
        """Return whether there is anything to tell apart."""
        return len(self.hues) > 1 or len(self.dashes) > 1

    @property
    def are_two(self) -> bool:
        """Return whether colours and dashes both tell something apart."""
        return len(self.hues) > 1 and len(self.dashes) > 1

    def legend(self, of_hue: Callable[[int], Style], of_dash: Callable[[int], Style | None]) -> list[tuple[str, Style]]:
        """Return the meanings of colours, and of dashes where these tell something apart too, each with its style."""
        named = [names.axis_label(self.axis, label) for label in self.hues] if self.axis else self.hues
        hues = [(label, of_hue(hue)) for hue, label in enumerate(named)]
        dashes = [(label, style) for dash, label in enumerate(self.dashes) if (style := of_dash(dash)) is not None]
        return [*hues, *(dashes if self.are_two else [])]


def _joined(axes: Mapping[str, str], others: Sequence[str], group: str) -> str:
    label = names.point_label({axis: axes[axis] for axis in others if axes.get(axis)})
    return " ".join(filter(None, [label, group]))


@dataclass(frozen=True)
class Shown:
    """The runs that a panel shows, and those of the whole picture, whose looks and bottleneck its panels share."""

    whole: Sequence[Record]
    results: RunSet

    @property
    def records(self) -> Sequence[Record]:
        """The runs of the panel."""
        return self.results.records

    @property
    def is_part(self) -> bool:
        """Return whether other panels show other runs."""
        return len(self.whole) > len(self.records)

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """The links that metrics of links are taken of."""
        return Bottlenecks.of(self.whole)

    def looks(self, groups: Sequence[str] = ("",), without: Sequence[str] = ()) -> Looks:
        """Return the looks of its grid points and of groups of flows."""
        return Looks.of(self.whole, self.records, groups, without)


@dataclass(frozen=True)
class View(Shown):
    """A panel: the runs that it shows, and where they are drawn."""

    axes: Axes
    size: Size
    rows: int
    """Rows of panels in the picture."""


# ---------------------------------------------------------------- Small multiples


def panel_axes(records: Sequence[Record], groups: Sequence[str], without: Sequence[str] = ()) -> list[str]:
    """List the axes that neither colours nor dashes have room for: groups of flows take the dashes."""
    return ordered(records, without)[1 if len(groups) > 1 else 2 :]


def parts(kind: str, results: RunSet, axes: Sequence[str]) -> list[tuple[str, RunSet]]:
    """Part results by their labels on some axes; each part has a title, and lacks these axes."""
    if not axes:
        return [("", results)]
    found: dict[str, list[int]] = {}
    for place, record in results.by_number.items():
        labels = [record.point_axes.get(axis, "") for axis in axes]
        several = ", ".join(map(names.axis_label, axes, labels))
        title = f"{names.short_name(axes[0])} {labels[0]}" if len(axes) == 1 else several
        found.setdefault(title, []).append(place)
    if len(found) > MOST_PANELS:
        raise InputError(
            f"{kind}: {', '.join(axes)} would take {len(found)} panels, and {MOST_PANELS} have room in a picture: "
            "pick some of their labels with --only (RunSet.only)"
        )
    return [(title, results.part(numbers, without=axes)) for title, numbers in found.items()]
