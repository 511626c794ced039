"""What compilers warn of in congestion controls that they compile nevertheless."""

from __future__ import annotations

import sys

WIPE = "\r\033[K"

_shown: set[tuple[str, str]] = set()


def show(path: str, text: str) -> None:
    """Say it on stderr, once per file and text."""
    if (path, text) not in _shown:
        _shown.add((path, text))
        wipe = WIPE if sys.stderr.isatty() else ""
        print(f"{wipe}unbloat: {path}: the compiler warns:\n{text.rstrip()}", file=sys.stderr, flush=True)
