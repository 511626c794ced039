"""A comparison for the terminal, as Markdown, and as what `unbloat compare --json` prints."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Sequence
from typing import Any

from unbloat.compare import FIGURES, GOAL, Cell, Compared, Comparison, Figure, Value
from unbloat.reasons import Reason
from unbloat.result_sets import Place, Side
from unbloat.table import Column, markdown, render, show

FAR = "x"
"""What stands behind a difference outside the goal."""


def text_of(comparison: Comparison) -> str:
    """Lay it out for a terminal."""
    parts = [_heading(comparison), render(_columns(comparison)), *remarks(comparison)]
    return "\n\n".join(filled(part) if number != 1 else part for number, part in enumerate(parts))


def filled(text: str) -> str:
    """Break lines at the width of a page; lists keep theirs."""
    lines = [
        textwrap.fill(line, 120, subsequent_indent="  " if line.startswith("*") else "") for line in text.split("\n")
    ]
    return "\n".join(lines)


def markdown_of(comparison: Comparison, command: Sequence[str]) -> str:
    """Lay it out for a page, with the command that made it."""
    table = markdown(_columns(comparison))
    return "\n\n".join([command_line(command), _heading(comparison), table, *remarks(comparison)])


def command_line(command: Sequence[str]) -> str:
    """Write a command as code."""
    return f"    {shlex.join(command)}"


def _heading(comparison: Comparison) -> str:
    return f"{sides_named(comparison.sides)}. {FAR} marks what lies outside the goal: {GOAL}; B against A."


def sides_named(sides: Sequence[Side]) -> str:
    """Say which set is A, B and so on."""
    return ", ".join(f"{letter} is {side}" for letter, side in zip("ABC", sides, strict=False))


# ---------------------------------------------------------------- The table


def _columns(comparison: Comparison) -> list[Column]:
    cells = comparison.cells
    columns = place_columns([cell.place for cell in cells])
    for number, figure in enumerate(FIGURES):
        compared = [cell.compared[number] for cell in cells]
        columns.append(Column(figure.head, f"A {figure.unit}", [written(figure, each.a) for each in compared], True))
        columns.append(Column("", "B", [written(figure, each.b) for each in compared], True))
        columns.append(Column("", "B / A" if figure.is_count else "%", [_difference(each) for each in compared], True))
    columns.append(Column("", "", [note_of(cell, numbered(comparison)) for cell in cells]))
    return columns


def place_columns(places: Sequence[Place]) -> list[Column]:
    """Give a column for each axis, and one for the scenario where there are several."""
    columns = []
    if len({place.scenario for place in places}) > 1:
        columns.append(Column("scenario", "", [place.scenario for place in places]))
    for axis in dict.fromkeys(axis for place in places for axis in place.order):
        columns.append(Column(axis.rpartition(".")[2], "", [place.axes.get(axis, "") for place in places]))
    return columns or [Column("scenario", "", [place.scenario for place in places])]


def written(figure: Figure, value: Value) -> str:
    """Write a mean, and what the repeats range over where they differ."""
    if value.mean is None or value.least is None or value.greatest is None:
        return "-"
    if figure.is_count:
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
    return f"{change:.2f} {mark}" if compared.figure.is_count else f"{100 * (change - 1):+.1f} {mark}"


def note_of(cell: Cell, numbers: dict[Reason, int]) -> str:
    """Say what the marks of a row are about: the numbers of the reasons, or that there is none."""
    if cell.verdict == "unsound":
        return "unsound"
    return ", ".join(sorted({_note(each, numbers) for each in cell.outside}))


def _note(compared: Compared, numbers: dict[Reason, int]) -> str:
    if spread := compared.spread:
        low, high = (written(compared.figure, Value.of([end])) for end in (spread.range.least, spread.range.greatest))
        return f"{compared.figure.head} {low}..{high} {spread.words}"
    return f"[{numbers[compared.reason]}]" if compared.reason else "no reason"


def numbered(comparison: Comparison) -> dict[Reason, int]:
    """Number the reasons that are needed, in the order of the table."""
    reasons = [each.reason for cell in comparison.cells for each in cell.outside if cell.verdict == "outside"]
    return {reason: number for number, reason in enumerate(dict.fromkeys(filter(None, reasons)), 1)}


# ---------------------------------------------------------------- What stands under it


def remarks(comparison: Comparison) -> list[str]:
    """Give the reasons, the lists of what needs a look, and the counts."""
    parts = [f"[{number}] {reason.text}" for reason, number in numbered(comparison).items()]
    unsound = [f"({cell.place}) {why}" for cell in comparison.cells for why in cell.unsound]
    unexplained = [
        f"({cell.place}) {', '.join(each.figure.head for each in cell.outside if not each.is_explained)}"
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
    parts += ["\n".join([f"{head}:", "", *(f"* {line}" for line in lines)]) for head, lines in lists.items() if lines]
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
    main = sum(all(each.figure.is_count for each in cell.outside) for cell in sound)
    return (
        f"{total} cells: {counts['within']} within the goal, {outside}, {counts['unsound']} unsound; "
        f"{main} of {len(sound)} with goodput and queueing delay within it."
    )


# ---------------------------------------------------------------- JSON


def dict_of_side(side: Side) -> dict[str, Any]:
    """Give a set as JSON."""
    return {"name": side.name, "on": side.on, "kernel": side.kernel or None}


def dict_of_place(place: Place) -> dict[str, Any]:
    """Give where a cell lies as JSON."""
    return {"scenario": place.scenario, "axes": place.axes}


def dict_of(comparison: Comparison) -> dict[str, Any]:
    """Give what `unbloat compare --json` prints."""
    return {
        **{letter: dict_of_side(side) for letter, side in zip("ab", comparison.sides, strict=True)},
        "goal": GOAL,
        "cells": [_dict_of_cell(cell) for cell in comparison.cells],
        "only_a": [dict_of_place(place) for place in comparison.only[0]],
        "only_b": [dict_of_place(place) for place in comparison.only[1]],
        "idle_reasons": [reason.text for reason in comparison.idle_reasons],
        "counts": comparison.counts(),
    }


def _dict_of_cell(cell: Cell) -> dict[str, Any]:
    return {
        **dict_of_place(cell.place),
        "repeats": {"a": cell.repeats[0], "b": cell.repeats[1]},
        "verdict": cell.verdict,
        "unsound": list(cell.unsound),
        "figures": {each.figure.name: _dict_of_figure(each) for each in cell.compared},
    }


def _dict_of_figure(compared: Compared) -> dict[str, Any]:
    change = compared.change
    return {
        "unit": compared.figure.unit,
        "a": vars(compared.a),
        "b": vars(compared.b),
        "b_over_a": None if change is None or math.isinf(change) else change,
        "within": compared.is_near,
        "spread": compared.spread and {"in": compared.spread.words, **vars(compared.spread.range)},
        "reason": compared.reason.text if compared.reason else None,
    }
