"""Metrics over the axes of a sweep: bars, lines with intervals, heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from unbloat._core import InputError
from unbloat.report.figures import names
from unbloat.report.figures.style import COLOURS, GREY, HALO, MARKERS, Size, Style, colour, dashes, name_above, small
from unbloat.report.figures.values import axes_of, groups_of, points, quantity, reach
from unbloat.report.table import show
from unbloat.results.axes import axis_named, base_values
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import Metric
from unbloat.results.record import Record
from unbloat.results.statistics import Estimate, estimate

WIDE = 15
"""Numbers that span more than this factor stand on a logarithmic axis."""
BESIDE = 0.06
"""How far lines over labels stand beside each other; labels are 1 apart."""
WIDTH_OF_BARS = 0.8
HATCHES = ["", "///", "...", "xxx", "---", "\\\\\\"]
"""Hatches of bars tell groups of flows apart, as dashes do those of lines."""


@dataclass(frozen=True)
class Curve:
    """Estimates along an axis."""

    label: str
    hue: int
    """Tells cells of the other axes apart."""
    kind: int
    """Tells groups of flows apart."""
    at: dict[str, Estimate]
    """By the labels of the axis; those without a value are left out."""


@dataclass(frozen=True)
class Along:
    """An axis of the sweep: its labels in order, and where they stand."""

    name: str
    labels: list[str]
    values: list[float] | None
    """Numbers in base units, where all labels are such."""

    @classmethod
    def of(cls, axis: str, labels: Sequence[str]) -> Along:
        """Order the labels by their numbers, where they have some."""
        found = base_values(labels)
        if not found:
            return cls(axis, list(labels), None)
        ordered = sorted(labels, key=found[1].__getitem__)
        return cls(axis, ordered, [found[1][label] for label in ordered])

    @property
    def short(self) -> str:
        """The axis as pictures call it: its last words."""
        return short_name(self.name)


def short_name(axis: str) -> str:
    """Name an axis by its last word; by the last two where that says too little alone."""
    parts = [part for part in axis.split(".") if not part.isdigit() and part != "*"]
    return " ".join(parts[-2:]) if parts[-1] in ("limit", "kind", "target", "rate", "delay") else parts[-1]


def along(records: Sequence[Record], wanted: str | None, is_number: bool, without: Sequence[str] = ()) -> Along:
    """Return the wanted axis; without one, the first, or the first with numbers; raises `InputError`."""
    axes = {axis: labels for axis, labels in axes_of(records).items() if axis not in without}
    if not axes:
        raise InputError("these results have no sweep, or too few axes with several labels, for this picture")
    if wanted is not None:
        name = axis_named(wanted, axes)
        return Along.of(name, axes[name])
    candidates = [Along.of(axis, labels) for axis, labels in axes.items()]
    numbers = [each for each in candidates if each.values is not None]
    return (numbers if is_number and numbers else candidates)[0]


def curves(records: Sequence[Record], metric: Metric, axis: str) -> list[Curve]:
    """Estimate a metric along an axis: a curve for each cell of the other axes and each group of flows."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    groups = groups_of(records, metric)
    for group in groups:
        for point in points(records, metric, group):
            others = " ".join(label for other, label in point.axes.items() if other != axis)
            found.setdefault((others, group), {}).setdefault(point.axes.get(axis, ""), []).extend(point.values)
    cells = list(dict.fromkeys(others for others, _ in found))
    # With a single cell, colours tell groups of flows apart.
    drawn = [
        Curve(
            names.joined(others, group),
            cells.index(others) if len(cells) > 1 else groups.index(group),
            groups.index(group) if len(cells) > 1 else 0,
            {at: estimate(values) for at, values in found[others, group].items() if values},
        )
        for others in cells
        for group in groups
    ]
    return [curve for curve in drawn if curve.at]


# ---------------------------------------------------------------- Lines and bars


def lines(metric: Metric, records: Sequence[Record], axes: Axes, size: Size, x: str | None) -> None:
    """Draw a metric over an axis, a line for each cell of the others, with intervals."""
    axis = along(records, x, is_number=True)
    drawn = curves(records, metric, axis.name)
    places = _places(axes, axis)
    for number, curve in enumerate(drawn):
        there = [
            (place, curve.at[label]) for place, label in zip(places, axis.labels, strict=True) if label in curve.at
        ]
        beside = BESIDE * (number - (len(drawn) - 1) / 2) if axis.values is None else 0.0
        estimates = [each for _, each in there]
        axes.errorbar(
            [place + beside for place, _ in there],
            [np.nan if each.mean is None else each.mean for each in estimates],
            reach(estimates, metric),
            color=colour(curve.hue),
            linestyle=dashes(curve.hue, curve.kind),
            marker=MARKERS[(curve.hue + 3 * curve.kind) % len(MARKERS)],
            markersize=3.2 * size.line,
            capsize=2 * size.line,
            elinewidth=0.8 * size.line,
        )
    _finish(axes, axis, quantity(metric, Bottlenecks.of(records)), [curve.label for curve in drawn], size)
    _mark_missing(axes, axis, missing_along(records, metric, axis.name), size)


def bars(metric: Metric, records: Sequence[Record], axes: Axes, size: Size, x: str | None) -> None:
    """Draw a metric over an axis, a bar for each cell of the others, with intervals."""
    axis = along(records, x, is_number=False)
    drawn = curves(records, metric, axis.name)
    width = WIDTH_OF_BARS / len(drawn)
    for number, curve in enumerate(drawn):
        there = [(place, curve.at[label]) for place, label in enumerate(axis.labels) if label in curve.at]
        estimates = [each for _, each in there]
        places = [place - WIDTH_OF_BARS / 2 + width * (number + 0.5) for place, _ in there]
        means = [each.mean or 0.0 for each in estimates]
        hatch = HATCHES[(curve.kind + curve.hue // len(COLOURS)) % len(HATCHES)]
        axes.bar(places, means, 0.92 * width, color=colour(curve.hue), hatch=hatch, edgecolor="white", linewidth=0)
        reaches = reach(estimates, metric)
        if reaches.any():
            axes.errorbar(places, means, reaches, fmt="none", ecolor="black", elinewidth=0.8 * size.line,
                          capsize=1.8 * size.line)  # fmt: skip
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(axis.labels)), axis.labels)
    _finish(axes, axis, quantity(metric, Bottlenecks.of(records)), [curve.label for curve in drawn], size)
    _mark_missing(axes, axis, missing_along(records, metric, axis.name), size)


def missing_along(records: Sequence[Record], metric: Metric, axis: str) -> dict[str, tuple[int, int]]:
    """Return at which labels of an axis runs have no value: how many have one, and how many there are.

    What never has one, such as the completion time of an endless flow, does not count.
    """
    found: dict[str, tuple[int, int]] = {}
    for group in groups_of(records, metric):
        drawn = points(records, metric, group)
        for point in drawn if any(point.values for point in drawn) else []:
            label = point.axes.get(axis, "")
            known, total = found.get(label, (0, 0))
            found[label] = known + len(point.values), total + len(point.values) + point.missing
    return {label: (known, total) for label, (known, total) in found.items() if known < total}


def _mark_missing(axes: Axes, axis: Along, missing: Mapping[str, tuple[int, int]], size: Size) -> None:
    """Mark where means are over some of the runs only, or over none, with an open marker and how many there are."""
    style: Style = {"color": GREY, "markerfacecolor": "white", "clip_on": False, "zorder": 5}
    words: Style = {"ha": "center", "va": "bottom", "fontsize": size.small, "path_effects": HALO}
    frame: Style = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
    for place, label in zip(axes.get_xticks(), axis.labels, strict=False):
        if label in missing:
            known, total = missing[label]
            axes.plot([place], [0], "o", transform=axes.get_xaxis_transform(), markersize=4 * size.line, **style)
            axes.annotate(f"{known} of {total} runs", (place, 0), xytext=(0, 4 * size.line), **frame, **words)


def _places(axes: Axes, axis: Along) -> list[float]:
    """Place the labels of an axis on the panel; return their positions."""
    if axis.values is None:
        axes.set_xticks(range(len(axis.labels)), axis.labels)
        return [float(place) for place in range(len(axis.labels))]
    if min(axis.values) > 0 and max(axis.values) > WIDE * min(axis.values):
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(axis.values, axis.labels)
    return axis.values


def _finish(axes: Axes, axis: Along, what: str, labels: Sequence[str], size: Size) -> None:
    axes.set_xlabel(axis.short)
    axes.set_ylabel(what)
    axes.set_ylim(bottom=0)
    if sum(map(len, axis.labels)) > 0.8 * size.width * 72 / size.small:
        axes.tick_params(axis="x", rotation=30)
    handles = [each for each in axes.containers if isinstance(each, mpl.container.BarContainer)] or axes.containers
    name_above(axes, labels, size, handles)


# ---------------------------------------------------------------- Heat maps


def heat_map(metric: Metric, records: Sequence[Record], axes: Axes, size: Size, x: str | None, y: str | None) -> None:
    """Draw a metric over two axes, the number in each field; of other axes there must be none."""
    across = along(records, x, is_number=False, without=[] if y is None else [axis_named(y, axes_of(records))])
    up = along(records, y, is_number=False, without=[across.name])
    if others := [axis for axis in axes_of(records) if axis not in (across.name, up.name)]:
        raise InputError(f"heatmap: shows two axes, and {', '.join(others)} has several labels too: pick one with only")
    means: dict[tuple[str, str], float | None] = {
        (point.axes.get(across.name, ""), point.axes.get(up.name, "")): point.estimate.mean
        for point in points(records, metric)
    }
    grid = np.array([[means.get((a, b)) for a in across.labels] for b in up.labels], dtype=float)
    image = axes.imshow(grid, cmap="cividis", aspect="auto", origin="upper" if up.values is None else "lower")
    low, high = np.nanmin(grid), np.nanmax(grid)
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            is_dark = value < low + 0.55 * (high - low)
            style: Style = {
                "color": "white" if is_dark else "black",
                "fontsize": small(axes),
                "ha": "center",
                "va": "center",
            }
            axes.text(column, row, show(float(value)), **style)
    axes.set_xticks(range(len(across.labels)), across.labels)
    axes.set_yticks(range(len(up.labels)), up.labels)
    axes.set_xlabel(across.short)
    axes.set_ylabel(up.short)
    axes.grid(visible=False)
    assert axes.figure is not None
    axes.figure.colorbar(image, ax=axes, label=quantity(metric, Bottlenecks.of(records)))
