"""`unbloat plot RESULTS KIND...`: pictures of saved results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbloat._core import InputError
from unbloat.cli.terminal import say

if TYPE_CHECKING:
    from unbloat.report.figures.style import Width

AGREEMENT = "agreement"
ABOUT_KINDS = (
    "over time: cwnd, rtt, queue, queue_delay, goodput; within runs: rtt_cdf, rtt_ccdf, rtt_box, queue_delay_cdf, "
    "queue_delay_ccdf, queue_delay_box; over a sweep: lines, bars, heatmap, delay_throughput; over flows and runs: "
    "box, ecdf, eccdf; with --against: comparison, agreement"
)


def command(
    results: Path,
    kinds: Sequence[str],
    output: Path,
    *,
    against: Path | None = None,
    width: Width = "page",
    metrics: Sequence[str] = (),
    x: str | None = None,
    y: str | None = None,
    title: str | None = None,
) -> None:
    """Draw saved results into a file: a panel for each kind."""
    from unbloat.report.figures.draw import Choice, check, draw
    from unbloat.report.figures.style import save
    from unbloat.results.results import read

    if AGREEMENT in kinds:
        if list(kinds) != [AGREEMENT] or against is None:
            raise InputError(
                "agreement: is a picture of its own, of two sets of results: name the other with --against"
            )
        check([], Choice(width, metrics), file=output)
        from unbloat.comparison.figures import agreement_of

        names = (str(results), str(against))
        figure = agreement_of(read(results), read(against), names, width, metrics, title)
    else:
        # What cannot be drawn is refused before anything is read.
        check(kinds, Choice(width, metrics), file=output, is_two=against is not None)
        other = None if against is None else read(against)
        sides = (str(results), str(against))
        figure = draw(read(results), kinds, Choice(width, metrics, x, y, title, sides), other)
    save(figure, output)
    say(f"wrote {output}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe it to the command line."""
    parser.set_defaults(command=main)
    add = parser.add_argument
    add("results", metavar="RESULTS", type=Path, help="a folder that run or sweep wrote with -o, or a file of it")
    add("kinds", metavar="KIND", nargs="*", help=ABOUT_KINDS)
    add("-o", "--output", metavar="FILE", type=Path, required=True, help="where to: .svg, .pdf or .png")
    add("--against", metavar="RESULTS", type=Path, help="the second set of a comparison or an agreement")
    add("--width", metavar="WIDTH", default="page", help="page, slide (16:9) or column (of a paper): size and type")
    add("--metric", metavar="NAME,...", help="what is drawn over a sweep, flows or runs, such as goodput,rtt_p95")
    add("-x", metavar="AXIS", help="the axis of the sweep that runs across")
    add("-y", metavar="AXIS", help="the axis that runs up in a heat map")
    add("--title", metavar="TEXT", help="in place of the scenario's name")


def main(args: argparse.Namespace) -> None:
    """Draw."""
    metrics = [metric.strip() for metric in args.metric.split(",")] if args.metric else []
    names = {name: getattr(args, name) for name in ("against", "width", "x", "y", "title")}
    command(args.results, args.kinds, args.output, metrics=metrics, **names)
