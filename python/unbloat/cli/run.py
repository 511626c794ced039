"""`unbloat run SCENARIO`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import (
    OUTPUT,
    JsonOption,
    MetricsOption,
    ScenarioArgument,
    keeping_runs,
    listed,
    metrics_listed,
    plot_kinds,
)
from unbloat.cli.run_options import USUAL, RunOptions, with_run_options
from unbloat.cli.terminal import say, say_json, tell
from unbloat.report.figures import kinds
from unbloat.system.output import room_for, room_within

if TYPE_CHECKING:
    from unbloat.results.results import Results

EXAMPLES = """\
unbloat run home-dsl
unbloat run home-dsl --cc cubic,vegas,cubic_plus --rtt 20ms,100ms
unbloat run home-dsl --cc ./mine.bpf.c --set link.bottleneck.queue.limit=64kb
unbloat run home-dsl --live
unbloat run home-dsl --figure queue.svg --plot queue,cwnd -t 30s
sudo unbloat run home-dsl --on kernel --cc kernel:cubic
unbloat run home-dsl --on vm --kernel 6.1 --pcap trace.pcapng"""

LiveOption = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Show queues, windows and goodputs while it runs; simulations are slowed down to be followed.",
        rich_help_panel=OUTPUT,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Write records and series as Parquet files.", rich_help_panel=OUTPUT
    ),
]
FigureOption = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE", help="Draw a figure: .svg, .png or .pdf.", rich_help_panel=OUTPUT),
]
PlotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plot",
        metavar="KIND,...",
        help=f"What the figure shows, a panel each. {kinds.ABOUT}",
        autocompletion=plot_kinds,
        rich_help_panel=OUTPUT,
    ),
]
SeriesOption = Annotated[
    str | None,
    typer.Option(
        "--series",
        metavar="STEP",
        help="Step of the time series, such as 10ms (default: about a thousandth of the run).",
        rich_help_panel=OUTPUT,
    ),
]
PcapOption = Annotated[
    Path | None,
    typer.Option("--pcap", metavar="FILE", help="Write every packet at the senders as pcapng.", rich_help_panel=OUTPUT),
]
PcapLinksOption = Annotated[
    bool,
    typer.Option(
        "--pcap-links",
        help="With --pcap: write the packets at the far end of each link too, an interface for each direction.",
        rich_help_panel=OUTPUT,
    ),
]


@with_run_options
def command(
    scenario: ScenarioArgument,
    given: RunOptions = USUAL,
    live: LiveOption = False,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    figure: FigureOption = None,
    plot: PlotOption = None,
    series: SeriesOption = None,
    pcap: PcapOption = None,
    pcap_links: PcapLinksOption = False,
) -> None:
    """Run a scenario: simulated, on this kernel, or in a guest.

    Every cell of the scenario's grid is run once; `unbloat sweep` repeats cells.
    """
    panels, shown = listed(plot, "--plot"), metrics_listed(metrics)
    check_figure(figure, panels)
    room_for(figure)
    room_within(output)
    from unbloat.report.run_table import text_of
    from unbloat.runs.experiment import numbered, run

    with keeping_runs(given.cache):
        recorded = series or bool(output or figure)
        arguments = given.arguments(scenario)
        results = run(scenario, **arguments, series=recorded, pcap=pcap, pcap_links=pcap_links, live=live)
        try:
            write(results, output, figure, panels)
            if pcap:
                for number in range(len(results)):
                    tell(f"wrote {numbered(pcap, number, len(results))}")
        finally:  # Also where a file cannot be written.
            say_json(results.as_dict()) if as_json else say(text_of(results, shown))


def check_figure(figure: Path | None, panels: list[str]) -> None:
    """Refuse what cannot be drawn before anything is simulated."""
    if panels and not figure:
        raise InputError("--plot says what to draw, and --figure where to: name a file that ends in .svg, .png or .pdf")
    if figure:
        from unbloat.report.figures.draw import check

        check(panels, file=figure)


def write(results: Results, output: Path | None, figure: Path | None, panels: list[str]) -> None:
    """Write what was asked for into files."""
    if output:
        results.save(output)
        tell(f"wrote {output}")
    if figure:
        from unbloat.report.figures.style import save

        save(results.plot(*panels), figure)
        tell(f"wrote {figure}")
