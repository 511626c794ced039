"""Pictures of comparisons: agreement within tolerances, changes with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.comparison import tolerance
from unbloat.comparison.difference import SweepComparison
from unbloat.comparison.tolerance import Comparison, Criterion
from unbloat.report.figures import two_sets
from unbloat.report.figures.cells import metrics_named, quantity
from unbloat.report.figures.kinds import Width
from unbloat.report.figures.style import SIZES, Size, canvas, drawing
from unbloat.report.figures.two_sets import Change, Pair
from unbloat.results.metrics import ALL, Metric
from unbloat.results.nearness import Near
from unbloat.results.run_set import RunSet


def draw(
    compared: Comparison | SweepComparison, width: Width = "page", metrics: Sequence[str] = (), title: str | None = None
) -> Figure:
    """Draw a panel for each metric: B over A within tolerances, or the change from A to B with its interval.

    `metrics` chooses among those that were compared.
    """
    size = SIZES[width]
    sides = (str(compared.sides[0]), str(compared.sides[1]))
    head = f"{sides[1]} against {sides[0]}" if title is None else title
    with drawing(size):
        if isinstance(compared, Comparison):
            return _agreement(compared, metrics, head, size)
        return _changes(compared, metrics_named(metrics), head, size)


def agreement_of(
    a: RunSet,
    b: RunSet,
    names: tuple[str, str],
    width: Width = "page",
    metrics: Sequence[str] = (),
    title: str | None = None,
) -> Figure:
    """Draw two sets within the usual tolerances, sweeps too; raises `InputError` if they have no cell in common."""
    return draw(tolerance.compare(names, a.records, b.records), width, metrics, title)


def _agreement(compared: Comparison, metrics: Sequence[str], title: str, size: Size) -> Figure:
    wanted = {metric.key for metric in metrics_named(metrics)} if metrics else None
    criteria = [each for each in compared.criteria if wanted is None or each.name in wanted]
    if not criteria:
        raise InputError(f"metric: compared were {', '.join(each.name for each in compared.criteria)}")
    unsound = sum(cell.verdict == "unsound" for cell in compared.cells)
    facts = f"{len(compared.cells)} cells{f', {unsound} of them unsound and left out' if unsound else ''}"
    # Both axes have the same scale: a panel is about as high as it is wide.
    across = 1 if size.width < 5 else 2
    of_panels = [pairs_of(compared, criterion) for criterion in criteria]
    square = 0.8 * size.width / across / size.panel
    heights = [square + size.height_of_lines(two_sets.lines_below(pairs)) for pairs in of_panels]
    figure, axes = canvas(size, heights, title, facts, across)
    names = (_place(compared, 0), _place(compared, 1))
    for place, criterion, pairs in zip(axes, criteria, of_panels, strict=True):
        is_near = _without_packets(criterion.near)
        what = quantity(criterion.metric, criterion.bottlenecks)
        two_sets.draw_agreement(pairs, what, names, is_near, str(criterion.near), place, size)
    return figure


def _without_packets(near: Near) -> Callable[[float, float], bool]:
    """Return a tolerance without its allowance for packets' transmission times, which differ from cell to cell."""
    return lambda a, b: near(a, b, 0.0)


def _place(compared: Comparison, side: int) -> str:
    a, b = compared.sides
    mine = compared.sides[side]
    return mine.on if mine.on and a.on != b.on else mine.name


def pairs_of(compared: Comparison, criterion: Criterion) -> list[Pair]:
    """Pair the values of a criterion in each cell that is sound on both sides."""
    found = []
    for cell in compared.cells:
        for each in cell.compared:
            values = (each.a.mean, each.b.mean)
            if each.criterion == criterion and not cell.unsound and None not in values:
                a, b = (float(value or 0.0) for value in values)
                if math.isfinite(a) and math.isfinite(b):
                    name = " ".join(cell.place.axes.values()) or cell.place.scenario
                    found.append(Pair(name, a, b, each.is_near, each.is_explained))
    return found


def _changes(compared: SweepComparison, metrics: Sequence[Metric], title: str, size: Size) -> Figure:
    panels = [changes_of(compared, metric) for metric in metrics]
    figure, axes = canvas(size, [size.rows_of_text(len(found)) for found in panels], title)
    for place, metric, found in zip(axes, metrics, panels, strict=True):
        two_sets.draw_changes(found, quantity(metric, compared.bottlenecks), ("A", "B"), place, size)
    return figure


def changes_of(compared: SweepComparison, metric: Metric) -> list[Change]:
    """List the change of a metric of all flows, or of the bottleneck, in each cell in which A's mean is not zero."""
    found = []
    for cell in compared.cells:
        for each in cell.metrics:
            is_meant = each.name == metric.name and each.of in (ALL, cell.link)
            if is_meant and each.difference is not None and each.a.mean:
                base = abs(each.a.mean) / 100
                width = each.difference.half_width
                name = " ".join(cell.place.axes.values())
                found.append(Change(name, each.difference.mean / base, None if width is None else width / base))
    return found
