"""A kernel's rows beside the simulated and the published ones: `unbloat reproduce PAPER --on kernel`, or `--on vm`.

A paper's `kernel.toml` says which grid points of its scenarios a kernel runs, and with which settings. The kernel's TCP
cannot do everything that a paper's did. So there are two simulated columns: the paper's TCP, and the kernel's grid
point set for set.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from unbloat._core import GridPoint
from unbloat.claims.batches import Batch, RepeatRule, Simulate, measure
from unbloat.claims.claim import Claim
from unbloat.claims.measurements import Measurements
from unbloat.papers import judge
from unbloat.papers.batches import narrowed
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import Paper, PaperError, Reason, flowing
from unbloat.papers.read import is_scenario
from unbloat.papers.tables import (
    LEGEND,
    UNEXPLAINED,
    commands_of,
    counts_line,
    mark_of,
    marked_measurement,
    measured_cells,
    published_cells,
)
from unbloat.report.report import Heading, Listing, Part, Report, Table
from unbloat.report.table import Column, Marked
from unbloat.results.record import why_unsound
from unbloat.scenarios.source import source_of
from unbloat.system.toml_file import Keys, shortened, toml_file

FILE = "kernel.toml"
Backend = Literal["", "kernel", "vm"]
"""The backend on which something applies; both if empty."""


class Selection(Struct, frozen=True, forbid_unknown_fields=True):
    """Grid points of one scenario file that the kernel runs."""

    scenario: str
    at: list[str] = []
    """Labels that a grid point must have; without any, every grid point runs."""
    side_by_side: Annotated[int, Meta(ge=1)] = 1
    """Number of grid points that run at a time."""
    set: dict[str, object] = {}
    """Keys of the scenario that are set anew."""
    on: Backend = ""
    """The backend that runs them; both if empty."""

    def covers(self, scenario: str, at: Sequence[str]) -> bool:
        """Return whether a table's or a claim's setting is among the grid points."""
        return scenario == self.scenario and set(self.at) <= set(at)

    def batch(self, paper: Paper, *, as_on_kernel: bool) -> Batch:
        """Return the runs, as the kernel does them or as the paper has them."""
        overrides = {**(self.set if as_on_kernel else {}), **paper.changed}
        file = paper.folder / f"{self.scenario}.toml"
        series = paper.series.get(self.scenario, "")
        return narrowed(Batch(self.scenario, file, tuple(self.at), overrides, series), paper)

    def points(self, paper: Paper) -> list[GridPoint]:
        """List the runs, as the kernel does them."""
        batch = self.batch(paper, as_on_kernel=True)
        return [point for point in source_of(batch.source, batch.overrides).points() if batch.wants(dict(point.axes))]

    def real_seconds(self, paper: Paper, jobs: int | None) -> float:
        """Say how many seconds the kernel takes for them in real time, with `jobs` at a time."""
        points = self.points(paper)
        return math.ceil(len(points) / (jobs or self.side_by_side)) * max(point.duration_s for point in points)


class KernelReason(Reason, frozen=True, forbid_unknown_fields=True):
    """A reason why the kernel's verdict differs from the simulator's."""

    on: Backend = ""
    """The backend on which that is so."""


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of a paper that the kernel repeats."""

    text: str
    """The differences from the paper, for the page."""
    runs: list[Selection] = []
    reasons: list[KernelReason] = []
    without: list[str] = []
    """Tables and statements that are left out, because no kernel runs or tells what they measure."""

    def on(self, backend: str) -> Plan:
        """Leave out what is run and what holds elsewhere only."""
        runs = [each for each in self.runs if each.on in ("", backend)]
        return replace(self, runs=runs, reasons=[each for each in self.reasons if each.on in ("", backend)])

    def of(self, paper: Paper) -> Paper:
        """Return the part of a paper that the plan covers; raises `PaperError` if that is nothing."""
        part = dataclasses.replace(paper.part(self._covers).without(self.without), figures=[])
        if not part.scenarios():
            raise PaperError(f"{FILE} runs nothing that these tables and statements need")
        return part

    def needed(self, part: Paper) -> list[Selection]:
        """List the runs that a part of the paper needs."""
        return [selection for selection in self.runs if selection.scenario in part.scenarios()]

    def reason(self, claim: str) -> Reason | None:
        """Return the reason why a claim's verdict differs on the kernel; None when none has been found."""
        return next((reason for reason in self.reasons if reason.is_about(claim)), None)

    def _covers(self, scenario: str, at: Sequence[str]) -> bool:
        return any(selection.covers(scenario, at) for selection in self.runs)


def load(paper: Paper) -> Plan:
    """Read `kernel.toml` of a paper's folder; raises `PaperError`."""
    file = toml_file(paper.folder / FILE, "it says which of the paper's runs the kernel repeats", PaperError)
    plan = file.convert(Plan)
    for keys, sentence in _mistakes(plan, paper):
        raise file.wrong(keys, sentence)
    return plan


def _mistakes(plan: Plan, paper: Paper) -> Iterator[tuple[Keys, str]]:
    seen: set[tuple[str, str]] = set()
    for number, selection in enumerate(plan.runs):
        places = {(selection.scenario, backend) for backend in ("kernel", "vm") if selection.on in ("", backend)}
        if seen & places or not is_scenario(paper.folder, selection.scenario):
            name = shortened(selection.scenario)
            yield ("runs", number, "scenario"), f"each [[runs]] names another scenario file of the folder, not {name}"
        seen |= places
    if paper.asked:
        return  # A part of a paper lacks what the plan leaves out of the whole.
    for number, name in enumerate(plan.without):
        if name not in (*paper.statement_ids(), *(table.id for table in paper.tables)):
            yield ("without", number), f"{paper.name} has no table or statement {shortened(name)}"


@dataclass(frozen=True, repr=False)
class KernelResults:
    """A part of a paper, judged three times."""

    plan: Plan
    simulated: JudgedPaper
    """The paper's TCP, simulated."""
    matched: JudgedPaper
    """The kernel's settings, simulated."""
    kernel: JudgedPaper
    runs: dict[str, Measurements]
    """The kernel's runs, by scenario."""

    @property
    def name(self) -> str:
        """The name of the kernel's side in tables."""
        records = [run.run for measurements in self.runs.values() for run in measurements.runs]
        if records[0]["on"] == "kernel":
            return "kernel"
        return " and ".join(sorted({f"Linux {record['kernel']}" for record in records})) + " in a guest"

    @property
    def release(self) -> str:
        """The release of the kernel, such as `6.12.9`."""
        return str(next(iter(self.runs.values())).runs[0].run["kernel"])

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.kernel.counts().items() if number)
        return f"<unbloat.KernelResults of {self.kernel.paper.name} on {self.name}: {counts}>"

    def unsound(self) -> list[str]:
        """List the kernel's runs that are not to be believed, and why."""
        return [
            f"{name}, {', '.join(run.axes.values())}: {why_unsound(run.run)}"
            for name, measurements in self.runs.items()
            for run in measurements.runs
            if not run.run["sound"]
        ]

    def failing(self) -> list[Judged]:
        """List what is not reproduced on the kernel."""
        return [each for each in self.kernel.claims() if each.verdict != "reproduced"]

    def changed(self) -> list[tuple[Judged, Judged, Judged]]:
        """List three verdicts where the first and the last differ: paper's TCP, kernel's settings, kernel.

        Any verdict of the kernel agrees with *undecided*, and an unsound run has no verdict.
        """
        sides = zip(self.simulated.claims(), self.matched.claims(), self.kernel.claims(), strict=True)
        return [
            (simulated, matched, kernel)
            for simulated, matched, kernel in sides
            if simulated.verdict not in ("undecided", kernel.verdict) and kernel.verdict != "unsound"
        ]

    def agreement(self) -> tuple[int, int]:
        """Count the verdicts that the kernel shares with the simulator at its settings, and those that both decide."""
        sides = zip(self.matched.claims(), self.kernel.claims(), strict=True)
        both = [pair for pair in sides if not {each.verdict for each in pair} & {"undecided", "unsound"}]
        return sum(matched.verdict == kernel.verdict for matched, kernel in both), len(both)

    def as_dict(self) -> dict[str, object]:
        """Return what `unbloat reproduce --on kernel --json` prints: the kernel's claims beside the simulator's."""
        first = next(iter(self.runs.values())).runs[0].run
        claims = zip(self.kernel.claims(), self.simulated.claims(), self.matched.claims(), strict=True)
        return {
            "paper": self.kernel.paper.name,
            "on": first["on"],
            "kernel": first["kernel"],
            "claims": [
                {**kernel.as_dict(), "simulated": _beside(simulated), "simulated_with_its_settings": _beside(matched)}
                for kernel, simulated, matched in claims
            ],
            "counts": self.kernel.counts(),
            "unsound": self.unsound(),
        }


def _beside(simulated: Judged) -> dict[str, object]:
    return {"measured": simulated.measured, "verdict": simulated.verdict}


def repeat(paper: Paper, plan: Plan, simulate: Simulate, run: Callable[[Selection], Simulate]) -> KernelResults:
    """Do the runs; `run` gives the function that does those of a selection on the kernel."""
    part = plan.of(paper)
    needed = plan.needed(part)
    real: dict[str, Measurements] = {}
    for selection in needed:
        real |= measure([selection.batch(paper, as_on_kernel=True)], RepeatRule(1), run(selection))
    as_paper = measure([each.batch(paper, as_on_kernel=False) for each in needed], paper.repeats, simulate)
    as_kernel = measure([each.batch(paper, as_on_kernel=True) for each in needed], paper.repeats, simulate)
    return KernelResults(
        plan,
        judge.judge(part, as_paper),
        judge.judge(part, as_kernel),
        judge.judge(dataclasses.replace(part, reasons=[] if part.changed else [*plan.reasons, *part.reasons]), real),
        real,
    )


SETTINGS = "The settings make the difference: with them the simulator comes to the kernel's verdict, or to none."
MATCHED = "simulated, kernel's settings"


def report_of(results: KernelResults) -> Report:
    """Make the report for a terminal."""
    return Report(list(_parts(results)), results.as_dict())


def page_of(results: KernelResults) -> Report:
    """Make the part of the kernel's page: the agreement in a sentence, and where verdicts differ."""
    return Report([agreement_line(results), *_remarks(results)], results.as_dict())


def agreement_line(results: KernelResults) -> str:
    """Say how far the kernel agrees with the simulator and with the paper."""
    shared, both = results.agreement()
    counts = results.kernel.counts()
    name = f"This machine's Linux {results.release}" if results.name == "kernel" else results.name
    return (
        f"{name}: {shared} of {both} verdicts are those of the simulator with the same settings; "
        f"{counts['reproduced']} of {sum(counts.values())} numbers and statements are reproduced."
    )


def _parts(results: KernelResults) -> Iterator[Part]:
    yield flowing(results.plan.text)
    counts = [
        f"simulated, the paper's TCP: {counts_line(results.simulated)}",
        f"{MATCHED}: {counts_line(results.matched)}",
        f"{results.name}: {counts_line(results.kernel)}",
    ]
    yield Listing("", counts)
    yield f"{LEGEND} A kernel's grid point is run once and has no interval."
    for number, (table, _) in enumerate(results.kernel.tables):
        yield Table(_table(results, number), table.title)
    if results.kernel.statements:
        yield Heading("Statements of the text")
        yield _statements(results)
    yield from _remarks(results)


def _remarks(results: KernelResults) -> Iterator[Part]:
    if unsound := results.unsound():
        yield Listing("Unsound runs, whose numbers are not judged", unsound)
    if changes := _changes(results):
        yield Listing("Where the kernel's verdict differs from the simulated one, and why", changes)


def _table(results: KernelResults, number: int) -> list[Column]:
    """Lay one table of the paper out, a line for each of its numbers (or pairs of numbers)."""
    table, rows = results.kernel.tables[number]
    sides = [paper.tables[number][1] for paper in (results.simulated, results.matched, results.kernel)]
    lines = []
    for row, control in ((row, control) for row in range(len(rows)) for control in range(len(table.columns))):
        values = [measured_cells(side[row], control) for side in sides]
        lines.append([rows[row].name, table.columns[control], published_cells(rows[row], control), *values])
    heads = ["", "", "published", "simulated", MATCHED, results.name]
    columns = zip(heads, *lines, strict=True)
    return [Column(head, "", points, is_right=place > 1) for place, (head, *points) in enumerate(columns)]


def _statements(results: KernelResults) -> Table:
    """Lay the statements out with what was measured for each; a narrow terminal gets the verdicts alone."""
    return Table(_statement_columns(results, marked_measurement), narrow=_statement_columns(results, _mark))


def _statement_columns(results: KernelResults, write: Callable[[Claim, Judged], Marked]) -> list[Column]:
    claims = [claim for _, claims in results.kernel.statements for claim, _ in claims]
    sides = {
        "simulated": results.simulated,
        MATCHED: results.matched,
        results.name: results.kernel,
    }
    judged = [
        Column(name, "", [write(claim, verdict) for _, claims in side.statements for claim, verdict in claims])
        for name, side in sides.items()
    ]
    said, ids = [claim.says for claim in claims], [claim.id for claim in claims]
    return [Column("statement", "", said), Column("id", "", ids), *judged]


def _mark(_: Claim, judged: Judged) -> Marked:
    return Marked([(mark_of(judged), judged.verdict)])


def _changes(results: KernelResults) -> list[str]:
    """Say where the kernel comes to another verdict than the simulator did, and why."""
    gathered: dict[str, list[str]] = {}
    for simulated, matched, kernel in results.changed():
        reason = results.plan.reason(kernel.id)
        agrees = matched.verdict in (kernel.verdict, "undecided")
        words = (
            "\n".join([flowing(reason.text), *commands_of(reason)]) if reason else SETTINGS if agrees else UNEXPLAINED
        )
        gathered.setdefault(words, []).append(_change(simulated, kernel))
    return [f"{words}\n{', '.join(changes)}" for words, changes in gathered.items()]


def _change(simulated: Judged, kernel: Judged) -> str:
    return f"`{kernel.id}` {mark_of(simulated)} to {mark_of(kernel)}"
