"""The register of everything that results have columns for: what each number is called, its unit and its definition.

Tables on the screen, sweeps, comparisons, the claims of papers and the reference page take their words from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from unbloat._core import InputError, series_columns
from unbloat.scenarios.checks import did_you_mean

Row = Mapping[str, Any]
"""A flow, a link or a run of the records."""
Metrics = dict[str, float | None]

ALL = "all flows"
NO_CONTROL = "none"
"""The `cc` of datagrams."""
MANY = 12
"""More flows, runs or lines than this are not shown one by one."""


@dataclass(frozen=True)
class Fold:
    """How the values of several flows become one."""

    words: str
    of: Callable[[Sequence[Row], str], float | None]


def _known(flows: Sequence[Row], name: str) -> list[float]:
    return [flow[name] for flow in flows if flow.get(name) is not None]


def _fold(words: str, of_values: Callable[[list[float]], float]) -> Fold:
    """Fold the values of those flows that have one."""

    def of(flows: Sequence[Row], name: str) -> float | None:
        known = _known(flows, name)
        return of_values(known) if known else None

    return Fold(words, of)


def _loss(flows: Sequence[Row], _: str) -> float | None:
    sent, lost = (SUM.of(flows, name) for name in ("sent_packets", "lost_packets"))
    return 100 * lost / sent if sent and lost is not None else None


def _last(flows: Sequence[Row], name: str) -> float | None:
    values = [flow.get(name) for flow in flows]
    return None if None in values else MAX.of(flows, name)


SUM = _fold("sum", sum)
MEAN = _fold("mean", fmean)
MAX = _fold("maximum", max)
MIN = _fold("minimum", min)
LOSS = Fold("lost over sent packets of all flows", _loss)
LAST = Fold("maximum; empty if a flow is unfinished", _last)


@dataclass(frozen=True)
class Metric:
    """A number of a flow, a link or a run."""

    key: str
    """Its short name, in claims, tolerances and plots."""
    name: str
    """Its column in data frames, Parquet files and JSON, which ends in the unit."""
    heading: str
    """What tables call it; a percentile or a maximum stands beside the mean of the same metric."""
    unit: str
    of: Literal["flow", "link", "run", "node"]
    definition: str
    fold: Fold | None = None
    """How flows fold; None for what is not a flow's."""

    def __reduce__(self) -> tuple[Callable[[str], Metric], tuple[str]]:
        """Pickle the name alone: who reads it has the register."""
        return metric_named, (self.name,)

    @property
    def title(self) -> str:
        """What a table calls it where the mean does not stand beside it: `RTT p95`."""
        mean = BY_KEY.get(self.key.rpartition("_")[0])
        return f"{mean.heading.removesuffix(' mean')} {self.heading}" if mean else self.heading


_FLOWS: Sequence[tuple[str, str, str, str, Fold, str]] = (
    ("goodput", "goodput_mbps", "goodput", "Mbit/s", SUM,
     "Payload delivered in order to the receiving application, over the flow's active time after the warm-up. Of all "
     "flows together it is empty where flows share a link one after another, or in both directions: rates of different "
     "times do not add up, and the link's utilisation says how much passed. Data "
     "that arrived behind a gap counts when the gap is filled, so that goodput can exceed the link's rate by what the "
     "receiver held at the end of the warm-up."),
    ("throughput", "throughput_mbps", "throughput", "Mbit/s", SUM,
     "IP bytes of data packets that reached the receiving host, retransmissions and headers included, over the flow's "
     "active time after the warm-up."),
    ("sent", "sent_packets", "sent", "packets", SUM,
     "Data packets sent after the warm-up, retransmissions included."),
    ("losses", "lost_packets", "losses", "packets", SUM,
     "Those of the packets in `sent_packets` that were dropped or lost anywhere on the path, whenever that was."),
    ("retransmissions", "retransmitted_packets", "retransmissions", "packets", SUM,
     "Data packets sent after the warm-up that had been sent before."),
    ("timeouts", "timeouts", "timeouts", "", SUM, "Retransmission timeouts (RTO) after the warm-up."),
    ("loss", "loss_percent", "loss", "%", LOSS, "`lost_packets` over `sent_packets`; empty when no packet was sent."),
    ("cwnd", "cwnd_packets_mean", "cwnd", "packets", MEAN,
     "Time average of the congestion window over the flow's active time after the warm-up."),
    ("rtt", "rtt_ms_mean", "RTT mean", "ms", MEAN,
     "Mean of the round-trip times that the sender's TCP samples after the warm-up, in whole microseconds; empty "
     "without a sample. Like Linux, it has none of round trips of more than 35 minutes."),
    ("rtt_min", "rtt_ms_min", "least", "ms", MIN, "Least of these samples."),
    ("rtt_p50", "rtt_ms_p50", "p50", "ms", MEAN, "Median of these samples."),
    ("rtt_p95", "rtt_ms_p95", "p95", "ms", MEAN, "95th percentile of these samples."),
    ("rtt_p99", "rtt_ms_p99", "p99", "ms", MEAN, "99th percentile of these samples."),
    ("rtt_max", "rtt_ms_max", "max", "ms", MAX, "Largest of these samples."),
    ("receiver_rtt", "receiver_rtt_ms_mean", "receiver's RTT mean", "ms", MEAN,
     "Mean of the round-trip times that the flow's receiver measures after the warm-up, by the echoes of its "
     "timestamps; empty unless it has a controller of its window."),
    ("completion", "completion_s", "completion", "s", LAST,
     "Flow completion time: from the flow's start to its last byte acknowledged; empty for a flow without a size, or "
     "one that the end of the run cut off."),
)  # fmt: skip
_FELT: Sequence[tuple[str, str, str, str, Fold, str]] = (
    ("delay", "delay_ms_mean", "one-way delay mean", "ms", MEAN,
     "Of an application's datagrams: mean time from sending to the other end, over those sent after the warm-up; empty "
     "for all others. Their round-trip times stand in the columns of RTTs, and their `cc` is `none`. In a call a round "
     "trip is the way of a datagram, and that of the next which comes back."),
    ("delay_p50", "delay_ms_p50", "p50", "ms", MEAN, "Median of these times."),
    ("delay_p95", "delay_ms_p95", "p95", "ms", MEAN, "95th percentile of these times."),
    ("delay_p99", "delay_ms_p99", "p99", "ms", MEAN, "99th percentile of these times."),
    ("delay_max", "delay_ms_max", "max", "ms", MAX, "Longest of these times."),
    ("rating", "rating", "R", "of 93.2", MEAN,
     "Of a call: the transmission rating factor R by the E-model (ITU-T G.107) of its worse direction, G.711 with "
     "concealment of losses, `every` for the sound in a packet, with the constant playout delay that gives the "
     "highest; 93.2 at best, above 70 most people are satisfied. Both ends send at the same pace, the other one from "
     "when it first hears something."),
    ("rating_out", "rating_out", "R out", "of 93.2", MEAN, "That of what the flow's sender says."),
    ("rating_in", "rating_in", "R in", "of 93.2", MEAN, "That of what the other end says."),
    ("opinion", "opinion_score", "MOS", "of 4.5", MEAN,
     "The mean opinion score that belongs to this rating (G.107, annex B), from 1 to 4.5."),
    ("response", "response_ms_mean", "response mean", "ms", MEAN,
     "Of an application that asks: mean time from writing a request until all of its response has arrived; it stands "
     "with the first of the application's flows."),
    ("response_p50", "response_ms_p50", "p50", "ms", MEAN, "Median of these times."),
    ("response_p95", "response_ms_p95", "p95", "ms", MEAN, "95th percentile of these times."),
    ("response_p99", "response_ms_p99", "p99", "ms", MEAN, "99th percentile of these times."),
    ("response_max", "response_ms_max", "max", "ms", MAX, "Longest of these times."),
    ("page_load", "page_load_s_mean", "page load mean", "s", MEAN,
     "Of `web`: mean time from asking for a page until its last object has arrived."),
    ("page_load_p50", "page_load_s_p50", "p50", "s", MEAN, "Median of these times."),
    ("page_load_p95", "page_load_s_p95", "p95", "s", MEAN, "95th percentile of these times."),
    ("page_load_p99", "page_load_s_p99", "p99", "s", MEAN, "99th percentile of these times."),
    ("page_load_max", "page_load_s_max", "max", "s", MAX, "Longest of these times."),
    ("startup", "startup_s", "start-up", "s", MEAN, "Of `video`: time from opening it until it plays."),
    ("stalls", "stalls", "stalls", "times", SUM, "Of `video`: how often it stops for want of data."),
    ("stalled", "stalled_percent", "stalled", "%", MEAN,
     "Of `video`: share of the time since it has started in which it stands still."),
    ("bitrate", "bitrate_mbps_mean", "bit rate", "Mbit/s", MEAN,
     "Of `video`: mean rate of the pieces that it fetched."),
    ("switches", "quality_switches", "switches", "times", SUM, "Of `video`: how often its quality changes."),
    ("unfinished", "unfinished", "unfinished", "", SUM,
     "Responses, or of `web` pages, or of `video` the start, that were still waited for when the application stopped. "
     "They are in no mean or percentile, so that a path on which many do not arrive looks better there than it is."),
    ("skipped", "skipped", "skipped", "", SUM,
     "Of a `messenger` or `game` with `when_full = \"skip\"`: messages that it left out because its send buffer had no "
     "room. They are in no mean or percentile."),
    ("wmem_queued", "wmem_queued_bytes_mean", "in send buffer", "B", MEAN,
     "Of a sender on a host: memory that its send buffer holds (`sk_wmem_queued`), mean over the packets that leave "
     "TCP."),
    ("sndbuf", "sndbuf_percent_mean", "send buffer", "%", MEAN,
     "Of a sender on a host: what its send buffer holds over its size (`sk_wmem_queued` over `sk_sndbuf`), mean over "
     "the packets that leave TCP."),
    ("sndbuf_p10", "sndbuf_percent_p10", "p10", "%", MEAN, "Tenth percentile of that."),
    ("sndbuf_p25", "sndbuf_percent_p25", "p25", "%", MEAN, "25th percentile of that."),
    ("sndbuf_p50", "sndbuf_percent_p50", "p50", "%", MEAN, "Median of that."),
    ("sndbuf_p75", "sndbuf_percent_p75", "p75", "%", MEAN, "75th percentile of that."),
    ("sndbuf_p90", "sndbuf_percent_p90", "p90", "%", MEAN, "90th percentile of that."),
    ("sndbuf_half_full", "sndbuf_half_full_percent", "half full", "%", MEAN,
     "Share of these packets that leave a send buffer that is half full or more."),
    ("sndbuf_half_full_after", "sndbuf_half_full_after_s", "half full after", "s", MEAN,
     "From the flow's start until its send buffer is half full for the first time; empty if it never is."),
    ("buffered_windows", "buffered_windows_mean", "buffered windows", "", MEAN,
     "Packets in the send buffer over the congestion window, likewise."),
    ("buffered_windows_p10", "buffered_windows_p10", "p10", "", MEAN, "Tenth percentile of that."),
    ("buffered_windows_p25", "buffered_windows_p25", "p25", "", MEAN, "25th percentile of that."),
    ("buffered_windows_p50", "buffered_windows_p50", "p50", "", MEAN, "Median of that."),
    ("buffered_windows_p75", "buffered_windows_p75", "p75", "", MEAN, "75th percentile of that."),
    ("buffered_windows_p90", "buffered_windows_p90", "p90", "", MEAN, "90th percentile of that."),
    ("loss_events", "loss_events", "loss events", "", SUM,
     "How often losses were found after the warm-up, by timeouts and otherwise; absent but for flows from a mesh."),
    ("wait", "wait_ms_mean", "wait mean", "ms", MEAN,
     "Time average of how long the control has the flow wait before each window; absent if it never has."),
)  # fmt: skip
_LINKS: Sequence[tuple[str, str, str, str, str]] = (
    ("utilisation", "utilisation_percent", "utilisation", "%",
     "Share of the time after the warm-up in which the link transmits; with a recorded link, of its delivery "
     "opportunities that are used."),
    ("buffer", "queue_percent_mean", "queue", "%",
     "Time average of the queue over its limit, both as the discipline counts them: packets in the ring of a host's "
     "device have left it, and so have the frames that wait for the air. Of a queue that several links share, such as "
     "an access point's, only the packets for this link count. Empty for a queue without a limit."),
    ("queue_bytes", "queue_bytes_mean", "queue", "B",
     "Time average of the bytes that wait in the queue. Those in the ring of a host's device are included, and the "
     "frames that wait for the air."),
    ("queue_delay", "queue_delay_ms_mean", "queueing delay", "ms",
     "Mean time from a packet's arrival in the queue to the start of its transmission, over the packets after the "
     "warm-up."),
    ("queue_delay_p50", "queue_delay_ms_p50", "p50", "ms", "Median of these times."),
    ("queue_delay_p95", "queue_delay_ms_p95", "p95", "ms", "95th percentile of these times."),
    ("queue_delay_p99", "queue_delay_ms_p99", "p99", "ms", "99th percentile of these times."),
    ("queue_delay_max", "queue_delay_ms_max", "max", "ms", "Longest of these times."),
    ("drops", "drops", "drops", "packets", "Packets that the queue dropped after the warm-up."),
    ("wire_losses", "wire_losses", "wire losses", "packets",
     "Packets that were lost behind the queue, on the wire, after the warm-up."),
    ("duplicates", "duplicates", "duplicates", "packets",
     "Packets of which the wire delivered a second copy; absent where it never does."),
    ("retries", "retries", "retries", "packets",
     "Transmissions of packets that were not their first, after the warm-up; absent where the medium repeats nothing."),
    ("marks", "marks", "ECN marks", "packets", "Packets that the queue marked CE (congestion experienced)."),
)  # fmt: skip
_RUNS: Sequence[tuple[str, str, str, str, str]] = (
    ("jain", "jain_index", "Jain index", "",
     "Jain's fairness index of the flows' goodputs: 1 if all are equal, 1/n if one of n flows has everything; empty "
     "when nothing was delivered. It means little for flows that need not be equal, such as a short and a long one."),
    ("lateness_p99", "lateness_us_p99", "lateness p99", "us",
     "99th percentile of how late the emulator let packets go; empty where time is simulated."),
    ("cpu_idle", "cpu_idle_percent", "CPU idle", "%",
     "Share of the machine's processor time that was left over; empty where time is simulated."),
)  # fmt: skip

_NODES: Sequence[tuple[str, str, str, str, str]] = (
    ("overflows", "overflows", "overflows", "packets",
     "Packets that the node's queue dropped after the warm-up, its own and those that it forwards."),
    ("frames", "frames", "frames", "", "Frames with data that the node sent after the warm-up."),
    ("frame_retries", "frame_retries", "retries", "", "Those of them that it had sent before."),
    ("channel_failures", "channel_failures", "channel failures", "packets",
     "Packets given up because the channel was busy too often."),
    ("unacknowledged", "unacknowledged", "unacknowledged", "packets",
     "Packets given up because a frame was not acknowledged, whether it had come or not."),
    ("transmit", "transmit_s", "transmits", "s",
     "Time after the warm-up in which the node's radio transmitted, or turned round to."),
    ("listen", "listen_s", "listens", "s", "Time in which it received or listened."),
    ("sleep", "sleep_s", "sleeps", "s", "Time in which it slept."),
    ("down", "down_s", "down", "s", "Time in which the node was down."),
    ("energy", "energy_mj", "energy", "mJ", "What the radio used while it transmitted, listened and slept."),
)  # fmt: skip

FLOW_METRICS = tuple(
    Metric(key, name, heading, unit, "flow", definition, fold)
    for key, name, heading, unit, fold, definition in (*_FLOWS, *_FELT)
)
FELT = {name for _, name, *_ in _FELT}
"""The columns of applications, of senders on hosts and of flows from meshes, absent where there is none."""
LINK_METRICS = tuple(
    Metric(key, name, heading, unit, "link", definition) for key, name, heading, unit, definition in _LINKS
)
RUN_METRICS = tuple(
    Metric(key, name, heading, unit, "run", definition) for key, name, heading, unit, definition in _RUNS
)
NODE_METRICS = tuple(
    Metric(key, name, heading, unit, "node", definition) for key, name, heading, unit, definition in _NODES
)
METRICS = {metric.name: metric for metric in (*FLOW_METRICS, *LINK_METRICS, *RUN_METRICS, *NODE_METRICS)}
"""Every metric by the name of its column."""
NUMBERS = METRICS.keys() | {
    *("duration_s", "warmup_s", "packet_ms", "data_packets", "base_rtt_ms"),
    *("rate_mbps", "rate_mbps_mean", "limit_bytes", "limit_packets", "hops"),
    *("mean", "deviation", "ci95_low", "ci95_high"),
}
"""Columns that hold numbers, or nothing."""
BY_KEY = {metric.key: metric for metric in METRICS.values() if metric.of != "node"}
"""Every metric of flows, links and runs by its short name."""


@dataclass(frozen=True)
class Column:
    """A column that is no metric: what tells rows apart, or a sample of a time series."""

    name: str
    definition: str


_SERIES = dict(series_columns())
COLUMNS: dict[str, tuple[Column, ...]] = {
    "every table": (
        Column("run", "Number of the run, from 0."),
        Column(
            "AXIS", "Label of the run on an axis of the sweep, ordered (categorical); the column has the axis's name."
        ),
        Column(
            "AXIS_UNIT",
            "Where every label of an axis is a number with a unit: that number in base units, the unit at the end of "
            "the name: `_bps` (bit/s), `_s`, `_bytes`, `_packets`, `_bdp`, `_percent`, `_per_s`, `_ppm`, `_value` for "
            "numbers without a unit.",
        ),
        Column("repeat", "Number of the repeat of its cell, from 1; `unbloat sweep` only."),
        Column("seed", "Seed of the run's random draws."),
        Column("sound", "False for a run that the machine could not keep up with, or that has no result."),
    ),
    "runs": (
        Column("scenario", "Name of the scenario."),
        Column("on", "Backend: `simulator`, `kernel` or `vm`."),
        Column("kernel", "Release of the kernel whose TCP ran; empty in the simulator."),
        Column("duration_s", "How long the run lasted, warm-up included."),
        Column("unsound_because", "Why the run is unsound."),
        Column("version", "Version of unbloat."),
        Column("data_packets", "Data packets sent by all flows, warm-up included."),
        Column("packet_ms", "Transmission time of a full-sized packet at the bottleneck; empty without a fixed rate."),
        Column("warmup_s", "The first part of the run, which the statistics leave out."),
        Column("groups", "Number of flows in each group (`[[flows]]`) of the scenario, in its order."),
        Column("failed", "Why the run has no result; empty otherwise."),
    ),
    "flows": (
        Column("flow", "Number of the flow, from 0, group by group."),
        Column("cc", "Congestion control; that of a file is called by the file's name without `.bpf.c`."),
        Column("name", "Name of its group in the scenario; absent where none has one."),
        Column(
            "connected",
            "Whether the other end answered the flow's SYN before the run ended, also in the warm-up; empty for flows "
            "that send no SYN, such as calls.",
        ),
        Column(
            "base_rtt_ms",
            "Round-trip time of the empty path: propagation, and the mean delay of idle LTE cells, of which the least "
            "may be some milliseconds below.",
        ),
        Column("mesh", "Mesh that the flow comes from; absent where none does. Likewise `node` and `hops`."),
        Column("node", "Node of the mesh."),
        Column("hops", "How many hops that is from the border router."),
    ),
    "nodes": (
        Column("mesh", "Name of the mesh in the scenario."),
        Column("node", "Name of the node."),
        Column("parent", "The next node towards the border router; empty for the border router."),
        Column("hops", "How many hops the node is from the border router."),
    ),
    "links": (
        Column("link", "Name of the link in the scenario; `NAME.reverse` is its reverse direction."),
        Column("rate_mbps", "Rate of the link; empty if it varies, and on Wi-Fi."),
        Column(
            "rate_mbps_mean",
            "The same in the mean over the run; on Wi-Fi what the link carries at most, if nobody else transmits.",
        ),
        Column("queue_kind", "Kind of the queue, as the scenario calls it."),
        Column("limit_bytes", "Room for waiting packets; empty for a queue whose limit is counted otherwise."),
        Column("limit_packets", "The same in packets."),
    ),
    "stats": (
        Column("scenario", "Name of the scenario; where results have several. Likewise `on` and `kernel`."),
        Column(
            "of",
            "What the metric is of: `all flows`, `flow N` (up to 12 flows), or a link (of more than 12, those whose "
            "queues have a limit).",
        ),
        Column("metric", "Name of the metric's column."),
        Column("n", "Sound runs that have a value."),
        Column("mean", "Their mean."),
        Column("deviation", "Standard deviation of one run (n - 1 in the denominator); empty with fewer than two."),
        Column(
            "ci95_low",
            "Lower end of the 95 % confidence interval of the mean (Student's t); empty likewise, and where several "
            "settings are pooled.",
        ),
        Column("ci95_high", "Upper end."),
    ),
    "flow_series": tuple(Column(*each) for each in _SERIES["flows"]),
    "link_series": (
        *(Column(*each) for each in _SERIES["links"]),
        Column("capacity_mbps", "What the link could have transmitted in that step; empty for an access link."),
    ),
    "rtt_distribution": (
        Column("flow", "Number of the flow."),
        Column("upper_ms", "Upper edge of a bin of the histogram."),
        Column("count", "RTT samples after the warm-up above the bin before and at most `upper_ms`."),
    ),
    "queue_delay_distribution": (
        Column("link", "Name of the link."),
        Column("upper_ms", "Upper edge of a bin of the histogram."),
        Column("count", "Packets after the warm-up whose queueing delay lies in the bin, likewise."),
    ),
}  # fmt: skip
"""The other columns of each table."""


def metric_named(name: str) -> Metric:
    """Return a metric by its short name or its column; raises `InputError` that lists what there is."""
    by_heading = {re.sub(r"\W+", "_", metric.heading.lower()): key for key, metric in BY_KEY.items()}
    metric = BY_KEY.get(name) or METRICS.get(name) or BY_KEY.get(by_heading.get(name.lower(), ""))
    if metric is None:
        hint = did_you_mean(name, BY_KEY)
        raise InputError(f"unknown metric {name}{hint}; the metrics are {', '.join(sorted(BY_KEY))}")
    return metric


def metrics_of(run: Mapping[str, Any]) -> Iterator[tuple[str, Metrics]]:
    """Yield a run's metrics by what they are of: all flows, each flow where there are a few, each link."""
    flows = run["flows"]
    together = folded(flows)
    if len(flows) > 1:
        together["jain_index"] = run["jain_index"]
    yield ALL, together
    if 1 < len(flows) <= MANY:
        yield from ((f"flow {flow['flow']}", folded([flow])) for flow in flows)
    for link in links_listed(run):
        yield link["link"], {metric.name: link[metric.name] for metric in LINK_METRICS if metric.name in link}


def links_listed(run: Mapping[str, Any]) -> Sequence[Row]:
    """Return the links that statistics tell of: all, or where there are many those whose queues have a limit."""
    links: Sequence[Row] = run["links"]
    bounded = [link for link in links if is_bounded(link)]
    return links if len(links) <= MANY else bounded or links[:1]


def is_bounded(link: Row) -> bool:
    """Return whether a link's queue has a limit, which that of an access link has not unless it is given one."""
    return any(link.get(name) is not None for name in ("queue_percent_mean", "limit_bytes", "limit_packets"))


AHEAD = (
    "A goodput is above its throughput, and may be above the link's rate: data that had arrived behind a gap before "
    "the measured interval was delivered in it."
)
"""What is to be said where `is_ahead`."""


def is_ahead(run: Mapping[str, Any]) -> bool:
    """Return whether a flow delivered more in the interval that is measured than arrived in it."""
    pairs = ((flow["goodput_mbps"], flow.get("throughput_mbps")) for flow in run["flows"])
    return any(throughput is not None and goodput > throughput for goodput, throughput in pairs)


def is_there(flows: Sequence[Row], metric: Metric) -> bool:
    """Return whether any flow has this metric, be it empty."""
    return any(metric.name in flow for flow in flows)


def folded(flows: Sequence[Row]) -> Metrics:
    """Fold flows into one."""
    return {
        metric.name: metric.fold.of(flows, metric.name)
        for metric in FLOW_METRICS
        if metric.fold and (metric.name not in FELT or is_there(flows, metric))
    }
