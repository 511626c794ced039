"""The part of a sweep that runs in Dask's workers.

Each run is in its own process, as on one machine: a congestion control that crashes must not take the Dask worker with
it. A worker's thread keeps that process for its next run. It ends with the Dask worker, however that ends.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from typing import Any

from unbloat import _core
from unbloat.runs.pool import Worker
from unbloat.runs.store import Store
from unbloat.runs.task import Task
from unbloat.scenarios.identity import Code, code_hash
from unbloat.scenarios.portable import Packed, unpack
from unbloat.system.scratch import Scratch


def code() -> str:
    """Hash what runs depend on besides their scenario."""
    return code_hash()


def dask_setup(_: object) -> None:
    """Ignore interrupts in each worker of a local cluster: whoever started the cluster decides what they end.

    Dask calls this function by its name.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class WorkerProcess:
    """A process for runs, with a folder for what it makes."""

    def __init__(self) -> None:
        self._scratch = Scratch()
        self.folder = self._scratch.folder
        self.store = Store(self.folder / "runs")
        self.worker = Worker(self.store.folder)


_here = threading.local()


def run(packed: Packed, task: dict[str, Any], wanted_code: str) -> dict[str, Any]:
    """Run a grid point; return its record as JSON, or the error."""
    here = Code.now()
    if here.hash != wanted_code:
        return {
            "error": "a Dask worker has another build of unbloat; install the same wheel there",
            "wrong_input": True,
        }
    if not hasattr(_here, "process"):
        _here.process = WorkerProcess()
    process: WorkerProcess = _here.process
    files = process.folder / "files"
    try:
        point = unpack(packed, files)
        process.worker.take(replace(Task.of(task), stamp=here.stamp_with(point)), point.portable())
        while not any(share == 1 for share in process.worker.listen()):
            pass
    except _core.Error as error:
        process.worker.revive()
        # The files are the user's own, under the paths that they have there.
        sentence = str(error).replace(str(files), "")
        return {"error": sentence, "wrong_input": isinstance(error, _core.InputError)}
    return {"record": process.store.take_out(task["key"])}
