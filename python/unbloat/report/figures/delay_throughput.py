"""Delay against throughput: a point for each run, an ellipse for the runs of a grid point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from unbloat._core import InputError
from unbloat.report import names
from unbloat.report.figures.grid import Looks, View, groups_of, quantity, repeated, spans_decades, value_of
from unbloat.report.figures.layout import columns_of, name_above
from unbloat.report.figures.style import GREY, HALO, MARKERS, Box, Size, Style, colour, span
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Record

MOST_NAMES = 8
"""The largest number of names beside points before they overlap."""
MOST_CLOUDS = 12
"""More than this are hard to tell apart: groups of flows are drawn together then."""
DELAY, GOODPUT = BY_KEY["queue_delay"], BY_KEY["goodput"]
FEWEST = 3
"""Fewer runs than this have no ellipse."""
LEAST_SPAN = 0.1
"""The share of the largest goodput that the axis spans at least."""
MIDDLE = 0.5
"""The middle of a panel, as a share of its width."""


def draw(view: View) -> None:
    """Draw goodput over mean queueing delay, which falls to the right, so that better is up and to the right.

    An ellipse is one standard deviation of the runs of a grid point, as a normal distribution of both would have it.
    """
    axes, groups = view.axes, groups_in(view.whole)
    looks = view.looks(groups)
    clouds = []
    for where, runs in repeated(view.records):
        for group in groups:
            known = np.array(
                [pair for pair in _pairs(runs, [group], view.bottlenecks) if None not in pair], dtype=float
            )
            if len(known):
                clouds.append(Cloud(names.joined(where, group), *looks.look(runs[0].point_axes, group), known))
    if not clouds:
        raise InputError("delay_throughput: no sound run has both a goodput and a queueing delay")
    axes.margins(x=0.12, y=0.15)
    every = [[value or 0.0 for value in pair] for pair in _pairs(view.whole, groups, view.bottlenecks)]
    for axis, values in zip((axes.xaxis, axes.yaxis), zip(*every, strict=True), strict=True):
        if spans_decades(values):  # Panels have one scale.
            span(axis, values)
    for cloud in clouds:
        _draw(axes, cloud, view.size)
    low, high = axes.get_ylim()
    if axes.get_yscale() == "linear":
        # Where every link is full, goodputs differ by little: an axis from 0 would hide that, one of less magnify it.
        more = max(0.0, LEAST_SPAN * high - (high - low)) / 2
        axes.set_ylim(0 if low < high / 2 else low - more, high + more)
    left, right = axes.get_xlim()
    axes.set_xlim(right, left if axes.get_xscale() == "log" else max(left, 0.0))
    is_narrow = view.is_part and columns_of(axes) > 1
    axes.set_xlabel(f"{quantity(DELAY, view.bottlenecks)}{'' if is_narrow else ', lower to the right'}, better ↗")
    axes.set_ylabel(quantity(GOODPUT, view.bottlenecks))
    if view.is_part or len(clouds) > MOST_NAMES:
        _name_above(view, looks)
    elif len(clouds) > 1:
        _name(view, clouds)


def _pairs(
    records: Sequence[Record], groups: Sequence[str], bottlenecks: Bottlenecks
) -> list[tuple[float | None, float | None]]:
    """Return delay and goodput of groups of flows in runs."""
    return [
        (value_of(each.run, DELAY, bottlenecks, group), value_of(each.run, GOODPUT, bottlenecks, group))
        for each in records
        for group in groups
    ]


def groups_in(records: Sequence[Record]) -> list[str]:
    """List the groups of flows that are drawn apart: none of them where there would be too many points."""
    groups = groups_of(records, GOODPUT)
    grid_points = {tuple(record.point_axes.items()) for record in records}
    return groups if len(groups) * len(grid_points) <= MOST_CLOUDS else [""]


@dataclass(frozen=True)
class Cloud:
    """The runs of a grid point, or of a group of flows in it."""

    label: str
    hue: int
    mark: int
    points: np.ndarray

    @property
    def middle(self) -> tuple[float, float]:
        """The means of both."""
        x, y = self.points.mean(axis=0)
        return float(x), float(y)


def _draw(axes: Axes, cloud: Cloud, size: Size) -> None:
    # What is 0 stands on the frame, which would cut it, and at the foot of a logarithmic axis.
    style: Style = {"color": colour(cloud.hue), "linestyle": "none", "clip_on": False, "zorder": 3}
    low = [
        min(axes.get_xlim()) if axes.get_xscale() == "log" else 0,
        min(axes.get_ylim()) if axes.get_yscale() == "log" else 0,
    ]
    at = np.maximum(cloud.points, low)
    axes.plot(*at.T, ".", alpha=0.45, markersize=2.5 * size.line, **style)
    middle = [[max(each, least)] for each, least in zip(cloud.middle, low, strict=True)]
    axes.plot(*middle, MARKERS[cloud.mark % len(MARKERS)], markersize=5 * size.line, **style)
    if len(cloud.points) >= FEWEST and (outline := _outline(axes, at)) is not None:
        axes.fill(*outline, color=colour(cloud.hue), alpha=0.2, linewidth=0)


def _outline(axes: Axes, points: np.ndarray) -> np.ndarray | None:
    """Return a cloud's ellipse, on logarithmic axes that of the values' logarithms; None where nothing scatters."""
    scales = [axis.get_transform() for axis in (axes.xaxis, axes.yaxis)]
    scaled = np.array([scale.transform(each) for scale, each in zip(scales, points.T, strict=True)])
    if (shape := ellipse(scaled.T)) is None:
        return None
    width, height, angle = shape
    turn = np.linspace(0, 2 * np.pi, 60)
    x, y = width / 2 * np.cos(turn), height / 2 * np.sin(turn)
    cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    turned = np.array([x * cos - y * sin, x * sin + y * cos]) + scaled.mean(axis=1)[:, None]
    return np.array([scale.inverted().transform(each) for scale, each in zip(scales, turned, strict=True)])


def _name_above(view: View, looks: Looks) -> None:
    """Name what colours and markers stand for, where the points are too many for names beside them."""
    shown = looks.legend(
        lambda hue: {"color": colour(hue), "marker": MARKERS[0]},
        lambda mark: {"color": GREY, "marker": MARKERS[mark % len(MARKERS)]},
    )
    markers: Style = {"linestyle": "none", "markersize": 5 * view.size.line}
    handles = [Line2D([], [], **markers, **style) for _, style in shown]
    name_above(view.axes, [label for label, _ in shown], view.size, handles)


def _name(view: View, clouds: Sequence[Cloud]) -> None:
    """Write the clouds' names beside their middles, none on another: towards the middle of the panel if they fit."""
    axes, size = view.axes, view.size
    taken: list[Box] = []
    for cloud in sorted(clouds, key=lambda cloud: cloud.middle[1]):
        foot = (min(axes.get_xlim()), min(axes.get_ylim()))
        middle = [max(each, least) for each, least in zip(cloud.middle, foot, strict=True)]
        x, y = axes.transAxes.inverted().transform(axes.transData.transform(middle))
        right, gap = size.box(cloud.label, (x, y), view.rows, columns_of(axes)), 3 * size.line + 2
        left = replace(right, left=x - right.width)
        wanted, other = (left, right) if x > MIDDLE else (right, left)
        is_free = other.left >= 0 and other.left + other.width <= 1 and other.clear_of(taken) == other
        box = other if is_free and wanted.clear_of(taken) != wanted else wanted.clear_of(taken)
        taken.append(box)
        is_at_right = box.left < x
        gap = -gap if is_at_right else gap
        hue = colour(cloud.hue)
        style: Style = {"color": hue, "fontsize": size.small, "va": "center", "path_effects": HALO}
        frame: Style = {"xycoords": "axes fraction", "textcoords": "offset points"}
        side = "right" if is_at_right else "left"
        axes.annotate(cloud.label, (x, box.middle), xytext=(gap, abs(gap)), ha=side, **frame, **style)


def ellipse(cloud: np.ndarray) -> tuple[float, float, float] | None:
    """Return width, height and angle of one standard deviation around the mean; None where nothing scatters."""
    variances, directions = np.linalg.eigh(np.cov(cloud.T))
    if variances[-1] <= 0:
        return None
    height, width = 2 * np.sqrt(np.clip(variances, 0, None))
    angle = np.degrees(np.arctan2(directions[1, -1], directions[0, -1]))
    return float(width), float(height), float(angle)
