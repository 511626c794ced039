"""The course of a rate that varies, from the times at which probes leave the queue of a slow line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unbloat.line.course import Course
from unbloat.line.evidence import View, evidence_of
from unbloat.line.fit import fit
from unbloat.line.model import Line, Plan, Side, noisy, simulate
from unbloat.line.packet_times import course_of_packets

STEPS = tuple((1.0 + 0.5 * place, rate) for place, rate in enumerate([8e5, 1e6, 1.15e6, 9e5, 7e5] * 6))
SLOW = Line(Side(1e6, 45e3, rates=STEPS), Side(20e6, 100e3), 0.03)
"""The uplink's buffer overflows all the time. Goodput in parts of a phase then says little about the rate."""
PLAN = Plan(idle_s=2.0, down_s=0.0, up_s=8.0, both_s=0.0)


def sent_and_waits(packets_ms: np.ndarray, jitter_ms: float) -> tuple[np.ndarray, np.ndarray]:
    """Return when probes were sent, and their waits in a queue in which each packet takes some time."""
    draw = np.random.default_rng(1)
    each = draw.integers(1, 4, len(packets_ms))
    leaves = np.cumsum((each + 76 / 1500) * packets_ms) + 200.0
    sent = leaves - 150.0
    return sent, leaves - sent + draw.exponential(jitter_ms, len(sent))


@pytest.mark.parametrize("packet_ms", [5.5, 12.0, 40.0])
def test_a_constant_rate_has_a_level_course(packet_ms: float) -> None:
    times, rates = course_of_packets(*sent_and_waits(np.full(200, packet_ms), 0.1), packet_ms / 0.9)
    course = Course(times / 1e3, rates)
    assert course.is_long
    assert not course.varies
    assert rates == pytest.approx(12e6 / packet_ms, rel=0.01)


def test_a_rate_that_changes_is_followed() -> None:
    packets_ms = np.where(np.arange(300) < 150, 10.0, 14.0)
    times, rates = course_of_packets(*sent_and_waits(packets_ms, 0.1), 12.0)
    assert Course(times / 1e3, rates).varies
    assert rates[:5] == pytest.approx(1.2e6, rel=0.01)
    assert rates[-5:] == pytest.approx(12e6 / 14, rel=0.01)


def test_fast_lines_and_few_probes_have_no_course() -> None:
    sent, waits = sent_and_waits(np.full(200, 12.0), 0.1)
    assert len(course_of_packets(sent, waits, 3.0)[0]) == 0
    assert len(course_of_packets(sent[:20], waits[:20], 12.0)[0]) == 0


@given(
    rates=st.lists(st.floats(1e5, 1e7), min_size=2, max_size=8),
    ends=st.tuples(st.floats(-1, 9), st.floats(-1, 9)),
    part=st.floats(0, 1),
)
def test_a_span_carries_at_least_what_its_parts_do(rates: list[float], ends: tuple[float, float], part: float) -> None:
    course = Course(np.arange(len(rates), dtype=float), np.array(rates))
    first, last = min(ends), max(ends)
    middle = first + part * (last - first)

    def least(since_s: float, end_s: float) -> float:
        return float(course.least_of(np.array([since_s]), np.array([end_s]))[0])

    assert least(first, last) == pytest.approx(least(first, middle) + least(middle, last), abs=1.0)
    assert -1.0 <= least(first, last) <= max(rates) * (last - first) + 1.0


def test_a_span_over_a_change_carries_at_least_the_lower_rate() -> None:
    course = Course(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1e6, 1e6, 2e6, 2e6]))
    found = course.least_of(np.array([1.0, 2.0, 3.0, 0.0]), np.array([2.0, 3.0, 4.0, 1.5]))
    assert found == pytest.approx([1e6, 1e6, 2e6, 1.5e6])


def test_an_overflowing_buffer_does_not_hide_that_the_rate_varies() -> None:
    measured = noisy(simulate(SLOW, PLAN), 5)
    seen: View = evidence_of(measured).views["up", "up"]
    assert seen.resent[-1] > 0
    found = fit(measured)
    assert found.kinds["up"] == "varying"
    assert found.fits, found.why_not
    assert found.line.up.buffer_bytes == pytest.approx(45e3, rel=0.15)
    in_turn = [rate for _, rate in found.line.up.rates]
    assert min(in_turn) == pytest.approx(7e5, rel=0.05)
    assert max(in_turn) == pytest.approx(1.15e6, rel=0.05)
