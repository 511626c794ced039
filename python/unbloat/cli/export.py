"""`unbloat export RESULTS`: tables for spreadsheets and papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbloat._core import InputError
from unbloat.cli.options import OnlyOption, ResultsArgument, chosen
from unbloat.cli.terminal import tell
from unbloat.system.files import write_text
from unbloat.system.legible import plain

if TYPE_CHECKING:
    from unbloat.api.results import Results

EXAMPLES = """\
unbloat export results/ -o flows.csv
unbloat export results/ --table links
unbloat export sweep/ -o table.tex"""

TableName = Literal["flows", "links", "runs", "stats"]


def command(
    results: ResultsArgument,
    csv: Annotated[
        bool, typer.Option("--csv", help="As comma-separated values, with every column (default, but for .tex).")
    ] = False,
    latex: Annotated[
        bool,
        typer.Option("--latex", help="As a table of LaTeX, with the columns that the screen has (default for .tex)."),
    ] = False,
    table: Annotated[
        TableName | None,
        typer.Option(
            "--table",
            metavar="flows|links|runs|stats",
            help="What has a row: each flow, link or run, or each cell with means and intervals (default: stats where "
            "cells are repeated, else flows).",
        ),
    ] = None,
    only: OnlyOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write it (default: print it).")
    ] = None,
) -> None:
    """Write results as CSV or LaTeX."""
    is_latex = latex or (not csv and output is not None and output.suffix.lower() == ".tex")
    if csv and latex:
        raise InputError("export: --csv and --latex are two formats; write one, then the other")
    from unbloat.api.results import read

    found = chosen(read(results), only)
    name: TableName = table or ("stats" if any(len(cell.records) > 1 for cell in found.cells) else "flows")
    text = as_latex(found, name) if is_latex else as_csv(found, name)
    if output:
        write_text(output, text)
        tell(f"wrote {output}")
    else:
        typer.echo(plain(text), nl=False)


def as_csv(results: Results, table: TableName) -> str:
    """Format a table with all of its columns as CSV."""
    return str(getattr(results, table).to_csv(index=False))


def as_latex(results: Results, table: TableName) -> str:
    """Format a table as LaTeX, with the columns that the screen shows."""
    from unbloat.report import run_table, sweep_table
    from unbloat.report.table import latex

    match table:
        case "flows":
            columns = run_table.flows_columns(results)
        case "links":
            columns = run_table.links_columns(results)
        case "stats":
            columns = sweep_table.columns_of(results)
        case "runs":
            raise InputError("export --latex: runs have no table on the screen: choose flows, links or stats")
    return f"{latex(columns)}\n"
