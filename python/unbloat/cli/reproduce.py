"""`unbloat reproduce PAPER`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbloat._core import InputError
from unbloat.cli.options import (
    OUTPUT,
    WHAT,
    CacheOption,
    JobsOption,
    JsonOption,
    KernelOption,
    OnOption,
    backend,
    keeping_runs,
    paper_names,
)
from unbloat.cli.terminal import say, say_json, tell

if TYPE_CHECKING:
    from unbloat.papers.paper import Paper

PAGES = {"kernel": "kernel.md", "vm": "vm.md"}
"""The pages in the paper's folder; the part that `--page` writes has the backend's name."""
DIFFERS = 1
REPRODUCED = "reproduced"
EXAMPLES = """\
unbloat reproduce cubic-plus
unbloat reproduce cubic-plus --table table2
unbloat reproduce clpc --on vm
unbloat reproduce ./my-paper --check"""


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    on: str
    kernel: str | None
    full: bool
    cache: bool | None
    jobs: int | None
    output: Path | None
    page: bool
    as_json: bool


def command(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="A paper from `unbloat list`, or a folder with a published.toml.",
            autocompletion=paper_names,
            show_default=False,
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="ID",
            help="Only the numbers and statements whose id begins so: table2, fig6.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="As many repeats as the paper itself; says first how long that takes.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices", help="What the paper's open choices change, instead of its tables.", rich_help_panel=WHAT
        ),
    ] = False,
    on: OnOption = "simulator",
    kernel: KernelOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="End with status 1 if anything is not reproduced, for scripts.", rich_help_panel=OUTPUT
        ),
    ] = False,
    as_json: JsonOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Where figures go (default: results/PAPER).", rich_help_panel=OUTPUT
        ),
    ] = None,
    page: Annotated[
        bool,
        typer.Option(
            "--page",
            help="Write tables and figures into the README.md of the paper's folder, and results/PAPER/report.html.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> int | None:
    """Repeat a paper: its numbers and statements beside ours."""
    from unbloat.papers.reproduce import paper_of
    from unbloat.scenario.checks import check_kernel

    request = Request(backend(on), kernel, full, cache, jobs, output, page, as_json)
    if full and choices:
        raise InputError("--full is for a paper's tables; those of --choices say themselves how often")
    if check and choices:
        raise InputError("--check is for a paper's verdicts; the tables of --choices have none")
    chosen = paper_of(paper, table=None if choices else table)
    check_kernel(kernel, request.on)
    with keeping_runs(cache):
        if request.on != "simulator":
            if choices or output:
                raise InputError(f"reproduce --on {on} gives the paper's tables only, without --choices and without -o")
            counts = on_kernel(request, chosen)
        elif choices:
            extra(request, chosen)
            return None
        else:
            counts = simulated(request, chosen)
    return DIFFERS if check and is_short(counts) else None


def is_short(counts: dict[str, int]) -> bool:
    """Tell whether any verdict is another than *reproduced*."""
    return any(number for verdict, number in counts.items() if verdict != REPRODUCED)


def simulated(request: Request, paper: Paper) -> dict[str, int]:
    """Simulate; print the verdicts, draw the figures, write the page; gives the counts of the verdicts."""
    from unbloat.papers import page, report_page
    from unbloat.papers.reproduce import reproduce

    if request.page:
        page.require_parts(paper)
    found = reproduce(paper, extra_tables=request.page, full=request.full, cache=request.cache, jobs=request.jobs)
    data = found.as_dict()
    if request.as_json:
        say_json(data)
    else:
        say(found.report().text())
    # A script that reads JSON asks for figures with -o.
    figures = (
        found.draw(request.output or Path("results") / paper.name) if request.output or not request.as_json else []
    )
    if figures and not request.as_json:
        say(f"Figures: {', '.join(map(str, figures))}")
    if request.page:
        page.write(found)
        report_page.write(found, file := Path("results") / paper.name / "report.html")
        tell(f"wrote {file}")
    counts: dict[str, int] = data["counts"]
    return counts


def extra(request: Request, paper: Paper) -> None:
    """Print the tables beyond the paper."""
    from unbloat.papers import extra_tables
    from unbloat.papers.reproduce import measure_extra_tables

    found = measure_extra_tables(paper, cache=request.cache, jobs=request.jobs)
    say("\n\n".join(extra_tables.report_of(*pair).text() for pair in found))


def on_kernel(request: Request, paper: Paper) -> dict[str, int]:
    """Run on a kernel; print its verdicts beside the simulated ones, write the page; gives their counts."""
    from unbloat.papers import kernel_tables
    from unbloat.papers.reproduce import reproduce_on_kernel
    from unbloat.report.pages import require_part, write_parts

    page = paper.folder / PAGES[request.on]
    if request.page:
        require_part(page, request.on)
    options: dict[str, Any] = {"full": request.full, "cache": request.cache, "jobs": request.jobs}
    found = reproduce_on_kernel(paper, request.on, kernel_release=request.kernel, **options)
    data = found.as_dict()
    if request.as_json:
        say_json(data)
    else:
        say(kernel_tables.report_of(found).text())
    if request.page:
        write_parts(page, {request.on: f"{kernel_tables.page_of(found).markdown()}\n"})
    counts: dict[str, int] = data["counts"]
    return counts
