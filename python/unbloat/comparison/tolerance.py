"""Two sets of results, held against each other cell by cell.

Runs of both sets belong together when their scenario's name and all labels of their sweep's axes agree; runs that
differ in the seed only are repeats of one cell, and their means are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from unbloat._core import InputError
from unbloat.comparison.reasons import KnownReason
from unbloat.results.cells import CellKey, ResultSet, by_cell, in_both, in_one
from unbloat.results.results import Record, why_unsound

Verdict = Literal["within", "outside", "unsound"]
VERDICTS: tuple[Verdict, ...] = ("within", "outside", "unsound")


# ---------------------------------------------------------------- What is compared, and how near is near


@dataclass(frozen=True)
class Criterion:
    """A metric of a run, and how far two values of it may lie apart."""

    name: str
    head: str
    unit: str
    take: Callable[[Mapping[str, Any]], float | None]
    near: Callable[[float, float, float], bool]
    """Told A's value, B's, and what one packet's time at the bottleneck is, in ms."""
    is_count: bool = False


def within_share(share: float, packets: int = 0) -> Callable[[float, float, float], bool]:
    """Allow a difference of this share of A, or of so many packets' transmission times where that is more."""
    return lambda a, b, packet_ms: abs(b - a) <= max(share * abs(a), packets * packet_ms)


def within_factor(factor: float) -> Callable[[float, float, float], bool]:
    """Allow the greater to be so many times the less."""
    return lambda a, b, _: max(a, b) <= factor * min(a, b)


def _sum(column: str) -> Callable[[Mapping[str, Any]], float]:
    return lambda run: sum(flow[column] for flow in run["flows"])


def _queue_delay(run: Mapping[str, Any]) -> float | None:
    delay: float | None = run["links"][0]["queue_delay_ms_mean"]
    return delay


CRITERIA = (
    Criterion("goodput", "goodput", "Mbit/s", _sum("goodput_mbps"), within_share(0.03)),
    Criterion("queue_delay", "queueing delay", "ms", _queue_delay, within_share(0.10, packets=1)),
    Criterion("losses", "lost", "packets", _sum("lost_packets"), within_factor(1.5), is_count=True),
    Criterion("retransmissions", "resent", "packets", _sum("retransmitted_packets"), within_factor(1.5), is_count=True),
)
GOAL = (
    "goodput within 3 %, mean queueing delay within 10 % or one packet's transmission time, "
    "lost and resent packets within a factor of 1.5"
)


# ---------------------------------------------------------------- Cells


@dataclass(frozen=True)
class Value:
    """A metric over the repeats of a cell; no mean where no run has one."""

    mean: float | None
    least: float | None
    greatest: float | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Value:
        """Sum the repeats up."""
        known = [value for value in values if value is not None]
        return cls(fmean(known), min(known), max(known)) if known else cls(None, None, None)


@dataclass(frozen=True)
class Perturbed:
    """More runs of a side's cells: along an axis that should make no difference, or of the same algorithm elsewhere."""

    words: str
    """Where the two together range: `on A's side`."""
    records: Sequence[Record] = ()


@dataclass(frozen=True)
class PerturbedRange:
    """What a side ranges over with the runs around it."""

    range: Value
    words: str


@dataclass(frozen=True)
class Compared:
    """One criterion of one cell in both sets."""

    criterion: Criterion
    a: Value
    b: Value
    is_near: bool
    spread: PerturbedRange | None = None
    """What one side ranges over, where that comes as near to the other as the goal asks and its own value does not."""
    reason: KnownReason | None = None
    """Why it is not near, where that is known otherwise."""

    @property
    def is_explained(self) -> bool:
        """Tell whether it is known why it is not near."""
        return self.spread is not None or self.reason is not None

    @property
    def change(self) -> float | None:
        """Give B over A; none where there is no such ratio."""
        a, b = self.a.mean, self.b.mean
        if a is None or b is None:
            return None
        if a == b:
            return 1.0
        return b / a if a else math.inf


@dataclass(frozen=True)
class ComparedCell:
    """One cell of both sets."""

    place: CellKey
    repeats: tuple[int, int]
    compared: tuple[Compared, ...]
    unsound: tuple[str, ...]
    """Why runs of it are not to be believed, each with the set that it is of."""

    @property
    def verdict(self) -> Verdict:
        """Judge the cell; what is unsound is neither near nor far."""
        if self.unsound:
            return "unsound"
        return "outside" if self.outside else "within"

    @property
    def outside(self) -> list[Compared]:
        """List the figures that are not near."""
        return [compared for compared in self.compared if not compared.is_near]

    @property
    def is_explained(self) -> bool:
        """Tell whether every criterion that is not near has its reason."""
        return all(compared.is_explained for compared in self.outside)

    @property
    def is_in_spread(self) -> bool:
        """Tell whether one side ranges over what lies between the two."""
        return all(compared.spread for compared in self.outside)


@dataclass(frozen=True)
class Comparison:
    """Everything that two sets have in common, and what they have not."""

    sides: tuple[ResultSet, ResultSet]
    cells: list[ComparedCell]
    only: tuple[list[CellKey], list[CellKey]]
    idle_reasons: list[KnownReason]
    """Reasons to which no cell is outside."""

    def counts(self) -> dict[str, int]:
        """Count the verdicts, and the cells that stand alone."""
        counter = Counter(cell.verdict for cell in self.cells)
        unexplained = sum(cell.verdict == "outside" and not cell.is_explained for cell in self.cells)
        in_spread = sum(cell.verdict == "outside" and cell.is_in_spread for cell in self.cells)
        alone = {"only in A": len(self.only[0]), "only in B": len(self.only[1])}
        return {
            **{verdict: counter[verdict] for verdict in VERDICTS},
            "outside, within the spread": in_spread,
            "outside without a reason": unexplained,
            **alone,
        }

    def agrees(self) -> bool:
        """Tell whether both have the same cells, all sound, and nothing is outside without a reason."""
        counts = self.counts()
        return not any(self.only) and not counts["unsound"] and not counts["outside without a reason"]


# ---------------------------------------------------------------- Comparing


@dataclass(frozen=True)
class Between:
    """Compare one label of an axis in A with another in B."""

    axis: str
    labels: tuple[str, str]

    @classmethod
    def parse(cls, text: str) -> Between:
        """Read `cc=kernel:cubic,cubic`; raises `InputError`."""
        axis, _, labels = text.partition("=")
        a, comma, b = labels.partition(",")
        if not (axis and a and comma and b) or "," in b:
            raise InputError(f"between: {text} is not AXIS=LABEL_A,LABEL_B, such as cc=kernel:cubic,cubic")
        return cls(axis, (a, b))

    def pick(self, records: Iterable[Record], side: int) -> list[Record]:
        """Give the runs with this side's label, without the axis; raises `InputError` if there are none."""
        picked, seen = [], set()
        for record in records:
            axis = axis_named(self.axis, record.axes)
            seen.add(record.axes[axis])
            if record.axes[axis] == self.labels[side]:
                rest = {name: label for name, label in record.axes.items() if name != axis}
                picked.append(Record(rest, record.run))
        if not picked:
            raise InputError(f"between: {self.axis} is never {self.labels[side]}, only {', '.join(sorted(seen))}")
        return picked


def axis_named(name: str, axes: Iterable[str]) -> str:
    """Find an axis by its name or the last part of it; raises `InputError` if that is none or several."""
    names = list(axes)
    found = [axis for axis in names if axis == name] or [axis for axis in names if axis.rpartition(".")[2] == name]
    if len(found) != 1:
        raise InputError(f"{name} names {len(found)} axes of the sweep, which has {', '.join(names) or 'none'}")
    return found[0]


def compare(
    names: tuple[str, str],
    a: Sequence[Record],
    b: Sequence[Record],
    reasons: Sequence[KnownReason] = (),
    around: tuple[Perturbed | None, Perturbed | None] = (None, None),
) -> Comparison:
    """Hold two sets of runs against each other; raises `InputError` if they have nothing in common.

    `around` each of them there may be more runs, whose axes are its own and maybe others; unsound ones say nothing.
    """
    sides = (by_cell(a), by_cell(b))
    both = in_both(names, sides)
    near = [_by_cell(each, both) for each in around]
    cells = [
        _compare_cell(place, (sides[0][place], sides[1][place]), reasons, (near[0][place], near[1][place]))
        for place in both
    ]
    used = {compared.reason for cell in cells for compared in cell.compared}
    return Comparison(
        (ResultSet.of(names[0], a), ResultSet.of(names[1], b)),
        cells,
        in_one(sides),
        [reason for reason in reasons if reason not in used],
    )


def _by_cell(around: Perturbed | None, places: Sequence[CellKey]) -> dict[CellKey, Perturbed | None]:
    """Give each cell the runs around it."""
    if around is None:
        return dict.fromkeys(places)
    others = [(CellKey.of(record), record) for record in around.records if record.run["sound"]]
    cells = {place: [record for where, record in others if place.holds(where)] for place in places}
    if others and not any(cells.values()):
        raise InputError(f"the spread's runs lie in none of the cells: they begin with ({others[0][0]})")
    return {place: Perturbed(around.words, records) for place, records in cells.items()}


def _compare_cell(
    place: CellKey,
    sides: tuple[Sequence[Record], Sequence[Record]],
    reasons: Sequence[KnownReason],
    around: tuple[Perturbed | None, Perturbed | None],
) -> ComparedCell:
    compared = tuple(_compare_figure(criterion, place, sides, reasons, around) for criterion in CRITERIA)
    unsound = [
        f"{name}: {why_unsound(record.run)}"
        for name, side in zip("AB", sides, strict=True)
        for record in side
        if not record.run["sound"]
    ]
    return ComparedCell(place, (len(sides[0]), len(sides[1])), compared, tuple(unsound))


def _compare_figure(
    criterion: Criterion,
    place: CellKey,
    sides: tuple[Sequence[Record], Sequence[Record]],
    reasons: Sequence[KnownReason],
    around: tuple[Perturbed | None, Perturbed | None],
) -> Compared:
    packet_ms = sides[0][0].run.get("packet_ms") or 0.0
    a, b = (_value(criterion, side) for side in sides)
    is_near = a.mean is b.mean if a.mean is None or b.mean is None else criterion.near(a.mean, b.mean, packet_ms)
    if is_near:
        return Compared(criterion, a, b, is_near)
    for own, other, more in ((a, b, around[0]), (b, a, around[1])):
        if more and (spread := _spread(criterion, own, other, more, packet_ms)):
            return Compared(criterion, a, b, is_near, spread)
    reason = next((each for each in reasons if each.matches(place.scenario, place.axes, criterion.name)), None)
    return Compared(criterion, a, b, is_near, reason=reason)


def _value(criterion: Criterion, records: Sequence[Record]) -> Value:
    return Value.of([criterion.take(record.run) for record in records])


def _spread(
    criterion: Criterion, own: Value, other: Value, around: Perturbed, packet_ms: float
) -> PerturbedRange | None:
    """Give the range of a side with the runs around it, if it comes near the other."""
    more = _value(criterion, around.records)
    whole = Value.of([own.least, own.greatest, more.least, more.greatest])
    if whole.least is None or whole.greatest is None or other.mean is None:
        return None
    nearest = min(max(other.mean, whole.least), whole.greatest)
    return PerturbedRange(whole, around.words) if criterion.near(nearest, other.mean, packet_ms) else None
