"""`unbloat compare A B [C]`: read sets of results, compare them, print or write the table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbloat import compare_sweeps, compare_three, compare_views, reasons, result_files
from unbloat import compare_sweeps_views as views_of_sweeps
from unbloat._core import InputError
from unbloat.compare import FIGURES, Between, compare
from unbloat.pages import write_parts
from unbloat.reasons import Reason
from unbloat.results import Record

PART = "comparison"
"""The part of a page that `--page` writes."""


def main(args: argparse.Namespace) -> None:
    """Carry the command out; raises `InputError`."""
    data, text, page = held_against(args)
    print(json.dumps(data, indent=2) if args.json else text)
    if args.page:
        write_page(args.page, page)


def held_against(args: argparse.Namespace) -> tuple[dict[str, Any], str, str]:
    """Compare; give what came out as JSON, for the terminal and for a page."""
    names, a, b = sides(args)
    command = command_of(args)
    if is_sweep(a) and is_sweep(b) and not (args.c or args.reasons or args.spread):
        sweeps = compare_sweeps.compare(names, a, b)
        return (
            views_of_sweeps.dict_of(sweeps),
            views_of_sweeps.text_of(sweeps),
            views_of_sweeps.markdown_of(sweeps, command),
        )
    first = compare(names, a, b, why(args), trifles(args))
    if args.c is None:
        return compare_views.dict_of(first), compare_views.text_of(first), compare_views.markdown_of(first, command)
    second = compare((names[1], str(args.c)), b, result_files.read(args.c), why(args))
    three = (first, second)
    return compare_three.dict_of(*three), compare_three.text_of(*three), compare_three.markdown_of(*three, command)


def sides(args: argparse.Namespace) -> tuple[tuple[str, str], list[Record], list[Record]]:
    """Read what is compared: B and A, or one label and another."""
    if args.b is None and not args.between:
        raise InputError("compare needs two sets of results A and B, or one and --between AXIS=LABEL_A,LABEL_B")
    if args.c and args.between:
        raise InputError("compare --between takes one set of results or two, not three")
    a = result_files.read(args.a)
    b = result_files.read(args.b) if args.b else a
    names = (str(args.a), str(args.b or args.a))
    if not args.between:
        return names, a, b
    between = Between.parse(args.between)
    labels = [f"{name} with {between.axis} = {label}" for name, label in zip(names, between.labels, strict=True)]
    return (labels[0], labels[1]), between.pick(a, 0), between.pick(b, 1)


def is_sweep(records: Sequence[Record]) -> bool:
    """Tell whether `unbloat sweep` made them, which numbers its repeats."""
    return all("repeat" in record.run for record in records)


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
