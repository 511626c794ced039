"""Runs scenarios: finished runs are taken from the store where that is as good, the rest is run."""

from __future__ import annotations

import logging
import math
import os
import platform
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from unbloat import _core
from unbloat._core import Error, InputError
from unbloat.results.axes import Only, picked
from unbloat.results.files import About
from unbloat.results.record import Outcome, Record, flows_by_group
from unbloat.results.rows import Run
from unbloat.results.run_set import RunSet, Series, of_runs
from unbloat.runs import costs
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.pool import run_all
from unbloat.runs.progress import Progress, Stage, StagedProgress, Watching, pace_of
from unbloat.runs.seeds import repeats_of
from unbloat.runs.store import Store, key_of
from unbloat.runs.task import Task
from unbloat.scenarios import identity
from unbloat.scenarios.checks import (
    BACKENDS,
    check_jobs,
    check_kernel,
    one_of,
)
from unbloat.scenarios.controls import axes_of, own_names, show_warnings
from unbloat.scenarios.identity import Code
from unbloat.scenarios.portable import Recording
from unbloat.scenarios.source import Source
from unbloat.system import machine
from unbloat.system.files import Drafts, room_for, writing
from unbloat.system.legible import count_of, in_a_line
from unbloat.system.paths import ALGORITHMS, cache_folder

log = logging.getLogger(__name__)

PRINTING = "UNBLOAT_PRINTK"
"""An environment variable: set it to see what congestion controls print."""
STEPS = 1000
"""Samples of a series, about, where no step is asked for."""
MOST_SAMPLES = 10_000_000
"""Samples of a run's flows and links together: about a gigabyte."""


def execute(
    source: Source,
    manner: Manner,
    only: Only | None = None,
    series: bool | str = False,
    pcap: str | Path | None = None,
    pcap_links: bool = False,
) -> RunSet:
    """Run every grid point of a scenario once; the first run that fails is raised."""
    if pcap_links and not pcap:
        raise InputError("pcap_links: needs pcap, which names the file")
    if pcap:
        room_for(Path(pcap))
    with source.placing_errors():
        experiment = Experiment(source, manner, only)
        experiment.run(series, pcap, pcap_links)
        return experiment.results(experiment.records(), series)


@dataclass(frozen=True)
class Manner:
    """The arguments of `Scenario.run` that say how runs are done. Raises `InputError` if they exclude each other."""

    on: str
    kernel: str | None
    cache: bool | None
    progress: bool | None
    jobs: int | None
    checkpoint: Checkpoint | None = None
    live: bool = False
    stages: StagedProgress | None = None
    """The progress of which these runs are a stage; without it they show their own."""

    def __post_init__(self) -> None:
        check_kernel(self.kernel, one_of("on", self.on, BACKENDS))
        check_jobs(self.jobs)
        if self.live and self.on == "vm":
            why = "watching would slow the run down; watch the simulator or the kernel"
            raise InputError(f"live: a guest cannot be watched: {why}")
        if self.live and (self.jobs or 1) > 1:
            raise InputError(f"live: shows one run at a time; leave jobs = {self.jobs} out")

    @property
    def is_real(self) -> bool:
        """Return whether runs take real time, and never come out the same twice."""
        return self.on == "kernel"

    def shown(self, durations_s: Sequence[float]) -> Progress | Stage:
        """Return what shows how far runs of these lengths are."""
        return self.stages.stage(durations_s) if self.stages else Progress(durations_s, self.progress, on=self.on)

    def where(self) -> list[str]:
        """Return what runs depend on besides scenario and code."""
        match self.on:
            case "simulator":
                return []
            case "kernel":
                return [self.on, platform.release()]
            case _:
                from unbloat.guest import guest

                return [self.on, guest.identity(guest.kernel_named(self.kernel))]

    def guest(self) -> Path | None:
        """Return the folder of the guest that runs start from; None outside guests."""
        if self.on != "vm":
            return None
        from unbloat.runs.progress import prepared

        return prepared(self.kernel).folder

    @property
    def takes_kept(self) -> bool:
        """Return whether a stored run is as good as a new one."""
        return not self.is_real if self.cache is None else self.cache

    def processes(self) -> int:
        """Return how many runs there may be at a time."""
        return self.jobs or (1 if self.is_real or self.live else machine.processors())


@dataclass(frozen=True)
class Planned:
    """A run of an experiment: a grid point with its seed, and the key of its results."""

    point: _core.GridPoint
    axes: Mapping[str, str]
    """The grid point's axes with their labels, as results have them."""
    key: str
    stamp: str
    """The stamp of the files that the key is a hash of."""
    repeat: int | None = None
    """Counted from 1, where grid points are repeated: the grid point's seed is not its own then."""

    def task(self, manner: Manner, series_ns: int | None, pcap: str | None = None, pcap_links: bool = False) -> Task:
        """Make the task that a worker gets: the grid point, and how to run it."""
        pace = pace_of(self.point, manner.on) if manner.live else None
        return Task(self.key, self.stamp, manner.on, Recording(series_ns, pcap, pcap_links), pace)

    def record(self, store: Store) -> Record:
        """Read what it came to."""
        run = store.record(self.key)
        if self.point.own_controls:
            name_controls(run, own_names(self.point))
        return Record(dict(self.axes), run if self.repeat is None else {"repeat": self.repeat, **run})


def name_controls(run: Run, names: Sequence[str | None]) -> None:
    """Name the congestion controls of flows by their groups, where those have names."""
    for name, flows in zip(names, flows_by_group(run), strict=True):
        for flow in flows:
            flow["cc"] = name or flow["cc"]


def refuse(point: _core.GridPoint, on: str) -> None:
    """Raise an error if nothing can come of a grid point there, which is known before a guest is booted for it.

    A guest's controls are compiled here.
    """
    point.check(on)
    if on == "vm":
        point.objects(ALGORITHMS)
        show_warnings()


def check(point: _core.GridPoint, on: str) -> None:
    """Raise an error, which names the grid point, if a backend lacks something that it asks for."""
    try:
        point.check(on)
    except InputError as error:
        axes = ", ".join(f"{axis}={in_a_line(label)}" for axis, label in point.axes)
        raise InputError(f"{error} (in the grid point {axes})" if axes else str(error)) from None


Work = Callable[["Mapping[Task, Planned]"], None]
"""Does the runs that are not kept yet."""


class Experiment:
    """The runs of a scenario, and the store that holds or will hold them."""

    def __init__(self, source: Source, manner: Manner, only: Only | None = None, repeats: int | None = None) -> None:
        """Plan one run for each grid point that `only` picks, or `repeats` runs with seeds of their own.

        Raises `InputError` if it picks none.
        """
        self.manner = manner
        self.store = Store(None) if manner.cache is False else Store.of_cache(cache_folder("runs"))
        self.runs: list[Planned] = []
        self._source = source
        self._repeats = repeats
        self._time = datetime.now(UTC)
        self._doubts: dict[str, None] = {}
        self._controls = identity.built_in_hashes()
        self._code = Code.now()
        points = source.points()
        axes = axes_of(points)
        chosen = picked(only, axes)
        if repeats is None:  # Of a sweep some grid points may fail, and it says itself which.
            for number in chosen:
                check(points[number], manner.on)
        where = manner.where()
        for number in chosen:
            self._plan(points[number], axes[number], where)

    def _plan(self, point: _core.GridPoint, axes: Mapping[str, str], where: Sequence[str]) -> None:
        stamp = self._code.stamp_with(point)  # Before the files are hashed, so that no change comes in between.
        self._controls |= identity.hashes(point.sources(ALGORITHMS))
        for seeded, repeat in [(point, None)] if self._repeats is None else repeats_of(point, self._repeats):
            self.runs.append(Planned(seeded, axes, key_of(seeded, where, self._code.hash), stamp, repeat))
        self._doubts |= dict.fromkeys(point.doubts)

    def run(
        self,
        series: bool | str,
        pcap: str | Path | None = None,
        pcap_links: bool = False,
        work: Work | None = None,
        runs: Sequence[Planned] | None = None,
    ) -> None:
        """Run what the store lacks; with `pcap` everything, because packets are not stored.

        `work` does the runs; by default the first that fails ends the others, and its error is raised. `runs` are some
        of the experiment's.
        """
        if pcap and self.manner.on == "vm":
            # Writing packets takes guest time, so such a run has other results, and a key of its own.
            self.runs = [replace(run, key=f"{run.key}-packets") for run in self.runs]
        checkpoint = self._checkpoint()
        since_ns = checkpoint.begin() if checkpoint else 0
        tasks = self._tasks(self.runs if runs is None else runs, series, pcap, pcap_links, since_ns)
        if checkpoint and len(tasks) < len(self.runs):
            done = f"{len(self.runs) - len(tasks)} of {len(self.runs)} runs are there"
            log.info("continues an interrupted command: %s", done)
        if stages := self.manner.stages:
            doing = Counter(run.key for run in tasks.values())
            stages.skip([run.point.duration_s for run in self.runs if not doing.pop(run.key, 0)])
        if tasks:
            (work or self._run_all)(tasks)
            self.manner = replace(self.manner, live=False)  # Once seen, they need not be done again for their series.
        if checkpoint and checkpoint is not self.manner.checkpoint:
            checkpoint.finish()

    def _checkpoint(self) -> Checkpoint | None:
        """Return a checkpoint that tells new runs from kept ones; None where that does not matter."""
        if self.manner.takes_kept:
            return None
        return self.manner.checkpoint or Checkpoint(self.store.folder, (run.key for run in self.runs))

    def _tasks(
        self, runs: Sequence[Planned], series: bool | str, pcap: str | Path | None, pcap_links: bool, since_ns: int
    ) -> dict[Task, Planned]:
        """List the runs to do. Runs that were cached before `since_ns` do not count as done."""
        # Neither packets nor what congestion controls print is kept, and nobody can look on at what is over.
        is_all = bool(pcap) or PRINTING in os.environ or self.manner.live
        tasks, keys = {}, set()
        for number, run in enumerate(runs):
            step = self._step(run.point, series or self.manner.live)
            if pcap or (run.key not in keys and (is_all or not self.store.has(run.key, step, since_ns))):
                file = pcap and str(numbered(Path(pcap), number, len(runs)))
                tasks[run.task(self.manner, step, file or None, pcap_links)] = run
                keys.add(run.key)  # Grid points may come to the same: one run is enough.
        return tasks

    def lacking(self, series: bool | str) -> list[_core.GridPoint]:
        """List the grid points of the runs that the store lacks."""
        return [run.point for run in self._tasks(self.runs, series, None, False, 0).values()]

    def _run_all(self, tasks: Mapping[Task, Planned]) -> None:
        for run in tasks.values():
            refuse(run.point, self.manner.on)
        guest = self.manner.guest()
        watching = Watching([run.point for run in tasks.values()], self.manner.on) if self.manner.live else None
        durations = [run.point.duration_s for run in tasks.values()]
        with closing(watching or self.manner.shown(durations)) as bar, packet_drafts(tasks) as (drafted, publish):
            points = {task: run.point for task, run in drafted.items()}
            place = {task: number for number, task in enumerate(drafted)}

            def update(task: Task, share: float) -> None:
                if share == 1:
                    publish(task)
                bar.update(place[task], share)

            def failed(task: Task, error: Error) -> None:
                raise in_point(points[task], error)

            step = (lambda task, rows: watching.step(place[task], rows)) if watching else None
            processes = min(self.manner.processes(), len(tasks))
            if self.manner.on == "simulator":
                costs.tell((costs.of(point, task.recording.series_ns) for task, point in points.items()), processes)
            run_all(self.store.folder, points, processes, update, guest, failed, step, self.store.spare)

    def records(self) -> list[Outcome]:
        """Read the records of all runs."""
        return [run.record(self.store) for run in self.runs]

    def series(self, series: bool | str, runs: Sequence[Planned]) -> list[Series]:
        """Read the series of runs, simulating where they were not kept."""
        if not self.manner.is_real:
            self.run(series or True, runs=runs)
        return [self.store.series(run.key, self._step(run.point, series or True) or 0) for run in runs]

    def results(self, outcomes: Sequence[Outcome], series: bool | str = False) -> RunSet:
        """Collect the results; the series are read when they are first asked for."""
        finished = {number: outcome for number, outcome in enumerate(outcomes) if isinstance(outcome, Record)}
        links = {number: [link["link"] for link in record.run["links"]] for number, record in finished.items()}

        @cache
        def read() -> dict[int, Series]:
            return dict(zip(finished, self.series(series, [self.runs[n] for n in finished]), strict=True))

        if self.manner.is_real:
            read()  # Now: a later run of the same grid point takes its place in the store.
        is_recorded = bool(series) or self.manner.on != "simulator"
        return RunSet(
            outcomes, self.about(outcomes), lambda kind: of_runs(read(), links, kind), is_recorded=is_recorded
        )

    def about(self, outcomes: Sequence[Outcome]) -> About:
        """Describe how the runs were made."""
        runs = [outcome.run for outcome in outcomes if isinstance(outcome, Record)]
        controls = {flow["cc"] for run in runs for flow in run["flows"]}
        built_in = identity.built_in_hashes().keys()
        system = os.uname()  # Of what `platform` tells, some takes a process to find out.
        return About(
            scenario=self._source.content,
            source=self._source.path or "",
            overrides=dict(self._source.overrides),
            axes=list(dict.fromkeys(axis for outcome in outcomes for axis in outcome.axes)),
            repeat=self._repeats,
            on=self.manner.on,
            kernel=sorted({kernel for run in runs if (kernel := run.get("kernel"))}),
            version=_core.__version__,
            code=self._code.hash,
            controls={
                name: digest for name, digest in self._controls.items() if name in controls or name not in built_in
            },
            host={
                "name": system.nodename,
                "system": f"{system.sysname} {system.release}",
                "machine": system.machine,
                "python": platform.python_version(),
            },
            command=command(),
            time=self._time.isoformat(timespec="seconds"),
            doubts=list(self._doubts),
        )

    def _step(self, point: _core.GridPoint, series: bool | str) -> int | None:
        """Return the step of the series, ns; a real run always records one, because nobody can record it later."""
        return series_step(point, series or self.manner.on != "simulator", self.manner.on)


@contextmanager
def packet_drafts(tasks: Mapping[Task, Planned]) -> Iterator[tuple[dict[Task, Planned], Callable[[Task], None]]]:
    """Have the packets of tasks written to drafts; yield the tasks, and what puts those of a finished one in place."""
    if not any(task.recording.pcap for task in tasks):
        yield dict(tasks), lambda task: None
        return
    with closing(Drafts()) as drafts:
        drafted, places = {}, {}
        for task, run in tasks.items():
            place = Path(task.recording.pcap or "")
            draft = str(drafts.of(place))
            drafted[replace(task, recording=replace(task.recording, pcap=draft))] = run
            places[draft] = place

        def publish(task: Task) -> None:
            draft = task.recording.pcap or ""
            with writing(places[draft]):
                drafts.publish(Path(draft))

        try:
            yield drafted, publish
        except Error as error:
            draft = next((draft for draft in places if draft in str(error)), "")
            if not draft:
                raise
            raise type(error)(str(error).replace(draft, str(places[draft]))) from None


def command() -> str:
    """Return the command that this process was started with, `unbloat` by its name; empty if nobody could type it."""
    program, *rest = sys.argv or [""]
    name = Path(program).name
    if name in ("", "-c", "ipykernel_launcher.py"):
        return ""  # Typed at a prompt, or in a notebook.
    if name == "__main__.py":
        module = Path(program).parent.name
        called = [module] if module == "unbloat" else ["python", "-m", module]
    else:
        called = ["python", name] if name.endswith(".py") else [name]
    return shlex.join([*called, *rest])


def in_point(point: _core.GridPoint, error: Error) -> Error:
    """Add to an error's sentence in which grid point it happened."""
    sentence, *rest = str(error).split("\n")
    axes = ", ".join(f"{axis}={in_a_line(label)}" for axis, label in point.axes)
    where = f" (in the grid point {axes})" if axes else ""
    return type(error)("\n".join([sentence + where, *rest]))


def series_step(point: _core.GridPoint, series: bool | str, on: str = "simulator") -> int | None:
    """Return the step that `series` means for this grid point, ns; None where no series is wanted.

    Raises `InputError` for one that the kernel cannot be sampled at.
    """
    least = 0 if on == "simulator" else _core.LEAST_STEP_NS
    if isinstance(series, str):
        step = checked_step(point, series)
        if step < least:
            why = "with a finer one the samples take the time that packets need"
            raise InputError(f"series {series}: with on = {on} a step must be at least {least // 1000}us; {why}")
        return step
    return max(least, round_step(point.duration_s * 1e9 / STEPS)) if series else None


def checked_step(point: _core.GridPoint, series: str) -> int:
    """Read a step; raises `InputError` for any other text, and for a series too large for memory."""
    try:
        step = _core.duration_ns(series)
    except InputError as error:
        raise InputError(f"series: {error}") from None
    flows, links = max(point.steady_flows, 1), point.sampled_links
    least = max(1, math.ceil(point.duration_s * 1e9 * (flows + links) / MOST_SAMPLES))
    if step < least:
        raise InputError(
            f"series: a step of {series} is too short for {point.duration_s:g} s, {count_of(flows, 'flow')} and "
            f"{count_of(links, 'direction')} of links; use at least {least} ns (at most {MOST_SAMPLES:,} samples)"
        )
    return step


def round_step(ns: float) -> int:
    """Round down to 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(ns))
    return max(1, int(power * max(m for m in (1, 2, 5) if m * power <= ns)))


def numbered(path: Path, number: int, of: int) -> Path:
    """Return the file of one of several runs, numbered: `trace-0.pcapng`, `trace-1.pcapng`."""
    return path if of == 1 else path.with_stem(f"{path.stem}-{number}")
