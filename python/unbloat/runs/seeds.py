"""The seeds of a sweep's repeats.

A seed is a hash of what the cell comes to, whatever else is in the grid: a new value on an axis, a new axis, more
repeats leave every other run as it was. The congestion controls and their parameters do not count, so that all controls
meet the same luck in the same other settings: the n-th packet that reaches the wire is lost for each of them or for
none (a link's draws are its own). Their differences, run by run, are then free of that luck, and far fewer repeats tell
them apart (common random numbers; Law, Simulation Modeling and Analysis, chapter 11).
"""

from __future__ import annotations

import hashlib
import json

from unbloat import _core
from unbloat._core import InputError

BITS = 48
"""Few enough for a JSON number to hold exactly, enough for repeats never to meet."""


def seed_of(cell: _core.Cell, repeat: int) -> int:
    """Return the seed of a cell's repeat, counted from 1; another seed in the scenario leads to other seeds here."""
    text = json.dumps([json.loads(cell.settings()), repeat], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[: BITS // 8], "big")


def repeats_of(cell: _core.Cell, count: int) -> list[tuple[_core.Cell, int]]:
    """Return `count` repeats of a cell, each with its number; raises `InputError` if the seed is an axis."""
    if "seed" in dict(cell.axes):
        raise InputError(
            f"{cell.locate('seed')}: a sweep with repeats draws its own seeds; remove this axis and use --repeat, "
            "or run the listed seeds with `unbloat run`"
        )
    return [(cell.seeded(seed_of(cell, number)), number) for number in range(1, count + 1)]
