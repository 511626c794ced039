"""Thousands of short runs as one frame: the numbers of `Scenario.run`, kept whole, whatever ends the processes."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import unbloat as ub
from inline_snapshot import snapshot
from sentences import refused
from unbloat.runs import batch
from unbloat.runs.store import FOLDER, NAME, ShortStore
from unbloat.scenarios.source import source_of

DELAYS = [{"link.bottleneck.delay": f"{delay}ms"} for delay in range(5, 25)]


def store(cache: Path) -> Path:
    return cache / "short-runs" / FOLDER / NAME


def kept(cache: Path) -> int:
    with sqlite3.connect(store(cache)) as connection:
        tables = connection.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'runs'").fetchone()
        return int(connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]) if tables[0] else 0


def test_the_numbers_are_those_of_runs(small: Path, cache: Path) -> None:
    found = ub.evaluate(small, DELAYS[:3])
    for row, keys in zip(found.to_dict("records"), DELAYS, strict=False):
        (flow,) = ub.scenario(small).run(keys).flows.to_dict("records")
        assert {name: row[name] for name in ("goodput_mbps", "rtt_ms_mean", "sent_packets")} == {
            name: flow[name] for name in ("goodput_mbps", "rtt_ms_mean", "sent_packets")
        }
    assert found["link.bottleneck.delay"].tolist() == ["5ms", "6ms", "7ms"]
    assert found["link"].tolist() == ["bottleneck"] * 3 and found["failed"].isna().all()


def test_what_is_kept_is_not_run_again_and_processes_stay(small: Path, cache: Path) -> None:
    first = ub.evaluate(small, DELAYS, jobs=2)
    stay = {id(worker) for worker in batch._staying}
    assert kept(cache) == len(DELAYS)
    second = ub.evaluate(small, DELAYS, jobs=2)
    assert second.equals(first) and {id(worker) for worker in batch._staying} == stay
    assert ub.evaluate(small, DELAYS, cache=False).equals(first) and kept(cache) == len(DELAYS)


def test_a_batch_returns_whole_records_and_how_far_it_is(small: Path) -> None:
    told: list[int] = []
    sources = [source_of(str(small), keys) for keys in DELAYS[:4]]
    rows = batch.run_all(sources, 1, is_kept=False, progress=False, is_whole=True, finished=told.append)
    assert [row["run"]["flows"][0]["base_rtt_ms"] for row in rows] == [10, 12, 14, 16]
    assert all("values" not in row for row in rows) and told == [1, 2, 3, 4]


def test_types_of_columns_do_not_depend_on_values(small: Path) -> None:
    one, many = ub.evaluate(small), ub.evaluate(small, [{"flows.0.size": "10kb"}, {"flows.0.cc": "vegas"}])
    common = [name for name in one if name in many]
    assert len(common) > 30 and one.dtypes[common].equals(many.dtypes[common])


def test_grid_points_of_a_sweep_and_several_scenarios_have_rows(small: Path, sweep: Path) -> None:
    found = ub.evaluate([ub.scenario(small), sweep])
    assert len(found) == 5 and found["cc"].dropna().tolist() == ["reno", "reno", "cubic", "cubic"]


def test_a_run_that_is_refused_has_the_reason_in_its_row(small: Path) -> None:
    found = ub.evaluate(small, [{"link.bottleneck.rate": "1mbit"}, {"link.bottleneck.rate": "1"}])
    assert found["failed"].isna().tolist() == [True, False] and "link.bottleneck.rate" in found["failed"][1]
    with refused(ub.InputError, snapshot('link.bottleneck.rate: must be a rate such as "2mbit", not 1')):
        ub.evaluate(small, [{"link.bottleneck.rate": "1"}])


def test_a_run_that_kills_its_process_is_found_among_others(small: Path, tmp_path: Path) -> None:
    control = Path("algorithms/congestion/reno.bpf.c").resolve().read_text()
    bad = tmp_path / "bad.bpf.c"
    at = control.index("{", control.index("BPF_PROG(") if "BPF_PROG(" in control else control.index("cong_avoid"))
    bad.write_text(f"{control[: at + 1]}\n\t*(volatile int *)8 = 1;{control[at + 1 :]}")
    sets = [*DELAYS[:5], {"flows.0.cc": str(bad)}, *DELAYS[5:]]
    found = ub.evaluate(small, sets, jobs=1)
    assert found["failed"].notna().tolist() == [number == 5 for number in range(len(sets))], found["failed"][5]


CALL = """
import sys, unbloat as ub
ub.evaluate(sys.argv[1], [{"link.bottleneck.delay": f"{5000 + n}us", "duration": "20s"} for n in range(100_000)], jobs=1)
"""


def test_kill_9_leaves_whole_batches(small: Path, cache: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", CALL, str(small)])
    end = time.monotonic() + 600
    while not (store(cache).exists() and kept(cache)):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(worker), signal.SIGKILL)
    process.kill()
    process.wait()
    before = kept(cache)
    assert 0 < before < 100_000
    sets = [{"link.bottleneck.delay": f"{5000 + number}us", "duration": "20s"} for number in range(3)]
    assert (
        ub.evaluate(small, sets).drop(columns="run").equals(ub.evaluate(small, sets, cache=False).drop(columns="run"))
    )
    with sqlite3.connect(store(cache)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_damage_in_the_middle_is_found(small: Path, cache: Path) -> None:
    first = ub.evaluate(small, DELAYS)
    batch._end()
    data = bytearray(store(cache).read_bytes())
    data[4096:12288] = bytes(8192)
    store(cache).write_bytes(bytes(data))
    for _ in range(2):
        assert ub.evaluate(small, DELAYS).equals(first)
    assert kept(cache) == len(DELAYS)


def test_two_processes_that_find_damage_begin_one_new_file(tmp_path: Path) -> None:
    records = {str(number): bytes(3000) for number in range(20)}
    ShortStore(tmp_path).put(records)
    file = tmp_path / FOLDER / NAME
    data = bytearray(file.read_bytes())
    data[4096:12288] = bytes(8192)
    file.write_bytes(data)
    one, other = ShortStore(tmp_path), ShortStore(tmp_path)
    assert one.get([]) == other.get([]) == {}, "both have opened the damaged file"
    for early, late in ((one, other), (other, one)):
        early.get(records)
        early.put({"new": b"1"})
        late.get(records)
        assert late.get(["new"]) == {"new": b"1"}


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, None])
def test_a_damaged_file_is_begun_anew(small: Path, cache: Path, damage: bytes | None) -> None:
    first = ub.evaluate(small, DELAYS[:2])
    batch._end()
    if damage is None:  # Of its contents, not of its form.
        with sqlite3.connect(store(cache)) as connection:
            connection.execute("UPDATE runs SET record = substr(record, 1, 200)")
    else:
        store(cache).write_bytes(damage)
    assert ub.evaluate(small, DELAYS[:2]).equals(first) and kept(cache) == 2
