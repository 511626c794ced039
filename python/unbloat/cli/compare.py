"""`unbloat compare A B [C]`: what it takes, prints and writes, for sets of results and for packet traces."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from unbloat._core import InputError
from unbloat.cli.terminal import say

PART = "comparison"
"""The part of a page that `--page` writes."""
SAME, DIFFERENT = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe it to the command line."""
    parser.set_defaults(command=main)
    add = parser.add_argument
    results = "a folder that `unbloat run -o` wrote (or one above several), or what `unbloat run --json` printed"
    add("a", metavar="A", type=Path, help=f"results: {results}")
    add("b", metavar="B", type=Path, nargs="?", help="results to hold against A (default: A's own, with --between)")
    add("c", metavar="C", type=Path, nargs="?", help="results to hold against B, in the same table")
    add(
        "--between",
        metavar="AXIS=LABEL_A,LABEL_B",
        help="compare A's cells with one label of an axis with B's with another: cc=kernel:cubic,cubic",
    )
    add(
        "--spread",
        metavar="RESULTS",
        type=Path,
        help="A's or B's cells once more, along an axis that should make no difference: as much may lie between them",
    )
    add("--packets", action="store_true", help="A and B are packet traces: the first packet in which they differ")
    add(
        "--fields",
        metavar="FIELD,...",
        help="with --packets: what is compared, of seq, ack, sack, window, flags (default: all)",
    )
    add("--reasons", metavar="FILE", type=Path, help="reasons to put beside what lies outside the goal (TOML)")
    add("--page", metavar="FILE", type=Path, help="write the table into a Markdown page")
    add("--json", action="store_true", help="print JSON")


def main(args: argparse.Namespace) -> int:
    """Carry the command out; gives the exit status."""
    if args.packets:
        return packets(args)
    if args.fields is not None:
        raise InputError("compare --fields says what --packets compares: give both, and two packet traces")
    from unbloat.comparison.compare import compare, report_of

    compared = compare(args.a, args.b, args.c, between=args.between, spread=args.spread, reasons=args.reasons)
    report = report_of(compared)
    say(report.json() if args.json else report.text())
    if args.page:
        write_page(args.page, f"    {shlex.join(command_of(args))}\n\n{report.markdown()}")
    return SAME


def packets(args: argparse.Namespace) -> int:
    """Hold two packet traces against each other; gives the exit status."""
    from unbloat.comparison.packets.compare import FIELDS, compare_files, parse_fields
    from unbloat.comparison.packets.report import dict_of, text_of

    if args.b is None or args.c is not None:
        raise InputError("compare --packets takes two packet traces, A and B")
    for option in ("between", "spread", "reasons", "page"):
        if getattr(args, option):
            raise InputError(f"compare --{option} is for results, and --packets for packet traces: leave one out")
    found = compare_files(args.a, args.b, FIELDS if args.fields is None else parse_fields(args.fields))
    print(json.dumps(dict_of(found), indent=2) if args.json else text_of(found))
    return SAME if found.is_same else DIFFERENT


def command_of(args: argparse.Namespace) -> list[str]:
    """Give the command again."""
    command = ["unbloat", "compare", *(str(each) for each in (args.a, args.b, args.c) if each)]
    for option in ("between", "spread", "reasons", "page"):
        if value := getattr(args, option):
            command += [f"--{option}", str(value)]
    return command


def write_page(page: Path, text: str) -> None:
    """Write the table into the marked part of a page, or into a new page."""
    from unbloat.report.pages import write_parts

    if not page.exists():
        page.write_text(f"# Compared\n\n<!-- begin {PART} -->\n<!-- end {PART} -->\n", encoding="utf-8")
    write_parts(page, {PART: text})
