"""`unbloat compare --packets A B`: read two packet traces, print where they part."""

from __future__ import annotations

import argparse
import json

from unbloat._core import InputError
from unbloat.compare_packets import FIELDS, compare_files, parse_fields
from unbloat.compare_packets_views import dict_of, text_of

SAME, DIFFERENT = 0, 1


def main(args: argparse.Namespace) -> int:
    """Carry the command out; gives the exit status. Raises `InputError`."""
    if args.b is None or args.c is not None:
        raise InputError("compare --packets takes two packet traces, A and B")
    for option in ("between", "spread", "reasons", "page"):
        if getattr(args, option):
            raise InputError(f"compare --{option} is for results, and --packets for packet traces: leave one out")
    found = compare_files(args.a, args.b, FIELDS if args.fields is None else parse_fields(args.fields))
    print(json.dumps(dict_of(found), indent=2) if args.json else text_of(found))
    return SAME if found.is_same else DIFFERENT
