"""`unbloat report RESULTS|PAPER`: one page to look at, to print and to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import RESULTS, CacheOption, JobsOption, OnlyOption, chosen, keeping_runs, paper_names
from unbloat.cli.terminal import tell
from unbloat.system.files import room_for

if TYPE_CHECKING:
    from unbloat.report.page import Page

NAME = "report.html"
EXAMPLES = """\
unbloat run home-dsl --cc cubic,vegas -o home && unbloat report home
unbloat report sweep/ -o sweep.html
unbloat report cubic-plus"""


def command(
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
        from unbloat.papers import report_page
        from unbloat.papers.reproduce import paper_of, reproduce

        paper = paper_of(what)
        file = checked(output or Path("results") / paper.name / NAME)
        with keeping_runs(cache):
            page = report_page.page_of(reproduce(paper, cache=cache, jobs=jobs))
    else:
        from unbloat.api.results import read
        from unbloat.report import results_page

        found = chosen(read(path), only)
        file = checked(output or (path if path.is_dir() else path.parent) / NAME)
        page = results_page.page_of(found)
    write(page, file)


def is_paper(path: Path) -> bool:
    """Return whether the name is a paper's, and not that of results; raises `InputError` for neither."""
    if path.exists():
        return (path / "published.toml").exists()
    names = paper_names("")
    if str(path) not in names:
        there = ", ".join(names)
        raise InputError(
            f"report: {path} is neither a file or folder of results nor a paper, of which there are {there}"
        )
    return True


def checked(file: Path) -> Path:
    """Refuse a name that is no page's before anything is simulated for it."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"report: -o {file}: a page's name ends in .html")
    room_for(file)
    return file


def write(page: Page, file: Path) -> None:
    """Write it, and say where it is."""
    page.write(file)
    tell(f"wrote {file}")
