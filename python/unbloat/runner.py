"""Runs scenarios: what is in the store is taken from there, the rest is simulated on all cores."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from unbloat import _core
from unbloat.places import cache_folder
from unbloat.pool import Task, run_all
from unbloat.progress import Progress
from unbloat.results import Record, Results, Series
from unbloat.source import Source, source_of
from unbloat.store import Store, key_of

STEPS = 1000
"""Samples of a series, about, where no step is asked for."""


def run(
    source: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    cc: str | Path | None = None,
    seed: int | None = None,
    series: bool | str = False,
    pcap: str | Path | None = None,
    only: Callable[[Mapping[str, str]], bool] | None = None,
    cache: bool = True,
    progress: bool | None = None,
    jobs: int | None = None,
) -> Results:
    """Simulate a scenario, every cell of its sweep once.

    `source` is a path, the text of a scenario, or the name of one that comes with the package. `overrides` sets keys
    of it: `{"link.bottleneck.rate": "10mbit"}`. `cc` (a name from `unbloat list` or a `.bpf.c` file) and `seed` are
    short for the commonest of them. `series` keeps the run's inside over time, at steps such as "10ms", or with True at
    a step of about a thousandth of the run; without it, the first look at a result's series simulates again. `pcap`
    writes the packets. `only` is told a cell's axes and says whether it is run at all. `cache=False` runs afresh.
    `progress` shows a bar on stderr (by default on a terminal), `jobs` is the number of processes (by default one for
    each core).

    Raises `InputError` with file, line and key if the scenario or a congestion control is wrong, `RunError` if a run
    fails.
    """
    added: dict[str, object] = {}
    if seed is not None:
        added["seed"] = seed
    if cc is not None:
        added["flows.*.cc"] = cc.absolute() if isinstance(cc, Path) else cc
    chosen = source_of(source, {**(overrides or {}), **added})
    store = Store(cache_folder() / "runs" if cache else None)
    experiment = Experiment(chosen, store, progress, jobs, only)
    experiment.simulate(series, pcap)
    return Results(experiment.records(), lambda: experiment.series(series))


class Experiment:
    """The cells of a scenario, and the store that holds or will hold their runs."""

    def __init__(
        self,
        source: Source,
        store: Store,
        progress: bool | None,
        jobs: int | None,
        only: Callable[[Mapping[str, str]], bool] | None = None,
    ) -> None:
        self._source = source
        self._store = store
        self._progress = progress
        self._jobs = jobs or len(os.sched_getaffinity(0))
        cells = enumerate(source.cells())
        self._cells = {number: cell for number, cell in cells if only is None or only(dict(cell.axes))}
        self._keys = {number: key_of(cell) for number, cell in self._cells.items()}

    def simulate(self, series: bool | str, pcap: str | Path | None = None) -> None:
        """Simulate what the store lacks; with `pcap` everything, because packets are not stored."""
        tasks = []
        for number, cell in self._cells.items():
            key, step = self._keys[number], series_step(cell, series)
            if pcap or not self._store.has(key, step):
                file = pcap and str(numbered(Path(pcap), number, len(self._cells)))
                tasks.append(Task(number, key, step, file or None))
        if not tasks:
            return
        with closing(Progress([self._cells[task.cell].duration_s for task in tasks], self._progress)) as bar:
            place = {task: i for i, task in enumerate(tasks)}
            processes = min(self._jobs, len(tasks))
            run_all(self._source, self._store.folder, tasks, processes, lambda t, share: bar.update(place[t], share))

    def records(self) -> list[Record]:
        """Read the records of all cells."""
        return [Record(dict(cell.axes), self._store.record(self._keys[n])) for n, cell in self._cells.items()]

    def series(self, series: bool | str) -> list[Series]:
        """Read the series of all cells, simulating where they were not kept."""
        self.simulate(series or True)
        return [
            self._store.series(self._keys[number], series_step(cell, series or True) or 0)
            for number, cell in self._cells.items()
        ]


def series_step(cell: _core.Cell, series: bool | str) -> int | None:
    """Give the step in ns that `series` means for this cell; None where no series is wanted."""
    if isinstance(series, str):
        return _core.duration_ns(series)
    return round_step(cell.duration_s * 1e9 / STEPS) if series else None


def round_step(ns: float) -> int:
    """Round down to 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(ns))
    return max(1, int(power * max(m for m in (1, 2, 5) if m * power <= ns)))


def numbered(path: Path, number: int, of: int) -> Path:
    """Give each of several runs its own file: `trace-0.pcapng`, `trace-1.pcapng`."""
    return path if of == 1 else path.with_stem(f"{path.stem}-{number}")
