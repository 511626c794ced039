"""Several sets of results, read as one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from unbloat.results.record import Outcome, Record
from unbloat.results.repeats import content, where

SET = "results"
"""The axis that tells sets apart whose runs are not repeats of each other."""


def together(sets: Mapping[str, Sequence[Outcome]]) -> list[Outcome]:
    """Put sets together, which have names; runs that are in several count once.

    Runs of the same cell and seed with other numbers are no repeats, but of a scenario that was changed: then every run
    has the name of its set as a label of a further axis.
    """
    once: list[tuple[str, Outcome]] = []
    seen: dict[Hashable, set[Hashable]] = {}
    for name, outcomes in sets.items():
        for outcome in outcomes:
            if isinstance(outcome, Record):
                place = (where(outcome), outcome.run["seed"], tuple(sorted(outcome.axes.items())))
                known = seen.setdefault(place, set())
                if (numbers := content(outcome)) in known:
                    continue
                known.add(numbers)
            once.append((name, outcome))
    if all(len(known) == 1 for known in seen.values()):
        return [outcome for _, outcome in once]
    return [replace(outcome, axes={**outcome.axes, SET: name}) for name, outcome in once]
