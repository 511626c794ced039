"""Sweeps: every cell of a grid several times, with seeds of their own, failures and all."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from unbloat._core import Error, InputError
from unbloat.results.axes import Only
from unbloat.results.record import Failure
from unbloat.results.results import Results
from unbloat.runs import costs
from unbloat.runs.experiment import Experiment, Manner, Planned, refuse
from unbloat.runs.pool import run_all
from unbloat.runs.progress import SweepProgress
from unbloat.runs.task import Task
from unbloat.scenario.checks import On, backend_named, whole
from unbloat.scenario.chosen import Control, Time, chosen_source

log = logging.getLogger(__name__)

MOST_REPEATS = 100_000
"""More repeats than this are taken for a typing error."""


def sweep(
    source: str | Path | Mapping[str, Any],
    overrides: Mapping[str, object] | None = None,
    *,
    repeat: int = 1,
    on: On = "simulator",
    kernel: str | None = None,
    cc: Control | Sequence[Control] | None = None,
    receiver: Control | Sequence[Control] | None = None,
    rtt: Time | Sequence[Time] | None = None,
    duration: Time | None = None,
    seed: int | None = None,
    only: Only | None = None,
    cache: bool | None = None,
    progress: bool | None = None,
    jobs: int | None = None,
    dask: str | None = None,
) -> Results:
    """Run every cell of a scenario's sweep several times, each time with another seed.

    The seed of a repeat is a hash of its cell's settings, so that a run is the same whatever else is in the grid.
    Congestion controls are left out of the hash, so that all of them meet the same random losses.

    Parameters
    ----------
    source, overrides, on, kernel, cc, receiver, rtt, duration, only, cache, progress, jobs
        As in `unbloat.run`.
    repeat : int
        How often each cell is run.
    seed : int, optional
        Another value gives other seeds to all repeats: a second, independent sample.
    dask : str, optional
        The address of a Dask cluster's scheduler that does the runs, or "local" for one on this machine with `jobs`
        processes.

    Returns
    -------
    Results
        The finished runs; those that failed are in `failures`, with their reasons. `stats()` gives each metric of each
        cell: mean, deviation and 95 % confidence interval.

    Raises
    ------
    InputError
        If the scenario is wrong, or if every single run fails because of the input.

    Warns
    -----
    IdenticalRepeats
        If the repeats of a cell are all the same, because hardly anything in the scenario is random.

    Examples
    --------
    >>> s = ub.sweep("office-100m", {"link.bottleneck.loss": "0.1%"}, cc=["cubic", "bbr"], repeat=10)
    >>> s.stats().query("metric == 'goodput_mbps'")
    >>> s.compare(between="cc")

    """
    if not 1 <= (repeats := whole("repeat", repeat)) <= MOST_REPEATS:
        raise InputError(f"repeat {repeats}: a cell is run at least once, and at most {MOST_REPEATS:,} times")
    manner = Manner(backend_named(on), kernel, cache, progress, jobs)
    if dask and manner.on != "simulator":
        raise InputError(f"dask: a cluster runs simulations; runs with on = {on} are for this machine alone")
    chosen = chosen_source(source, overrides, cc, seed, rtt, duration, receiver)
    with chosen.placing_errors():
        results = run_through(Experiment(chosen, manner, only, repeats), dask)
    return results.warn()


def run_through(experiment: Experiment, dask: str | None = None) -> Results:
    """Do all runs, on a Dask cluster or here, and go on when one fails.

    Raises the error of the first one if the input is to blame for every one.
    """
    errors: dict[str, Error] = {}
    experiment.run(False, work=lambda tasks: errors.update(_go_on(experiment, tasks, dask)))
    reasons = [errors.get(run.key) for run in experiment.runs]
    if first := _input_to_blame(reasons):
        raise first
    records = [
        None if error else run.record(experiment.store) for run, error in zip(experiment.runs, reasons, strict=True)
    ]
    kernel = next((record.run.get("kernel") for record in records if record), None)
    outcomes = [
        record or _failure(run, experiment.manner.on, kernel, str(error))
        for run, record, error in zip(experiment.runs, records, reasons, strict=True)
    ]
    return experiment.results(outcomes)


def _input_to_blame(errors: Sequence[Error | None]) -> InputError | None:
    """Return the first error if no run is without one and all are errors of the input, otherwise None."""
    wrong = [error for error in errors if isinstance(error, InputError)]
    return wrong[0] if len(wrong) == len(errors) else None


def _go_on(experiment: Experiment, tasks: Mapping[Task, Planned], dask: str | None) -> dict[str, Error]:
    """Do the runs; return the errors of those that failed, by their keys."""
    manner, store = experiment.manner, experiment.store
    kept = len({run.key for run in experiment.runs}) - len(tasks)
    errors = refusals(tasks, manner.on)
    tasks = {task: run for task, run in tasks.items() if task.key not in errors}
    if not tasks:
        return errors
    guest = manner.guest()
    log.info("%d runs to do, %d are kept", len(tasks), kept)
    if manner.on == "simulator" and not dask:
        costs.tell((costs.of(run.cell) for run in tasks.values()), manner.processes())
    durations = [run.cell.duration_s for run in tasks.values()]
    place = {task: i for i, task in enumerate(tasks)}
    with closing(SweepProgress(durations, manner.progress, on=manner.on)) as bar:

        def watch(task: Task, share: float) -> None:
            if share < 1:
                bar.update(place[task], share)
            else:
                bar.finish(place[task], store.record(task.key).get("data_packets") or 0)

        def failed(task: Task, error: Error) -> None:
            errors[task.key] = error
            bar.finish(place[task], 0)

        if dask:
            from unbloat.runs import dask_cluster

            dask_cluster.run_all(dask, store, tasks, manner.processes(), watch, failed)
        else:
            cells = {task: run.cell for task, run in tasks.items()}
            processes = min(manner.processes(), len(tasks))
            run_all(store.folder, cells, processes, watch, guest, failed, spare=store.spare)
        said = f"{bar.finished} runs in {bar.elapsed()}, {bar.rate()}"
    log.info(said)
    return errors


def refusals(tasks: Mapping[Task, Planned], on: str) -> dict[str, Error]:
    """Find the runs of which nothing can come there; give why, by their keys."""
    errors: dict[str, Error] = {}
    for task, run in tasks.items():
        try:
            refuse(run.cell, on)
        except Error as error:
            errors[task.key] = error
    return errors


def _failure(run: Planned, on: str, kernel: str | None, reason: str) -> Failure:
    return Failure(dict(run.axes), run.repeat or 1, run.cell.seed, reason, run.cell.name, on, kernel)
