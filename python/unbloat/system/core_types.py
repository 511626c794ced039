"""Types of the dictionaries that the compiled core returns."""

from __future__ import annotations

from typing import Literal, TypedDict, final


class RecordMetric(TypedDict):
    """A column that is a number to judge runs by."""

    key: str
    """The short name in claims, tolerances and options."""
    heading: str
    unit: str
    fold: str | None
    """The name in `folds` of how several flows make one number; None for what no flow has."""
    most: float | None
    """The largest possible value."""
    on: Literal["all", "simulator", "real_tcp"]
    """The backends that count it."""


class RecordColumn(TypedDict):
    """A column of a table of records."""

    name: str
    kind: Literal["text", "flag", "integer", "number", "integers"]
    is_optional: bool
    """Whether a row may have None there."""
    is_rare: bool
    """Whether a row may lack the column."""
    definition: str
    metric: RecordMetric | None


class ScenarioKey(TypedDict):
    """A key of the scenario file."""

    section: str
    """The table that holds it; empty for the top of the file."""
    name: str
    kind: str | dict[Literal["choice"], list[str]]
    absence: str | dict[Literal["default", "means"], str]
    """`required`, the value that counts without the key, or words."""
    range: str
    """Least and most, such as `1ms..1h`; empty if the kind has no bounds."""
    meaning: str


@final
class Parameter(TypedDict):
    """A parameter that a mechanism declares."""

    name: str
    about: str
    kind: str
    default: str
    lowest: str
    highest: str


class Mechanism(TypedDict):
    """A congestion control, a window controller or a classifier."""

    name: str
    about: str
    prose: str
    """The comment that opens its file."""
    parameters: list[Parameter]


class FlowNow(TypedDict):
    """A flow at a step of a series."""

    flow: int
    cwnd_packets: int
    ssthresh_packets: int | None
    in_flight_packets: int
    rtt_ms: float | None
    srtt_ms: float | None
    goodput_mbps: float
    retransmitted_packets: int
    wmem_queued_bytes: int | None
    sndbuf_bytes: int | None


class LinkNow(TypedDict):
    """A direction of a link at a step of a series."""

    link: str
    queue_bytes: int
    queue_packets: int
    ring_bytes: int | None
    bql_limit_bytes: int | None
    drops: int
    throughput_mbps: float
    capacity_mbps: float | None


class Step(TypedDict):
    """A step of a series."""

    time_s: float
    flows: list[FlowNow]
    links: list[LinkNow]


class LoadedControl(TypedDict):
    """A congestion control that `kernel_load` put into the kernel."""

    name: str
    source: str
    parameters: list[tuple[str, str]]
    default_before: str | None
    """The default of new connections that it replaced."""


class UnloadedControl(TypedDict):
    """The changes that unloading a congestion control made."""

    name: str
    draining: int
    """Sockets that keep it until they close."""
    default_now: str | None
    """The default of new connections, if it had been this congestion control."""
    default_is_restored: bool
    cgroups: list[str]
    """Control groups whose new connections no longer get it."""


class Attachment(TypedDict):
    """A control group and the congestion control of its new connections."""

    control: str
    cgroup: str


class Calls(TypedDict):
    """The calls of one function of a congestion control while they were counted."""

    callback: str
    calls: int
    ns_per_call: float | None


class ControlStatus(TypedDict):
    """A congestion control in the kernel."""

    name: str
    held_by: Literal["pin", "process", "kernel", "nobody", "sockets"]
    source: str | None
    parameters: list[tuple[str, str]] | None
    sockets: int | None
    is_default: bool
    cgroups: list[str]
    callbacks: list[Calls]


class WindowTarget(TypedDict):
    """The connections whose ACKs a window controller rewrites; None stands for all."""

    port: int | None
    dest: str | None
    cgroup: str | None
    router: bool
    """Whether forwarded connections count, too."""


class AtDevice(TypedDict):
    """A mechanism at a device."""

    device: str
    source: str
    parameters: list[tuple[str, str]]
    made_clsact: bool
    index: int
    namespace: int


class LoadedWindow(AtDevice):
    """A window controller that `kernel_load_window` put onto a device."""

    target: WindowTarget


class PreviousDiscipline(TypedDict):
    """The queue discipline that comes back when a classifier goes."""

    kind: str
    options: list[int] | None


class LoadedClassifier(AtDevice):
    """A classifier that `kernel_load_classifier` put onto a device."""

    rate_bps: int | None
    before: PreviousDiscipline | None
    sorts_nothing: bool
    """Whether the device takes every packet at once, so that no packet waits to be sorted."""


class UnloadedAtDevice(TypedDict):
    """A device and the mechanism that it no longer has."""

    device: str
    source: str


WindowFlow = TypedDict(
    "WindowFlow",
    {
        "from": str,
        "to": str,
        "rtt_ms": float | None,
        "base_rtt_ms": float | None,
        "queue_bytes": int | None,
        "offered_bytes": int,
        "window_bytes": int,
        "idle_s": float,
    },
)
"""A connection that a window controller has seen."""

ClassifiedFlow = TypedDict(
    "ClassifiedFlow",
    {
        "from": str,
        "to": str,
        "wmem_queued_bytes": int,
        "sndbuf_bytes": int,
        "occupancy_percent": float | None,
        "band": int,
        "idle_s": float,
    },
)
"""A connection that a classifier has seen."""


class WindowStatus(WindowTarget):
    """A window controller at a device, with its connections, the latest first."""

    device: str
    source: str
    parameters: list[tuple[str, str]]
    flows: list[WindowFlow]


class BandCount(TypedDict):
    """A queue of a classifier's device since it was loaded."""

    band: int
    packets: int
    bytes: int
    dropped: int
    delay_ms_mean: float | None
    delay_ms_max: float | None


class ClassifierStatus(TypedDict):
    """A classifier at a device, with its queues, and its connections, the latest first."""

    device: str
    source: str
    parameters: list[tuple[str, str]]
    rate_bps: int | None
    before: str | None
    bands: list[BandCount]
    flows: list[ClassifiedFlow]


class Check(TypedDict):
    """Something that this machine has or lacks."""

    what: str
    needed_for: str
    there: bool | None
    """None where finding out takes root's rights."""
    optional: bool
    found: str
    remedy: str | None
