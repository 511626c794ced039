"""`unbloat sweep FILE`: what it takes, prints and writes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from unbloat.cli.options import JOBS, assignment, backend_argument, cache_arguments
from unbloat.cli.terminal import say

FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe it to the command line."""
    parser.set_defaults(command=main)
    add = parser.add_argument
    add("scenario", metavar="FILE", help="a scenario file with a [sweep], or the name of one from `unbloat list`")
    add("--repeat", metavar="N", type=int, default=1, help="run every cell so often, each with another seed")
    add("--cc", metavar="NAME|FILE", help="congestion control of every flow: a name, or a .bpf.c file of your own")
    add("--set", metavar="KEY=VALUE", action="append", default=[], type=assignment, help="set a key, or sweep.KEY")
    add("--seed", metavar="N", type=int, help="where the seeds of the repeats start from")
    backend_argument(add)
    add("--dask", metavar="ADDRESS", help="run on a Dask cluster: its scheduler's address, or local to start one here")
    add("--json", action="store_true", help="print runs, failures and summary as JSON")
    cache_arguments(parser)
    add("-o", "--output", metavar="DIR", type=Path, help="write runs, flows, links and summary as Parquet files")
    add("-j", "--jobs", metavar="N", type=int, help=JOBS)


def main(args: argparse.Namespace) -> int | None:
    """Carry the command out; gives 1 if runs failed."""
    from unbloat.report.sweep_table import text_of
    from unbloat.runs.sweep import sweep

    swept = sweep(
        args.scenario,
        dict(args.set),
        repeat=args.repeat,
        on=args.on,
        kernel=args.kernel,
        cc=args.cc,
        seed=args.seed,
        cache=args.cache,
        jobs=args.jobs,
        dask=args.dask,
    )
    if args.output:
        swept.save(args.output)
    say(json.dumps(swept.as_dict(), indent=2) if args.json else text_of(swept))
    return FAILED if swept.failures else None
