"""A grid point for another process or machine, and sentences from there."""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat.system.paths import ALGORITHMS

PLACE = re.compile(r"^\?: ([^\s:]+)", re.MULTILINE)
"""Placeholder for file and line in an error from another process."""

Packed = dict[str, Any]
"""A grid point for another machine: its scenario, and the user's own files by their paths."""


def located(sentence: str, point: _core.GridPoint) -> str:
    """Put file and line into a sentence from another process."""
    return PLACE.sub(lambda place: point.locate(place[1]), sentence)


def scenario_of(point: _core.GridPoint) -> str:
    """Write the grid point's scenario in the form that `_core.resolved` reads, always in the same order."""
    return json.dumps(json.loads(point.portable()), sort_keys=True)


def encoded_objects(point: _core.GridPoint) -> dict[str, str]:
    """Compile a grid point's congestion controls for a machine that has no compiler; as text."""
    return {name: base64.b64encode(data).decode() for name, data in sorted(point.objects(ALGORITHMS).items())}


def pack(point: _core.GridPoint) -> Packed:
    """Pack a grid point with the user's own files, by their absolute paths."""
    files = {str(absolute(file)): file.read_bytes() for file in point.sources(ALGORITHMS)}
    there = point.with_own_controls({path: absolute(path) for path in point.own_controls})
    return {"scenario": there.portable(), "files": files}


def unpack(packed: Packed, folder: Path) -> _core.GridPoint:
    """Write the files into `folder`, each under its absolute path; return the grid point, which finds them there."""
    for path, content in packed["files"].items():
        file = below(folder, Path(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    point = _core.resolved(packed["scenario"])
    return point.with_own_controls({path: below(folder, path) for path in point.own_controls})


def absolute(path: Path) -> Path:
    """Return a path from the root, without `..`."""
    return Path(os.path.normpath(path.absolute()))


def below(folder: Path, path: Path) -> Path:
    """Return an absolute path moved below `folder`, as if that were the root."""
    return folder / path.relative_to(path.anchor)


Columns = dict[str, dict[str, tuple[str, bytes]]]
"""A run's series as the core gives them: by table and column a NumPy type and bytes."""


@dataclass(frozen=True)
class Recording:
    """Time series and packets, as `GridPoint.run` takes them; nothing by default."""

    series_ns: int | None = None
    """The step of the time series."""
    pcap: str | None = None
    """The file for the packets at the senders."""
    pcap_links: bool = False
    """Packets at links too."""
    pcap_headers_only: bool = False
    """Whether the packet trace goes without the payloads, which are zeros."""
