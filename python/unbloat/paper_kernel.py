"""`unbloat reproduce PAPER --on kernel`: a paper's rows from real runs, beside the simulated and the published ones.

A paper's `kernel.toml` says which cells of its scenarios the kernel runs and what they must be set to for that: the
kernel's TCP cannot do everything that a paper's did. So there are two simulated columns: the paper's TCP, and the
kernel's cell set for set.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbloat import judged
from unbloat.judged import JudgedPaper
from unbloat.measured import Measurements
from unbloat.paper_runs import Batch, Simulate, measure
from unbloat.published import Paper, PaperError, Reason, build
from unbloat.results import why_unsound
from unbloat.source import source_of

FILE = "kernel.toml"


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

    def covers(self, scenario: str, at: Sequence[str]) -> bool:
        """Tell whether a table's or a claim's setting is among the cells."""
        return scenario == self.scenario and set(self.at) <= set(at)

    def batch(self, paper: Paper, *, as_on_kernel: bool) -> Batch:
        """Give the runs, as the kernel does them or as the paper has them."""
        overrides = self.set if as_on_kernel else {}
        return Batch(self.scenario, paper.folder / f"{self.scenario}.toml", tuple(self.at), overrides)

    def seconds(self, paper: Paper) -> float:
        """Say how long the kernel takes for them."""
        cells = source_of(paper.folder / f"{self.scenario}.toml", self.set).cells()
        chosen = [cell for cell in cells if set(self.at) <= {label for _, label in cell.axes}]
        return math.ceil(len(chosen) / self.side_by_side) * max(cell.duration_s for cell in chosen)


@dataclass(frozen=True)
class Plan:
    """What the kernel repeats of a paper."""

    text: str
    """What differs from the paper, for the page."""
    runs: list[Selection]
    reasons: list[Reason]
    """Why the kernel's verdicts are others than the simulator's."""

    def of(self, paper: Paper) -> Paper:
        """Give the part of a paper that the plan covers; raises `PaperError` if that is nothing."""
        tables = [
            dataclasses.replace(table, groups=[each for each in table.groups if self._covers(each.scenario, each.at)])
            for table in paper.tables
        ]
        part = dataclasses.replace(
            paper,
            tables=[table for table in tables if table.groups],
            statements=[each for each in paper.statements if self._covers(each.scenario, each.at)],
            figures=[],
        )
        if not part.scenarios():
            raise PaperError(f"{FILE} runs nothing that these tables and statements need")
        return part

    def needed(self, part: Paper) -> list[Selection]:
        """List the runs that a part of the paper needs."""
        return [selection for selection in self.runs if selection.scenario in part.scenarios()]

    def reason(self, claim: str) -> str:
        """Give the reason for a claim's verdict on the kernel; empty when none has been found."""
        return next((reason.text for reason in self.reasons if reason.is_about(claim)), "")

    def _covers(self, scenario: str, at: Sequence[str]) -> bool:
        return any(selection.covers(scenario, at) for selection in self.runs)


def load(paper: Paper) -> Plan:
    """Read `kernel.toml` of a paper's folder; raises `PaperError`."""
    path = paper.folder / FILE
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        runs = [build(Selection, entry, f"[[runs]] of {entry.get('scenario', '?')}") for entry in data.get("runs", [])]
        reasons = [build(Reason, entry, "[[reasons]]") for entry in data.get("reasons", [])]
        plan = build(Plan, {**data, "runs": runs, "reasons": reasons}, "the file")
    except FileNotFoundError:
        raise PaperError(f"{path}: no such file; it says which of the paper's runs the kernel repeats") from None
    except (tomllib.TOMLDecodeError, PaperError) as error:
        raise PaperError(f"{path}: {error}") from None
    names = [selection.scenario for selection in plan.runs]
    for name in names:
        if names.count(name) > 1 or not (paper.folder / f"{name}.toml").is_file():
            raise PaperError(f"{path}: each [[runs]] names another scenario file of the folder, not {name}")
    return plan


@dataclass(frozen=True)
class Repeated:
    """A part of a paper, judged three times."""

    simulated: JudgedPaper
    """The paper's TCP, simulated."""
    likewise: JudgedPaper
    """What the kernel ran, simulated."""
    kernel: JudgedPaper
    unsound: dict[str, list[str]]
    """By scenario the kernel's runs that are not to be believed, and why."""


def repeat(paper: Paper, plan: Plan, simulate: Simulate, run: Mapping[str, Simulate]) -> Repeated:
    """Do the runs; `run` has the function that runs a scenario on the kernel."""
    part = plan.of(paper)
    needed = plan.needed(part)
    real: dict[str, Measurements] = {}
    for selection in needed:
        real |= measure([selection.batch(paper, as_on_kernel=True)], 1, run[selection.scenario])
    as_paper = measure([each.batch(paper, as_on_kernel=False) for each in needed], paper.seeds, simulate)
    as_kernel = measure([each.batch(paper, as_on_kernel=True) for each in needed], paper.seeds, simulate)
    return Repeated(
        judged.judge(part, as_paper),
        judged.judge(part, as_kernel),
        judged.judge(dataclasses.replace(part, reasons=[*plan.reasons, *part.reasons]), real),
        {name: _unsound(measurements) for name, measurements in real.items()},
    )


def _unsound(measurements: Measurements) -> list[str]:
    return [
        f"{', '.join(run.axes.values())}: {why_unsound(run.record)}"
        for run in measurements.runs
        if not run.record["sound"]
    ]
