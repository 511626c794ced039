"""`unbloat compare A B`: read two sets of results, compare them, print or write the table."""

from __future__ import annotations

import argparse
import json

from unbloat import compare_views, reasons, result_files
from unbloat._core import InputError
from unbloat.compare import FIGURES, Between, Comparison, compare
from unbloat.pages import write_parts

PART = "comparison"
"""The part of a page that `--page` writes."""


def main(args: argparse.Namespace) -> None:
    """Carry the command out; raises `InputError`."""
    comparison = compared(args)
    print(json.dumps(compare_views.dict_of(comparison), indent=2) if args.json else compare_views.text_of(comparison))
    if args.page:
        write_page(args, comparison)


def compared(args: argparse.Namespace) -> Comparison:
    """Do what the arguments say."""
    why = reasons.read(args.reasons, [figure.name for figure in FIGURES]) if args.reasons else []
    if args.b is None and not args.between:
        raise InputError("compare needs two sets of results A and B, or one and --between AXIS=LABEL_A,LABEL_B")
    a = result_files.read(args.a)
    b = result_files.read(args.b) if args.b else a
    names = (str(args.a), str(args.b or args.a))
    if not args.between:
        return compare(names, a, b, why)
    between = Between.parse(args.between)
    labels = [f"{name} with {between.axis} = {label}" for name, label in zip(names, between.labels, strict=True)]
    return compare((labels[0], labels[1]), between.pick(a, 0), between.pick(b, 1), why)


def write_page(args: argparse.Namespace, comparison: Comparison) -> None:
    """Write the table into the marked part of a page, or into a new page."""
    command = ["unbloat", "compare", str(args.a), *([str(args.b)] if args.b else [])]
    for option in ("between", "reasons", "page"):
        if value := getattr(args, option):
            command += [f"--{option}", str(value)]
    if not args.page.exists():
        args.page.write_text(f"# Compared\n\n<!-- begin {PART} -->\n<!-- end {PART} -->\n", encoding="utf-8")
    write_parts(args.page, {PART: compare_views.markdown_of(comparison, command)})
