"""A paper's rows from the kernel, beside the simulated and the published ones, for the terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.kernel import KernelResults
from unbloat.papers.tables import (
    LEGEND,
    MARKS,
    UNEXPLAINED,
    counts_line,
    markdown_table,
    measured_cells,
    published_cells,
    unit_suffix,
)
from unbloat.report.table import Column, render

UNSOUND = "!"
"""What stands behind a number from a run that is not to be believed."""


def text_of(results: KernelResults) -> str:
    """Lay it out for a terminal."""
    parts = [*_opening(results), *_tables(results, "{}", render), *_closing(results)]
    lines = "\n\n".join(parts).split("\n")
    return "\n".join(line if "  " in line else textwrap.fill(line, 120) for line in lines) + "\n"


def markdown_of(results: KernelResults) -> str:
    """Lay it out for the page in the paper's folder."""
    about = [results.plan.text.strip()] if results.name == "kernel" else []
    parts = [*about, *_opening(results), *_tables(results, "### {}", markdown_table)]
    return "\n\n".join([*parts, *_closing(results)]) + "\n"


def _opening(results: KernelResults) -> Iterator[str]:
    yield "\n".join(
        [
            f"* simulated, the paper's TCP: {counts_line(results.simulated)}",
            f"* simulated likewise, set as the kernel's run: {counts_line(results.likewise)}",
            f"* {results.name}: {counts_line(results.kernel)}",
        ]
    )
    yield f"{LEGEND} {UNSOUND} stands behind a number from an unsound run."
    if unsound := results.unsound():
        yield "\n".join(["Unsound runs, which are not to be believed:", "", *(f"* {why}" for why in unsound)])


def _tables(results: KernelResults, heading: str, draw: Callable[[Sequence[Column]], str]) -> Iterator[str]:
    for number, (table, _) in enumerate(results.kernel.tables):
        yield f"{heading.format(table.title)}\n\n{draw(_table(results, number))}"
    if results.kernel.statements:
        yield f"{heading.format('Statements of the text')}\n\n{draw(_statements(results))}"


def _table(results: KernelResults, number: int) -> list[Column]:
    """Lay one table of the paper out, a line for each of its numbers (or pairs of numbers)."""
    table, rows = results.kernel.tables[number]
    sides = [paper.tables[number][1] for paper in (results.simulated, results.likewise, results.kernel)]
    lines = []
    for row, control in ((row, control) for row in range(len(rows)) for control in range(len(table.columns))):
        name = f"{rows[row].group.name}: {rows[row].row.name}{unit_suffix(rows[row].row.unit)}"
        mark = "" if results.is_sound(rows[row], table.columns[control]) else f" {UNSOUND}"
        values = [measured_cells(side[row], control) for side in sides]
        lines.append([name, table.columns[control], published_cells(rows[row], control), *values[:2], values[2] + mark])
    heads = ["", "", "published", "simulated", "simulated likewise", results.name]
    return [Column(head, "", cells) for head, *cells in zip(heads, *lines, strict=True)]


def _statements(results: KernelResults) -> list[Column]:
    claims = [claim for _, claims in results.kernel.statements for claim in claims]
    return [
        Column("statement", "", [claim.says for claim, _ in claims]),
        Column("id", "", [claim.id for claim, _ in claims]),
        Column("simulated", "", _verdicts(results.simulated)),
        Column("simulated likewise", "", _verdicts(results.likewise)),
        Column(results.name, "", _verdicts(results.kernel)),
    ]


def _verdicts(paper: JudgedPaper) -> list[str]:
    return [MARKS[verdict.verdict] for _, claims in paper.statements for _, verdict in claims]


def _closing(results: KernelResults) -> Iterator[str]:
    """Say where the kernel comes to another verdict than the simulator did, and why."""
    gathered: dict[str, list[str]] = {}
    for simulated, kernel in results.changed():
        gathered.setdefault(results.plan.reason(kernel.id) or UNEXPLAINED, []).append(_change(simulated, kernel))
    if gathered:
        lines = [f"* {' '.join(reason.split())} ({', '.join(changes)})" for reason, changes in gathered.items()]
        yield "\n".join(["Where the kernel's verdict is another than the simulated one, and why:", "", *lines])


def _change(simulated: Judged, kernel: Judged) -> str:
    return f"`{kernel.id}` {MARKS[simulated.verdict]} to {MARKS[kernel.verdict]}"
