"""`unbloat run SCENARIO`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import (
    OUTPUT,
    CacheOption,
    ControlOption,
    DurationOption,
    JobsOption,
    JsonOption,
    KernelOption,
    LiveOption,
    OnOption,
    RttOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    backend,
    keeping_runs,
    overrides_of,
)
from unbloat.cli.terminal import say, say_json, tell

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


def command(
    scenario: ScenarioArgument,
    cc: ControlOption = None,
    rtt: RttOption = None,
    duration: DurationOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    on: OnOption = "simulator",
    kernel: KernelOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    live: LiveOption = False,
    as_json: JsonOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Write records and series as Parquet files.", rich_help_panel=OUTPUT
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE", help="Draw a figure: .svg, .png or .pdf.", rich_help_panel=OUTPUT),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="KIND,...",
            help="What to draw: cwnd, rtt, queue, queue_delay, goodput, rtt_cdf, queue_delay_cdf, cdf.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            "--series",
            metavar="STEP",
            help="Step of the time series, such as 10ms (default: about a thousandth of the run).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option(
            "--pcap", metavar="FILE", help="Write every packet at the senders as pcapng.", rich_help_panel=OUTPUT
        ),
    ] = None,
    pcap_links: Annotated[
        bool,
        typer.Option(
            "--pcap-links",
            help="And at the far end of each link, an interface for each direction.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Run a scenario: simulated, on this kernel, or in a guest.

    Every cell of the scenario's grid is run once; `unbloat sweep` repeats cells.
    """
    kinds = [kind.strip() for kind in plot.split(",")] if plot else []
    check_figure(figure, kinds)
    from unbloat.report.run_table import text_of
    from unbloat.runs.experiment import run

    with keeping_runs(cache):
        results = run(
            scenario,
            overrides_of(scenario, assignments, controls=cc, rtts=rtt, duration=duration),
            on=backend(on),
            kernel=kernel,
            seed=seed,
            series=series or bool(output or figure),
            pcap=pcap,
            pcap_links=pcap_links,
            cache=cache,
            jobs=jobs,
            live=live,
        )
        write(results, output, figure, kinds)
    say_json(results.as_dict()) if as_json else say(text_of(results))


def check_figure(figure: Path | None, kinds: list[str]) -> None:
    """Refuse what cannot be drawn before anything is simulated."""
    if kinds and not figure:
        raise InputError("--plot says what to draw, and --figure where to: name a file that ends in .svg, .png or .pdf")
    if figure:
        from unbloat.report.figures.draw import check

        check(kinds, file=figure)
        if not figure.absolute().parent.is_dir():
            raise InputError(f"--figure: there is no folder {figure.parent} to write {figure.name} to")


def write(results: Results, output: Path | None, figure: Path | None, kinds: list[str]) -> None:
    """Write what was asked for into files."""
    if output:
        results.save(output)
        tell(f"wrote {output}")
    if figure:
        from unbloat.report.figures.style import save

        save(results.plot(*kinds), figure)
        tell(f"wrote {figure}")
