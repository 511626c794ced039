"""A judged paper as a report: its main claims, its tables and statements, and why some came out otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from unbloat.claims.claim import Claim
from unbloat.claims.verdicts import Uncertain, Verdict, written
from unbloat.papers import ratios
from unbloat.papers.judge import Judged, JudgedPaper, JudgedRow, counts_of
from unbloat.papers.paper import Paper, Statements, flowing
from unbloat.papers.paper import Table as PaperTable
from unbloat.report.report import Fold, Heading, Listing, Part, Picture, Report, Table
from unbloat.report.table import Column, Marked
from unbloat.system.legible import count_of, digits_beside, measured

MARKS: dict[Verdict, str] = {
    "reproduced": "=",
    "direction only": "~",
    "not reproduced": "x",
    "undecided": "?",
    "unsound": "!",
}
"""Marks behind measured numbers."""
LEGEND = (
    "After each measured number: = reproduced, ~ direction only, x not reproduced, ? undecided, because its 95 % "
    "confidence interval crosses a bound, ! not judged, because it comes from an unsound run."
)
UNEXPLAINED = "not yet explained"
WITH_YOUR_SETTINGS = "with your settings"
"""In place of a reason where keys were set anew."""


def report_of(judged: JudgedPaper) -> Report:
    """Make the report on the whole paper, the main claims first."""
    return Report([*_about(judged.paper), *_answer(judged), *_details(judged)], judged.as_dict())


def answer_of(judged: JudgedPaper) -> Report:
    """Make the head of the paper's page: all numbers in one picture, the main claims, the counts, the figures."""
    return Report([*_answer(judged), *_figures(judged)])


def details_of(judged: JudgedPaper) -> Report:
    """Report on every number and statement, for the page, where a reader unfolds what is of interest."""
    return Report(list(folded(judged)))


def reading_of(judged: JudgedPaper) -> Report:
    """Make the report on an alternative reading of the paper, for its part of the page."""
    text = [flowing(judged.paper.reading.text)] if judged.paper.reading else []
    return Report([*text, *_answer(judged), *_figures(judged), *folded(judged)])


def _about(paper: Paper) -> list[Part]:
    changed = (
        [f"With {', '.join(f'{key} = {value}' for key, value in paper.changed.items())}."] if paper.changed else []
    )
    if paper.reading:
        return [Heading(paper.reading.title), flowing(paper.reading.text), *changed]
    return [f"{paper.authors}: {paper.title}\n{paper.where}", *changed, LEGEND]


def _answer(judged: JudgedPaper) -> list[Part]:
    parts: list[Part] = []
    if ratios.is_drawn(judged):
        parts.append(Picture(f"figures/{ratios.file_of(judged.paper)}", ratios.TITLE))
    main = main_claims(judged)
    if main and not judged.paper.asked:
        parts += [Heading("Main claims"), *main]
    return [*parts, counts_line(judged)]


def _figures(judged: JudgedPaper) -> list[Part]:
    """Show the figures of the paper, as it drew them."""
    pictures = [Picture(f"figures/{figure.id}.svg", figure.title) for figure in judged.paper.figures]
    return [Heading("Figures"), *pictures] if pictures else []


def main_claims(judged: JudgedPaper) -> list[Part]:
    """Lay out the main claims under their own count, where there are any."""
    main = [entry for entry in _entries(judged) if entry[2].main]
    if not main:
        return []
    counts = counts_of(judged.main())
    claims = f"{len(main)} main claim{'s' if len(main) > 1 else ''}"
    return [f"{claims}: {_words(counts)}.{_of_decided(counts, judged.main())}", _statements(main)]


def statements_of(judged: JudgedPaper) -> list[Table]:
    """Lay out the statements of the text, where there are any."""
    entries = _entries(judged)
    return [_statements(entries)] if entries else []


def reasons_of(judged: JudgedPaper) -> list[str]:
    """List the reasons why something did not come out as published, each with what it is about."""
    return [f"{flowing(reason)}\n{_named(claims)}" for reason, claims in _by_reason(judged).items()]


def contradictions_of(judged: JudgedPaper) -> list[str]:
    """List what another printed number of the paper contradicts, each with what it is about."""
    gathered: dict[str, list[Judged]] = {}
    for claim in judged.contradicted():
        gathered.setdefault(judged.paper.contradiction(claim.id), []).append(claim)
    return [f"{text}\n{_named(claims)}" for text, claims in gathered.items()]


STATEMENTS = "Statements of the text"


def _details(judged: JudgedPaper) -> Iterator[Part]:
    yield from tables_of(judged)
    if statements := statements_of(judged):
        yield Heading(STATEMENTS)
        yield from statements
    for title, _, part in _remarks(judged):
        yield Heading(title)
        yield part


def folded(judged: JudgedPaper) -> Iterator[Part]:
    """Lay out every number and statement, for a page: what is long folds, under a title with its counts."""
    yield from folded_tables(judged)
    for title, size, part in _remarks(judged):
        yield Heading(title)
        yield Fold(size, [part])


def _remarks(judged: JudgedPaper) -> Iterator[tuple[str, str, Part]]:
    """Lay out what is said besides the numbers: each with its title and how much it is."""
    if reasons := reasons_of(judged):
        yield "What did not come out as published, and why", _reasons_for(judged), Listing("", reasons)
    if contradicted := contradictions_of(judged):
        size = count_of(len(judged.contradicted()), "number or statement", "numbers and statements")
        yield "What another printed number contradicts", size, Listing("", contradicted)
    if undecided := [claim for claim in judged.claims() if claim.verdict == "undecided"]:
        size = count_of(len(undecided), "number or statement", "numbers and statements")
        yield "What more seeds would have to decide", size, ", ".join(f"`{claim.id}`" for claim in undecided)


def folded_tables(judged: JudgedPaper) -> Iterator[Part]:
    """Fold every table and the statements, each with its counts."""
    yield LEGEND
    for (_, rows), table in zip(judged.tables, tables_of(judged), strict=True):
        claims = [cell for row in rows for column in row.judged for cell in column if cell]
        yield Fold(f"{table.title} {_brackets(claims)}", [replace(table, title="")])
    if statements := statements_of(judged):
        claims = [each for _, group in judged.statements for _, each in group]
        yield Fold(f"{STATEMENTS} {_brackets(claims)}", statements)


def _brackets(claims: Sequence[Judged]) -> str:
    reproduced = sum(claim.verdict == "reproduced" for claim in claims)
    return f"({reproduced} of {len(claims)} reproduced)"


def folded_reasons(judged: JudgedPaper) -> list[Part]:
    """Fold the reasons, each before what it is about."""
    reasons = reasons_of(judged)
    return [Fold(_reasons_for(judged), [Listing("", reasons)])] if reasons else []


def _reasons_for(judged: JudgedPaper) -> str:
    by_reason = _by_reason(judged)
    claims = count_of(sum(map(len, by_reason.values())), "number or statement", "numbers and statements")
    return f"{count_of(len(by_reason), 'reason', 'reasons')} for {claims}"


Entry = tuple[Statements, Claim, Judged]


def _entries(judged: JudgedPaper) -> list[Entry]:
    return [(group, claim, verdict) for group, claims in judged.statements for claim, verdict in claims]


def _statements(entries: Sequence[Entry]) -> Table:
    return Table(
        [
            Column("statement", "", [_said(claim, verdict) for _, claim, verdict in entries]),
            Column("where", "", [group.where for group, _, _ in entries]),
            Column("id", "", [claim.id for _, claim, _ in entries]),
            Column("measured", "", [_measured(verdict, claim.unit) for _, claim, verdict in entries]),
            Column("verdict", "", [Marked([(verdict.verdict, verdict.verdict)]) for _, _, verdict in entries]),
        ],
        is_stacked=True,
    )


def _said(claim: Claim, verdict: Judged) -> Marked:
    return Marked([(MARKS[verdict.verdict], verdict.verdict), (claim.says, "")], between=" ")


def counts_line(judged: JudgedPaper) -> str:
    """Format the counts of the verdicts as a sentence."""
    counts = judged.counts()
    unsound = len(judged.unsound())
    more = f" {unsound} more come from unsound runs and are not judged." if unsound else ""
    total = sum(counts.values())
    if not total and not unsound:
        return "This part has no published number or statement: it is a figure."
    things = "number or statement" if total == 1 else "numbers and statements"
    return f"{total} published {things}: {_words(counts)}.{more}{_without_contradicted(judged)}"


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _of_decided(counts: Mapping[str, int], claims: Sequence[Judged]) -> str:
    """Say how many of what can be decided come out; of one there is nothing to count."""
    decided = sum(counts.values()) - counts["undecided"]
    if not decided or len(claims) == 1:
        return ""
    return f" Of the {decided} that can be decided, {_reproduced(counts, decided)}."


def _reproduced(counts: Mapping[str, int], decided: int) -> str:
    return f"{counts['reproduced']} are reproduced ({100 * counts['reproduced'] / decided:.0f} %)"


def _without_contradicted(judged: JudgedPaper) -> str:
    """Say how many of what no other printed number contradicts can be decided, and how many of them come out."""
    contradicted = judged.contradicted()
    if not contradicted:
        return _of_decided(judged.counts(), judged.claims())
    apart = {claim.id for claim in contradicted}
    counts = counts_of([claim for claim in judged.claims() if claim.id not in apart])
    decided = sum(counts.values()) - counts["undecided"]
    others = f"of the {decided} others that can be decided, {_reproduced(counts, decided)}" if decided else ""
    return f" Another printed number contradicts {len(contradicted)} of these{f'; {others}' if others else ''}."


def _measured(verdict: Judged, unit: str) -> str:
    if isinstance(verdict.measured, str) and isinstance(verdict.published, str):
        return verdict.measured
    return f"{verdict.published} {unit} published, {measured_number(verdict)} {unit} measured"


def marked_measurement(claim: Claim, judged: Judged) -> Marked:
    """Write what was measured for a statement, with its unit and the mark of its verdict."""
    unit = "" if isinstance(judged.measured, str) else claim.unit
    return Marked([(" ".join(filter(None, [measured_number(judged), unit, MARKS[judged.verdict]])), judged.verdict)])


def measured_number(verdict: Judged) -> str:
    """Write a measured number with its interval."""
    if isinstance(verdict.measured, str):
        return verdict.measured
    return written(Uncertain(verdict.measured, verdict.half_width), verdict.digits)


# ---------------------------------------------------------------- Tables


def tables_of(judged: JudgedPaper) -> Iterator[Table]:
    """Lay every table out: published and measured side by side for each of the paper's columns."""
    for table, rows in judged.tables:
        columns = [Column("", "", [row.name for row in rows])]
        for i, name in enumerate(table.columns):
            columns.append(Column(name, "published", [published_cells(row, i) for row in rows], is_right=True))
            columns.append(Column("", "measured", [measured_cells(row, i) for row in rows], is_right=True))
        yield Table(columns, table.title, narrow=_narrow(table, rows))


def _narrow(table: PaperTable, rows: Sequence[JudgedRow]) -> list[Column]:
    """Lay a table out with a line for each number."""
    lines = []
    for row in rows:
        name = row.name
        for column, flows in enumerate(row.measured):
            for flow in range(len(flows)):
                control = table.columns[column] + (f", flow {flow + 1}" if len(flows) > 1 else "")
                measured = Marked([_measured_cells(row, column)[flow]])
                lines.append((name, control, _published(row, column)[flow], measured))
                name = ""
    names, controls, *numbers = zip(*lines, strict=True)
    heads = ("published", "measured")
    right = [Column(head, "", cells, is_right=True) for head, cells in zip(heads, numbers, strict=True)]
    return [Column("", "", names), Column("", "", controls), *right]


def published_cells(row: JudgedRow, column: int) -> str:
    """Write what the paper prints in a column of a row."""
    return " / ".join(_published(row, column))


def _published(row: JudgedRow, column: int) -> list[str]:
    published = row.row.published[column]
    return published if isinstance(published, list) else [published]


def measured_cells(row: JudgedRow, column: int) -> Marked:
    """Write what was measured for it, with the marks of the verdicts; what is illegible in the paper has none."""
    return Marked(_measured_cells(row, column))


def _measured_cells(row: JudgedRow, column: int) -> list[tuple[str, str]]:
    cells = zip(row.measured[column], row.judged[column], _published(row, column), strict=True)
    return [_marked(written(value, digits_beside(printed)), cell) for value, cell, printed in cells]


def _marked(value: str, judged: Judged | None) -> tuple[str, str]:
    return (f"{value} {MARKS[judged.verdict]}", judged.verdict) if judged else (value, "")


def five_digits(cell: object) -> str:
    """Write a cell of a table that stands beside the paper's own numbers."""
    return measured(cell) if isinstance(cell, float) else str(cell)


# ---------------------------------------------------------------- Reasons


def _by_reason(judged: JudgedPaper) -> dict[str, list[Judged]]:
    """Gather what is not reproduced under the reason it has in common; what is undecided needs none."""
    unexplained = WITH_YOUR_SETTINGS if judged.paper.changed else UNEXPLAINED
    gathered: dict[str, list[Judged]] = {}
    for claim in judged.claims():
        if claim.verdict in ("direction only", "not reproduced", "unsound"):
            reason = f"unsound run: {claim.reason}" if claim.verdict == "unsound" else claim.reason
            gathered.setdefault(reason or unexplained, []).append(claim)
    return gathered


def _named(claims: Sequence[Judged]) -> str:
    return ", ".join(f"`{claim.id}` {MARKS[claim.verdict]}" for claim in claims)
