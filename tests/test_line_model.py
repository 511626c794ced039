"""Measurements of a line that the simulator makes."""

import math

import numpy as np
import pytest
from unbloat.line.measurement import COLUMNS, PHASES, Measurement
from unbloat.line.model import (
    FOREIGN_BYTES,
    FOREIGN_SHARE,
    Line,
    Plan,
    Side,
    noisy,
    plan_for,
    scenario,
    simulate,
)
from unbloat.scenarios.source import source_of

DSL = Line(Side(1e6, 60e3), Side(8e6, 100e3), 0.03)
SHORT = Plan(idle_s=1.0, down_s=3.0, up_s=3.0, both_s=2.0)


def test_a_measurement_shows_the_line() -> None:
    found = simulate(DSL, SHORT)
    assert list(found.phases["phase"]) == list(PHASES)
    for name, columns in COLUMNS.items():
        assert list(getattr(found, name).columns) == list(columns)
    probes = found.probes.set_index("phase")
    idle, up, down = (probes.loc[phase] for phase in ("idle", "up", "down"))
    assert idle["rtt_ms"].max() == pytest.approx(30, abs=1)
    # A probe waits for a full buffer of 480 ms and 100 ms.
    assert up["up_ms"].max() - idle["up_ms"].min() == pytest.approx(480, rel=0.05)
    assert down["down_ms"].max() - idle["down_ms"].min() == pytest.approx(100, rel=0.05)
    assert np.allclose(probes["up_ms"] + probes["down_ms"], probes["rtt_ms"], equal_nan=True)
    transfers = found.transfers
    assert (transfers.groupby(["phase", "direction", "connection"])["bytes"].diff().dropna() >= 0).all()
    last = transfers[transfers["time_s"] > found.phases["stop_s"].iloc[2] - 0.05]
    assert last[last["phase"] == "up"]["bytes"].sum() * 8 / 3 == pytest.approx(1e6, rel=0.1)


def test_random_loss_and_full_buffers_lose_probes() -> None:
    lossy = simulate(DSL.replaced("up", loss_percent=10.0), SHORT).probes
    share = lossy[lossy["phase"] == "idle"]["rtt_ms"].isna().mean()
    assert 0.02 < share < 0.3


def test_a_fair_queue_lets_probes_pass() -> None:
    found = simulate(DSL.replaced("up", discipline="fq_codel", buffer_bytes=0.0), SHORT)
    up = found.probes[found.probes["phase"] == "up"]["rtt_ms"]
    assert up.median() < 30 + 20


def loaded_ms(found: Measurement) -> dict[str, float]:
    """Return the median time of each kind of requests beside an upload."""
    start_s = float(found.phases.set_index("phase")["start_s"]["up"])
    mine = found.requests[(found.requests["phase"] == "up") & (found.requests["sent_s"] > start_s + 1)]
    return dict(mine.groupby("kind")["http_ms"].median())


def test_requests_on_loaded_connections_wait_in_their_own_queue() -> None:
    fair = loaded_ms(simulate(DSL.replaced("up", discipline="fq_codel", buffer_bytes=0.0), SHORT))
    assert fair["foreign"] < 60 < fair["self"]
    fifo = loaded_ms(simulate(DSL, SHORT))
    # What is behind a lost segment waits for the retransmission.
    assert 0.9 < fifo["self"] / fifo["foreign"] < 2


def test_requests_are_rarer_on_slow_lines() -> None:
    slow = Line(Side(3e5, 60e3), Side(3e5, 60e3), 0.03)
    counts = [
        found.requests[found.requests["phase"] == "up"]["kind"].value_counts()
        for found in (simulate(line, SHORT) for line in (slow, DSL))
    ]
    # The first begins with the load.
    assert (counts[0]["foreign"] - 1) * FOREIGN_BYTES * 8 / 3 < FOREIGN_SHARE * 3e5
    assert counts[1]["foreign"] > 2 * counts[0]["foreign"] and counts[1]["self"] > 2 * counts[0]["self"]


def test_rates_change_when_the_line_says_so() -> None:
    varying = DSL.replaced("down", rates=((3.5, 2e6), (5.0, 8e6)))
    found = simulate(varying, SHORT)
    down = found.transfers[found.transfers["phase"] == "down"].groupby("time_s")["bytes"].sum()
    starts = found.phases.set_index("phase").loc["down", "start_s"]
    rates = np.diff(np.interp([starts, 4.0, 4.9], down.index, down)) * 8 / np.diff([starts, 4.0, 4.9])
    assert rates[1] < 3e6


def test_a_phase_of_no_seconds_is_left_out() -> None:
    found = simulate(DSL, Plan(idle_s=0.5, down_s=1.0, up_s=0.0, both_s=0.0, has_one_way=False, far_reports=False))
    assert list(found.phases["phase"]) == ["idle", "down"]
    assert found.probes["up_ms"].isna().all()
    assert found.transfers["rtt_ms"].isna().all()


def test_equal_seeds_give_equal_measurements() -> None:
    one, other = (noisy(simulate(DSL, SHORT, seed=3), 7) for _ in range(2))
    for name in COLUMNS:
        assert getattr(one, name).equals(getattr(other, name))


def test_a_plan_keeps_to_its_budget() -> None:
    line = Line(Side(50e6, 500e3), Side(50e6, 500e3), 0.02)
    about = simulate(line, plan_for()).about
    assert about.sent_bytes + about.received_bytes < 100e6
    assert plan_for().up_s == 10.0


def test_its_scenario_is_read() -> None:
    point = source_of(scenario(DSL)).points()[0]
    assert point.link_names == ["line"]
    assert not math.isnan(point.duration_s)
