"""`unbloat reproduce PAPER --on kernel`, or `--on vm`: a kernel's rows beside the simulated and the published ones.

A paper's `kernel.toml` says which cells of its scenarios a kernel runs and what they must be set to for that: the
kernel's TCP cannot do everything that a paper's did. So there are two simulated columns: the paper's TCP, and the
kernel's cell set for set.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbloat._core import Cell
from unbloat.papers import judge
from unbloat.papers.batches import Batch, Simulate, measure
from unbloat.papers.judge import Judged, JudgedPaper, JudgedRow
from unbloat.papers.measurements import Measurements
from unbloat.papers.paper import Paper, PaperError, Reason
from unbloat.papers.read import build, is_scenario, read_toml, tables_in
from unbloat.results.record import why_unsound
from unbloat.scenario.source import source_of

FILE = "kernel.toml"
BACKENDS = ("kernel", "vm")


@dataclass(frozen=True)
class Selection:
    """Cells of one scenario file that the kernel runs."""

    scenario: str
    at: list[str] = field(default_factory=list)
    """Only cells with all these labels; every cell without."""
    side_by_side: int = 1
    """How many of them at a time."""
    set: dict[str, object] = field(default_factory=dict)
    """Keys of the scenario that are set anew."""
    on: str = ""
    """Where they are run, `kernel` or `vm`; in both if empty."""

    def covers(self, scenario: str, at: Sequence[str]) -> bool:
        """Tell whether a table's or a claim's setting is among the cells."""
        return scenario == self.scenario and set(self.at) <= set(at)

    def batch(self, paper: Paper, *, as_on_kernel: bool) -> Batch:
        """Give the runs, as the kernel does them or as the paper has them."""
        overrides = self.set if as_on_kernel else {}
        file = paper.folder / f"{self.scenario}.toml"
        return Batch(self.scenario, file, tuple(self.at), overrides, paper.series.get(self.scenario, ""))

    def cells(self, paper: Paper) -> list[Cell]:
        """List the runs, as the kernel does them."""
        cells = source_of(paper.folder / f"{self.scenario}.toml", self.set).cells()
        return [cell for cell in cells if set(self.at) <= {label for _, label in cell.axes}]

    def real_seconds(self, paper: Paper, jobs: int | None) -> float:
        """Say how many seconds the kernel takes for them in real time, with so many at a time."""
        cells = self.cells(paper)
        return math.ceil(len(cells) / (jobs or self.side_by_side)) * max(cell.duration_s for cell in cells)


@dataclass(frozen=True)
class KernelReason(Reason):
    """Why the kernel's verdict is another than the simulator's."""

    on: str = ""
    """Where that is so, `kernel` or `vm`; in both if empty."""


@dataclass(frozen=True)
class Plan:
    """What the kernel repeats of a paper."""

    text: str
    """What differs from the paper, for the page."""
    runs: list[Selection]
    reasons: list[KernelReason]

    def on(self, backend: str) -> Plan:
        """Leave out what is run and what holds elsewhere only."""
        runs = [each for each in self.runs if each.on in ("", backend)]
        return dataclasses.replace(self, runs=runs, reasons=[each for each in self.reasons if each.on in ("", backend)])

    def of(self, paper: Paper) -> Paper:
        """Give the part of a paper that the plan covers; raises `PaperError` if that is nothing."""
        part = dataclasses.replace(paper.part(self._covers), figures=[])
        if not part.scenarios():
            raise PaperError(f"{FILE} runs nothing that these tables and statements need")
        return part

    def needed(self, part: Paper) -> list[Selection]:
        """List the runs that a part of the paper needs."""
        return [selection for selection in self.runs if selection.scenario in part.scenarios()]

    def reason(self, claim: str) -> str:
        """Give the reason why a claim's verdict is another on the kernel; empty when none has been found."""
        return next((reason.text for reason in self.reasons if reason.is_about(claim)), "")

    def _covers(self, scenario: str, at: Sequence[str]) -> bool:
        return any(selection.covers(scenario, at) for selection in self.runs)


def load(paper: Paper) -> Plan:
    """Read `kernel.toml` of a paper's folder; raises `PaperError`."""
    path = paper.folder / FILE
    data = read_toml(path, "it says which of the paper's runs the kernel repeats")
    try:
        listed = tables_in(data, "runs", "the file")
        runs = [build(Selection, entry, f"[[runs]] of {entry.get('scenario', '?')}") for entry in listed]
        reasons = [build(KernelReason, entry, "[[reasons]]") for entry in tables_in(data, "reasons", "the file")]
        plan = build(Plan, {**data, "runs": runs, "reasons": reasons}, "the file")
    except PaperError as error:
        raise PaperError(f"{path}: {error}") from None
    placed: list[Selection | KernelReason] = [*runs, *reasons]
    for entry in placed:
        if entry.on not in ("", *BACKENDS):
            raise PaperError(f"{path}: on is {' or '.join(BACKENDS)}, not {entry.on}")
    for backend in BACKENDS:
        names = [selection.scenario for selection in plan.on(backend).runs]
        for name in names:
            if names.count(name) > 1 or not is_scenario(paper.folder, name):
                raise PaperError(f"{path}: each [[runs]] names another scenario file of the folder, not {name}")
    return plan


@dataclass(frozen=True)
class KernelResults:
    """A part of a paper, judged three times."""

    plan: Plan
    simulated: JudgedPaper
    """The paper's TCP, simulated."""
    likewise: JudgedPaper
    """What the kernel ran, simulated."""
    kernel: JudgedPaper
    runs: dict[str, Measurements]
    """The kernel's runs, by scenario."""

    @property
    def name(self) -> str:
        """What the tables call the kernel's side."""
        records = [run.record for measurements in self.runs.values() for run in measurements.runs]
        if records[0]["on"] == "kernel":
            return "kernel"
        return " and ".join(sorted({f"Linux {record['kernel']}" for record in records})) + " in a guest"

    def unsound(self) -> list[str]:
        """List the kernel's runs that are not to be believed, and why."""
        return [
            f"{name}, {', '.join(run.axes.values())}: {why_unsound(run.record)}"
            for name, measurements in self.runs.items()
            for run in measurements.runs
            if not run.record["sound"]
        ]

    def is_sound(self, row: JudgedRow, column: str) -> bool:
        """Tell whether the run behind one number of a table is to be believed."""
        runs = self.runs[row.group.scenario].pick([*row.group.at, *row.row.at, column])
        return all(run.record["sound"] for run in runs)

    def changed(self) -> list[tuple[Judged, Judged]]:
        """Pair the simulated and the kernel's verdicts where they are not the same."""
        pairs = zip(self.simulated.claims(), self.kernel.claims(), strict=True)
        return [(simulated, kernel) for simulated, kernel in pairs if simulated.verdict != kernel.verdict]

    def as_dict(self) -> dict[str, Any]:
        """Give what `unbloat reproduce --on kernel --json` prints: the kernel's claims, with the simulator's beside."""
        first = next(iter(self.runs.values())).runs[0].record
        claims = zip(self.kernel.claims(), self.simulated.claims(), self.likewise.claims(), strict=True)
        return {
            "paper": self.kernel.paper.name,
            "on": first["on"],
            "kernel": first["kernel"],
            "claims": [
                {**kernel.as_dict(), "simulated": _beside(simulated), "simulated_likewise": _beside(likewise)}
                for kernel, simulated, likewise in claims
            ],
            "counts": self.kernel.counts(),
            "unsound": self.unsound(),
        }


def _beside(simulated: Judged) -> dict[str, Any]:
    return {"measured": simulated.measured, "verdict": simulated.verdict}


def repeat(paper: Paper, plan: Plan, simulate: Simulate, run: Callable[[Selection], Simulate]) -> KernelResults:
    """Do the runs; `run` gives the function that does those of a selection on the kernel."""
    part = plan.of(paper)
    needed = plan.needed(part)
    real: dict[str, Measurements] = {}
    for selection in needed:
        real |= measure([selection.batch(paper, as_on_kernel=True)], 1, run(selection))
    as_paper = measure([each.batch(paper, as_on_kernel=False) for each in needed], paper.seeds, simulate)
    as_kernel = measure([each.batch(paper, as_on_kernel=True) for each in needed], paper.seeds, simulate)
    return KernelResults(
        plan,
        judge.judge(part, as_paper),
        judge.judge(part, as_kernel),
        judge.judge(dataclasses.replace(part, reasons=[*plan.reasons, *part.reasons]), real),
        real,
    )
