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
WARMUP_S = 4
"""After two seconds rtac_auto in a guest still differs from the simulated one by more than the tolerance."""


class Way(NamedTuple):
    """A path of packets, and what is to keep its queue short."""

    link: str
    top: str
    duration_s: int
    controllers: dict[str, dict[str, int]]
    """With their parameters."""
    factor: float
    """By which the queueing delay falls, at least."""


WAYS = {
    # 34 packets are what the path holds without a queue; rtac_auto has to find that out.
    "a constant rate": Way(
        LINK,
        "",
        10,
        {"rtac": {"bdp": 34}, "rtac_auto": {}},
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
        8,
        {"rtac": {"bdp": 20}},
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
        8,
        {"drwa": {}},
        2,
    ),
}


def measured(record: dict[str, Any]) -> tuple[float, float]:
    """Give a run's throughput and mean queueing delay."""
    assert record["sound"], record["unsound_because"]
    return record["flows"][0]["throughput_mbps"], record["links"][0]["queue_delay_ms_mean"]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_window_controllers_keep_the_throughput_and_cut_the_queue_as_the_simulator_predicts(
    scenario: Write, cache: Path, way: Way
) -> None:
    file = scenario(way.link, DOWNLOAD, top=f'warmup = "{WARMUP_S}s"\n{way.top}', duration=f"{way.duration_s}s")
    held = [
        {"flows.0.window_controller": name, "flows.0.window_controller_params": own}
        for name, own in way.controllers.items()
    ]
    simulated, *simulated_held = [measured(ub.scenario(file, each).run().as_dict()["runs"][0]) for each in ({}, *held)]
    real, *real_held = map(measured, guests.run_all(guests.booted(cache), file, [{}, *held]))
    factors = []
    for controller, ours, theirs in zip(way.controllers, simulated_held, real_held, strict=True):
        for (throughput, delay), (held_throughput, held_delay) in ((simulated, ours), (real, theirs)):
            assert held_throughput >= 0.97 * throughput, controller
            factors.append(delay / held_delay)
        predicted, factor = factors[-2:]
        assert predicted > way.factor, controller
        assert factor == pytest.approx(predicted, rel=0.2), controller


def test_a_parameter_that_does_not_exist_is_found_before_the_guest(scenario: Write, cache: Path) -> None:
    file = scenario(LINK, 'cc = "cubic"\nwindow_controller = "rtac"\nwindow_controller_params = { bpd = 34 }')
    with pytest.raises(ub.InputError) as refusal:
        ub.scenario(file).run(on="vm", kernel=guests.booted(cache))
    assert str(refusal.value).startswith(f"{file}:") and "flows.0.window_controller_params.bpd: " in str(refusal.value)
