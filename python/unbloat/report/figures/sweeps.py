"""Metrics over the axes of a sweep: bars, lines with intervals, heat maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from unbloat._core import InputError
from unbloat.report import names
from unbloat.report.figures.grid import (
    MOST_PANELS,
    Looks,
    View,
    axes_of,
    groups_of,
    means_of,
    ordered,
    parts,
    points,
    quantity,
    reach,
    spans_decades,
)
from unbloat.report.figures.layout import name_above, turn_long_labels
from unbloat.report.figures.style import (
    COLOURS,
    GREY,
    HALO,
    MARKERS,
    Size,
    Style,
    colour,
    dashes,
    foot_of,
    plain_logarithms,
    small,
    span,
    unit_for,
)
from unbloat.report.table import show
from unbloat.results.axes import axis_named, base_values
from unbloat.results.metrics import Metric
from unbloat.results.record import Record
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Estimate, estimate

WIDE = 15
"""The factor from which on numbers get a logarithmic axis."""
BESIDE = 0.06
"""The distance of lines over labels beside each other; labels are 1 apart."""
WIDTH_OF_BARS = 0.8
FEW = 6
"""As many curves are named one by one; more of them by what their colours and dashes mean."""
HATCHES = ["", "///", "...", "xxx", "---", "\\\\\\"]
"""Hatches of bars tell groups of flows apart, as dashes do those of lines."""


@dataclass(frozen=True)
class Curve:
    """Estimates along an axis."""

    label: str
    hue: int
    """The number of its colour."""
    kind: int
    """Tells the others with its colour apart."""
    at: dict[str, Estimate]
    """By the labels of the axis; those without a value are left out."""


@dataclass(frozen=True)
class Along:
    """An axis of the sweep: its labels in order, and their places."""

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
        return names.short_name(self.name)


def along(records: Sequence[Record], wanted: str | None, is_number: bool, without: Sequence[str] = ()) -> Along:
    """Return the wanted axis; without one the first, or the first with numbers; raises `InputError`."""
    axes = {axis: labels for axis, labels in axes_of(records).items() if axis not in without}
    if not axes:
        raise InputError("these results have no sweep, or too few axes with several labels, for this picture")
    if wanted is not None:
        name = axis_named(wanted, axes)
        return Along.of(name, axes[name])
    candidates = [Along.of(axis, labels) for axis, labels in axes.items()]
    numbers = [each for each in candidates if each.values is not None]
    return (numbers if is_number and numbers else candidates)[0]


def has_numbers(records: Sequence[Record]) -> bool:
    """Return whether an axis has numbers, so that lines can be drawn over it."""
    return any(base_values(labels) for labels in axes_of(records).values())


def across(kind: str, records: Sequence[Record], wanted: str | None) -> str:
    """Name the axis that runs across lines or bars; raises `InputError`.

    It is one with numbers for lines, and for bars one that is not compared, because that has colours.
    """
    if kind == "lines" or wanted is not None:
        return along(records, wanted, is_number=kind == "lines").name
    compared, *others = ordered(records) or [""]
    return along(records, None, is_number=False, without=[compared] if others else []).name


def curves(view: View, metric: Metric, axis: str, looks: Looks) -> list[Curve]:
    """Estimate a metric along an axis: a curve for each grid point of the other axes and each group of flows."""
    groups = groups_of(view.records, metric)
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    grid_points: dict[str, dict[str, str]] = {}
    for group in groups:
        for point in points(view.records, metric, group, view.whole):
            grid_point = {other: label for other, label in point.axes.items() if other != axis}
            others = names.point_label(grid_point)
            grid_points[others] = grid_point
            found.setdefault((others, group), {}).setdefault(point.axes.get(axis, ""), []).extend(point.values)
    drawn = [
        Curve(
            names.joined(others, group),
            *looks.look(grid_point, group),
            {at: estimate(values) for at, values in found[others, group].items() if values},
        )
        for others, grid_point in grid_points.items()
        for group in groups
    ]
    if not (known := [curve for curve in drawn if curve.at]):
        raise InputError(f"nothing to draw: no sound run has a value of {metric.title}")
    return known


# ---------------------------------------------------------------- Lines and bars


def lines(metric: Metric, groups: Sequence[str], x: str, view: View) -> None:
    """Draw a metric over an axis, a line for each grid point of the others, with intervals.

    Labels that are not numbers have points only, for nothing lies between them. `groups` are those of flows in the
    whole picture, whose looks are the same in each of its panels.
    """
    axes, size = view.axes, view.size
    axis = along(view.records, x, is_number=True)
    looks = view.looks(groups, without=[axis.name])
    drawn = curves(view, metric, axis.name, looks)
    places = dict(zip(axis.labels, _places(axes, axis), strict=True))
    means = means_of(view.whole, metric)
    foot = foot_of(means) if spans_decades(means) else 0.0
    styles = [_look(curve, size, axis.values is not None, looks.are_two) for curve in drawn]
    for number, (curve, style) in enumerate(zip(drawn, styles, strict=True)):
        beside = BESIDE * (number - (len(drawn) - 1) / 2) if axis.values is None else 0.0
        there = [label for label in axis.labels if label in curve.at]
        estimates = [curve.at[label] for label in there]
        axes.errorbar(
            [places[label] + beside for label in there],
            [np.nan if each.mean is None else max(each.mean, foot) for each in estimates],
            reach(estimates, metric, foot),
            **style,
            clip_on=False,  # What is 0 stands on the frame, which would cut it.
            capsize=2 * size.line,
            elinewidth=0.8 * size.line,
        )
    _finish(view, axis, metric, looks, drawn, styles)


def _look(curve: Curve, size: Size, is_joined: bool, are_two: bool) -> Style:
    """Return colour, dashes and marker; markers tell apart what dashes do, and colours where there are no dashes."""
    marker = MARKERS[(curve.kind if are_two else curve.hue) % len(MARKERS)]
    joined: Style = {"linestyle": dashes(curve.hue, curve.kind) if is_joined else "none"}
    return {"color": colour(curve.hue), "marker": marker, "markersize": 3.2 * size.line, **joined}


def bars(metric: Metric, groups: Sequence[str], x: str, view: View) -> None:
    """Draw a metric over an axis, a bar for each grid point of the others, with intervals; `groups` as for `lines`."""
    axes, size = view.axes, view.size
    axis = along(view.records, x, is_number=False)
    looks = view.looks(groups, without=[axis.name])
    drawn = curves(view, metric, axis.name, looks)
    width = WIDTH_OF_BARS / len(drawn)
    # The labels of what is compared have colours in every picture; groups of flows have hatches then.
    own = Looks.of(view.whole)
    is_compared = looks.axis is None and axis.name == own.axis
    if is_compared:
        drawn = [replace(curve, kind=curve.hue) for curve in drawn]
    for number, curve in enumerate(drawn):
        there = [(place, curve.at[label]) for place, label in enumerate(axis.labels) if label in curve.at]
        estimates = [each for _, each in there]
        places = [place - WIDTH_OF_BARS / 2 + width * (number + 0.5) for place, _ in there]
        means = [each.mean or 0.0 for each in estimates]
        shades = [colour(own.hues.index(axis.labels[place]) if is_compared else curve.hue) for place, _ in there]
        axes.bar(places, means, 0.92 * width, color=shades, hatch=_hatch(curve), edgecolor="white", linewidth=0)
        reaches = reach(estimates, metric)
        if reaches.any():
            thin: Style = {"ecolor": "black", "elinewidth": 0.8 * size.line, "capsize": 1.8 * size.line}
            axes.errorbar(places, means, reaches, fmt="none", **thin)
    axes.grid(visible=False, axis="x")
    axes.set_xticks(range(len(axis.labels)), axis.labels)
    styles: list[Style] = [
        {"facecolor": GREY if is_compared else colour(curve.hue), "hatch": _hatch(curve), "edgecolor": "white"}
        for curve in drawn
    ]
    _finish(view, axis, metric, looks, drawn, styles)


def _hatch(curve: Curve) -> str:
    return HATCHES[(curve.kind + curve.hue // len(COLOURS)) % len(HATCHES)]


def _finish(
    view: View, axis: Along, metric: Metric, looks: Looks, drawn: Sequence[Curve], styles: Sequence[Style]
) -> None:
    """Name both axes and the curves, and mark what is missing.

    The upper axis begins at 0, or is logarithmic if the means of the whole picture span decades.
    """
    axes = view.axes
    axes.set_xlabel(axis.short)
    what, means = quantity(metric, view.bottlenecks), means_of(view.whole, metric)
    if spans_decades(means):
        span(axes.yaxis, means)
        what += ", logarithmic"
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(what)
    turn_long_labels(axes, axis.labels, view.size)
    _name(view, looks, drawn, styles)
    _mark_missing(axes, axis, missing_along(view.records, metric, axis.name), view.size)


def _name(view: View, looks: Looks, drawn: Sequence[Curve], styles: Sequence[Style]) -> None:
    """Name the curves above the panel; many of them by their colours and their dashes, markers or hatches apart."""
    is_bar = "facecolor" in styles[0]
    shown = [(curve.label, style) for curve, style in zip(drawn, styles, strict=True)]
    if looks.are_two and (view.is_part or len(drawn) > FEW):
        key = "facecolor" if is_bar else "color"
        kinds = {curve.kind: style for curve, style in zip(drawn, styles, strict=True) if curve.hue == drawn[0].hue}
        shown = looks.legend(
            lambda hue: {key: colour(hue)}, lambda kind: {**kinds[kind], key: GREY} if kind in kinds else None
        )
    handles = [Patch(**style) if is_bar else Line2D([], [], **style) for _, style in shown]
    name_above(view.axes, [label for label, _ in shown], view.size, handles)


def missing_along(records: Sequence[Record], metric: Metric, axis: str) -> dict[str, tuple[int, int]]:
    """Return at which labels of an axis runs have no value: how many have one, and how many there are.

    Metrics without a value, such as the completion time of an endless flow, do not count.
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


# ---------------------------------------------------------------- Heat maps


def heat_maps(
    metric: Metric, results: RunSet, x: str | None, y: str | None
) -> list[tuple[str, RunSet, Callable[[View], None]]]:
    """Return what draws a heat map for the labels on each other axis and each group of flows that has values."""
    records = results.records
    others = ordered(records, without=[axis.name for axis in two_axes(records, x, y)])
    found = [
        (", ".join(filter(None, (title, group))), part, fields(metric, records, part.records, x, y, group))
        for title, part in parts("heatmap", results, others)
        for group in groups_of(records, metric)
    ]
    known = [each for each in found if np.isfinite(each[2].values).any()]
    if not known:
        raise InputError(f"heatmap: no sound run has a value of {metric.title}")
    if len(known) > MOST_PANELS:
        raise InputError(
            f"heatmap: {len(known)} panels are too many for a picture, {MOST_PANELS} have room: pick some labels "
            "with --only (Results.only)"
        )
    values = np.concatenate([each.values.flatten() for *_, each in known])
    ends = (float(np.nanmin(values)), float(np.nanmax(values)))
    return [(title, part, partial(_heat_map, metric, each, ends, each is known[-1][2])) for title, part, each in known]


@dataclass(frozen=True)
class Fields:
    """The fields of a heat map."""

    across: Along
    up: Along
    values: np.ndarray
    """A row for each label that runs up; NaN where nothing is known."""


def fields(
    metric: Metric, whole: Sequence[Record], records: Sequence[Record], x: str | None, y: str | None, group: str
) -> Fields:
    """Estimate a metric of a group of flows in the fields of two axes."""
    across, up = two_axes(records, x, y)
    means: dict[tuple[str, str], float | None] = {
        (point.axes.get(across.name, ""), point.axes.get(up.name, "")): point.estimate.mean
        for point in points(records, metric, group, whole)
    }
    return Fields(across, up, np.array([[means.get((a, b)) for a in across.labels] for b in up.labels], dtype=float))


def two_axes(records: Sequence[Record], x: str | None, y: str | None) -> tuple[Along, Along]:
    """Return the axes that run across and up; raises `InputError` if there are none."""
    across = along(records, x, is_number=False, without=[] if y is None else [axis_named(y, axes_of(records))])
    return across, along(records, y, is_number=False, without=[across.name])


def _heat_map(metric: Metric, found: Fields, ends: tuple[float, float], is_last: bool, view: View) -> None:
    """Draw a metric over two axes, the number in each field; colours reach from one end to the other."""
    axes = view.axes
    factor, unit = unit_for(metric.unit, ends[1])
    grid, (low, high) = found.values * factor, (end * factor for end in ends)
    norm = (LogNorm if low > 0 and spans_decades([low, high]) else Normalize)(low, high)
    origin: Literal["upper", "lower"] = "upper" if found.up.values is None else "lower"
    image = axes.imshow(grid, cmap="cividis", aspect="auto", origin=origin, norm=norm)
    words: Style = {"fontsize": small(axes), "ha": "center", "va": "center"}
    for (row, column), value in np.ndenumerate(grid):
        if np.isfinite(value):
            axes.text(column, row, show(float(value)), color="white" if norm(value) < 0.55 else "black", **words)
    axes.set_xticks(range(len(found.across.labels)), found.across.labels)
    axes.set_yticks(range(len(found.up.labels)), found.up.labels)
    turn_long_labels(axes, found.across.labels, view.size, 0.6)
    axes.set_xlabel(found.across.short)
    axes.set_ylabel(found.up.short)
    axes.grid(visible=False)
    assert axes.figure is not None
    beside = axes.figure.colorbar(image, ax=axes, label=quantity(metric, view.bottlenecks, unit) if is_last else "")
    if isinstance(norm, LogNorm):
        plain_logarithms(beside.ax.yaxis)
