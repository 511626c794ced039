"""Batches of short runs: worker processes that stay, each of which does many runs for one message."""

from __future__ import annotations

import atexit
import json
import math
import selectors
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from unbloat._core import Error
from unbloat.runs.pool import Worker
from unbloat.runs.progress import Progress
from unbloat.scenarios.source import Source
from unbloat.system import machine
from unbloat.system.paths import cache_folder

if TYPE_CHECKING:
    from unbloat.runs.batch_worker import Row, Written

MOST_RUNS = 64
"""Runs of a message."""
MESSAGES = 4
"""Messages for each process, at least, so that all end at about the same time."""


class BatchWorker(Worker):
    """A process that does a batch at a time."""

    module = "unbloat.runs.batch_worker"
    items: list[int]
    """The items of the present batch."""

    def do(self, message: dict[str, object], items: list[int]) -> None:
        """Start a batch."""
        self.items = items
        self._tell(message)

    def rows(self) -> list[Row] | None:
        """Return the rows if they have come in; raises the error that ended the process."""
        found: list[Row] | None = None
        for line in self._lines():
            if line.startswith(b'{"rows"'):
                found = json.loads(line)["rows"]
            else:
                self._answer(line)
        return found


_staying: list[BatchWorker] = []
"""Processes that wait for the next call."""


def run_all(
    sources: Sequence[Source],
    processes: int,
    *,
    is_kept: bool,
    progress: bool | None = None,
    is_whole: bool = False,
    finished: Callable[[int], None] | None = None,
) -> list[Row]:
    """Run every grid point of each source; return the rows in their order.

    Rows have the numbers of all flows together, or whole records with `is_whole`. The function `finished` receives the
    number of finished sources now and then.

    A process that dies takes the batch with it. Its runs are then tried again in smaller batches, until the run that
    kills it is found, whose row gets the reason.
    """
    size = max(1, min(MOST_RUNS, math.ceil(len(sources) / (processes * MESSAGES))))
    numbers = range(len(sources))
    waiting = deque(list(numbers[first : first + size]) for first in range(0, len(sources), size))
    message = {"folder": str(Path.cwd()), "is_kept": is_kept, "is_whole": is_whole}
    rows: dict[int, list[Row]] = {}
    workers = _workers(min(processes, len(waiting)))
    shown = Progress([1.0] * len(sources), progress)
    try:
        with machine.orderly_end() as end, closing(shown) as bar, selectors.DefaultSelector() as busy:

            def start(worker: BatchWorker) -> None:
                if waiting:
                    items = waiting.popleft()
                    worker.do({**message, "items": [_item(number, sources[number]) for number in items]}, items)
                    busy.register(worker.answers, selectors.EVENT_READ, worker)

            def give_up(worker: BatchWorker, error: Error) -> None:
                worker.revive()
                if len(items := worker.items) == 1:
                    rows[items[0]] = [{"item": items[0], "error": str(error), "wrong_input": False}]
                else:
                    waiting.extendleft([items[len(items) // 2 :], items[: len(items) // 2]])

            for worker in workers:
                start(worker)
            while busy.get_map():
                for ready, _ in busy.select():
                    end.check()
                    worker = ready.data
                    try:
                        found = worker.rows()
                    except Error as error:
                        busy.unregister(worker.answers)
                        give_up(worker, error)
                        start(worker)
                        continue
                    if found is not None:
                        busy.unregister(worker.answers)
                        for row in found:
                            rows.setdefault(row["item"], []).append(row)
                        for number in worker.items:
                            bar.update(number, 1)
                        if finished:
                            finished(len(rows))
                        start(worker)
    except BaseException:
        for worker in workers:
            worker.end()
        raise
    _staying.extend(workers)
    return [row for number in numbers for row in rows[number]]


def _item(number: int, source: Source) -> tuple[int, Written, Sequence[tuple[str, str]]]:
    scenario: Written = {"path": source.path, "text": source.text, "is_written": source.is_written}
    return number, scenario, source.overrides


def _workers(count: int) -> list[BatchWorker]:
    """Reuse waiting processes of the same cache, and start the missing ones."""
    folder = cache_folder("short-runs")
    mine = [worker for worker in _staying if worker.folder == folder][:count]
    for worker in mine:
        _staying.remove(worker)
    return [*mine, *(BatchWorker(folder) for _ in range(count - len(mine)))]


@atexit.register
def _end() -> None:
    """End the processes that have stayed."""
    for worker in _staying:
        worker.end()
    _staying.clear()
