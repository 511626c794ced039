"""One run of an experiment: what it came to, or why it has no result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SEED = "seed"
"""The axis along which runs are repeats."""
PARTS = ("flows", "links")
"""What of a run has rows of its own."""


@dataclass(frozen=True)
class Record:
    """One finished run."""

    axes: dict[str, str]
    """The axes of the sweep with this run's labels; empty without a sweep."""
    run: dict[str, Any]
    """The records, under the names that `unbloat run --json` prints."""

    @property
    def is_sound(self) -> bool:
        """Tell whether its numbers can be believed."""
        return bool(self.run["sound"])


@dataclass(frozen=True)
class Failure:
    """A run without a result."""

    axes: dict[str, str]
    repeat: int
    seed: int
    reason: str
    """In a sentence."""
    scenario: str
    on: str
    """The backend."""
    kernel: str | None = None
    """The kernel's release, where other runs of the experiment tell."""


Outcome = Record | Failure


def scalars(record: Record) -> dict[str, Any]:
    """Give a run's own columns, without those of its flows and links."""
    return {name: value for name, value in record.run.items() if name not in PARTS}


def why_unsound(run: Mapping[str, Any]) -> str:
    """Give the reason why a run that is not sound is not."""
    why: str | None = run.get("unsound_because")
    return why or "the machine could not keep up"


class UnsoundRun(UserWarning):
    """Some runs are unsound: the machine could not keep up with them, and their numbers mean nothing."""


class IdenticalRepeats(UserWarning):
    """Repeats of a cell came out the same, because hardly anything in the scenario is random."""
