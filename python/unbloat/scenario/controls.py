"""What results call the congestion controls of a user's own files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath

from unbloat import _core
from unbloat.scenario.identity import SUFFIX


def own_names(cell: _core.Cell) -> list[str | None]:
    """Give each group of flows the name of its control if that is a file of the user's own, otherwise None.

    The name is the file's: its text may be a copy of another control's that still calls itself by that one's name. Two
    controls of the same name are called as the scenario writes them.
    """
    sources = _sources(cell)
    short = [named(next(iter(source.values()))) if "File" in source else None for source in sources]
    by_name: dict[str, set[str]] = {}
    for source, name in zip(sources, short, strict=True):
        by_name.setdefault(name or next(iter(source.values())), set()).add(json.dumps(source))
    return [
        name and (name if len(by_name[name]) == 1 else source["File"])
        for source, name in zip(sources, short, strict=True)
    ]


def named(written: str) -> str:
    """Shorten `folder/mine.bpf.c` to `mine`, and `mine.bpf.c#other` to `mine#other`."""
    path, mark, chosen = written.partition("#")
    return f"{PurePath(path).name.removesuffix(SUFFIX)}{mark}{chosen}"


def _sources(cell: _core.Cell) -> Sequence[dict[str, str]]:
    return [group["cc"]["source"] for group in json.loads(cell.json())["flows"]]
