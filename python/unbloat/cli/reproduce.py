"""`unbloat reproduce PAPER`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    SetOption,
    assigned,
    keeping_runs,
    paper_names,
)
from unbloat.cli.terminal import say, say_json, tell

if TYPE_CHECKING:
    from unbloat.papers.judge import Judged
    from unbloat.papers.paper import Paper
    from unbloat.report.report import Report

DIFFERS = 1
REPRODUCE_EXAMPLES = """\
unbloat reproduce cubic-plus
unbloat reproduce cubic-plus --table table2
unbloat reproduce cubic-plus --claim abstract.I.500 --set duration=60s
unbloat reproduce clpc --on vm
unbloat reproduce ./my-paper --check"""


def table_ids(context: typer.Context, incomplete: str) -> list[str]:
    """List the tables and figures of the paper that was typed before."""
    return [name for name in _paper_typed(context).starts() if name.startswith(incomplete)]


def claim_ids(context: typer.Context, incomplete: str) -> list[str]:
    """List the numbers and statements of the paper that was typed before."""
    return [name for name in _paper_typed(context).ids() if name.startswith(incomplete)]


def _paper_typed(context: typer.Context) -> Paper:
    from unbloat.papers.reproduce import paper_of

    return paper_of(context.params.get("paper") or "")


PaperArgument = Annotated[
    str,
    typer.Argument(
        metavar="PAPER",
        help="A paper from `unbloat list`, or a folder with a published.toml.",
        autocompletion=paper_names,
        show_default=False,
    ),
]
TableOption = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="ID",
        help="Run only the numbers and statements whose id begins with this, such as table2 or fig6. "
        "With --choices: only this table.",
        autocompletion=table_ids,
        rich_help_panel=WHAT,
    ),
]
ClaimOption = Annotated[
    str | None,
    typer.Option(
        "--claim",
        metavar="ID",
        help="Run only the number or statement with this id. `unbloat show PAPER` lists the ids.",
        autocompletion=claim_ids,
        rich_help_panel=WHAT,
    ),
]
FullOption = Annotated[
    bool,
    typer.Option(
        "--full",
        help="Repeat undecided cases up to the paper's own number of runs. Prints an estimate of the time first.",
        rich_help_panel=WHAT,
    ),
]
ChoicesOption = Annotated[
    bool,
    typer.Option(
        "--choices",
        help="Print how results change with the choices that the paper leaves open, in place of the tables. "
        "With --page: also in report.html.",
        rich_help_panel=WHAT,
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check", help="For scripts: exit with status 1 if any number or statement fails.", rich_help_panel=OUTPUT
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder for the figures. Default: results/PAPER; a --table or --claim with numbers draws none.",
        rich_help_panel=OUTPUT,
    ),
]
PageOption = Annotated[
    bool,
    typer.Option(
        "--page",
        help="Update README.md in the paper's folder, and write results/PAPER/report.html with every table and "
        "figure. With --on kernel or vm: update kernel.md with the agreement.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class Request:
    """The options of the command that its steps need."""

    on: str
    kernel: str | None
    full: bool
    cache: bool | None
    jobs: int | None
    output: Path | None
    page: bool
    as_json: bool
    choices: bool = False


def reproduce_command(
    paper: PaperArgument,
    table: TableOption = None,
    claim: ClaimOption = None,
    assignments: SetOption = None,
    full: FullOption = False,
    choices: ChoicesOption = False,
    on: OnOption = "simulator",
    kernel: KernelOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    output: OutputOption = None,
    page: PageOption = False,
) -> int | None:
    """Repeat a paper's experiments and compare its numbers with ours."""
    from unbloat.papers.reproduce import paper_of
    from unbloat.scenarios.checks import backend_named, check_kernel

    request = Request(backend_named(on), kernel, full, cache, jobs, output, page, as_json)
    overrides = assigned(assignments)
    part = claim if choices else claim or table
    refuse_contradictions(request, choices=choices, check=check, overrides=overrides, part=part)
    chosen = paper_of(paper, overrides, table=None if choices else table, claim=claim, full=full)
    check_kernel(kernel, request.on)
    with keeping_runs(cache):
        if choices and not page:
            extra(request, chosen, table)
            return None
        run = simulated if request.on == "simulator" else on_kernel
        failing = run(replace(request, choices=choices), chosen)
    return DIFFERS if check and failing else None


def refuse_contradictions(
    request: Request, *, choices: bool, check: bool, overrides: Mapping[str, object], part: str | None
) -> None:
    """Refuse options that contradict each other; raises `InputError`."""
    if request.on != "simulator" and (choices or request.output):
        where = f"reproduce --on {request.on}"
        raise InputError(f"{where} gives the paper's tables only, without --choices and without -o")
    if choices and request.full:
        raise InputError("--full is for a paper's tables; the tables of --choices have their own number of repeats")
    if choices and (check or request.as_json or request.output):
        raise InputError("--choices prints tables without verdicts: leave --check, --json and -o out")
    if choices and (overrides or part):
        raise InputError("--choices gives tables beyond the paper as they are: leave --set and --claim out")
    if request.page and (overrides or part):
        raise InputError("--page writes the whole page, in the paper's own setting: without --set, --table and --claim")


def simulated(request: Request, paper: Paper) -> list[Judged]:
    """Simulate, print the verdicts, draw the figures, write the page; return what is not reproduced."""
    from unbloat.papers import page, readme
    from unbloat.papers.reproduce import reproduce

    if request.page:
        readme.require(paper)
    found = reproduce(paper, extra_tables=request.choices, full=request.full, cache=request.cache, jobs=request.jobs)
    show(found.report(), request)
    # A script that reads JSON asks for figures with -o, and so does who asks for a part that has numbers too.
    is_drawn = not request.as_json and (not paper.asked or not paper.ids())
    folder = request.output or (Path("results") / paper.name if is_drawn else None)
    if folder and (figures := found.draw(folder)) and not request.as_json:
        say(f"Figures: {', '.join(map(str, figures))}")
    elif not folder and paper.figures and not request.as_json:
        say(f"-o DIR draws {', '.join(figure.id for figure in paper.figures)}.")
    if request.page:
        readme.write(found)
        page.page_of(found).write(file := Path("results") / paper.name / "report.html")
        tell(f"wrote {file}")
    return found.failing()


def extra(request: Request, paper: Paper, table: str | None) -> None:
    """Print the tables beyond the paper, or one of them."""
    from unbloat.papers import extra_tables
    from unbloat.papers.reproduce import measure_extra_tables

    found = measure_extra_tables(paper, table, cache=request.cache, jobs=request.jobs)
    say("\n\n".join(extra_tables.report_of(*pair).text() for pair in found))


def on_kernel(request: Request, paper: Paper) -> list[Judged]:
    """Run on a kernel, print its verdicts beside the simulated ones, write the page; return what is not reproduced."""
    from unbloat.papers import kernel, readme
    from unbloat.papers.reproduce import reproduce_on_kernel
    from unbloat.report.report import require_part, write_parts

    page = paper.folder / readme.KERNEL_PAGE
    if request.page:
        require_part(page, request.on)
    found = reproduce_on_kernel(
        paper,
        request.on,
        kernel_release=request.kernel,
        cache=request.cache,
        jobs=request.jobs,
    )
    show(kernel.report_of(found), request)
    if request.page:
        write_parts(page, {request.on: f"{kernel.page_of(found).markdown()}\n"})
    return found.failing()


def show(report: Report, request: Request) -> None:
    """Print it for people, or for a script."""
    if request.as_json:
        say_json(report.data)
    else:
        say(report.text())
