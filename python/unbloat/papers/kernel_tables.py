"""A paper's rows from the kernel, beside the simulated and the published ones, as a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unbloat.claims.claim import Claim
from unbloat.papers.judge import Judged
from unbloat.papers.kernel import KernelResults
from unbloat.papers.paper import flowing
from unbloat.papers.tables import (
    LEGEND,
    MARKS,
    UNEXPLAINED,
    counts_line,
    marked_measurement,
    measured_cells,
    published_cells,
    unit_suffix,
)
from unbloat.report.report import Heading, Listing, Part, Report, Table
from unbloat.report.table import Column, Marked

SETTINGS = "The settings make the difference: simulated likewise, the verdict is the kernel's, or undecided."


def report_of(results: KernelResults) -> Report:
    """Make the report for a terminal."""
    return Report(list(_parts(results)), results.as_dict())


def page_of(results: KernelResults) -> Report:
    """Make the page in the paper's folder; the plan's text is about the running kernel and stands on its page only."""
    about = [flowing(results.plan.text)] if results.name == "kernel" else []
    return Report([*about, *_parts(results)], results.as_dict())


def _parts(results: KernelResults) -> Iterator[Part]:
    counts = [
        f"simulated, the paper's TCP: {counts_line(results.simulated)}",
        f"simulated likewise, set as the kernel's run: {counts_line(results.likewise)}",
        f"{results.name}: {counts_line(results.kernel)}",
    ]
    yield Listing("", counts)
    yield f"{LEGEND} A kernel's cell is run once and has no interval."
    if unsound := results.unsound():
        yield Listing("Unsound runs, which are not to be believed", unsound)
    for number, (table, _) in enumerate(results.kernel.tables):
        yield Table(_table(results, number), table.title)
    if results.kernel.statements:
        yield Heading("Statements of the text")
        yield _statements(results)
    if changes := _changes(results):
        yield Listing("Where the kernel's verdict is another than the simulated one, and why", changes)


def _table(results: KernelResults, number: int) -> list[Column]:
    """Lay one table of the paper out, a line for each of its numbers (or pairs of numbers)."""
    table, rows = results.kernel.tables[number]
    sides = [paper.tables[number][1] for paper in (results.simulated, results.likewise, results.kernel)]
    lines = []
    for row, control in ((row, control) for row in range(len(rows)) for control in range(len(table.columns))):
        name = f"{rows[row].group.name}: {rows[row].row.name}{unit_suffix(rows[row].row.unit)}"
        values = [measured_cells(side[row], control) for side in sides]
        lines.append([name, table.columns[control], published_cells(rows[row], control), *values])
    heads = ["", "", "published", "simulated", "simulated likewise", results.name]
    columns = zip(heads, *lines, strict=True)
    return [Column(head, "", cells, is_right=place > 1) for place, (head, *cells) in enumerate(columns)]


def _statements(results: KernelResults) -> Table:
    """Lay the statements out with what was measured for each; a narrow terminal gets the verdicts alone."""
    return Table(_statement_columns(results, marked_measurement), narrow=_statement_columns(results, _mark))


def _statement_columns(results: KernelResults, write: Callable[[Claim, Judged], Marked]) -> list[Column]:
    claims = [claim for _, claims in results.kernel.statements for claim, _ in claims]
    sides = {
        "simulated": results.simulated,
        "simulated likewise": results.likewise,
        results.name: results.kernel,
    }
    judged = [
        Column(name, "", [write(claim, verdict) for _, claims in side.statements for claim, verdict in claims])
        for name, side in sides.items()
    ]
    said, ids = [claim.says for claim in claims], [claim.id for claim in claims]
    return [Column("statement", "", said), Column("id", "", ids), *judged]


def _mark(_: Claim, judged: Judged) -> Marked:
    return Marked([(MARKS[judged.verdict], judged.verdict)])


def _changes(results: KernelResults) -> list[str]:
    """Say where the kernel comes to another verdict than the simulator did, and why."""
    gathered: dict[str, list[str]] = {}
    for simulated, likewise, kernel in results.changed():
        agrees = likewise.verdict in (kernel.verdict, "undecided")
        reason = results.plan.reason(kernel.id) or (SETTINGS if agrees else UNEXPLAINED)
        gathered.setdefault(reason, []).append(_change(simulated, kernel))
    return [f"{flowing(reason)} ({', '.join(changes)})" for reason, changes in gathered.items()]


def _change(simulated: Judged, kernel: Judged) -> str:
    return f"`{kernel.id}` {MARKS[simulated.verdict]} to {MARKS[kernel.verdict]}"
