"""Names and values as they may be shown: they control no terminal, and break no table and no page."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

LINES = "\n\t"
TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that change the direction of writing, so that a text looks like another one."""
NO_CHARACTERS = (*range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
"""What XML does not take (section 2.2), besides control characters."""
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
