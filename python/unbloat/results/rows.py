"""The rows of results: runs with their flows, links and nodes, as `unbloat run --json` prints them.

The core's register declares the columns; `REGENERATE=1 pytest tests/test_metrics.py -k rows` writes this file from it.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Flow(TypedDict):
    """A flow of a run."""

    flow: int
    cc: str
    goodput_mbps: float
    throughput_mbps: float
    sent_packets: int
    lost_packets: int
    retransmitted_packets: int
    timeouts: int
    loss_events: NotRequired[int | None]
    wait_ms_mean: NotRequired[float | None]
    loss_percent: float | None
    connected: NotRequired[bool | None]
    cwnd_packets_mean: float
    completion_s: float | None
    rtt_ms_mean: float | None
    rtt_ms_min: float | None
    rtt_ms_p50: float | None
    rtt_ms_p95: float | None
    rtt_ms_p99: float | None
    rtt_ms_max: float | None
    receiver_rtt_ms_mean: float | None
    wmem_queued_bytes_mean: NotRequired[float | None]
    sndbuf_percent_mean: NotRequired[float | None]
    sndbuf_percent_p10: NotRequired[float | None]
    sndbuf_percent_p25: NotRequired[float | None]
    sndbuf_percent_p50: NotRequired[float | None]
    sndbuf_percent_p75: NotRequired[float | None]
    sndbuf_percent_p90: NotRequired[float | None]
    sndbuf_half_full_percent: NotRequired[float | None]
    sndbuf_half_full_after_s: NotRequired[float | None]
    buffered_windows_mean: NotRequired[float | None]
    buffered_windows_p10: NotRequired[float | None]
    buffered_windows_p25: NotRequired[float | None]
    buffered_windows_p50: NotRequired[float | None]
    buffered_windows_p75: NotRequired[float | None]
    buffered_windows_p90: NotRequired[float | None]
    delay_ms_mean: NotRequired[float | None]
    delay_ms_p50: NotRequired[float | None]
    delay_ms_p95: NotRequired[float | None]
    delay_ms_p99: NotRequired[float | None]
    delay_ms_max: NotRequired[float | None]
    rating: NotRequired[float | None]
    rating_out: NotRequired[float | None]
    rating_in: NotRequired[float | None]
    opinion_score: NotRequired[float | None]
    response_ms_mean: NotRequired[float | None]
    response_ms_p50: NotRequired[float | None]
    response_ms_p95: NotRequired[float | None]
    response_ms_p99: NotRequired[float | None]
    response_ms_max: NotRequired[float | None]
    page_load_s_mean: NotRequired[float | None]
    page_load_s_p50: NotRequired[float | None]
    page_load_s_p95: NotRequired[float | None]
    page_load_s_p99: NotRequired[float | None]
    page_load_s_max: NotRequired[float | None]
    startup_s: NotRequired[float | None]
    stalls: NotRequired[int | None]
    stalled_percent: NotRequired[float | None]
    bitrate_mbps_mean: NotRequired[float | None]
    quality_switches: NotRequired[int | None]
    unfinished: NotRequired[int | None]
    skipped: NotRequired[int | None]
    name: NotRequired[str | None]
    base_rtt_ms: float
    mesh: NotRequired[str | None]
    node: NotRequired[str | None]
    hops: NotRequired[int | None]


class Link(TypedDict):
    """A direction of a link."""

    link: str
    drops: int
    wire_losses: int
    duplicates: NotRequired[int | None]
    retries: NotRequired[int | None]
    marks: int
    utilisation_percent: float
    queue_percent_mean: float | None
    queue_bytes_mean: float
    queue_delay_ms_mean: float | None
    queue_delay_ms_p50: float | None
    queue_delay_ms_p95: float | None
    queue_delay_ms_p99: float | None
    queue_delay_ms_max: float | None
    rate_mbps: float | None
    rate_mbps_mean: float | None
    queue_kind: str | None
    limit_bytes: int | None
    limit_packets: int | None


class Node(TypedDict):
    """A node of a mesh."""

    mesh: str
    node: str
    parent: str | None
    hops: int
    overflows: int
    frames: int
    frame_retries: int
    channel_failures: int
    unacknowledged: int
    transmit_s: float
    listen_s: float
    sleep_s: float
    down_s: float
    energy_mj: float


class Run(TypedDict):
    """A run with its rows."""

    scenario: str
    on: str
    kernel: str | None
    seed: int
    duration_s: float
    jain_index: float | None
    sound: bool
    unsound_because: str | None
    lateness_us_p99: float | None
    cpu_idle_percent: float | None
    version: str
    data_packets: int
    packet_ms: float | None
    warmup_s: float
    groups: list[int]
    repeat: NotRequired[int]
    """Number of the repeat of its grid point, from 1."""
    flows: list[Flow]
    links: list[Link]
    nodes: NotRequired[list[Node]]
