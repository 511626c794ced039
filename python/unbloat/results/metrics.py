"""What a sweep sums up over its repeats: numbers of a run, of some of its flows, of its bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Flow = Mapping[str, Any]
Metrics = dict[str, float | None]

ALL = "all flows"


@dataclass(frozen=True)
class Metric:
    """A number of a flow, a link or a run, as records name it, and what tables call it."""

    name: str
    head: str
    unit: str = ""
    fold: Callable[[list[float]], float] | None = None
    """How the values of several flows become one; None where that takes more than these values."""


FLOW_METRICS = (
    Metric("goodput_mbps", "goodput", "Mbit/s", sum),
    Metric("throughput_mbps", "throughput", "Mbit/s", sum),
    Metric("sent_packets", "sent", "packets", sum),
    Metric("lost_packets", "lost", "packets", sum),
    Metric("retransmitted_packets", "resent", "packets", sum),
    Metric("timeouts", "timeouts", "", sum),
    Metric("loss_percent", "loss", "%"),
    Metric("cwnd_packets_mean", "cwnd", "packets", fmean),
    Metric("rtt_ms_mean", "RTT mean", "ms", fmean),
    Metric("rtt_ms_p50", "50 %", "ms", fmean),
    Metric("rtt_ms_p95", "95 %", "ms", fmean),
    Metric("rtt_ms_p99", "99 %", "ms", fmean),
    Metric("rtt_ms_max", "max", "ms", max),
    Metric("completion_s", "completed", "s"),
)
LINK_METRICS = (
    Metric("utilisation_percent", "used", "%"),
    Metric("queue_percent_mean", "queue", "%"),
    Metric("queue_delay_ms_mean", "waiting mean", "ms"),
    Metric("queue_delay_ms_p95", "95 %", "ms"),
    Metric("queue_delay_ms_max", "max", "ms"),
    Metric("drops", "dropped", "packets"),
    Metric("wire_losses", "lost", "packets"),
)
RUN_METRICS = (
    Metric("jain_index", "Jain index"),
    Metric("lateness_us_p99", "late 99 %", "us"),
    Metric("cpu_idle_percent", "idle", "%"),
)
METRICS = {metric.name: metric for metric in (*FLOW_METRICS, *LINK_METRICS, *RUN_METRICS)}
"""Every metric that a table shows, by its name."""
MANY = 12
"""More flows, runs or lines than this are not shown one by one."""


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
    folded = {metric.name: _fold(flows, metric.name, metric.fold) for metric in FLOW_METRICS}
    sent, lost = folded["sent_packets"], folded["lost_packets"]
    folded["loss_percent"] = 100 * lost / sent if sent and lost is not None else None
    folded["completion_s"] = None if None in _column(flows, "completion_s") else _fold(flows, "completion_s", max)
    return folded


def _fold(flows: Sequence[Flow], name: str, fold: Callable[[list[float]], float] | None) -> float | None:
    known = [value for value in _column(flows, name) if value is not None]
    return fold(known) if fold and known else None


def _column(flows: Sequence[Flow], name: str) -> list[float | None]:
    return [flow.get(name) for flow in flows]
