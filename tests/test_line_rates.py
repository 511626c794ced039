"""Rates that samples show directly, before anything is fitted."""

import math
from functools import cache

import numpy as np
import pytest
from unbloat.line.evidence import Evidence, View, evidence_of
from unbloat.line.fit import fit
from unbloat.line.model import Discipline, Line, Plan, Side, noisy, simulate
from unbloat.line.packet_times import rate_of_packets
from unbloat.line.phase import Phase
from unbloat.line.policers import loses_tokens, plausible_factor, policers
from unbloat.line.repeats import Repeats
from unbloat.line.stretches import rate_of_stretches

PLAN = Plan(idle_s=2.0, down_s=8.0, up_s=8.0, both_s=0.0)
THIN = Line(Side(19e6, 70e3, loss_percent=0.7), Side(40e6, 200e3, loss_percent=1.5), 0.15)
"""A line that random losses keep from being filled."""


@cache
def evidence(line: Line) -> Evidence:
    return evidence_of(simulate(line, PLAN))


def up(of: Evidence) -> View:
    return of.views["up", "up"]


def queued(packet_ms: float, jitter_ms: float) -> tuple[np.ndarray, np.ndarray]:
    """Return when probes were sent, and their waits in a queue that never empties."""
    draw = np.random.default_rng(1)
    sent = np.arange(200) * 20.0
    few = int(20 / packet_ms)
    steps = draw.integers(few, few + 3, 200) * packet_ms + packet_ms * 76 / 1500
    leaves = np.cumsum(steps) + 100.0
    return sent, leaves - sent + draw.exponential(jitter_ms, 200)


@pytest.mark.parametrize("packet_ms", [5.5, 12.0, 40.0])
@pytest.mark.parametrize("goodput", [0.5, 0.95])
def test_times_between_probes_are_multiples_of_a_packets(packet_ms: float, goodput: float) -> None:
    sent, waits = queued(packet_ms, 0.1)
    assert rate_of_packets(sent, waits, packet_ms / goodput) == pytest.approx(12e6 / packet_ms, rel=0.01)


def test_probes_that_do_not_wait_tell_no_rate() -> None:
    sent = np.arange(200) * 20.0
    waits = np.abs(np.random.default_rng(1).normal(0.4, 0.2, 200))
    assert math.isnan(rate_of_packets(sent, waits, 5.0))


def test_lost_probes_and_few_probes_are_no_trouble() -> None:
    sent, waits = queued(12.0, 0.1)
    waits[::7] = math.nan
    assert rate_of_packets(sent, waits, 13.0) == pytest.approx(1e6, rel=0.01)
    assert math.isnan(rate_of_packets(sent[:8], waits[:8], 13.0))


def test_a_stretch_with_losses_in_it_tells_the_rate_of_a_busy_line() -> None:
    found = up(evidence(Line(Side(20e6, 500e3), Side(20e6, 500e3), 0.04)))
    assert found.resent[-1] > 0
    assert found.stretches_bps == pytest.approx(20e6, rel=0.02)


def test_acknowledgements_tell_a_round_trip_later_what_left_a_queue() -> None:
    """A busy time shorter than the round trip tells the rate, too."""
    sent, times = np.arange(0, 4, 0.02), np.arange(0, 4.05, 0.1)
    is_busy = (sent >= 2.0) & (sent < 2.4)
    passed = np.interp(times - 0.6, [0, 2.0, 2.42, 4], [0, 1e6, 1e6 + 0.42 * 1.25e6, 2e6])
    none = np.zeros(len(times))
    waits = np.where(is_busy, 30.0, 0.0)
    seen = Phase("up", 4.0, sent, waits, times, passed, none * math.nan, none, 0.0, 0.0, 0.6)
    assert rate_of_stretches(seen) == pytest.approx(10e6, rel=0.01)


def test_the_share_of_probes_that_wait_tells_the_rate_of_a_line_that_is_never_full() -> None:
    views = evidence(THIN).views
    for direction in ("up", "down"):
        seen, rate_bps = views[direction, direction], THIN.side(direction).rate_bps  # type: ignore[index,arg-type]
        assert seen.wire_bps(seen.rate(0.3, 1.0)) < 0.85 * rate_bps
        assert seen.use_bps == pytest.approx(rate_bps, rel=0.1)


def test_jitter_hides_which_probes_wait_on_a_fast_line() -> None:
    found = evidence_of(noisy(simulate(THIN, PLAN), 5))
    assert math.isnan(up(found).use_bps)


def test_a_simulated_client_knows_the_delays_of_probes_that_arrive_together() -> None:
    seen = up(evidence(Line(Side(0.4e6, 80e3), Side(8e6, 80e3), 0.005)))
    leaves = seen.sent * 1e3 + seen.added
    steps = np.diff(leaves)[seen.sent[1:] * 1e3 < leaves[:-1]]
    packets = (steps - 76 * 8 / 400) / 30
    assert np.mean(np.abs(packets - np.rint(packets)) < 0.05) > 0.95
    assert seen.link_bps == pytest.approx(0.4e6, rel=0.01)


def test_a_queue_of_two_packets_is_no_policer() -> None:
    two = Side(0.66e6, 3000, in_packets=True)
    found = fit(simulate(Line(two, Side(2e6, 40e3), 0.2), PLAN))
    assert found.kinds["up"] == "fifo"
    assert found.line.up.rate_bps == pytest.approx(0.66e6, rel=0.1)


@pytest.mark.parametrize("discipline", ["fifo", "drophead"])
def test_simulations_that_are_compared_show_which_probes_wait(discipline: Discipline) -> None:
    """One series step held two probes: that of an idle moment seemed to wait, and the rate was a quarter too high."""
    two = Line(Side(0.3e6, 3000, discipline, in_packets=True), Side(2e6, 40e3), 0.15)
    of = evidence(two)
    compared = Repeats(of, 1).once(two, "up", 100)["up"]
    assert up(of).use_bps == pytest.approx(0.3e6, rel=0.08)
    assert compared.use_bps == pytest.approx(up(of).use_bps, rel=0.08)


def policed(*shares: float, rate_bps: float = 8e6) -> View:
    """Return a phase of 10 seconds in which shares of a policer's rate passed, each for as long as the others."""
    sent, times = np.arange(0, 10, 0.02), np.linspace(0, 10, len(shares) + 1)
    passed = np.cumsum([0.0, *shares]) * rate_bps / 8 * 1448 / 1500 * 10 / len(shares)
    none = np.zeros(len(times))
    return View("up", 10.0, sent, np.zeros(len(sent)), times, passed, none * math.nan, none, 0.01, 0.0, 0.02)


def test_a_policers_rate_may_be_what_passes_the_fullest_part_of_a_phase() -> None:
    """Senders that all wait for timers leave tokens unused, for seconds."""
    side = Side(6e6, 96e3, "policer", burst_bytes=15e3, line_bps=60e6)
    steady, waiting = policed(0.75, 0.75, 0.75, 0.75, 0.75), policed(0.75, 1.0, 0.75, 0.6, 0.75)
    wanted = 8 / 6
    assert plausible_factor(side, steady, wanted) == pytest.approx(1.07, rel=0.02)
    assert plausible_factor(side, waiting, wanted) == pytest.approx(wanted)
    assert plausible_factor(Side(6e6, 96e3), steady, wanted) == wanted


def test_a_deep_bucket_may_have_passed_what_the_fullest_part_of_a_phase_had() -> None:
    side = Side(6e6, 96e3, "policer", burst_bytes=0.5e6, line_bps=60e6)
    assert plausible_factor(side, policed(1.1, 0.75, 0.75, 0.75, 0.75), 8 / 6) == pytest.approx(1.07, rel=0.02)


def test_a_bucket_that_fills_between_windows_hides_the_rate_of_its_tokens() -> None:
    shallow, deep = (Side(10e6, 96e3, "policer", burst_bytes=each) for each in (36e3, 250e3))
    assert loses_tokens(shallow, 0.186)
    assert not loses_tokens(shallow, 0.02)
    assert not loses_tokens(deep, 0.186)
    assert not loses_tokens(Side(10e6, 36e3), 0.186)


def test_policers_with_equal_buckets_are_one_candidate() -> None:
    found = policers(policed(1.0, 1.0, 1.0, 1.0, 1.0, rate_bps=0.3e6), 0.3e6, 0.0)
    bursts = [side.burst_bytes for side in found.values()]
    assert bursts == sorted(set(bursts)) and len(bursts) == 1
    assert len(policers(policed(1.0, 1.0, 1.0, 1.0, 1.0), 8e6, 0.0)) > 3
