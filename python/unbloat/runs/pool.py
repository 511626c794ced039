"""Runs many grid points at once, each in one of a few processes, and watches their progress."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import IO

from unbloat import _core
from unbloat._core import Error, InputError, RunError, sweep_compilations
from unbloat.runs.task import Failed, Task, Watch, WatchSteps
from unbloat.scenarios.controls import show_warning
from unbloat.scenarios.portable import located
from unbloat.system import machine
from unbloat.system.core_types import Step


def run_all(
    folder: Path,
    tasks: Mapping[Task, _core.GridPoint],
    processes: int,
    watch: Watch,
    guest: Path | None = None,
    failed: Failed | None = None,
    step: WatchSteps | None = None,
    spare: Path | None = None,
) -> None:
    """Do every task; each result is in the store of `folder`, or of `spare`, as soon as it is finished.

    Runs on "vm" start from what the folder `guest` holds.

    The first error ends the others and is raised, as is an interrupt; with `failed` only the interrupt is. `step` gets
    the reports of tasks with a pace.
    """
    with machine.orderly_end() as end, Pool(tasks, watch, failed, step, end) as pool:
        pool.work(Worker(folder, guest, spare) for _ in range(processes))


JOIN_S = 0.1
"""After how long further processes join, if runs still wait: for less, none is worth its start."""


class Pool:
    """Workers that share a queue of tasks; leaving its context ends them."""

    def __init__(
        self,
        tasks: Mapping[Task, _core.GridPoint],
        watch: Watch,
        failed: Failed | None,
        step: WatchSteps | None,
        end: machine.OrderlyEnd,
    ) -> None:
        self._points = tasks
        self._waiting = deque(tasks)
        self._watch = watch
        self._failed = failed
        self._step = step
        self._end = end
        self._workers = ExitStack()
        self._busy = selectors.DefaultSelector()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._busy.close()
        self._workers.close()

    def work(self, workers: Iterator[Worker]) -> None:
        """Do all tasks; while some wait, more of these workers join, twice as many each time."""
        joining = 1
        while newcomers := list(islice(workers, joining)):
            for worker in newcomers:
                self._start(self._workers.enter_context(worker))
            self._wait(JOIN_S)
            if not self._waiting:
                break
            joining *= 2
        self._wait()

    def _wait(self, at_most_s: float = math.inf) -> None:
        """Hear the workers until all tasks are done, or for some time."""
        end_s = time.monotonic() + at_most_s
        while self._busy.get_map() and (left_s := end_s - time.monotonic()) > 0:
            for ready, _ in self._busy.select(None if left_s == math.inf else left_s):
                self._end.check()
                self._hear(ready.data)

    def _start(self, worker: Worker) -> None:
        """Send a worker the next task, if there is one."""
        while self._waiting:
            task = self._waiting.popleft()
            try:
                worker.take(task, self._points[task].portable())
            except Error as error:
                self._give_up(worker, task, error)
                continue
            self._busy.register(worker.answers, selectors.EVENT_READ, worker)
            return

    def _hear(self, worker: Worker) -> None:
        task = worker.task
        try:
            news = list(worker.listen())
        except Error as error:
            self._busy.unregister(worker.answers)
            self._give_up(worker, task, error)
            self._start(worker)
            return
        for each in news:
            if isinstance(each, dict):
                if self._step:
                    self._step(task, each)
                continue
            self._watch(task, each)
            if each == 1:
                self._busy.unregister(worker.answers)
                self._start(worker)

    def _give_up(self, worker: Worker, task: Task, error: Error) -> None:
        error = type(error)(located(str(error), self._points[task]))
        if self._failed is None:
            raise error
        self._failed(task, error)
        worker.revive()


class Worker:
    """A process that does one task at a time; leaving its context ends it."""

    module = "unbloat.runs.worker"
    """The module that the process runs."""
    task: Task
    """The present task, or the last one."""

    def __init__(self, folder: Path, guest: Path | None = None, spare: Path | None = None) -> None:
        """Start it; results go into the store of `folder`, or if they cannot be written there into that of `spare`."""
        self.folder = folder
        self._opening = {
            "folder": str(folder),
            "spare": str(spare) if spare else None,
            "guest": str(guest) if guest else None,
            "parent": os.getpid(),
        }
        self._start()

    def _start(self) -> None:
        # -P: nothing is imported from the folder that the user happens to be in; -S: only series need a library.
        command = [sys.executable, "-P", "-S", "-m", self.module]
        package = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join(filter(None, [package, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            # An interrupt at the terminal reaches the parent alone; the worker can be ended with all that it started.
            # It stays in the session: the scheduler gives each session its share, and this is one program's work.
            process_group=0,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._tasks: IO[bytes] = self._process.stdin
        self.answers: IO[bytes] = self._process.stdout
        self._rest = b""
        self._is_over = False
        self._tell(self._opening)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        with suppress(Error):  # An earlier sentence reports a cache that cannot be written.
            sweep_compilations()

    def end(self) -> None:
        """End the process with all that it started, such as a compiler."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def take(self, task: Task, scenario: str) -> None:
        """Start a task: the run of `scenario`, which is what `GridPoint.portable` gives."""
        self.task = task
        self._tell({"task": task.as_dict(), "scenario": scenario})

    def revive(self) -> None:
        """Start the process anew if it has ended, or is to end."""
        if self._is_over or self._process.poll() is not None:
            self.end()
            self._start()

    def listen(self) -> Iterator[float | Step]:
        """Yield the shares done and the steps of the series that have come in; raises the error that ended the task."""
        for line in self._lines():
            answer = self._answer(line)
            if answer is not None:
                yield answer

    def _lines(self) -> list[bytes]:
        """Return the lines that have come in; raises `RunError` if the process has ended."""
        news = os.read(self.answers.fileno(), 1 << 16)
        if not news:
            raise RunError(self._death())
        *lines, self._rest = (self._rest + news).split(b"\n")
        return lines

    def _answer(self, line: bytes) -> float | Step | None:
        """Read an answer: the share of the task that is done, or a step, if it is about that."""
        try:
            answer = json.loads(line)
            if "error" in answer:
                self._is_over = "ended" in answer
                raise (InputError if answer["wrong_input"] else RunError)(answer["error"])
            if "warned" in answer:
                show_warning(answer["warned"], answer["text"])
                return None
            if "step" in answer:
                step: Step = answer["step"]
                return step
            return 1.0 if "finished" in answer else min(float(answer["share"]), 0.999)
        except (ValueError, TypeError, KeyError):
            self._is_over = True
            raise RunError("a congestion control, or another program, wrote into the run's answers") from None

    def _tell(self, message: object) -> None:
        try:
            self._tasks.write(json.dumps(message).encode() + b"\n")
            self._tasks.flush()
        except BrokenPipeError:
            raise RunError(self._death()) from None

    def _death(self) -> str:
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.end()
        status = self._process.returncode
        if status >= 0:
            return f"the run's process ended with status {status}; its output is above"
        return f"the run's process was killed ({name_of(-status)}){MEANING.get(-status, '')}"


MEANING: dict[int, str] = {
    signal.SIGKILL: "; perhaps the machine ran out of memory",
    signal.SIGABRT: ": it aborted, most likely for lack of memory; its output is above",
    signal.SIGXCPU: ": it reached its limit of processor time",
    signal.SIGXFSZ: ": it reached its limit of a file's size",
    signal.SIGTERM: " from outside",
    signal.SIGHUP: " from outside",
    signal.SIGSEGV: ": unbloat has a bug, or a congestion control damaged its memory",
    signal.SIGBUS: ": unbloat has a bug, or a congestion control damaged its memory",
}


def name_of(number: int) -> str:
    """Name a signal; real-time ones have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
