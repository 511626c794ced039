"""`unbloat reproduce PAPER`: what it takes, prints, draws and writes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat._core import InputError
from unbloat.cli.options import JOBS, backend_argument, cache_arguments
from unbloat.cli.terminal import say

if TYPE_CHECKING:
    from unbloat.papers.paper import Paper

PAGES = {"kernel": "kernel.md", "vm": "vm.md"}
"""The pages in the paper's folder; the part that `--page` writes has the backend's name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe it to the command line."""
    parser.set_defaults(command=main)
    add = parser.add_argument
    add("paper", metavar="PAPER", help="a paper from `unbloat list`, or a folder with a published.toml")
    add("--table", metavar="ID", help="only the numbers and statements whose id begins so: table2, fig6")
    backend_argument(add)
    add("--full", action="store_true", help="as many repeats as the paper itself; says first how long that takes")
    add("--choices", action="store_true", help="what the paper's open choices change, instead of its tables")
    add("--json", action="store_true", help="print the claims as JSON")
    add("--page", action="store_true", help="write tables and figures into the README.md of the paper's folder")
    add(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        help="where figures go (default: results/PAPER; with --json none are drawn)",
    )
    cache_arguments(parser)
    add("-j", "--jobs", metavar="N", type=int, help=JOBS)


def main(args: argparse.Namespace) -> None:
    """Carry the command out; raises `InputError` for a wrong folder, `Error` for a run."""
    from unbloat.papers.reproduce import paper_of
    from unbloat.scenario.checks import check_kernel

    if args.full and args.choices:
        raise InputError("--full is for a paper's tables; those of --choices say themselves how often")
    paper = paper_of(args.paper, table=None if args.choices else args.table)
    check_kernel(args.kernel, args.on)
    if args.on != "simulator":
        on_kernel(args, paper)
    elif args.choices:
        extra(args, paper)
    else:
        simulated(args, paper)


def simulated(args: argparse.Namespace, paper: Paper) -> None:
    """Simulate; print the verdicts, draw the figures, write the page."""
    from unbloat.papers import page
    from unbloat.papers.reproduce import reproduce

    if args.page:
        page.require_parts(paper)
    found = reproduce(paper, extra_tables=args.page, full=args.full, cache=args.cache, jobs=args.jobs)
    if args.json:
        print_json(found.as_dict())
    else:
        say(found.report().text())
    folder = args.output or (None if args.json else Path("results") / paper.name)  # A script is given what it asks for.
    if folder and (figures := found.draw(folder)) and not args.json:
        sys.stdout.write(f"Figures: {', '.join(map(str, figures))}\n")
    if args.page:
        page.write(found)


def extra(args: argparse.Namespace, paper: Paper) -> None:
    """Print the tables beyond the paper."""
    from unbloat.papers import extra_tables
    from unbloat.papers.reproduce import measure_extra_tables

    found = measure_extra_tables(paper, cache=args.cache, jobs=args.jobs)
    say("\n\n".join(extra_tables.report_of(*pair).text() for pair in found))


def on_kernel(args: argparse.Namespace, paper: Paper) -> None:
    """Run on a kernel; print its verdicts beside the simulated ones, write the page."""
    from unbloat.papers import kernel_tables
    from unbloat.papers.reproduce import reproduce_on_kernel
    from unbloat.report.pages import require_part, write_parts

    if args.choices or args.output:
        raise InputError(f"reproduce --on {args.on} gives the paper's tables only, without --choices and without -o")
    page = paper.folder / PAGES[args.on]
    if args.page:
        require_part(page, args.on)
    options = {"full": args.full, "cache": args.cache, "jobs": args.jobs}
    found = reproduce_on_kernel(paper, args.on, kernel_release=args.kernel, **options)
    if args.json:
        print_json(found.as_dict())
    else:
        say(kernel_tables.report_of(found).text())
    if args.page:
        write_parts(page, {args.on: f"{kernel_tables.page_of(found).markdown()}\n"})


def print_json(data: dict[str, Any]) -> None:
    """Print what a script reads."""
    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
