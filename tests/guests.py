"""The guests that tests share: one boot serves all of them, and the next time as well."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kept import lend
from unbloat.guest import guest, kernels
from unbloat.scenarios.portable import Recording
from unbloat.scenarios.source import source_of

ONE_AT_A_TIME = ("--jobs", "1")
"""Other tests run beside."""


@cache
def oldest_kernel() -> str:
    """Give the oldest kernel that the distribution has and that guests can have, such as 6.1."""
    return kernels.offered_series()[0]


@cache
def modelled_kernel() -> str:
    """Give the kernel that the simulator models, or the oldest if the distribution does not have that."""
    return kernels.modelled_series()


def share(cache: Path) -> None:
    """Let a cache have the guests of all tests, and what was compiled."""
    lend(cache, "kernels", "guests", "mechanisms")


@cache
def prepared(kernel: str) -> guest.Guest:
    """Give a guest with this kernel, booted if there is none and read to the end to see that it is whole: once."""
    return guest.Guest(guest.prepare(kernel, lambda _: None).folder.resolve())


def booted(cache: Path, wanted: str | None = None) -> str:
    """Let a cache have the guests of all tests, one with this kernel or the oldest among them; give that kernel."""
    share(cache)
    kernel = wanted or oldest_kernel()
    prepared(kernel)
    return kernel


def run_all(kernel: str, what: Path | str, changes: Sequence[Mapping[str, object]] = ({},)) -> list[dict[str, Any]]:
    """Run a scenario, or its grid, with each of these changes in one guest, and give the records.

    To begin a guest and to get to know the code that it executes takes as long as some seconds of a slow link.
    """
    cells = [cell for each in changes for cell in source_of(what, each).points()]
    outcomes = guest.run_all(prepared(kernel), [(cell, Recording()) for cell in cells], lambda _: None)
    return [{**json.loads(record), "axes": dict(cell.axes)} for cell, (record, _) in zip(cells, outcomes, strict=True)]
