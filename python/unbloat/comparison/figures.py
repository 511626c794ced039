"""Pictures of comparisons: B over A with the tolerance, or each grid point's change with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.comparison import tolerance
from unbloat.comparison.difference import MetricDifference, SweepComparison
from unbloat.comparison.tolerance import Comparison, Criterion
from unbloat.report import names
from unbloat.report.figures.draw import Choice, check, panels_of
from unbloat.report.figures.grid import metrics_named, quantity, value_of
from unbloat.report.figures.kinds import Width
from unbloat.report.figures.layout import BARE, broken, canvas, columns_of, finish, height_of_rows, row_label
from unbloat.report.figures.style import GREY, SHADE, SIZES, Size, Style, colour, drawing, plain_logarithms, suit
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.grid_points import by_point, in_both
from unbloat.results.metrics import ALL, Metric
from unbloat.results.record import Record
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import difference, estimate

NAMED = 6
"""Grid points outside the tolerance that are named, at most."""
WIDE_NUMBERS, HIGH_NUMBERS = 0.25, 0.1
"""The shares of a panel's width and height that some numbers beside a point take."""
PLACES = {"vm": "guest"}
"""Backends that have other names in words than as options."""
POINTS = 200
"""Points of the edge of a tolerance."""
MOST_POINTS = 40
"""A figure with more grid points than this is not legible."""


def draw(
    compared: Comparison | SweepComparison, width: Width = "page", metrics: Sequence[str] = (), title: str | None = None
) -> Figure:
    """Draw a panel for each metric: B over A within tolerances, or the change from A to B with its interval.

    `metrics` chooses among those that were compared.
    """
    size = SIZES[width]
    sides = (str(compared.sides[0]), str(compared.sides[1]))
    head = f"{sides[1]} against {sides[0]}" if title is None else title
    if isinstance(compared, Comparison):
        return _agreement(compared, metrics, head, size)
    panels = {
        quantity(metric, compared.bottlenecks): _changes_of(compared, metric) for metric in metrics_named(metrics)
    }
    return _changes(panels, ("A", "B"), head, "", size)


def draw_sets(a: RunSet, b: RunSet, kinds: Sequence[str], choice: Choice) -> Figure:
    """Draw how far two sets are apart; raises `InputError` for kinds of one set, or without a common grid point."""
    check(kinds, choice, is_two=True)
    if not a.records:
        raise InputError("nothing to draw: no run has a result")
    both = [*a.records, *b.records]
    bottlenecks = Bottlenecks.of(both)
    panels = {
        quantity(metric, bottlenecks): changes(a.records, b.records, metric)
        for _ in panels_of(kinds)
        for metric in metrics_named(choice.metrics)
    }
    title = names.title_of(both) if choice.title is None else choice.title
    return _changes(panels, choice.sides, title, names.facts_of(both), choice.size)


def agreement_of(a: RunSet, b: RunSet, choice: Choice) -> Figure:
    """Draw two sets within the usual tolerances, sweeps too; raises `InputError` without a common grid point."""
    compared = tolerance.compare(choice.sides, a.records, b.records)
    return draw(compared, choice.width, choice.metrics, choice.title)


# ---------------------------------------------------------------- Changes


Change = tuple[str, MetricDifference]
"""A grid point with a metric of it that has a difference in percent of A."""


def changes(a: Sequence[Record], b: Sequence[Record], metric: Metric) -> list[Change]:
    """Compare the grid points that both sets have; those without a value, or where A's is zero, are left out."""
    sides = [by_point([record for record in side if record.is_sound]) for side in (a, b)]
    bottlenecks = Bottlenecks.of([*a, *b])
    found = []
    for place in in_both(("A", "B"), (sides[0], sides[1])):
        values = [{each.seed: value_of(each.run, metric, bottlenecks) for each in side[place]} for side in sides]
        first, second = (estimate(side.values()) for side in values)
        each = MetricDifference(ALL, metric.name, first, second, difference(*values))
        found.append((names.point_label(place.axes), each))
    return [(point, each) for point, each in found if each.change_percent is not None]


def _changes_of(compared: SweepComparison, metric: Metric) -> list[Change]:
    """List the change of a metric of all flows, or of the bottleneck, in each grid point where A's mean is not zero."""
    return [
        (names.point_label(point.place.axes), each)
        for point in compared.points
        for each in point.metrics
        if each.name == metric.name and each.of in (ALL, point.link) and each.change_percent is not None
    ]


def _changes(
    panels: Mapping[str, Sequence[Change]], sides: tuple[str, str], title: str, facts: str, size: Size
) -> Figure:
    """Draw a panel for each quantity, called by its name with its unit."""
    heights = [height_of_rows([point for point, _ in found], size) for found in panels.values()]
    with drawing(size):
        figure, axes = canvas(size, heights, title, facts)
        for place, (what, found) in zip(axes, panels.items(), strict=True):
            _draw_changes(found, what, sides, place, size)
            suit(place)
        finish(figure, axes, size)
    return figure


def _draw_changes(found: Sequence[Change], what: str, sides: tuple[str, str], axes: Axes, size: Size) -> None:
    """Draw the change of a metric, called `what`, from A to B in every grid point, with a line for its interval."""
    if len(found) > MOST_POINTS:
        raise InputError(
            f"comparison: {len(found)} grid points are too many for one picture, which shows at most {MOST_POINTS}"
        )
    axes.axvline(0, color=GREY, linewidth=0.8 * size.line)
    for place, (_, change) in enumerate(found):
        percent, half_width = change.change_percent or 0.0, change.half_width_percent
        is_clear = change.difference and change.difference.is_clear
        hue = GREY if not is_clear else colour(0 if percent < 0 else 1)
        axes.errorbar(
            [percent],
            [place],
            xerr=None if half_width is None else [half_width],
            color=hue,
            marker="o" if half_width is not None else "D",
            markersize=3.5 * size.line,
            markerfacecolor=hue if is_clear else "white",
            capsize=2 * size.line,
            elinewidth=size.line,
        )
    axes.set_yticks(range(len(found)), [row_label(point, size) for point, _ in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -1.0), max(high, 1.0))
    are_single = all(change.half_width_percent is None for _, change in found)
    repeats = "" if are_single else "\nlines: 95 % interval, hollow: not clear"
    axes.set_xlabel(f"{what.partition(' (')[0]}: {sides[1]} against {sides[0]} (%){repeats}")


# ---------------------------------------------------------------- Agreement


@dataclass(frozen=True)
class Pair:
    """A metric of one grid point in both sets."""

    point: str
    a: float
    b: float
    is_near: bool
    is_explained: bool = False
    """It is known why it is not near."""


def _agreement(compared: Comparison, metrics: Sequence[str], title: str, size: Size) -> Figure:
    wanted = {metric.key for metric in metrics_named(metrics)} if metrics else None
    criteria = [each for each in compared.criteria if wanted is None or each.name in wanted]
    if not criteria:
        raise InputError(
            f"metric: not among those compared; valid: {', '.join(each.name for each in compared.criteria)}"
        )
    unsound = sum(point.verdict == "unsound" for point in compared.points)
    facts = f"{len(compared.points)} grid points{f', {unsound} of them unsound and left out' if unsound else ''}"
    # Both axes have the same scale: a panel is about as high as it is wide.
    across = 1 if size.width < 5 else 2
    of_panels = [_pairs_of(compared, criterion) for criterion in criteria]
    square = 0.8 * size.width / across / size.panel
    named = [min(NAMED, sum(not pair.is_near for pair in pairs)) for pairs in of_panels]
    with drawing(size):
        figure, axes = canvas(size, [square + size.height_of_lines(each) for each in named], title, facts, across)
        for place, criterion, pairs in zip(axes, criteria, of_panels, strict=True):
            _draw_agreement(pairs, criterion, (_place(compared, 0), _place(compared, 1)), place, size)
    return figure


def _place(compared: Comparison, side: int) -> str:
    a, b = compared.sides
    mine = compared.sides[side]
    return PLACES.get(mine.on, mine.on) if mine.on and a.on != b.on else mine.name


def _pairs_of(compared: Comparison, criterion: Criterion) -> list[Pair]:
    """Pair the values of a criterion in each grid point that is sound on both sides."""
    found = []
    for point in compared.points:
        for each in point.compared:
            values = (each.a.mean, each.b.mean)
            if each.criterion == criterion and not point.unsound and None not in values:
                a, b = (float(value or 0.0) for value in values)
                if math.isfinite(a) and math.isfinite(b):
                    name = names.point_label(point.place.axes) or point.place.scenario
                    found.append(Pair(name, a, b, each.is_near, each.is_explained))
    return found


def _draw_agreement(
    pairs: Sequence[Pair], criterion: Criterion, sides: tuple[str, str], axes: Axes, size: Size
) -> None:
    """Draw B over A on logarithmic axes; the shaded band is the tolerance.

    Values of zero have no place on such an axis and are drawn at its foot.
    """

    def is_near(a: float, b: float) -> bool:  # Packets' transmission times differ from grid point to grid point.
        return criterion.near(a, b, 0.0)

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
    axes.set_xlabel(f"{quantity(criterion.metric, criterion.bottlenecks)}, {sides[0]}")
    _name_the_farthest(axes, [pair for pair in pairs if not pair.is_near], low, size)
    axes.set_ylabel(sides[1])
    shaded = broken(f"shaded: {criterion.near}", BARE * size.width / columns_of(axes), size)
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
    """Mark the grid points whose values lie farthest apart with numbers, and name them below the axis."""
    apart = sorted(outside, key=lambda pair: -abs(np.log(max(pair.b, low) / max(pair.a, low))))[:NAMED]
    small: Style = {"fontsize": 0.85 * size.small}
    places: dict[tuple[float, float], list[str]] = {}
    for number, pair in enumerate(apart, 1):
        at = (max(pair.a, low), max(pair.b, low))
        place = next((other for other in places if _is_beside(axes, at, other)), at)
        places.setdefault(place, []).append(str(number))
    for at, numbers in places.items():
        axes.annotate(", ".join(numbers), at, xytext=(3, 3), textcoords="offset points", **small)
    words = "\n".join(f"{number}  {pair.point}" for number, pair in enumerate(apart, 1))
    below: Style = {"xycoords": ("axes fraction", axes.xaxis.label), "textcoords": "offset points"}
    axes.annotate(words, (0, 0), (0, -4), va="top", color=GREY, annotation_clip=False, **below, **small)


def _is_beside(axes: Axes, one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether two points are so near that their numbers would lie on each other."""
    ends = [axes.transAxes.inverted().transform(axes.transData.transform(place)) for place in (one, other)]
    return bool((abs(ends[0] - ends[1]) < (WIDE_NUMBERS, HIGH_NUMBERS)).all())
