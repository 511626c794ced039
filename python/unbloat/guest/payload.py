"""The payload of a guest: the grid points to run, independent of how and where their files are written.

A longer text moves everything in the guest's memory, which takes other instructions and so other microseconds. Where
flows compete, these decide who finds the queue full. So the same grid point has the same payload.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from unbloat import _core
from unbloat.guest.inside.messages import Runs, RunTask
from unbloat.scenarios.portable import Recording, encoded_objects, scenario_of
from unbloat.system.paths import ALGORITHMS


def payload(runs: Sequence[tuple[_core.GridPoint, Recording]]) -> bytes:
    """Write it."""
    task: Runs = {"runs": [run(point, recording) for point, recording in runs]}
    return json.dumps(task, sort_keys=True).encode()


def run(point: _core.GridPoint, recording: Recording) -> RunTask:
    """Describe one run."""
    files = {str(file): base64.b64encode(file.read_bytes()).decode() for file in point.sources(ALGORITHMS)}
    return {
        "point": scenario_of(point),
        "files": files,
        "objects": encoded_objects(point),
        "series_ns": recording.series_ns,
        "pcap": bool(recording.pcap),
        "pcap_links": recording.pcap_links,
        "pcap_headers_only": recording.pcap_headers_only,
    }
