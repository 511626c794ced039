"""Compares sets of results: two, three, or two labels of one set's axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbloat._core import InputError
from unbloat.comparison import difference, tolerance
from unbloat.comparison.difference import MetricDifference, SweepComparison
from unbloat.comparison.tolerance import (
    Between,
    Compared,
    ComparedCell,
    Criterion,
    KnownReason,
    Perturbed,
    criteria_of,
    read_reasons,
)
from unbloat.results import files
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.cells import CellKey
from unbloat.results.metrics import ALL, METRICS, Metric, metric_named
from unbloat.results.record import Record
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Estimate, Tolerance

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
    """How sets are compared, as `compare` has it."""

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
    is_open = are_meant or is_sweep([*a.records, *b.records])
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
    chosen = Between.parse(between, [*a.records, *b.records])
    first, second = (
        Side(f"{side.name} with {chosen.axis} = {label}", chosen.pick(side.records, number))
        for number, (side, label) in enumerate(zip((a, b), chosen.labels, strict=True))
    )
    return first, second


def is_sweep(records: Sequence[Record]) -> bool:
    """Return whether their repeats were asked for, and so are numbered."""
    return all("repeat" in record.run for record in records)


def _three(sets: Sequence[Side], options: Options) -> tuple[Part, ...]:
    """Compare B with A, and C with B; where a spread is wanted, the third of a cell's values belongs to it."""
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


def dict_of(part: Part) -> dict[str, Any]:
    """Return a comparison as JSON has it."""
    return {
        "cells": [
            {
                **_of_key(cell.place),
                "verdict": cell.verdict if isinstance(cell, ComparedCell) else None,
                "unsound": list(cell.unsound) if isinstance(cell, ComparedCell) else [],
                "metrics": list(metrics_of(cell)),
            }
            for cell in part.cells
        ],
        "only_a": [_of_key(place) for place in part.only[0]],
        "only_b": [_of_key(place) for place in part.only[1]],
        "counts": part.counts(),
    }


def _of_key(place: CellKey) -> dict[str, Any]:
    return {"scenario": place.scenario, "axes": place.axes}


def metrics_of(cell: ComparedCell | difference.CellDifference) -> Iterator[dict[str, Any]]:
    """Yield each metric of a cell, in the same shape however it was compared."""
    if isinstance(cell, ComparedCell):
        for each in cell.compared:
            yield _of_tolerance(each, cell)
    else:
        for metric in cell.metrics:
            yield _of_intervals(metric)


def _of_tolerance(compared: Compared, cell: ComparedCell) -> dict[str, Any]:
    metric = compared.criterion.metric
    return {
        "of": ALL if metric.of == "flow" else cell.link if metric.of == "link" else "run",
        "metric": metric.name,
        "unit": metric.unit,
        "a": vars(compared.a),
        "b": vars(compared.b),
        "difference": vars(compared.difference) if compared.difference else None,
        "ratio": _ratio(compared.a, compared.b),
        "differs": not compared.is_near,
        "spread": compared.spread and vars(compared.spread),
        "reason": compared.reason.text if compared.reason else None,
    }


def _of_intervals(metric: MetricDifference) -> dict[str, Any]:
    return {
        "of": metric.of,
        "metric": metric.name,
        "unit": METRICS[metric.name].unit if metric.name in METRICS else "",
        "a": vars(metric.a),
        "b": vars(metric.b),
        "difference": vars(metric.difference) if metric.difference else None,
        "ratio": _ratio(metric.a, metric.b),
        "differs": metric.exceeds,
        "spread": None,
        "reason": None,
    }


def _ratio(a: Estimate, b: Estimate) -> float | None:
    """Return B over A; None where there is no such ratio."""
    if a.mean is None or b.mean is None:
        return None
    if a.mean == b.mean:
        return 1.0
    return b.mean / a.mean if a.mean else None
