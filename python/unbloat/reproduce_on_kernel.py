"""`unbloat reproduce PAPER --on kernel`, or `--on vm`: what it runs, says beforehand, prints and writes."""

from __future__ import annotations

import argparse
import json
import platform
import sys

from unbloat import InputError, paper_kernel, paper_kernel_tables, published
from unbloat.attempt import Attempt
from unbloat.inputs import code_hash
from unbloat.pages import require_part, write_parts
from unbloat.paper_kernel import Plan, Selection
from unbloat.paper_runs import Simulate
from unbloat.places import cache_folder
from unbloat.progress import clock
from unbloat.reproduce import simulator
from unbloat.vm import cost

PAGES = {"kernel": "kernel.md", "vm": "vm.md"}
"""The pages in the paper's folder; the part that `--page` writes has the backend's name."""


def main(arguments: argparse.Namespace, paper: published.Paper) -> None:
    """Carry the command out; raises `PaperError` for what the paper's folder lacks, `Error` of the core for a run."""
    on: str = arguments.on
    if arguments.choices or arguments.output:
        raise InputError(f"reproduce --on {on} gives the paper's tables only, without --choices and without -o")
    page = paper.folder / PAGES[on]
    if arguments.page:
        require_part(page, on)
    plan = paper_kernel.load(paper).on(on)
    announce(paper, plan, on, arguments.jobs)
    # Runs in guests need no such mark: a kept one is as good as a new one.
    identity = [paper.name, str(plan), code_hash(), platform.release()]
    attempt = Attempt(cache_folder() / "runs", identity) if on == "kernel" else None
    simulate = simulator(cache=arguments.cache, jobs=None)

    def run(selection: Selection) -> Simulate:
        jobs = arguments.jobs or (selection.side_by_side if on == "kernel" else None)
        return simulator(on=on, kernel=arguments.kernel, cache=arguments.cache, jobs=jobs, attempt=attempt)

    repeated = paper_kernel.repeat(paper, plan, simulate, run)
    if attempt:
        attempt.finish()
    if arguments.json:
        print(json.dumps(repeated.as_dict(), indent=2, allow_nan=False))
    else:
        sys.stdout.write(paper_kernel_tables.text_of(repeated, plan))
    if arguments.page:
        write_parts(page, {on: paper_kernel_tables.markdown_of(repeated, plan)})


def announce(paper: published.Paper, plan: Plan, on: str, jobs: int | None) -> None:
    """Say how much it is, and how long that takes if all runs are new."""
    needed = plan.needed(plan.of(paper))
    cells = [cell for selection in needed for cell in selection.cells(paper)]
    if on == "kernel":
        seconds = sum(selection.real_seconds(paper, jobs) for selection in needed)
        how = f"on the kernel, in real time: {clock(seconds)} if all are new"
    else:
        guest_s, processor_s = (sum(map(each, cells)) for each in (lambda cell: cell.duration_s, cost.processor_s))
        how = f"in guests, {clock(guest_s)} of their time: some {clock(processor_s)} of a processor's if all are new"
    print(f"unbloat: {len(cells)} runs {how}", file=sys.stderr)
