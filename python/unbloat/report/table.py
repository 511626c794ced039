"""Tables on a screen: aligned columns, units in the heads, as many digits as mean something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column: its head, its unit, its cells."""

    head: str
    unit: str
    cells: Sequence[object]
    is_right: bool = False
    """Aligns to the right although its cells are words."""

    def is_number(self) -> bool:
        """Tell whether it aligns to the right."""
        return self.is_right or all(cell is None or isinstance(cell, int | float) for cell in self.cells)


@dataclass(frozen=True)
class Marked:
    """A cell of words that each have a kind, such as a verdict, which an HTML page shows by its colour."""

    words: Sequence[tuple[str, str]]
    """The words, each with its kind; empty for those that have none."""
    between: str = " / "

    def __str__(self) -> str:
        return self.between.join(word for word, _ in self.words)


def render(columns: Sequence[Column]) -> str:
    """Draw a table; columns without any value are left out."""
    kept = [column for column in columns if any(cell is not None and cell != "" for cell in column.cells)]
    blocks = [_block(column) for column in kept]
    lines = ["  ".join(parts).rstrip() for parts in zip(*blocks, strict=True)]
    return "\n".join(line for line in lines if line)


def _block(column: Column) -> list[str]:
    """Give one column's lines, all of one width: head, unit, rule, cells."""
    cells = [show(cell) for cell in column.cells]
    lines = [column.head, column.unit, "", *cells]
    width = max(map(len, lines))
    lines[2] = "─" * width
    align = str.rjust if column.is_number() else str.ljust
    return [align(line, width) for line in lines]


def show(value: object) -> str:
    """Write a value; numbers with three or four significant digits and never as a power of ten."""
    if value is None or value != value:
        return "-"
    if not isinstance(value, float):
        return str(value)
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else "∞"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}"


def markdown(columns: Sequence[Column], write: Callable[[object], str] = show) -> str:
    """Draw a table as GitHub shows it, numbers to the right; `write` writes a cell."""
    head = [f"{column.head} {column.unit}".strip() for column in columns]
    rule = ["---:" if column.is_number() else "---" for column in columns]
    rows = zip(*(column.cells for column in columns), strict=True)
    lines = [head, rule, *([write(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
