"""Guests to start runs from."""

from __future__ import annotations

from contextlib import closing

from unbloat.guest import guest
from unbloat.guest.guest import Guest
from unbloat.runs.progress import Waiting


def prepared(kernel: str | None) -> Guest:
    """Return a guest with a kernel, and say meanwhile what has to be waited for."""
    with closing(Waiting()) as say:
        return guest.prepare(kernel, say)
