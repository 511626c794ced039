"""Sets of results: where their cells lie, and what two sets have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unbloat._core import InputError
from unbloat.results.record import Record


@dataclass(frozen=True)
class CellKey:
    """Where a cell lies: its scenario and the labels of the axes."""

    scenario: str
    labels: frozenset[tuple[str, str]]
    order: tuple[str, ...] = field(compare=False)
    """The axes as the file has them; two files may differ in that."""

    @classmethod
    def of(cls, record: Record) -> CellKey:
        """Return the key of a run's cell."""
        axes = record.cell_axes
        return cls(record.run["scenario"], frozenset(axes.items()), tuple(axes))

    @property
    def axes(self) -> dict[str, str]:
        """Return the label of every axis."""
        labels = dict(self.labels)
        return {axis: labels[axis] for axis in self.order}

    def holds(self, other: CellKey) -> bool:
        """Return whether the other lies here, whatever axes it has besides."""
        return self.scenario == other.scenario and self.labels <= other.labels

    def __str__(self) -> str:
        labels = ", ".join(self.axes.values())
        return f"{self.scenario}: {labels}" if labels else self.scenario


RunsByCell = dict[CellKey, list[Record]]
"""The runs of a set by their places."""


def by_cell(records: Sequence[Record]) -> RunsByCell:
    """Sort runs by their places."""
    places: RunsByCell = {}
    for record in records:
        places.setdefault(CellKey.of(record), []).append(record)
    return places


@dataclass(frozen=True)
class ResultSet:
    """One of the sets."""

    name: str
    on: str
    """Where its runs ran."""
    kernel: str
    """Whose TCP it was; empty for the simulator's."""

    @classmethod
    def of(cls, name: str, records: Sequence[Record]) -> ResultSet:
        """Describe a set."""
        on = dict.fromkeys(record.run["on"] for record in records)
        kernels = dict.fromkeys(filter(None, (record.run.get("kernel") for record in records)))
        return cls(name, ", ".join(on), ", ".join(kernels))

    def __str__(self) -> str:
        return f"{self.name} ({' '.join(filter(None, (self.on, self.kernel)))})"


def in_both(names: tuple[str, str], sides: tuple[RunsByCell, RunsByCell]) -> list[CellKey]:
    """List the places that two sets have in common; raises `InputError` if there are none."""
    both = [place for place in sides[0] if place in sides[1]]
    if not both:
        first = [next(iter(side), "nothing") for side in sides]
        raise InputError(
            f"{names[0]} and {names[1]} have no cell in common: "
            f"the first begins with ({first[0]}), the second with ({first[1]})"
        )
    return both


def in_one(sides: tuple[RunsByCell, RunsByCell]) -> tuple[list[CellKey], list[CellKey]]:
    """List the places that only the first has, and those that only the second has."""
    a, b = sides
    return [place for place in a if place not in b], [place for place in b if place not in a]
