"""Checks scenarios without running them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unbloat.runs import experiment
from unbloat.scenario.checks import On, backend_named
from unbloat.scenario.chosen import Control, Time, chosen_source
from unbloat.system.paths import ALGORITHMS


def check(
    source: str | Path | Mapping[str, Any],
    overrides: Mapping[str, object] | None = None,
    *,
    on: On = "simulator",
    cc: Control | Sequence[Control] | None = None,
    receiver: Control | Sequence[Control] | None = None,
    rtt: Time | Sequence[Time] | None = None,
    duration: Time | None = None,
) -> list[str]:
    """Check a scenario, every cell of its sweep, without running it.

    Parameters
    ----------
    source, overrides, on, cc, receiver, rtt, duration
        As in `unbloat.run`.

    Returns
    -------
    list of str
        Settings that are allowed but probably not meant, a sentence each.

    Raises
    ------
    InputError
        If the scenario is wrong, or asks for something that `on` does not have. Every mistake of the scenario is in
        it, with line and key.

    Examples
    --------
    >>> ub.check("home-dsl", {"link.bottleneck.rate": "2mbit"}, on="vm")

    """
    backend = backend_named(on)
    chosen = chosen_source(source, overrides, cc, None, rtt, duration, receiver)
    with chosen.placing_errors():
        cells = chosen.cells()
        for cell in cells:
            experiment.check(cell, backend)
            if backend != "simulator":
                cell.objects(ALGORITHMS)
    return list(dict.fromkeys(doubt for cell in cells for doubt in cell.doubts))
