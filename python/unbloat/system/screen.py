"""The terminal that is written to."""

from __future__ import annotations

import shutil
import sys


def screen_width() -> int | None:
    """Return the width of the terminal that stdout is, in columns; None elsewhere, where lines are not broken."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
