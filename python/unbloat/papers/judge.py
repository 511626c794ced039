"""A paper's numbers and statements beside what was measured, each with its verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unbloat.claims.claim import Claim, judge_claim, open_settings
from unbloat.claims.measurements import Measurements
from unbloat.claims.verdicts import (
    VERDICTS,
    Printed,
    Uncertain,
    Values,
    Verdict,
    differ_little,
    jackknife,
    judge_number,
)
from unbloat.papers.paper import KINDS, Group, Kind, Paper, PrintedCell, Row, Statements, Table, cells_of, in_brackets
from unbloat.system import legible

MISSES: tuple[Verdict, ...] = ("direction only", "not reproduced")
FACTOR = 2.0
"""A number that misses by this factor or more is marked."""


@dataclass(frozen=True)
class Judged:
    """One published number or statement, judged."""

    id: str
    where: str
    published: float | str
    measured: float | str
    verdict: Verdict
    reason: str
    """The reason why it came out otherwise; empty if it is reproduced, or no reason is known."""
    half_width: float | None = None
    """The 95 % confidence interval of the measured number reaches so far to either side; None with a single seed."""
    main: bool = False
    """One of the paper's main claims."""
    kind: Kind = "own"
    """The source of the number or statement; kinds are counted apart."""
    digits: int = legible.FIVE
    """Digits of the measured number that say something beside the printed one."""

    @property
    def factor(self) -> float | None:
        """Measured over published, where that is a miss by a factor of two or more."""
        if self.verdict not in MISSES or isinstance(self.measured, str) or isinstance(self.published, str):
            return None
        ratio = self.measured / self.published if self.published else math.inf
        return ratio if math.isfinite(ratio) and ratio > 0 and not 1 / FACTOR < ratio < FACTOR else None

    def as_dict(self) -> dict[str, object]:
        """Return the fields under the names of `unbloat reproduce --json`, with all digits of numbers."""
        return {name: value for name, value in vars(self).items() if name != "digits"}


@dataclass(frozen=True)
class JudgedRow:
    """A table's row: per column one value, or one per flow."""

    group: Group
    row: Row
    measured: list[list[Uncertain]]
    judged: list[list[Judged | None]]
    """Verdicts by column; None where the published number is illegible, or not asked for."""

    @property
    def name(self) -> str:
        """The row's head: setting, quantity and unit."""
        return f"{self.group.name}: {self.row.name}{in_brackets(self.row.unit)}"


@dataclass(frozen=True)
class JudgedPaper:
    """A whole paper, judged, in the paper's order."""

    paper: Paper
    tables: list[tuple[Table, list[JudgedRow]]]
    statements: list[tuple[Statements, list[tuple[Claim, Judged]]]]

    def claims(self) -> list[Judged]:
        """List everything that has a verdict: the tables' numbers first, then the statements."""
        numbers = [cell for _, rows in self.tables for row in rows for cells in row.judged for cell in cells if cell]
        return numbers + [judged for _, claims in self.statements for _, judged in claims]

    def counts(self) -> dict[str, int]:
        """Count the verdicts; numbers from unsound runs have none."""
        return counts_of(self.claims())

    def by_kind(self) -> dict[Kind, list[Judged]]:
        """List the numbers and statements of each kind, in the order of `KINDS`; kinds without any are left out."""
        found = {kind: [judged for judged in self.claims() if judged.kind == kind] for kind in KINDS}
        return {kind: claims for kind, claims in found.items() if claims}

    def unsound(self) -> list[Judged]:
        """List what cannot be judged, because it comes from unsound runs."""
        return [judged for judged in self.claims() if judged.verdict == "unsound"]

    def main(self) -> list[Judged]:
        """List the paper's main claims."""
        return [judged for judged in self.claims() if judged.main]

    def as_dict(self) -> dict[str, object]:
        """Return what `unbloat reproduce --json` prints."""
        claims = [judged.as_dict() for judged in self.claims()]
        kinds = {kind: counts_of(claims) for kind, claims in self.by_kind().items()}
        return {"paper": self.paper.name, "claims": claims, "counts": self.counts(), "counts_by_kind": kinds}


def counts_of(claims: Sequence[Judged]) -> dict[str, int]:
    """Count the verdicts; numbers from unsound runs have none."""
    counter = Counter(judged.verdict for judged in claims)
    return {verdict: counter[verdict] for verdict in VERDICTS}


def judge(paper: Paper, measurements: Mapping[str, Measurements]) -> JudgedPaper:
    """Judge everything that a paper prints; raises `ClaimError` where a label or a quantity does not exist."""
    tables = [
        (table, [_judge_row(paper, table, group, row, measurements) for group in table.groups for row in group.rows])
        for table in paper.tables
    ]
    statements = [
        (group, [(claim, _judge_claim(paper, group, claim, measurements)) for claim in group.claims])
        for group in paper.statements
    ]
    return JudgedPaper(paper, tables, statements)


def open_cells(paper: Paper, measurements: Mapping[str, Measurements]) -> Iterator[tuple[str, Sequence[str]]]:
    """Name the grid points whose further repeats may decide what is undecided: the scenario of each, and its labels."""
    for table in paper.tables:
        for group in table.groups:
            for row in group.rows:
                judged = _judge_row(paper, table, group, row, measurements).judged
                if any(cell and cell.verdict == "undecided" for cells in judged for cell in cells):
                    yield from ((group.scenario, labels) for labels in table.labels(group, row))
    for statements in paper.statements:
        for claim in statements.claims:
            settings = open_settings(claim, statements.at, measurements[statements.scenario], paper.bounds)
            yield from ((statements.scenario, labels) for labels in settings)


# ---------------------------------------------------------------- Tables


def _judge_row(
    paper: Paper, table: Table, group: Group, row: Row, measurements: Mapping[str, Measurements]
) -> JudgedRow:
    printed = row.printed()
    runs = measurements[group.scenario].shared(table.labels(group, row))
    cells = [
        [MeasuredCell(values, runs.confidence, runs.why_unsound(labels)) for values in _measure(runs, row, labels, own)]
        for labels, own in zip(table.labels(group, row), printed, strict=True)
    ]
    judged = [[_judge_cell(paper, cell, cells, printed) for cell in column] for column in cells_of(table, group, row)]
    return JudgedRow(group, row, [[cell.value for cell in column] for column in cells], judged)


@dataclass(frozen=True)
class MeasuredCell:
    """The measurement for one published number."""

    means: Values
    confidence: float
    doubt: str

    @cached_property
    def value(self) -> Uncertain:
        """The mean with its interval."""
        return jackknife(self.means, self.confidence)

    def above(self, other: MeasuredCell) -> Uncertain | None:
        """Return how far this number lies above another; None where either has unsound runs."""
        if self.doubt or other.doubt:
            return None
        with np.errstate(invalid="ignore"):
            return jackknife(self.means - other.means, self.confidence)


def _measure(runs: Measurements, row: Row, labels: Sequence[str], printed: list[Printed | None]) -> list[Values]:
    """Measure a column of a row: once, or for each of its equal flows."""
    if len(printed) == 1:
        return [runs.means(row.quantity, labels, {} if row.flow is None else {"flow": row.flow}, row.unit)]
    # Equal flows are paired by size (rule 7); an illegible one is taken for the largest.
    by_size = sorted(range(len(printed)), key=lambda i: -_value(printed[i]))
    measured = runs.means_of_flows(row.quantity, labels, row.unit)
    return [measured[by_size.index(flow)] for flow in range(len(printed))]


def _value(printed: Printed | None) -> float:
    return printed.value if printed else math.inf


def _judge_cell(
    paper: Paper, cell: PrintedCell, measured: list[list[MeasuredCell]], printed: list[list[Printed | None]]
) -> Judged | None:
    own = printed[cell.column][cell.flow]
    if own is None or not paper.asks_for(cell.id):
        return None
    here = measured[cell.column][cell.flow]
    digits = legible.digits_beside(_text(cell.row, cell.column, cell.flow))
    others = []
    for column, values in enumerate(printed):
        flow = min(cell.flow, len(values) - 1)
        partner = values[flow]
        if column != cell.column and partner:
            there = measured[column][flow]
            is_alike = differ_little(here.value.value, there.value.value, paper.bounds.difference)
            others.append((Uncertain(0.0) if is_alike else here.above(there), partner))
    verdict = "unsound" if here.doubt else judge_number(here.value, own, cell.row.unit, paper.bounds, others)
    reason = here.doubt or _reason(paper, cell.id, verdict)
    measured_here, half_width = _plain(here.value), here.value.half_width
    kind = paper.kind(cell.id)
    return Judged(cell.id, cell.where, own.value, measured_here, verdict, reason, half_width, kind=kind, digits=digits)


def _text(row: Row, column: int, flow: int) -> str:
    values = row.published[column]
    return values[flow] if isinstance(values, list) else values


def _plain(measured: Uncertain) -> float | str:
    """Convert a number for JSON, which has no infinity."""
    return measured.value if math.isfinite(measured.value) else legible.measured(measured.value)


def _reason(paper: Paper, claim_id: str, verdict: Verdict) -> str:
    found = None if verdict == "reproduced" else paper.reason(claim_id)
    return found.text if found else ""


# ---------------------------------------------------------------- Statements


def _judge_claim(paper: Paper, group: Statements, claim: Claim, measurements: Mapping[str, Measurements]) -> Judged:
    outcome = judge_claim(claim, group.at, measurements[group.scenario], paper.bounds)
    published: float | str = claim.says if claim.holds is not None else Printed.parse(claim.published).value
    where = f"{group.where}: {claim.says}" if published != claim.says else group.where
    reason = outcome.why_unsound or _reason(paper, claim.id, outcome.verdict)
    measured: float | str
    if isinstance(outcome.measured, str):
        measured, half_width, digits = outcome.measured, None, legible.FIVE
    else:
        measured, half_width = _plain(outcome.measured), outcome.measured.half_width
        digits = legible.digits_beside(claim.published)
    kind = paper.kind(claim.id)
    return Judged(claim.id, where, published, measured, outcome.verdict, reason, half_width, claim.main, kind, digits)
