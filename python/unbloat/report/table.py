"""Tables on a screen: aligned columns, units in the heads, as many digits as mean something."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from unbloat.system.legible import in_a_line, in_table, markdown_table, screen_width

GAP = "  "
"""Between two columns."""
READABLE = 24
"""Characters that a column of sentences keeps where room is scarce."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, its unit, its cells."""

    head: str
    unit: str
    cells: Sequence[object]
    is_right: bool = False
    """Aligns to the right, although the table has words in its cells."""

    def is_number(self) -> bool:
        """Return whether it aligns to the right."""
        return self.is_right or all(cell is None or isinstance(cell, int | float) for cell in self.cells)


@dataclass(frozen=True)
class Marked:
    """A cell of a table with words that each have a kind, such as a verdict, which an HTML page shows by its colour."""

    words: Sequence[tuple[str, str]]
    """The words, each with its kind; empty for those that have none."""
    between: str = " / "

    def __str__(self) -> str:
        return self.between.join(word for word, _ in self.words)


def render(columns: Sequence[Column], width: int | None = None) -> str:
    """Draw a table; columns without any value are left out.

    A table wider than `width` (by default the terminal's, if there is one) is folded. Heads and sentences take several
    lines, and columns move into further tables with the same labels at the left.
    """
    width = screen_width() if width is None else width
    kept = filled(columns)
    widths = [_width(column) for column in kept]
    if width is None or _whole(widths) <= width:
        return _drawn(kept, widths)
    widths = _squeezed(kept, [_narrow(column) for column in kept], width)
    return "\n\n".join(_drawn(*part) for part in _folded(kept, widths, width))


def fits(columns: Sequence[Column]) -> bool:
    """Return whether a table fits on the screen in one piece, its heads folded if need be."""
    width = screen_width()
    return width is None or _whole([_narrow(column) for column in filled(columns)]) <= width


def filled(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that have a value, with heads that can be shown."""
    kept = [column for column in columns if any(cell not in (None, "", "-") for cell in column.cells)]
    return [replace(column, head=in_a_line(column.head)) for column in kept]


def _width(column: Column) -> int:
    return max(map(len, [column.head, column.unit, *map(show, column.cells)]))


def _narrow(column: Column) -> int:
    """Return the width of a column whose head takes several lines, a word each."""
    return max(map(len, [*(column.head.split() or [""]), column.unit, *map(show, column.cells)]))


def _whole(widths: Sequence[int]) -> int:
    """Return the width of a table whose columns have these widths."""
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _squeezed(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """Narrow the columns that hold sentences until the table fits, as far as they stay readable."""
    widths = list(widths)
    least = [own if column.is_number() else min(own, READABLE) for column, own in zip(columns, widths, strict=True)]
    while (excess := _whole(widths) - width) > 0:
        room, widest = max((own - lowest, n) for n, (own, lowest) in enumerate(zip(widths, least, strict=True)))
        if room == 0:
            break
        widths[widest] -= min(excess, room)
    return widths


def _folded(columns: Sequence[Column], widths: Sequence[int], width: int) -> Iterator[tuple[list[Column], list[int]]]:
    """Split a table that is too wide: each part begins with the columns that say what a row is.

    The parts are about equally wide, so that none has a single column that the others had no room for.
    """
    number = next((n for n, column in enumerate(columns) if column.unit or column.is_right), 1)
    labels, label_widths = list(columns[:number]), list(widths[:number])
    rest = widths[number:]
    ends = _ends(label_widths, rest, width)
    for narrower in range(max(rest, default=0), width):
        if len(found := _ends(label_widths, rest, narrower)) == len(ends):
            ends = found
            break
    for begin, end in zip([0, *ends], ends, strict=False):
        yield labels + list(columns[number:][begin:end]), label_widths + list(rest[begin:end])


def _ends(labels: Sequence[int], widths: Sequence[int], width: int) -> list[int]:
    """Return where the parts of a table end if each takes as many columns as have room."""
    ends, begin = [], 0
    for place in range(1, len(widths)):
        if _whole([*labels, *widths[begin : place + 1]]) > width:
            ends.append(place)
            begin = place
    return [*ends, len(widths)]


def _drawn(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """Draw columns of these widths: heads, units, a rule, rows."""
    aligns = [str.rjust if column.is_number() else str.ljust for column in columns]
    rules = ["─" * width for width in widths]
    heads = [[column.head for column in columns], [column.unit for column in columns], rules]
    rows = [*heads, *(list(map(show, row)) for row in zip(*(column.cells for column in columns), strict=True))]
    lines = []
    for row in rows:
        cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        if row is rows[0]:  # Heads of one line stand above their units.
            lines_of_heads = max(map(len, cells), default=1)
            cells = [[""] * (lines_of_heads - len(cell)) + cell for cell in cells]
        for line in zip_longest(*cells, fillvalue=""):
            drawn = (align(cell, width) for align, cell, width in zip(aligns, line, widths, strict=True))
            lines.append(GAP.join(drawn).rstrip())
    return "\n".join(line for line in lines if line)


def _wrapped(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else textwrap.wrap(cell, width, break_on_hyphens=False)


def show(value: object) -> str:
    """Write a cell of a table."""
    return in_table(value) if isinstance(value, float | None) else in_a_line(str(value))


def markdown(columns: Sequence[Column], write: Callable[[object], str] = show) -> str:
    """Draw a table as GitHub shows it, numbers to the right; `write` writes a cell."""
    heads = [f"{column.head} {column.unit}".strip() for column in columns]
    rows = ([write(cell) for cell in row] for row in zip(*(column.cells for column in columns), strict=True))
    return markdown_table(heads, rows, [column.is_number() for column in columns])


LATEX = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "·": r"$\cdot$",
}
"""Characters that mean something else in LaTeX, and what stands for them."""


def latex(columns: Sequence[Column]) -> str:
    """Draw a table for a paper, with the rules of the package booktabs; columns without any value are left out."""
    kept = filled(columns)
    units = [f"({column.unit})" if column.unit else "" for column in kept]
    heads = [[column.head for column in kept], *([units] if any(units) else [])]
    rows = zip(*([show(cell) for cell in column.cells] for column in kept), strict=True)
    lines = [
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{''.join('r' if column.is_number() else 'l' for column in kept)}}}",
        r"\toprule",
        *map(_latex_row, heads),
        r"\midrule",
        *map(_latex_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _latex_row(cells: Iterable[str]) -> str:
    escaped = ("".join(LATEX.get(letter, letter) for letter in cell) for cell in cells)
    return f"{' & '.join(escaped)} \\\\"
