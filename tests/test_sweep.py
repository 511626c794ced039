"""`unbloat sweep`: repeats, intervals, failures as rows, interruptions."""

import json
import logging
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S, wait_until
from sentences import plain, stderr_of
from unbloat.results.statistics import estimate
from unbloat.runs import pool
from unbloat.runs.progress import SweepProgress
from unbloat.runs.store import Store
from unbloat.system.paths import ALGORITHMS

LOSSY = {"link.bottleneck.loss": "1%"}
AXES = ["cc", "limit"]
UNBLOAT = [sys.executable, "-m", "unbloat"]


def crashing(folder: Path) -> Path:
    """A control that touches foreign memory."""
    text = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    file = folder / "crash.bpf.c"
    file.write_text(text.replace("tcp_sk(sk);", "tcp_sk(sk);\n\t*(volatile int *)8 = 1;", 1))
    return file


def records(cache: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in (cache / "runs").rglob("*.json")}


def without_speed(said: str) -> str:
    """Write a hash for each number that depends on the machine."""
    *first, last = said.splitlines()
    return "\n".join([*first, re.sub(r"\d[\d.:]*( million)?", "#", last)])


def test_every_grid_point_is_repeated_with_seeds_of_its_own(sweep: Path) -> None:
    swept = ub.scenario(sweep, LOSSY).run(repeat=3)
    assert list(swept.runs.columns[:7]) == ["run", *AXES, f"{AXES[1]}_bytes", "repeat", "seed", "sound"]
    assert len(swept.runs) == 12 and list(swept.runs["repeat"]) == [1, 2, 3] * 4
    by_limit = swept.runs.groupby("limit", observed=True)["seed"]
    assert list(by_limit.nunique()) == [3, 3], "both controls have the same seeds"
    assert len(swept.flows) == 12 and len(swept.links) == 24
    assert swept.flows["goodput_mbps"].nunique() > 6


def test_the_summary_has_mean_deviation_and_interval(sweep: Path) -> None:
    swept = ub.scenario(sweep, LOSSY).run(repeat=3)
    goodput = swept.stats.query("metric == 'goodput_mbps' and of == 'all flows'").set_index(AXES)
    assert len(goodput) == 4 and (goodput["n"] == 3).all()
    flows = swept.flows.groupby(AXES)["goodput_mbps"]
    for labels, row in goodput.iterrows():
        wanted = estimate(flows.get_group(labels))
        values = (wanted.mean, wanted.deviation, wanted.low, wanted.high)
        assert tuple(row[["mean", "deviation", "ci95_low", "ci95_high"]]) == pytest.approx(values)
    assert {"bottleneck", "bottleneck.reverse", "all flows"} == set(swept.stats["of"])


def test_flows_are_looked_at_one_by_one_where_there_are_a_few(small: Path) -> None:
    few = ub.scenario(small, {"flows.0.count": 2}).run(repeat=1).stats
    assert {"all flows", "flow 0", "flow 1", "bottleneck", "bottleneck.reverse"} == set(few["of"])
    mean = few.set_index(["of", "metric"])["mean"]
    assert mean["all flows", "goodput_mbps"] == mean["flow 0", "goodput_mbps"] + mean["flow 1", "goodput_mbps"]
    assert mean["all flows", "rtt_ms_max"] == max(mean["flow 0", "rtt_ms_max"], mean["flow 1", "rtt_ms_max"])
    assert 0 < mean["all flows", "jain_index"] <= 1
    many = ub.scenario(small, {"flows.0.count": 13}).run(repeat=1).stats
    assert "all flows" in set(many["of"]) and not any(of.startswith("flow ") for of in many["of"])


def test_one_run_has_no_interval(cli: Cli, sweep: Path) -> None:
    done = cli("sweep", sweep, "--json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["stats"]
    assert rows and all(row["n"] <= 1 for row in rows)
    assert all(row["deviation"] is row["ci95_low"] is row["ci95_high"] is None for row in rows)
    assert "±" not in cli("sweep", sweep).stdout


def test_the_screen_tells_mean_and_interval(cli: Cli, sweep: Path) -> None:
    done = cli("sweep", sweep, "--set", "link.bottleneck.loss=1%", "--repeat", "3")
    assert done.stdout.splitlines()[0] == snapshot(
        "small · 4 grid points, 3 runs each · simulator · mean ± half of the 95 % confidence interval"
    )
    assert done.stdout.count("±") > 8
    assert without_speed(done.stderr) == snapshot("""\
unbloat: 12 runs to do, 0 cached
unbloat: # runs in #, # runs/s, # packets/s\
""")
    again = cli("sweep", sweep, "--set", "link.bottleneck.loss=1%", "--repeat", "3")
    assert again.stdout == done.stdout and again.stderr == ""


def test_parquet_files_hold_it_all(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    cli("sweep", sweep, "--repeat", "2", "-o", "out")
    tables = {file.stem: pd.read_parquet(file) for file in (tmp_path / "out").iterdir()}
    assert set(tables) == {"runs", "flows", "links", "stats"}
    assert {"repeat", "seed", "failed", *AXES} <= set(tables["runs"])
    assert {"of", "metric", "n", "mean", "deviation", "ci95_low", "ci95_high", *AXES, f"{AXES[1]}_bytes"} == set(
        tables["stats"]
    )


def test_a_range_is_an_axis(small: Path) -> None:
    limits = {"from": "10kb", "to": "40kb", "factor": 2}
    swept = ub.scenario(small, {"sweep.link.bottleneck.queue.limit": limits}).run(repeat=1)
    assert list(swept.runs["limit"]) == ["10kb", "20kb", "40kb"]


def test_a_failed_run_is_a_row_with_its_reason(cli: Cli, small: Path, tmp_path: Path, cache: Path) -> None:
    crash = crashing(tmp_path)
    controls = f'sweep.flows.0.cc=["reno", "{crash}", "cubic", "kernel:cubic"]'
    done = cli("sweep", small, "--set", controls, "--repeat", "2", "-o", "out", "-j", "1")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert plain(done.stdout.rpartition("\n\n")[2]) == snapshot("""\
4 of 8 runs failed:
* (crash) repeat 1: flows.0.cc: TMP/crash.bpf.c:47: cong_avoid of "reno" accesses invalid memory (SIGSEGV)
* (crash) repeat 2: flows.0.cc: TMP/crash.bpf.c:47: cong_avoid of "reno" accesses invalid memory (SIGSEGV)
* (kernel:cubic) repeat 1: flows.0.cc: kernel:cubic belongs to the running kernel: run it with --on kernel or --on vm, or write cubic, unbloat's own
* (kernel:cubic) repeat 2: flows.0.cc: kernel:cubic belongs to the running kernel: run it with --on kernel or --on vm, or write cubic, unbloat's own
""")
    runs = pd.read_parquet(tmp_path / "out" / "runs.parquet")
    reasons = runs.groupby("cc", sort=False)["failed"].first()
    assert reasons[["reno", "cubic"]].isna().all()
    assert reasons[["crash", "kernel:cubic"]].notna().all()
    assert len(records(cache)) == 4, "the others are kept"
    summary = pd.read_parquet(tmp_path / "out" / "stats.parquet")
    assert set(summary["cc"]) == {"reno", "cubic"}


def test_a_killed_process_costs_one_run(small: Path, cache: Path, tmp_path: Path) -> None:
    """The endless run's process is killed; the runs behind it are done by its successor."""
    text = small.read_text() + '\n[sweep]\nduration = ["2s", "1000000s", "3s", "4s"]\n'
    small.write_text(text)
    out = tmp_path / "out.json"
    with out.open("w") as file:
        sweep = subprocess.Popen([*UNBLOAT, "sweep", str(small), "--json", "-j", "1"], stdout=file)
        wait_until(lambda: len(records(cache)) == 1)
        time.sleep(0.5)
        (worker,) = children(sweep.pid)
        os.kill(worker, signal.SIGKILL)
        assert sweep.wait(timeout=PATIENCE_S) == 1
    said = json.loads(out.read_text())
    assert [run["duration_s"] for run in said["runs"]] == [2, 3, 4]
    (failed,) = said["failed"]
    assert failed["axes"] == {"duration": "1000000s"} and failed["reason"] == snapshot(
        "the run's process was killed (SIGKILL); perhaps the machine ran out of memory"
    )


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_sweep_goes_on_where_it_stopped(small: Path, cache: Path, how: signal.Signals) -> None:
    text = small.read_text() + '\n[sweep]\nduration = ["2s", "3s", "1000000s"]\n'
    small.write_text(text)
    command = [*UNBLOAT, "sweep", str(small), "--repeat", "2", "-j", "1"]
    sweep = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(records(cache)) == 4)
    sweep.send_signal(how)
    _, said = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == (130 if how == signal.SIGINT else -how)
    assert "Traceback" not in said
    kept = records(cache)
    small.write_text(text.replace("1000000s", "4s"))
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True)
    assert without_speed(done.stderr) == snapshot("""\
unbloat: 2 runs to do, 4 cached
unbloat: # runs in #, # runs/s, # packets/s\
""")
    assert len(records(cache)) == 6 and kept.items() <= records(cache).items()


def test_no_cache_runs_afresh_and_keeps_nothing(cli: Cli, sweep: Path, cache: Path) -> None:
    first, second = (json.loads(cli("sweep", sweep, "--no-cache", "--json").stdout) for _ in range(2))
    assert first == second and not (cache / "runs").exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["--repeat", "0"],
            snapshot("unbloat: repeat 0: a grid point is run at least once, and at most 100,000 times"),
        ),
        (
            ["--set", "sweep.seed=[1, 2]"],
            snapshot(
                "unbloat: seed: a sweep with repeats draws its own seeds; remove this axis and use --repeat, or run the listed seeds with `unbloat run`"
            ),
        ),
        (
            ["--set", "sweep.flows.0.count={from = 1, to = 3}"],
            snapshot(
                'unbloat: sweep.flows.0.count.step: is missing; a range has from, to, and one of step (added), factor (multiplied) and count (values, spaced evenly or with scale = "log")'
            ),
        ),
        (
            ["--cc", "cubik"],
            snapshot(
                "unbloat: unknown congestion control cubik (did you mean cubic?); `unbloat list congestion-controls` shows all"
            ),
        ),
        (
            ["--dask", "local", "--on", "kernel"],
            snapshot("unbloat: dask: a cluster runs simulations; runs with on = kernel are for this machine alone"),
        ),
    ],
)
def test_wrong_input_is_a_sentence_and_status_2(cli: Cli, small: Path, args: list[str], told: str) -> None:
    done = cli("sweep", small, *args)
    assert done.returncode == 2 and done.stdout == ""
    assert stderr_of(done) == told


def test_runs_on_the_kernel_are_repeated_too(cli: Cli, small: Path) -> None:
    """Needs root, as every run on the kernel does."""
    done = cli("sweep", small, "--on", "kernel", "--set", "duration=1s", "--cc", "vegas", "--repeat", "2", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and [run["on"] for run in said["runs"]] == ["kernel"] * 2
    assert len({run["seed"] for run in said["runs"]}) == 2
    sound = sum(run["sound"] for run in said["runs"])
    assert [row["n"] for row in said["stats"] if row["metric"] == "goodput_mbps"] == [sound] * bool(sound)


def test_unsound_runs_are_not_in_the_summary(small: Path, cache: Path, cli: Cli) -> None:
    lossy = {"link.bottleneck.loss": "1%"}
    third = ub.scenario(small, lossy).run(repeat=3).records[2].run["seed"]
    store = Store(cache / "runs")
    (key,) = [file.stem for file in records(cache) if store.record(file.stem)["seed"] == third]
    unsound = {"sound": False, "unsound_because": "packets left late"}
    store.put(key, json.dumps(store.record(key) | unsound), None, None)
    with pytest.warns(ub.UnsoundRun) as warned:
        summary = ub.scenario(small, lossy).run(repeat=3).stats
    assert [str(each.message) for each in warned] == snapshot(
        ["unsound runs left out of the statistics: 1 of 3; the first: packets left late"]
    )
    assert summary.query("metric == 'goodput_mbps'")["n"].to_list() == [2]
    said = cli("sweep", small, "--repeat", "3", "--set", "link.bottleneck.loss=1%").stdout
    assert said.rpartition("\n\n")[2] == snapshot("""\
unsound, and not in the table: 1 run
* repeat 3: packets left late
""")


def test_progress_tells_runs_packets_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    bar = SweepProgress([10.0, 10.0, 10.0, 10.0], shown=True)
    bar.finish(0, 30_000_000)
    bar.finish(1, 50_000_000)
    bar.finish(2, 0)
    assert bar.words(elapsed_s=6).strip() == snapshot("75%  3/4 runs, 0.5 runs/s, 13.3 million packets/s, 0:02 left")
    bar.close()
    assert capsys.readouterr().err == ""


def test_a_sweep_shows_itself() -> None:
    swept = ub.scenario(SMALL, LOSSY).run(repeat=2)
    assert repr(swept) == snapshot("<unbloat.Results of 'small': 1 grid point, 2 runs>")
    assert "ci95_low" in swept._repr_html_()


def test_nothing_is_printed_unless_it_is_asked_for(
    small: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("unbloat"), "handlers", [])  # Where a command ran in this process before.
    ub.scenario(small, LOSSY).run(repeat=2, progress=False)
    assert capfd.readouterr() == ("", "")


def test_the_command_warns_in_its_own_words(cli: Cli, small: Path) -> None:
    done = cli("sweep", small, "--repeat", "2")
    assert done.stdout.rpartition("\n\n")[2] == snapshot(
        "warning: the repeats differ by less than 0.01 %, so they say no more than one run. Almost nothing in the scenario is random; add loss, jitter, arrivals or a start such as 0s..1s\n"
    )
    assert without_speed(done.stderr) == snapshot("""\
unbloat: 2 runs to do, 0 cached
unbloat: # runs in #, # runs/s, # packets/s\
""")


def test_a_sweep_has_series_and_pictures_too(small: Path) -> None:
    swept = ub.scenario(small, LOSSY).run(cc=["kernel:reno", "reno"], repeat=2)
    assert list(swept.series("links")["run"].unique()) == [2, 3], "the first two have failed"
    (panel,) = swept.plot("cwnd").axes
    assert len(panel.lines) == 2, "the mean of two runs, and what the path holds"


@pytest.mark.parametrize(("join_s", "started"), [(math.inf, 1), (0, 3)])
def test_further_processes_join_while_runs_wait(
    sweep: Path, monkeypatch: pytest.MonkeyPatch, join_s: float, started: int
) -> None:
    begun = []

    class Counted(pool.Worker):
        def __init__(self, *where: Any) -> None:
            begun.append(self)
            super().__init__(*where)

    monkeypatch.setattr(pool, "Worker", Counted)
    monkeypatch.setattr(pool, "JOIN_S", join_s)
    assert len(ub.scenario(sweep).run(jobs=3)) == 4 and len(begun) == started
