"""A judged paper as text for the terminal and as Markdown for the page in its folder."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from unbloat.claims import Verdict, number
from unbloat.judged import Judged, JudgedPaper, JudgedRow
from unbloat.published import Table

MARKS: dict[Verdict, str] = {"reproduced": "=", "direction only": "~", "not reproduced": "x"}
"""What stands after a measured number."""
LEGEND = "After each measured number: = reproduced, ~ direction only, x not reproduced."
UNEXPLAINED = "not yet explained"


def text_of(judged: JudgedPaper) -> str:
    """Lay the paper out for a terminal: its tables, its statements, the reasons, the counts."""
    paper = judged.paper
    parts = [f"{paper.authors}: {paper.title}\n{paper.where}\n{LEGEND}"]
    parts += [_text_table(*table) for table in _tables(judged)]
    for statements, claims in judged.statements:
        lines = [statements.where]
        for claim, verdict in claims:
            lines.append(f"  {MARKS[verdict.verdict]} {claim.says}")
            lines.append(f"      {claim.id}: {_measured(verdict, claim.unit)}: {verdict.verdict}")
        parts.append("\n".join(lines))
    parts.append("\n".join(_reasons_text(judged)))
    parts.append(counts_line(judged))
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_of(judged: JudgedPaper) -> str:
    """Lay the paper out for the page in its folder."""
    parts = [f"{counts_line(judged)} {LEGEND}"]
    for title, header, rows in _tables(judged):
        parts.append(f"### {title}\n\n" + markdown_table(header, rows))
    parts.append("### Statements of the text")
    rows = [
        [claim.says, statements.where, f"{_measured(verdict, claim.unit)}", verdict.verdict]
        for statements, claims in judged.statements
        for claim, verdict in claims
    ]
    parts.append(markdown_table(["statement", "where", "measured", "verdict"], rows))
    parts.append("### What did not come out as published, and why")
    parts.append("\n".join(_reasons_markdown(judged)))
    return "\n\n".join(parts) + "\n"


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

Laid = tuple[str, list[str], list[list[str]]]


def _tables(judged: JudgedPaper) -> Iterator[Laid]:
    """Lay every table out as a title, a header and rows of words: published and measured side by side."""
    for table, rows in judged.tables:
        header = ["", *(f"{column} {kind}" for column in table.columns for kind in ("published", "measured"))]
        yield table.title, header, list(_table_rows(table, rows))


def _table_rows(table: Table, rows: Sequence[JudgedRow]) -> Iterator[list[str]]:
    for judged in rows:
        words = [f"{judged.group.name}: {judged.row.name}{_unit(judged.row.unit)}"]
        for column in range(len(table.columns)):
            published = judged.row.published[column]
            words.append(" / ".join(published) if isinstance(published, list) else published)
            cells = zip(judged.measured[column], judged.judged[column], strict=True)
            words.append(" / ".join(f"{number(value)} {MARKS[cell.verdict] if cell else '?'}" for value, cell in cells))
        yield words


def _unit(unit: str) -> str:
    return "" if unit == "index" else f" ({unit})"


def _text_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return title + "\n" + align([header, *rows])


def align(rows: Sequence[Sequence[str]]) -> str:
    """Set rows of words in columns, the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        row[0].ljust(widths[0]) + "".join("  " + row[i].rjust(widths[i]) for i in range(1, len(row))) for row in rows
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table as GitHub shows it, the first column to the left."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(word.replace("|", "\\|") for word in line) + " |" for line in lines)


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
