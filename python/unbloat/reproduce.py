"""`unbloat reproduce PAPER`: run a paper's scenarios and hold the results against what it printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from unbloat import choices, judged, paper_cost, paper_figures, paper_full, paper_tables, published
from unbloat.arguments import check_kernel
from unbloat.attempt import Attempt
from unbloat.measured import Measurements, Run
from unbloat.pages import require_part, write_parts
from unbloat.paper_runs import Axes, Batch, Simulate, batches_of, measure
from unbloat.places import PAPERS
from unbloat.runner import run as run_scenario
from unbloat.terminal import plain, say


def main(arguments: argparse.Namespace) -> int:
    """Carry the command out; raises `PaperError` and `ClaimError` for a wrong folder, `Error` of the core for a run."""
    paper = published.load(folder_of(arguments.paper))
    if arguments.full:
        if arguments.choices:
            raise published.PaperError("--full is for a paper's tables; those of --choices say themselves how often")
        paper = paper_full.with_all_repeats(paper)
    check_kernel(arguments.kernel, arguments.on)
    if arguments.on != "simulator":
        from unbloat.reproduce_on_kernel import main as reproduce_on_kernel

        reproduce_on_kernel(arguments, paper.only(arguments.table) if arguments.table else paper)
        return 0
    simulate = simulator(cache=arguments.cache, jobs=arguments.jobs)
    if arguments.choices:
        announce(beyond(paper.folder), arguments.jobs)
        say("\n\n".join(choices.text_of(*pair) for pair in measure_choices(paper.folder, simulate)))
        return 0
    if arguments.table:
        paper = paper.only(arguments.table)
    papers = [paper, *paper.other_readings()]
    if arguments.page:
        require_parts(papers)
    if arguments.full:
        print(f"unbloat: {paper_full.forecast(papers, arguments.jobs)}", file=sys.stderr, flush=True)
    else:
        batches = [(batch, paper.seeds) for each in papers for batch in batches_of(each)]
        announce(batches + (beyond(paper.folder) if arguments.page else []), arguments.jobs)
    measured = [measure(batches_of(each), each.seeds, simulate) for each in papers]
    results = [judged.judge(*pair) for pair in zip(papers, measured, strict=True)]
    if arguments.json:
        json.dump(as_dict(results), sys.stdout, indent=2, allow_nan=False)
        sys.stdout.write("\n")
    else:
        sys.stdout.write(plain("\n\n".join(map(paper_tables.text_of, results))))
    folder = arguments.output or Path("results") / paper.name
    figures = [file for pair in zip(papers, measured, strict=True) for file in paper_figures.draw(*pair, folder)]
    if figures and not arguments.json:
        sys.stdout.write(f"Figures: {', '.join(map(str, figures))}\n")
    if arguments.page:
        write_page(results, measured, simulate)
    return 0


def as_dict(results: Sequence[judged.JudgedPaper]) -> dict[str, Any]:
    """Give what `--json` prints: the paper, and its other readings by their ids."""
    first, *others = results
    readings = {each.paper.reading.id: each.as_dict() for each in others if each.paper.reading}
    return {**first.as_dict(), "readings": readings}


Repeated = list[tuple[Batch, int]]
"""Runs, and with how many seeds each."""


def beyond(folder: Path) -> Repeated:
    """List the runs of the tables beyond the paper."""
    return [(batch, table.seeds) for table in choices.load(folder) for batch in choices.batches(table, folder)]


def announce(batches: Repeated, jobs: int | None) -> None:
    """Say how much it is before it begins."""
    print(f"unbloat: {paper_cost.forecast(batches, jobs)}", file=sys.stderr, flush=True)


def folder_of(name: str) -> Path:
    """Find a paper by its folder's path, or by its name among those that come with the package."""
    path = Path(name)
    if (path / "published.toml").exists():
        return path
    if (PAPERS / name / "published.toml").exists():
        return (PAPERS / name).resolve()
    known = sorted(file.parent.name for file in PAPERS.glob("*/published.toml"))
    raise published.PaperError(f"no paper `{name}`; there are {', '.join(known)}, and any folder with a published.toml")


# ---------------------------------------------------------------- Runs


def simulator(
    *,
    on: str = "simulator",
    kernel: str | None = None,
    cache: bool | None,
    jobs: int | None,
    attempt: Attempt | None = None,
) -> Simulate:
    """Give the function that runs the cells of a batch; the arguments are those of `unbloat.run`."""

    def simulate(batch: Batch, seeds: Sequence[int], only: Callable[[Axes], bool]) -> list[Run]:
        results = run_scenario(
            batch.file,
            {**batch.overrides, "sweep.seed": list(seeds)},
            only=lambda axes: only(_without_seed(axes)),
            on=on,
            kernel=kernel,
            series=batch.series or False,
            cache=cache,
            jobs=jobs,
            attempt=attempt,
        )
        windows = _columns_of(results.series, WINDOW) if batch.series else {}
        rates = _columns_of(results.series, RATE) if batch.series else {}
        return [
            Run(_without_seed(record.axes), record.run["seed"], record.run, windows.get(number), rates.get(number))
            for number, record in enumerate(results.records)
        ]

    return simulate


def _without_seed(axes: Axes) -> Axes:
    return {name: label for name, label in axes.items() if name != "seed"}


WINDOW = ["time_s", "cwnd_packets", "retransmitted_packets"]
RATE = ["time_s", "goodput_mbps", "in_flight_packets"]


def _columns_of(series: pd.DataFrame, columns: list[str]) -> dict[int, dict[int, np.ndarray]]:
    """Give these columns of every run by its number, for each of its flows: a row per column."""
    found: dict[int, dict[int, np.ndarray]] = {}
    for key, rows in series.groupby(["run", "flow"], sort=True):
        run, flow = cast("tuple[int, int]", key)
        found.setdefault(int(run), {})[int(flow)] = rows[columns].to_numpy(dtype=float).T
    return found


def measure_choices(folder: Path, simulate: Simulate) -> list[tuple[choices.Choices, list[choices.Laid]]]:
    """Run and lay out the tables of the paper's open choices."""
    laid = []
    for table in choices.load(folder):
        measurements = measure(choices.batches(table, folder), table.seeds, simulate)
        laid.append((table, choices.lay_out(table, measurements)))
    return laid


# ---------------------------------------------------------------- The page in the paper's folder


def write_page(
    results: Sequence[judged.JudgedPaper], measured: Sequence[Mapping[str, Measurements]], simulate: Simulate
) -> None:
    """Replace the marked parts of the folder's README.md, and draw its figures beside it."""
    folder = results[0].paper.folder
    parts = {part_of(result.paper): paper_tables.markdown_of(result) for result in results}
    for table, laid in measure_choices(folder, simulate):
        parts[table.id] = choices.markdown_of(table, laid)
    write_parts(folder / "README.md", parts)
    for result, measurements in zip(results, measured, strict=True):
        paper_figures.draw(result.paper, measurements, folder / "figures")


def require_parts(papers: Sequence[published.Paper]) -> None:
    """Refuse a page that lacks a part before long runs are made for it; raises `InputError`."""
    folder = papers[0].folder
    for part in [*map(part_of, papers), *(table.id for table in choices.load(folder))]:
        require_part(folder / "README.md", part)


def part_of(paper: published.Paper) -> str:
    """Name the part of the page that a reading has."""
    return paper.reading.id if paper.reading else "verdicts"
