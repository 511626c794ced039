"""`unbloat run FILE`: what it takes, prints, writes and draws."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from unbloat._core import InputError
from unbloat.cli.options import JOBS, assignment, backend_argument, cache_arguments
from unbloat.cli.terminal import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe it to the command line."""
    parser.set_defaults(command=main)
    add = parser.add_argument
    add("scenario", metavar="FILE", help="a scenario file, or the name of one from `unbloat list`")
    add("--cc", metavar="NAME|FILE", help="congestion control of every flow: a name, or a .bpf.c file of your own")
    add("--set", metavar="KEY=VALUE", action="append", default=[], type=assignment, help="set a key of the scenario")
    add("--seed", metavar="N", type=int, help="seed of the run's draws")
    backend_argument(add)
    add("--json", action="store_true", help="print the records as JSON")
    cache_arguments(parser)
    add("-o", "--output", metavar="DIR", type=Path, help="write records and series as Parquet files")
    add("--figure", metavar="FILE", type=Path, help="draw a figure: .svg, .png or .pdf")
    add(
        "--plot",
        metavar="KIND,...",
        help="what to draw: cwnd, rtt, queue, queue_delay, goodput, rtt_cdf, queue_delay_cdf, cdf",
    )
    add("--pcap", metavar="FILE", type=Path, help="write every packet at the senders as pcapng")
    add("--pcap-links", action="store_true", help="and at the far end of each link, an interface for each direction")
    add("--series", metavar="STEP", help="step of the series, such as 10ms (default: about a thousandth of the run)")
    add("-j", "--jobs", metavar="N", type=int, help=JOBS)


def main(args: argparse.Namespace) -> None:
    """Run; print, write and draw what was asked for."""
    from unbloat.report.run_table import text_of
    from unbloat.runs.experiment import run

    check_figure(args)
    results = run(
        args.scenario,
        dict(args.set),
        on=args.on,
        kernel=args.kernel,
        cc=args.cc,
        seed=args.seed,
        series=args.series or bool(args.output or args.figure),
        pcap=args.pcap,
        pcap_links=args.pcap_links,
        cache=args.cache,
        jobs=args.jobs,
    )
    if args.output:
        results.save(args.output)
    if args.figure:
        from unbloat.report.figures.style import save

        save(results.plot(*kinds(args)), args.figure)
    say(json.dumps(results.as_dict(), indent=2) if args.json else text_of(results))


def check_figure(args: argparse.Namespace) -> None:
    """Refuse what cannot be drawn before anything is simulated."""
    if args.plot and not args.figure:
        raise InputError("--plot says what to draw, and --figure where to: name a file that ends in .svg, .png or .pdf")
    if args.figure:
        from unbloat.report.figures.draw import check

        check(kinds(args), file=args.figure)


def kinds(args: argparse.Namespace) -> list[str]:
    """Split the list of --plot."""
    return [kind.strip() for kind in args.plot.split(",")] if args.plot else []
