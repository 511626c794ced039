"""`unbloat compare` of two sweeps: which metrics differ, by how much, and whether that exceeds the intervals."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of
from unbloat.comparison.difference import MetricDifference, SweepComparison, compare
from unbloat.results import files
from unbloat.results.statistics import difference

LOSSY = ("--set", "link.bottleneck.loss=1%")
NAMES = ("left", "right")


def run(goodput: float, seed: int, repeat: int = 1, cc: str = "reno", **more: Any) -> dict[str, Any]:
    """A run of one flow, as `unbloat sweep --json` prints it."""
    return {
        "axes": {"flows.0.cc": cc},
        "scenario": "made up",
        "on": "simulator",
        "seed": seed,
        "repeat": repeat,
        "sound": True,
        "jain_index": 1.0,
        "flows": [{"flow": 0, "goodput_mbps": goodput, "lost_packets": 0, "retransmitted_packets": 0}],
        "links": [{"link": "bottleneck", "drops": 0, "queue_delay_ms_mean": 5.0}],
        **more,
    }


def write(folder: Path, name: str, *runs: dict[str, Any]) -> Path:
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"runs": runs}))
    return file


def series(folder: Path, name: str, goodputs: list[float], first_seed: int = 1, **more: Any) -> Path:
    return write(folder, name, *(run(value, first_seed + n, n + 1, **more) for n, value in enumerate(goodputs)))


def held(a: Path, b: Path) -> SweepComparison:
    return compare(NAMES, files.read(a), files.read(b))


def marks(comparison: ub.Comparison) -> list[str]:
    """Give the differences in the table, with the marks behind them."""
    return re.findall(r"-?[\d.]+(?: ± [\d.]+)? [*=]", re.sub("  +", " ", str(comparison)))


def goodput(comparison: SweepComparison) -> MetricDifference:
    (cell,) = comparison.points
    return next(metric for metric in cell.metrics if metric.name == "goodput_mbps")


LUCK = [1.0, 6.0, 3.0, 9.0, 5.0]
BETTER = [value + 0.5 + 0.01 * n for n, value in enumerate(LUCK)]


def test_the_same_seeds_are_compared_run_by_run(tmp_path: Path) -> None:
    metric = goodput(held(series(tmp_path, "a", LUCK), series(tmp_path, "b", BETTER)))
    assert metric.difference == difference(dict(enumerate(LUCK)), dict(enumerate(BETTER)))
    assert metric.difference is not None and metric.difference.is_paired and metric.exceeds is True
    assert metric.change_percent == pytest.approx(100 * 0.52 / 4.8)


def test_other_seeds_are_compared_by_welch_s_interval(tmp_path: Path) -> None:
    metric = goodput(held(series(tmp_path, "a", LUCK), series(tmp_path, "b", BETTER, first_seed=100)))
    assert metric.difference is not None and not metric.difference.is_paired
    assert metric.difference.mean == pytest.approx(0.52) and metric.exceeds is False


def test_single_runs_leave_the_question_open(tmp_path: Path) -> None:
    comparison = held(series(tmp_path, "a", [1.0]), series(tmp_path, "b", [2.0]))
    assert goodput(comparison).exceeds is None
    assert comparison.counts()["open"] == comparison.counts()["metrics"] > 0


def test_what_is_equal_does_not_differ(tmp_path: Path) -> None:
    file = series(tmp_path, "a", LUCK)
    assert held(file, file).counts()["exceed"] == 0


@pytest.mark.parametrize("first_seed", [1, 100], ids=["pairs", "other seeds"])
def test_what_rounding_makes_is_no_difference(cli: Cli, tmp_path: Path, first_seed: int) -> None:
    """Goodputs of several flows are added in the order of the flows."""
    next_to_them = [math.nextafter(value, math.inf) for value in LUCK]
    a, b = series(tmp_path, "a", LUCK), series(tmp_path, "b", next_to_them, first_seed)
    found = goodput(held(a, b)).difference
    assert found is not None and found.mean == 0.0
    assert "goodput" not in cli("compare", a, b).stdout


def test_unsound_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    runs = [run(value, n, n) for n, value in enumerate(LUCK)]
    a = write(tmp_path, "a", *runs[:-1], {**runs[-1], "sound": False, "unsound_because": "late"})
    comparison = held(a, write(tmp_path, "b", *runs))
    assert comparison.unsound == (1, 0) and goodput(comparison).a.n == 4 and goodput(comparison).b.n == 5


def test_the_command_compares_sweeps_with_their_intervals(cli: Cli, tmp_path: Path) -> None:
    series(tmp_path, "a", LUCK)
    series(tmp_path, "b", BETTER)
    # What is equal is not shown.
    assert cli("compare", "a.json", "b.json").stdout == snapshot("""\
A is a.json (simulator), B is b.json (simulator). Means ± half of the 95 % confidence interval; * behind a difference:
it exceeds its interval, ? a single run leaves that open. The intervals are those of pairs: both sides have the same
seeds.

cc    metric                  A          B            B - A  change
                                                                  %
────  ──────────────  ─────────  ─────────  ───────────────  ──────
reno  goodput Mbit/s  4.8 ± 3.8  5.3 ± 3.8  0.520 ± 0.020 *   +10.8

1 grid point, 5 metrics in all (--json has every one): 1 exceed their intervals (about 0 would by chance if nothing
differed), 4 do not, 0 stay open.
""")


def test_two_labels_of_a_sweep_are_pairs(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    cli("sweep", sweep, *LOSSY, "--repeat", "3", "-o", "out")
    said = json.loads(cli("compare", "out", "--between", "cc=reno,cubic", "--json").stdout)
    (both,) = said["comparisons"]
    assert [cell["axes"] for cell in both["grid_points"]] == [
        {"link.bottleneck.queue.limit": "15kb"},
        {"link.bottleneck.queue.limit": "60kb"},
    ]
    metrics = {(metric["of"], metric["metric"]): metric for metric in both["grid_points"][0]["metrics"]}
    between = metrics["all flows", "goodput_mbps"]
    assert between["difference"]["is_paired"] and between["a"]["n"] == 3
    assert between["difference"]["mean"] == pytest.approx(between["b"]["mean"] - between["a"]["mean"])


def test_another_seed_of_the_sweep_is_another_sample(cli: Cli, small: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "2")):
        cli("sweep", small, *LOSSY, "--repeat", "3", "--seed", seed, "-o", name)
    said = cli("compare", "a", "b", "--page", "page.md")
    assert said.stdout.split("\n\n")[0] == snapshot("""\
A is a (simulator), B is b (simulator). Means ± half of the 95 % confidence interval; * behind a difference: it exceeds
its interval, ? a single run leaves that open. The intervals are Welch's: the sides have other seeds.\
""")
    page = (tmp_path / "page.md").read_text()
    assert "    unbloat compare a b --page page.md" in page and "| goodput Mbit/s |" in page


def test_failed_runs_are_no_runs(cli: Cli, small: Path, tmp_path: Path) -> None:
    cli("sweep", small, "--set", 'sweep.flows.0.cc=["reno", "kernel:reno"]', "-o", "out")
    assert len(files.read(tmp_path / "out")) == 1
    said = json.loads(cli("compare", "out", "out", "--json").stdout)
    assert [cell["axes"] for cell in said["comparisons"][0]["grid_points"]] == [{"flows.0.cc": "reno"}]


def test_a_goal_and_its_reasons_take_sweeps_too(cli: Cli, tmp_path: Path) -> None:
    """Three sets, reasons and a spread are the older comparison, whose tolerances know nothing of intervals."""
    for name, values in (("a", LUCK), ("b", BETTER)):
        lost = {"lost_packets": 0, "retransmitted_packets": 0, "completion_s": None}
        runs = [
            run(value, n, n, flows=[{"flow": 0, "goodput_mbps": value, **lost}], packet_ms=1.0)
            for n, value in enumerate(values)
        ]
        write(tmp_path, name, *runs)
    said = json.loads(cli("compare", "a.json", "b.json", "b.json", "--json").stdout)
    goodput, *_ = said["comparisons"][0]["grid_points"][0]["metrics"]
    assert (said["method"], goodput["a"]["n"], goodput["b"]["n"]) == ("tolerance", 5, 5)


def test_sweeps_without_a_common_grid_point_are_a_sentence(cli: Cli, tmp_path: Path) -> None:
    series(tmp_path, "a", LUCK)
    series(tmp_path, "b", LUCK, cc="cubic")
    done = cli("compare", "a.json", "b.json")
    assert done.returncode == 2 and stderr_of(done) == snapshot(
        "unbloat: a.json and b.json have no grid point in common: the first begins with (made up: reno), the second with (made up: cubic)"
    )


def test_a_difference_with_an_interval_beside_it_is_judged_by_that(tmp_path: Path) -> None:
    # Either side is alike to a ten-thousandth, and the difference is not known to that.
    series(tmp_path, "a", [965.0, 965.03, 965.01])
    series(tmp_path, "b", [950.52, 950.48, 950.51])
    comparison = ub.compare(tmp_path / "a.json", tmp_path / "b.json")
    assert goodput(comparison.parts[0]).exceeds is True
    assert marks(comparison) == ["-14.510 ± 0.090 *"]


def test_what_the_ticks_of_clocks_make_has_neither_interval_nor_star(tmp_path: Path) -> None:
    series(tmp_path, "a", [965.0, 965.001, 965.002])
    series(tmp_path, "b", [965.01, 965.012, 965.013])
    assert marks(ub.compare(tmp_path / "a.json", tmp_path / "b.json")) == ["0.0107 ="]


def test_repeats_that_are_all_alike_are_no_matter_of_statistics(cli: Cli, tmp_path: Path) -> None:
    series(tmp_path, "a", [5.0, 5.0, 5.0])
    series(tmp_path, "b", [5.1, 5.1, 5.1])
    comparison = ub.compare(tmp_path / "a.json", tmp_path / "b.json")
    metric = goodput(comparison.parts[0])
    assert metric.is_fixed and metric.exceeds is None
    assert comparison.counts()["fixed"] == 1 and comparison.counts()["exceed"] == 0
    assert marks(comparison) == ["0.100 ="]
    assert str(comparison).split("\n\n")[1:] == snapshot(
        [
            """\
cc    metric             A     B    B - A  change
                                                %
────  ──────────────  ────  ────  ───────  ──────
reno  goodput Mbit/s  5.00  5.10  0.100 =    +2.0\
""",
            """\
= marks a difference between repeats that are all alike: almost nothing in the scenario is random, so the difference is
exact and needs no statistics.\
""",
            """\
1 grid point, 5 metrics in all (--json has every one): 0 exceed their intervals (about 0 would by chance if nothing
differed), 4 do not, 0 stay open, 1 have no interval.\
""",
        ]
    )
