"""`unbloat sweep SCENARIO`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unbloat.cli.options import (
    OUTPUT,
    WHAT,
    WHERE,
    JsonOption,
    MetricsOption,
    ScenarioArgument,
    keeping_runs,
    metrics_listed,
)
from unbloat.cli.run_options import USUAL, RunOptions, with_run_options
from unbloat.cli.status import FAILED
from unbloat.cli.terminal import say, say_json, tell
from unbloat.system.output import room_within

EXAMPLES = """\
unbloat sweep home-dsl -n 30 --set link.bottleneck.loss=0.1% --cc cubic,vegas
unbloat sweep grid.toml --repeat 10 -o results/ --metrics goodput,queue_delay
unbloat sweep grid.toml --repeat 10 --dask tcp://host:8786"""

RepeatOption = Annotated[
    int,
    typer.Option(
        "-n", "--repeat", metavar="N", help="Runs of every cell, each with another seed.", rich_help_panel=WHAT
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Run on a Dask cluster: its scheduler's address, or local to start one here.",
        rich_help_panel=WHERE,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Write runs, flows, links and statistics as Parquet files.",
        rich_help_panel=OUTPUT,
    ),
]


@with_run_options
def command(
    scenario: ScenarioArgument,
    repeat: RepeatOption = 1,
    given: RunOptions = USUAL,
    dask: DaskOption = None,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
) -> int | None:
    """Run a grid, every cell repeated, with confidence intervals.

    The status is 1 if runs failed; the others are printed all the same.
    """
    from unbloat.report.sweep_table import text_of
    from unbloat.runs.sweep import sweep

    shown = metrics_listed(metrics)  # Refused before anything is run.
    room_within(output)
    with keeping_runs(given.cache):
        swept = sweep(scenario, **given.arguments(scenario), repeat=repeat, dask=dask)
        try:
            if output:
                swept.save(output)
                tell(f"wrote {output}")
        finally:  # Also where a file cannot be written.
            say_json(swept.as_dict()) if as_json else say(text_of(swept, shown or None))
    return FAILED if swept.failures else None
