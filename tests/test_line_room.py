"""The room of a buffer, told by the longest waits."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from unbloat.line.evidence import View, evidence_of
from unbloat.line.fit import fit
from unbloat.line.fitted import Fit
from unbloat.line.measurement import Direction
from unbloat.line.model import PACKET_BYTES, Line, Plan, Side, noisy, simulate
from unbloat.line.phase import Phase
from unbloat.line.room import ahead

PLAN = Plan(idle_s=2.0, down_s=8.0, up_s=8.0, both_s=8.0)


def phase(waits_ms: np.ndarray, each_ms: float = 20.0, jitter_ms: float = 0.0) -> Phase:
    """Make a phase whose probes, sent every 20 ms, had these waits."""
    sent_s = np.arange(len(waits_ms)) * each_ms / 1e3
    times = np.linspace(0.0, 10.0, 101)
    none = np.zeros(len(times))
    return Phase("up", 10.0, sent_s, waits_ms, times, times * 1e5, none, none, 0.0, 0.0, 0.03, jitter_ms)


@cache
def seen(line: Line, direction: Direction, is_noisy: bool = False) -> View:
    found = simulate(line, PLAN)
    return evidence_of(noisy(found, 3) if is_noisy else found).views[direction, direction]


@cache
def fitted(line: Line) -> Fit:
    return fit(simulate(line, PLAN))


def test_the_longest_wait_of_all_phases_counts() -> None:
    short, long = phase(np.full(100, 40.0)), phase(np.append(np.full(98, 30.0), [80.0, 80.0]))
    assert ahead([short, long]).longest_ms == 80
    assert ahead([short, long]).room_bytes(8e6, in_packets=False) == pytest.approx(80e3 - 0.6 * PACKET_BYTES)


def test_a_single_late_probe_does_not_count() -> None:
    assert ahead([phase(np.append(np.full(99, 40.0), 400.0))]).longest_ms == 40


def test_a_phase_with_a_lower_rate_has_longer_waits_in_an_equal_buffer() -> None:
    fast, slow = phase(np.full(100, 40.0)), phase(np.full(100, 100.0))
    assert ahead([fast, slow], [1.0, 0.4]).longest_ms == pytest.approx(40)


def test_lost_probes_have_no_wait_and_no_probe_has_no_room() -> None:
    assert ahead([phase(np.append(np.full(50, math.nan), np.full(50, 40.0)))]).longest_ms == 40
    nothing = ahead([phase(np.full(50, math.nan))])
    assert math.isnan(nothing.longest_ms) and math.isnan(nothing.room_bytes(1e6, in_packets=True))


def test_jitter_is_no_wait_but_traffic_of_others_is() -> None:
    assert ahead([phase(np.full(100, 40.0), jitter_ms=1.0)]).longest_ms == 39
    assert ahead([phase(np.full(100, 40.0), jitter_ms=30.0)]).longest_ms == 36


def test_probes_take_as_much_room_as_full_packets_in_a_queue_that_counts_packets() -> None:
    # 100 ms at 1.2 Mbit/s are 15 000 bytes, five probes among them.
    found = ahead([phase(np.full(200, 100.0))])
    assert found.probes.max() == 5
    packets = (15_000 - 5 * 76) / PACKET_BYTES + 5
    assert found.room_bytes(1.2e6, in_packets=True) == math.ceil(packets - 0.1) * PACKET_BYTES


@pytest.mark.parametrize("is_noisy", [False, True])
@pytest.mark.parametrize("discipline", ["fifo", "drophead"])
def test_a_buffer_of_bytes_is_found_at_its_rate(discipline: str, is_noisy: bool) -> None:
    side = Side(4e6, 80e3, discipline)  # type: ignore[arg-type]
    found = seen(Line(side, Side(20e6, 400e3), 0.03), "up", is_noisy).ahead
    assert found.room_bytes(4e6, in_packets=False) == pytest.approx(80e3, rel=0.06)


@pytest.mark.parametrize("packets", [2, 5, 30, 200])
def test_a_buffer_of_packets_is_found_at_its_rate(packets: int) -> None:
    side = Side(0.8e6, packets * PACKET_BYTES, in_packets=True)
    found = seen(Line(side, Side(8e6, 100e3), 0.03), "up").ahead
    assert found.room_bytes(0.8e6, in_packets=True) == packets * PACKET_BYTES


def test_drops_from_the_head_are_not_taken_for_a_queue_that_counts_packets() -> None:
    side = Side(1.2e6, 300e3, "drophead")
    found = fitted(Line(Side(1.2e6, 60e3), side, 0.01))
    least, most = found.ranges["link.line.reverse.queue.limit"]
    assert most is not None
    assert math.sqrt(least * most) == pytest.approx(300e3, rel=0.1)


def test_few_random_losses_leave_the_buffer_open() -> None:
    lossy = Side(100e6, 30e6, loss_percent=0.04)
    plan = replace(PLAN, up_s=2.0, down_s=2.0, both_s=0.0)
    found = fit(simulate(Line(lossy, Side(100e6, 1e6), 0.06), plan, seed=3))
    assert found.fits, found.why_not
    assert found.kinds["up"] == "fifo"
    least, most = found.ranges["link.line.queue.limit"]
    assert most is None and least < 30e6


def test_a_buffer_of_bytes_overflows_at_equal_waits_in_all_phases() -> None:
    long, equal, short = (phase(np.full(400, waits_ms)) for waits_ms in (400.0, 401.0, 360.0))
    assert ahead([long, equal]).counts_bytes(1.2e6) is True
    assert ahead([long, short]).counts_bytes(1.2e6) is False
    assert ahead([long, phase(np.full(400, 380.0))]).counts_bytes(1.2e6) is None  # A probe may have missed the peak.
    # One phase, or few probes in the queue, show nothing.
    assert ahead([long]).counts_bytes(1.2e6) is None
    assert ahead([phase(np.full(400, 60.0)), phase(np.full(400, 60.0))]).counts_bytes(1.2e6) is None
