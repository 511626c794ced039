"""`unbloat plot RESULTS KIND...`: pictures of saved results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import OnlyOption, ResultsArgument, chosen, listed, metric_names, plot_kinds
from unbloat.cli.terminal import tell
from unbloat.report.figures import kinds
from unbloat.scenarios.checks import one_of
from unbloat.system.files import room_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbloat.report.figures.draw import Choice

AGREEMENT = "agreement"
EXAMPLES = """\
unbloat run home-dsl --cc cubic,vegas -o home
unbloat plot home
unbloat plot home queue_delay rtt_cdf --width column -o queue.pdf
unbloat plot sweep goodput rtt_p95 --over rate -o rate.svg
unbloat plot sweep delay_throughput --only rate=1mbit --width slide -o x.png
unbloat plot simulated agreement --against measured -o agreement.svg"""

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to draw: .svg, .pdf or .png (default: RESULTS.svg here).",
    ),
]
KindsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KIND...]",
        help=(
            f"What to draw, a panel each, separated by blanks or commas. {kinds.ABOUT} With --against: "
            f"{', '.join(kinds.OF_TWO)}, {AGREEMENT}."
        ),
        autocompletion=plot_kinds,
        show_default=False,
    ),
]
AgainstOption = Annotated[
    Path | None, typer.Option("--against", metavar="RESULTS", help="The second set, for comparison or agreement.")
]
WidthOption = Annotated[
    kinds.Width,
    typer.Option("--width", help="Where it will be seen: on a page, a slide (16:9) or in a column of a paper."),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metrics",
        "--metric",
        metavar="NAME,...",
        help="What to draw of flows, runs and sweeps, such as rtt_p95.",
        autocompletion=metric_names,
    ),
]
AcrossOption = Annotated[str | None, typer.Option("-x", metavar="AXIS", help="The axis of the sweep that runs across.")]
OverOption = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="time|AXIS",
        help="What runs across: time, or an axis of the sweep, over which each KIND is a metric, such as goodput.",
    ),
]
UpOption = Annotated[str | None, typer.Option("-y", metavar="AXIS", help="The axis that runs up in a heat map.")]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", metavar="TEXT", help="The title, in place of the scenario's name; empty for none."),
]


def command(
    results: ResultsArgument,
    wanted: KindsArgument = None,
    output: OutputOption = None,
    over: OverOption = None,
    against: AgainstOption = None,
    width: WidthOption = "page",
    metric: MetricOption = None,
    x: AcrossOption = None,
    y: UpOption = None,
    title: TitleOption = None,
    only: OnlyOption = None,
) -> None:
    """Draw saved results: over time, distributions, sweeps, two sets.

    --width sets the size of the picture and of its type. Unsound runs are marked, and left out of averages.
    """
    from unbloat.report.figures.draw import Choice
    from unbloat.report.figures.style import save

    sides = (str(results), str(against))
    choice = Choice(width, listed(metric, "--metrics"), x, y, title, sides)
    file = output or Path(f"{results.absolute().name.removesuffix('.json')}.svg")
    room_for(file)
    save(drawn(results, listed(wanted, "plot"), against, choice, file, only, over), file)
    tell(f"wrote {file}")


def drawn(
    a: Path,
    wanted: list[str],
    b: Path | None,
    choice: Choice,
    output: Path,
    only: list[str] | None = None,
    over: str | None = None,
) -> Figure:
    """Draw one set of results or two; what cannot be drawn is refused before anything is read."""
    from unbloat.api.results import read
    from unbloat.report.figures.draw import check, draw, meant

    if over not in (None, "time"):
        found = chosen(read(a), only)
        return draw(found, *meant(found, wanted, choice, over))
    known = [*kinds.KINDS, *kinds.SHORT, AGREEMENT]
    for kind in wanted:
        one_of("plot", kind, known)
    if AGREEMENT not in wanted:
        check(wanted, choice, file=output, is_two=b is not None)
        other = None if b is None else chosen(read(b), only)
        found = chosen(read(a), only)
        with found.naming_several():
            return draw(found, *meant(found, wanted, choice, over), other)
    if wanted != [AGREEMENT] or b is None:
        raise InputError("agreement: is drawn alone, of two sets of results: name the other with --against")
    check([], choice, file=output)
    from unbloat.comparison.figures import agreement_of

    return agreement_of(
        chosen(read(a), only), chosen(read(b), only), choice.sides, choice.width, choice.metrics, choice.title
    )
