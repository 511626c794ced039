"""What the command line and Python make of runs on the kernel; the runs themselves are made up here."""

import json
import os
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import refused, stderr_of
from unbloat._core import GridPoint
from unbloat.report.results_tables import FLOW_COLUMNS
from unbloat.runs import experiment
from unbloat.runs.checkpoint import Checkpoint
from unbloat.runs.store import Store
from unbloat.runs.task import Task, Watch
from unbloat.scenarios.portable import Columns
from unbloat.scenarios.source import source_of

FLOW = {"flow": 0, "cc": "reno", "goodput_mbps": 1.0, "rtt_ms_mean": 20.0, "rtt_ms_p95": 21.0, "rtt_ms_max": 30.0}
LINK = {"link": "bottleneck", "utilisation_percent": 99.0, "queue_percent_mean": 50.0, "drops": 0, "wire_losses": 0}


def float64(number: float) -> tuple[str, bytes]:
    return "<f8", struct.pack("<d", number)


FIRST = "<u4", struct.pack("<I", 0)
SERIES: Columns = {
    "flows": {"time_s": float64(1), "flow": FIRST},
    "links": {"time_s": float64(1), "link": FIRST},
    "rtt": {"subject": FIRST},
    "queue_delay": {"subject": FIRST},
}


class Kernel:
    """Stands in for the processes: counts runs, and stops before one of them if it is told to."""

    def __init__(self) -> None:
        self.runs = 0
        self.stop_before: int | None = None
        self.processes: list[int] = []
        self.why = ""

    def run_all(self, folder: Path, tasks: Mapping[Task, GridPoint], processes: int, watch: Watch, *_: object) -> None:
        self.processes.append(processes)
        for task in tasks:
            if self.runs == self.stop_before:
                raise KeyboardInterrupt
            self.runs += 1
            time.sleep(0.01)  # Times of files are as coarse as the kernel's tick.
            Store(folder).put(task.key, json.dumps(self.record(task)), task.recording.series_ns, SERIES)
            watch(task, 1)

    def record(self, task: Task) -> dict[str, Any]:
        flow = dict.fromkeys(FLOW_COLUMNS) | FLOW | {"goodput_mbps": float(self.runs)}
        link = {"queue_delay_ms_mean": 5.0, "queue_delay_ms_p95": 6.0, "queue_delay_ms_max": 7.0, **LINK}
        real = {"sound": not self.why, "unsound_because": self.why or None}
        head = {"scenario": "small", "on": task.on, "seed": 1, "duration_s": 2.0, "jain_index": 1.0}
        return {**head, **real, "lateness_us_p99": 41.0, "cpu_idle_percent": 73.0, "flows": [flow], "links": [link]}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made_up = Kernel()
    monkeypatch.setattr(experiment, "run_all", made_up.run_all)
    return made_up


def goodputs(results: ub.Results) -> list[float]:
    """Which of the made-up runs these are."""
    return [record.run["flows"][0]["goodput_mbps"] for record in results.records]


def test_a_finished_run_is_done_again(kernel: Kernel, small: Path) -> None:
    assert goodputs(ub.scenario(small).run(on="kernel")) == [1]
    assert goodputs(ub.scenario(small).run(on="kernel")) == [2]


def test_a_kept_run_is_taken_when_asked_for(kernel: Kernel, small: Path) -> None:
    ub.scenario(small).run(on="kernel")
    assert goodputs(ub.scenario(small).run(on="kernel", cache=True)) == [1]
    assert goodputs(ub.scenario(small).run(on="kernel", cache=False)) == [2]
    assert goodputs(ub.scenario(small).run(on="kernel", cache=True)) == [1], "a run without the cache is not kept"


def test_another_kernel_s_run_is_not_taken(kernel: Kernel, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ub.scenario(small).run(on="kernel")
    monkeypatch.setattr("platform.release", lambda: "6.1.0-other")
    assert goodputs(ub.scenario(small).run(on="kernel", cache=True)) == [2]


def test_the_simulator_s_runs_are_not_taken_for_real_ones(kernel: Kernel, small: Path) -> None:
    ub.scenario(small).run()
    assert [record.run["on"] for record in ub.scenario(small).run(on="kernel", cache=True).records] == ["kernel"]


def test_an_interrupted_grid_goes_on_and_the_next_one_is_new(
    kernel: Kernel, sweep: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "unbloat")
    kernel.stop_before = 3
    with pytest.raises(KeyboardInterrupt):
        ub.scenario(sweep).run(on="kernel")
    kernel.stop_before = None
    assert goodputs(ub.scenario(sweep).run(on="kernel")) == [1, 2, 3, 4]
    assert [message for message in caplog.messages if "3 of 4" in message] == snapshot(
        ["continues an interrupted command: 3 of 4 runs are there"]
    )
    caplog.clear()
    assert goodputs(ub.scenario(sweep).run(on="kernel")) == [5, 6, 7, 8]
    assert not caplog.text


def test_a_grid_does_not_go_on_with_runs_from_before_it_began(kernel: Kernel, sweep: Path) -> None:
    ub.scenario(sweep).run(on="kernel")
    kernel.stop_before = 5
    with pytest.raises(KeyboardInterrupt):
        ub.scenario(sweep).run(on="kernel")
    kernel.stop_before = None
    assert goodputs(ub.scenario(sweep).run(on="kernel")) == [5, 6, 7, 8]


def test_a_grid_is_known_by_its_runs(tmp_path: Path) -> None:
    begun = Checkpoint(tmp_path, ["a", "b"]).begin()
    os.utime(next((tmp_path / "begun").iterdir()), ns=(begun - 10**9, begun - 10**9))
    assert Checkpoint(tmp_path, ["b", "a"]).begin() == begun - 10**9
    Checkpoint(tmp_path, ["a", "c"]).finish()
    assert Checkpoint(tmp_path, ["a", "b"]).begin() == begun - 10**9
    Checkpoint(tmp_path, ["a", "b"]).finish()
    assert Checkpoint(tmp_path, ["a", "b"]).begin() >= begun


def test_one_at_a_time_unless_told_otherwise(kernel: Kernel, sweep: Path) -> None:
    ub.scenario(sweep).run(on="kernel")
    ub.scenario(sweep).run(on="kernel", jobs=3)
    assert kernel.processes == [1, 3]


def test_the_series_is_that_of_the_run_however_late_it_is_looked_at(kernel: Kernel, small: Path) -> None:
    first = ub.scenario(small).run(on="kernel")
    SERIES["flows"]["time_s"] = float64(9)
    second = ub.scenario(small).run(on="kernel")
    SERIES["flows"]["time_s"] = float64(1)
    assert (list(first.series()["time_s"]), list(second.series()["time_s"])) == ([1.0], [9.0])
    assert kernel.runs == 2


def test_the_screen_says_how_well_the_machine_kept_up(
    kernel: Kernel, small: Path, sweep: Path, screen_of: Callable[..., str]
) -> None:
    text = screen_of("run", small, "--on", "kernel")
    assert "· kernel" in text and "lateness p99" in text and "41.0" in text and "73.0" in text
    assert "unsound" not in text
    kernel.why = "99 % of the packets left within 9 ms only"
    text = screen_of("run", sweep, "--on", "kernel")
    assert text.count("unsound\n") == 8, "every row of both tables is marked"
    assert [line for line in text.splitlines() if line.startswith("warning: run 0")] == snapshot(
        ["warning: run 0 (reno, 15kb) is unsound: 99 % of the packets left within 9 ms only"]
    )


@pytest.fixture
def screen_of(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    from unbloat.cli.app import main

    def call(*args: object) -> str:
        assert main([str(arg) for arg in args]) == 0
        return capsys.readouterr().out

    return call


def test_the_kernel_s_own_control_is_not_simulated(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--cc", "kernel:cubic")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: flows.0.cc: kernel:cubic belongs to the running kernel: run it with --on kernel or --on vm, or write cubic, unbloat's own"
    )


@pytest.mark.parametrize(
    ("axis", "values"), [("flows.0.clock.drift", ["0ppm", "100ppm"]), ("flows.0.profile", ["linux", "newreno"])]
)
def test_what_no_kernel_has_is_refused_before_the_first_run(
    kernel: Kernel, small: Path, axis: str, values: list[str]
) -> None:
    with pytest.raises(ub.InputError, match=f"{axis}: .* simulate"):
        ub.scenario(small, {f"sweep.{axis}": values}).run(on="kernel")
    assert kernel.runs == 0


def test_a_series_step_that_takes_the_packets_time_is_refused(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--on", "kernel", "--series", "50us")
    sentence = "series 50us: with on = kernel a step must be at least 1000us; with a finer one the samples take"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"unbloat: {sentence}") and done.stderr.count("\n") == 1
    (cell,) = source_of(small, {}).points()
    with refused(
        ub.InputError,
        snapshot(
            "series 999us: with on = vm a step must be at least 1000us; with a finer one the samples take the time that packets need"
        ),
    ):
        experiment.series_step(cell, "999us", "vm")
    assert experiment.series_step(cell, "999us") == 999_000


def test_the_default_step_is_never_one_that_is_refused(small: Path) -> None:
    (cell,) = source_of(small, {"duration": "150ms"}).points()
    steps = {on: experiment.series_step(cell, True, on) for on in ("simulator", "kernel", "vm")}
    assert steps == {"simulator": 100_000, "kernel": 1_000_000, "vm": 1_000_000}


def test_there_are_three_backends(small: Path) -> None:
    with refused(ub.InputError, snapshot("on: unknown value moon; valid: simulator, kernel, vm")):
        ub.scenario(small).run(on="moon")
