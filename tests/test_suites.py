"""Suites: criteria over scenarios, the card of a candidate, and the verdicts that the literature names."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from unbloat.suites.candidate import Candidate, candidate_of
from unbloat.suites.card import compare_backends
from unbloat.suites.judge import plan_of, settings_of
from unbloat.suites.suite import suite_of
from unbloat.system.paths import ALGORITHMS, SUITES, suite_names

IDS = [
    "collapse",
    "bufferbloat",
    "loss",
    "self_fairness",
    "short_flows",
    "harm_reno",
    "harm_cubic",
    "starvation",
    "realtime",
    "tail_drop",
    "aqm",
    "ecn",
    "varying_rate",
    "varying_delay",
    "reordering",
    "transients",
    "path_change",
]
SCENARIO = """\
duration = "5s"
[link.bottleneck]
rate = "10mbit"
delay = "10ms"
queue = { limit = "1bdp" }
[[flows]]
cc = "candidate"
[sweep]
queue = [{ label = "small" }, { label = "large", "link.bottleneck.queue.limit" = "4bdp" }]
control = [{ label = "candidate" }, { label = "reno", "flows.0.cc" = "reno" }]
"""
SUITE = """\
[suite]
name = "mine"
title = "is it mine?"
source = "nobody"
judges = ["congestion control", "window controller"]
[runs]
seeds = 2
difference = 0.05
[[criteria]]
id = "filled"
title = "fills the link"
source = "nobody"
rules = [{ scenario = "line", over = ["queue"], holds = "utilisation(candidate) >= 80%", why = "so" }]
[[criteria]]
id = "short"
title = "keeps the queue short"
source = "nobody"
rules = [{ scenario = "line", at = ["large"], holds = "queue_delay_p50(candidate) <= 5ms", why = "so" }]
"""
WINDOW_GROWS = "if (!tp->is_cwnd_limited)"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "line.toml").write_text(SCENARIO)
    (folder / "suite.toml").write_text(SUITE)
    return folder


# ---------------------------------------------------------------- Cards


def test_a_card_has_a_verdict_for_each_setting(mine: Path) -> None:
    card = ub.judge("cubic", mine)
    assert [(row.criterion.id, row.where, row.verdict) for row in card.rows] == [
        ("filled", "line, small", "pass"),
        ("filled", "line, large", "pass"),
        ("short", "line, large", "fail"),
    ]
    assert card.failed == ["short"] and card.counts() == {"pass": 1, "fail": 1, "open": 0, "unsound": 0}
    assert card.table["rule"].tolist()[2] == "queue_delay_p50(candidate) <= 5ms"
    assert "cubic meets 1 of 2 criteria of mine" in str(card)


def test_scripts_read_the_card(cli: Cli, mine: Path) -> None:
    done = cli("judge", "cubic", "--suite", mine, "--json", "--page", "card.html", "--badge", "card.svg")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["suite"] == "mine" and found["candidate"] == "cubic"
    assert set(found["criteria"][0]) >= {"id", "criterion", "setting", "measured", "interval", "rule", "verdict"}
    assert found["criteria"][0]["measured"] > 80 and found["criteria"][0]["verdict"] == "pass"
    assert "keeps the queue short" in (mine.parent / "card.html").read_text()
    assert "1 of 2" in (mine.parent / "card.svg").read_text()


def test_candidates_stand_side_by_side(cli: Cli, mine: Path) -> None:
    done = cli("judge", "vegas,cubic", "--suite", mine, "--criterion", "short")
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("short ")]
    assert row.endswith("fail (0 of 1)") and " pass " in row and done.returncode == 1
    assert cli("judge", "vegas", "--suite", mine, "--criterion", "short").returncode == 0


def test_a_file_and_a_window_controller_are_candidates(cli: Cli, mine: Path) -> None:
    assert cli("new", "control", "own").returncode == 0
    assert "own meets" in cli("judge", "./own.bpf.c", "--suite", mine).stdout
    card = ub.judge("rtac_auto", mine)
    assert card.candidate.kind == "window controller" and len(card.rows) == 3


def test_a_file_says_what_kind_of_mechanism_it_is() -> None:
    for folder, name in (("window", "static"), ("congestion", "reno")):
        source = ALGORITHMS / folder / f"{name}.bpf.c"
        assert candidate_of(str(source)).kind == candidate_of(name).kind
    with pytest.raises(ub.InputError, match="is a classifier; this suite judges"):
        candidate_of(str(ALGORITHMS / "classify" / "single.bpf.c"))


def test_a_candidate_takes_its_place_in_every_key() -> None:
    text = 'cc = "candidate"\nflows = [{ cc = "candidate", start = "0s" }]\nx = { label = "candidate", "flows.0.cc" = "candidate" }\n'
    assert Candidate("bbr", "congestion control").put_into(text) == (
        'cc = "bbr"\nflows = [{ cc = "bbr", start = "0s" }]\nx = { label = "candidate", "flows.0.cc" = "bbr" }\n'
    )
    assert Candidate("rtac", "window controller").put_into(text) == (
        'cc = "cubic"\nwindow_controller = "rtac"\n'
        'flows = [{ cc = "cubic", window_controller = "rtac", start = "0s" }]\n'
        'x = { label = "candidate", "flows.0.cc" = "cubic", "flows.0.window_controller" = "rtac" }\n'
    )
    queue = 'queue = { kind = "candidate" }\n'
    assert Candidate("pie", "queue").put_into(queue) == 'queue = { kind = "pie" }\n'


def test_a_setting_that_cannot_run_there_is_left_open_with_the_reason(mine: Path) -> None:
    text = SCENARIO.replace(
        '"4bdp" }]', '"4bdp" }, { label = "real", "link.bottleneck.queue" = { kind = "kernel:codel" } }]'
    )
    (mine / "line.toml").write_text(text)
    card = ub.judge("cubic", mine, criteria=["filled"])
    assert [(row.setting, row.verdict) for row in card.rows] == [
        (("small",), "pass"),
        (("large",), "pass"),
        (("real",), "open"),
    ]
    assert "kernel:codel" in card.rows[2].words and "\n" not in card.rows[2].words
    assert card.table["measured"].isna().tolist() == [False, False, True]
    assert card.counts()["open"] == 1 and card.failed == []


def test_a_setting_of_which_a_run_fails_is_left_open_with_the_reason(cli: Cli, mine: Path) -> None:
    """This control crashes where the queue is long enough for a window of a hundred packets."""
    assert cli("new", "control", "own").returncode == 0
    file = mine.parent / "own.bpf.c"
    crash = "if (tp->snd_cwnd > 100)\n\t\t__builtin_trap();\n\n\t"
    text = file.read_text()
    assert WINDOW_GROWS in text
    file.write_text(text.replace(WINDOW_GROWS, crash + WINDOW_GROWS))
    done = cli("judge", "./own.bpf.c", "--suite", mine, "--json")
    verdicts = {row["setting"]: row["verdict"] for row in json.loads(done.stdout)["criteria"]}
    assert verdicts["line, large"] == "open" and verdicts["line, small"] != "open"


def test_a_suite_of_which_nothing_can_run_is_refused(cli: Cli, mine: Path) -> None:
    done = cli("judge", "kernel:cubic", "--suite", mine)
    assert done.returncode == 2 and "kernel:cubic" in done.stderr


def test_only_what_the_rules_measure_runs(mine: Path) -> None:
    """No rule compares with Reno, and the second one is about the large queue."""
    plan = plan_of(suite_of(mine).only(["short"]), Candidate("cubic", "congestion control"), "line", "simulator")
    assert [dict(point.axes) for point in plan.batch.points()] == [{"queue": "large", "control": "candidate"}]


def test_a_suite_says_what_differs_in_a_guest(mine: Path) -> None:
    own = '[runs.vm]\nseeds = 3\noverrides.line = { duration = "2s" }\n[[criteria]]'
    (mine / "suite.toml").write_text(SUITE.replace("[[criteria]]", own, 1))
    suite, candidate = suite_of(mine), Candidate("cubic", "congestion control")
    lengths = {
        on: {point.duration_s for point in plan_of(suite, candidate, "line", on).batch.points()}
        for on in ("simulator", "vm", "kernel")
    }
    assert lengths == {"simulator": {5.0}, "vm": {2.0}, "kernel": {5.0}}
    assert [suite.content.runs.on_backend(on).seeds for on in lengths] == [2, 3, 1]


def test_cards_of_two_places_are_held_against_each_other(mine: Path) -> None:
    card = ub.judge("cubic", mine)
    opposite = [replace(row, verdict="fail") if row.setting == ("small",) else row for row in card.rows]
    other = ub.Card(card.suite, card.candidate, "vm", opposite)
    text = compare_backends([card], [other]).text()
    assert "cubic: 1 of 2 criteria have one verdict in both; contradicted: filled." in text
    assert re.search(r"filled +pass +fail \(1 of 2\) +1 of 2 +1.00 to 1.00", text) and re.search(
        r"short +fail.* fail.* 1 of 1", text
    )
    assert "Settings with opposite verdicts" in text and "line, small" in text
    alike = compare_backends([card], [card]).text()
    assert "2 of 2 criteria have one verdict in both; none contradicted." in alike and "opposite" not in alike


# ---------------------------------------------------------------- Wrong input


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["cubik"], "candidate cubik: unknown (did you mean cubic?)"),
        (["./nowhere.bpf.c"], "candidate ./nowhere.bpf.c: no such file"),
        (["fq_codel"], "candidate fq_codel: is a queue; this suite judges congestion controls or window controllers"),
        (["cubic", "--suite", "rfc9734"], "unknown suite rfc9734 (did you mean rfc9743?)"),
        (
            ["cubic", "--criterion", "bufferblot"],
            "suite rfc9743: unknown criterion bufferblot (did you mean bufferbloat?)",
        ),
        (["cubic,bbr", "--badge", "x.svg"], "--badge is for one candidate"),
    ],
)
def test_wrong_input_is_a_sentence(cli: Cli, words: list[str], sentence: str) -> None:
    done = cli("judge", *words)
    assert done.returncode == 2 and sentence in done.stderr


@pytest.mark.parametrize(
    ("good", "wrong", "sentence"),
    [
        ('"line", over', '"lines", over', "suite.toml:13: criteria.0.rules.0.scenario: no file lines.toml beside it"),
        ("80%", "80ms", "criteria.0.rules.0.holds: `80ms` in `utilisation(candidate) >= 80ms`: the other side is in %"),
        (" <= 5ms", "", "criteria.1.rules.0.holds: `queue_delay_p50(candidate)` states nothing; write a comparison"),
        ('id = "short"', 'id = "filled"', "criteria.1.id: another criterion has the id filled already"),
        ("seeds = 2", "seeds = 0", "runs.seeds: must be at least 1, not 0"),
        (
            "seeds = 2",
            "seeds = 2\nvm.overrides.lane = {}",
            "runs.vm.overrides.lane: no rule is about a scenario lane (did you mean line?)",
        ),
    ],
)
def test_a_wrong_suite_is_a_sentence(mine: Path, good: str, wrong: str, sentence: str) -> None:
    file = mine / "suite.toml"
    file.write_text(SUITE.replace(good, wrong, 1))
    with pytest.raises(ub.InputError) as caught:
        suite_of(mine)
    assert sentence in str(caught.value)


def test_a_wrong_scenario_names_its_file(mine: Path) -> None:
    (mine / "line.toml").write_text(SCENARIO.replace("10mbit", "fast"))
    with pytest.raises(ub.InputError, match=r"mine/line.toml:3: link.bottleneck.rate"):
        ub.judge("cubic", mine)


# ---------------------------------------------------------------- Shipped suites


def test_suites_are_listed(cli: Cli) -> None:
    assert all(name in cli("list", "suites").stdout for name in suite_names())
    assert "bufferbloat: keeps queues short" in cli("show", "rfc9743").stdout


def test_scripts_may_rely_on_the_ids_of_rfc9743() -> None:
    suite = suite_of("rfc9743")
    assert suite.ids == IDS
    assert all(each.source and all(rule.why for rule in each.rules) for each in suite.criteria)


@pytest.mark.parametrize("candidate", ["cubic", "reno", "bbr"])
def test_a_guest_runs_each_setting_of_rfc9743(candidate: str) -> None:
    suite, who = suite_of("rfc9743"), Candidate(candidate, "congestion control")
    plans = [plan_of(suite, who, name, "vm") for name in suite.scenarios()]
    assert not any(plan.refused for plan in plans)
    settings = {(rule.scenario, each) for plan in plans for rule in plan.rules for each in settings_of(rule, plan.grid)}
    assert len(settings) >= 40
    warm = [point for plan in plans for point in plan.batch.points() if point.duration_s < 15]
    assert not warm, "some statistics would begin after the end"


def known() -> list[dict[str, object]]:
    """Read the verdicts that the literature names."""
    return list(tomllib.loads((SUITES / "rfc9743/known.toml").read_text())["verdicts"])


@pytest.mark.parametrize(
    "verdict", known(), ids=lambda each: f"{each['candidate']}-{each['criterion']}-{each['verdict']}"
)
@pytest.mark.usefixtures("shared_runs")
def test_verdicts_of_the_literature_come_out(verdict: dict[str, object]) -> None:
    card = ub.judge(str(verdict["candidate"]), criteria=[str(verdict["criterion"])])
    among = set(verdict["among"])  # type: ignore[call-overload]
    rows = [row for row in card.rows if among <= {row.rule.scenario, *row.setting}]
    found = {row.verdict for row in rows}
    assert rows and next(each for each in ("fail", "unsound", "open", "pass") if each in found) == verdict["verdict"]


def test_more_than_forty_settings_are_judged() -> None:
    card = ub.judge("cubic")
    assert len({(row.rule.scenario, row.setting) for row in card.rows}) >= 40


def test_queue_disciplines_are_judged_by_their_own_suite() -> None:
    assert candidate_of("fq_codel").kind == "queue"
    assert [ub.judge(name, "rfc7928", criteria=["call"]).failed for name in ("codel", "droptail")] == [[], ["call"]]


def test_a_transfer_of_low_priority_takes_the_line_again() -> None:
    assert ub.judge("ledbat", "low-priority", criteria=["refills"]).failed == []
