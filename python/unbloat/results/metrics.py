"""What a sweep sums up over its repeats: numbers of a run, of some of its flows, of its bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

Flow = Mapping[str, Any]
Metrics = dict[str, float | None]

ALL = "all flows"
FLOW_COLUMNS = [
    ("goodput", "Mbit/s", "goodput_mbps"),
    ("RTT mean", "ms", "rtt_ms_mean"),
    ("loss", "%", "loss_percent"),
    ("resent", "packets", "retransmitted_packets"),
    ("completed", "s", "completion_s"),
    ("Jain index", "", "jain_index"),
]
LINK_COLUMNS = [("used", "%", "utilisation_percent"), ("waiting mean", "ms", "queue_delay_ms_mean")]
"""What is shown of all flows and of the bottleneck: head, unit, metric."""
MANY = 12
"""Runs with more flows than this are not looked at flow by flow."""


def metrics_of(run: Mapping[str, Any]) -> Iterator[tuple[str, Metrics]]:
    """Give a run's metrics by what they are of: all flows, each flow where there are a few, the bottleneck."""
    flows = run["flows"]
    together = _of_flows(flows)
    if len(flows) > 1:
        together["jain_index"] = run["jain_index"]
    yield ALL, together
    if 1 < len(flows) <= MANY:
        yield from ((f"flow {flow['flow']}", _of_flows([flow])) for flow in flows)
    bottleneck = run["links"][0]
    yield bottleneck["link"], {name: value for name, value in bottleneck.items() if name != "link"}


def _of_flows(flows: Sequence[Flow]) -> Metrics:
    """Fold flows into one: rates and packets add up, windows and RTTs are means, the last to complete counts."""
    sums = {name: _fold(flows, name, sum) for name in SUMS}
    sent, lost = sums["sent_packets"], sums["lost_packets"]
    return {
        **sums,
        "loss_percent": 100 * lost / sent if sent and lost is not None else None,
        **{name: _fold(flows, name, fmean) for name in MEANS},
        "rtt_ms_max": _fold(flows, "rtt_ms_max", max),
        "completion_s": None if None in _column(flows, "completion_s") else _fold(flows, "completion_s", max),
    }


SUMS = (
    *("goodput_mbps", "throughput_mbps", "sent_packets", "lost_packets"),
    *("retransmitted_packets", "timeouts"),
)
MEANS = ("cwnd_packets_mean", "rtt_ms_mean", "rtt_ms_p50", "rtt_ms_p95", "rtt_ms_p99")


def _fold(flows: Sequence[Flow], name: str, fold: Callable[[list[float]], float]) -> float | None:
    known = [value for value in _column(flows, name) if value is not None]
    return fold(known) if known else None


def _column(flows: Sequence[Flow], name: str) -> list[float | None]:
    return [flow.get(name) for flow in flows]
