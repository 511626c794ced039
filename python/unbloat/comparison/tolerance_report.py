"""A comparison within tolerances, laid out: the table, the reasons, what needs a look."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unbloat.comparison.reasons import KnownReason
from unbloat.comparison.tolerance import Compared, ComparedCell, Comparison, Criterion, tolerances
from unbloat.report.parts import Listing, Part, Table
from unbloat.report.report import Report
from unbloat.report.table import Column, show
from unbloat.results.cells import CellKey, ResultSet
from unbloat.results.metrics import AHEAD
from unbloat.results.statistics import Estimate, estimate
from unbloat.system.legible import count_of

MAIN = ("goodput", "queue_delay")
"""Those of the criteria that are counted once more by themselves."""
FAR = "x"
"""What stands behind a difference outside the tolerances."""


def report_of(comparison: Comparison) -> Report:
    """Lay it out."""
    return Report([_heading(comparison), Table(_columns(comparison)), *remarks(comparison)])


def _heading(comparison: Comparison) -> str:
    outside = f"{FAR} marks what lies outside the tolerances: {tolerances(comparison.criteria)}; B against A."
    return f"{sides_named(comparison.sides)}. {outside}"


def sides_named(sides: Sequence[ResultSet]) -> str:
    """Say which set is A, B and so on."""
    return ", ".join(f"{letter} is {side}" for letter, side in zip("ABC", sides, strict=False))


# ---------------------------------------------------------------- The table


def _columns(comparison: Comparison) -> list[Column]:
    cells = comparison.cells
    columns = cell_columns([cell.place for cell in cells])
    for number, criterion in enumerate(comparison.criteria):
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
    """Return a column for each axis, and one for the scenario where there are several."""
    columns = []
    if len({place.scenario for place in places}) > 1:
        columns.append(Column("scenario", "", [place.scenario for place in places]))
    for axis in dict.fromkeys(axis for place in places for axis in place.order):
        columns.append(Column(axis.rpartition(".")[2], "", [place.axes.get(axis, "") for place in places]))
    return columns or [Column("scenario", "", [place.scenario for place in places])]


def written(criterion: Criterion, value: Estimate) -> str:
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
        low, high = (written(compared.criterion, estimate([end])) for end in (spread.least, spread.greatest))
        return f"{compared.criterion.head} {low}..{high} {spread.words}"
    return f"[{numbers[compared.reason]}]" if compared.reason else "no reason"


def numbered(comparison: Comparison) -> dict[KnownReason, int]:
    """Assign numbers to the reasons that are needed, in the order of the table."""
    reasons = [each.reason for cell in comparison.cells for each in cell.outside if cell.verdict == "outside"]
    return {reason: number for number, reason in enumerate(dict.fromkeys(filter(None, reasons)), 1)}


# ---------------------------------------------------------------- What stands under it


def remarks(comparison: Comparison) -> list[Part]:
    """List the reasons, the cells that need a look, and the counts."""
    parts: list[Part] = [f"[{number}] {reason.text}" for reason, number in numbered(comparison).items()]
    unsound = [f"({cell.place}) {why}" for cell in comparison.cells for why in cell.unsound]
    unexplained = [
        f"({cell.place}) {', '.join(each.criterion.head for each in cell.outside if not each.is_explained)}"
        for cell in comparison.cells
        if cell.verdict == "outside" and not cell.is_explained
    ]
    lists = {
        "Unsound, and not judged": unsound,
        "Outside the tolerances without a reason": unexplained,
        "Reasons that no cell needs": [reason.text for reason in comparison.idle_reasons],
        "Only in A": [f"({place})" for place in comparison.only[0]],
        "Only in B": [f"({place})" for place in comparison.only[1]],
    }
    parts += [Listing(head, lines) for head, lines in lists.items() if lines]
    parts += [AHEAD] if any(cell.is_ahead for cell in comparison.cells) else []
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
    main = sum(all(each.criterion.name not in MAIN for each in cell.outside) for cell in sound)
    return (
        f"{count_of(total, 'cell')}: {counts['within']} within the tolerances, {outside}, {counts['unsound']} unsound; "
        f"{main} of {len(sound)} with goodput and queueing delay within theirs."
    )
