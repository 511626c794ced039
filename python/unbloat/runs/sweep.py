"""Sweeps: every grid point several times, with seeds of their own, failures and all."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing

from unbloat._core import Error, InputError
from unbloat.results.record import Failure
from unbloat.results.run_set import RunSet
from unbloat.runs import costs
from unbloat.runs.experiment import Experiment, Planned, refuse
from unbloat.runs.pool import run_all
from unbloat.runs.progress import SweepProgress
from unbloat.runs.task import Task

log = logging.getLogger(__name__)


def run_through(experiment: Experiment, dask: str | None = None, series: bool | str = False) -> RunSet:
    """Do all runs, on a Dask cluster or here, and go on when one fails.

    Raises the error of the first one if the input is to blame for every one.
    """
    errors: dict[str, Error] = {}
    experiment.run(series, work=lambda tasks: errors.update(_go_on(experiment, tasks, dask)))
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
    return experiment.results(outcomes, series)


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
    if not manner.stages:
        log.info("%d runs to do, %d cached", len(tasks), kept)
    if manner.on == "simulator" and not dask:
        costs.tell((costs.of(run.point, task.recording.series_ns) for task, run in tasks.items()), manner.processes())
    durations = [run.point.duration_s for run in tasks.values()]
    place = {task: i for i, task in enumerate(tasks)}
    stage = manner.stages.stage(durations) if manner.stages else None
    with closing(stage or SweepProgress(durations, manner.progress, on=manner.on)) as bar:

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
            points = {task: run.point for task, run in tasks.items()}
            processes = min(manner.processes(), len(tasks))
            run_all(store.folder, points, processes, watch, guest, failed, spare=store.spare)
        said = f"{bar.finished} runs in {bar.elapsed()}, {bar.rate()}" if isinstance(bar, SweepProgress) else ""
    if said:
        log.info(said)
    return errors


def refusals(tasks: Mapping[Task, Planned], on: str) -> dict[str, Error]:
    """Find the runs of which nothing can come there; give why, by their keys."""
    errors: dict[str, Error] = {}
    for task, run in tasks.items():
        try:
            refuse(run.point, on)
        except Error as error:
            errors[task.key] = error
    return errors


def _failure(run: Planned, on: str, kernel: str | None, reason: str) -> Failure:
    return Failure(dict(run.axes), run.repeat or 1, run.point.seed, reason, run.point.name, on, kernel)
