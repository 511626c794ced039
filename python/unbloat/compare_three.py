"""Three sets of results in one table: B held against A, and C against B where C has the cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unbloat import compare_views as views
from unbloat.compare import FIGURES, GOAL, Cell, Comparison
from unbloat.table import Column, markdown, render


def text_of(first: Comparison, second: Comparison) -> str:
    """Lay them out for a terminal."""
    remarks = views.remarks(together(first, second))[:-1]
    parts = [heading(first, second), render(columns(first, second)), *remarks, counts(first, second)]
    return "\n\n".join(views.filled(part) if number != 1 else part for number, part in enumerate(parts))


def markdown_of(first: Comparison, second: Comparison, command: Sequence[str]) -> str:
    """Lay them out for a page, with the command that made it."""
    table = markdown(columns(first, second))
    remarks = views.remarks(together(first, second))[:-1]
    return "\n\n".join([views.command_line(command), heading(first, second), table, *remarks, counts(first, second)])


def dict_of(first: Comparison, second: Comparison) -> dict[str, Any]:
    """Give what `unbloat compare A B C --json` prints."""
    return {"b_against_a": views.dict_of(first), "c_against_b": views.dict_of(second)}


def together(first: Comparison, second: Comparison) -> Comparison:
    """Give both as one, for what is said of all cells; that C lacks some of B's is no news."""
    idle = [reason for reason in first.idle_reasons if reason in second.idle_reasons]
    renamed = [replace(cell, unsound=tuple(why for why in cell.unsound if why[0] == "B")) for cell in second.cells]
    # What is called B there is C here.
    renamed = [replace(cell, unsound=tuple(f"C{why[1:]}" for why in cell.unsound)) for cell in renamed]
    return replace(first, cells=[*first.cells, *renamed], idle_reasons=idle)


def heading(first: Comparison, second: Comparison) -> str:
    """Say what is compared with what."""
    where = views.sides_named([*first.sides, second.sides[1]])
    return (
        f"{where}. {views.FAR} behind a value: outside the goal, held against the value to its left. The goal: {GOAL}."
    )


def columns(first: Comparison, second: Comparison) -> list[Column]:
    """Give the table: for each figure A, B and C."""
    third = {cell.place: cell for cell in second.cells}
    rows = [(cell, third.get(cell.place)) for cell in first.cells]
    numbers = views.numbered(together(first, second))
    table = views.place_columns([cell.place for cell in first.cells])
    for number, figure in enumerate(FIGURES):
        table.append(Column(figure.head, f"A {figure.unit}", [_left(cell, number) for cell, _ in rows], True))
        table.append(Column("", "B", [_right(cell, number) for cell, _ in rows], True))
        table.append(Column("", "C", [_right(cell, number) for _, cell in rows], True))
    notes = [", ".join(filter(None, (views.note_of(cell, numbers) for cell in row if cell))) for row in rows]
    table.append(Column("", "", notes))
    return table


def _left(cell: Cell, number: int) -> str:
    compared = cell.compared[number]
    return views.written(compared.figure, compared.a)


def _right(cell: Cell | None, number: int) -> str:
    if cell is None:
        return ""
    compared = cell.compared[number]
    return views.written(compared.figure, compared.b) + ("" if compared.is_near else f" {views.FAR}")


def counts(first: Comparison, second: Comparison) -> str:
    """Count the cells of both comparisons."""
    return f"B against A: {views.counted(first)}\n\nC against B: {views.counted(second)}"
