"""A judged paper as a report: its main claims, its tables and statements, and why some came out otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from unbloat.claims.claim import Claim
from unbloat.claims.verdicts import Uncertain, Verdict, written
from unbloat.papers.judge import FACTOR, Judged, JudgedPaper, JudgedRow, counts_of
from unbloat.papers.paper import KINDS, Paper, Reason, Statements, flowing
from unbloat.papers.paper import Table as PaperTable
from unbloat.report.report import Fold, Heading, Listing, Part, Report, Table
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
BY_A_FACTOR = "X"
"""The mark of a number that misses by `FACTOR` or more."""
LEGEND = (
    "After each measured number: = reproduced, ~ direction only, x not reproduced, "
    f"{BY_A_FACTOR} not reproduced and off by a factor of {FACTOR:g} or more, ? undecided, because its interval "
    "crosses a bound or two values are alike, ! not judged, because it comes from an unsound run. The interval after ± "
    "is the 95 % confidence interval over repeats."
)
DESIGNED = (
    "Repeats of this paper differ by start times that were set, not drawn: their intervals show how much the starts "
    "matter, and are not chance."
)
UNEXPLAINED = "not yet explained"
WITH_YOUR_SETTINGS = "with your settings"
"""In place of a reason where keys were set anew."""


def report_of(judged: JudgedPaper) -> Report:
    """Make the report on the whole paper, the main claims first."""
    return Report([*_about(judged.paper), *_answer(judged), *_details(judged)], judged.as_dict())


def _about(paper: Paper) -> list[Part]:
    changed = (
        [f"With {', '.join(f'{key} = {value}' for key, value in paper.changed.items())}."] if paper.changed else []
    )
    if paper.reading:
        return [Heading(paper.reading.title), flowing(paper.reading.text), *changed]
    return [f"{paper.authors}: {paper.title}\n{paper.where}", *changed, legend_of(paper)]


def legend_of(paper: Paper) -> str:
    """Explain the marks and the intervals."""
    sets = [each.sets for each in paper.perturbations if len(each.sets) > 1]
    return f"{LEGEND} {DESIGNED}" if sets else LEGEND


def _answer(judged: JudgedPaper) -> list[Part]:
    parts: list[Part] = []
    main = main_claims(judged)
    if main and not judged.paper.asked:
        parts += [Heading("Main claims"), *main]
    parts.append(counts_line(judged))
    if len(judged.by_kind()) > 1:
        parts.append(kinds_table(judged))
    return parts


def main_claims(judged: JudgedPaper) -> list[Part]:
    """Lay out the main claims under their own count, where there are any."""
    main = [entry for entry in entries_of(judged) if entry[2].main]
    return [main_count(judged), _statements(main)] if main else []


def main_count(judged: JudgedPaper) -> str:
    """Count the main claims that are the mechanism's own, and name how many count apart."""
    main = judged.main()
    own = [claim for claim in main if claim.kind == "own"]
    apart = Counter(claim.kind for claim in main if claim.kind != "own")
    counts = counts_of(own)
    words = f"{_of_things(len(main), 'main claim')}: {_words(counts)}"
    if apart:
        named = ", ".join(f"{number} {KINDS[kind]}" for kind, number in apart.items())
        words = f"{_of_things(len(main), 'main claim')}; counted apart: {named}"
        words += f". The mechanism's own {len(own)}: {_words(counts)}" if own else ""
    return f"{words}.{_of_decided(counts, own)}"


def _of_things(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def kinds_table(judged: JudgedPaper) -> Table:
    """Count each kind of number and statement apart: what was predicted, what was chosen, what could not fail."""
    rows = [(KINDS[kind], *_counted_apart(claims)) for kind, claims in judged.by_kind().items()]
    names, every, decided, reproduced, main = zip(*rows, strict=True)
    return Table(
        [
            Column("counted apart", "", names),
            Column("published", "", every, is_right=True),
            Column("decided", "", decided, is_right=True),
            Column("reproduced", "", reproduced, is_right=True),
            Column("main claims reproduced", "", main, is_right=True),
        ]
    )


def _counted_apart(claims: Sequence[Judged]) -> tuple[str, str, str, str]:
    counts, main = counts_of(claims), counts_of([claim for claim in claims if claim.main])
    decided, main_decided = (sum(each.values()) - each["undecided"] for each in (counts, main))
    share = f" ({100 * counts['reproduced'] / decided:.0f} %)" if decided else ""
    of_main = f"{main['reproduced']} of {main_decided}" if sum(main.values()) else ""
    return str(len(claims)), str(decided), f"{counts['reproduced']}{share}", of_main


def statements_of(judged: JudgedPaper) -> list[Table]:
    """Lay out the statements of the text, where there are any."""
    entries = entries_of(judged)
    return [_statements(entries)] if entries else []


def reasons_of(judged: JudgedPaper) -> list[str]:
    """List the reasons why something did not come out as published, each with its command and its claims."""
    return [
        "\n".join([flowing(reason), *commands_of(judged.paper.reason(claims[0].id)), _named(claims)])
        for reason, claims in _by_reason(judged).items()
    ]


def commands_of(reason: Reason | None) -> list[str]:
    """List the commands that show a reason, as code."""
    return [f"`{line.strip()}`" for line in reason.command.strip().splitlines()] if reason else []


def apart_of(judged: JudgedPaper) -> list[str]:
    """List what counts apart from the mechanism's own numbers: the kind, the reason, the claims."""
    gathered: dict[str, list[Judged]] = {}
    for claim in judged.claims():
        if entry := judged.paper.entry_apart(claim.id):
            gathered.setdefault(f"{KINDS[entry.kind].capitalize()}: {flowing(entry.text)}", []).append(claim)
    return [f"{text}\n{_named(claims)}" for text, claims in gathered.items()]


STATEMENTS = "Statements of the text"


def _details(judged: JudgedPaper) -> Iterator[Part]:
    yield from tables_of(judged)
    if statements := statements_of(judged):
        yield Heading(STATEMENTS)
        yield from statements
    for title, part in _remarks(judged):
        yield Heading(title)
        yield part


def _remarks(judged: JudgedPaper) -> Iterator[tuple[str, Part]]:
    """Lay out what is said besides the numbers, each with its title."""
    if reasons := reasons_of(judged):
        yield "What did not come out as published, and why", Listing("", reasons)
    if apart := apart_of(judged):
        yield "What counts apart, and why", Listing("", apart)
    if undecided := [claim for claim in judged.claims() if claim.verdict == "undecided"]:
        yield "Undecided: alike, or open until more repeats", ", ".join(f"`{claim.id}`" for claim in undecided)


def folded_tables(judged: JudgedPaper) -> Iterator[Part]:
    """Fold every table and the statements, each with its counts."""
    yield legend_of(judged.paper)
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


def folded_apart(judged: JudgedPaper) -> list[Part]:
    """Fold what counts apart, each kind before its claims."""
    apart = apart_of(judged)
    return [Fold(_of_things(len(apart), "group"), [Listing("", apart)])] if apart else []


def _reasons_for(judged: JudgedPaper) -> str:
    by_reason = _by_reason(judged)
    claims = count_of(sum(map(len, by_reason.values())), "number or statement", "numbers and statements")
    return f"{count_of(len(by_reason), 'reason', 'reasons')} for {claims}"


Entry = tuple[Statements, Claim, Judged]


def entries_of(judged: JudgedPaper) -> list[Entry]:
    """List every statement with its verdict, in the paper's order."""
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
    return Marked([(mark_of(verdict), verdict.verdict), (claim.says, "")], between=" ")


def counts_line(judged: JudgedPaper) -> str:
    """Format the counts of the verdicts as a sentence."""
    counts = judged.counts()
    unsound = len(judged.unsound())
    more = f" {unsound} more come from unsound runs and are not judged." if unsound else ""
    total = sum(counts.values())
    if not total and not unsound:
        return "This part has no published number or statement: it is a figure."
    things = "number or statement" if total == 1 else "numbers and statements"
    return f"{total} published {things}: {_words(counts)}.{more}{_of_decided(counts, judged.claims())}"


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


def _measured(verdict: Judged, unit: str) -> str:
    if isinstance(verdict.measured, str) and isinstance(verdict.published, str):
        return verdict.measured
    return f"{verdict.published} {unit} published, {measured_number(verdict)} {unit} measured{_by_a_factor(verdict)}"


def _by_a_factor(verdict: Judged) -> str:
    """Say by what factor a number misses, where that is large."""
    if not (factor := verdict.factor):
        return ""
    return f", {factor:.2g} times as much" if factor > 1 else f", {1 / factor:.2g} times less"


def marked_measurement(claim: Claim, judged: Judged) -> Marked:
    """Write what was measured for a statement, with its unit and the mark of its verdict."""
    unit = "" if isinstance(judged.measured, str) else claim.unit
    return Marked([(" ".join(filter(None, [measured_number(judged), unit, mark_of(judged)])), judged.verdict)])


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
    """Write what was measured for it, with the marks of the verdicts; illegible numbers of the paper have none."""
    return Marked(_measured_cells(row, column))


def _measured_cells(row: JudgedRow, column: int) -> list[tuple[str, str]]:
    cells = zip(row.measured[column], row.judged[column], _published(row, column), strict=True)
    return [_marked(written(value, digits_beside(printed)), cell) for value, cell, printed in cells]


def _marked(value: str, judged: Judged | None) -> tuple[str, str]:
    return (f"{value} {mark_of(judged)}", judged.verdict) if judged else (value, "")


def mark_of(judged: Judged) -> str:
    """Return the mark of a verdict; a number that misses by a factor has its own."""
    return BY_A_FACTOR if judged.verdict == "not reproduced" and judged.factor else MARKS[judged.verdict]


def five_digits(cell: object) -> str:
    """Write a cell of a table beside the paper's own numbers."""
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
    return ", ".join(f"`{claim.id}` {mark_of(claim)}" for claim in claims)
