"""Lines over time: each named where it ends, many of them summed up by bands."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import offset_copy

from unbloat.report.figures.layout import AT_TOP, at_top, columns_of, lines_at_top, remark
from unbloat.report.figures.style import GREY, HALO, Box, Size, Style, colour, dashes, unit_for
from unbloat.results.metrics import MANY

SMOOTH = 60
"""Points of a smoothed line, about."""
GRID = 150
"""Points of a band."""
BAND = (10, 90)
"""The percentiles that a band reaches from and to."""
FAR = 2.5
"""The largest ratio of a mark to the data; higher marks are not drawn, because they would squeeze the data."""
AIR = 1.4
"""The room of a note at the upper edge, in lines of labels; panels of parts are less high than others."""
MOST_BANDS = 8
LEAST_SHARE = 0.5
"""The share of the lines that a band needs at each time."""
PALE_BAND = 0.22
CLEAR = 4
"""More bands than this are drawn fainter."""
AT_THE_END = 0.97
"""A line that reaches this share of the panel's width is named beside the panel, another where it ends if it can."""


@dataclass(frozen=True)
class Line:
    """One line of a panel: what it stands for, how it looks, where it runs."""

    label: str
    groups: tuple[str, ...]
    """Ever larger groups that it is counted to where there are too many lines to name each."""
    hue: int
    dash: int
    x: np.ndarray
    y: np.ndarray
    deviation: np.ndarray | None = None
    """The standard deviation of the runs that it is the mean of."""
    runs: int = 1

    @property
    def look(self) -> Style:
        """The line's colour and dashes."""
        return {"color": colour(self.hue), "linestyle": dashes(self.hue, self.dash)}


@dataclass(frozen=True)
class Mark:
    """A horizontal line that marks a limit or a capacity, and not a measurement."""

    label: str
    height: float


@dataclass(frozen=True)
class Name:
    """A name to write at the end of a line."""

    text: str
    at: tuple[float, float]
    look: Style

    @property
    def rows(self) -> int:
        """The number of lines of text that it takes."""
        return 1 + self.text.count("\n")


def over_time(
    axes: Axes,
    lines: Iterable[Line],
    size: Size,
    rows: int,
    marks: Sequence[Mark] = (),
    what: str = "flows",
    unit: str = "",
    *,
    is_named: bool = False,
    **how: Any,
) -> None:
    """Draw lines, each named where it ends, and marks.

    `what` says whose lines they are, `unit` in which, `is_named` whether one alone has its name too; `how` goes to what
    draws a line. The scale begins at 0 and leaves room for notes at its upper end, unless it is set already.
    """
    drawn = of_repeats(list(lines))
    names = bands(axes, drawn, what) if is_crowd(drawn) else single_lines(axes, drawn, is_named=is_named, **how)
    high = axes.get_ylim()[1]
    is_free = axes.get_autoscaley_on()
    top = max((high, *(mark.height * 1.04 for mark in marks if mark.height <= FAR * high))) if is_free else high
    right = axes.get_xlim()[1]
    letters = size.letters(columns_of(axes))
    above = []
    for mark in marks:
        if mark.height <= top:
            axes.axhline(mark.height, color=GREY, linewidth=0.8 * size.line, linestyle=(0, (5, 2)), zorder=1.5)
            label = textwrap.fill(mark.label, max(12, letters // 4))
            names.append(Name(label, (right, mark.height), {"color": GREY, "linestyle": (0, (5, 2))}))
        else:
            factor, suits = unit_for(unit, mark.height)
            above.append(textwrap.fill(f"{mark.label} at {mark.height * factor:.3g} {suits}, far above", letters // 2))
    if above:
        at_top(axes, "\n".join([*above, *_taken_from_top(axes)]))
    notes = AIR * lines_at_top(axes) * size.gap(rows)
    axes.set_ylim(0, top / (1 - notes) if is_free and notes < 1 else top)
    write(axes, names, size, rows)


def _taken_from_top(axes: Axes) -> list[str]:
    """Remove the notes at the right end of the upper edge."""
    notes = [text for text in axes.texts if text.get_gid() == AT_TOP and text.get_horizontalalignment() == "right"]
    for note in notes:
        note.remove()
    return [note.get_text() for note in notes]


def is_crowd(lines: Sequence[Line]) -> bool:
    """Return whether there are too many lines to name each, or some with names of their own look the same."""
    looks = {(line.hue, line.dash) for line in lines}
    return len(lines) > MANY or len({line.label for line in lines}) > len(looks)


def single_lines(axes: Axes, lines: Sequence[Line], *, is_named: bool = False, **how: Any) -> list[Name]:
    """Draw each line; return their names, with `is_named` that of a lone one too."""
    names: dict[str, Name] = {}
    for line in lines:
        axes.plot(line.x, line.y, **{**line.look, **how})
        if line.deviation is not None:
            low, high = np.maximum(0, line.y - line.deviation), line.y + line.deviation
            axes.fill_between(line.x, low, high, color=colour(line.hue), alpha=PALE_BAND, linewidth=0)
        known = np.flatnonzero(np.isfinite(line.y))
        if (is_named or len(lines) > 1) and len(known):
            names.setdefault(line.label, Name(line.label, (line.x[known[-1]], line.y[known[-1]]), line.look))
    if repeats := sorted({line.runs for line in lines if line.runs > 1}):
        number = " to ".join(map(str, dict.fromkeys((repeats[0], repeats[-1]))))
        remark(axes, f"line and band: mean of {number} runs, and one standard deviation")
    return list(names.values())


def of_repeats(lines: Sequence[Line]) -> list[Line]:
    """Replace lines that have one name and one look, which are repeats, by their mean."""
    found: dict[tuple[str, int, int], list[Line]] = {}
    for line in lines:
        found.setdefault((line.label, line.hue, line.dash), []).append(line)
    return [_mean(members) if len(members) > 1 else members[0] for members in found.values()]


def _mean(lines: Sequence[Line]) -> Line:
    """Return the mean of lines at the times of the longest, as far as half of them reach."""
    x = max((line.x for line in lines), key=len)
    values, counted = _on_grid(lines, x)
    mean, deviation = np.full(len(x), np.nan), np.full(len(x), np.nan)
    mean[counted] = np.nanmean(values[:, counted], axis=0)
    several = counted & (np.isfinite(values).sum(axis=0) > 1)
    deviation[several] = np.nanstd(values[:, several], axis=0, ddof=1)
    return replace(lines[0], x=x, y=mean, deviation=deviation, runs=len(lines))


def _on_grid(lines: Sequence[Line], grid: np.ndarray, step: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of lines at each point of a grid, and whether at least half as many count there as do at most.

    A line counts from where it begins to where it ends, one shorter than a step of the grid in the step where it lies.
    """
    values = np.full((len(lines), len(grid)), np.nan)
    for row, line in zip(values, lines, strict=True):
        known = np.isfinite(line.y)
        if known.any():
            x, y = line.x[known], line.y[known]
            row[:] = np.interp(grid, x, y, left=np.nan, right=np.nan)
            if step:
                row[np.searchsorted(grid, x[0] - step / 2) % len(grid)] = y[0]
    number = np.isfinite(values).sum(axis=0)
    counted: np.ndarray = (number > 0) & (number >= LEAST_SHARE * number.max())
    return values, counted


def bands(axes: Axes, lines: Sequence[Line], what: str) -> list[Name]:
    """Draw the median of each group of lines, and the band of most of them; return their names."""
    named: dict[str, list[Line]] = {}
    for level in range(len(lines[0].groups)):
        named = {}
        for line in lines:
            named.setdefault(line.groups[level], []).append(line)
        if len(named) <= MOST_BANDS:
            break
    names = []
    hues = [members[0].hue for members in named.values()]
    are_told_apart = len(set(hues)) == len(hues)
    for group, members in named.items():
        hue, dash = members[0].hue, 0 if are_told_apart else members[0].dash
        x, low, middle, high = band_of(members) if len(members) > 1 else (members[0].x, *3 * (members[0].y,))
        look: Style = {"color": colour(hue), "linestyle": dashes(hue, dash)}
        axes.fill_between(x, low, high, color=colour(hue), alpha=PALE_BAND if len(named) <= CLEAR else 0.1, linewidth=0)
        axes.plot(x, middle, **look)
        known = np.flatnonzero(np.isfinite(middle))
        if len(known):
            number = "" if len(members) == 1 else f" ({len(members)})"
            names.append(Name(f"{group}{number}", (x[known[-1]], middle[known[-1]]), look))
    remark(axes, f"(n): median and {BAND[0]}-{BAND[1]} % of n {what}")
    return names


def band_of(lines: Sequence[Line]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid of time with the lower end, the median and the upper end of the lines at each point.

    The band ends where fewer than half of the lines count, or the few that last longest would be taken for all.
    """
    first, last = min(line.x[0] for line in lines), max(line.x[-1] for line in lines)
    grid = np.linspace(first, last, GRID)
    values, counted = _on_grid(lines, grid, step=grid[1] - grid[0])
    result = np.full((3, GRID), np.nan)
    result[:, counted] = np.nanpercentile(values[:, counted], [BAND[0], 50, BAND[1]], axis=0)
    return grid, result[0], result[1], result[2]


def smooth(lines: Sequence[Line]) -> list[Line]:
    """Average over neighbours: segments that wait for a lost one reach the application all at once."""
    span = max((line.x[-1] for line in lines if len(line.x)), default=0.0) / SMOOTH
    return [_smooth(line, span) for line in lines]


def _smooth(line: Line, span: float) -> Line:
    if len(line.x) < 2:
        return line
    width = min(len(line.y), max(1, round(span / float(np.median(np.diff(line.x))))))
    rows = len(line.y) // width * width
    return replace(line, x=line.x[:rows].reshape(-1, width)[:, -1], y=line.y[:rows].reshape(-1, width).mean(axis=1))


# ---------------------------------------------------------------- Names


def write(axes: Axes, names: Sequence[Name], size: Size, rows: int) -> None:
    """Write names at the ends of their lines, none on another; a leader in the line's dashes says which is which."""
    right = axes.get_xlim()[1]
    top = axes.get_ylim()[1]
    gap = size.gap(rows)
    boxes = {
        name.text: size.box(name.text, (name.at[0] / right, name.at[1] / top), rows, columns_of(axes)) for name in names
    }
    # One that has no room within the panel stands beside it too.
    is_beside = {text: box.left >= AT_THE_END or box.left + box.width > 1 for text, box in boxes.items()}
    beside = sorted((name for name in names if is_beside[name.text]), key=lambda name: name.at[1])
    if beside:
        wanted = [min(1.0, name.at[1] / top) for name in beside]
        heights = spaced(wanted, [gap * name.rows for name in beside])
        for name, height in zip(beside, heights, strict=True):
            _beside(axes, name, height, size)
    taken: list[Box] = []
    for name in sorted((name for name in names if not is_beside[name.text]), key=lambda name: name.at[1]):
        box = boxes[name.text].clear_of(taken)
        taken.append(box)
        _inside(axes, name, box.middle * top, size)


def _beside(axes: Axes, name: Name, height: float, size: Size) -> None:
    """Write a name to the right of the panel, with a leader from where its line ends."""
    assert axes.figure is not None
    offset = offset_copy(axes.transAxes, axes.figure, x=1.7 * size.font, units="points")  # type: ignore[arg-type]
    look = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5), "linewidth": size.line, **name.look}
    style: Style = {"color": name.look["color"], "va": "center", "fontsize": size.small, "linespacing": 1.0}
    axes.annotate(name.text, name.at, xytext=(1, height), textcoords=offset, arrowprops=look, **style)


def _inside(axes: Axes, name: Name, height: float, size: Size) -> None:
    """Write a name in the panel, behind the end of its line."""
    style: Style = {"color": name.look["color"], "va": "center", "fontsize": size.small, "linespacing": 1.0}
    axes.plot(*name.at, "o", color=name.look["color"], markersize=1.6 * size.line, clip_on=False)
    at = (name.at[0], height)
    axes.annotate(name.text, at, xytext=(4, 3), textcoords="offset points", path_effects=HALO, **style)


def spaced(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Move the middles of labels, which are sorted, until none lies on another, all within 0 to 1 if they fit."""
    if (total := sum(heights)) > 1:
        heights = [height / total for height in heights]
    placed: list[float] = []
    for number, (middle, height) in enumerate(zip(wanted, heights, strict=True)):
        least = placed[-1] + (heights[number - 1] + height) / 2 if placed else height / 2
        placed.append(max(middle, least))
    above = 1 - heights[-1] / 2
    for number in range(len(placed) - 1, -1, -1):
        placed[number] = min(placed[number], above)
        if number:
            above = placed[number] - (heights[number] + heights[number - 1]) / 2
    return placed
