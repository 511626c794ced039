"""`unbloat reproduce PAPER --on kernel`: what it runs, says beforehand, prints and writes."""

from __future__ import annotations

import argparse
import json
import platform
import sys

from unbloat import InputError, paper_kernel, paper_kernel_tables, published
from unbloat.attempt import Attempt
from unbloat.pages import write_parts
from unbloat.paper_kernel import Plan, Selection
from unbloat.paper_runs import Simulate
from unbloat.places import cache_folder
from unbloat.progress import clock
from unbloat.reproduce import simulator
from unbloat.store import code_hash

PAGE, PART = "kernel.md", "kernel"
"""The page in the paper's folder, and the part of it that `--page` writes."""


def main(arguments: argparse.Namespace, paper: published.Paper) -> None:
    """Carry the command out; raises `PaperError` for what the paper's folder lacks, `Error` of the core for a run."""
    if arguments.choices or arguments.output:
        raise InputError("reproduce --on kernel gives the paper's tables only, without --choices and without -o")
    plan = paper_kernel.load(paper)
    announce(paper, plan, arguments.jobs)
    attempt = Attempt(cache_folder() / "runs", [paper.name, str(plan), code_hash(), platform.release()])
    simulate = simulator(cache=arguments.cache, jobs=None)

    def run(selection: Selection) -> Simulate:
        jobs = arguments.jobs or selection.side_by_side
        return simulator(on="kernel", cache=arguments.cache, jobs=jobs, attempt=attempt)

    repeated = paper_kernel.repeat(paper, plan, simulate, run)
    attempt.finish()
    if arguments.json:
        print(json.dumps(repeated.as_dict(), indent=2, allow_nan=False))
    else:
        sys.stdout.write(paper_kernel_tables.text_of(repeated, plan))
    if arguments.page:
        write_parts(paper.folder / PAGE, {PART: paper_kernel_tables.markdown_of(repeated, plan)})


def announce(paper: published.Paper, plan: Plan, jobs: int | None) -> None:
    """Say how long it will take, for real time cannot be hurried."""
    needed = plan.needed(plan.of(paper))
    cells, seconds = (sum(values) for values in zip(*(each.cost(paper, jobs) for each in needed), strict=True))
    print(f"unbloat: {cells} runs on the kernel, in real time: {clock(seconds)} if all are new", file=sys.stderr)
