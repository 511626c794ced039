"""Real TCP over a Wi-Fi cell in a guest has what simulated TCP has there."""

from pathlib import Path

import guests
import pytest
import unbloat as ub

CELL = """
duration = "12s"
warmup   = "2s"

[wifi.home]
standard = "{standard}"
{shared}

[link.core]
rate  = "200mbit"
delay = "5ms"
queue = {{ limit = "1mb" }}

[link.near]
wifi     = "home"
phy_rate = "{near}"
delay    = "0ms"
{own}

[link.far]
wifi     = "home"
phy_rate = "{far}"
delay    = "0ms"
{own}
reverse  = {{ queue = {{ limit = "200p" }} }}

[[flows]]
cc   = "kernel:cubic"
path = ["core", "near"]

[[flows]]
cc   = "kernel:cubic"
path = ["core", "far"]
"""
QUEUE = 'queue = { limit = "200p" }'
G = {"standard": "802.11g", "near": "24mbit", "far": "6mbit"}
N = {"standard": "802.11n", "near": "26mbit", "far": "13mbit"}


@pytest.fixture(autouse=True)
def kernel(cache: Path) -> str:
    """The kernel of all guests here."""
    return guests.booted(cache)


@pytest.mark.parametrize("shared", [True, False], ids=["one FIFO", "a queue for each"])
@pytest.mark.parametrize("cell", [G, N], ids=["802.11g", "802.11n"])
def test_goodputs_are_the_simulator_s(tmp_path: Path, kernel: str, cell: dict[str, str], shared: bool) -> None:
    """Two downloads: goodput and queueing delay, the sum within 3 %, each flow's and the delays within 10 %."""
    file = tmp_path / "cell.toml"
    file.write_text(CELL.format(**cell, shared=QUEUE if shared else "", own="" if shared else QUEUE))
    (simulated,) = ub.run(file, {"flows.*.cc": "cubic"}).as_dict()["runs"]
    (real,) = ub.run(file, on="vm", kernel=kernel).as_dict()["runs"]
    assert real["sound"], real["unsound_because"]
    goodputs = [[flow["goodput_mbps"] for flow in run["flows"]] for run in (simulated, real)]
    assert sum(goodputs[1]) == pytest.approx(sum(goodputs[0]), rel=0.03)
    assert goodputs[1] == pytest.approx(goodputs[0], rel=0.1)
    delays = [
        [link["queue_delay_ms_mean"] for link in run["links"] if link["link"] in ("near", "far")]
        for run in (simulated, real)
    ]
    assert delays[1] == pytest.approx(delays[0], rel=0.1)
