"""What Dask's workers do of a sweep.

Each run is in a process of its own, as on one machine: a congestion control that crashes must not take the Dask worker
with it. A worker's thread keeps that process for its next run. It ends with the Dask worker, however that ends.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat.inputs import Code, code_hash
from unbloat.places import ALGORITHMS
from unbloat.pool import Task, Worker
from unbloat.scratch import Scratch
from unbloat.store import Store

Letter = dict[str, Any]
"""A cell for another machine: its scenario, and the user's own files by their paths."""


def pack(cell: _core.Cell) -> Letter:
    """Write it."""
    scenario = json.loads(cell.portable())
    for source in _own_files(scenario):
        source["File"] = absolute(source["File"])
    files = {absolute(file): file.read_bytes() for file in cell.sources(ALGORITHMS)}
    return {"scenario": scenario, "files": files}


def unpack(letter: Letter, folder: Path) -> str:
    """Lay its files down in `folder`; give the scenario, as `_core.resolved` reads it, with their paths there."""
    for path, content in letter["files"].items():
        file = folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    scenario = copy.deepcopy(letter["scenario"])
    for source in _own_files(scenario):
        source["File"] = str(folder / source["File"].lstrip("/"))
    return json.dumps(scenario)


def _own_files(scenario: dict[str, Any]) -> list[dict[str, str]]:
    """Give the places where a scenario names a file of the user's."""
    sources = [group["cc"]["source"] for group in scenario["flows"]]
    return [source for source in sources if "File" in source]


def absolute(path: str | Path) -> str:
    """Write a path from the root, without steps back."""
    return os.path.normpath(Path(path).absolute())


def code() -> str:
    """Identify what runs depend on besides their scenario."""
    return code_hash()


def dask_setup(_: object) -> None:
    """Called by Dask in each worker of a local cluster: whoever started the cluster decides what an interrupt ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Hand:
    """A process for runs, with a folder for what it makes."""

    def __init__(self) -> None:
        self._scratch = Scratch()
        self.folder = self._scratch.folder
        self.store = Store(self.folder / "runs")
        self.worker = Worker(self.store.folder)


_here = threading.local()


def run(letter: Letter, task: dict[str, Any], wanted_code: str) -> dict[str, Any]:
    """Do a run; give its record as JSON, or why there is none."""
    here = Code.now()
    if here.hash != wanted_code:
        return {
            "error": "a Dask worker has another build of unbloat; install the same wheel there",
            "wrong_input": True,
        }
    if not hasattr(_here, "hand"):
        _here.hand = Hand()
    hand: Hand = _here.hand
    files = hand.folder / "files"
    try:
        scenario = unpack(letter, files)
        stamp = here.stamp_with(_core.resolved(scenario))
        hand.worker.take(Task(**{**task, "stamp": stamp}), scenario)
        while not any(share == 1 for share in hand.worker.listen()):
            pass
    except _core.Error as error:
        hand.worker.revive()
        # The files are the user's own, under the paths that they have there.
        sentence = str(error).replace(str(files), "")
        return {"error": sentence, "wrong_input": isinstance(error, _core.InputError)}
    return {"record": hand.store.take_out(task["key"])}
