"""Text that people read: names that send a terminal no commands, numbers with the digits that mean something."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterable, Sequence

# ---------------------------------------------------------------- Names and values


LINES = "\n\t"
TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that change the direction of writing, so that a text looks like another one."""
NO_CHARACTERS = (*range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
"""Characters that XML does not take (section 2.2), besides control characters."""
ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in LINES},
    **{code: f"\\u{code:04x}" for code in (*TURNING, *NO_CHARACTERS)},
}
IN_A_LINE = {**ESCAPES, ord("\n"): "\\n", ord("\t"): "\\t", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def plain(text: str) -> str:
    """Write control characters as escapes; lines stay."""
    return text.translate(ESCAPES)


def in_a_line(text: str) -> str:
    """Write control characters as escapes, also those that begin a new line."""
    return text.translate(IN_A_LINE)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Draw a table as GitHub shows it, the columns marked in `right` aligned to the right."""
    rule = ["---:" if is_right else "---" for is_right in right or [False] * len(heads)]
    cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in [heads, rule, *cells])


def screen_width() -> int | None:
    """Return the width of the terminal that stdout is, in columns; None elsewhere, where lines are not broken."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


# ---------------------------------------------------------------- Numbers


DIGITS = 3
"""Significant digits of a number in a table, at least."""
SMALLEST = 1e-4
"""The smallest number that is written without a power of ten."""
ALIKE = 1e-4
"""Relative differences up to this size come from clocks, whose ticks lie elsewhere with each seed."""
FIVE = 5
"""Digits of a measured number beside a published one, at most."""


def in_table(value: float | None) -> str:
    """Write a number with three significant digits, or all of those before the point; `-` without one."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0 or math.isinf(value):
        return "0" if value == 0 else f"{'-' * (value < 0)}∞"
    if abs(value) < SMALLEST:
        mantissa, exponent = f"{value:.{DIGITS - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{value:.{max(0, DIGITS - 1 - _magnitude_rounded(value, DIGITS))}f}"


def with_interval(mean: float | None, half_width: float | None) -> str:
    """Write a mean with half of its interval: of that two significant digits, and of the mean as many decimal places.

    An interval of a ten-thousandth of its mean comes from the ticks of clocks: readers need not see it.
    """
    if mean is None or not half_width or half_width < ALIKE * abs(mean) or math.isinf(mean):
        return in_table(mean)
    places = max(0, 1 - _magnitude_rounded(half_width, 2))
    return f"{mean:.{places}f} ± {half_width:.{places}f}"


def _magnitude_rounded(value: float, digits: int) -> int:
    """Return the power of ten of a number's first digit, once it is rounded."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def short(value: float | None) -> str:
    """Write a number in six characters at most."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1e-3 else "0"


def in_words(number: float) -> str:
    """Write a number that is worth three digits, a large one in words: 8.12 million."""
    for size, word in ((1e9, " billion"), (1e6, " million")):
        if number >= size:
            return f"{number / size:.3g}{word}"
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"


def clock(seconds: float) -> str:
    """Write a time as m:ss or h:mm:ss."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def count_of(number: int, thing: str, things: str = "") -> str:
    """Write a number of things; `things` are several of them where that takes more than an s."""
    return f"{number} {thing if number == 1 else things or f'{thing}s'}"


# ---------------------------------------------------------------- Beside published numbers


def measured(value: float, digits: int = FIVE) -> str:
    """Write a measured number with `digits` digits, and with all digits before the point."""
    if math.isinf(value):
        return "unfinished" if value > 0 else "-inf"
    if math.isnan(value):
        return "none"
    return f"{value:.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def measured_within(value: float, half_width: float | None, digits: int = FIVE) -> str:
    """Write a measured value with `digits` digits, and its interval, of at most two, where these digits show it."""
    if not half_width or not math.isfinite(value):
        return measured(value, digits)
    shown = digits - 1 - _magnitude(value) if value else digits
    places = max(0, min(shown, 1 - _magnitude(half_width)))
    if half_width < 0.5 * 10.0**-places:
        return measured(value, digits)
    return f"{value:.{places}f} ± {half_width:.{places}f}"


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def digits_beside(published: str) -> int:
    """Return the number of digits for a number beside a printed one, if any: one more than that has."""
    if not published:
        return FIVE
    mantissa = published.lower().partition("e")[0].lstrip("+-").replace(".", "")
    return min(FIVE, 1 + max(1, len(mantissa.lstrip("0"))))
