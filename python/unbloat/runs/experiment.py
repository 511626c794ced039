"""Runs scenarios: what is in the store is taken from there where that is as good, the rest is run."""

from __future__ import annotations

import logging
import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from unbloat import _core
from unbloat._core import Error, InputError
from unbloat.results.results import Record, Results, Series
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.pool import run_all
from unbloat.runs.progress import Progress, Waiting
from unbloat.runs.store import Store, key_of
from unbloat.runs.task import Task
from unbloat.scenario.checks import BACKENDS, check_jobs, check_kernel, one_of
from unbloat.scenario.identity import Code
from unbloat.scenario.recording import Recording
from unbloat.scenario.source import Source, source_of
from unbloat.system.paths import cache_folder

log = logging.getLogger(__name__)

STEPS = 1000
"""Samples of a series, about, where no step is asked for."""
MOST_SAMPLES = 10_000_000
"""Samples of a run's flows together: about a gigabyte."""


def run(
    source: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    on: str = "simulator",
    kernel: str | None = None,
    cc: str | Path | None = None,
    seed: int | None = None,
    series: bool | str = False,
    pcap: str | Path | None = None,
    pcap_links: bool = False,
    only: Callable[[Mapping[str, str]], bool] | None = None,
    cache: bool | None = None,
    progress: bool | None = None,
    jobs: int | None = None,
    checkpoint: Checkpoint | None = None,
) -> Results:
    """Run a scenario, every cell of its sweep once.

    `source` is a path, the text of a scenario, or the name of one that comes with the package. `overrides` sets keys
    of it: `{"link.bottleneck.rate": "10mbit"}`. `on` says where: "simulator", "kernel" for the TCP of the running
    kernel over emulated links, in real time, or "vm" for that of a stock kernel in a guest, in virtual time. `kernel`
    names the guest's kernel: a release or how it begins ("6.1"), or an image's path; by default the newest there is.
    `cc` (a name from `unbloat list` or a `.bpf.c` file) and `seed` are short for the commonest overrides. `series`
    keeps time series of the run, at steps such as "10ms", or with True at a step of about a thousandth of the run;
    without it, the first look at a result's series runs again. `pcap` writes the packets at the senders, with
    `pcap_links` those at the far ends of links too. `only` is told a cell's axes and says whether it is run at all.
    `cache` says whether runs that were kept are taken: True those of the same code
    (on the kernel: and of the same kernel release), False none, and none is kept; by default those in the simulator and
    in guests, and on the kernel those of a grid that was interrupted. `progress` shows a bar on stderr (by default on a
    terminal), `jobs` is the number of processes (by default one for each core, and on the kernel one, because real runs
    disturb each other). `checkpoint` is for whoever does several grids on the kernel that belong together: they are
    finished when it is.

    Raises `InputError` with file, line and key if the scenario or a congestion control is wrong, `RunError` if a run
    fails.
    """
    manner = Manner(on, kernel, cache, progress, jobs, checkpoint)
    experiment = Experiment(chosen_source(source, overrides, cc, seed), manner, only)
    if pcap_links and not pcap:
        raise InputError("pcap_links: adds packets to the file that pcap names: name one")
    experiment.run(series, pcap, pcap_links)
    records = experiment.records()
    if manner.is_real:
        kept = experiment.series(series)  # Now: a later run of the same cell takes its place in the store.
        return Results(records, lambda: kept, experiment.doubts)
    return Results(records, lambda: experiment.series(series), experiment.doubts)


def chosen_source(
    source: str | Path, overrides: Mapping[str, object] | None, cc: str | Path | None, seed: int | None
) -> Source:
    """Join the arguments of `run` that say what to run."""
    added: dict[str, object] = {}
    if seed is not None:
        added["seed"] = seed
    if cc is not None:
        added["flows.*.cc"] = cc.absolute() if isinstance(cc, Path) else cc
    return source_of(source, {**(overrides or {}), **added})


@dataclass(frozen=True)
class Manner:
    """How runs are done; the fields are arguments of `run`. Raises `InputError` for what does not go together."""

    on: str
    kernel: str | None
    cache: bool | None
    progress: bool | None
    jobs: int | None
    checkpoint: Checkpoint | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel, one_of("on", self.on, BACKENDS))
        check_jobs(self.jobs)

    @property
    def is_real(self) -> bool:
        """Tell runs that take their time and never come out twice the same."""
        return self.on == "kernel"

    def where(self) -> list[str]:
        """Identify what runs depend on besides scenario and code."""
        match self.on:
            case "simulator":
                return []
            case "kernel":
                return [self.on, platform.release()]
            case _:
                from unbloat.guest import guest

                return [self.on, guest.identity(guest.kernel_named(self.kernel))]

    def guest(self) -> Path | None:
        """Give the folder of the guest that runs start from, where they do."""
        if self.on != "vm":
            return None
        from unbloat.guest import guest

        with closing(Waiting()) as say:
            return guest.prepare(self.kernel, say).folder

    @property
    def takes_kept(self) -> bool:
        """Tell whether a run that was kept does as well as a new one."""
        return not self.is_real if self.cache is None else self.cache

    def processes(self) -> int:
        """Give how many runs there may be at a time."""
        return self.jobs or (1 if self.is_real else len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Planned:
    """A run of an experiment: a cell with its seed, and the key of what it comes to."""

    cell: _core.Cell
    key: str
    stamp: str
    """That of the files that the key is a hash of."""
    repeat: int | None = None
    """Counted from 1, where cells are repeated: the cell's seed is not its own then."""

    def task(self, on: str, series_ns: int | None, pcap: str | None = None, pcap_links: bool = False) -> Task:
        """Give what a worker is told besides the cell."""
        return Task(self.key, self.stamp, on, Recording(series_ns, pcap, pcap_links))

    def record(self, store: Store) -> Record:
        """Read what it came to."""
        repeat = {} if self.repeat is None else {"repeat": self.repeat}
        return Record(dict(self.cell.axes), {**repeat, **store.record(self.key)})


Pick = Callable[[Mapping[str, str]], bool]
"""Told the axes of a cell, says whether to run it."""


class Experiment:
    """The runs of a scenario, and the store that holds or will hold them."""

    def __init__(self, source: Source, manner: Manner, only: Pick | None = None) -> None:
        self._manner = manner
        self._store = Store(None if manner.cache is False else cache_folder() / "runs")
        where = manner.where()
        code = Code.now()
        self._runs: list[Planned] = []
        self.doubts: list[str] = []
        """What in the scenario may well not be meant."""
        for cell in source.cells():
            if only is None or only(dict(cell.axes)):
                stamp = code.stamp_with(cell)  # Before the files are hashed, so that no change comes in between.
                for seeded, repeat in self._repeats(cell):
                    self._runs.append(Planned(seeded, key_of(seeded, where, code.hash), stamp, repeat))
                self.doubts += (doubt for doubt in cell.doubts if doubt not in self.doubts)

    def _repeats(self, cell: _core.Cell) -> Iterable[tuple[_core.Cell, int | None]]:
        """Give the runs of a cell: it alone."""
        return [(cell, None)]

    def run(self, series: bool | str, pcap: str | Path | None = None, pcap_links: bool = False) -> None:
        """Run what the store lacks; with `pcap` everything, because packets are not stored."""
        if pcap and self._manner.on == "vm":
            # Writing packets takes the guest's time: such a run is another one.
            self._runs = [replace(run, key=f"{run.key}-packets") for run in self._runs]
        checkpoint = self._checkpoint()
        tasks = self._tasks(series, pcap, pcap_links, checkpoint.begin() if checkpoint else 0)
        if checkpoint and len(tasks) < len(self._runs):
            done = f"{len(self._runs) - len(tasks)} of {len(self._runs)} runs are there"
            log.info("goes on where it was interrupted: %s", done)
        if tasks:
            self._run_all(tasks)
        if checkpoint and checkpoint is not self._manner.checkpoint:
            checkpoint.finish()

    def _checkpoint(self) -> Checkpoint | None:
        """Give what tells new runs from kept ones, where that matters."""
        if self._manner.takes_kept:
            return None
        return self._manner.checkpoint or Checkpoint(self._store.folder, (run.key for run in self._runs))

    def _tasks(
        self, series: bool | str, pcap: str | Path | None, pcap_links: bool, since_ns: int
    ) -> dict[Task, Planned]:
        """List what is to do, not counting what was kept before `since_ns`."""
        tasks, keys = {}, set()
        for number, run in enumerate(self._runs):
            step = self._step(run.cell, series)
            if pcap or not (run.key in keys or self._store.has(run.key, step, since_ns)):
                file = pcap and str(numbered(Path(pcap), number, len(self._runs)))
                tasks[run.task(self._manner.on, step, file or None, pcap_links)] = run
                keys.add(run.key)  # Cells may come to the same: one run is enough.
        return tasks

    def __len__(self) -> int:
        """Count the runs."""
        return len(self._runs)

    def lacking(self, series: bool | str) -> list[_core.Cell]:
        """List the cells of the runs that the store lacks."""
        return [run.cell for run in self._tasks(series, None, False, 0).values()]

    def _run_all(self, tasks: Mapping[Task, Planned]) -> None:
        for run in tasks.values():
            run.cell.check(self._manner.on)
        guest = self._manner.guest()
        durations = [run.cell.duration_s for run in tasks.values()]
        with closing(Progress(durations, self._manner.progress, on=self._manner.on)) as bar:
            place = {task: i for i, task in enumerate(tasks)}
            processes = min(self._manner.processes(), len(tasks))
            watch = lambda task, share: bar.update(place[task], share)  # noqa: E731

            def failed(task: Task, error: Error) -> None:
                raise in_cell(tasks[task].cell, error)

            cells = {task: run.cell for task, run in tasks.items()}
            run_all(self._store.folder, cells, processes, watch, guest, failed)

    def records(self) -> list[Record]:
        """Read the records of all runs."""
        return [run.record(self._store) for run in self._runs]

    def series(self, series: bool | str) -> list[Series]:
        """Read the series of all runs, simulating where they were not kept."""
        if not self._manner.is_real:
            self.run(series or True)
        return [self._store.series(run.key, self._step(run.cell, series or True) or 0) for run in self._runs]

    def _step(self, cell: _core.Cell, series: bool | str) -> int | None:
        """Give the step of the series in ns; a real run always keeps one, because it cannot be had later."""
        return series_step(cell, series or self._manner.on != "simulator", self._manner.on)


def in_cell(cell: _core.Cell, error: Error) -> Error:
    """Say in the error's sentence in which cell of a grid it was."""
    sentence, *rest = str(error).split("\n")
    axes = ", ".join(f"{axis}={label}" for axis, label in cell.axes)
    where = f" (in the cell {axes})" if axes else ""
    return type(error)("\n".join([sentence + where, *rest]))


def series_step(cell: _core.Cell, series: bool | str, on: str = "simulator") -> int | None:
    """Give the step in ns that `series` means for this cell; None where no series is wanted.

    Raises `InputError` for one that the kernel cannot be sampled at.
    """
    least = 0 if on == "simulator" else _core.LEAST_STEP_NS
    if isinstance(series, str):
        step = checked_step(cell, series)
        if step < least:
            why = "with a finer one the samples take the time that packets need"
            raise InputError(f"series {series}: with on = {on} a step must be at least {least // 1000}us; {why}")
        return step
    return max(least, round_step(cell.duration_s * 1e9 / STEPS)) if series else None


def checked_step(cell: _core.Cell, series: str) -> int:
    """Read a step; raises `InputError` if it is none, or would make a series that no machine can hold."""
    try:
        step = _core.duration_ns(series)
    except InputError as error:
        raise InputError(f"series: {error}") from None
    flows = max(cell.steady_flows, 1)
    least = max(1, math.ceil(cell.duration_s * 1e9 * flows / MOST_SAMPLES))
    if step < least:
        raise InputError(
            f"series: a step of {series} is too short: a series may have {MOST_SAMPLES:,} samples in all, so that a "
            f"run of {cell.duration_s:g} s with {count_of(flows, 'flow')} needs steps of at least {least} ns"
        )
    return step


def count_of(number: int, thing: str) -> str:
    """Write a number of things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def round_step(ns: float) -> int:
    """Round down to 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(ns))
    return max(1, int(power * max(m for m in (1, 2, 5) if m * power <= ns)))


def numbered(path: Path, number: int, of: int) -> Path:
    """Give each of several runs its own file: `trace-0.pcapng`, `trace-1.pcapng`."""
    return path if of == 1 else path.with_stem(f"{path.stem}-{number}")
