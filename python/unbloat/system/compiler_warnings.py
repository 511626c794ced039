"""What compilers warn of in congestion controls that they compile nevertheless, and what is left out of them."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)

_shown: set[tuple[str, str]] = set()


def show(path: str, text: str) -> None:
    """Log it, once per file and text."""
    if (path, text) not in _shown:
        _shown.add((path, text))
        log.warning("%s: %s", path, text.rstrip())
