"""What runs will take is said before they begin, and what datagrams take has a bound."""

from __future__ import annotations

import logging

import pytest
from conftest import SMALL
from inline_snapshot import snapshot
from unbloat.runs import costs
from unbloat.scenarios.source import source_of
from unbloat.system import machine

FLOOD = SMALL.replace('{ limit = "30kb" }', "{}").replace('cc = "reno"', 'app = { kind = "udp", rate = "100tbit" }')


def cost(text: str, series_ns: int | None = None) -> costs.Cost:
    return costs.of(source_of(text).points()[0], series_ns)


def test_a_full_link_is_what_a_flow_sends() -> None:
    assert cost(SMALL).packets == pytest.approx(4e6 * 2 / 12000)
    assert cost(SMALL).memory < 1e4


def test_a_flood_is_what_it_offers_and_waits_in_a_queue_without_a_limit() -> None:
    assert cost(FLOOD).packets == pytest.approx(2e9)
    assert cost(FLOOD).memory == pytest.approx(costs.MOST_UNDER_WAY * costs.PACKET_BYTES, rel=0.01)
    assert cost(FLOOD.replace("queue = {}", 'queue = { limit = "30kb" }')).memory < 1e4


def test_flows_and_samples_take_memory() -> None:
    many = cost(SMALL + "count = 1000000\n")
    assert 2e9 < many.memory < 10e9
    assert cost(SMALL, 1000).memory == pytest.approx(2e6 * 3 * costs.SAMPLE_BYTES, rel=0.01)


def test_what_is_long_or_large_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 1_000_000_000)
    with caplog.at_level(logging.WARNING, "unbloat"):
        costs.tell([cost(SMALL)] * 100, 4)
        assert caplog.messages == []
        costs.tell([cost(FLOOD)] * 4, 2)
    assert caplog.messages == [
        snapshot("some 8 billion packets are to be simulated, which takes about 33:20 here"),
        snapshot("about 1.68 GB of memory will be needed, and 1 GB are free; --jobs 1 does one run at a time"),
    ]
