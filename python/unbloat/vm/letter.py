"""What a guest is told of its runs: the cells, and nothing of how its file is written or where it lies.

The guest is a machine: a longer text moves everything in its memory, that takes other instructions and with them other
microseconds, and where flows compete these decide who finds the queue full. So the same cell has the same letter.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from unbloat import _core
from unbloat.places import ALGORITHMS
from unbloat.pool import Task


def letter(runs: Sequence[tuple[_core.Cell, Task]]) -> bytes:
    """Write it."""
    return json.dumps({"runs": [run(cell, task) for cell, task in runs]}, sort_keys=True).encode()


def run(cell: _core.Cell, task: Task) -> dict[str, Any]:
    """Tell of one run."""
    files = {str(file): base64.b64encode(file.read_bytes()).decode() for file in cell.sources(ALGORITHMS)}
    return {
        "cell": scenario_of(cell),
        "files": files,
        "objects": encoded_objects(cell),
        "series_ns": task.series_ns,
        "pcap": bool(task.pcap),
        "pcap_links": task.pcap_links,
        "pcap_headers_only": task.pcap_headers_only,
    }


def scenario_of(cell: _core.Cell) -> str:
    """Give the cell's scenario in the form that `_core.resolved` reads, always in the same order."""
    return json.dumps(json.loads(cell.portable()), sort_keys=True)


def encoded_objects(cell: _core.Cell) -> dict[str, str]:
    """Compile a cell's congestion controls for the guest, which has no compiler; as text."""
    return {name: base64.b64encode(data).decode() for name, data in sorted(cell.objects(ALGORITHMS).items())}
