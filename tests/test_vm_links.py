"""The newest keys of links, applications and queues: a real TCP in a guest meets what a simulated one meets.

One guest runs all of them, one after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import guests
import pytest
import unbloat as ub
from unbloat.scenarios.source import source_of

Run = dict[str, Any]
BASE = """\
warmup = "1s"
duration = "6s"
[link.bottleneck]
rate = "5mbit"
delay = "10ms"
queue = { limit = "40kb" }
[[flows]]
cc = "reno"
"""
CHANGES: dict[str, dict[str, object]] = {
    "delays": {"link.bottleneck.delays": [{"at": "2s", "delay": "40ms"}, {"at": "4s", "delay": "5ms"}]},
    "handover": {
        "link.bottleneck.handover": {"every": "2s", "outage": "80ms", "rate": "3mbit..6mbit", "delay": "5ms..25ms"}
    },
    "slot": {"link.bottleneck.reverse.slot": {"wait": "15ms"}},
    "script": {
        "flows.0.ecn": True,
        "flows.0.receive_window": "36kb",
        "link.bottleneck.script": [
            {"packets": 700, "do": "lose"},
            {"packets": 1000, "do": "mark"},
            {"packets": 1300, "do": "hold", "time": "4ms"},
            {"packets": 1600, "do": "duplicate"},
            {"from": "5s", "to": "5.01s", "do": "lose"},
        ],
    },
    "policer": {"link.bottleneck.rate": "20mbit", "link.bottleneck.policer": {"rate": "4mbit", "burst": "30kb"}},
    "drophead": {"link.bottleneck.queue.kind": "drophead"},
    "writer": {
        "flows.0.app": {
            "kind": "writer",
            "writes": [{"at": "1.5s", "size": "30kb"}, {"at": "3s", "size": "2kb"}, {"at": "3.001s", "size": "90kb"}],
        }
    },
    "cake": {"link.bottleneck.queue": {"kind": "cake", "bandwidth": "3mbit", "keywords": ["pppoe-llcsnap", "metro"]}},
    "the kernel's cake": {
        "link.bottleneck.queue": {
            "kind": "kernel:cake",
            "bandwidth": "3mbit",
            "keywords": ["pppoe-llcsnap", "metro"],
        }
    },
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("links")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBLOAT_CACHE", str(folder))
        kernel = guests.booted(folder)
        runs = guests.run_all(kernel, BASE, list(CHANGES.values()))
    return dict(zip(CHANGES, runs, strict=True))


@pytest.mark.parametrize("name", CHANGES)
def test_a_real_tcp_meets_what_a_simulated_one_meets(real: dict[str, Run], name: str, cache: Path) -> None:
    theirs = real[name]
    assert theirs["sound"], theirs["unsound_because"]
    (ours,) = ub.scenario(BASE, CHANGES["cake" if "cake" in name else name]).run().as_dict()["runs"]
    flow, real_flow = (run["flows"][0] for run in (ours, theirs))
    link, real_link = (run["links"][0] for run in (ours, theirs))
    assert real_flow["goodput_mbps"] == pytest.approx(flow["goodput_mbps"], rel=0.03)
    assert real_flow["rtt_ms_mean"] == pytest.approx(flow["rtt_ms_mean"], rel=0.1)
    assert real_link["utilisation_percent"] == pytest.approx(link["utilisation_percent"], abs=2)
    assert real_link["drops"] == pytest.approx(link["drops"], abs=3 + link["drops"] // 5)
    for column in ("wire_losses", "duplicates", "marks", "rate_mbps_mean"):
        assert real_link.get(column) == link.get(column), column


def test_stretch_acknowledgements_are_refused() -> None:
    (point,) = source_of(BASE, {"flows.0.profile": {"ack_every": 8}}).points()
    with pytest.raises(ub.InputError, match=r"acknowledges every second segment; leave profile\.ack_every as in"):
        point.check("vm")
