"""`unbloat run SCENARIO`, and `unbloat sweep`, which is another name for it with `--repeat`."""

from __future__ import annotations

import inspect
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbloat._core import InputError
from unbloat.cli import FAILED
from unbloat.cli.options import (
    OUTPUT,
    WHAT,
    WHERE,
    CacheOption,
    ControlOption,
    DefineOption,
    DurationOption,
    IncludeOption,
    JobsOption,
    JsonOption,
    KernelOption,
    MetricsOption,
    OnlyOption,
    OnOption,
    RttOption,
    ScenarioArgument,
    SeedOption,
    SetOption,
    WindowControllerOption,
    assigned,
    keeping_runs,
    labels_in,
    listed,
    metrics_listed,
    plot_kinds,
)
from unbloat.cli.terminal import say, say_json, tell
from unbloat.report.figures import kinds
from unbloat.system.files import room_for, room_within

if TYPE_CHECKING:
    from unbloat.api.results import Results

RUN_EXAMPLES = """\
unbloat run home-dsl
unbloat run home-dsl --cc cubic,vegas,cubic_plus --rtt 20ms,100ms
unbloat run home-dsl --cc ./mine.bpf.c --set link.bottleneck.queue.limit=64kb
unbloat run home-dsl --live
unbloat run home-dsl --figure queue.svg --plot queue,cwnd -t 30s
sudo unbloat run home-dsl --on kernel --cc kernel:cubic
unbloat run home-dsl --on vm --kernel 6.1 --pcap trace.pcapng
unbloat run home-dsl --repeat 10 --set link.bottleneck.loss=0.1%"""
SWEEP_EXAMPLES = """\
unbloat sweep home-dsl -n 30 --set link.bottleneck.loss=0.1% --cc cubic,vegas
unbloat sweep grid.toml --repeat 10 -o results/ --metrics goodput,queue_delay
unbloat sweep grid.toml --repeat 10 --dask tcp://host:8786"""

LiveOption = Annotated[
    bool,
    typer.Option(
        "--live",
        help="Show queues, windows and goodputs during the run. Simulations slow down so that you can follow.",
        rich_help_panel=OUTPUT,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Write runs, flows, links and time series (with --repeat: statistics) as Parquet files.",
        rich_help_panel=OUTPUT,
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
        help=f"Panels of the figure. {kinds.ABOUT}",
        autocompletion=plot_kinds,
        rich_help_panel=OUTPUT,
    ),
]
SeriesOption = Annotated[
    str | None,
    typer.Option(
        "--series",
        metavar="STEP",
        help="Step of the time series, such as 10ms. Default: about a thousandth of the run.",
        rich_help_panel=OUTPUT,
    ),
]
PcapOption = Annotated[
    Path | None,
    typer.Option(
        "--pcap", metavar="FILE", help="Write every packet at the senders to a pcapng file.", rich_help_panel=OUTPUT
    ),
]
PcapLinksOption = Annotated[
    bool,
    typer.Option(
        "--pcap-links",
        help="With --pcap: also write the packets at the far end of each link, one interface per direction.",
        rich_help_panel=OUTPUT,
    ),
]


RepeatOption = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--repeat",
        metavar="N",
        help="Run every grid point N times, each time with another seed. The table then has confidence intervals.",
        rich_help_panel=WHAT,
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run the repeats on a Dask cluster: the address of its scheduler, or local to start one here.",
        rich_help_panel=WHERE,
    ),
]


def run_command(
    scenario: ScenarioArgument,
    cc: ControlOption = None,
    window_controller: WindowControllerOption = None,
    rtt: RttOption = None,
    duration: DurationOption = None,
    assignments: SetOption = None,
    include: IncludeOption = None,
    define: DefineOption = None,
    seed: SeedOption = None,
    repeat: RepeatOption = None,
    only: OnlyOption = None,
    on: OnOption = "simulator",
    kernel: KernelOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    dask: DaskOption = None,
    live: LiveOption = False,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    figure: FigureOption = None,
    plot: PlotOption = None,
    series: SeriesOption = None,
    pcap: PcapOption = None,
    pcap_links: PcapLinksOption = False,
) -> int | None:
    """Run a scenario: in the simulator, on this kernel, or in a guest.

    Every grid point of the scenario runs once. With --repeat it runs N times, and the table has confidence intervals.
    If a run fails, or a statement of the scenario's [expect] is false, the status is 1. The other runs are printed.
    """
    panels, shown = listed(plot, "--plot"), metrics_listed(metrics)
    check_figure(figure, panels)
    room_for(figure)
    room_within(output)
    from unbloat.api.scenario import Scenario
    from unbloat.runs.experiment import numbered
    from unbloat.scenarios.source import source_of

    with keeping_runs(cache):
        results = Scenario(source_of(scenario)).run(
            assigned(assignments),
            cc=listed(cc, "--cc") or None,
            window_controller=listed(window_controller, "--window-controller") or None,
            rtt=listed(rtt, "--rtt") or None,
            duration=duration,
            include=include,
            define=define,
            seed=seed,
            repeat=repeat,
            only=labels_in(only) or None,
            on=on,
            kernel=kernel,
            jobs=jobs,
            cache=cache,
            dask=dask,
            live=live,
            series=series or bool(figure or (output and repeat is None)),
            pcap=pcap,
            pcap_links=pcap_links,
        )
        try:
            write(results, output, figure, panels)
            if pcap:
                for number in range(len(results)):
                    tell(f"wrote {numbered(pcap, number, len(results))}")
        finally:  # Also where a file cannot be written.
            say_json(results.as_dict()) if as_json else say(table_of(results, shown, is_repeated=repeat is not None))
    return FAILED if results.failures or verdicts_shown(results, as_json=as_json) else None


def verdicts_shown(results: Results, *, as_json: bool) -> bool:
    """Print the verdicts on the scenario's expectations; return whether one has failed."""
    if not results.expectations:
        return False
    from unbloat.claims.expectations import have_failed, text_of

    if not as_json:
        say(f"\n{text_of(results.expectations)}")
    return have_failed(results.expectations)


def _repeating(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature of `run` with one repeat by default."""
    parameters = [each.replace(default=1) if each.name == "repeat" else each for each in signature.parameters.values()]
    return signature.replace(parameters=parameters)


@wraps(run_command)
def sweep_command(**values: Any) -> int | None:  # noqa: D103
    return run_command(**values)


sweep_command.__doc__ = """Run every grid point several times, with confidence intervals.

This is `unbloat run --repeat N`: the status is 1 if runs failed, and the others are printed all the same.
"""
sweep_command.__signature__ = _repeating(inspect.signature(run_command, eval_str=True))  # type: ignore[attr-defined]


def table_of(results: Results, metrics: list[str], *, is_repeated: bool) -> str:
    """Draw runs as the table on the screen."""
    from unbloat.report.results_tables import text_of_points, text_of_runs

    return text_of_points(results, metrics) if is_repeated else text_of_runs(results, metrics)


def check_figure(figure: Path | None, panels: list[str]) -> None:
    """Refuse what cannot be drawn before anything is simulated."""
    if panels and not figure:
        raise InputError("--plot needs --figure with the name of a file that ends in .svg, .png or .pdf")
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
