"""A picture's panels, and its labels, notes and legends, laid out so that none lies on another."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Annotation, Text
from matplotlib.ticker import AutoLocator, MaxNLocator
from matplotlib.transforms import offset_copy

from unbloat.report.figures.style import GREY, Size, Style, legible, small

LETTER = 0.58
"""The width of a letter in the mean, as a share of the type's size."""
BARE = 0.75
"""The share of a picture's width that panels have without their labels, about."""
ROWS_LABEL = 0.4
"""The share of a picture's width that labels of rows take at most."""
SHORTEST = 12
"""Letters of a line of a label, at least."""
REMARK = "remark"
"""Marks what is to be written below all panels."""
AT_TOP = "note"
"""Marks a note at a panel's upper edge."""
LEGEND_ROW = 5
"""The most names in a line of a legend."""


class Picture(Figure):
    """A figure that a notebook shows as SVG, also without `%matplotlib inline`."""

    def _repr_svg_(self) -> str:
        drawn = io.StringIO()
        self.savefig(drawn, format="svg")
        return drawn.getvalue()


def canvas(
    size: Size, heights: Sequence[float], title: str = "", facts: str = "", across: int | None = None
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel for each of the heights, its title in bold, and a line of facts below the title.

    Heights are in panels of the usual height; of panels beside each other the highest counts. `across` is the number of
    panels beside each other, where the size does not decide it.
    """
    panels = len(heights)
    columns = size.columns(panels) if across is None else across
    rows = [max(heights[first : first + columns]) for first in range(0, panels, columns)]
    figure = Picture(figsize=(size.width, size.height(sum(rows))), layout="constrained")
    axes = figure.subplots(len(rows), columns, squeeze=False, height_ratios=rows).flatten().tolist()
    for spare in axes[panels:]:
        spare.remove()
    _head(figure, size.fits(title, 0.75 * size.font), size.fits(facts, 0.56 * size.small), size)
    return figure, axes[:panels]


def _head(figure: Figure, title: str, facts: str, size: Size) -> None:
    """Write title and facts above the panels, in a room that the layout leaves for both."""
    if not title and not facts:
        return
    room = "\n" * (facts.count("\n") + 1) + " " if facts else ""
    bold: Style = {"fontsize": size.font * 1.12, "fontweight": "bold"}
    above = figure.suptitle(f"{title}{room if title else room[1:]}", x=0.01, ha="left", **bold)
    plain: Style = {"fontsize": size.small, "color": GREY, "ha": "left", "va": "bottom"}
    figure.add_artist(Annotation(facts, (0, 0), xycoords=above, annotation_clip=False, **plain))


# ---------------------------------------------------------------- Labels


def finish(figure: Figure, panels: Sequence[Axes], size: Size) -> None:
    """Lay out what all panels of a picture share, once everything is drawn."""
    one_legend(figure, panels, size)
    legible(figure)
    make_room_for_names(figure, panels, size)
    write_remarks(figure, panels, size)
    break_labels(figure, panels, size)
    for axes in panels:
        fit_ticks(axes, size)


def remark(axes: Axes, text: str) -> None:
    """Explain what a panel shows, in words that appear once below all panels (`write_remarks`)."""
    axes.text(0, 0, text, gid=REMARK, visible=False)


def write_remarks(figure: Figure, panels: Sequence[Axes], size: Size) -> None:
    """Write the remarks of all panels below them, each once."""
    found = [text for axes in panels for text in axes.texts if text.get_gid() == REMARK]
    said = "\n".join(size.fits(each, LETTER * size.small) for each in dict.fromkeys(map(Text.get_text, found)))
    for text in found:
        text.remove()
    if said:
        style: Style = {"fontsize": size.small, "color": GREY, "x": 0.99, "ha": "right", "multialignment": "right"}
        figure.supxlabel(said, **style)
        more = size.panel * size.height_of_lines(1 + said.count("\n"))
        figure.set_figheight(figure.get_figheight() + more)


def break_labels(figure: Figure, panels: Sequence[Axes], size: Size) -> None:
    """Break what runs along axes into lines as long as these."""
    for axes in panels:
        width = BARE * size.width / columns_of(axes)
        axes.set_xlabel(broken(axes.get_xlabel(), width, size))
        axes.set_ylabel(broken(axes.get_ylabel(), _height_of(axes, figure, size), size))


def _height_of(axes: Axes, figure: Figure, size: Size) -> float:
    """Return about how high a panel is, without the texts above and below it, in inches."""
    place = axes.get_subplotspec()
    assert place is not None
    heights = np.array(place.get_gridspec().get_height_ratios(), dtype=float)
    share = heights[place.rowspan.start] / heights.sum()
    return float((figure.get_figheight() - 0.25 - 4 * size.font / 72) * share - 2.5 * size.font / 72)


def broken(label: str, room: float, size: Size) -> str:
    """Break a text between words, so that it fits the width in inches."""
    letters = max(int(72 * room / (LETTER * size.font)), SHORTEST)
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(textwrap.fill(line, letters, **how) for line in label.split("\n"))


def fit_ticks(axes: Axes, size: Size) -> None:
    """Write fewer numbers along the lower axis where panels beside each other have no room for more."""
    if columns_of(axes) > 1 and isinstance(axes.xaxis.get_major_locator(), AutoLocator):
        axes.xaxis.set_major_locator(MaxNLocator(max(2, size.letters(columns_of(axes)) // 8), steps=[1, 2, 2.5, 5, 10]))


def row_label(text: str, size: Size) -> str:
    """Break the label of a row into lines that leave room for the row."""
    return broken(text, ROWS_LABEL * size.width, size)


def height_of_rows(labels: Sequence[str], size: Size) -> float:
    """Return the height of a panel whose rows have labels, in panels of the usual height."""
    highest = max((1 + row_label(label, size).count("\n") for label in labels), default=1)
    return size.rows_of_text(highest * len(labels))


def turn_long_labels(axes: Axes, labels: Sequence[str], size: Size, share: float = 0.8) -> None:
    """Turn the labels along the lower axis where they have no room beside each other on this share of the width."""
    room = share * size.letters(columns_of(axes))
    places = axes.transAxes.inverted().transform(axes.transData.transform([(tick, 1.0) for tick in axes.get_xticks()]))
    gaps = np.diff(np.sort(places[:, 0])) if len(labels) > 1 else [1.0]
    longest = max(map(len, labels), default=0)
    if (longest + 2) * len(labels) > room or (longest + 1) > room * min(gaps):
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def at_top(axes: Axes, text: str, *, is_left: bool = False) -> None:
    """Write a note at a panel's upper edge, where `over_time` leaves room for it above all that is drawn."""
    style: Style = {"color": GREY, "fontsize": small(axes), "va": "top", "ha": "left" if is_left else "right"}
    axes.text(0.01 if is_left else 0.995, 0.985, text, transform=axes.transAxes, gid=AT_TOP, **style)


def lines_at_top(axes: Axes) -> int:
    """Return how many lines of notes a panel's upper edge has."""
    notes = [text.get_text() for text in axes.texts if text.get_gid() == AT_TOP]
    return max((1 + text.count("\n") for text in notes), default=0)


# ---------------------------------------------------------------- Legends


def name_above(axes: Axes, labels: Sequence[str], size: Size, handles: Sequence[Any] = ()) -> None:
    """Name what is drawn above the panel: within it the names would lie on some of it. One alone needs no name."""
    if len(labels) < 2:
        return
    columns = min(LEGEND_ROW, _columns_for(labels, 0.8 * size.width / columns_of(axes), size))
    style: dict[str, Any] = {"ncols": columns, "handlelength": 2.2, "columnspacing": 1.2, "borderaxespad": 0.2}
    drawn = handles or axes.lines
    title = axes.get_title("right") or axes.get_title("left")
    lines = 1.5 + title.count("\n") if title else 0.0
    assert axes.figure is not None
    above = offset_copy(axes.transAxes, axes.figure, y=1.3 * lines * size.font, units="points")  # type: ignore[arg-type]
    axes.legend(drawn[: len(labels)], labels, loc="lower left", bbox_to_anchor=(0, 1), bbox_transform=above, **style)


def widen(axes: Axes) -> None:
    """Give a panel that is alone in its row the whole width."""
    place = axes.get_subplotspec()
    assert place is not None
    axes.set_subplotspec(place.get_gridspec()[place.rowspan.start, :])


def columns_of(axes: Axes) -> int:
    """Return how many panels of an own panel's width fit beside each other."""
    place = axes.get_subplotspec()
    assert place is not None
    return place.get_gridspec().ncols // len(place.colspan)


def one_legend(figure: Figure, panels: Sequence[Axes], size: Size) -> None:
    """Leave one legend where several panels have the same: below them all, or above the first of them."""
    legends = [legend for axes in panels if (legend := axes.get_legend()) is not None]
    whole = max(legends, key=lambda legend: len(words_of(legend)), default=None)
    if whole is None or len(legends) < 2:
        return
    is_beside = any(columns_of(axes) > 1 for axes in panels)
    said: list[list[str]] = []
    for legend in legends:
        words = words_of(legend)
        if words in said or (is_beside and set(words) <= set(words_of(whole))):
            legend.remove()
        said.append(words)
    if is_beside:
        columns = _columns_for(words_of(whole), 0.9 * size.width, size)
        handles = [handle for handle in whole.legend_handles if handle is not None]
        figure.legend(handles, words_of(whole), loc="outside lower left", ncols=columns)
        lines = -(-len(words_of(whole)) // columns)
        figure.set_figheight(figure.get_figheight() + size.panel * size.height_of_lines(lines + 1))


def _columns_for(labels: Sequence[str], width: float, size: Size) -> int:
    """Return how many names of a legend have room beside each other, inches wide."""
    return int(max(1, width * 72 / (0.55 * size.small) // (max(map(len, labels)) + 8)))


def words_of(legend: Legend) -> list[str]:
    """Return what a legend says."""
    return [text.get_text() for text in legend.get_texts()]


def make_room_for_names(figure: Figure, panels: Sequence[Axes], size: Size) -> None:
    """Make a picture higher where its legends would take too much of the panels' height."""
    lines: dict[int, int] = {}
    for axes in panels:
        place = axes.get_subplotspec()
        if place is not None and (legend := axes.get_legend()) is not None:
            row = place.rowspan.start
            lines[row] = max(lines.get(row, 0), -(-len(legend.get_texts()) // legend._ncols))  # type: ignore[attr-defined]
    more = sum(max(0, number - size.legend) for number in lines.values())
    figure.set_figheight(figure.get_figheight() + size.panel * size.height_of_lines(more))
