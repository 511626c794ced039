"""`unbloat plot RESULTS KIND...`: pictures of saved results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from unbloat._core import InputError
from unbloat.cli.terminal import tell

AGREEMENT = "agreement"
EXAMPLES = """\
unbloat run home-dsl --cc cubic,vegas -o home
unbloat plot home -o home.svg
unbloat plot home queue_delay rtt_cdf --width column -o queue.pdf
unbloat plot sweep lines --metric goodput,rtt_p95 -x rate -o rate.svg
unbloat plot sweep delay_throughput --width slide -o slide.png
unbloat plot simulated agreement --against measured -o agreement.svg"""
KINDS = (
    "What to draw, a panel each. Over time: cwnd, rtt, queue, queue_delay, goodput. Within runs: rtt_cdf, rtt_ccdf, "
    "rtt_box, queue_delay_cdf, queue_delay_ccdf, queue_delay_box. Over a sweep: lines, bars, heatmap, "
    "delay_throughput. Over flows and runs: box, ecdf, eccdf. With --against: comparison, agreement."
)


def command(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="What run or sweep wrote with -o, or a file of it.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to draw: .svg, .pdf or .png.")],
    kinds: Annotated[list[str] | None, typer.Argument(metavar="[KIND]...", help=KINDS, show_default=False)] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="RESULTS", help="The second set, for comparison or agreement."),
    ] = None,
    width: Annotated[
        Literal["page", "slide", "column"],
        typer.Option("--width", help="Where it is looked at; a slide is 16:9, a column that of a paper."),
    ] = "page",
    metric: Annotated[
        str | None,
        typer.Option("--metric", metavar="NAME,...", help="What to draw of flows, runs and sweeps, such as rtt_p95."),
    ] = None,
    x: Annotated[str | None, typer.Option("-x", metavar="AXIS", help="The axis of the sweep that runs across.")] = None,
    y: Annotated[str | None, typer.Option("-y", metavar="AXIS", help="The axis that runs up in a heat map.")] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="In place of the scenario's name; empty for none.")
    ] = None,
) -> None:
    """Draw saved results: over time, distributions, sweeps, two sets.

    Size and type go by where the picture is looked at. Unsound runs are marked, and left out of what is averaged.
    """
    from unbloat.report.figures.draw import Choice, check, draw
    from unbloat.report.figures.style import save
    from unbloat.results.results import read

    wanted = kinds or []
    metrics = [name.strip() for name in metric.split(",")] if metric else []
    if AGREEMENT in wanted:
        if wanted != [AGREEMENT] or against is None:
            raise InputError(
                "agreement: is a picture of its own, of two sets of results: name the other with --against"
            )
        check([], Choice(width, metrics), file=output)
        from unbloat.comparison.figures import agreement_of

        names = (str(results), str(against))
        figure = agreement_of(read(results), read(against), names, width, metrics, title)
    else:
        # What cannot be drawn is refused before anything is read.
        check(wanted, Choice(width, metrics), file=output, is_two=against is not None)
        other = None if against is None else read(against)
        sides = (str(results), str(against))
        figure = draw(read(results), wanted, Choice(width, metrics, x, y, title, sides), other)
    save(figure, output)
    tell(f"wrote {output}")
