"""Two sets of results, compared grid point by grid point within tolerances; known reasons for what lies outside them.

Runs of both sets belong together when their scenario's name and all labels of their sweep's axes agree. Runs that
differ only in the seed are repeats of one grid point; the comparison uses their means.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from unbloat._core import InputError
from unbloat.results.bottleneck import NO_LINKS, Bottlenecks
from unbloat.results.grid_points import PointKey, ResultSet, by_point, in_both, in_one
from unbloat.results.metrics import BY_KEY, MEAN, Metric, is_ahead, metric_named
from unbloat.results.record import Record, why_unsound
from unbloat.results.rows import Run
from unbloat.results.statistics import NEAR, Difference, Estimate, Near, Tolerance, difference, estimate

Verdict = Literal["within", "outside", "unsound"]
VERDICTS: tuple[Verdict, ...] = ("within", "outside", "unsound")


# ---------------------------------------------------------------- What is compared


@dataclass(frozen=True)
class Criterion:
    """A metric of a run, and how far two values of it may lie apart."""

    metric: Metric
    near: Near
    bottlenecks: Bottlenecks = NO_LINKS
    """Which link a metric of links is taken of."""

    @property
    def name(self) -> str:
        """The metric's short name."""
        return self.metric.key

    @property
    def head(self) -> str:
        """The metric's heading in tables."""
        return self.bottlenecks.heading(self.metric)

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return self.metric.unit

    @property
    def is_count(self) -> bool:
        """Return whether the metric is a number of packets, which may be zero."""
        return self.metric.unit == "packets" and self.metric.fold is not MEAN

    def take(self, run: Run) -> float | None:
        """Take the metric of a run: of all its flows together, or of its bottleneck."""
        return self.bottlenecks.take(run, self.metric, run["flows"])


CRITERIA = tuple(Criterion(BY_KEY[key], NEAR[key]) for key in ("goodput", "queue_delay", "losses", "retransmissions"))


def criteria_of(tolerance: Mapping[str, Tolerance] | None) -> tuple[Criterion, ...]:
    """Return the usual criteria with the given tolerances, then those of further metrics; raises `InputError`."""
    near = {criterion.name: criterion.near for criterion in CRITERIA}
    for name, value in (tolerance or {}).items():
        try:
            metric = metric_named(name)
        except InputError as error:
            raise InputError(f"tolerance: {error}") from None
        near[metric.key] = Near.parse(name, value, near.get(metric.key))
    return tuple(Criterion(BY_KEY[key], each) for key, each in near.items())


def tolerances(criteria: Sequence[Criterion]) -> str:
    """Say how near is near."""
    words: dict[str, list[str]] = {}
    for criterion in criteria:
        words.setdefault(str(criterion.near), []).append(criterion.head)
    return ", ".join(f"{' and '.join(heads)} {near}" for near, heads in words.items())


# ---------------------------------------------------------------- Reasons


@dataclass(frozen=True)
class KnownReason:
    """Why figures of some grid points lie apart."""

    text: str
    at: tuple[tuple[str, tuple[str, ...]], ...]
    """Per axis (its name, or the last part of it) the labels that are meant, with * and ? as in file names."""
    figures: tuple[str, ...]
    """The figures that are meant; all if empty."""
    scenario: str
    """The scenarios that are meant, as a pattern."""

    def matches(self, scenario: str, axes: Mapping[str, str], figure: str) -> bool:
        """Return whether it is about this figure of this grid point."""
        return (
            fnmatch.fnmatchcase(scenario, self.scenario)
            and (not self.figures or figure in self.figures)
            and all(_lies_on(axes, axis, labels) for axis, labels in self.at)
        )


def _lies_on(axes: Mapping[str, str], name: str, labels: Sequence[str]) -> bool:
    return any(
        fnmatch.fnmatchcase(label, pattern)
        for axis, label in axes.items()
        if name in (axis, axis.rpartition(".")[2])
        for pattern in labels
    )


def read_reasons(file: Path, figures: Sequence[str]) -> list[KnownReason]:
    """Read a file of reasons about these figures; raises `InputError` with the file and the number of the reason."""
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("reasons")
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file}: {error}") from None
    if not isinstance(entries, list):
        raise InputError(
            f"{file}: holds no [[reasons]], each with `text` and, where it is about some grid points only, `at`"
        )
    return [_reason(entry, f"{file}: reason {number}", figures) for number, entry in enumerate(entries, 1)]


def _reason(entry: Mapping[str, object], where: str, figures: Sequence[str]) -> KnownReason:
    known = ("text", "at", "figures", "scenario")
    if unknown := [key for key in entry if key not in known]:
        raise InputError(f"{where}: unknown key `{unknown[0]}`; valid: {', '.join(known)}")
    text = entry.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: `text` must say why, in a string")
    chosen = entry.get("figures", [])
    if not isinstance(chosen, list) or any(figure not in figures for figure in chosen):
        raise InputError(f"{where}: `figures` must be a list of {', '.join(figures)}")
    at = entry.get("at", {})
    if not isinstance(at, dict):
        raise InputError(f"{where}: `at` must be a table of axes and their labels, such as {{ cc = 'vegas' }}")
    places = tuple((axis, _labels(labels, f"{where}: at.{axis}")) for axis, labels in at.items())
    return KnownReason(" ".join(text.split()), places, tuple(chosen), str(entry.get("scenario", "*")))


def _labels(labels: object, where: str) -> tuple[str, ...]:
    labels = [labels] if isinstance(labels, str) else labels
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{where}: must be a label or a list of labels, as strings")
    return tuple(labels)


# ---------------------------------------------------------------- Grid points


@dataclass(frozen=True)
class Perturbed:
    """More runs of a side's grid points: along an axis that should make no difference, or elsewhere."""

    words: str
    """Where the two together range: `on A's side`."""
    records: Sequence[Record] = ()


@dataclass(frozen=True)
class PerturbedRange:
    """The range of a side together with the runs around it."""

    least: float
    greatest: float
    words: str


@dataclass(frozen=True)
class Compared:
    """One criterion of one grid point in both sets."""

    criterion: Criterion
    a: Estimate
    b: Estimate
    difference: Difference | None
    """None where a side has no value."""
    is_near: bool
    spread: PerturbedRange | None = None
    """The range of one side, where that is within the tolerance of the other and its own value is not."""
    reason: KnownReason | None = None
    """Why it is not near, where that is known otherwise."""

    @property
    def is_explained(self) -> bool:
        """Return whether it is known why it is not near."""
        return self.spread is not None or self.reason is not None


@dataclass(frozen=True)
class ComparedPoint:
    """One grid point of both sets."""

    place: PointKey
    link: str
    """The name of its bottleneck."""
    compared: tuple[Compared, ...]
    is_ahead: bool
    """True if a flow has more goodput than throughput, which needs an explanation."""
    unsound: tuple[str, ...]
    """Why runs of it are not to be believed, each with the set that it is of."""

    @property
    def verdict(self) -> Verdict:
        """Judge the grid point; an unsound grid point is neither near nor far."""
        if self.unsound:
            return "unsound"
        return "outside" if self.outside else "within"

    @property
    def outside(self) -> list[Compared]:
        """List the figures that are not near."""
        return [compared for compared in self.compared if not compared.is_near]

    @property
    def is_explained(self) -> bool:
        """Return whether every criterion that is not near has its reason."""
        return all(compared.is_explained for compared in self.outside)

    @property
    def is_in_spread(self) -> bool:
        """Return whether one side ranges over what lies between the two."""
        return all(compared.spread for compared in self.outside)


@dataclass(frozen=True)
class Comparison:
    """Everything that two sets have in common, and what they have not."""

    sides: tuple[ResultSet, ResultSet]
    points: list[ComparedPoint]
    only: tuple[list[PointKey], list[PointKey]]
    idle_reasons: list[KnownReason]
    """Reasons to which no grid point is outside."""
    criteria: tuple[Criterion, ...] = CRITERIA

    @property
    def is_within(self) -> bool:
        """Return whether both have the same grid points, each sound and within the tolerances or known not to be."""
        return not any(self.only) and all(
            point.verdict == "within" or (not point.unsound and point.is_explained) for point in self.points
        )

    def counts(self) -> dict[str, int]:
        """Count the verdicts, and the grid points of one set only."""
        counter = Counter(point.verdict for point in self.points)
        unexplained = sum(point.verdict == "outside" and not point.is_explained for point in self.points)
        in_spread = sum(point.verdict == "outside" and point.is_in_spread for point in self.points)
        alone = {"only in A": len(self.only[0]), "only in B": len(self.only[1])}
        return {
            **{verdict: counter[verdict] for verdict in VERDICTS},
            "outside, within the spread": in_spread,
            "outside without a reason": unexplained,
            **alone,
        }


# ---------------------------------------------------------------- Comparing


def compare(
    names: tuple[str, str],
    a: Sequence[Record],
    b: Sequence[Record],
    reasons: Sequence[KnownReason] = (),
    around: tuple[Perturbed | None, Perturbed | None] = (None, None),
    criteria: tuple[Criterion, ...] = CRITERIA,
    bottlenecks: Bottlenecks | None = None,
) -> Comparison:
    """Compare two sets of runs; raises `InputError` if they have nothing in common.

    `around` each of them there may be more runs, whose axes are its own and maybe others; unsound ones say nothing.
    `bottlenecks` are by default those of both sets together.
    """
    bottlenecks = bottlenecks or Bottlenecks.of([*a, *b])
    criteria = tuple(replace(criterion, bottlenecks=bottlenecks) for criterion in criteria)
    sides = (by_point(a), by_point(b))
    both = in_both(names, sides)
    near = [_by_point(each, both) for each in around]
    points = [
        _compare_point(place, (sides[0][place], sides[1][place]), reasons, (near[0][place], near[1][place]), criteria)
        for place in both
    ]
    used = {compared.reason for point in points for compared in point.compared}
    return Comparison(
        (ResultSet.of(names[0], a), ResultSet.of(names[1], b)),
        points,
        in_one(sides),
        [reason for reason in reasons if reason not in used],
        criteria,
    )


def _by_point(around: Perturbed | None, places: Sequence[PointKey]) -> dict[PointKey, Perturbed | None]:
    """Map each grid point to its perturbed runs."""
    if around is None:
        return dict.fromkeys(places)
    others = [(PointKey.of(record), record) for record in around.records if record.run["sound"]]
    points = {place: [record for where, record in others if place.holds(where)] for place in places}
    if others and not any(points.values()):
        raise InputError(
            f"no run of the spread belongs to a grid point of A or B; its first run is of ({others[0][0]})"
        )
    return {place: Perturbed(around.words, records) for place, records in points.items()}


def _compare_point(
    place: PointKey,
    sides: tuple[Sequence[Record], Sequence[Record]],
    reasons: Sequence[KnownReason],
    around: tuple[Perturbed | None, Perturbed | None],
    criteria: Sequence[Criterion],
) -> ComparedPoint:
    compared = tuple(_compare_figure(criterion, place, sides, reasons, around) for criterion in criteria)
    unsound = [
        f"{name}: {why_unsound(record.run)}"
        for name, side in zip("AB", sides, strict=True)
        for record in side
        if not record.run["sound"]
    ]
    return ComparedPoint(
        place=place,
        link=criteria[0].bottlenecks.link(sides[0][0].run).get("link", ""),
        compared=compared,
        is_ahead=any(is_ahead(record.run) for side in sides for record in side),
        unsound=tuple(unsound),
    )


def _compare_figure(
    criterion: Criterion,
    place: PointKey,
    sides: tuple[Sequence[Record], Sequence[Record]],
    reasons: Sequence[KnownReason],
    around: tuple[Perturbed | None, Perturbed | None],
) -> Compared:
    packet_ms = sides[0][0].run.get("packet_ms") or 0.0
    a, b = (_value(criterion, side) for side in sides)
    between = difference(*({record.run["seed"]: criterion.take(record.run) for record in side} for side in sides))
    is_near = a.mean is b.mean if a.mean is None or b.mean is None else criterion.near(a.mean, b.mean, packet_ms)
    if is_near:
        return Compared(criterion, a, b, between, is_near)
    for own, other, more in ((a, b, around[0]), (b, a, around[1])):
        if more and (spread := _spread(criterion, own, other, more, packet_ms)):
            return Compared(criterion, a, b, between, is_near, spread)
    reason = next((each for each in reasons if each.matches(place.scenario, place.axes, criterion.name)), None)
    return Compared(criterion, a, b, between, is_near, reason=reason)


def _value(criterion: Criterion, records: Sequence[Record]) -> Estimate:
    return estimate(criterion.take(record.run) for record in records)


def _spread(
    criterion: Criterion, own: Estimate, other: Estimate, around: Perturbed, packet_ms: float
) -> PerturbedRange | None:
    """Return the range of a side and its perturbed runs, if that range comes within tolerance of the other side."""
    more = _value(criterion, around.records)
    whole = estimate([own.least, own.greatest, more.least, more.greatest])
    if whole.least is None or whole.greatest is None or other.mean is None:
        return None
    nearest = min(max(other.mean, whole.least), whole.greatest)
    if not criterion.near(nearest, other.mean, packet_ms):
        return None
    return PerturbedRange(whole.least, whole.greatest, around.words)
