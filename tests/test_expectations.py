"""`[expect]`: statements that the results of a scenario must fulfil, and `unbloat test`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import unbloat as ub
from conftest import Cli
from unbloat.claims.expressions import ClaimError
from unbloat.claims.quantities import quantity_named
from unbloat.claims.units import in_own_units

SCENARIO = """\
duration = "5s"
[link.bottleneck]
rate = "10mbit"
delay = "10ms"
queue = { limit = "1bdp" }
[[flows]]
cc = "cubic"
[[flows]]
cc = "reno"
[expect]
"""
MET = 'filled = "goodput > 9mbit"\n'
FAILED = 'quick = "rtt_p99 < 20ms"\n'


def converted(text: str) -> str:
    return in_own_units(text, lambda name: quantity_named(name).unit)


@pytest.mark.parametrize(
    ("written", "own"),
    [
        ("rtt_p99 < 50ms", "rtt_p99 < 50.0"),
        ("rtt_p99 < 0.05s", "rtt_p99 < 50.0"),
        ("completion < 1500ms", "completion < 1.5"),
        ("goodput(flow=2) >= 1.5mbit", "goodput(flow=2) >= 1.5"),
        ("share(flow=2) >= 0.3", "share(flow=2) >= 30.0"),
        ("share(flow=2) >= 30%", "share(flow=2) >= 30.0"),
        ("jain > 90%", "jain > 0.9"),
        ("drops == 0", "drops == 0"),
        ("drops <= 20p", "drops <= 20.0"),
        ("queue_bytes < 64kb", "queue_bytes < 64000.0"),
        ("rtt_p99 < 3 * rtt_p50 + 1ms", "rtt_p99 < 3 * rtt_p50 + 1.0"),
        ("max(rtt_p99, 10ms) < 2 * 30ms", "max(rtt_p99, 10.0) < 2 * 30.0"),
        ("rate(flow=1, after=500ms, before=2s) > 1mbit", "rate(flow=1, after=0.5, before=2.0) > 1.0"),
        ("rtt('50ms') < rtt('100ms')", "rtt('50ms') < rtt('100ms')"),
        ("not loss > 1% or retransmissions < 5", "not loss > 1.0 or retransmissions < 5"),
    ],
)
def test_numbers_are_in_the_unit_of_what_they_are_compared_with(written: str, own: str) -> None:
    assert converted(written) == own


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("rtt_p99 < 50", "`50` in `rtt_p99 < 50` has no unit; write it as in 50ms"),
        ("goodput > 8", "`8` in `goodput > 8` has no unit; write it as in 10mbit"),
        ("rtt_p99 < 64kb", "`64kb` in `rtt_p99 < 64kb`: the other side is in ms"),
        ("jain > 5ms", "`5ms` in `jain > 5ms`: the other side has no unit"),
        ("rtt_p99 < 50lightyears", "`50lightyears` in `rtt_p99 < 50lightyears`: unknown unit"),
        ("rtt_p9 < 50ms", "unknown quantity `rtt_p9` (did you mean rtt_p99?)"),
        ("rtt_p99 <", "`rtt_p99 <` is not an expression"),
    ],
)
def test_a_wrong_number_is_a_sentence(wrong: str, sentence: str) -> None:
    with pytest.raises(ClaimError) as caught:
        converted(wrong)
    assert sentence in str(caught.value)


def test_a_run_has_verdicts() -> None:
    results = ub.scenario(SCENARIO + MET + FAILED).run()
    assert [(each.name, each.verdict) for each in results.expectations] == [("filled", "met"), ("quick", "failed")]
    assert results.expectations[0].measured.endswith("> 9 Mbit/s")
    assert results.as_dict()["expectations"][1]["statement"] == "rtt_p99 < 20ms"


def test_statements_about_time_have_their_series_recorded() -> None:
    results = ub.scenario(SCENARIO + 'late = "rate(flow=1, after=2s, before=5s) > 1mbit"').run()
    assert results.expectations[0].verdict == "met"


def test_each_grid_point_has_a_verdict_and_labels_compare_grid_points() -> None:
    sweep = '[sweep]\n"link.bottleneck.queue.limit" = ["1bdp", "4bdp"]\n'
    grid = ub.scenario(SCENARIO + MET + "longer = \"rtt('1bdp') < rtt('4bdp')\"\n" + sweep)
    found = {each.title: each.verdict for each in grid.run().expectations}
    assert found == {"filled [1bdp]": "met", "filled [4bdp]": "met", "longer": "met"}
    part = grid.set({"sweep.link.bottleneck.queue.limit": ["1bdp", "4bdp"]}).run(
        only={"limit": "1bdp"}, set={"expect.longer": "rtt > 0ms"}
    )
    assert [each.title for each in part.expectations] == ["filled [1bdp]", "longer [1bdp]"]


def test_repeats_that_leave_it_undecided_are_open() -> None:
    scenario = SCENARIO + 'split = "share(flow=1) > 50%"\n'
    results = ub.scenario(scenario, {"link.bottleneck.loss": "0.5%", "flows.*.cc": "reno"}).run(repeat=4)
    assert results.expectations[0].verdict == "open"


@pytest.mark.parametrize("on", ["simulator", "vm"])
def test_a_wrong_statement_is_told_before_anything_runs(on: str, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SCENARIO + 'fast = "goodputt > 9mbit"\n')
    for command in (["run", file, "--on", on], ["check", file]):
        done = cli(*command)
        assert done.returncode == 2
        assert f"{file}:11: expect.fast: unknown quantity `goodputt` (did you mean goodput?)" in done.stderr


@pytest.mark.parametrize("wrong", ["3", '["a"]', "{ a = 1 }"])
def test_statements_are_texts(wrong: str) -> None:
    with pytest.raises(ub.InputError, match=r"expect\.fast: must be a statement such as"):
        ub.scenario(f"{SCENARIO}fast = {wrong}\n")


def test_the_status_tells_scripts(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "met.toml").write_text(SCENARIO + MET)
    (tmp_path / "failed.toml").write_text(SCENARIO + MET + FAILED)
    assert cli("run", "met.toml").returncode == 0
    done = cli("run", "failed.toml")
    assert done.returncode == 1 and "< 20 ms (false)" in done.stdout


def test_expectations_do_not_change_what_runs() -> None:
    plain, expecting = (ub.scenario(text).run() for text in (SCENARIO.replace("[expect]\n", ""), SCENARIO + MET))
    assert plain[0].run == expecting[0].run


# ---------------------------------------------------------------- unbloat test


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "good.toml").write_text(SCENARIO + MET)
    (tmp_path / "sub/bad.toml").write_text(SCENARIO + MET + FAILED)
    (tmp_path / "none.toml").write_text(SCENARIO.replace("[expect]\n", ""))
    return tmp_path


def test_a_folder_of_scenarios_is_a_folder_of_tests(cli: Cli, folder: Path) -> None:
    done = cli("test", folder, "--junit", folder / "x.xml", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["counts"] == {"met": 2, "failed": 1}
    assert [(Path(each["file"]).name, each["name"]) for each in found["tests"]] == [
        ("good.toml", "filled"),
        ("bad.toml", "filled"),
        ("bad.toml", "quick"),
    ]
    suites = ElementTree.parse(folder / "x.xml").getroot()
    assert [suite.get("failures") for suite in suites] == ["0", "1"]
    (failure,) = suites.iter("failure")
    assert failure.text == "rtt_p99 < 20ms" and "(false)" in str(failure.get("message"))


def test_a_pattern_picks_tests(cli: Cli, folder: Path) -> None:
    done = cli("test", folder, "-k", "FILLED")
    assert done.returncode == 0 and "2 tests: 2 met" in done.stdout
    done = cli("test", folder, "-k", "nothing")
    assert done.returncode == 2 and "no scenario in" in done.stderr


def test_a_wrong_scenario_is_an_error_among_the_others(cli: Cli, folder: Path) -> None:
    (folder / "wrong.toml").write_text(SCENARIO + 'odd = "goodput >"\n')
    report = ub.test(folder)
    assert report.counts() == {"met": 2, "failed": 1, "error": 1}
    assert [case.verdict for case in report.failed] == ["failed", "error"]
    assert report.table["verdict"].tolist() == ["met", "met", "failed", "error"]
    assert cli("test", folder).returncode == 2


def test_a_path_that_is_missing_is_a_sentence(folder: Path) -> None:
    with pytest.raises(ub.InputError, match="no such file or folder"):
        ub.test(folder / "nowhere")
