"""The looks of all figures: sizes, type, colours, units and scales of axes."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.patheffects as effects
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from unbloat.report.figures.kinds import Width
from unbloat.scenarios.checks import one_of
from unbloat.system.files import whole
from unbloat.system.legible import plain

BLACK = "#000000"
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", BLACK, "#8C6D1F"]
"""Distinct for colour-blind eyes (after Okabe and Ito)."""
DASHES = ["-", "--", ":", "-."]
"""Dashes tell the flows of one run apart, where colours tell runs apart."""
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
GREY = "#6E6E6E"
"""The colour of limits, capacities and notes, in contrast to measurements."""
GRID = "#E6E6E6"
SHADE = "#D9D9D9"
"""A band: of a tolerance, of what a link could have carried."""
PALE = "#EFEFEF"
"""The colour of a time that the numbers leave out."""
HALO = [effects.withStroke(linewidth=2.5, foreground="white")]
"""The halo around names that lie on lines."""
BETWEEN_POWERS = ((5, "2357"), (30, "25"))
"""A logarithmic axis that spans less than the factor has labels at these multiples of powers of ten too."""
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Metadata of files by their format, without what would differ from one writing to the next."""

LOOK: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "unbloat",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # Publishers refuse the Type 3 fonts of the default.
    "text.parse_math": False,  # A name with a $ in it is no formula.
    "figure.dpi": 120,
    "savefig.dpi": 200,
}


Style = dict[str, Any]
"""Properties of something drawn, in Matplotlib's words."""


@dataclass(frozen=True)
class Box:
    """The place of a text, in shares of the panel: from its left end on, around its middle."""

    left: float
    middle: float
    width: float
    height: float

    def clear_of(self, others: Iterable[Box]) -> Box:
        """Move it up until it lies on none of the others."""
        box = self
        for other in sorted(others, key=lambda other: other.middle):
            is_beside = other.left + other.width < box.left or box.left + box.width < other.left
            if not is_beside and abs(other.middle - box.middle) < (other.height + box.height) / 2:
                box = replace(box, middle=other.middle + (other.height + box.height) / 2)
        return box


@dataclass(frozen=True)
class Size:
    """Where a picture is looked at: its measures in inches, its type in points."""

    width: float
    panel: float
    """Height of a panel."""
    font: float
    line: float
    least: float
    """Height of a picture, however few panels it has."""
    beside: int = 1
    """The number of panels beside each other where there are three and more."""
    multiples: int = 1
    """The number of parts of one quantity beside each other."""
    legend: int = 1
    """As many lines of a legend have room in a panel; for more of them the picture grows."""

    @property
    def small(self) -> float:
        """Type of labels and notes."""
        return self.font * 0.88

    def letters(self, columns: int) -> int:
        """Return how many letters of small type fit into one of `columns` panels beside each other."""
        return int(self.width * 72 / columns / (0.55 * self.small))

    def columns(self, panels: int) -> int:
        """Return how many panels are beside each other."""
        return self.beside if panels > 2 else 1

    def height(self, rows: float) -> float:
        """Return the height of a picture with a number of rows of panels, in inches."""
        return max(self.least, 0.25 + 4 * self.font / 72 + self.panel * rows)

    def rows_of_text(self, number: int) -> float:
        """Return the height of a number of names one below another, in panels of the usual height; one at least."""
        return max(1.0, self.height_of_lines(number + 2))

    def height_of_lines(self, number: int) -> float:
        """Return the height of a number of lines of small text, in panels of the usual height."""
        return number * 1.5 * self.small / 72 / self.panel

    def gap(self, rows: int) -> float:
        """Return the height of a line of labels, as a share of a panel's."""
        panel = (self.height(rows) - 6 * self.font / 72) / rows - 2 * self.font / 72
        return 1.25 * self.small / 72 / panel

    def box(self, text: str, at: tuple[float, float], rows: int, columns: int) -> Box:
        """Return the box that a text takes in a panel among rows and columns of panels, as shares of the panel."""
        lines = text.split("\n")
        width = max(map(len, lines)) * 0.55 * self.small / 72 / (0.75 * self.width / columns)
        return Box(*at, width, self.gap(rows) * len(lines))

    def fits(self, text: str, letter: float) -> str:
        """Break a text into lines of the picture's width; `letter` is that of a letter, in points."""
        return "\n".join(textwrap.wrap(text, max(20, int(0.96 * self.width * 72 / letter))))


SIZES: dict[Width, Size] = {
    "page": Size(width=7.5, panel=2.2, font=9, line=1.2, least=2.6, multiples=3),
    # A slide of 16:9 as presentation programs have it, whose smallest type is read from the last row.
    "slide": Size(width=13.33, panel=3.2, font=18, line=2.4, least=7.5, beside=2, multiples=3, legend=3),
    # A column of a two-column paper; its type is that of captions.
    "column": Size(width=3.35, panel=1.75, font=7.5, line=0.9, least=2.2),
}


def size_named(width: str) -> Size:
    """Return a size by its name; raises `InputError` for an unknown one."""
    return SIZES[one_of("width", width, list(SIZES))]  # type: ignore[index]


@contextmanager
def drawing(size: Size) -> Iterator[None]:
    """Apply the fonts and line widths of a size to what is drawn within the context."""
    ticks = {f"{axis}tick.labelsize": size.small for axis in "xy"}
    legend = {"legend.fontsize": size.small, "legend.frameon": False}
    own = {"font.size": size.font, "axes.labelsize": size.font, "lines.linewidth": size.line, **ticks, **legend}
    with look(own):
        yield


@contextmanager
def look(own: Any = None) -> Iterator[None]:
    """Apply the looks of all figures, and `own`, within the context; what matplotlib warns of there nobody can mend."""
    with mpl.rc_context(LOOK | (own or {})), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Of characters that a font lacks, and of panels without room.
        yield


def legible(figure: Figure) -> Figure:
    """Write the control characters in all texts of a figure as escapes, and return it: SVG takes none."""
    for text in figure.findobj(Text):
        text.set_text(plain(text.get_text()))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for formatter in (axis.get_major_formatter(), axis.get_minor_formatter()):
                # What `set_ticks` is given as labels ends up in one.
                if isinstance(formatter, FuncFormatter) and not isinstance(formatter.func, _Legible):
                    formatter.func = _Legible(formatter.func)
    return figure


@dataclass(frozen=True)
class _Legible:
    """Writes the ticks of an axis with escapes."""

    write: Callable[[float, int | None], str]

    def __call__(self, value: float, position: int | None = None) -> str:
        return plain(self.write(value, position))


def colour(hue: int) -> str:
    """Return a colour by its number."""
    return COLOURS[hue % len(COLOURS)]


def dashes(hue: int, dash: int = 0) -> str:
    """Return a line's dashes; after the last colour, colours begin again with other dashes."""
    return DASHES[(dash + hue // len(COLOURS)) % len(DASHES)]


def plain_logarithms(*axes: Axis) -> None:
    """Write the numbers of logarithmic axes out: Matplotlib's own are formulas, which names must not become."""
    for axis in axes:
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(partial(_between_powers, axis))


def foot_of(values: Iterable[float]) -> float:
    """Return where a logarithmic axis begins: a power of ten below the least positive value. Values of 0 are there."""
    return float(10 ** math.floor(math.log10(min(value for value in values if value > 0) * 0.9)))


def span(axis: Axis, values: Sequence[float]) -> None:
    """Make an axis logarithmic, from its foot to above the largest value."""
    low, high = foot_of(values), max(values) * 1.6
    name = axis.axis_name  # type: ignore[attr-defined]
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    plain_logarithms(axis)


def _between_powers(axis: Axis, value: float, _: float) -> str:
    """Format some multiples of a power of ten where an axis is so short that it shows hardly any powers."""
    low, high = sorted(axis.get_view_interval())
    digits = next((digits for factor, digits in BETWEEN_POWERS if high < factor * low), "")
    return f"{value:g}" if first_digit(value) in digits else ""


def first_digit(value: float) -> str:
    """Return the first digit of a number, once it is rounded to that."""
    return f"{value:.0e}"[0]


def small(axes: Axes) -> float:
    """Return the size of small type in a panel, points."""
    return float(axes.xaxis.label.get_fontsize()) * 0.88


# ---------------------------------------------------------------- Files


def format_of(path: Path) -> str:
    """Return the format for a file name's ending."""
    return one_of(f"{path}: the ending", path.suffix[1:].lower(), list(METADATA))


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that its name's ending says; the same figure gives the same bytes."""
    kind = format_of(path)
    with look(), whole(path) as draft:
        legible(figure).savefig(draft, format=kind, metadata=METADATA[kind])


STEPS = {
    "Mbit/s": ((1e-3, "Gbit/s", 1e4), (1.0, "Mbit/s", 1.0), (1e3, "kbit/s", 1e-3), (1e6, "bit/s", 0.0)),
    "Mb/s": ((1e-3, "Gb/s", 1e4), (1.0, "Mb/s", 1.0), (1e3, "kb/s", 1e-3), (1e6, "b/s", 0.0)),
    "ms": ((1e-3, "s", 1e4), (1.0, "ms", 0.1), (1e3, "\N{MICRO SIGN}s", 0.0)),
    "kB": ((1e-3, "MB", 1e4), (1.0, "kB", 0.0)),
    "KB": ((1e-3, "MB", 1e4), (1.0, "KB", 0.0)),
}
"""By units: a factor, the unit that it leads to, and the largest value from which on that is used."""


def unit_for(unit: str, largest: float) -> tuple[float, str]:
    """Return a factor and the unit that suits values up to the largest one."""
    found = next(((factor, name) for factor, name, least in STEPS.get(unit, ()) if abs(largest) >= least), None)
    return found if found and largest else (1.0, unit)


def suit(axes: Axes) -> None:
    """Change the units of both axes of a panel, where others suit what they show."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "linear":
            _suit(axis)


def suit_together(panels: Sequence[Axes]) -> None:
    """Change the unit of what runs up in panels beside each other, of which the first alone bears its name."""
    largest = max(max(map(abs, axes.get_ylim())) for axes in panels)
    label = panels[0].get_ylabel()
    for axes in panels:
        axes.set_ylabel(label)
        _suit(axes.yaxis, largest)
    for axes in panels[1:]:
        axes.set_ylabel("")


def _multiplied(factor: float, value: float, _: float) -> str:
    return f"{value * factor:.6g}"


def _suit(axis: Axis, largest: float | None = None) -> None:
    label = axis.label.get_text()
    for unit in STEPS:
        factor, name = unit_for(unit, largest if largest is not None else max(map(abs, axis.get_view_interval())))
        if factor != 1 and f"({unit})" in label:
            axis.set_major_formatter(partial(_multiplied, factor))
            axis.set_label_text(label.replace(f"({unit})", f"({name})"))
