"""`unbloat compare A B [C]`: read sets of results, compare them, print or write the table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from unbloat import compare_three, compare_views, reasons, result_files
from unbloat._core import InputError
from unbloat.compare import FIGURES, Between, Comparison, compare
from unbloat.pages import write_parts
from unbloat.reasons import Reason
from unbloat.results import Record

PART = "comparison"
"""The part of a page that `--page` writes."""


def main(args: argparse.Namespace) -> None:
    """Carry the command out; raises `InputError`."""
    first = compared(args)
    command = command_of(args)
    if args.c:
        second = compare((str(args.b), str(args.c)), result_files.read(args.b), result_files.read(args.c), why(args))
        data = compare_three.dict_of(first, second)
        text, page = compare_three.text_of(first, second), compare_three.markdown_of(first, second, command)
    else:
        data = compare_views.dict_of(first)
        text, page = compare_views.text_of(first), compare_views.markdown_of(first, command)
    print(json.dumps(data, indent=2) if args.json else text)
    if args.page:
        write_page(args.page, page)


def compared(args: argparse.Namespace) -> Comparison:
    """Hold B against A, or one label against another."""
    if args.b is None and not args.between:
        raise InputError("compare needs two sets of results A and B, or one and --between AXIS=LABEL_A,LABEL_B")
    if args.c and args.between:
        raise InputError("compare --between takes one set of results or two, not three")
    a = result_files.read(args.a)
    b = result_files.read(args.b) if args.b else a
    names = (str(args.a), str(args.b or args.a))
    if not args.between:
        return compare(names, a, b, why(args), trifles(args))
    between = Between.parse(args.between)
    labels = [f"{name} with {between.axis} = {label}" for name, label in zip(names, between.labels, strict=True)]
    return compare((labels[0], labels[1]), between.pick(a, 0), between.pick(b, 1), why(args), trifles(args))


def why(args: argparse.Namespace) -> list[Reason]:
    """Read the reasons."""
    return reasons.read(args.reasons, [figure.name for figure in FIGURES]) if args.reasons else []


def trifles(args: argparse.Namespace) -> list[Record]:
    """Read what trifles make of A."""
    return result_files.read(args.spread) if args.spread else []


def command_of(args: argparse.Namespace) -> list[str]:
    """Give the command again."""
    command = ["unbloat", "compare", *(str(each) for each in (args.a, args.b, args.c) if each)]
    for option in ("between", "spread", "reasons", "page"):
        if value := getattr(args, option):
            command += [f"--{option}", str(value)]
    return command


def write_page(page: Path, text: str) -> None:
    """Write the table into the marked part of a page, or into a new page."""
    if not page.exists():
        page.write_text(f"# Compared\n\n<!-- begin {PART} -->\n<!-- end {PART} -->\n", encoding="utf-8")
    write_parts(page, {PART: text})
