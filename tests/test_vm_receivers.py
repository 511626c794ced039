"""A receiver's window controller does in a stock kernel what it does in the simulator; exact, for it is in a guest."""

from pathlib import Path
from typing import Any, NamedTuple

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


class Way(NamedTuple):
    """A path of packets, and what is to keep its queue short."""

    link: str
    top: str
    duration_s: int
    receivers: dict[str, str]
    factor: float
    """By which the queueing delay falls, at least."""


WAYS = {
    # 34 packets are what the path holds without a queue; rtac_auto has to find that out.
    "a constant rate": Way(
        LINK,
        "",
        14,
        {"rtac": 'receiver = "rtac"\nreceiver_params = { bdp = 34 }', "rtac_auto": 'receiver = "rtac_auto"'},
        3,
    ),
    "802.11g": Way(
        """
wifi = "home"
phy_rate = "12mbit"
delay = "10ms"
queue = { limit = "200kb" }
[link.bottleneck.reverse]
queue = { limit = "100kb" }
""",
        '[wifi.home]\nstandard = "802.11g"',
        10,
        {"rtac": 'receiver = "rtac"\nreceiver_params = { bdp = 20 }'},
        3,
    ),
    "an LTE cell": Way(
        """
lte = "cell"
cqi = 9
delay = "5ms"
queue = { limit = "200kb" }
[link.bottleneck.reverse]
queue = { limit = "100kb" }
""",
        '[lte.cell]\nbandwidth = "5mhz"',
        10,
        {"drwa": 'receiver = "drwa"'},
        2,
    ),
}


def records(file: Path, **where: Any) -> tuple[float, float]:
    """Give a run's throughput and mean queueing delay."""
    (record,) = ub.run(file, **where).as_dict()["runs"]
    assert record["sound"], record["unsound_because"]
    return record["flows"][0]["throughput_mbps"], record["links"][0]["queue_delay_ms_mean"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_receivers_keep_the_throughput_and_cut_the_queue_as_the_simulator_predicts(
    scenario: Write, cache: Path, way: Way
) -> None:
    def measured(flow: str, **where: Any) -> tuple[float, float]:
        top = f'warmup = "4s"\n{way.top}'
        return records(scenario(way.link, flow, top=top, duration=f"{way.duration_s}s"), **where)

    guest = {"on": "vm", "kernel": guests.booted(cache)}
    throughput, delay = measured(DOWNLOAD, on="simulator")
    guest_throughput, guest_delay = measured(DOWNLOAD, **guest)
    for receiver, lines in way.receivers.items():
        flow = f"{DOWNLOAD}\n{lines}"
        held_throughput, held_delay = measured(flow, on="simulator")
        guest_held_throughput, guest_held_delay = measured(flow, **guest)
        assert held_throughput >= 0.97 * throughput, receiver
        assert guest_held_throughput >= 0.97 * guest_throughput, receiver
        assert delay / held_delay > way.factor, receiver
        assert guest_delay / guest_held_delay == pytest.approx(delay / held_delay, rel=0.2), receiver


def test_a_parameter_that_does_not_exist_is_found_before_the_guest(scenario: Write, cache: Path) -> None:
    file = scenario(LINK, 'cc = "cubic"\nreceiver = "rtac"\nreceiver_params = { bpd = 34 }')
    with pytest.raises(ub.InputError, match=r"scenario.toml:\d+: flows.0.receiver_params.bpd: rtac has no parameter"):
        ub.run(file, on="vm", kernel=guests.booted(cache))
