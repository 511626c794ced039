"""`unbloat compare A B [C]`, for sets of results and for packet traces."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from unbloat._core import InputError
from unbloat.cli.options import OUTPUT, WHAT, JsonOption
from unbloat.cli.terminal import say, say_json

PART = "comparison"
"""The part of a page that `--page` writes."""
SAME, DIFFERENT = 0, 1
RESULTS = "a folder that `unbloat run -o` wrote (or one above several), or what `unbloat run --json` printed"
EXAMPLES = """\
unbloat compare results/ other-results/
unbloat compare sweep/ --between cc=cubic,vegas
unbloat compare before.json after.json --check --tolerance goodput=5%
unbloat compare --packets a.pcapng b.pcapng --fields seq,ack"""


def command(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"Results: {RESULTS}.", show_default=False)],
    b: Annotated[
        Path | None, typer.Argument(metavar="[B]", help="Results to hold against A (default: A's own, with --between).")
    ] = None,
    c: Annotated[
        Path | None, typer.Argument(metavar="[C]", help="Results to hold against B, in the same table.")
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(
            "--between",
            metavar="AXIS=LABEL_A,LABEL_B",
            help="Compare A's cells with one label of an axis with B's with another: cc=kernel:cubic,cubic.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="METRIC=LIMIT",
            help="How far a metric may lie apart: a share such as goodput=5%, or a factor such as losses=1.5x.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    spread: Annotated[
        Path | None,
        typer.Option(
            "--spread",
            metavar="RESULTS",
            help="More runs of A's or B's cells, with negligible changes (such as 1 us more delay): differences within "
            "their range are explained.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    reasons: Annotated[
        Path | None,
        typer.Option(
            "--reasons",
            metavar="FILE",
            help="Reasons to put beside what lies outside the tolerances (TOML).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    packets: Annotated[
        bool,
        typer.Option(
            "--packets",
            help="A and B are packet traces: the first packet in which they differ.",
            rich_help_panel=WHAT,
        ),
    ] = False,
    fields: Annotated[
        str | None,
        typer.Option(
            "--fields",
            metavar="FIELD,...",
            help="With --packets: what is compared, of seq, ack, sack, window, flags (default: all).",
            rich_help_panel=WHAT,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="End with status 1 if anything is outside the tolerances without a reason, unsound, or in one set "
            "only; of sweeps, if more metrics differ by more than their intervals than chance would have it.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: JsonOption = False,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write the table into a Markdown page.", rich_help_panel=OUTPUT),
    ] = None,
) -> int:
    """Compare two or three sets of results, or two packet traces."""
    options = {
        "between": between,
        "tolerance": ",".join(tolerance or []),
        "spread": spread,
        "reasons": reasons,
        "page": page,
    }
    if packets:
        return compare_packets(a, b, c, fields, as_json, [name for name, value in options.items() if value])
    if fields is not None:
        raise InputError("compare --fields says what --packets compares: give both, and two packet traces")
    from unbloat.comparison.compare import compare

    tolerances = dict(map(tolerance_of, tolerance or []))
    compared = compare(a, b, c, between=between, tolerance=tolerances or None, spread=spread, reasons=reasons)
    report = compared.report()
    say_json(report.data) if as_json else say(report.text())
    if page:
        words = [str(path) for path in (a, b, c) if path]
        given = {**options, "tolerance": None}
        words += [word for name, value in given.items() if value for word in (f"--{name}", str(value))]
        words += [word for text in tolerance or [] for word in ("--tolerance", text)]
        write_page(page, f"    {shlex.join(['unbloat', 'compare', *words])}\n\n{report.markdown()}")
    return DIFFERENT if check and not compared.is_within else SAME


def tolerance_of(text: str) -> tuple[str, str]:
    """Split METRIC=LIMIT."""
    metric, equals, limit = text.partition("=")
    if not metric or not equals:
        raise InputError(f"compare --tolerance: {text} is not METRIC=LIMIT, such as goodput=5%")
    return metric.strip(), limit.strip()


def compare_packets(
    a: Path, b: Path | None, c: Path | None, fields: str | None, as_json: bool, others: list[str]
) -> int:
    """Hold two packet traces against each other; gives the exit status."""
    from unbloat.comparison.packets.compare import FIELDS, compare_files, parse_fields
    from unbloat.comparison.packets.report import dict_of, text_of

    if b is None or c is not None:
        raise InputError("compare --packets takes two packet traces, A and B")
    for option in others:
        raise InputError(f"compare --{option} is for results, and --packets for packet traces: leave one out")
    found = compare_files(a, b, FIELDS if fields is None else parse_fields(fields))
    say_json(dict_of(found)) if as_json else say(text_of(found))
    return SAME if found.is_same else DIFFERENT


def write_page(page: Path, text: str) -> None:
    """Write the table into the marked part of a page, or into a new page."""
    from unbloat.report.pages import write_parts

    if not page.exists():
        page.write_text(f"# Compared\n\n<!-- begin {PART} -->\n<!-- end {PART} -->\n", encoding="utf-8")
    write_parts(page, {PART: text})
