"""`unbloat compare A B [C]`: read sets of results, compare them, print or write the table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbloat import compare_sweeps, compare_three, compare_views, reasons, result_files
from unbloat import compare_sweeps_views as sweep_views
from unbloat._core import InputError
from unbloat.compare import FIGURES, Around, Between, Comparison, compare
from unbloat.pages import write_parts
from unbloat.reasons import Reason
from unbloat.results import Record
from unbloat.terminal import say

PART = "comparison"
"""The part of a page that `--page` writes."""


def main(args: argparse.Namespace) -> None:
    """Carry the command out; raises `InputError`."""
    if args.fields is not None:
        raise InputError("compare --fields says what --packets compares: give both, and two packet traces")
    data, text, page = laid_out(args)
    say(json.dumps(data, indent=2) if args.json else text)
    if args.page:
        write_page(args.page, page)


def laid_out(args: argparse.Namespace) -> tuple[dict[str, Any], str, str]:
    """Compare; give what came out as JSON, for the terminal and for a page."""
    command = command_of(args)
    if args.c:
        three = compared_three(args)
        return compare_three.dict_of(*three), compare_three.text_of(*three), compare_three.markdown_of(*three, command)
    if args.between and args.spread:
        raise InputError("compare --between and --spread do not go together: the spread's runs are one set, not two")
    names, a, b = sides(args)
    if is_sweep([*a, *b]) and not (args.reasons or args.spread):
        sweeps = compare_sweeps.compare(names, a, b)
        return sweep_views.dict_of(sweeps), sweep_views.text_of(sweeps), sweep_views.markdown_of(sweeps, command)
    two = compare(names, a, b, why(args), around(args, a, b))
    return compare_views.dict_of(two), compare_views.text_of(two), compare_views.markdown_of(two, command)


def sides(args: argparse.Namespace) -> tuple[tuple[str, str], list[Record], list[Record]]:
    """Read what is compared: B and A, or one label and another."""
    if args.b is None and not args.between:
        raise InputError("compare needs two sets of results A and B, or one and --between AXIS=LABEL_A,LABEL_B")
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


def compared_three(args: argparse.Namespace) -> tuple[Comparison, Comparison]:
    """Hold B against A, and C against B; where a spread is wanted, the third of a cell's values belongs to it."""
    if args.between:
        raise InputError("compare --between takes one set of results or two, not three")
    a, b, c = (result_files.read(path) for path in (args.a, args.b, args.c))
    both = around(args, a, b, c)
    around_b = Around("in A and B", [*a, *result_files.read(args.spread)]) if args.spread else None
    first = compare((str(args.a), str(args.b)), a, b, why(args), both)
    second = compare((str(args.b), str(args.c)), b, c, why(args), (around_b, None))
    return first, second


def around(
    args: argparse.Namespace, a: Sequence[Record], b: Sequence[Record], c: Sequence[Record] = ()
) -> tuple[Around | None, Around | None]:
    """Give the runs around A and B: those that ran where A did, or B; C belongs to B."""
    if not args.spread:
        return None, None
    trifles = result_files.read(args.spread)
    in_a, in_b = ({record.run["on"] for record in side} for side in (a, b))
    beside_a = [record for record in trifles if record.run["on"] in in_a]
    beside_b = [record for record in trifles if record.run["on"] in in_b - in_a]
    return Around("on A's side", beside_a), Around("on B's side", [*beside_b, *c])


def why(args: argparse.Namespace) -> list[Reason]:
    """Read the reasons."""
    return reasons.read(args.reasons, [figure.name for figure in FIGURES]) if args.reasons else []


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
