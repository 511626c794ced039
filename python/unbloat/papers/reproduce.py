"""Repeats papers: runs their scenarios and compares the results with what they printed."""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unbloat._core import InputError
from unbloat.papers import extra_tables as extras
from unbloat.papers import figures, forecast, kernel, read, tables
from unbloat.papers.batches import Batch, Simulate, batches_of, measure
from unbloat.papers.decide import measure_until_sure
from unbloat.papers.extra_tables import Measured
from unbloat.papers.judge import Judged, JudgedPaper, judge
from unbloat.papers.kernel import KernelResults, Selection
from unbloat.papers.measurements import Measurements
from unbloat.papers.paper import Paper
from unbloat.papers.repeats import RepeatRule
from unbloat.papers.simulate import simulator
from unbloat.papers.toml_file import PaperError
from unbloat.report.report import Report
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.progress import StagedProgress
from unbloat.scenario.checks import did_you_mean
from unbloat.scenario.identity import code_hash
from unbloat.system.paths import PAPERS, cache_folder

log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A paper's numbers and statements with their verdicts, as `unbloat.reproduce` returns them."""

    judged: list[JudgedPaper]
    """The paper, then the paper in each of its other readings."""
    measurements: list[Mapping[str, Measurements]]
    """What was measured for each of them, by scenario."""
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

    def to_html(self, file: str | Path | None = None) -> str | None:
        """Write the reproduction as one HTML page that needs nothing else: answer, main claims, pictures, reasons.

        Parameters
        ----------
        file : path, optional
            Where to write it; its folder is made if it is missing.

        Returns
        -------
        str or None
            The page; None where it is written to a file.

        """
        from unbloat.papers.report_page import page_of  # It draws the figures, which take a while to load.

        page = page_of(self)
        if file is None:
            return page.html()
        page.write(Path(file))
        return None

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.judged[0].counts().items() if number)
        return f"<unbloat Reproduction of {self.paper.name}: {counts}>"

    def __str__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()

    def failing(self) -> list[Judged]:
        """List the numbers and statements that are not reproduced, in the paper's own reading and the others."""
        return [each for judged in self.judged for each in judged.claims() if each.verdict != "reproduced"]

    def as_dict(self) -> dict[str, Any]:
        """Return what `unbloat reproduce --json` prints: the paper, and its alternative readings by their ids."""
        first, *others = self.judged
        readings = {each.paper.reading.id: each.as_dict() for each in others if each.paper.reading}
        return {**first.as_dict(), "set": dict(self.paper.changed), "readings": readings}


def reproduce(
    paper: str | Path | Paper,
    overrides: Mapping[str, object] | None = None,
    *,
    table: str | None = None,
    claim: str | None = None,
    full: bool = False,
    extra_tables: bool = False,
    cache: bool | None = None,
    jobs: int | None = None,
) -> Reproduction:
    """Simulate what a paper's numbers and statements need, and judge them.

    Parameters
    ----------
    paper : str or path
        The name of one that comes with the package, or a folder with a `published.toml`.
    overrides : dict, optional
        Keys of the paper's scenarios to set anew, as for `unbloat.run`. The reasons that the paper's file gives for
        what differs are left out then.
    table : str, optional
        Only numbers and statements whose ids begin with this, such as "table2" or "table2.I".
    claim : str, optional
        Only the number or statement with this id, and the runs that it needs.
    full : bool
        Run cells on which verdicts hang up to as often as the paper's authors did.
    extra_tables : bool
        Add the tables beyond the paper: what its open choices change.
    cache, jobs
        As in `unbloat.run`.

    Returns
    -------
    Reproduction
        The verdicts: `report()` has them as text, Markdown and JSON, `to_html()` as a page, `draw()` draws the
        figures, `failing()` lists what is not reproduced.

    Raises
    ------
    InputError
        If the folder is wrong, or has nothing with the id that is asked for.
    RunError
        If a run fails.

    Examples
    --------
    >>> found = ub.reproduce("cubic-plus", claim="abstract.I.500")
    >>> print(found.report().text())
    >>> found.to_html("cubic-plus.html")
    >>> ub.reproduce("cubic-plus", {"flows.0.initial_window": 2}, claim="abstract.I.500").failing()

    """
    chosen = paper_of(paper, overrides, table=table, claim=claim, full=full)
    papers = [chosen, *chosen.other_readings()]
    stages = StagedProgress()
    simulate = simulator(cache=cache, jobs=jobs, stages=stages)
    if full:
        told = forecast.sampled(papers, simulate, jobs, cache)
    else:
        batches = [(batch, each.seeds) for each in papers for batch in batches_of(each)]
        told = forecast.counted(batches + (_beyond(chosen) if extra_tables else []), jobs, cache)
    log.info(told.words)
    stages.expect(told.durations_s)
    measured = [measure_until_sure(each, simulate) for each in papers]
    judged = [judge(*pair) for pair in zip(papers, measured, strict=True)]
    return Reproduction(judged, [*measured], _measured_tables(chosen, simulate) if extra_tables else [])


def measure_extra_tables(
    paper: str | Path | Paper, *, cache: bool | None = None, jobs: int | None = None
) -> list[Measured]:
    """Simulate and lay out the tables beyond a paper, as its `choices.toml` has them."""
    chosen = paper_of(paper)
    told, stages = forecast.counted(_beyond(chosen), jobs, cache), StagedProgress()
    log.info(told.words)
    stages.expect(told.durations_s)
    return _measured_tables(chosen, simulator(cache=cache, jobs=jobs, stages=stages))


def reproduce_on_kernel(
    paper: str | Path | Paper,
    on: str,
    overrides: Mapping[str, object] | None = None,
    *,
    table: str | None = None,
    claim: str | None = None,
    full: bool = False,
    kernel_release: str | None = None,
    cache: bool | None = None,
    jobs: int | None = None,
) -> KernelResults:
    """Repeat with a real kernel's TCP what a paper's `kernel.toml` names, and judge it beside the simulator.

    Parameters
    ----------
    on : {"kernel", "vm"}
        The running kernel, as root and in real time, or a stock kernel in guests.
    kernel_release : str, optional
        The guest's kernel, as `kernel` in `unbloat.run`.
    paper, overrides, table, claim, full, cache, jobs
        As in `unbloat.reproduce`.

    Returns
    -------
    KernelResults
        The verdicts: `kernel` has the kernel's, `simulated` those of the paper's TCP in the simulator, `likewise` those
        of the kernel's settings in the simulator. `changed()` lists the verdicts that differ.

    Raises
    ------
    InputError
        If the folder is wrong, has no `kernel.toml`, or that does not cover what is asked for.
    RunError
        If a run fails.

    Examples
    --------
    >>> ub.reproduce_on_kernel("cubic-plus", "vm", table="table2").failing()

    """
    chosen = paper_of(paper, overrides, table=table, claim=claim, full=full)
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
    others = f"there are {', '.join(known)}, and any folder with a published.toml"
    raise PaperError(f"no paper `{name}`{did_you_mean(str(name), known)}; {others}")


def _beyond(paper: Paper) -> list[tuple[Batch, int]]:
    """List the runs of the tables beyond the paper, and with how many seeds each."""
    return [(batch, table.seeds) for table in extras.load(paper.folder) for batch in extras.batches(table, paper)]


def _measured_tables(paper: Paper, simulate: Simulate) -> list[Measured]:
    """Run and lay out the tables beyond the paper."""
    found = []
    for table in extras.load(paper.folder):
        measurements = measure(extras.batches(table, paper), RepeatRule(table.seeds), simulate)
        found.append((table, extras.lay_out(table, measurements)))
    return found
