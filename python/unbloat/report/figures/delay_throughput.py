"""Delay against throughput: a point for each run, an ellipse for the runs of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from unbloat.report.figures import names
from unbloat.report.figures.style import HALO, MARKERS, Box, Size, Style, colour, note
from unbloat.report.figures.values import groups_of, quantity, repeated, value_of
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Record

MOST_CLOUDS = 12
"""More than this are hard to tell apart: groups of flows are drawn together then."""
FEWEST = 3
"""Fewer runs than this have no ellipse."""
MIDDLE = 0.5
"""Of the panel's width."""


def draw(records: Sequence[Record], axes: Axes, size: Size, rows: int) -> None:
    """Draw goodput over mean queueing delay, which falls to the right, so that better is up and to the right.

    An ellipse is one standard deviation of the runs of a cell, as a normal distribution of both would have it.
    """
    delay, goodput = BY_KEY["queue_delay"], BY_KEY["goodput"]
    bottlenecks = Bottlenecks.of(records)
    groups = groups_of(records, goodput)
    cells = dict(repeated(records))
    if len(groups) * len(cells) > MOST_CLOUDS:
        groups = [""]
    clouds = []
    for where, runs in cells.items():
        first, *others = [*runs[0].cell_axes.values()] or [""]
        for group in groups:
            pairs = [
                tuple(value_of(record.run, metric, bottlenecks, group) for metric in (delay, goodput))
                for record in runs
            ]
            known = np.array([pair for pair in pairs if None not in pair], dtype=float)
            if len(known):
                clouds.append(Cloud(names.joined(where, group), first or group, " ".join([*others, group]), known))
    hues, marks = (
        list(dict.fromkeys(values)) for values in zip(*((each.hue, each.mark) for each in clouds), strict=True)
    )
    axes.margins(x=0.12, y=0.15)
    for cloud in clouds:
        _draw(axes, cloud, hues.index(cloud.hue), marks.index(cloud.mark), size)
    low, high = axes.get_ylim()
    # Where every link is full, goodputs differ by little: an axis from 0 would hide that.
    axes.set_ylim(0 if low < high / 2 else low, high)
    left, right = axes.get_xlim()
    axes.set_xlim(right, max(left, 0.0))
    axes.set_xlabel(f"{quantity(delay, bottlenecks)}, lower to the right")
    axes.set_ylabel(quantity(goodput, bottlenecks))
    note(axes, "better ↗", (0.5, 1.01), ha="center", va="bottom")  # Names may rise above either end.
    if len(clouds) > 1:
        _name(axes, clouds, hues, size, rows)


@dataclass(frozen=True)
class Cloud:
    """The runs of a cell, or of a group of flows in it."""

    label: str
    hue: str
    """What its colour stands for: the label on the first axis."""
    mark: str
    """What its marker stands for: the other labels."""
    points: np.ndarray

    @property
    def middle(self) -> tuple[float, float]:
        """The means of both."""
        x, y = self.points.mean(axis=0)
        return float(x), float(y)


def _draw(axes: Axes, cloud: Cloud, hue: int, mark: int, size: Size) -> None:
    style: Style = {"color": colour(hue), "linestyle": "none"}
    axes.plot(*cloud.points.T, ".", alpha=0.45, markersize=2.5 * size.line, **style)
    axes.plot(*([each] for each in cloud.middle), MARKERS[mark % len(MARKERS)], markersize=5 * size.line, **style)
    if len(cloud.points) >= FEWEST and (shape := ellipse(cloud.points)):
        width, height, angle = shape
        axes.add_patch(Ellipse(cloud.middle, width, height, angle=angle, color=colour(hue), alpha=0.2, linewidth=0))


def _name(axes: Axes, clouds: Sequence[Cloud], hues: Sequence[str], size: Size, rows: int) -> None:
    """Write the clouds' names beside their middles, towards the middle of the panel, none on another."""
    taken: list[Box] = []
    for cloud in sorted(clouds, key=lambda cloud: cloud.middle[1]):
        x, y = axes.transAxes.inverted().transform(axes.transData.transform(cloud.middle))
        box, gap = size.box(cloud.label, (x, y), rows), 3 * size.line + 2
        is_at_right = x > MIDDLE
        if is_at_right:
            box, gap = replace(box, left=x - box.width), -gap
        box = box.clear_of(taken)
        taken.append(box)
        hue = colour(hues.index(cloud.hue))
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
