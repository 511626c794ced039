"""`unbloat plot`, `unbloat report` and `unbloat export`: pictures, pages and tables of saved results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbloat._core import InputError
from unbloat.cli.options import (
    RESULTS,
    CacheOption,
    JobsOption,
    OnlyOption,
    ResultsArgument,
    chosen,
    keeping_runs,
    listed,
    metric_names,
    plot_kinds,
)
from unbloat.cli.terminal import tell
from unbloat.report.figures import kinds
from unbloat.scenarios.checks import one_of
from unbloat.system.files import room_for, write_text
from unbloat.system.legible import plain
from unbloat.system.paths import paper_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbloat.api.results import Results
    from unbloat.report.figures.draw import Choice

# ---------------------------------------------------------------- unbloat plot

AGREEMENT = "agreement"
PLOT_EXAMPLES = """\
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


def plot_command(
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
    from unbloat.comparison.figures import agreement_of, draw_sets
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
            kinds_meant, choice = meant(found, wanted, choice, over)
            return draw(found, kinds_meant, choice) if other is None else draw_sets(found, other, kinds_meant, choice)
    if wanted != [AGREEMENT] or b is None:
        raise InputError("agreement: is drawn alone, of two sets of results: name the other with --against")
    check([], choice, file=output)
    return agreement_of(chosen(read(a), only), chosen(read(b), only), choice)


# ---------------------------------------------------------------- unbloat report

NAME = "report.html"
REPORT_EXAMPLES = """\
unbloat run home-dsl --cc cubic,vegas -o home && unbloat report home
unbloat report sweep/ -o sweep.html
unbloat report cubic-plus"""


def report_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RESULTS|PAPER",
            help=f"{RESULTS} Or a paper from `unbloat list`, or a folder with a published.toml.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The page (default: report.html beside the results, or in results/PAPER).",
        ),
    ] = None,
    only: OnlyOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
) -> None:
    """Write results, or the reproduction of a paper, as one HTML page.

    The page is self-contained: it loads no script, font or picture from elsewhere. For a paper, the command first does
    the runs that are not in the cache.
    """
    path = Path(what)
    if is_paper(path):
        if only:
            raise InputError("report: --only picks cells of results; a paper is shown as a whole")
        from unbloat.papers.page import page_of
        from unbloat.papers.reproduce import paper_of, reproduce

        paper = paper_of(what)
        file = page_file(output or Path("results") / paper.name / NAME)
        with keeping_runs(cache):
            page = page_of(reproduce(paper, cache=cache, jobs=jobs))
    else:
        from unbloat.api.results import read
        from unbloat.report import results_page

        found = chosen(read(path), only)
        file = page_file(output or (path if path.is_dir() else path.parent) / NAME)
        page = results_page.page_of(found)
    page.write(file)
    tell(f"wrote {file}")


def is_paper(path: Path) -> bool:
    """Return whether the name is a paper's, and not that of results; raises `InputError` for neither."""
    if path.exists():
        return (path / "published.toml").exists()
    names = paper_names()
    if str(path) not in names:
        there = ", ".join(names)
        raise InputError(
            f"report: {path} is neither a file or folder of results nor a paper, of which there are {there}"
        )
    return True


def page_file(file: Path) -> Path:
    """Refuse a file name without the ending of a page, before anything is simulated."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"report: -o {file}: a page's name ends in .html")
    room_for(file)
    return file


# ---------------------------------------------------------------- unbloat export

EXPORT_EXAMPLES = """\
unbloat export results/ -o flows.csv
unbloat export results/ --table links
unbloat export sweep/ -o table.tex"""

TableName = Literal["flows", "links", "runs", "stats"]


def export_command(
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
    from unbloat.report import results_tables
    from unbloat.report.table import latex

    match table:
        case "flows":
            columns = results_tables.flows_columns(results)
        case "links":
            columns = results_tables.links_columns(results)
        case "stats":
            columns = results_tables.cells_columns(results)
        case "runs":
            raise InputError("export --latex: runs have no table on the screen: choose flows, links or stats")
    return f"{latex(columns)}\n"
