"""Random lines with known truth: the same on every machine, readable, and as the issue asks for."""

import hashlib
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from unbloat.lab.lines import ANSWERS, BLOCK, Line, line, means
from unbloat.scenarios.source import source_of

BOUNDS = Path(__file__).parent.parent / "docs/line-bounds.toml"
LINES = [line(1, number) for number in range(200)]


def test_that_lines_are_the_same_everywhere():
    texts = "".join(each.text for each in LINES)
    assert (
        hashlib.sha256(texts.encode()).hexdigest() == "d0ee855308352613a66b04d2589364653cb7e2db240774684ad6ae5ebe85d103"
    )


@pytest.mark.parametrize("each", LINES[::7], ids=lambda each: each.number)
def test_that_lines_can_be_read(each: Line):
    (point,) = source_of(each.text).points()
    for place in ("vm", "kernel"):
        point.check_shell(place)


def test_that_every_block_has_every_kind():
    for start in range(0, 200, len(BLOCK)):
        kinds = Counter(each.truth.kind for each in LINES[start : start + len(BLOCK)])
        assert kinds == Counter(BLOCK)
    assert set(BLOCK) == set(ANSWERS)


def test_that_the_truth_is_what_the_scenario_says():
    for each in LINES:
        link = tomllib.loads(each.text)["link"]["line"]
        assert float(link["delay"].removesuffix("us")) * 2e-3 == pytest.approx(each.truth.base_rtt_ms, abs=1e-3)
        for table, way in ((link, each.truth.up), (link["reverse"], each.truth.down)):
            if each.truth.kind in ("fifo", "loss", "cross", "fq_codel"):
                assert way.rate_mbps == pytest.approx([float(table["rate"].removesuffix("kbit")) / 1e3] * 2, rel=1e-9)
            if way.buffer_bytes is not None:
                number, unit = table["queue"]["limit"][:-1], table["queue"]["limit"][-1]
                room = int(number) * {"p": 1500, "b": 1}[unit]
                assert way.buffer_bytes[0] <= room <= way.buffer_bytes[1] == way.buffer_bytes[0] + 1499


def test_that_lines_cover_what_the_issue_names():
    ways = [way for each in LINES if each.truth.kind != "varying" for way in (each.truth.up, each.truth.down)]
    rates = [way.rate_mbps[0] for way in ways if way.rate_mbps]
    assert min(rates) == 0.3 and 200 < max(rates) <= 300
    rtts = [each.truth.base_rtt_ms for each in LINES]
    assert 2 <= min(rtts) < 3 and 400 < max(rtts) <= 600
    buffers = [way.buffer_ms for way in ways if way.buffer_ms]
    assert 8 <= min(buffers) < 15 and 4000 < max(buffers) <= 5010
    assert {cross.kind for each in LINES for cross in each.truth.cross} == {"bulk", "steady", "bursts"}


def test_the_means_of_a_varying_rate():
    assert means([1.0] * 10, 1.0) == (1.0, 1.0)
    assert means([1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0, 5.0], 1.0) == (1.0, 5.0)
    with pytest.raises(ValueError, match="no longer"):
        means([1.0], 1.0)


def test_that_bounds_have_one_rule_each():
    bounds = tomllib.loads(BOUNDS.read_text())
    assert bounds["lines"] == len(LINES)
    for goal in bounds["goals"].values():
        assert set(goal) <= {"title", "compares", "relative", "absolute", "most", "lines", "at_least", "at_most"}
        assert ("at_least" in goal) != ("at_most" in goal)
