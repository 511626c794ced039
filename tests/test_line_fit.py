"""Lines that explain measurements, which the simulator made of known lines."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from unbloat.line.evidence import Evidence, evidence_of
from unbloat.line.fit import fit
from unbloat.line.fitted import Fit, write_scenario
from unbloat.line.measurement import About, Measurement, measurement_of
from unbloat.line.model import Line, Plan, Side, noisy, scenario, simulate
from unbloat.line.others import LEAST_SHARE, others_share
from unbloat.line.repeats import Repeats
from unbloat.line.varying import along_goodput
from unbloat.scenarios.source import source_of

DSL = Line(Side(2e6, 60e3), Side(8e6, 100e3), 0.03)
PLAN = Plan(idle_s=2.0, down_s=4.0, up_s=6.0, both_s=3.0)


@cache
def measured(line: Line = DSL, plan_of: str = "") -> Measurement:
    options: dict[str, Any] = {key: float(value) for key, value in (word.split("=") for word in plan_of.split())}
    plan = replace(PLAN, **options)
    return noisy(simulate(line, plan), 5)


@cache
def fitted(line: Line = DSL, plan_of: str = "") -> Fit:
    return fit(measured(line, plan_of))


def evidence(line: Line = DSL, plan_of: str = "") -> Evidence:
    return evidence_of(measured(line, plan_of))


def is_near(found: Side, true: Side) -> bool:
    rate = abs(found.rate_bps / true.rate_bps - 1)
    room = abs(found.buffer_bytes / true.buffer_bytes - 1) if true.buffer_bytes else 0.0
    return rate < 0.05 and room < 0.15


def test_a_line_is_found_again() -> None:
    found = fitted()
    assert found.fits, found.why_not
    assert is_near(found.line.up, DSL.up)
    assert is_near(found.line.down, DSL.down)
    assert found.line.base_rtt_s == pytest.approx(0.03, abs=0.001)
    assert (found.kind, found.where) == ("fifo", "beyond")
    assert found.residual_percent < 10
    for key, value in (("rate", 2e6), ("queue.limit", 60e3), ("reverse.rate", 8e6), ("reverse.queue.limit", 100e3)):
        least, most = found.ranges[f"link.line.{key}"]
        assert most is not None
        assert least * 0.98 < value < most * 1.02


def test_equal_measurements_give_equal_lines() -> None:
    assert fit(measured()) == fitted()


@pytest.mark.parametrize(("queue", "kind"), [("fq_codel", "fair"), ("pie", "aqm")])
def test_the_class_of_the_queue_is_found(queue: str, kind: str) -> None:
    managed = Line(Side(2e6, 0.0, queue), Side(8e6, 0.0, queue), 0.03)  # type: ignore[arg-type]
    found = fitted(managed)
    assert found.kinds == {"up": kind, "down": kind}
    assert found.line.up.rate_bps == pytest.approx(2e6, rel=0.06)


@pytest.mark.parametrize(("left_out", "direction"), [("down_s=0 both_s=0", "up"), ("up_s=0 both_s=0", "down")])
def test_one_direction_is_enough(left_out: str, direction: str) -> None:
    found = fitted(DSL, left_out)
    assert is_near(getattr(found.line, direction), getattr(DSL, direction))
    assert found.kinds["down" if direction == "up" else "up"] == "unknown"
    assert found.kind == "fifo"


def test_round_trips_alone_tell_the_direction() -> None:
    found = fitted(DSL, "has_one_way=0 far_reports=0")
    assert found.kinds == {"up": "fifo", "down": "fifo"}
    assert is_near(found.line.up, DSL.up)
    assert is_near(found.line.down, DSL.down)


def test_a_buffer_that_is_never_filled_has_no_upper_bound() -> None:
    deep = Line(Side(4e6, 4e6), Side(20e6, 20e6), 0.03)
    found = fitted(deep, "both_s=0")
    least, most = found.ranges["link.line.queue.limit"]
    assert least < 4e6
    assert most is None
    assert found.line.up.buffer_bytes > 2 * least, "the next load does not overflow what this one did not"


def test_traffic_of_others_does_not_fit() -> None:
    others = scenario(DSL)
    others["flows"] = [{"cc": "cubic", "reverse": True}]
    found = fit(noisy(simulate(others, PLAN), 5))
    assert not found.fits
    assert any("without load: other traffic" in sentence for sentence in found.why_not)


def test_nothing_is_known_without_load_or_answers() -> None:
    empty = fit(measurement_of(About("nowhere"), {}))
    assert (empty.kind, empty.fits, empty.why_not) == ("unknown", False, ("no connection carried data",))
    silent = measured()
    silent = replace(silent, probes=silent.probes.assign(rtt_ms=np.nan, up_ms=np.nan, down_ms=np.nan))
    assert fit(silent).why_not == ("no probe was answered",)
    assert fit(measured(DSL, "down_s=0 up_s=0 both_s=0")).kind == "unknown"


def test_a_queue_in_this_host_or_in_the_first_hop_is_told_apart() -> None:
    found = measured(DSL, "both_s=0 down_s=0")
    host = found.host.assign(backlog_bytes=np.where(found.host["phase"] == "up", 50e3, 0.0))
    assert fit(replace(found, host=host)).where == "host"
    hops = found.hops.assign(rtt_ms=np.where(found.hops["phase"] == "up", 300.0, 2.0))
    assert fit(replace(found, hops=hops)).where == "first_hop"


def test_the_scenario_is_valid_and_tells_ranges() -> None:
    text = write_scenario(fitted())
    point = source_of(text).points()[0]
    assert point.link_names == ["line"]
    assert " to " in next(line for line in text.splitlines() if line.startswith("rate"))
    varying = replace(fitted(), line=DSL.replaced("up", rates=((7.5, 2e6), (9.0, 1e6))))
    assert source_of(write_scenario(varying)).points()


def test_a_policer_and_its_burst_are_found() -> None:
    side = Side(2e6, 96e3, "policer", burst_bytes=60e3, line_bps=20e6)
    found = fitted(Line(side, replace(side, rate_bps=8e6, line_bps=50e6), 0.03), "both_s=0")
    assert found.kinds == {"up": "policer", "down": "policer"}
    assert found.line.up.rate_bps == pytest.approx(2e6, rel=0.05)
    assert source_of(write_scenario(found)).points()
    least, most = found.ranges["link.line.policer.rate"]
    assert most is not None
    assert least < 2e6 < most


def test_single_packets_tell_the_rate_of_a_slow_line() -> None:
    slow = Line(Side(0.4e6, 4500), Side(0.9e6, 6000), 0.25)
    views = evidence(slow, "both_s=0").views
    for direction in ("up", "down"):
        side, seen = slow.side(direction), views[direction, direction]  # type: ignore[index,arg-type]
        assert seen.link_bps == pytest.approx(side.rate_bps, rel=0.02)


def test_busy_parts_tell_the_rate_of_a_fast_line() -> None:
    fast = Line(Side(20e6, 1e6), Side(60e6, 8e6), 0.03)
    views = evidence(fast, "both_s=0").views
    assert views["up", "up"].parts_bps == pytest.approx(20e6, rel=0.02)
    assert views["down", "down"].parts_bps == pytest.approx(60e6, rel=0.02)


def test_packets_of_others_wait_without_load_but_jitter_is_not_taken_for_them() -> None:
    line = Line(Side(2e6, 60e3), Side(2e6, 60e3), 0.03)
    others = scenario(line)
    others["flows"] = [{"app": {"kind": "udp", "rate": "550kbit"}, "reverse": True}]
    shared = evidence_of(noisy(simulate(others, PLAN), 5))

    def share(of: Evidence, direction: Any) -> float:
        return others_share(of.idle_waits_ms[direction], 2e6, 0.0)

    assert share(shared, "down") > LEAST_SHARE > share(shared, "up")
    assert share(evidence(line), "down") < LEAST_SHARE


def test_a_computer_that_is_late_now_and_then_is_not_taken_for_others() -> None:
    """Quantiles of the idle probes of a client on a real computer, over a link that nobody else used."""
    shares = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1]
    even = [0.0, 0.0082, 0.0121, 0.0364, 0.1804, 0.4119, 0.4638, 0.4896, 0.5073]
    rare = [0.0, 0.0085, 0.0203, 0.0286, 0.1441, 0.1893, 0.7, 1.0434, 1.2588]
    for waits in (even, rare):
        waits_ms = np.interp(np.linspace(0, 1, 51), shares, waits)
        assert others_share(waits_ms, 16e6, 2.0) < LEAST_SHARE


def test_a_rate_that_varies_is_told_by_the_goodput_of_a_busy_line() -> None:
    steps = tuple((2.0 + 0.5 * place, rate) for place, rate in enumerate([2e6, 1.5e6, 2.2e6, 1.7e6, 1.3e6] * 8))
    deep = Line(Side(2e6, 600e3, rates=steps), Side(8e6, 100e3), 0.03)
    found = fitted(deep, "down_s=0 both_s=0")
    assert found.kinds["up"] == "varying"
    assert found.fits, found.why_not


def test_a_rate_that_varies_needs_packets_that_wait() -> None:
    of = evidence()
    view = of.views["up", "up"]
    without_waits = replace(view, added=np.zeros_like(view.added))
    assert not np.isfinite(without_waits.parts(8)).any()
    assert math.isinf(along_goodput(of, Repeats(of, 1), DSL, "up", without_waits, DSL.up).score)


def test_a_buffer_of_packets_has_a_range_of_whole_packets() -> None:
    found = fitted(Line(Side(3e5, 3e3, in_packets=True), Side(3e6, 60e3), 0.034))
    assert found.line.up.in_packets
    assert found.ranges["link.line.queue.limit"] == (3000, 3000)
