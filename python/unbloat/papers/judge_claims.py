"""Statements of a paper's text, held against what was measured: in one cell, or over the cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from unbloat.papers.expressions import Measure, Selector, describe, evaluate
from unbloat.papers.measurements import Measurements
from unbloat.papers.paper import Claim
from unbloat.papers.verdicts import Bounds, Printed, Verdict, judge_number, judge_reduction, judge_statement


@dataclass(frozen=True)
class Outcome:
    """What was measured for a claim, as a number or in words, and how that is judged."""

    measured: float | str
    verdict: Verdict


def judge_claim(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> Outcome:
    """Judge a claim in the setting `at`; raises `ClaimError` where a label or a quantity does not exist."""
    places = [labels for labels in runs.labels(claim.over, at) if not set(labels) & set(claim.without)]
    cells = [_measure_in(runs, [*at, *labels]) for labels in places]
    if claim.holds is not None:
        return _statement(claim, cells) if not claim.over else _statement_of_a_grid(claim, places, cells)
    text = claim.quantity if claim.quantity is not None else str(claim.reduction)
    values = [float(evaluate(text, measure)) for measure in cells]
    chosen, value = _taken(claim.take, values)
    printed = Printed.parse(claim.published)
    if claim.reduction is not None:
        return Outcome(100 * (1 - value), judge_reduction(value, printed, bounds))
    verdict = judge_number(value, printed, claim.unit, bounds, [])
    if verdict != "reproduced":
        verdict = judge_statement(False, _direction(claim, [cells[number] for number in chosen]))
    return Outcome(value, verdict)


def _measure_in(runs: Measurements, setting: Sequence[str]) -> Measure:
    def measure(name: str, labels: tuple[str, ...], selectors: dict[str, Selector]) -> float:
        return runs.take(name, [*setting, *labels], selectors)

    return measure


def _taken(take: str, values: Sequence[float]) -> tuple[list[int], float]:
    """Give the value that a claim is about, and the cells that it comes from."""
    if take == "mean":
        return list(range(len(values))), fmean(values)
    value = min(values) if take == "smallest" else max(values)
    return [values.index(value)], value


def _direction(claim: Claim, cells: Sequence[Measure]) -> bool | None:
    if claim.direction is None:
        return None
    return all(bool(evaluate(claim.direction, measure)) for measure in cells)


def _statement(claim: Claim, cells: Sequence[Measure]) -> Outcome:
    (measure,) = cells
    holds = bool(evaluate(str(claim.holds), measure))
    return Outcome(describe(str(claim.holds), measure), judge_statement(holds, _direction(claim, cells)))


def _statement_of_a_grid(claim: Claim, cell_labels: Sequence[Sequence[str]], cells: Sequence[Measure]) -> Outcome:
    """Count the cells in which it holds; a statement about every cell that holds in most of them has its direction."""
    places = [" ".join(labels) for labels in cell_labels]
    failing = [place for place, measure in zip(places, cells, strict=True) if not evaluate(str(claim.holds), measure)]
    holding = len(cells) - len(failing)
    most = holding > len(cells) / 2
    holds = {"every": not failing, "most": most, "some": holding > 0}[claim.take]
    words = f"in {holding} of {len(cells)} cells"
    if failing and holding:
        words += (
            f", not at {', '.join(failing)}"
            if most
            else f", only at {', '.join(p for p in places if p not in failing)}"
        )
    return Outcome(words, judge_statement(holds, most if claim.take == "every" else None))
