"""Two sets of results: B over A with the tolerance around equality, or how far B lies from A with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from unbloat._core import InputError
from unbloat.report.figures.cells import value_of
from unbloat.report.figures.labels import BARE, broken, row_label
from unbloat.report.figures.style import GREY, SHADE, Size, Style, colour, columns_of, plain_logarithms
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.cells import by_cell, in_both
from unbloat.results.metrics import Metric
from unbloat.results.record import Record
from unbloat.results.statistics import difference

NAMED = 6
"""Not more of the points outside are named."""
WIDE_NUMBERS, HIGH_NUMBERS = 0.25, 0.1
"""The shares of a panel's width and height that some numbers beside a point take."""
POINTS = 200
"""Of the edge of a tolerance."""


@dataclass(frozen=True)
class Pair:
    """A metric of one cell in both sets."""

    cell: str
    a: float
    b: float
    is_near: bool
    is_explained: bool = False
    """It is known why it is not near."""


def draw_agreement(
    pairs: Sequence[Pair],
    quantity: str,
    names: tuple[str, str],
    is_near: Callable[[float, float], bool],
    tolerance: str,
    axes: Axes,
    size: Size,
) -> None:
    """Draw B over A on logarithmic axes; what lies in the shaded band is within the tolerance.

    Values of zero have no place on such an axis: they stand at its foot.
    """
    positive = [value for pair in pairs for value in (pair.a, pair.b) if value > 0]
    low, high = (min(positive) / 1.6, max(positive) * 1.6) if positive else (0.1, 1.0)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    plain_logarithms(axes.xaxis, axes.yaxis)
    grid = np.geomspace(low, high, POINTS)
    edges = np.array([edges_of(value, is_near, low, high) for value in grid])
    axes.fill_between(grid, edges[:, 0], edges[:, 1], color=SHADE, linewidth=0, zorder=1)
    axes.plot(grid, grid, color=GREY, linewidth=0.6 * size.line, zorder=1.5)
    kinds = (
        ("within", "o", colour(0), [pair for pair in pairs if pair.is_near]),
        ("outside, explained", "^", colour(4), [pair for pair in pairs if not pair.is_near and pair.is_explained]),
        ("outside", "s", colour(1), [pair for pair in pairs if not pair.is_near and not pair.is_explained]),
    )
    for name, marker, hue, members in kinds:
        if members:
            x, y = ([max(getattr(pair, side), low) for pair in members] for side in "ab")
            style: Style = {"color": hue, "markersize": 2.8 * size.line, "alpha": 0.75, "markeredgewidth": 0}
            zeros = sum(pair.a <= 0 or pair.b <= 0 for pair in members)
            label = f"{name}: {len(members)}" + (f" ({zeros} with a 0)" if zeros else "")
            # Zeros stand on the frame, which would cut them off.
            axes.plot(x, y, marker, linestyle="none", label=label, clip_on=False, zorder=3, **style)
    axes.legend(loc="upper left", handletextpad=0.2, borderaxespad=0.2)
    axes.set_xlabel(f"{quantity}, {names[0]}")
    _name_the_farthest(axes, [pair for pair in pairs if not pair.is_near], low, size)
    axes.set_ylabel(names[1])
    shaded = broken(f"shaded: {tolerance}", BARE * size.width / columns_of(axes), size)
    axes.set_title(shaded, loc="left", fontsize=size.small, color=GREY)


def edges_of(a: float, is_near: Callable[[float, float], bool], low: float, high: float) -> tuple[float, float]:
    """Find the least and the greatest value that is near `a`, by halving, between `low` and `high`."""
    return _edge(a, low, is_near), _edge(a, high, is_near)


def _edge(a: float, end: float, is_near: Callable[[float, float], bool]) -> float:
    near, far = a, end
    if is_near(a, far):
        return far
    for _ in range(40):
        middle = (near * far) ** 0.5
        near, far = (middle, far) if is_near(a, middle) else (near, middle)
    return near


def _name_the_farthest(axes: Axes, outside: Sequence[Pair], low: float, size: Size) -> None:
    """Mark the cells whose values lie farthest apart with numbers, and name them below the axis."""
    apart = sorted(outside, key=lambda pair: -abs(np.log(max(pair.b, low) / max(pair.a, low))))[:NAMED]
    small: Style = {"fontsize": 0.85 * size.small}
    places: dict[tuple[float, float], list[str]] = {}
    for number, pair in enumerate(apart, 1):
        at = (max(pair.a, low), max(pair.b, low))
        place = next((other for other in places if _is_beside(axes, at, other)), at)
        places.setdefault(place, []).append(str(number))
    for at, numbers in places.items():
        axes.annotate(", ".join(numbers), at, xytext=(3, 3), textcoords="offset points", **small)
    words = "\n".join(f"{number}  {pair.cell}" for number, pair in enumerate(apart, 1))
    below: Style = {"xycoords": ("axes fraction", axes.xaxis.label), "textcoords": "offset points"}
    axes.annotate(words, (0, 0), (0, -4), va="top", color=GREY, annotation_clip=False, **below, **small)


def _is_beside(axes: Axes, one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether two points are so near that their numbers would lie on each other."""
    ends = [axes.transAxes.inverted().transform(axes.transData.transform(place)) for place in (one, other)]
    return bool((abs(ends[0] - ends[1]) < (WIDE_NUMBERS, HIGH_NUMBERS)).all())


def lines_below(pairs: Sequence[Pair]) -> int:
    """Count the lines that names take below the axis."""
    return min(NAMED, sum(not pair.is_near for pair in pairs))


MOST_CELLS = 40
"""More cells than this cannot be told apart in one picture."""


@dataclass(frozen=True)
class Change:
    """How far B's mean lies from A's in one cell, in percent of A's."""

    cell: str
    percent: float
    half_width: float | None
    """Of its 95 % interval; none with less than two runs on a side."""

    @property
    def is_clear(self) -> bool | None:
        """Return whether the interval leaves zero out."""
        return None if self.half_width is None else abs(self.percent) > self.half_width


def changes(a: Sequence[Record], b: Sequence[Record], metric: Metric) -> list[Change]:
    """Compare the cells that both sets have; those without a value, or where A's is zero, are left out."""
    sides = [by_cell([record for record in side if record.is_sound]) for side in (a, b)]
    bottlenecks = Bottlenecks.of([*a, *b])
    found = []
    for place in in_both(("A", "B"), (sides[0], sides[1])):
        values = [{each.run["seed"]: value_of(each.run, metric, bottlenecks) for each in side[place]} for side in sides]
        between = difference(values[0], values[1])
        known = [value for value in values[0].values() if value is not None]
        base = abs(sum(known) / len(known)) if known else 0.0
        if between is not None and base:
            width = None if between.half_width is None else 100 * between.half_width / base
            found.append(Change(" ".join(place.axes.values()), 100 * between.mean / base, width))
    return found


def draw_changes(found: Sequence[Change], what: str, sides: tuple[str, str], axes: Axes, size: Size) -> None:
    """Draw the change of a metric, called `what` with its unit, from A to B in every cell, a line for its interval."""
    if len(found) > MOST_CELLS:
        raise InputError(f"comparison: {len(found)} cells are too many for one picture; there may be {MOST_CELLS}")
    axes.axvline(0, color=GREY, linewidth=0.8 * size.line)
    for place, change in enumerate(found):
        hue = GREY if not change.is_clear else colour(0 if change.percent < 0 else 1)
        axes.errorbar(
            [change.percent],
            [place],
            xerr=None if change.half_width is None else [change.half_width],
            color=hue,
            marker="o" if change.half_width is not None else "D",
            markersize=3.5 * size.line,
            markerfacecolor=hue if change.is_clear else "white",
            capsize=2 * size.line,
            elinewidth=size.line,
        )
    axes.set_yticks(range(len(found)), [row_label(change.cell, size) for change in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -1.0), max(high, 1.0))
    repeats = "" if all(change.half_width is None for change in found) else "\nlines: 95 % interval, hollow: not clear"
    axes.set_xlabel(f"{what.partition(' (')[0]}: {sides[1]} against {sides[0]} (%){repeats}")
