"""A receiver's window controller does in a stock kernel what it does in the simulator; exact, for it is in a guest."""

from pathlib import Path
from typing import Any

import guests
import pytest
import unbloat as ub
from conftest import Write

LINK = """
rate = "10mbit"
delay = "20ms"
queue = { limit = "200kb" }
"""
DOWNLOAD = 'cc = "cubic"'
HELD_BACK = 'cc = "cubic"\nreceiver = "rtac"\nreceiver_params = { bdp = 34 }'
"""34 packets are what the path holds without a queue."""


def records(file: Path, **where: Any) -> tuple[float, float]:
    """Give a run's throughput and mean queueing delay."""
    (record,) = ub.run(file, **where).as_dict()["runs"]
    assert record["sound"], record["unsound_because"]
    return record["flows"][0]["throughput_mbps"], record["links"][0]["queue_delay_ms_mean"]


def test_rtac_keeps_the_throughput_and_cuts_the_queue_as_the_simulator_predicts(scenario: Write, cache: Path) -> None:
    kernel = guests.booted(cache)
    factors = {}
    for where in ({"on": "simulator"}, {"on": "vm", "kernel": kernel}):
        figures = []
        for flow in (DOWNLOAD, HELD_BACK):
            file = scenario(LINK, flow, top='warmup = "4s"', duration="14s")
            figures.append(records(file, **where))
        (throughput, delay), (held_throughput, held_delay) = figures
        assert held_throughput >= 0.97 * throughput
        factors[where["on"]] = delay / held_delay
    assert factors["simulator"] > 3
    assert factors["vm"] == pytest.approx(factors["simulator"], rel=0.2)


def test_a_parameter_that_does_not_exist_is_found_before_the_guest(scenario: Write, cache: Path) -> None:
    file = scenario(LINK, 'cc = "cubic"\nreceiver = "rtac"\nreceiver_params = { bpd = 34 }')
    with pytest.raises(ub.InputError, match=r"scenario.toml:\d+: flows.0.receiver_params.bpd: rtac has no parameter"):
        ub.run(file, on="vm", kernel=guests.booted(cache))
