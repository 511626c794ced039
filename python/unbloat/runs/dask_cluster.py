"""Runs a sweep on a Dask cluster: one Dask task for each run, each result kept here as soon as it is there.

What a lost worker was about Dask gives to others. A run has one key, the store's, and its result is put there once, so
that nothing is lost and nothing counts twice. Each run carries everything that a worker needs: no shared files.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from unbloat._core import Error, InputError, RunError
from unbloat.runs import dask_worker
from unbloat.runs.experiment import Planned
from unbloat.runs.store import Store
from unbloat.runs.task import Failed, Task, Watch
from unbloat.scenarios import identity
from unbloat.scenarios.identity import code_files, code_hash
from unbloat.scenarios.portable import located, pack
from unbloat.system import machine
from unbloat.system.scratch import Scratch

if TYPE_CHECKING:
    import distributed
    from tornado.ioloop import IOLoop

LOCAL = "local"
UNDER_WAY = 1000
"""Runs in the scheduler's hands at a time: enough for every worker, few enough for its memory."""
SILENCE = logging.CRITICAL + 1
PATIENCE_S = 20
"""The longest wait for a scheduler to answer."""


def run_all(
    address: str, store: Store, tasks: Mapping[Task, Planned], processes: int, watch: Watch, failed: Failed
) -> None:
    """Do every task on the cluster at `address`, or on `processes` local workers if that is "local".

    Raises `InputError` if the cluster does not answer, or if its workers lack the same unbloat; `RunError` if the
    cluster is lost in the middle.
    """
    with machine.orderly_end() as end, _connected(address, processes) as client:
        _check_workers(client, address)
        for task, answer in _answers(client, address, tasks):
            end.check()
            if isinstance(answer, Error):
                failed(task, answer)
            elif "error" in answer:
                kind = InputError if answer["wrong_input"] else RunError
                failed(task, kind(located(answer["error"], tasks[task].point)))
            else:
                store.put(task.key, answer["record"], None, None)
                watch(task, 1)


def _answers(
    client: distributed.Client, address: str, tasks: Mapping[Task, Planned]
) -> Iterator[tuple[Task, dict[str, Any] | Error]]:
    """Yield each task with a worker's result, in the order in which they end."""
    import distributed

    waiting = iter(tasks.items())
    files, code = code_files(), code_hash()

    def submit(task: Task, run: Planned) -> distributed.Future[dict[str, Any]]:
        packed = pack(run.point)
        identity.refuse_changed(run.point, files, run.stamp)
        return client.submit(dask_worker.run, packed, task.as_dict(), code, key=f"unbloat-{task.key}")

    under_way = {submit(*item): item[0] for item in islice(waiting, UNDER_WAY)}
    ended = distributed.as_completed(list(under_way), with_results=True, raise_errors=False)
    # The present state of a future does not count: if its worker was lost since, it waits again despite its result.
    for future, result in ended:
        task = under_way.pop(future)
        if isinstance(result, distributed.CancelledError):
            raise RunError(f"the Dask cluster at {address} was lost; finished runs are cached")
        yield task, result if isinstance(result, dict) else _why(result[1])
        for item in islice(waiting, 1):
            future = submit(*item)
            under_way[future] = item[0]
            ended.add(future)


def _why(error: Exception) -> RunError:
    """Describe why Dask has given a task up."""
    if type(error).__name__ == "KilledWorker":
        return RunError("each of several Dask workers that ran it was killed; perhaps the machines ran out of memory")
    return RunError(f"the Dask worker failed: {type(error).__name__}: {error}")


@contextmanager
def _connected(address: str, processes: int) -> Iterator[distributed.Client]:
    """Connect to a cluster, or start one; end only what was started."""
    try:
        import distributed
    except ImportError:
        raise InputError("dask: needs Dask, which is not installed: pip install distributed cryptography") from None
    if address == LOCAL:
        with _local(processes) as client:
            yield client
        return
    try:
        client = distributed.Client(address, timeout=PATIENCE_S, loop=event_loop())
    except (OSError, ValueError, TypeError) as error:
        why = str(error)
    else:
        with client:
            yield client
        return
    gc.collect()  # It closes Dask's half-made client, which cannot be closed in the thread of the event loop.
    raise InputError(f"dask {address}: no Dask scheduler answers there ({why})")


@cache
def event_loop() -> IOLoop:
    """Start an event loop in a thread of its own, once; Dask gives up one that takes more than ten seconds to start."""
    from tornado.ioloop import IOLoop

    started = Future[IOLoop]()

    async def run() -> None:
        started.set_result(IOLoop.current())
        await asyncio.Event().wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    Thread(target=work, name="event loop of Dask", daemon=True).start()
    return started.result()


os.register_at_fork(after_in_child=event_loop.cache_clear)  # No thread survives a fork but the one that forks.


@contextmanager
def _local(processes: int) -> Iterator[distributed.Client]:
    """Start a cluster on this machine that accepts work from this user only: a scheduler runs any client's code."""
    import dask
    import distributed

    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise InputError("dask local: needs the package cryptography: pip install distributed cryptography") from None
    # Dask logs errors about what it loses on shutdown, when the results are here already.
    logging.getLogger("distributed").setLevel(SILENCE)
    with closing(Scratch()) as scratch, _environment(PYTHONSAFEPATH="1"), dask.config.set(_settings(scratch.folder)):
        local = distributed.LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            silence_logs=SILENCE,
            preload=[dask_worker.__name__],
            security=security,
            loop=event_loop(),
        )
        with local, distributed.Client(local) as client:
            yield client


def _settings(scratch: Path) -> dict[str, object]:
    """Configure Dask: no pages, and files in a folder of ours.

    By default scheduler and workers take /tmp/dask-scratch-space from whoever has made it, write through links there,
    and import modules from it.
    """
    return {
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "temporary-directory": str(scratch),
    }


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _check_workers(client: distributed.Client, address: str) -> None:
    """Refuse workers whose runs would not be those of this machine."""
    try:
        codes = client.run(dask_worker.code)
    except Exception as error:
        raise InputError(
            f"dask {address}: the workers lack unbloat ({error}); install it there as it is here"
        ) from None
    if not codes:
        raise InputError(f"dask {address}: the cluster has no workers yet; start some with `dask worker {address}`")
    others = [worker for worker, code in codes.items() if code != code_hash()]
    if others:
        raise InputError(
            f"dask {address}: another build of unbloat is on {', '.join(sorted(others))}; "
            "install the same wheel there as here, so that all runs are alike"
        )
