"""Compares sets of results: two, three, or two labels of one set's axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from unbloat._core import InputError
from unbloat.comparison import difference, tolerance
from unbloat.comparison.difference import MetricDifference, SweepComparison
from unbloat.comparison.tolerance import (
    Compared,
    ComparedPoint,
    Criterion,
    KnownReason,
    Perturbed,
    criteria_of,
    read_reasons,
)
from unbloat.results import files
from unbloat.results.axes import axis_named
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.grid_points import PointKey
from unbloat.results.metrics import ALL, METRICS, Metric, metric_named
from unbloat.results.record import Record
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Tolerance

Source = RunSet | str | Path
"""Results, or a file or folder of them."""
Part = tolerance.Comparison | SweepComparison


# ---------------------------------------------------------------- What is compared


@dataclass(frozen=True)
class Side:
    """A set with its name."""

    name: str
    records: list[Record]

    @classmethod
    def of(cls, source: Source) -> Side:
        """Read a set, if it has to be."""
        if isinstance(source, RunSet):
            scenarios = dict.fromkeys(str(record.run["scenario"]) for record in source)
            return cls(", ".join(scenarios), source.records)
        return cls(str(source), files.read(Path(source)))


@dataclass(frozen=True)
class Options:
    """Ways of comparing sets, as `compare` has them."""

    spread: Source | None
    reasons: Path | None
    between: str | None
    tolerance: Mapping[str, Tolerance] | None
    metrics: Sequence[str]

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The metrics that are compared within tolerances."""
        every = {criterion.name: criterion for criterion in criteria_of(self.tolerance)}
        wanted = [metric.key for metric in self.shown] or list(every)
        if unknown := [key for key in wanted if key not in every]:
            raise InputError(f"metrics: {unknown[0]} has no tolerance here: give one, such as {unknown[0]}=5%")
        return tuple(every[key] for key in wanted)

    @property
    def shown(self) -> tuple[Metric, ...]:
        """The metrics that are laid out; none for the usual ones."""
        return tuple(metric_named(name) for name in self.metrics)

    def known_reasons(self) -> list[KnownReason]:
        """Read the reasons."""
        return read_reasons(self.reasons, [each.name for each in self.criteria]) if self.reasons else []


def parts_of(sets: Sequence[Side], options: Options) -> tuple[Part, ...]:
    """Compare B with A, and where there is a third set C with B."""
    return _three(sets, options) if len(sets) > 2 else _two(sets, options)


def _two(sets: Sequence[Side], options: Options) -> tuple[Part, ...]:
    if options.between and options.spread:
        raise InputError("between and spread do not go together: the spread's runs are one set, not two")
    a, b = _sides(sets, options.between)
    names = (a.name, b.name)
    are_meant = options.between is not None and len(sets) == 1
    are_numbered = all("repeat" in record.run for record in [*a.records, *b.records])  # Their repeats were asked for.
    is_open = are_meant or are_numbered
    if is_open and not (options.reasons or options.spread or options.tolerance):
        return (difference.compare(names, a.records, b.records, options.shown),)
    around = _perturbed(options, a.records, b.records)
    why = options.known_reasons()
    return (tolerance.compare(names, a.records, b.records, why, around, options.criteria),)


def _sides(sets: Sequence[Side], between: str | None) -> tuple[Side, Side]:
    """Return the two sides of the comparison: B and A, or one label and the other."""
    if len(sets) == 1 and not between:
        raise InputError("compare needs two sets of results, or one and an axis with two of its labels (--between)")
    a, b = sets[0], sets[-1]
    if not between:
        return a, b
    axis, labels = _between(between, [*a.records, *b.records])
    first, second = (
        Side(f"{side.name} with {axis} = {label}", _with_label(axis, label, side.records))
        for side, label in zip((a, b), labels, strict=True)
    )
    return first, second


def _between(text: str, records: Sequence[Record]) -> tuple[str, tuple[str, str]]:
    """Read `cc=kernel:cubic,cubic`, or the name of an axis with two labels; raises `InputError`."""
    axis, equals, labels = text.partition("=")
    if axis and not equals:
        name = axis_named(axis, dict.fromkeys(axis for record in records for axis in record.axes))
        known = list(dict.fromkeys(record.axes[name] for record in records if name in record.axes))
        if len(known) != 2:
            raise InputError(f"between: {axis} has {len(known)} labels: name two, as {axis}={','.join(known[:2])}")
        return axis, (known[0], known[1])
    a, comma, b = labels.partition(",")
    if not (axis and a and comma and b) or "," in b:
        raise InputError(f"between: {text} is not AXIS=LABEL_A,LABEL_B, such as cc=kernel:cubic,cubic")
    return axis, (a, b)


def _with_label(name: str, label: str, records: Sequence[Record]) -> list[Record]:
    """Return the runs with a label, without that axis; raises `InputError` if there are none."""
    axis = axis_named(name, dict.fromkeys(axis for record in records for axis in record.axes))
    labels = {record.axes[axis] for record in records if axis in record.axes}
    if label not in labels:
        raise InputError(f"between: {name} is never {label}, only {', '.join(sorted(labels))}")
    return [
        Record({other: each for other, each in record.axes.items() if other != axis}, record.run)
        for record in records
        if record.axes.get(axis) == label
    ]


def _three(sets: Sequence[Side], options: Options) -> tuple[Part, ...]:
    """Compare B with A, and C with B; where a spread is wanted, the third of a grid point's values belongs to it."""
    if options.between:
        raise InputError("compare takes one set of results or two with `between`, not three")
    a, b, c = (side.records for side in sets)
    names, why, criteria = [side.name for side in sets], options.known_reasons(), options.criteria
    beside_b = Perturbed("in A and B", [*a, *Side.of(options.spread).records]) if options.spread else None
    links = Bottlenecks.of([*a, *b, *c])
    first = tolerance.compare((names[0], names[1]), a, b, why, _perturbed(options, a, b, c), criteria, links)
    second = tolerance.compare((names[1], names[2]), b, c, why, (beside_b, None), criteria, links)
    return first, second


def _perturbed(
    options: Options, a: Sequence[Record], b: Sequence[Record], c: Sequence[Record] = ()
) -> tuple[Perturbed | None, Perturbed | None]:
    """Return the perturbed runs on A's backend, and those on B's if that is another; C counts as B's."""
    if not options.spread:
        return None, None
    perturbed = Side.of(options.spread).records
    in_a, in_b = ({record.run["on"] for record in side} for side in (a, b))
    beside_a = [record for record in perturbed if record.run["on"] in in_a]
    beside_b = [record for record in perturbed if record.run["on"] in in_b - in_a]
    return Perturbed("on A's side", beside_a), Perturbed("on B's side", [*beside_b, *c])


# ---------------------------------------------------------------- JSON


class MetricRow(TypedDict):
    """One metric of one grid point, however it was compared."""

    of: str
    metric: str
    unit: str
    a: dict[str, float | None]
    b: dict[str, float | None]
    difference: dict[str, float | None] | None
    ratio: float | None
    differs: bool | None
    spread: dict[str, object] | None
    reason: str | None


def dict_of(part: Part) -> dict[str, object]:
    """Return a comparison as JSON has it."""
    return {
        "grid_points": [
            {
                **_of_key(point.place),
                "verdict": point.verdict if isinstance(point, ComparedPoint) else None,
                "unsound": list(point.unsound) if isinstance(point, ComparedPoint) else [],
                "metrics": list(metrics_of(point)),
            }
            for point in part.points
        ],
        "only_a": [_of_key(place) for place in part.only[0]],
        "only_b": [_of_key(place) for place in part.only[1]],
        "counts": part.counts(),
    }


def _of_key(place: PointKey) -> dict[str, object]:
    return {"scenario": place.scenario, "axes": place.axes}


def metrics_of(point: ComparedPoint | difference.PointDifference) -> Iterator[MetricRow]:
    """Yield each metric of a grid point."""
    if not isinstance(point, ComparedPoint):
        yield from (_row(each, each.of, METRICS[each.name], each.exceeds) for each in point.metrics)
        return
    for each in point.compared:
        metric = each.criterion.metric
        of = ALL if metric.of == "flow" else point.link if metric.of == "link" else "run"
        row = _row(each, of, metric, not each.is_near)
        row["spread"] = vars(each.spread) if each.spread else None
        row["reason"] = each.reason.text if each.reason else None
        yield row


def _row(each: Compared | MetricDifference, of: str, metric: Metric, differs: bool | None) -> MetricRow:
    a, b = each.a.mean, each.b.mean
    ratio = None if a is None or b is None else 1.0 if a == b else b / a if a else None
    return {
        "of": of,
        "metric": metric.name,
        "unit": metric.unit,
        "a": vars(each.a),
        "b": vars(each.b),
        "difference": vars(each.difference) if each.difference else None,
        "ratio": ratio,
        "differs": differs,
        "spread": None,
        "reason": None,
    }
