"""Repeats papers: runs their scenarios and compares the results with what they printed."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unbloat._core import InputError
from unbloat.claims.batches import Batch, RepeatRule, Simulate, measure, simulator
from unbloat.claims.measurements import Measurements
from unbloat.papers import extra_tables as extras
from unbloat.papers import figures, forecast, kernel, read, tables
from unbloat.papers.batches import batches_of, measure_until_sure
from unbloat.papers.extra_tables import ExtraTable, Measured
from unbloat.papers.judge import Judged, JudgedPaper, judge
from unbloat.papers.kernel import KernelResults, Selection
from unbloat.papers.paper import Paper, PaperError
from unbloat.report.report import Report
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.progress import StagedProgress
from unbloat.scenarios.checks import did_you_mean, one_of
from unbloat.scenarios.identity import code_hash
from unbloat.system.paths import PAPERS, cache_folder


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A paper's numbers and statements with their verdicts, as `reproduce` returns them."""

    judged: list[JudgedPaper]
    """The paper, then the paper in each of its other readings."""
    measurements: list[Mapping[str, Measurements]]
    """The measurements for each of them, by scenario."""
    extra_tables: list[Measured] = field(default_factory=list)
    """The tables beyond the paper, where they were asked for."""

    @property
    def paper(self) -> Paper:
        """The paper in its main reading."""
        return self.judged[0].paper

    def draw(self, folder: Path) -> list[Path]:
        """Draw every figure of the paper.

        Parameters
        ----------
        folder : path
            Made if it is missing.

        Returns
        -------
        list of Path
            The SVG files.

        """
        pairs = zip(self.judged, self.measurements, strict=True)
        return [file for judged, measured in pairs for file in figures.draw(judged, measured, folder)]

    def report(self) -> Report:
        """Make a report of the verdicts and what they rest on, to be written as text, Markdown, HTML or JSON."""
        parts = [part for judged in self.judged for part in tables.report_of(judged).parts]
        return Report(parts, self.as_dict())

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.judged[0].counts().items() if number)
        return f"<unbloat.Reproduction of {self.paper.name}: {counts}>"

    def __str__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()

    def failing(self) -> list[Judged]:
        """List the numbers and statements that are not reproduced, in the paper's own reading and the others."""
        return [each for judged in self.judged for each in judged.claims() if each.verdict != "reproduced"]

    def as_dict(self) -> dict[str, object]:
        """Return what `unbloat reproduce --json` prints: the paper, and its alternative readings by their ids."""
        first, *others = self.judged
        readings = {each.paper.reading.id: each.as_dict() for each in others if each.paper.reading}
        return {**first.as_dict(), "set": dict(self.paper.changed), "readings": readings}


log = logging.getLogger(__name__)


def reproduce(
    chosen: Paper,
    *,
    full: bool = False,
    extra_tables: bool = False,
    cache: bool | None = None,
    jobs: int | None = None,
) -> Reproduction:
    """Simulate what a paper's numbers need, and judge them; `extra_tables` adds the tables beyond the paper."""
    papers = [chosen, *chosen.other_readings()]
    beyond = extras.load(chosen.folder) if extra_tables else []
    stages = StagedProgress()
    simulate = simulator(cache=cache, jobs=jobs, stages=stages)
    if full:
        estimate = forecast.sampled(papers, simulate, jobs, cache)
    else:
        batches = [(batch, each.seeds) for each in papers for batch in batches_of(each)]
        estimate = forecast.counted(batches + _beyond(chosen, beyond), jobs, cache)
    log.info(estimate.words)
    stages.expect(estimate.durations_s)
    measured = [measure_until_sure(each, simulate) for each in papers]
    judged = [judge(*pair) for pair in zip(papers, measured, strict=True)]
    return Reproduction(judged, [*measured], _measured_tables(chosen, beyond, simulate))


def measure_extra_tables(
    chosen: Paper, table: str | None = None, *, cache: bool | None = None, jobs: int | None = None
) -> list[Measured]:
    """Simulate and lay out the tables beyond a paper, or one of them, as its `choices.toml` has them."""
    tables = {each.id: each for each in extras.load(chosen.folder)}
    if table is not None:
        one_of(f"{chosen.name}: table", table, list(tables))
        tables = {table: tables[table]}
    estimate, stages = forecast.counted(_beyond(chosen, tables.values()), jobs, cache), StagedProgress()
    log.info(estimate.words)
    stages.expect(estimate.durations_s)
    return _measured_tables(chosen, tables.values(), simulator(cache=cache, jobs=jobs, stages=stages))


def reproduce_on_kernel(
    chosen: Paper,
    on: str,
    *,
    kernel_release: str | None = None,
    cache: bool | None = None,
    jobs: int | None = None,
) -> KernelResults:
    """Repeat with a real kernel's TCP what a paper's `kernel.toml` names, and judge it beside the simulator."""
    plan = kernel.load(chosen).on(on)
    log.info(forecast.of_plan(chosen, plan, on, jobs))
    # Runs in guests need no such mark: a kept one is as good as a new one.
    identity = [chosen.name, str(plan), str(chosen.changed), code_hash(), platform.release()]
    checkpoint = Checkpoint(cache_folder("runs"), identity) if on == "kernel" else None

    def run(selection: Selection) -> Simulate:
        at_a_time = jobs or (selection.side_by_side if on == "kernel" else None)
        return simulator(on=on, kernel=kernel_release, cache=cache, jobs=at_a_time, checkpoint=checkpoint)

    results = kernel.repeat(chosen, plan, simulator(cache=cache, jobs=jobs), run)
    if checkpoint:
        checkpoint.finish()
    return results


def paper_of(
    paper: str | Path | Paper,
    overrides: Mapping[str, object] | None = None,
    *,
    table: str | None = None,
    claim: str | None = None,
    full: bool = False,
) -> Paper:
    """Read a paper, or a part of it, maybe with keys set anew and with all its repeats."""
    whole = paper if isinstance(paper, Paper) else read.load(folder_of(paper))
    if table and claim:
        raise InputError(f"claim {claim}: it is one number or statement, so that table {table} cannot narrow it")
    if full:
        whole = whole.with_all_repeats()
    if overrides:
        whole = whole.with_set(overrides)
    if claim:
        return whole.claim(claim)
    return whole.only(table) if table else whole


def folder_of(name: str | Path) -> Path:
    """Find a paper by its folder's path, or by its name among those that come with the package."""
    path = Path(name)
    if (path / "published.toml").exists():
        return path
    if (PAPERS / name / "published.toml").exists():
        return (PAPERS / name).resolve()
    known = sorted(file.parent.name for file in PAPERS.glob("*/published.toml"))
    others = f"papers: {', '.join(known)}, or a folder with a published.toml"
    raise PaperError(f"unknown paper `{name}`{did_you_mean(str(name), known)}; {others}")


def _beyond(paper: Paper, tables: Iterable[ExtraTable]) -> list[tuple[Batch, int]]:
    """List the runs of tables beyond the paper, each with its number of seeds."""
    return [(batch, table.seeds) for table in tables for batch in extras.batches(table, paper)]


def _measured_tables(paper: Paper, tables: Iterable[ExtraTable], simulate: Simulate) -> list[Measured]:
    """Run and lay out tables beyond the paper."""
    found = []
    for table in tables:
        measurements = measure(extras.batches(table, paper), RepeatRule(table.seeds), simulate)
        found.append((table, extras.lay_out(table, measurements)))
    return found
