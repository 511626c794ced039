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
        help="Figure file: .svg, .pdf or .png. Default: RESULTS.svg in this folder.",
    ),
]
KindsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KIND...]",
        help=(
            f"Panels to draw, separated by spaces or commas. {kinds.ABOUT} With --against: "
            f"{', '.join(kinds.OF_TWO)}, {AGREEMENT}."
        ),
        autocompletion=plot_kinds,
        show_default=False,
    ),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option("--against", metavar="RESULTS", help="The second set of results, for comparison or agreement."),
]
WidthOption = Annotated[
    kinds.Width,
    typer.Option("--width", help="Size of the figure: for a page, a slide (16:9) or a column of a paper."),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metrics",
        "--metric",
        metavar="NAME,...",
        help="Metrics to draw of flows, runs and sweeps, such as rtt_p95.",
        autocompletion=metric_names,
    ),
]
AcrossOption = Annotated[str | None, typer.Option("-x", metavar="AXIS", help="Axis of the sweep on the x axis.")]
OverOption = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="time|AXIS",
        help="Draw over time or over an axis of the sweep. Each KIND then is a metric, such as goodput.",
    ),
]
UpOption = Annotated[
    str | None, typer.Option("-y", metavar="AXIS", help="Axis of the sweep on the y axis of a heat map.")
]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", metavar="TEXT", help="Title. Default: the scenario's name; '' omits it."),
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
    """Draw saved results: time series, distributions, sweeps, two sets.

    --width sets the size of the figure and of its text. The figure marks unsound runs; averages exclude them.
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
        raise InputError(
            "agreement: compares two sets of results and is drawn alone: name the other set with --against"
        )
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
            help="HTML file. Default: report.html beside the results, or in results/PAPER.",
        ),
    ] = None,
    only: OnlyOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
) -> None:
    """Write results or a paper's reproduction as one HTML page.

    The page is self-contained: it loads no script, font or picture from elsewhere. For a paper, the command first
    runs what is missing in the cache.
    """
    path = Path(what)
    if is_paper(path):
        if only:
            raise InputError("report: --only picks grid points of results; a paper is shown as a whole")
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
        raise InputError(f"report: {path} is neither results (a file or folder) nor a paper; papers: {there}")
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
        bool, typer.Option("--csv", help="Write comma-separated values with every column (the default).")
    ] = False,
    latex: Annotated[
        bool,
        typer.Option(
            "--latex", help="Write a LaTeX table with the columns of the printed table (the default for .tex)."
        ),
    ] = False,
    table: Annotated[
        TableName | None,
        typer.Option(
            "--table",
            metavar="flows|links|runs|stats",
            help="One row per flow, link or run; stats: one row per grid point, with means and intervals. Default: "
            "stats after --repeat, otherwise flows.",
        ),
    ] = None,
    only: OnlyOption = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Output file. Default: print to the terminal.")
    ] = None,
) -> None:
    """Write results as CSV or LaTeX."""
    is_latex = latex or (not csv and output is not None and output.suffix.lower() == ".tex")
    if csv and latex:
        raise InputError("export: --csv and --latex are two formats; write one, then the other")
    from unbloat.api.results import read

    found = chosen(read(results), only)
    name: TableName = table or ("stats" if any(len(point.records) > 1 for point in found.points) else "flows")
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
            columns = results_tables.points_columns(results)
        case "runs":
            raise InputError("export --latex: runs have no table on the screen: choose flows, links or stats")
    return f"{latex(columns)}\n"
