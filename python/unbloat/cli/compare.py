"""`unbloat compare A B [C]`, for sets of results and for packet traces."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import OUTPUT, RESULTS, WHAT, JsonOption, MetricsOption, metrics_listed, split_pair
from unbloat.cli.terminal import say, say_json
from unbloat.system.files import write_text

PART = "comparison"
"""The part of a page that `--page` writes."""
SAME, DIFFERENT = 0, 1
COMPARE_EXAMPLES = """\
unbloat compare results/ other-results/
unbloat compare sweep/ --between cc=cubic,vegas
unbloat compare before.json after.json --check --tolerance goodput=5%
unbloat compare before-line/ after-line/
unbloat compare --packets a.pcapng b.pcapng --fields seq,ack"""

FirstArgument = Annotated[Path, typer.Argument(metavar="A", help=RESULTS, show_default=False)]
SecondArgument = Annotated[
    Path | None, typer.Argument(metavar="[B]", help="Results to compare with A. Default with --between: A itself.")
]
ThirdArgument = Annotated[
    Path | None, typer.Argument(metavar="[C]", help="Results to compare with B in the same table.")
]
BetweenOption = Annotated[
    str | None,
    typer.Option(
        "--between",
        metavar="AXIS=LABEL_A,LABEL_B",
        help="Compare two labels of an axis, the first in A and the second in B (or in A too): cc=cubic,vegas.",
        rich_help_panel=WHAT,
    ),
]
ToleranceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="METRIC=LIMIT",
        help="Allowed difference of a metric: a share such as goodput=5%, or a factor such as losses=1.5x.",
        rich_help_panel=WHAT,
    ),
]
SpreadOption = Annotated[
    Path | None,
    typer.Option(
        "--spread",
        metavar="RESULTS",
        help="More runs of the same grid points with negligible changes, such as 1 us more delay. Their range explains "
        "differences within it.",
        rich_help_panel=WHAT,
    ),
]
ReasonsOption = Annotated[
    Path | None,
    typer.Option(
        "--reasons",
        metavar="FILE",
        help="TOML file with reasons for differences outside the tolerances.",
        rich_help_panel=WHAT,
    ),
]
PacketsOption = Annotated[
    bool,
    typer.Option(
        "--packets",
        help="A and B are packet traces. Print the first packet in which they differ.",
        rich_help_panel=WHAT,
    ),
]
FieldsOption = Annotated[
    str | None,
    typer.Option(
        "--fields",
        metavar="FIELD,...",
        help="With --packets: fields to compare, of seq, ack, sack, window, flags. Default: all.",
        rich_help_panel=WHAT,
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Exit with status 1 after a difference without a reason, an unsound run, or a grid point in one set only. "
        "For sweeps: if more differences exceed their intervals than chance explains.",
        rich_help_panel=OUTPUT,
    ),
]
PageOption = Annotated[
    Path | None,
    typer.Option("--page", metavar="FILE", help="Write the table into a Markdown page.", rich_help_panel=OUTPUT),
]


def compare_command(
    a: FirstArgument,
    b: SecondArgument = None,
    c: ThirdArgument = None,
    between: BetweenOption = None,
    tolerance: ToleranceOption = None,
    spread: SpreadOption = None,
    reasons: ReasonsOption = None,
    metrics: MetricsOption = None,
    packets: PacketsOption = False,
    fields: FieldsOption = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
    page: PageOption = None,
) -> int:
    """Compare two or three sets of results, or two packet traces.

    Measured lines get a table of their rates, delays, losses and responsiveness, unless an option asks for tolerances.
    """
    paths = [path for path in (a, b, c) if path]
    shown = metrics_listed(metrics)
    given = [
        *given_as("--between", between),
        *given_as("--spread", spread),
        *given_as("--reasons", reasons),
        *given_as("--page", page),
        *(word for text in tolerance or [] for word in given_as("--tolerance", text)),
        *given_as("--metrics", ",".join(shown)),
    ]
    if packets:
        for option in given[:1]:
            raise InputError(f"compare {option} is for results, and --packets for packet traces: leave one out")
        return compare_packets(paths, fields, as_json)
    if fields is not None:
        raise InputError("compare --fields needs --packets and two packet traces")
    from unbloat.line.compared import compare_lines, is_line

    if not given and not check and all(map(is_line, paths)) and len(paths) > 1:
        lines = compare_lines(paths)
        say_json(lines.json()) if as_json else say(lines.text())
        return SAME
    from unbloat.api.comparison import compare

    limits = dict(split_pair(text, "compare --tolerance", "METRIC=LIMIT", "goodput=5%") for text in tolerance or [])
    compared = compare(*paths, between=between, tolerance=limits or None, spread=spread, reasons=reasons, metrics=shown)
    report = compared.report()
    say_json(report.data) if as_json else say(report.text())
    if page:
        typed = shlex.join(["unbloat", "compare", *map(str, paths), *given])
        write_page(page, f"    {typed}\n\n{report.markdown()}")
    return DIFFERENT if check and not compared.is_within else SAME


def given_as(option: str, value: Path | str | None) -> list[str]:
    """Write an option as it is typed, if it was given."""
    return [option, str(value)] if value else []


def compare_packets(paths: Sequence[Path], fields: str | None, as_json: bool) -> int:
    """Compare two packet traces; return the exit status."""
    from unbloat.lab.compare import FIELDS, compare_files, dict_of, parse_fields, text_of

    if len(paths) != 2:
        raise InputError("compare --packets takes two packet traces, A and B")
    found = compare_files(paths[0], paths[1], FIELDS if fields is None else parse_fields(fields))
    say_json(dict_of(found)) if as_json else say(text_of(found))
    return SAME if found.is_same else DIFFERENT


def write_page(page: Path, text: str) -> None:
    """Write the table into the marked part of a page, or into a new page."""
    from unbloat.report.report import write_parts

    if not page.exists():
        write_text(page, f"# Compared\n\n<!-- begin {PART} -->\n<!-- end {PART} -->\n")
    write_parts(page, {PART: text})
