"""Sweeps: every cell of a grid so often, with seeds of its own, failures and all."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from unbloat import _core
from unbloat._core import Error, InputError
from unbloat.results.results import Record
from unbloat.results.sweep import Failure, Sweep
from unbloat.runs.experiment import Experiment, Manner, Pick, Planned, chosen_source
from unbloat.runs.pool import run_all
from unbloat.runs.progress import SweepProgress
from unbloat.runs.seeds import seed_of
from unbloat.runs.task import Task
from unbloat.scenario.source import Source

log = logging.getLogger(__name__)

MOST_REPEATS = 100_000
"""More than this are a slip of the pen."""


def sweep(
    source: str | Path,
    overrides: Mapping[str, object] | None = None,
    *,
    repeat: int = 1,
    on: str = "simulator",
    kernel: str | None = None,
    cc: str | Path | None = None,
    seed: int | None = None,
    only: Pick | None = None,
    cache: bool | None = None,
    progress: bool | None = None,
    jobs: int | None = None,
    dask: str | None = None,
) -> Sweep:
    """Run every cell of a scenario's sweep `repeat` times; give the runs, and each metric's mean with its interval.

    Each repeat has a seed that is a hash of its cell's settings, so that a run is the same whatever else is in the
    grid; controls are left out of the hash, so that all of them meet the same losses. `seed` leads to other seeds.
    `dask` is the address of a Dask cluster's scheduler that does the runs, or "local" for one on this machine with
    `jobs` processes. The other arguments are those of `unbloat.run`. A run that fails is in `failures`,
    with its reason.

    Raises `InputError` if the scenario is wrong, or if every single run fails because of the input.
    """
    if not 1 <= repeat <= MOST_REPEATS:
        raise InputError(f"repeat {repeat}: a cell is run at least once, and at most {MOST_REPEATS:,} times")
    if dask and on != "simulator":
        raise InputError(f"dask: a cluster runs simulations; runs with on = {on} are for this machine alone")
    manner = Manner(on, kernel, cache, progress, jobs)
    chosen = chosen_source(source, overrides, cc, seed)
    experiment = Repeated(chosen, manner, only, repeat, dask)
    experiment.run(series=False)
    return experiment.results()


class Repeated(Experiment):
    """An experiment whose cells are run several times each, and that goes on when a run fails."""

    def __init__(self, source: Source, manner: Manner, only: Pick | None, repeats: int, dask: str | None) -> None:
        self._count = repeats
        self._dask = dask
        self._reasons: dict[str, Error] = {}
        """Why runs failed, by their keys."""
        super().__init__(source, manner, only)

    def _repeats(self, cell: _core.Cell) -> Iterable[tuple[_core.Cell, int | None]]:
        if "seed" in dict(cell.axes):
            raise InputError(
                f"{cell.locate('seed')}: a sweep draws the seeds of its repeats itself; take this axis out and "
                "give the number of repeats (`unbloat run` takes the seeds that a file lists)"
            )
        numbers = range(1, self._count + 1)
        return [(cell.seeded(seed_of(cell, number)), number) for number in numbers]

    def _run_all(self, tasks: Mapping[Task, Planned]) -> None:
        guest = self._manner.guest()
        kept = len({run.key for run in self._runs}) - len(tasks)
        log.info("%d runs to do, %d are kept", len(tasks), kept)
        durations = [run.cell.duration_s for run in tasks.values()]
        with closing(SweepProgress(durations, self._manner.progress, on=self._manner.on)) as bar:
            place = {task: i for i, task in enumerate(tasks)}

            def watch(task: Task, share: float) -> None:
                if share < 1:
                    bar.update(place[task], share)
                else:
                    bar.finish(place[task], self._store.record(task.key).get("data_packets") or 0)

            def failed(task: Task, error: Error) -> None:
                self._reasons[task.key] = error
                bar.finish(place[task], 0)

            if self._dask:
                from unbloat.runs import dask_cluster

                dask_cluster.run_all(self._dask, self._store, tasks, self._manner.processes(), watch, failed)
            else:
                processes = min(self._manner.processes(), len(tasks))
                cells = {task: run.cell for task, run in tasks.items()}
                run_all(self._store.folder, cells, processes, watch, guest, failed)
            said = f"{bar.finished} runs in {bar.elapsed()}, {bar.rate()}"
        log.info(said)

    def results(self) -> Sweep:
        """Give what all runs came to; raises the error of the first one if the input is to blame for every one."""
        errors = [self._reasons.get(run.key) for run in self._runs]
        if all(isinstance(error, InputError) for error in errors):
            raise next(error for error in errors if error)
        outcomes = [self._outcome(run, error) for run, error in zip(self._runs, errors, strict=True)]
        return Sweep(outcomes, self.doubts)

    def _outcome(self, run: Planned, error: Error | None) -> Record | Failure:
        if error is None:
            return run.record(self._store)
        return Failure(dict(run.cell.axes), run.repeat or 1, run.cell.seed, str(error))
