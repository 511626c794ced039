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


DIGITS = 3
"""Significant digits of a number, at least."""
SMALLEST = 1e-4
"""What is smaller is written as a power of ten."""


def show(value: object) -> str:
    """Write a value; numbers with three significant digits, or all of those before the point."""
    if value is None or value != value:
        return "-"
    if not isinstance(value, float):
        return str(value)
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else f"{'-' * (value < 0)}∞"
    if abs(value) < SMALLEST:
        mantissa, exponent = f"{value:.{DIGITS - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.{max(0, DIGITS - 1 - magnitude(value))}f}"


def magnitude(value: float) -> int:
    """Give the power of ten of a number's first digit, once it is rounded."""
    return int(f"{value:.{DIGITS - 1}e}".partition("e")[2])


def with_interval(mean: float, half_width: float | None) -> str:
    """Write a mean with half of its interval: of that two significant digits, and of the mean as many decimal places.

    An interval that is thousands of times smaller than its mean is written by itself.
    """
    if not half_width or math.isinf(mean):
        return show(mean)
    last = int(f"{half_width:.1e}".partition("e")[2]) - 1
    if mean and magnitude(mean) - last > LONGEST:
        return f"{mean:.{max(0, LONGEST - magnitude(mean))}f} ± {show(half_width)}"
    return f"{mean:.{max(0, -last)}f} ± {half_width:.{max(0, -last)}f}"


LONGEST = 5
"""A mean has not more digits than one more than this."""


def markdown(columns: Sequence[Column], write: Callable[[object], str] = show) -> str:
    """Draw a table as GitHub shows it, the first column to the left; `write` writes a cell."""
    head = [f"{column.head} {column.unit}".strip() for column in columns]
    rule = ["---"] + ["---:"] * (len(columns) - 1)
    rows = zip(*(column.cells for column in columns), strict=True)
    lines = [head, rule, *([write(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
