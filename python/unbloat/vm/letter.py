"""What a guest is told of a run: the cell, and nothing of how its file is written or where it lies.

The guest is a machine: a longer text moves everything in its memory, that takes other instructions and with them other
microseconds, and where flows compete these decide who finds the queue full. So the same cell has the same letter.
"""

from __future__ import annotations

import base64
import json

from unbloat import _core
from unbloat.places import ALGORITHMS
from unbloat.pool import Task


def letter(cell: _core.Cell, task: Task) -> bytes:
    """Write it."""
    files = {str(file): base64.b64encode(file.read_bytes()).decode() for file in cell.sources(ALGORITHMS)}
    content = {
        "cell": scenario_of(cell),
        "files": files,
        "objects": encoded_objects(cell),
        "series_ns": task.series_ns,
        "pcap": bool(task.pcap),
        "pcap_links": task.pcap_links,
    }
    return json.dumps(content, sort_keys=True).encode()


def scenario_of(cell: _core.Cell) -> str:
    """Give the cell's scenario in the form that `_core.resolved` reads, always in the same order."""
    return json.dumps(json.loads(cell.portable()), sort_keys=True)


def encoded_objects(cell: _core.Cell) -> dict[str, str]:
    """Compile a cell's congestion controls for the guest, which has no compiler; as text."""
    return {name: base64.b64encode(data).decode() for name, data in sorted(cell.objects(ALGORITHMS).items())}
