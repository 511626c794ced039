"""One run of an experiment: what it came to, or why it has no result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, get_args

from unbloat.results.rows import Flow, Link, Node, Run
from unbloat.system.legible import count_of

if TYPE_CHECKING:
    import pandas as pd

SEED = "seed"
"""The axis along which runs are repeats."""
Part = Literal["flows", "links", "nodes"]
"""A part of a run that has a table of its own."""
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, repr=False)
class Record:
    """One finished run."""

    axes: dict[str, str]
    """The axes of the sweep with this run's labels; empty without a sweep."""
    run: Run
    """The records, under the names that `unbloat run --json` prints."""
    series: pd.DataFrame | None = field(default=None, compare=False)
    """The samples of its flows, where somebody has asked for them with the records."""

    @property
    def seed(self) -> int:
        """The seed of its draws."""
        return int(self.run["seed"])

    @property
    def point_axes(self) -> dict[str, str]:
        """The axes that its grid point lies on: all but the seed's, along which runs are repeats."""
        return {axis: label for axis, label in self.axes.items() if axis != SEED}

    @property
    def is_sound(self) -> bool:
        """Return whether its numbers can be believed."""
        return bool(self.run["sound"])

    def __repr__(self) -> str:
        labels = [f"{axis}={label}" for axis, label in self.axes.items()]
        repeat = [f"repeat {self.run['repeat']}"] if "repeat" in self.run else []
        parts = [count_of(len(rows_of(self.run, part)), part.removesuffix("s")) for part in PARTS[:2]]
        unsound = [] if self.is_sound else ["unsound"]
        return f"<unbloat.Record of {self.run['scenario']!r}: {', '.join([*labels, *repeat, *parts, *unsound])}>"


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


def rows_of(run: Run, part: Part) -> Sequence[Flow | Link | Node]:
    """Return the rows of a part of a run; a run without a mesh has no nodes."""
    return run.get(part, [])


def scalars(record: Record) -> dict[str, object]:
    """Return a run's own columns, without those of its flows, links and nodes."""
    return {name: value for name, value in record.run.items() if name not in PARTS}


def where_ran(run: Run) -> str:
    """Name the backend of a run, and the kernel's release where one ran."""
    return " ".join(filter(None, (run["on"], run.get("kernel"))))


def flows_by_group(run: Run) -> list[list[Flow]]:
    """List the flows of each group of the scenario, in its order."""
    sizes = run["groups"]
    return [run["flows"][end - size : end] for size, end in zip(sizes, accumulate(sizes), strict=True)]


def never_connected(runs: Sequence[Run]) -> str:
    """Say which flows of a grid point never connected, in a sentence; empty where none is to be named.

    A group counts if none of its flows connected: one of many flows may just begin when a run ends.
    """
    named = [flows for flows in map(_without_connection, runs) if flows]
    if not named:
        return ""
    flows = dict.fromkeys(flow for each in named for flow in each)
    listed = ", ".join(map(str, list(flows)[:MOST_NAMED])) + (", ..." if len(flows) > MOST_NAMED else "")
    subject, whose = (f"flow {listed}", "its") if len(flows) == 1 else (f"flows {listed}", "their")
    often = f" in {len(named)} of {len(runs)} runs" if len(runs) > 1 else ""
    return f"{subject} never connected{often}: the other end did not answer {whose} SYNs"


def _without_connection(run: Run) -> list[int]:
    groups = flows_by_group(run) if "groups" in run else [[flow] for flow in run["flows"]]
    return [
        flow["flow"]
        for group in groups
        if group and all(each.get("connected") is False for each in group)
        for flow in group
    ]


MOST_NAMED = 4
"""Numbers of flows that a sentence lists."""


def place(axes: Mapping[str, str]) -> str:
    """Name a grid point, in brackets before what is said of it."""
    return f"({', '.join(axes.values())}) " if axes else ""


def why_unsound(run: Run) -> str:
    """Return the reason why a run that is not sound is not."""
    why: str | None = run.get("unsound_because")
    return why or "the machine could not keep up"


class UnsoundRun(UserWarning):
    """Some runs are unsound: the machine could not keep up with them, and their numbers mean nothing."""


class IdenticalRepeats(UserWarning):
    """Repeats of a grid point came out the same, because hardly anything in the scenario is random."""
