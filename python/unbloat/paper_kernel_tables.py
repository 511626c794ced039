"""A paper's rows from the kernel, beside the simulated and the published ones, for the terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from unbloat.judged import Judged, JudgedPaper
from unbloat.paper_kernel import Plan, Repeated
from unbloat.paper_tables import (
    LEGEND,
    MARKS,
    UNEXPLAINED,
    counts_line,
    markdown_table,
    measured_cells,
    published_cells,
    unit_suffix,
)
from unbloat.table import Column, render

UNSOUND = "!"
"""What stands behind a number from a run that is not to be believed."""


def text_of(repeated: Repeated, plan: Plan) -> str:
    """Lay it out for a terminal."""
    parts = [*_opening(repeated), *_tables(repeated, "{}", render), *_closing(repeated, plan)]
    lines = "\n\n".join(parts).split("\n")
    return "\n".join(line if "  " in line else textwrap.fill(line, 120) for line in lines) + "\n"


def markdown_of(repeated: Repeated, plan: Plan) -> str:
    """Lay it out for the page in the paper's folder."""
    about = [plan.text.strip()] if repeated.name == "kernel" else []
    parts = [*about, *_opening(repeated), *_tables(repeated, "### {}", markdown_table)]
    return "\n\n".join([*parts, *_closing(repeated, plan)]) + "\n"


def _opening(repeated: Repeated) -> Iterator[str]:
    yield "\n".join(
        [
            f"* simulated, the paper's TCP: {counts_line(repeated.simulated)}",
            f"* simulated likewise, set as the kernel's run: {counts_line(repeated.likewise)}",
            f"* {repeated.name}: {counts_line(repeated.kernel)}",
        ]
    )
    yield f"{LEGEND} {UNSOUND} stands behind a number from an unsound run."
    if unsound := repeated.unsound():
        yield "\n".join(["Unsound runs, which are not to be believed:", "", *(f"* {why}" for why in unsound)])


def _tables(repeated: Repeated, heading: str, draw: Callable[[Sequence[Column]], str]) -> Iterator[str]:
    for number, (table, _) in enumerate(repeated.kernel.tables):
        yield f"{heading.format(table.title)}\n\n{draw(_table(repeated, number))}"
    if repeated.kernel.statements:
        yield f"{heading.format('Statements of the text')}\n\n{draw(_statements(repeated))}"


def _table(repeated: Repeated, number: int) -> list[Column]:
    """Lay one table of the paper out, a line for each of its numbers (or pairs of numbers)."""
    table, rows = repeated.kernel.tables[number]
    sides = [paper.tables[number][1] for paper in (repeated.simulated, repeated.likewise, repeated.kernel)]
    lines = []
    for row, control in ((row, control) for row in range(len(rows)) for control in range(len(table.columns))):
        name = f"{rows[row].group.name}: {rows[row].row.name}{unit_suffix(rows[row].row.unit)}"
        mark = "" if repeated.is_sound(rows[row], table.columns[control]) else f" {UNSOUND}"
        values = [measured_cells(side[row], control) for side in sides]
        lines.append([name, table.columns[control], published_cells(rows[row], control), *values[:2], values[2] + mark])
    heads = ["", "", "published", "simulated", "simulated likewise", repeated.name]
    return [Column(head, "", cells) for head, *cells in zip(heads, *lines, strict=True)]


def _statements(repeated: Repeated) -> list[Column]:
    claims = [claim for _, claims in repeated.kernel.statements for claim in claims]
    return [
        Column("statement", "", [claim.says for claim, _ in claims]),
        Column("id", "", [claim.id for claim, _ in claims]),
        Column("simulated", "", _verdicts(repeated.simulated)),
        Column("simulated likewise", "", _verdicts(repeated.likewise)),
        Column(repeated.name, "", _verdicts(repeated.kernel)),
    ]


def _verdicts(paper: JudgedPaper) -> list[str]:
    return [MARKS[verdict.verdict] for _, claims in paper.statements for _, verdict in claims]


def _closing(repeated: Repeated, plan: Plan) -> Iterator[str]:
    """Say where the kernel comes to another verdict than the simulator did, and why."""
    gathered: dict[str, list[str]] = {}
    for simulated, kernel in repeated.changed():
        gathered.setdefault(plan.reason(kernel.id) or UNEXPLAINED, []).append(_change(simulated, kernel))
    if gathered:
        lines = [f"* {' '.join(reason.split())} ({', '.join(changes)})" for reason, changes in gathered.items()]
        yield "\n".join(["Where the kernel's verdict is another than the simulated one, and why:", "", *lines])


def _change(simulated: Judged, kernel: Judged) -> str:
    return f"`{kernel.id}` {MARKS[simulated.verdict]} to {MARKS[kernel.verdict]}"
