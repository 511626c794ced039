"""The congestion controls of a scenario's flows: what results call a user's own, and which axis they vary along."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePath

from unbloat import _core
from unbloat._core import InputError
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
    sources = [group["cc"]["source"] for group in json.loads(cell.json())["flows"]]
    # Datagrams have none, which has no name.
    return [source if isinstance(source, dict) else {source: "none"} for source in sources]


def axis_over(key: str, cell: _core.Cell) -> str:
    """Name the axis that runs several `cc` or `receiver` side by side: the scenario's own, if it has one for all flows.

    Raises `InputError` if its axis is about some flows only: whose should be which then?
    """
    axes = [axis for axis, _ in cell.axes if re.fullmatch(rf"flows\.(\d+|\*)\.{key}", axis)]
    if not axes or axes == [f"flows.*.{key}"]:
        return f"sweep.flows.*.{key}"
    if len(_sources(cell)) > 1:
        raise InputError(
            f"{key}: the scenario has a sweep over {', '.join(axes)} already, and other flows too; say which of them "
            f"get which: --set 'sweep.{axes[0]}=[...]'"
        )
    return f"sweep.{axes[0]}"
