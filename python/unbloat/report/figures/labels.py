"""Labels and notes: broken, turned and thinned out so that none lies on another."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import AutoLocator, MaxNLocator

from unbloat.report.figures.style import GREY, Size, Style, columns_of, small

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


def remark(axes: Axes, text: str) -> None:
    """Explain what a panel shows, in words that stand once below all panels (`write_remarks`)."""
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
    """Return about how high a panel is, without what stands above and below it, in inches."""
    place = axes.get_subplotspec()
    assert place is not None
    heights = np.array(place.get_gridspec().get_height_ratios(), dtype=float)
    share = heights[place.rowspan.start] / heights.sum()
    return float((figure.get_figheight() - 0.25 - 4 * size.font / 72) * share - 2.5 * size.font / 72)


def broken(label: str, room: float, size: Size) -> str:
    """Break a text between words, so that it has room in so many inches."""
    letters = max(int(72 * room / (LETTER * size.font)), SHORTEST)
    how: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(textwrap.fill(line, letters, **how) for line in label.split("\n"))


def fit_ticks(axes: Axes, size: Size) -> None:
    """Have fewer numbers stand along the lower axis where panels beside each other have no room for more."""
    if columns_of(axes) > 1 and isinstance(axes.xaxis.get_major_locator(), AutoLocator):
        axes.xaxis.set_major_locator(MaxNLocator(max(2, size.letters(columns_of(axes)) // 8), steps=[1, 2, 2.5, 5, 10]))


def row_label(text: str, size: Size) -> str:
    """Break the label of a row into lines that leave room for the row."""
    return broken(text, ROWS_LABEL * size.width, size)


def turn_long_labels(axes: Axes, labels: Sequence[str], size: Size, share: float = 0.8) -> None:
    """Turn the labels along the lower axis where they have no room beside each other on this share of the width."""
    if (max(map(len, labels), default=0) + 2) * len(labels) > share * size.letters(columns_of(axes)):
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def at_top(axes: Axes, text: str, *, is_left: bool = False) -> None:
    """Write a note at a panel's upper edge, where `over_time` leaves room for it above all that is drawn."""
    style: Style = {"color": GREY, "fontsize": small(axes), "va": "top", "ha": "left" if is_left else "right"}
    axes.text(0.01 if is_left else 0.995, 0.985, text, transform=axes.transAxes, gid=AT_TOP, **style)


def lines_at_top(axes: Axes) -> int:
    """Return how many lines of notes stand at a panel's upper edge."""
    notes = [text.get_text() for text in axes.texts if text.get_gid() == AT_TOP]
    return max((1 + text.count("\n") for text in notes), default=0)
