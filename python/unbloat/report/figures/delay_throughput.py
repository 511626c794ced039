"""Delay against throughput: a point for each run, an ellipse for the runs of a cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from unbloat.report.figures import names
from unbloat.report.figures.style import MARKERS, Size, Style, colour, note, small
from unbloat.report.figures.values import groups_of, quantity, repeated, value_of
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Record

FEWEST = 3
"""Fewer runs than this have no ellipse."""


def draw(records: Sequence[Record], axes: Axes, size: Size) -> None:
    """Draw goodput over mean queueing delay, which falls to the right, so that better is up and to the right.

    An ellipse is one standard deviation of the runs of a cell, as a normal distribution of both would have it.
    """
    delay, goodput = BY_KEY["queue_delay"], BY_KEY["goodput"]
    clouds = {}
    for group in groups_of(records, goodput):
        for where, runs in repeated(records):
            pairs = [(value_of(record.run, delay), value_of(record.run, goodput, group)) for record in runs]
            known = np.array([pair for pair in pairs if None not in pair], dtype=float)
            if len(known):
                clouds[names.joined(where, group)] = known
    for number, (label, cloud) in enumerate(clouds.items()):
        _cloud(axes, label if len(clouds) > 1 else "", cloud, number, size)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.15)
    left, right = axes.get_xlim()
    axes.set_xlim(right, max(left, 0.0) if left > 0 else left)
    axes.set_xlabel(f"{quantity(delay)}, lower to the right")
    axes.set_ylabel(quantity(goodput))
    note(axes, "better ↗", (0.99, 0.98), ha="right", va="top")


def _cloud(axes: Axes, label: str, cloud: np.ndarray, number: int, size: Size) -> None:
    x, y = cloud.mean(axis=0)
    style: Style = {"color": colour(number), "linestyle": "none"}
    axes.plot(cloud[:, 0], cloud[:, 1], ".", alpha=0.45, markersize=2.5 * size.line, **style)
    axes.plot([x], [y], MARKERS[number % len(MARKERS)], markersize=5 * size.line, **style)
    if len(cloud) >= FEWEST and (shape := ellipse(cloud)):
        width, height, angle = shape
        axes.add_patch(Ellipse((x, y), width, height, angle=angle, color=colour(number), alpha=0.2, linewidth=0))
    axes.annotate(label, (x, y), xytext=(5, 5), textcoords="offset points", color=colour(number), fontsize=small(axes))


def ellipse(cloud: np.ndarray) -> tuple[float, float, float] | None:
    """Give width, height and angle of one standard deviation around the mean; None where nothing scatters."""
    variances, directions = np.linalg.eigh(np.cov(cloud.T))
    if variances[-1] <= 0:
        return None
    height, width = 2 * np.sqrt(np.clip(variances, 0, None))
    angle = np.degrees(np.arctan2(directions[1, -1], directions[0, -1]))
    return float(width), float(height), float(angle)
