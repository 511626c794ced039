"""A judged paper as text for the terminal and as Markdown for the page in its folder."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from unbloat.papers.expressions import number
from unbloat.papers.judge import Judged, JudgedPaper, JudgedRow
from unbloat.papers.paper import Paper
from unbloat.papers.verdicts import Verdict
from unbloat.report.table import Column, markdown, render

MARKS: dict[Verdict, str] = {"reproduced": "=", "direction only": "~", "not reproduced": "x"}
"""What stands after a measured number."""
LEGEND = "After each measured number: = reproduced, ~ direction only, x not reproduced."
UNEXPLAINED = "not yet explained"


def text_of(judged: JudgedPaper) -> str:
    """Lay the paper out for a terminal: its tables, its statements, the reasons, the counts."""
    parts = [_head(judged.paper)]
    parts += [f"{title}\n{render(columns)}" for title, columns in _tables(judged)]
    for statements, claims in judged.statements:
        lines = [statements.where]
        for claim, verdict in claims:
            lines.append(f"  {MARKS[verdict.verdict]} {claim.says}")
            lines.append(f"      {claim.id}: {_measured(verdict, claim.unit)}: {verdict.verdict}")
        parts.append("\n".join(lines))
    parts.append("\n".join(_reasons_text(judged)))
    parts.append(counts_line(judged))
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(paper: Paper) -> str:
    if paper.reading:
        return f"{paper.reading.title}\n{textwrap.fill(paper.reading.text, 120)}"
    return f"{paper.authors}: {paper.title}\n{paper.where}\n{LEGEND}"


def markdown_of(judged: JudgedPaper) -> str:
    """Lay the paper out for the page in its folder."""
    parts = [judged.paper.reading.text.strip()] if judged.paper.reading else []
    parts.append(f"{counts_line(judged)} {LEGEND}")
    parts += [f"### {title}\n\n{markdown_table(columns)}" for title, columns in _tables(judged)]
    parts.append(f"### Statements of the text\n\n{markdown_table(_statements(judged))}")
    parts.append("### What did not come out as published, and why")
    parts.append("\n".join(_reasons_markdown(judged)))
    return "\n\n".join(parts) + "\n"


def _statements(judged: JudgedPaper) -> list[Column]:
    entries = [(group, claim, verdict) for group, claims in judged.statements for claim, verdict in claims]
    return [
        Column("statement", "", [claim.says for _, claim, _ in entries]),
        Column("where", "", [group.where for group, _, _ in entries]),
        Column("measured", "", [_measured(verdict, claim.unit) for _, claim, verdict in entries]),
        Column("verdict", "", [verdict.verdict for _, _, verdict in entries]),
    ]


def counts_line(judged: JudgedPaper) -> str:
    """Sum the verdicts up in a sentence."""
    counts = judged.counts()
    return (
        f"{sum(counts.values())} published numbers and statements: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        + "."
    )


def _measured(verdict: Judged, unit: str) -> str:
    if isinstance(verdict.measured, str):
        return verdict.measured
    return f"{verdict.published} {unit} published, {number(verdict.measured)} {unit} measured"


# ---------------------------------------------------------------- Tables


def _tables(judged: JudgedPaper) -> Iterator[tuple[str, list[Column]]]:
    """Lay every table out as a title and columns: published and measured side by side for each of the paper's."""
    for table, rows in judged.tables:
        names = [f"{row.group.name}: {row.row.name}{unit_suffix(row.row.unit)}" for row in rows]
        columns = [Column("", "", names)]
        for i, name in enumerate(table.columns):
            columns.append(Column(name, "published", [published_cells(row, i) for row in rows]))
            columns.append(Column("", "measured", [measured_cells(row, i) for row in rows]))
        yield table.title, columns


def unit_suffix(unit: str) -> str:
    """Write a unit behind a name; an index has none."""
    return "" if unit == "index" else f" ({unit})"


def published_cells(row: JudgedRow, column: int) -> str:
    """Write what the paper prints in a column of a row."""
    published = row.row.published[column]
    return " / ".join(published) if isinstance(published, list) else published


def measured_cells(row: JudgedRow, column: int) -> str:
    """Write what was measured for it, with the marks of the verdicts."""
    cells = zip(row.measured[column], row.judged[column], strict=True)
    return " / ".join(f"{number(value)} {MARKS[cell.verdict] if cell else '?'}" for value, cell in cells)


def markdown_table(columns: Sequence[Column]) -> str:
    """Write a table as GitHub shows it, numbers with five digits."""
    return markdown(columns, lambda cell: number(cell) if isinstance(cell, float) else str(cell))


# ---------------------------------------------------------------- Reasons


def _by_reason(judged: JudgedPaper) -> dict[str, list[Judged]]:
    """Gather what is not reproduced under the reason it has in common."""
    gathered: dict[str, list[Judged]] = {}
    for claim in judged.claims():
        if claim.verdict != "reproduced":
            gathered.setdefault(claim.reason or UNEXPLAINED, []).append(claim)
    return gathered


def _reasons_text(judged: JudgedPaper) -> Iterator[str]:
    gathered = _by_reason(judged)
    if gathered:
        yield "Why:"
    for reason, claims in gathered.items():
        yield textwrap.fill(f"* {reason}", 120, subsequent_indent="  ")
        names = ", ".join(f"{claim.id} {MARKS[claim.verdict]}" for claim in claims)
        yield textwrap.fill(names, 120, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _reasons_markdown(judged: JudgedPaper) -> Iterator[str]:
    for reason, claims in _by_reason(judged).items():
        names = ", ".join(f"`{claim.id}` {MARKS[claim.verdict]}" for claim in claims)
        yield f"* {reason}\n  <br>{names}"
