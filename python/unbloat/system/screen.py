"""The terminal that is written to."""

from __future__ import annotations

import shutil
import sys


def screen_width() -> int | None:
    """Give the columns of the terminal that stdout is; None elsewhere, where lines are as long as they need to be."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
