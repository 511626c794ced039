"""Three sets of results in one table: B compared with A, and C with B where C has the cell."""

from __future__ import annotations

from dataclasses import replace

from unbloat.comparison import tolerance_report as views
from unbloat.comparison.tolerance import ComparedCell, Comparison, tolerances
from unbloat.report.parts import Table
from unbloat.report.report import Report
from unbloat.report.table import Column


def report_of(first: Comparison, second: Comparison) -> Report:
    """Lay them out."""
    remarks = views.remarks(joined(first, second))[:-1]
    table = Table(columns(first, second))
    return Report([heading(first, second), table, *remarks, *counts(first, second)])


def joined(first: Comparison, second: Comparison) -> Comparison:
    """Merge two comparisons for the remarks about all cells; cells of B that C lacks are not mentioned again."""
    idle = [reason for reason in first.idle_reasons if reason in second.idle_reasons]
    renamed = [replace(cell, unsound=tuple(why for why in cell.unsound if why[0] == "B")) for cell in second.cells]
    # The second comparison calls B what is C here.
    renamed = [replace(cell, unsound=tuple(f"C{why[1:]}" for why in cell.unsound)) for cell in renamed]
    return replace(first, cells=[*first.cells, *renamed], idle_reasons=idle)


def heading(first: Comparison, second: Comparison) -> str:
    """Say what is compared with what."""
    where = views.sides_named([*first.sides, second.sides[1]])
    return (
        f"{where}. {views.FAR} behind a value: outside the tolerances, held against the value to its left. "
        f"The tolerances: {tolerances(first.criteria)}."
    )


def columns(first: Comparison, second: Comparison) -> list[Column]:
    """Lay out the columns: for each criterion A, B and C."""
    third = {cell.place: cell for cell in second.cells}
    rows = [(cell, third.get(cell.place)) for cell in first.cells]
    numbers = views.numbered(joined(first, second))
    table = views.cell_columns([cell.place for cell in first.cells])
    for number, criterion in enumerate(first.criteria):
        table.append(Column(criterion.head, f"A {criterion.unit}", [_left(cell, number) for cell, _ in rows], True))
        table.append(Column("", "B", [_right(cell, number) for cell, _ in rows], True))
        table.append(Column("", "C", [_right(cell, number) for _, cell in rows], True))
    notes = [", ".join(filter(None, (views.note_of(cell, numbers) for cell in row if cell))) for row in rows]
    table.append(Column("", "", notes))
    return table


def _left(cell: ComparedCell, number: int) -> str:
    compared = cell.compared[number]
    return views.written(compared.criterion, compared.a)


def _right(cell: ComparedCell | None, number: int) -> str:
    if cell is None:
        return ""
    compared = cell.compared[number]
    return views.written(compared.criterion, compared.b) + ("" if compared.is_near else f" {views.FAR}")


def counts(first: Comparison, second: Comparison) -> list[str]:
    """Count the cells of both comparisons."""
    return [f"B against A: {views.counted(first)}", f"C against B: {views.counted(second)}"]
