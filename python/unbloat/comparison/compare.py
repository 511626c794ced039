"""Compares sets of results that were written to files: two, three, or two labels of one set's axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unbloat._core import InputError
from unbloat.comparison import difference, difference_report, reasons, three_way_report, tolerance, tolerance_report
from unbloat.comparison.difference import SweepComparison
from unbloat.comparison.reasons import KnownReason
from unbloat.comparison.tolerance import CRITERIA, Between, Comparison, Perturbed
from unbloat.report.report import Report
from unbloat.results import files
from unbloat.results.results import Record


@dataclass(frozen=True)
class ThreeWay:
    """Three sets: B against A, and C against B."""

    first: Comparison
    second: Comparison


def compare(
    a: str | Path,
    b: str | Path | None = None,
    c: str | Path | None = None,
    *,
    between: str | None = None,
    spread: str | Path | None = None,
    reasons: str | Path | None = None,
) -> Comparison | SweepComparison | ThreeWay:
    """Hold set B against A, and C against B; each is a result file, or a folder of them.

    Two sweeps are compared by the confidence intervals of their metrics. Everything else, and sweeps with `reasons` or
    `spread`, is compared within fixed tolerances. `between` is `AXIS=LABEL_A,LABEL_B`: cells of A with one label of an
    axis are compared with cells of B (or of A) with another. `spread` names runs of the same cells along an axis that
    should make no difference. `reasons` names a TOML file with reasons for what lies outside the tolerances.

    Raises `InputError` if the sets have no cell in common, or the arguments do not go together.
    """
    options = Options(
        spread=None if spread is None else Path(spread),
        reasons=None if reasons is None else Path(reasons),
        between=None if between is None else Between.parse(between),
    )
    sets = [Path(path) for path in (a, b, c) if path is not None]
    return _three(sets, options) if c is not None else _two(sets, options)


def report_of(comparison: Comparison | SweepComparison | ThreeWay) -> Report:
    """Lay a comparison out."""
    match comparison:
        case ThreeWay():
            return three_way_report.report_of(comparison.first, comparison.second)
        case SweepComparison():
            return difference_report.report_of(comparison)
    return tolerance_report.report_of(comparison)


def agrees(comparison: Comparison | SweepComparison | ThreeWay) -> bool:
    """Tell whether the sets have the same cells, all sound, with nothing outside the tolerances without a reason.

    Of two sweeps: with no more metrics beyond their intervals than chance alone would have there, and none that differ
    where single runs leave open by how much they do so by chance.
    """
    match comparison:
        case ThreeWay():
            return agrees(comparison.first) and agrees(comparison.second)
        case SweepComparison():
            return comparison.agrees()
    return comparison.agrees()


@dataclass(frozen=True)
class Options:
    """How sets are compared, as `compare` has it."""

    spread: Path | None
    reasons: Path | None
    between: Between | None

    def known_reasons(self) -> list[KnownReason]:
        """Read the reasons."""
        return reasons.read(self.reasons, [criterion.name for criterion in CRITERIA]) if self.reasons else []


def _two(sets: Sequence[Path], options: Options) -> Comparison | SweepComparison:
    if options.between and options.spread:
        raise InputError("between and spread do not go together: the spread's runs are one set, not two")
    names, a, b = _sides(sets, options.between)
    if is_sweep([*a, *b]) and not (options.reasons or options.spread):
        return difference.compare(names, a, b)
    return tolerance.compare(names, a, b, options.known_reasons(), _perturbed(options, a, b))


def _sides(sets: Sequence[Path], between: Between | None) -> tuple[tuple[str, str], list[Record], list[Record]]:
    """Read what is compared: B and A, or one label and another."""
    if len(sets) == 1 and not between:
        raise InputError("compare needs two sets of results, or one and `between` with an axis and two of its labels")
    a = files.read(sets[0])
    b = files.read(sets[-1]) if len(sets) > 1 else a
    names = (str(sets[0]), str(sets[-1]))
    if not between:
        return names, a, b
    labels = [f"{name} with {between.axis} = {label}" for name, label in zip(names, between.labels, strict=True)]
    return (labels[0], labels[1]), between.pick(a, 0), between.pick(b, 1)


def is_sweep(records: Sequence[Record]) -> bool:
    """Tell whether `unbloat sweep` made them, which numbers its repeats."""
    return all("repeat" in record.run for record in records)


def _three(sets: Sequence[Path], options: Options) -> ThreeWay:
    """Hold B against A, and C against B; where a spread is wanted, the third of a cell's values belongs to it."""
    if options.between:
        raise InputError("compare takes one set of results or two with `between`, not three")
    a, b, c = (files.read(path) for path in sets)
    why = options.known_reasons()
    beside_b = Perturbed("in A and B", [*a, *files.read(options.spread)]) if options.spread else None
    first = tolerance.compare((str(sets[0]), str(sets[1])), a, b, why, _perturbed(options, a, b, c))
    second = tolerance.compare((str(sets[1]), str(sets[2])), b, c, why, (beside_b, None))
    return ThreeWay(first, second)


def _perturbed(
    options: Options, a: Sequence[Record], b: Sequence[Record], c: Sequence[Record] = ()
) -> tuple[Perturbed | None, Perturbed | None]:
    """Give the runs around A and B: those that ran where A did, or B; C belongs to B."""
    if not options.spread:
        return None, None
    perturbed = files.read(options.spread)
    in_a, in_b = ({record.run["on"] for record in side} for side in (a, b))
    beside_a = [record for record in perturbed if record.run["on"] in in_a]
    beside_b = [record for record in perturbed if record.run["on"] in in_b - in_a]
    return Perturbed("on A's side", beside_a), Perturbed("on B's side", [*beside_b, *c])
