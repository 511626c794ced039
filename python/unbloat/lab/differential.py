"""Runs random scenarios in the simulator and in guests with a stock kernel, and keeps the packet traces of both."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import cache, partial
from pathlib import Path

from unbloat._core import GridPoint
from unbloat.guest import guest
from unbloat.lab.random_scenarios import Scenario
from unbloat.runs.pool import run_all
from unbloat.runs.progress import Progress
from unbloat.runs.task import Task
from unbloat.scenarios.identity import Code
from unbloat.scenarios.portable import Recording
from unbloat.scenarios.source import source_of

SIMULATOR, GUEST = PLACES = ("simulator", "guest")
IN_ONE_GUEST = 25
"""Scenarios that a guest runs, one after the other.

Most of the time of a short run is spent getting to know the code that it executes. Earlier work of a guest may decide a
tie. So a scenario always follows the same ones: those between the last multiple of this and its number.
"""


class Runs:
    """The runs of scenarios, whose traces are put into a folder."""

    def __init__(self, folder: Path, draw: Callable[[int], Scenario], jobs: int, *, keeps: bool) -> None:
        """Run `jobs` at a time; `keeps` takes the guest's traces from the folder where the scenario is the same."""
        self._folder = folder
        self._draw = draw
        self._keeps = keeps
        self._jobs = jobs
        self._code = Code.now()

    def trace(self, of: Scenario, where: str) -> Path:
        """Name a packet trace."""
        return self._folder / f"{of.number}-{where}.pcapng"

    def simulate(self, scenarios: list[Scenario]) -> None:
        """Run all in the simulator."""
        points = {task: point for point, task in (self._run(each, SIMULATOR, each.simulated) for each in scenarios)}
        places = {task: place for place, task in enumerate(points)}
        with (
            tempfile.TemporaryDirectory(prefix="unbloat-differential-") as records,
            closing(Progress([each.duration_s for each in scenarios])) as bar,
        ):
            processes = min(self._jobs, len(points))
            run_all(Path(records), points, processes, lambda task, share: bar.update(places[task], share))

    def in_guests(self, scenarios: list[Scenario], kernel: str, then: Callable[[Scenario], None]) -> None:
        """Run the scenarios without a trace in guests; `then` is called with each scenario once its trace exists."""
        missing = {each.number: each for each in scenarios if not self._is_there(each)}
        for each in scenarios:
            if each.number not in missing:
                then(each)
        if not missing:
            return
        booted = guest.prepare(kernel, cache(partial(print, file=sys.stderr)))
        batches = [[self._draw(number) for number in numbers] for numbers in _batches_for(missing)]
        with (
            closing(Progress([sum(each.duration_s for each in batch) for batch in batches], on="vm")) as bar,
            # A thread does no more than wait for its guest.
            ThreadPoolExecutor(self._jobs) as pool,
        ):
            running = {
                pool.submit(self._in_guest, booted, batch, partial(bar.update, place)): batch
                for place, batch in enumerate(batches)
            }
            try:
                for done in as_completed(running):
                    done.result()
                    for each in running[done]:
                        if each.number in missing:
                            self._keep(each)
                            then(each)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _in_guest(self, booted: guest.Guest, batch: list[Scenario], progress: Callable[[float], None]) -> None:
        """Run some in one guest."""
        runs = (self._run(each, GUEST, each.in_guest) for each in batch)
        guest.run_all(booted, [(point, task.recording) for point, task in runs], progress)
        progress(1)

    def _keep(self, finished: Scenario) -> None:
        if self._keeps:
            self._text_of(finished).write_text(finished.text)

    def _text_of(self, of: Scenario) -> Path:
        return self._folder / f"{of.number}.toml"

    def _is_there(self, of: Scenario) -> bool:
        """Return whether a guest's trace of this very scenario was stored."""
        text = self._text_of(of)
        return self._keeps and text.exists() and text.read_text() == of.text

    def _run(self, of: Scenario, where: str, controls: tuple[str, ...]) -> tuple[GridPoint, Task]:
        (point,) = source_of(of.text, of.controls(controls)).points()
        task = Task(
            key=f"{of.number}-{where}",
            stamp=self._code.stamp_with(point),
            on="vm" if where == GUEST else "simulator",
            recording=Recording(pcap=str(self.trace(of, where)), pcap_headers_only=True),
        )
        return point, task


def _batches_for(missing: Collection[int]) -> list[range]:
    """Return the numbers that a guest each is to run, so that each of these scenarios comes after the same ones."""
    last = {number // IN_ONE_GUEST: number for number in sorted(missing)}
    return [range(group * IN_ONE_GUEST, number + 1) for group, number in last.items()]
