"""What is hashed is what runs: a file that is edited meanwhile never gives the results of another text."""

import json
import os
import shutil
from io import StringIO
from pathlib import Path

import pytest
import unbloat as ub
from conftest import SMALL
from inline_snapshot import snapshot
from sentences import plain, refused
from unbloat import _core
from unbloat.runs import worker
from unbloat.runs.experiment import Experiment, Manner
from unbloat.runs.store import Store, key_of
from unbloat.runs.task import Task
from unbloat.scenarios import identity, portable
from unbloat.scenarios.identity import Code
from unbloat.scenarios.source import source_of
from unbloat.system.paths import ALGORITHMS, SCENARIOS

RENO = ALGORITHMS / "congestion" / "reno.bpf.c"
NOW = Manner("simulator", None, None, False, 1)


def records(cache: Path) -> list[Path]:
    return list((cache / "runs").rglob("*.json"))


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A control of the user's with a header beside it."""
    (tmp_path / "mine.h").write_text("/* first */\n")
    file = tmp_path / "mine.bpf.c"
    file.write_text('#include "mine.h"\n' + RENO.read_text())
    return file


def test_a_scenario_that_is_edited_meanwhile_runs_as_it_was(small: Path, cache: Path) -> None:
    experiment = Experiment(source_of(small), NOW)
    small.write_text(SMALL.replace("4mbit", "1mbit"))
    experiment.run(False)
    (kept,) = experiment.records()
    assert kept.run["flows"][0]["goodput_mbps"] > 3
    small.write_text(SMALL)
    assert ub.scenario(small).run().as_dict() == ub.scenario(small).run(cache=False).as_dict()


def test_a_trace_that_is_edited_meanwhile_runs_as_it_was(tmp_path: Path, cache: Path) -> None:
    trace = tmp_path / "mine.down"
    text = (SCENARIOS / "traces" / "lte-small.down").read_text()
    trace.write_text(text)
    overrides = {"link.bottleneck.trace": str(trace), "duration": "8s"}
    experiment = Experiment(source_of("mobile-lte", overrides), NOW)
    trace.write_text("1000\n")
    experiment.run(False)
    trace.write_text(text)
    assert (
        ub.scenario("mobile-lte", overrides).run().as_dict()
        == ub.scenario("mobile-lte", overrides).run(cache=False).as_dict()
    )
    assert len(records(cache)) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "mine.bpf.c",
            snapshot("TMP/mine.bpf.c changed after the runs had begun, so this result is not stored: start again"),
        ),
        (
            "mine.h",
            snapshot("TMP/mine.h changed after the runs had begun, so this result is not stored: start again"),
        ),
    ],
)
def test_the_result_of_an_edited_control_is_not_kept(
    small: Path, cache: Path, mine: Path, name: str, told: str
) -> None:
    edited = mine.parent / name
    text = edited.read_text()
    experiment = Experiment(source_of(small, {"flows.*.cc": str(mine)}), NOW)
    edited.write_text(text + "/* edited */\n")
    with refused(ub.RunError, told):
        experiment.run(False)
    assert not records(cache)
    edited.write_text(text)
    with refused(ub.RunError, told):  # What ran in between, nobody knows.
        experiment.run(False)
    assert ub.scenario(small).run(cc=mine).records and len(records(cache)) == 1


def test_series_that_are_asked_for_later_are_of_the_same_control(small: Path, mine: Path) -> None:
    results = ub.scenario(small).run(cc=mine)
    mine.write_text(RENO.read_text().replace("snd_cwnd / 2", "snd_cwnd / 4"))
    with refused(
        ub.RunError,
        snapshot("TMP/mine.bpf.c changed after the runs had begun, so this result is not stored: start again"),
    ):
        _ = results.series()


def test_one_edited_control_of_a_sweep_fails_alone(sweep: Path, cache: Path, mine: Path) -> None:
    from unbloat.runs.sweep import run_through

    axes = {"sweep.flows.0.cc": ["reno", str(mine)]}
    experiment = Experiment(source_of(sweep, axes), NOW, repeats=1)
    mine.write_text(RENO.read_text() + "/* edited */\n")
    swept = run_through(experiment)
    assert {failure.axes["flows.0.cc"] for failure in swept.failures} == {"mine"}
    assert len(swept.failures) == len(swept.records) == len(records(cache)) == 2


def test_code_that_is_edited_during_a_run_counts_too(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout algorithms/ is at hand; this is a copy of it."""
    copy = tmp_path / "algorithms"
    shutil.copytree(ALGORITHMS, copy)
    monkeypatch.setattr(identity, "ALGORITHMS", copy)
    (cell,) = source_of(small).points()
    store = Store(tmp_path / "runs")
    code = Code.now()
    task = Task("key", code.stamp_with(cell))

    def run(cell: _core.GridPoint, task: Task, progress: object) -> tuple[str, None]:
        return cell.run(copy)[0], None

    def edit(cell: _core.GridPoint, task: Task, progress: object) -> tuple[str, None]:
        file = copy / "include" / "vmlinux.h"
        file.write_text(file.read_text() + "\n")
        return run(cell, task, progress)

    def attempt(run: worker.Runner) -> dict[str, object]:
        return worker.attempt(run, store, cell, task, identity.code_files(), StringIO())

    assert attempt(run) == {"finished": True} and store.has("key", None)
    store.take_out("key")
    assert plain(attempt(edit)["error"]) == snapshot(
        "TMP/algorithms/include/vmlinux.h changed after the runs had begun, so this result is not stored: start again"
    )
    assert not store.has("key", None)
    assert Code.now().hash != code.hash


def test_notes_and_swap_files_beside_the_code_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "algorithms"
    shutil.copytree(ALGORITHMS, copy)
    monkeypatch.setattr(identity, "ALGORITHMS", copy)
    before = Code.now()
    (copy / "congestion" / ".reno.bpf.c.swp").write_bytes(b"an editor's")
    (copy / "notes.md").write_text("to do")
    assert Code.now() == before
    (copy / "congestion" / "another.bpf.c").write_text("")
    assert Code.now().hash != before.hash


def test_what_goes_to_a_dask_worker_is_what_was_hashed(small: Path, mine: Path, tmp_path: Path) -> None:
    """It is laid down there, and there too it may be changed until the run is over."""
    (cell,) = source_of(small, {"flows.*.cc": str(mine)}).points()
    there = portable.unpack(portable.pack(cell), tmp_path / "there")
    assert key_of(there) != key_of(cell), "the control has another path"
    assert [file.read_bytes() for file in there.sources(ALGORITHMS)] == [
        file.read_bytes() for file in cell.sources(ALGORITHMS)
    ]
    code = Code.now()
    before = code.stamp_with(there)
    identity.refuse_changed(there, code.files, before)
    os.utime(there.sources(ALGORITHMS)[0])
    with refused(
        ub.RunError,
        snapshot("TMP/thereTMP/mine.bpf.c changed after the runs had begun, so this result is not stored: start again"),
    ):
        identity.refuse_changed(there, code.files, before)


def test_another_process_reads_the_same_scenario(small: Path) -> None:
    for source in (source_of(small, {"link.bottleneck.loss": "0.7%", "seed": 2**62 + 1}), source_of("mobile-lte")):
        (cell,) = source.points()
        assert json.loads(_core.resolved(cell.portable()).json()) == json.loads(cell.json())


def test_errors_in_another_process_name_the_line_here(small: Path, tmp_path: Path) -> None:
    params = "params = { cubic_plus = { period = 1 } }"
    small.write_text(SMALL.replace('cc = "reno"', f'cc = "cubic_plus"\n{params}'))
    with refused(
        ub.InputError,
        snapshot(
            'TMP/small.toml:11: flows.0.params.cubic_plus.period: cubic_plus cannot be set up: period must be a time such as "100ms", not 1'
        ),
    ):
        ub.scenario(small).run()
    with refused(
        ub.InputError,
        snapshot(
            'flows.0.cc: unknown congestion control "nothing"; valid: agile_sd, bbr, bbr3, clpc, compound, compound_ns2, copa, cubic, cubic_hystartpp, cubic_plus, cubic_search, dctcp, dtpa, dtpa_auto, elastic, elastic_plus, htcp, illinois, ledbat, ledbat_pp, reno, reno_plus, tcp_lp, vegas, vegas_plus, veno, westwood, or the path of a .bpf.c file'
        ),
    ):
        ub.scenario(small).run(cc="nothing")
