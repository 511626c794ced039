"""Two sets of results: how far B lies from A, cell by cell, with the intervals that repeats give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from unbloat._core import InputError
from unbloat.report.figures.labels import row_label
from unbloat.report.figures.style import GREY, Size, colour
from unbloat.report.figures.values import value_of
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.cells import by_cell, in_both
from unbloat.results.metrics import Metric
from unbloat.results.record import Record
from unbloat.results.statistics import difference

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


def draw(found: Sequence[Change], what: str, sides: tuple[str, str], axes: Axes, size: Size) -> None:
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
