"""The program `unbloat`: the command line with what surrounds it."""

from __future__ import annotations

import gc
import os
import sys

from unbloat.cli import INTERRUPTED


def main() -> int:
    """Run the command line; return the exit status. An interrupt prints no traceback, even while modules load."""
    open_standard_files()
    # While libraries are loaded, which make hundreds of thousands of objects that stay, and at the end, garbage
    # collection takes a sixth of the time of a short command.
    gc.set_threshold(100_000, 50, 100)
    try:
        from unbloat.cli.app import main as command_line

        return command_line()
    except KeyboardInterrupt:
        print("unbloat: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        gc.freeze()


def open_standard_files() -> None:
    """Open /dev/null for a standard stream that is closed; otherwise the next file would get its number."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(null, True)
    os.close(null)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
