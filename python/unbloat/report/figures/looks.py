"""What looks stand for: the axis that is compared has colours, the next one dashes, the others panels of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbloat._core import InputError
from unbloat.report.figures.values import axes_of
from unbloat.results.record import Record

if TYPE_CHECKING:
    from unbloat.results.run_set import RunSet

COMPARED = ("cc", "receiver", "classifier")
"""Axes that sweeps are made for, by the last words of their names, wherever they stand among the others."""
MOST_PANELS = 12
"""More panels than this for one quantity are too many for a picture."""


def short_name(axis: str) -> str:
    """Name an axis by its last word; by the last two where that says too little alone."""
    parts = [part for part in axis.split(".") if not part.isdigit() and part != "*"]
    return " ".join(parts[-2:]) if parts[-1] in ("limit", "kind", "target", "rate", "delay") else parts[-1]


def ordered(records: Sequence[Record], without: Sequence[str] = ()) -> list[str]:
    """List the axes with several labels, the one that is compared first."""
    axes = [axis for axis in axes_of(records) if axis not in without]
    return sorted(axes, key=lambda axis: axis.rpartition(".")[2] not in COMPARED)


@dataclass(frozen=True)
class Looks:
    """The colours and dashes of a picture's cells and groups of flows, the same in each of its panels."""

    axis: str | None
    """That of the colours; None where they are those of groups."""
    others: tuple[str, ...]
    """The axes of the dashes."""
    hues: list[str]
    """What has a colour of its own, in their order."""
    dashes: list[str]

    @classmethod
    def of(
        cls,
        whole: Sequence[Record],
        part: Sequence[Record] | None = None,
        groups: Sequence[str] = ("",),
        without: Sequence[str] = (),
    ) -> Looks:
        """Assign looks by all records of a picture to those of a panel, whose records may lack some axes."""
        there = {axis for record in part or whole for axis in record.cell_axes}
        axes = [axis for axis in ordered(whole, without) if axis in there]
        if not axes:
            return cls(None, (), list(groups), [""])
        axis, rest = axes[0], tuple(axes[1:])
        hues = dict.fromkeys(record.cell_axes.get(axis, "") for record in whole)
        dashes = dict.fromkeys(_joined(record.cell_axes, rest, group) for record in whole for group in groups)
        return cls(axis, rest, list(hues), list(dashes))

    def look(self, axes: Mapping[str, str], group: str = "") -> tuple[int, int]:
        """Return the numbers of the colour and of the dashes of a group of flows in a cell."""
        if self.axis is None:
            return self.hues.index(group) if group in self.hues else 0, 0
        return self.hues.index(axes.get(self.axis, "")), self.dashes.index(_joined(axes, self.others, group))

    @property
    def are_several(self) -> bool:
        """Return whether there is anything to tell apart."""
        return len(self.hues) > 1 or len(self.dashes) > 1

    @property
    def are_two(self) -> bool:
        """Return whether colours and dashes both tell something apart."""
        return len(self.hues) > 1 and len(self.dashes) > 1


def _joined(axes: Mapping[str, str], names: Sequence[str], group: str) -> str:
    return " ".join(filter(None, [*(axes.get(name, "") for name in names), group]))


# ---------------------------------------------------------------- Small multiples


def panel_axes(records: Sequence[Record], groups: Sequence[str], without: Sequence[str] = ()) -> list[str]:
    """List the axes that neither colours nor dashes have room for: groups of flows take the dashes."""
    return ordered(records, without)[1 if len(groups) > 1 else 2 :]


def parts(kind: str, results: RunSet, axes: Sequence[str]) -> list[tuple[str, RunSet]]:
    """Part results by their labels on some axes; each part has a title, and lacks these axes."""
    if not axes:
        return [("", results)]
    found: dict[str, list[int]] = {}
    for number, record in results.by_number.items():
        labels = [record.cell_axes.get(axis, "") for axis in axes]
        title = f"{short_name(axes[0])} {labels[0]}" if len(axes) == 1 else ", ".join(labels)
        found.setdefault(title, []).append(number)
    if len(found) > MOST_PANELS:
        raise InputError(
            f"{kind}: {', '.join(axes)} would take {len(found)} panels, and {MOST_PANELS} have room in a picture: "
            "pick some of their labels with --only (RunSet.only)"
        )
    return [(title, results.part(numbers, without=axes)) for title, numbers in found.items()]
