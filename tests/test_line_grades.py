"""Answers of `unbloat line` held against the truth: what meets a goal, what misses it, what is not asked."""

import math
import tomllib
from pathlib import Path

import pytest
from unbloat import InputError
from unbloat.lab.line_grades import Outcome, Waits, grade, graded, read_bounds, report
from unbloat.lab.lines import Truth, Way

PAGE = Path(__file__).parent.parent / "docs/line-bounds.toml"
BOUNDS = read_bounds(PAGE)
UP, DOWN = Way((1.0, 1.0), (60_000, 60_500), 484.0), Way((10.0, 12.0), (300_000, 300_000), 240.0)
FIFO = Truth("fifo", ("fifo",), "beyond", 20.0, 0.7, UP, DOWN)
CROSS = Truth("cross", ("fifo",), "beyond", 20.0, 0.7, UP, DOWN, undescribed="traffic of others shares the line")
FIT = {
    "link.line.rate": [0.97e6, 1.01e6],
    "link.line.reverse.rate": ["11mbit", "12mbit"],
    "link.line.delay": [0.0098, 0.0102],
    "link.line.queue.limit": [55_000, 62_000],
    "link.line.reverse.queue.limit": ["290kb", "310kb"],
    "fits": True,
}
WAITS: dict[str, Waits] = {"up": {"median_ms": 300.0, "trimmed_ms": 300.0, "up_filled": True, "down_filled": False}}


def verdict(goal: str, truth: Truth, outcome: Outcome) -> str:
    """Grade one goal."""
    found = grade(BOUNDS.goals[goal], truth, outcome)
    assert (found.why != "") == (found.verdict == "missed"), "a miss says why"
    return found.verdict


def fitted(**changes: object) -> Outcome:
    """Make an answer with a fit, with changes."""
    keys = {name.replace("__", "."): value for name, value in changes.items()}
    return {"answer": {"queue": {"kind": "fifo"}, "fit": {**FIT, **keys}}}


def test_a_good_fit_meets_all_its_goals() -> None:
    for goal in ("rate", "base_rtt", "buffer", "class"):
        assert verdict(goal, FIFO, fitted()) == "met"
    for goal in ("added", "rpm", "prediction", "cure", "same", "sign", "seconds", "bytes"):
        assert verdict(goal, FIFO, fitted()) == "not asked"


@pytest.mark.parametrize(
    ("goal", "changes"),
    [
        ("rate", {"link__line__rate": [1.06e6, 1.06e6]}),
        ("rate", {"link__line__reverse__rate": [9.4e6, 9.4e6]}),
        ("rate", {"link__line__rate": None}),
        ("base_rtt", {"link__line__delay": [0.0112, 0.0112]}),
        ("buffer", {"link__line__queue__limit": [50_000, 50_000]}),
        ("buffer", {"link__line__queue__limit": [50_000, None]}),
    ],
)
def test_a_wrong_number_misses(goal: str, changes: dict[str, object]) -> None:
    assert verdict(goal, FIFO, fitted(**changes)) == "missed"


def test_a_truth_with_a_range_is_met_within_it() -> None:
    assert verdict("rate", FIFO, fitted(link__line__reverse__rate=[12.5e6, 12.7e6])) == "met"
    assert verdict("rate", FIFO, fitted(link__line__reverse__rate=[9.6e6, 9.6e6])) == "met"


def test_a_line_that_nothing_describes_is_right_if_the_answer_says_so() -> None:
    for goal in ("rate", "base_rtt", "buffer", "class"):
        assert verdict(goal, CROSS, fitted(fits=False)) == "met"
    for goal in ("rate", "base_rtt", "buffer"):
        assert verdict(goal, FIFO, fitted(fits=False)) == "missed"
    assert verdict("rate", CROSS, fitted(link__line__rate=[0.5e6, 0.5e6])) == "missed", "and wrong if it does not"


def test_a_buffer_that_was_never_filled_has_no_upper_end() -> None:
    at_least: Outcome = fitted(link__line__queue__limit=[50_000, None])
    never: dict[str, Waits] = {"up": {**WAITS["up"], "up_filled": False}}
    assert verdict("buffer", FIFO, {**at_least, "waits": never}) == "met"
    assert verdict("buffer", FIFO, {**at_least, "waits": WAITS}) == "missed"
    near = fitted(link__line__queue__limit=[56_000, None])
    assert verdict("buffer", FIFO, {**near, "waits": WAITS}) == "met", "the least is near enough"
    more = fitted(link__line__queue__limit=[70_000, None])
    assert verdict("buffer", FIFO, {**more, "waits": never}) == "missed"


def test_measured_values_stand_in_for_a_fit_that_was_not_made() -> None:
    answer = {"idle_rtt_ms": 21.0, "up": {"rate_mbps": 0.97}, "down": {"rate_mbps": 11.0}}
    assert verdict("rate", FIFO, {"answer": answer}) == "met"
    assert verdict("base_rtt", FIFO, {"answer": answer}) == "met"
    assert verdict("buffer", FIFO, {"answer": answer}) == "not asked"


def test_the_rate_of_a_policer_is_that_of_its_tokens() -> None:
    tokens = fitted(link__line__rate=[10e6, 10e6])
    tokens["answer"]["fit"]["link.line.policer.rate"] = [1e6, 1e6]
    assert verdict("rate", FIFO, tokens) == "met"


def test_the_class() -> None:
    assert verdict("class", FIFO, {"answer": {"queue": {"kind": "fair"}}}) == "missed"
    assert verdict("class", FIFO, {"answer": {}}) == "not asked"


def test_added_milliseconds_and_rpm_follow_from_the_waits() -> None:
    answer = {"up": {"added_ms": 320.0, "rpm": 190}, "down": {"added_ms": 5.0}}
    assert verdict("added", FIFO, {"answer": answer, "waits": WAITS}) == "met"
    assert verdict("rpm", FIFO, {"answer": answer, "waits": WAITS}) == "met"
    fair: dict[str, Waits] = {"up": {**WAITS["up"], "own_ms": 1000.0}}
    assert verdict("rpm", FIFO, {"answer": answer, "waits": fair}) == "missed", "its own queue is longer"
    answer["up"] = {"added_ms": 340.0, "rpm": 230}
    assert verdict("added", FIFO, {"answer": answer, "waits": WAITS}) == "missed"
    assert verdict("rpm", FIFO, {"answer": answer, "waits": WAITS}) == "missed"


def test_goals_beyond_the_measurement() -> None:
    some: Outcome = {"answer": {"cures": [{"name": "clpc"}], "seconds": 80, "bytes": 2e8}}
    assert verdict("prediction", FIFO, {**some, "fall_ms": {"predicted": 100, "shown": 120}}) == "met"
    assert verdict("prediction", FIFO, {**some, "fall_ms": {"predicted": 100, "shown": 130}}) == "missed"
    assert verdict("cure", FIFO, {**some, "scores": {"clpc": 3.9, "sorpc": 4.2}}) == "met"
    assert verdict("cure", FIFO, {**some, "scores": {"clpc": 3.5, "sorpc": 4.2}}) == "missed"
    assert verdict("cure", FIFO, {**some, "scores": {"clpc": 0.0, "sorpc": 0.01}}) == "missed"
    assert verdict("cure", FIFO, {**some, "scores": {"clpc": 0.0, "sorpc": 0.01}, "alike": 0.02}) == "met"
    assert verdict("cure", FIFO, {**some, "scores": {"sorpc": 0.01}, "alike": 0.02}) == "missed", "it has no score"
    assert verdict("prediction", FIFO, {**some, "fall_ms": None}) == "not asked"
    assert verdict("prediction", FIFO, {**some, "fall_ms": {"predicted": 8.0, "shown": -6.0}}) == "missed"
    assert verdict("same", FIFO, {**some, "named_a_winner": True}) == "missed"
    assert verdict("sign", FIFO, {**some, "effects": {"true": 1, "beside": -2, "switchback": 1.1}}) == "met"
    assert verdict("sign", FIFO, {**some, "effects": {"true": 1, "beside": 2, "switchback": 1.1}}) == "not asked"
    assert verdict("sign", FIFO, {**some, "effects": {"true": 0.01, "beside": -2, "switchback": 0}}) == "not asked"
    assert verdict("seconds", FIFO, some) == "met"
    assert verdict("bytes", FIFO, some) == "missed"


def test_a_line_without_an_answer_misses_what_every_line_is_asked() -> None:
    assert verdict("rate", FIFO, {"error": "no server answers"}) == "missed"
    assert verdict("cure", FIFO, {"error": "no server answers"}) == "not asked"


def test_the_table_has_every_goal_and_every_miss() -> None:
    lines = [graded(0, FIFO, fitted(), BOUNDS), graded(1, FIFO, fitted(link__line__rate=[2e6, 2e6]), BOUNDS)]
    text = report(lines, BOUNDS).markdown()
    assert "2 of 200 lines have an outcome." in text
    rows = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:] for line in text.splitlines()}
    assert rows["base RTT"][2:5] == ["2", "2", "100"]
    assert [cell.removesuffix(" |") for cell in rows["A/A"][-1:]] == ["not asked"]
    assert "| rate | 1 | fifo | up 2 for 1 Mbit/s |" in text


def test_shares() -> None:
    goals = BOUNDS.goals
    assert goals["rate"].is_reached(9, 10) and not goals["rate"].is_reached(8, 10)
    assert goals["same"].is_reached(19, 20) and not goals["same"].is_reached(18, 20)
    assert math.isclose(goals["bytes"].most or 0, 1e8)


def test_goals_that_nothing_grades_are_refused(tmp_path: Path) -> None:
    assert set(tomllib.loads(PAGE.read_text())["goals"]) == set(BOUNDS.goals)
    (tmp_path / "odd.toml").write_text(PAGE.read_text() + '[goals.odd]\ntitle = "odd"\ncompares = "nothing"\n')
    with pytest.raises(InputError, match=r"odd\.toml: odd: the goals"):
        read_bounds(tmp_path / "odd.toml")
