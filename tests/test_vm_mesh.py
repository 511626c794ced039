"""Ten hosts with a real kernel's TCP over IPv6, joined by the emulated radio, in a guest; no root."""

import tomllib
from pathlib import Path
from statistics import fmean
from typing import Any

import guests
import pcapng
import pytest
import unbloat as ub

DTPA = Path(__file__).parents[1] / "papers/dtpa"


def test_ten_nodes_with_dtpa(cache: Path, tmp_path: Path) -> None:
    """What the simulator's nodes send, a kernel's do, over IPv6, and as fairly."""
    kernel = guests.booted(cache)
    (ten,) = (runs for runs in tomllib.loads((DTPA / "kernel.toml").read_text())["runs"] if runs["scenario"] == "ten")
    settings = {**ten["set"], "sweep.flows.0.cc": ["dtpa"], "duration": "160s", "warmup": "60s"}
    trace = tmp_path / "trace.pcapng"
    (real,) = ub.scenario(DTPA / "ten.toml", settings).run(on="vm", kernel=kernel, pcap=trace).as_dict()["runs"]
    assert real["sound"], real["unsound_because"]
    simulated = ub.scenario(DTPA / "ten.toml", {**settings, "sweep.seed": [1, 2, 3, 4, 5]}).run().as_dict()["runs"]

    def goodput(run: dict[str, Any]) -> float:
        return sum(flow["goodput_mbps"] for flow in run["flows"])

    assert len(real["flows"]) == 10 and all(flow["goodput_mbps"] > 0 for flow in real["flows"])
    assert goodput(real) == pytest.approx(fmean(map(goodput, simulated)), rel=0.25)
    # Over so short a time chance decides how fair one run is, of the simulator's too.
    assert real["jain_index"] == pytest.approx(fmean(run["jain_index"] for run in simulated), rel=0.25)
    sent = [packet for _, packet in pcapng.packets(trace.read_bytes())]
    assert all(packet[0] >> 4 == 6 for packet in sent)
    # An IPv6 header, TCP's, and a segment; the four more of a SYN are its option.
    assert max(map(len, sent)) == 40 + 20 + 64
    # The packets of the farthest are forwarded five times: the first node transmits most of all.
    frames = {node["node"]: node["frames"] for node in real["nodes"]}
    assert set(frames) == {"lbr", *(f"n{number}" for number in range(1, 11))}
    assert max(frames, key=frames.get) == "n1" and min(frames.values()) > 0
    radio_s = [node["transmit_s"] + node["listen_s"] + node["sleep_s"] for node in real["nodes"]]
    assert all(abs(seconds - 100) < 0.001 for seconds in radio_s)
