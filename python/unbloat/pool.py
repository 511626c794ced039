"""Runs many cells at once, each in one of a few processes, and watches their progress."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from unbloat._core import InputError, RunError
from unbloat.source import Source


@dataclass(frozen=True)
class Task:
    """A run to do: the cell's number, the key to keep it under, where to run, what to keep besides the records."""

    cell: int
    key: str
    on: str = "simulator"
    series_ns: int | None = None
    pcap: str | None = None


Watch = Callable[[Task, float], None]
"""Told a task and the share of it that is done; 1 when it is finished."""


def run_all(
    source: Source, folder: Path, tasks: Iterable[Task], processes: int, watch: Watch, guest: Path | None = None
) -> None:
    """Do every task; each result is in the store of `folder` as soon as it is finished.

    Runs on "vm" start from what the folder `guest` holds.

    The first error ends the others and is raised, as is an interrupt.
    """
    waiting = iter(tasks)
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        for number in range(processes):
            worker = stack.enter_context(Worker(source, folder, guest, number))
            if worker.take(next(waiting, None)):
                selector.register(worker.answers, selectors.EVENT_READ, worker)
        while selector.get_map():
            for ready, _ in selector.select():
                worker = ready.data
                for share in worker.listen():
                    watch(worker.task, share)
                    if share == 1 and not worker.take(next(waiting, None)):
                        selector.unregister(worker.answers)


class Worker:
    """A process that does one task at a time; leaving its context ends it."""

    def __init__(self, source: Source, folder: Path, guest: Path | None, number: int) -> None:
        command = [sys.executable, "-m", "unbloat.worker"]
        package = str(Path(__file__).resolve().parents[1])
        paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # An interrupt at the terminal reaches the parent alone.
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._tasks: IO[bytes] = self._process.stdin
        self.answers: IO[bytes] = self._process.stdout
        self.task: Task | None = None
        self._rest = b""
        opening = {"source": [source.path, source.text, source.overrides], "folder": str(folder)}
        self._tell({**opening, "guest": str(guest) if guest else None, "number": number})

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def take(self, task: Task | None) -> bool:
        """Start a task; False if there is none."""
        self.task = task
        if task is not None:
            self._tell(asdict(task))
        return task is not None

    def listen(self) -> Iterator[float]:
        """Give the shares that have come in; raises what ended the task otherwise."""
        news = os.read(self.answers.fileno(), 1 << 16)
        if not news:
            raise RunError(self._death())
        *lines, self._rest = (self._rest + news).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if "error" in answer:
                raise (InputError if answer["wrong_input"] else RunError)(answer["error"])
            yield 1.0 if "finished" in answer else min(answer["share"], 0.999)

    def _tell(self, message: object) -> None:
        try:
            self._tasks.write(json.dumps(message).encode() + b"\n")
            self._tasks.flush()
        except BrokenPipeError:
            raise RunError(self._death()) from None

    def _death(self) -> str:
        status = self._process.wait()
        if status >= 0:
            return f"the run's process ended by itself, with status {status}; its own words stand above"
        how = signal.Signals(-status).name
        if how == "SIGFPE":
            return "the run was ended by SIGFPE: a congestion control divides by zero"
        if how == "SIGKILL":
            return "the run's process was killed (SIGKILL); perhaps the machine ran out of memory"
        return f"the run was ended by {how}: a congestion control touches foreign memory, or unbloat has a fault"
