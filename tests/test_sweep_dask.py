"""Sweeps on a real Dask cluster of several worker processes on this machine."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import dask
import distributed
import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from kept import lend
from leftovers import PATIENCE_S, descendants, is_alive, wait_until
from sentences import plain, refused
from test_sweep import UNBLOAT, crashing, records, without_speed
from unbloat.runs import dask_cluster
from unbloat.runs.store import Store
from unbloat.scenarios.portable import Columns
from unbloat.system.paths import ALGORITHMS

LOSSY = {"link.bottleneck.loss": "1%"}


@pytest.fixture(scope="module", autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests' own clusters out of Dask's default folder, and let nothing of theirs be too slow."""
    settings = {
        "temporary-directory": str(tmp_path_factory.mktemp("scratch")),
        "distributed.comm.timeouts": {"connect": f"{PATIENCE_S}s", "tcp": f"{PATIENCE_S}s"},
    }
    with dask.config.set(settings), pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_cluster, "PATIENCE_S", PATIENCE_S)
        yield


def cluster(workers: int) -> distributed.LocalCluster:
    """A scheduler with worker processes, in an event loop that may take its time to start."""
    loop = dask_cluster.event_loop()
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", loop=loop)


@contextmanager
def two_workers() -> Iterator[distributed.Client]:
    """Two worker processes behind a scheduler, and a look at them."""
    with cluster(2) as here, distributed.Client(here) as client:
        yield client


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[distributed.Client]:
    """Workers that no test harms, with a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("workers")
        lend(folder, "mechanisms")
        patch.setenv("UNBLOAT_CACHE", str(folder))
        with two_workers() as client:
            yield client


@pytest.fixture
def victims() -> Iterator[distributed.Client]:
    """Workers that a test may kill."""
    with two_workers() as client:
        yield client


def address(client: distributed.Client) -> str:
    return str(client.scheduler.address)


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each run was kept."""
    counter: Counter[str] = Counter()
    put = Store.put

    def counted(self: Store, key: str, record: str, series_ns: int | None, columns: Columns | None) -> None:
        counter[key] += 1
        put(self, key, record, series_ns, columns)

    monkeypatch.setattr(Store, "put", counted)
    return counter


def test_a_killed_worker_loses_nothing_and_doubles_nothing(
    victims: distributed.Client, sweep: Path, cache: Path, puts: Counter[str]
) -> None:
    """A worker is killed by its process id while it is about a run; the others, and its successor, do the rest."""
    long = {**LOSSY, "duration": "20s"}
    pids = victims.run(os.getpid)
    killed: list[int] = []
    kept: list[int] = []

    def kill() -> None:
        wait_until(lambda: records(cache) and any(victims.processing().values()))
        busy = next(worker for worker, tasks in victims.processing().items() if tasks)
        killed.append(pids[busy])
        kept.append(len(records(cache)))
        os.kill(pids[busy], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    swept = ub.scenario(sweep, long).run(repeat=6, dask=address(victims))
    killer.join()
    assert 0 < kept[0] < 24, "it was in the middle"
    assert killed[0] not in victims.run(os.getpid).values()
    assert not swept.failures and len(swept.records) == 24
    assert len(puts) == 24 and set(puts.values()) == {1}
    assert len(records(cache)) == 24
    here = ub.scenario(sweep, long).run(repeat=6, cache=False)
    assert swept.as_dict() == here.as_dict(), "a run is the same wherever it is done"


def test_a_result_that_is_here_counts_though_its_worker_is_lost(
    victims: distributed.Client, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first result is kept, the others arrive and every worker is killed."""
    put = Store.put

    def slow(self: Store, key: str, record: str, series_ns: int | None, columns: Columns | None) -> None:
        monkeypatch.setattr(Store, "put", put)
        wait_until(lambda: sum(map(len, victims.has_what().values())) == 8)
        time.sleep(1)  # Until they are here too, which nobody says.
        pids = victims.run(os.getpid)
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(victims.ncores()) == 2 and not pids.keys() & victims.ncores().keys())
        put(self, key, record, series_ns, columns)

    monkeypatch.setattr(Store, "put", slow)
    swept = ub.scenario(sweep, LOSSY).run(repeat=2, dask=address(victims))
    assert not swept.failures and len(swept.records) == 8


def test_a_run_that_dask_gives_up_is_a_row_with_its_reason(small: Path, cache: Path) -> None:
    """The endless run's worker is killed, which this scheduler does not bear even once; the other run is done."""
    small.write_text(small.read_text() + '\n[sweep]\nduration = ["2s", "1000000s"]\n')
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster(1) as here,
        distributed.Client(here) as client,
    ):

        def kill() -> None:
            wait_until(lambda: records(cache) and any(client.processing().values()))
            os.kill(*client.run(os.getpid).values(), signal.SIGKILL)

        killer = Thread(target=kill)
        killer.start()
        swept = ub.scenario(small).run(dask=here.scheduler_address, repeat=1)
        killer.join()
    (failure,) = swept.failures
    assert failure.axes == {"duration": "1000000s"}
    assert failure.reason == snapshot(
        "each of several Dask workers that ran it was killed; perhaps the machines ran out of memory"
    )
    assert [record.run["duration_s"] for record in swept.records] == [2]


def test_own_files_traces_and_crashes_reach_the_workers(workers: distributed.Client, tmp_path: Path) -> None:
    pids = workers.run(os.getpid)
    mine = tmp_path / "mine.bpf.c"
    (tmp_path / "mine.h").write_text("/* found beside it */\n")
    mine.write_text('#include "mine.h"\n' + (ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    controls = {"sweep.flows.0.cc": [str(mine), str(crashing(tmp_path)), "reno", "kernel:reno"]}
    swept = ub.scenario(SMALL, {**LOSSY, **controls}).run(dask=address(workers), repeat=1)
    own, crashed, reno, kernel = swept.points
    assert own.records[0].run["flows"][0]["goodput_mbps"] == reno.records[0].run["flows"][0]["goodput_mbps"]
    assert [plain(failure.reason) for failure in (*crashed.failures, *kernel.failures)] == snapshot(
        [
            'flows.0.cc: TMP/crash.bpf.c:47: cong_avoid of "reno" accesses invalid memory (SIGSEGV)',
            "flows.0.cc: kernel:reno belongs to the running kernel: run it with --on kernel or --on vm, or write reno, unbloat's own",
        ]
    )
    trace = {"duration": "10s"}
    assert (
        ub.scenario("mobile-lte", trace).run(dask=address(workers), repeat=1).as_dict()
        == ub.scenario("mobile-lte", trace).run(repeat=1).as_dict()
    )
    assert workers.run(os.getpid) == pids, "no Dask worker died of it"


def test_a_local_cluster_is_started_and_ended(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    done = cli("sweep", sweep, "--dask", "local", "-j", "2", "--repeat", "2")
    assert done.returncode == 0
    assert without_speed(done.stderr) == snapshot("""\
unbloat: 8 runs to do, 0 cached
unbloat: # runs in #, # runs/s, # packets/s\
""")
    assert cli("sweep", sweep, "--repeat", "2").stdout == done.stdout


def test_nobody_else_gives_work_to_a_local_cluster() -> None:
    """A scheduler runs what any client sends, as whoever started it."""
    with dask_cluster._connected("local", 1) as client:
        there = client.scheduler.address
        assert there.startswith("tls://127.0.0.1:")
        for where, security in ((there, distributed.Security.temporary()), (there.replace("tls", "tcp"), None)):
            with pytest.raises(OSError, match=r"."):
                distributed.Client(where, security=security, timeout=3)
        assert client.submit(int, "7").result() == 7


def test_a_full_disk_here_is_no_missing_scheduler(
    workers: distributed.Client, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Store, "put", full)
    with pytest.raises(OSError) as refusal:
        ub.scenario(small).run(dask=address(workers), repeat=1)
    assert refusal.value.errno == errno.ENOSPC


def test_an_interrupt_ends_the_local_cluster_quietly(sweep: Path, cache: Path) -> None:
    words = ["sweep", str(sweep), "--dask", "local", "-j", "2", "--repeat", "500", "--set", "duration=20s"]
    sweeping = subprocess.Popen([*UNBLOAT, *words], stderr=subprocess.PIPE, text=True, process_group=0)
    wait_until(lambda: records(cache))
    os.killpg(sweeping.pid, signal.SIGINT)  # As a terminal does.
    _, said = sweeping.communicate(timeout=PATIENCE_S)
    assert sweeping.returncode == 130 and said.count("\n") == 2
    assert said.splitlines()[-1] == snapshot("unbloat: interrupted; finished runs are cached")


def test_who_is_asked_to_end_ends_the_local_cluster_and_keeps_what_was_finished(sweep: Path, cache: Path) -> None:
    words = ["sweep", str(sweep), "--dask", "local", "-j", "2", "--repeat", "500", "--set", "duration=20s"]
    sweeping = subprocess.Popen([*UNBLOAT, *words], stderr=subprocess.PIPE, text=True, process_group=0)
    wait_until(lambda: records(cache))
    started = descendants(sweeping.pid)
    sweeping.terminate()
    _, said = sweeping.communicate(timeout=PATIENCE_S)
    assert sweeping.returncode == 143 and "Traceback" not in said
    assert said.splitlines()[-1] == snapshot("unbloat: ended by SIGTERM; finished runs are cached")
    wait_until(lambda: not any(is_alive(process) for process in started))
    assert records(cache)


def test_a_letter_that_is_not_utf_8_in_a_control_is_the_compilers_affair(
    workers: distributed.Client, small: Path, tmp_path: Path
) -> None:
    """In a comment it does no harm; elsewhere the compiler's sentence comes, with the user's own path."""
    mine = tmp_path / "mine.bpf.c"
    reno = (ALGORITHMS / "congestion" / "reno.bpf.c").read_bytes()
    mine.write_bytes(b"/* caf\xe9 */\n" + reno)
    assert len(ub.scenario(small).run(cc=mine, dask=address(workers), repeat=1).records) == 1
    mine.write_bytes(b"caf\xe9;\n" + reno)
    with pytest.raises(ub.InputError) as refusal:
        ub.scenario(small).run(cc=mine, dask=address(workers), repeat=1)
    assert str(refusal.value).startswith(f"flows.0.cc: {mine} ") and f"{mine}:1:" in str(refusal.value)


def test_another_build_on_the_workers_is_refused(
    workers: distributed.Client, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "code_hash", lambda: "another")
    with pytest.raises(ub.InputError) as refusal:
        ub.scenario(small).run(dask=address(workers), repeat=1)
    assert re.sub(r"tcp://[\d.:]+", "ADDRESS", str(refusal.value)) == snapshot(
        "dask ADDRESS another build of unbloat is on ADDRESS, ADDRESS; install the same wheel there as here, so that all runs are alike"
    )


def test_a_scheduler_that_is_not_there_is_a_sentence(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "PATIENCE_S", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        with pytest.raises(ub.InputError) as refusal:
            ub.scenario(small).run(dask=address, repeat=1)
        # In brackets stand Dask's own words.
        assert str(refusal.value).partition(" (")[0].replace(address, "ADDRESS") == snapshot(
            "dask ADDRESS: no Dask scheduler answers there"
        )


def test_dask_gets_an_event_loop_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask waits ten seconds for its own event loop, and a busy machine may need longer."""
    dask_cluster.event_loop()
    monkeypatch.setattr(distributed.utils.threading.Event, "wait", lambda *_, **__: False)
    with cluster(0) as empty:
        assert empty.scheduler_address


def test_a_cluster_without_workers_is_a_sentence(small: Path) -> None:
    with cluster(0) as empty, pytest.raises(ub.InputError) as refusal:
        ub.scenario(small).run(dask=empty.scheduler_address, repeat=1)
    assert str(refusal.value).replace(empty.scheduler_address, "ADDRESS") == snapshot(
        "dask ADDRESS: the cluster has no workers yet; start some with `dask worker ADDRESS`"
    )


def test_without_dask_the_command_that_installs_it_is_said(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with refused(
        ub.InputError, snapshot("dask: needs Dask, which is not installed: pip install distributed cryptography")
    ):
        ub.scenario(small).run(dask="local", repeat=1)


def test_a_lost_cluster_keeps_what_was_finished(sweep: Path, cache: Path) -> None:
    """The scheduler goes away in the middle; another sweep without it goes on."""
    here = cluster(1)

    def end() -> None:
        wait_until(lambda: records(cache))
        here.close()

    ender = Thread(target=end)
    ender.start()
    with pytest.raises(ub.RunError) as refusal:
        ub.scenario(sweep, {**LOSSY, "duration": "60s"}).run(repeat=10, dask=here.scheduler_address)
    assert str(refusal.value).replace(here.scheduler_address, "ADDRESS") == snapshot(
        "the Dask cluster at ADDRESS was lost; finished runs are cached"
    )
    ender.join()
    time.sleep(0.1)
    kept = records(cache)
    assert 0 < len(kept) < 40
    assert len(ub.scenario(sweep, {**LOSSY, "duration": "60s"}).run(repeat=10).records) == 40
    assert kept.items() <= records(cache).items()
