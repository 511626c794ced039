"""The kernel's own FIFOs and CUBIC, and ours in their place: the same flows come out the same.

In guests, for in virtual time no host stands still: the kernel's shaper would not make up for that, and ours does.
"""

from pathlib import Path
from statistics import fmean
from typing import Any

import guests
import pytest
import unbloat as ub
from conftest import Write

RENO = 'cc = "kernel:reno"'

Run = dict[str, Any]


def limits(limit: str) -> dict[str, object]:
    """Give queues of this length to both directions."""
    return {f"link.bottleneck.{queue}.limit": limit for queue in ("queue", "reverse.queue")}


@pytest.fixture(autouse=True)
def kernel(cache: Path) -> str:
    """The kernel of all guests here; they are booted once, before the first test begins."""
    return guests.booted(cache)


def run(file: Path, kernel: str, *changes: dict[str, object]) -> list[Run]:
    """Run a scenario with each of these changes in one guest."""
    records = guests.run_all(kernel, file, changes)
    for record in records:
        assert record["sound"], record["unsound_because"]
    return records


TEN_MBIT = {"link.bottleneck.rate": "10mbit", **limits("40kb")}
FIFOS = {
    # The queue's kind, how long a packet takes, and the scenario.
    "packets": ("kernel:pfifo", 6.0, {"link.bottleneck.rate": "2mbit", **limits("20p"), "duration": "14s"}),
    # Reno fills this queue about once a second and each time loses a packet or two. Which of both hangs on a
    # microsecond behind an access link (14 to 18 in all, in either queue): there is none here.
    "bytes": ("kernel:bfifo", 1.2, {**TEN_MBIT, "duration": "8s"}),
    # Behind the kernel's queue the wire is ours, and its draws are those of the seed.
    "random losses": ("kernel:bfifo", 1.2, {**TEN_MBIT, "link.bottleneck.loss": "0.5%", "duration": "6s"}),
}


@pytest.fixture(scope="module")
def fifos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Run]]:
    """Runs with our queues, and with the kernel's in both directions: all in one guest."""
    folder = tmp_path_factory.mktemp("fifos")
    file = folder / "fifo.toml"
    file.write_text(f'warmup = "2s"\n[link.bottleneck]\ndelay = "4ms"\n[[flows]]\n{RENO}\n')
    changes = []
    for kind, _, settings in FIFOS.values():
        kinds = {f"link.bottleneck.{queue}.kind": kind for queue in ("queue", "reverse.queue")}
        changes += [settings, settings | kinds]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBLOAT_CACHE", str(folder))
        runs = run(file, guests.booted(folder), *changes)
    return {name: runs[2 * number :][:2] for number, name in enumerate(FIFOS)}


@pytest.mark.parametrize("name", FIFOS)
def test_the_kernel_s_fifos(fifos: dict[str, list[Run]], name: str) -> None:
    """In both directions; a packet takes so many milliseconds."""
    (ours, theirs), (_, packet_ms, _) = fifos[name], FIFOS[name]
    for a, b in zip(ours["flows"], theirs["flows"], strict=True):
        assert b["goodput_mbps"] == pytest.approx(a["goodput_mbps"], rel=0.02)
        assert b["lost_packets"] == counted(a["lost_packets"])
    for a, b in zip(ours["links"], theirs["links"], strict=True):
        assert b["drops"] == counted(a["drops"])
        assert b["wire_losses"] == counted(a["wire_losses"])
        assert b["utilisation_percent"] == pytest.approx(a["utilisation_percent"], abs=1)
        assert b["queue_bytes_mean"] == pytest.approx(a["queue_bytes_mean"], abs=1500 + 0.05 * a["queue_bytes_mean"])
        assert b["queue_delay_ms_mean"] == pytest.approx(a["queue_delay_ms_mean"], rel=0.05, abs=packet_ms)
    link = theirs["links"][0]
    assert link["drops"] + link["wire_losses"] == theirs["flows"][0]["lost_packets"] > 10
    # Without random losses the queue is full time and again.
    assert link["wire_losses"] > 10 or link["queue_delay_ms_mean"] > 10 * packet_ms


def counted(expected: int) -> object:
    """A count of losses: two more or less, or a fifth."""
    return pytest.approx(expected, abs=2 + expected // 5)


def test_the_kernel_s_cubic(scenario: Write, kernel: str) -> None:
    link = 'rate = "10mbit"\ndelay = "25ms"\nqueue = { limit = "62500b" }'
    file = scenario(link, 'cc = "cubic"', top='warmup = "1s"', duration="8s")
    ours, theirs = run(file, kernel, {}, {"flows.0.cc": "kernel:cubic"})
    (flow,), (kernel_s,) = ours["flows"], theirs["flows"]
    assert kernel_s["goodput_mbps"] > 9 and kernel_s["lost_packets"] > 0
    assert flow["goodput_mbps"] == pytest.approx(kernel_s["goodput_mbps"], rel=0.01)
    delay, kernel_s_delay = (record["links"][0]["queue_delay_ms_mean"] for record in (ours, theirs))
    assert delay == pytest.approx(kernel_s_delay, rel=0.05)


def test_the_kernel_s_codel(scenario: Write, kernel: str) -> None:
    """Its first mark in congestion avoidance comes a hundred milliseconds after packets have waited for five.

    The queue grows by a packet each round trip. A shaper that asks a fifth of a millisecond too early puts the mark off
    by one of them.
    """
    link = 'rate = "10mbit"\ndelay = "25ms"\nqueue = { kind = "codel", ecn = true }'
    file = scenario(link, 'cc = "reno"\necn = true', top='warmup = "1500ms"', duration="3s")
    (ours,) = ub.scenario(file).run().as_dict()["runs"]
    (theirs,) = run(file, kernel, {"link.bottleneck.queue.kind": "kernel:codel"})
    a, b = ours["links"][0], theirs["links"][0]
    assert a["marks"] == b["marks"] > 0
    for column in ("queue_delay_ms_mean", "queue_delay_ms_max"):
        assert b[column] == pytest.approx(a[column], rel=0.01), column


def test_an_lte_cell(scenario: Write, kernel: str) -> None:
    """Real TCP meets the grants, repeats and full queue that simulated TCP meets."""
    link = 'lte = "cell"\ncqi = 9\ndelay = "5ms"\nqueue = { limit = "60kb" }'
    top = 'warmup = "2s"\n[lte.cell]\nbandwidth = "5mhz"'
    file = scenario(link, 'cc = "reno"', top=top, duration="10s")
    (ours,) = ub.scenario(file).run().as_dict()["runs"]
    (simulated,), (real,) = ours["flows"], run(file, kernel, {})[0]["flows"]
    assert simulated["goodput_mbps"] > 5.5
    assert real["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.02)
    assert real["rtt_ms_mean"] == pytest.approx(simulated["rtt_ms_mean"], rel=0.05)


def test_wi_fi_cells(scenario: Write, kernel: str) -> None:
    """Real TCP shares the air with its own acknowledgements as simulated TCP does, aggregates included.

    Back-off is random: the goodputs of simulated runs of seven seconds have a standard deviation of 0.3 and 0.6 %.
    """
    link = 'wifi = "home"\nphy_rate = "24mbit"\ndelay = "10ms"\nqueue = { limit = "60p" }'
    top = 'warmup = "2s"\n[wifi.home]\nstandard = "802.11g"'
    file = scenario(link, 'cc = "reno"', top=top, duration="9s")
    cells = [
        {"wifi.home.standard": standard, "link.bottleneck.phy_rate": rate}
        for standard, rate in (("802.11g", "24mbit"), ("802.11n", "13mbit"))
    ]
    for cell, record in zip(cells, run(file, kernel, *cells), strict=True):
        (real,) = record["flows"]
        seeds = [
            ub.scenario(file, {**cell, "seed": seed}).run().as_dict()["runs"][0]["flows"][0] for seed in range(1, 6)
        ]
        goodput, rtt = (fmean(flow[column] for flow in seeds) for column in ("goodput_mbps", "rtt_ms_mean"))
        assert goodput > 10, cell
        assert real["goodput_mbps"] == pytest.approx(goodput, rel=0.02), cell
        assert real["rtt_ms_mean"] == pytest.approx(rtt, rel=0.05), cell
