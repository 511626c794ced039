"""The choice of a cure: lines whose answer is known."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from sentences import refused
from unbloat import InputError
from unbloat.line.applications import APPS, apps_named
from unbloat.line.choose import Choice, Ranked, _in_order, choose
from unbloat.line.computer import NEEDS, Computer
from unbloat.line.cures import cures
from unbloat.line.home import draw, home_of
from unbloat.line.trials import LEAVE, Trials, scores

FEW = Computer("eth0", "cubic", ("cubic", "reno"), dict.fromkeys(NEEDS, True))


def line(up: str, down: str, queue_up: Mapping[str, str], queue_down: Mapping[str, str]) -> dict[str, Any]:
    reverse = {"rate": down, "queue": dict(queue_down)}
    return {"link": {"line": {"rate": up, "delay": "15ms", "queue": dict(queue_up), "reverse": reverse}}}


DSL = line("1mbit", "16mbit", {"limit": "256kb"}, {"limit": "256kb"})
FAIR = line("5mbit", "20mbit", {"kind": "fq_codel"}, {"kind": "fq_codel"})
FITTED = {
    "link": {
        "line": {
            "rate": 3_000_000,
            "rates": [{"at": 1.0, "rate": 2_000_000}, {"at": 2.0, "rate": 3_000_000}],
            "delay": 0.02,
            "queue": {"kind": "droptail", "limit": "60000b"},
            "reverse": {
                "rate": 100_000_000,
                "policer": {"rate": 10_000_000, "burst": "20000b"},
                "queue": {"kind": "droptail", "limit": "100p"},
            },
        }
    }
}
"""A line as `fit.py` writes it: a rate that varies up, a policer down."""
RANGES: dict[str, Any] = {
    "link.line.rate": ["950kbit", "1050kbit"],
    "link.line.queue.limit": (220_123.4, 300_123.4),
    "link.line.delay": (0.0141234567891, 0.0161234567891),
}


def chosen(
    scenario: Mapping[str, Any], wanted: str, ranges: Mapping[str, list[str | None]] | None = None, **more: Any
) -> Choice:
    return choose(scenario, ranges or {}, wanted, FEW, budget_s=None, draws=3 if ranges else 2, cache=False, **more)


@pytest.fixture(scope="module")
def at_home() -> Choice:
    told: list[float] = []
    found = chosen(DSL, "call,backup", RANGES, progress=lambda share, _: told.append(round(share, 6)))
    assert told == sorted(told) and told[0] == 0 and told[-1] == 1
    return found


def test_a_bloated_line_is_cured_on_this_computer(at_home: Choice) -> None:
    assert at_home.verdict == "host" and at_home.best.where == "host"
    effect = at_home.best.effects["call"]
    assert at_home.best.under["up"]["call"].change > 2 and at_home.best.under["down"]["call"].today > 4
    assert effect.today < 3 and effect.cured > 4 and effect.low > 1
    by_name = {each.name: each for each in at_home.cures}
    for name in ("cake", "sorpc", "clpc"):
        cure = by_name[name]
        assert cure.is_worth_it and cure.effects["call"].change > 1
        assert cure.sure == (cure.draws + 1) / (cure.draws + 2)
    assert at_home.best.draws == 3 and {each.draws for each in at_home.cures} == {2, 3}
    assert 4 < by_name["cake"].lost_percent < 12
    assert by_name["clpc"].lost_percent < 4 and by_name["clpc"].yields_percent > 50
    names = [each.name for each in at_home.cures]
    assert names.index("reno") > names.index(LEAVE) > names.index("clpc")


def test_json_has_the_names_that_scripts_rely_on(at_home: Choice) -> None:
    best = at_home.json()[0]
    assert {"name", "command", "for", "cost_percent", "sure"} <= best.keys()
    assert isinstance(best["for"], dict) and best["for"].keys() == {"call", "backup"}
    assert best["for"]["call"].keys() == {"today", "cured", "change", "interval", "unit"}
    leave = next(each for each in at_home.json() if each["name"] == LEAVE)
    assert (leave["command"], leave["where"], leave["cost_percent"]) == ("", None, 0)


def test_a_line_with_fair_queues_is_left_as_it_is() -> None:
    found = chosen(FAIR, "call")
    assert (found.verdict, found.best.name) == ("leave", LEAVE)
    assert found.best.sure > 0.5 and not any(each.is_worth_it for each in found.cures)
    assert found.sentence == snapshot(
        "Leave it: no cure changes any of these applications by a difference of interest."
    )


def test_a_line_that_others_fill_is_cured_on_the_router() -> None:
    fast = line("8mbit", "16mbit", {"limit": "512kb"}, {"limit": "512kb"})
    found = chosen(fast, "call", others=[{"cc": "cubic", "count": 2}, {"cc": "cubic", "reverse": True}])
    assert found.verdict == "router" and found.best.where == "router" and found.best.openwrt
    assert found.best.effects["call"].change > 0.5
    assert not any(each.is_worth_it for each in found.cures if each.where == "host")
    assert found.sentence.startswith(
        "Cure it on the router or modem, because others fill the line. On a Linux router: tc qdisc replace dev $WAN"
    )


@pytest.fixture(scope="module")
def one_program() -> Choice:
    return choose(DSL, {}, "call", FEW, draws=1, cache=False, cgroup="backup.slice", queue="first_hop")


def test_a_program_that_is_cured_alone_may_yield(one_program: Choice) -> None:
    clpc = next(each for each in one_program.cures if each.name == "clpc")
    assert clpc.command == "sudo unbloat load clpc && sudo unbloat attach clpc backup.slice"
    assert clpc.yields_percent > 50
    assert clpc.score == pytest.approx(clpc.effects["call"].change / 3.5 - clpc.cost_percent / 200)


def test_a_router_behind_the_queue_does_not_help(one_program: Choice) -> None:
    routers = [each for each in one_program.cures if each.where == "router"]
    assert {each.not_simulated for each in routers} == {"packets wait before they reach the router's queue"}
    assert one_program.verdict == "host" and not any(each.draws for each in routers)


def test_notes_name_what_was_left_out() -> None:
    found = choose(FAIR, {}, "game", replace(FEW, cc="nv"), budget_s=0.0, cache=False)
    assert {each.draws for each in found.cures} == {0, 1}
    late = next(each for each in found.cures if each.name == "clpc")
    assert late.not_simulated == "the time did not suffice"
    assert found.notes == snapshot(("the simulator lacks nv, the congestion control of today: cubic has its place",))


def test_draws_stay_in_their_ranges_and_begin_with_the_fit() -> None:
    ranges = {
        "link.line.rate": ["900kbit", "2mbit"],
        "link.line.delay": ["10ms", "12ms"],
        "link.line.loss": ["0%", "1%"],
        "link.line.reverse.rate": [15_000_000, 17_000_000],
        "link.line.queue.kind": ["droptail", "codel"],
    }
    home = home_of(DSL, (), "cubic")
    assert draw(home, ranges, 0).keys == {} and draw(home, ranges, 1) == draw(home, ranges, 1)
    found = [draw(home, ranges, number).keys for number in range(1, 40)]
    assert all(900_000 <= int(str(keys["link.line.rate"]).removesuffix("bit")) <= 2_000_000 for keys in found)
    assert all(15_000_000 <= int(str(keys["link.line.reverse.rate"])) <= 17_000_000 for keys in found)
    assert all(0.010 <= float(str(keys["link.line.delay"]).removesuffix("s")) <= 0.012 for keys in found)
    assert {keys["link.line.queue.kind"] for keys in found} == {"droptail", "codel"}


def test_nine_draws_have_every_pair_of_connections() -> None:
    draws = [draw(home_of(DSL, (), "cubic"), {}, number) for number in range(9)]
    assert len({(each.uploads, each.downloads) for each in draws}) == 9
    assert (draws[0].uploads, draws[0].downloads) == (4, 4)


def test_ranges_are_read_as_the_fit_has_them() -> None:
    home = home_of(FITTED, (), "cubic")
    ranges = {
        "link.line.rate": (2e6, 3e6),
        "link.line.queue.limit": (50_000.0, None),
        "link.line.reverse.rate": (9.5e6, 10.5e6),
        "link.line.reverse.policer.burst": (14_000.0, 28_000.0),
    }
    drawn = draw(home, ranges, 1)
    assert set(drawn.keys) == {*ranges} - {"link.line.rate", "link.line.reverse.rate"} | {
        "link.line.reverse.policer.rate"
    }
    limits = [draw(home, ranges, number).keys["link.line.queue.limit"] for number in range(1, 40)]
    assert all(isinstance(limit, int) and 50_000 <= limit <= 200_000 for limit in limits)
    assert (home.rate_bps("up"), home.rate_bps("down")) == (2e6, 10e6)


def test_a_queue_of_packets_is_drawn_in_packets() -> None:
    home = home_of(line("300kbit", "3mbit", {"limit": "2p"}, {"limit": "64kb"}), (), "cubic")
    ranges = {"link.line.queue.limit": [3000, 6000]}
    limits = {draw(home, ranges, number).keys["link.line.queue.limit"] for number in range(1, 40)}
    assert limits == {"2p", "3p", "4p"}


def test_a_rate_that_varies_is_repeated_from_any_place() -> None:
    home = home_of(FITTED, (), "cubic")
    link = home.scenario("up", [], replace(draw(home, {}, 0), place=0.0))["link"]["line"]
    assert (link["rate"], link["rates"][:4]) == (
        3_000_000,
        [
            {"at": at, "rate": rate}
            for at, rate in ((1.0, 2_000_000), (2.0, 3_000_000), (3.0, 3_000_000), (4.0, 2_000_000))
        ],
    )
    link = home.scenario("up", [], replace(draw(home, {}, 0), place=0.5))["link"]["line"]
    assert (link["rate"], link["rates"][0]) == (2_000_000, {"at": 0.5, "rate": 3_000_000})


def test_no_shaper_is_tried_where_a_rate_varies() -> None:
    choice = chosen(FITTED, "call")
    shapers = {"cake", "cake for downloads", "fq_codel", "sorpc", "sorpc_fair", "cake on the router"}
    assert {each.not_simulated for each in choice.cures if each.name in shapers} == snapshot(
        {"the line's rate varies, and the cure needs a fixed one"}
    )


def test_no_shaper_is_tried_in_a_direction_that_may_be_faster() -> None:
    choice = chosen(DSL, "call", {"link.line.rate": ["950kbit", None]})
    found = {each.name: each for each in choice.cures}
    assert found["sorpc"].not_simulated == snapshot(
        "the load did not fill the line, which may be faster than the cure would let it be"
    )
    assert found["cake for downloads"].draws


def test_of_cures_that_are_alike_the_cheapest_leads() -> None:
    def ranked(name: str, score: float, lost_percent: float, sure: float = 0.9) -> Ranked:
        return Ranked(name, "host", "", "", score=score, lost_percent=lost_percent, draws=9, sure=sure)

    found = [ranked("a", 0.20, 9.0), ranked("b", 0.19, 3.0), ranked("c", 0.17, 0.0)]
    assert [each.name for each in _in_order(found, 9)] == ["b", "a", "c"]
    unsure = ranked("d", 0.195, 0.0, sure=0.5)
    assert [each.name for each in _in_order([*found, unsure], 9)] == ["b", "a", "d", "c"]


def test_gains_have_a_sign_and_a_bound() -> None:
    assert APPS["call"].gain(1.0, 4.5) == 1 and APPS["page"].gain(2.0, 1.0) == 0.5
    assert APPS["page"].gain(1.0, 2.0) == -0.5 and APPS["game"].gain(3.0, 9.0) == 0
    assert APPS["backup"].gain(10.0, 5.0) == -0.5


def test_long_buffers_have_longer_runs_and_fast_lines_shorter_ones() -> None:
    slow, fast = (
        home_of(line(rate, rate, {"limit": "256kb"}, {"limit": "256kb"}), (), "cubic").times_s(False)
        for rate in ("1mbit", "300mbit")
    )
    assert slow == (13, 50) and fast == (3, 4)


def test_wrong_input_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text('[link.modem]\nrate = "1mbit"\n')
    with refused(InputError, "for: unknown application cal (did you mean call?); valid: call, page, game, backup"):
        chosen(DSL, "cal")
    with refused(InputError, "TMP/line.toml: has no link called line"):
        home_of(file, (), "cubic")
    with refused(InputError, "line: link.line.reverse lacks queue, which its cures are simulated with"):
        home_of({"link": {"line": {"delay": "1ms", "queue": {}, "reverse": {}}}}, (), "cubic")
    with refused(InputError, "link.line.rate: 2mbit to 1mbit is not a range"):
        draw(home_of(DSL, (), "cubic"), {"link.line.rate": ["2mbit", "1mbit"]}, 1)


def test_cures_have_scores_on_any_line() -> None:
    found = {cure.name: cure for cure in cures(FEW, 1e6, 16e6)}
    some = [found["cake"], found["reno"]]
    scored = scores({"flows": [], **DSL}, some, "call", draws=1, cache=False)
    assert scored.keys() == {LEAVE, "cake", "reno"} and scored[LEAVE] == 0
    assert scored["cake"] > 0.2 > abs(scored["reno"])
    late = scores(DSL, some[:1], "call", others=[{"app": {"kind": "udp", "rate": "2mbit"}}], draws=1, cache=False)
    assert late["cake"] < 0.1, "others fill the line"


@pytest.mark.parametrize(("cured_s", "score"), [(0.93, 0.0), (0.80, 0.2), (1.05, -0.048)])
def test_a_gain_below_the_smallest_difference_of_interest_scores_nothing(cured_s: float, score: float) -> None:
    trials = Trials(home_of(DSL, (), "cubic"), {}, apps_named("page"), 1, False)
    (reno,) = (cure for cure in cures(FEW, 1e6, 16e6) if cure.name == "reno")
    trials.found = {name: {0: {("up", "page"): page_s}} for name, page_s in ((LEAVE, 1.0), ("reno", cured_s))}
    assert trials.scores([reno])["reno"] == pytest.approx(score, abs=0.001)


def test_nothing_is_sure_on_a_line_that_explains_no_measurement() -> None:
    found = chosen(DSL, "call", is_explained=False)
    assert found.verdict == "leave" and found.best.name == LEAVE
    assert max(each.sure for each in found.cures) == 0.5
    assert found.notes == snapshot(("no line explains the measurement, so no cure is sure to help",))
