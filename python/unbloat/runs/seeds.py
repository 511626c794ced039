"""The seeds of a sweep's repeats.

A seed is a hash of the grid point's own settings, whatever else is in the grid. New values, new axes and more repeats
leave every other run as it was. Congestion controls and their parameters do not count, so all congestion controls meet
the same luck in the same other settings. The n-th packet that reaches the wire is lost for each of them or for none,
because each link has its own draws. Their differences, run by run, are then free of that luck, so far fewer repeats
suffice. These are common random numbers (Law, Simulation Modeling and Analysis, chapter 11).
"""

from __future__ import annotations

import hashlib
import json

from unbloat import _core
from unbloat._core import InputError

BITS = 48
"""Few enough for a JSON number to hold exactly, enough for repeats never to meet."""


def seed_of(point: _core.GridPoint, repeat: int) -> int:
    """Return the seed of a grid point's repeat, counted from 1; it depends on the scenario's own seed."""
    text = json.dumps([json.loads(point.settings()), repeat], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[: BITS // 8], "big")


def repeats_of(point: _core.GridPoint, count: int) -> list[tuple[_core.GridPoint, int]]:
    """Return `count` repeats of a grid point, each with its number; raises `InputError` if the seed is an axis."""
    if "seed" in dict(point.axes):
        raise InputError(
            f"{point.locate('seed')}: a sweep with repeats draws its own seeds; remove this axis and use --repeat, "
            "or run the listed seeds with `unbloat run`"
        )
    return [(point.seeded(seed_of(point, number)), number) for number in range(1, count + 1)]
