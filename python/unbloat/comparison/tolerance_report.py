"""A comparison within tolerances, laid out: the table, the reasons, what needs a look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from unbloat.comparison.reasons import KnownReason
from unbloat.comparison.tolerance import CRITERIA, GOAL, Compared, ComparedCell, Comparison, Criterion, Value
from unbloat.report.report import Listing, Part, Report, Table
from unbloat.report.table import Column, show
from unbloat.results.cells import CellKey, ResultSet

FAR = "x"
"""What stands behind a difference outside the goal."""


def report_of(comparison: Comparison) -> Report:
    """Lay it out."""
    return Report([_heading(comparison), Table(_columns(comparison)), *remarks(comparison)], dict_of(comparison))


def _heading(comparison: Comparison) -> str:
    return f"{sides_named(comparison.sides)}. {FAR} marks what lies outside the goal: {GOAL}; B against A."


def sides_named(sides: Sequence[ResultSet]) -> str:
    """Say which set is A, B and so on."""
    return ", ".join(f"{letter} is {side}" for letter, side in zip("ABC", sides, strict=False))


# ---------------------------------------------------------------- The table


def _columns(comparison: Comparison) -> list[Column]:
    cells = comparison.cells
    columns = cell_columns([cell.place for cell in cells])
    for number, criterion in enumerate(CRITERIA):
        compared = [cell.compared[number] for cell in cells]
        columns.append(
            Column(criterion.head, f"A {criterion.unit}", [written(criterion, each.a) for each in compared], True)
        )
        columns.append(Column("", "B", [written(criterion, each.b) for each in compared], True))
        columns.append(
            Column("", "B / A" if criterion.is_count else "%", [_difference(each) for each in compared], True)
        )
    columns.append(Column("", "", [note_of(cell, numbered(comparison)) for cell in cells]))
    return columns


def cell_columns(places: Sequence[CellKey]) -> list[Column]:
    """Give a column for each axis, and one for the scenario where there are several."""
    columns = []
    if len({place.scenario for place in places}) > 1:
        columns.append(Column("scenario", "", [place.scenario for place in places]))
    for axis in dict.fromkeys(axis for place in places for axis in place.order):
        columns.append(Column(axis.rpartition(".")[2], "", [place.axes.get(axis, "") for place in places]))
    return columns or [Column("scenario", "", [place.scenario for place in places])]


def written(criterion: Criterion, value: Value) -> str:
    """Write a mean, and what the repeats range over where they differ."""
    if value.mean is None or value.least is None or value.greatest is None:
        return "-"
    if criterion.is_count:
        low, mean, high = f"{value.least:.0f}", f"{value.mean:.0f}", f"{value.greatest:.0f}"
    else:
        low, mean, high = (show(float(each)) for each in (value.least, value.mean, value.greatest))
    return mean if low == high else f"{mean} ({low}..{high})"


def _difference(compared: Compared) -> str:
    change = compared.change
    mark = " " if compared.is_near else FAR
    if change is None:
        return f"- {mark}"
    if math.isinf(change):
        return f"∞ {mark}"
    return f"{change:.2f} {mark}" if compared.criterion.is_count else f"{100 * (change - 1):+.1f} {mark}"


def note_of(cell: ComparedCell, numbers: dict[KnownReason, int]) -> str:
    """Say what the marks of a row are about: the numbers of the reasons, or that there is none."""
    if cell.verdict == "unsound":
        return "unsound"
    return ", ".join(sorted({_note(each, numbers) for each in cell.outside}))


def _note(compared: Compared, numbers: dict[KnownReason, int]) -> str:
    if spread := compared.spread:
        low, high = (
            written(compared.criterion, Value.of([end])) for end in (spread.range.least, spread.range.greatest)
        )
        return f"{compared.criterion.head} {low}..{high} {spread.words}"
    return f"[{numbers[compared.reason]}]" if compared.reason else "no reason"


def numbered(comparison: Comparison) -> dict[KnownReason, int]:
    """Number the reasons that are needed, in the order of the table."""
    reasons = [each.reason for cell in comparison.cells for each in cell.outside if cell.verdict == "outside"]
    return {reason: number for number, reason in enumerate(dict.fromkeys(filter(None, reasons)), 1)}


# ---------------------------------------------------------------- What stands under it


def remarks(comparison: Comparison) -> list[Part]:
    """Give the reasons, the lists of what needs a look, and the counts."""
    parts: list[Part] = [f"[{number}] {reason.text}" for reason, number in numbered(comparison).items()]
    unsound = [f"({cell.place}) {why}" for cell in comparison.cells for why in cell.unsound]
    unexplained = [
        f"({cell.place}) {', '.join(each.criterion.head for each in cell.outside if not each.is_explained)}"
        for cell in comparison.cells
        if cell.verdict == "outside" and not cell.is_explained
    ]
    lists = {
        "Unsound, and not judged": unsound,
        "Outside the goal without a reason": unexplained,
        "Reasons to which no cell is outside any more": [reason.text for reason in comparison.idle_reasons],
        "Only in A": [f"({place})" for place in comparison.only[0]],
        "Only in B": [f"({place})" for place in comparison.only[1]],
    }
    parts += [Listing(head, lines) for head, lines in lists.items() if lines]
    return [*parts, counted(comparison)]


def counted(comparison: Comparison) -> str:
    """Count the verdicts in a sentence."""
    counts = comparison.counts()
    total = len(comparison.cells)
    parts = {
        "within the spread of one side": "outside, within the spread",
        "without a reason": "outside without a reason",
    }
    outside = ", ".join(f"{counts[name]} {words}" for words, name in parts.items() if counts[name])
    outside = f"{counts['outside']} outside" + (f" ({outside})" if outside else "")
    sound = [cell for cell in comparison.cells if not cell.unsound]
    main = sum(all(each.criterion.is_count for each in cell.outside) for cell in sound)
    return (
        f"{total} cells: {counts['within']} within the goal, {outside}, {counts['unsound']} unsound; "
        f"{main} of {len(sound)} with goodput and queueing delay within it."
    )


# ---------------------------------------------------------------- JSON


def dict_of_set(side: ResultSet) -> dict[str, Any]:
    """Give a set as JSON."""
    return {"name": side.name, "on": side.on, "kernel": side.kernel or None}


def dict_of_key(place: CellKey) -> dict[str, Any]:
    """Give where a cell lies as JSON."""
    return {"scenario": place.scenario, "axes": place.axes}


def dict_of(comparison: Comparison) -> dict[str, Any]:
    """Give what `unbloat compare --json` prints."""
    return {
        **{letter: dict_of_set(side) for letter, side in zip("ab", comparison.sides, strict=True)},
        "goal": GOAL,
        "cells": [_dict_of_cell(cell) for cell in comparison.cells],
        "only_a": [dict_of_key(place) for place in comparison.only[0]],
        "only_b": [dict_of_key(place) for place in comparison.only[1]],
        "idle_reasons": [reason.text for reason in comparison.idle_reasons],
        "counts": comparison.counts(),
    }


def _dict_of_cell(cell: ComparedCell) -> dict[str, Any]:
    return {
        **dict_of_key(cell.place),
        "repeats": {"a": cell.repeats[0], "b": cell.repeats[1]},
        "verdict": cell.verdict,
        "unsound": list(cell.unsound),
        "figures": {each.criterion.name: _dict_of_figure(each) for each in cell.compared},
    }


def _dict_of_figure(compared: Compared) -> dict[str, Any]:
    change = compared.change
    return {
        "unit": compared.criterion.unit,
        "a": vars(compared.a),
        "b": vars(compared.b),
        "b_over_a": None if change is None or math.isinf(change) else change,
        "within": compared.is_near,
        "spread": compared.spread and {"in": compared.spread.words, **vars(compared.spread.range)},
        "reason": compared.reason.text if compared.reason else None,
    }
