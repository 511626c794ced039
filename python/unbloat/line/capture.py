"""What a packet capture of this computer shows of a line: how its connections fared, and samples for a fit."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from unbloat._core import InputError
from unbloat.comparison.trace import SYN, Flow, Packet, read
from unbloat.line.measurement import COLUMNS, DIRECTIONS, About, Direction, Measurement, PhaseName, measurement_of
from unbloat.report.table import Column, render

UNSEEN = (
    "A capture shows neither packets of other computers nor the line while it is empty.",
    "Its least round-trip time may contain a queue, and its rates leave out what others sent.",
)
"""What no capture shows."""
SEGMENT_BYTES = 1460
"""The largest payload of a segment; hosts capture several segments as one packet."""
STEP_S = 0.02
"""The time between the samples that stand for probes, each the least round-trip time within it."""
SAMPLE_S = 0.1
"""The time from one sample of the connections to the next."""
LEAST_BYTES = 100_000
"""Connections that carry less do not count as load."""
LEAST_SHARE = 0.02
"""Connections that carry less than this share of what the largest one does do not count as load."""
LEAST_SECONDS = 1.0
"""A load that lasts shorter shows too little."""


@dataclass
class Conversation:
    """One direction of a connection."""

    name: str
    """The two ends: this computer first."""
    direction: Direction
    times: list[float] = field(default_factory=list)
    """When the acknowledged bytes grew, in seconds since the capture began."""
    carried: list[int] = field(default_factory=list)
    """Payload bytes that were acknowledged by then."""
    sent: list[float] = field(default_factory=list)
    """When packets were sent whose round trips are known."""
    rtts_ms: list[float] = field(default_factory=list)
    """Round-trip times of the segments."""
    resent: list[float] = field(default_factory=list)
    """When segments came that this capture had seen already, or that a later one overtook."""
    data: list[float] = field(default_factory=list)
    """When the first and the last packet with data was seen."""

    @property
    def payload_bytes(self) -> int:
        """The payload that was acknowledged."""
        return self.carried[-1] if self.carried else 0

    @property
    def seconds(self) -> float:
        """The time from the first data to the last acknowledgement."""
        return self.times[-1] - self.data[0] if self.data and self.times else 0.0

    @property
    def goodput_mbps(self) -> float | None:
        """The rate of the acknowledged payload."""
        return self.payload_bytes * 8e-6 / self.seconds if self.seconds > 0 else None

    @property
    def least_rtt_ms(self) -> float | None:
        """The shortest round trip."""
        return min(self.rtts_ms, default=None)

    @property
    def added_ms(self) -> float | None:
        """The median of the round trips, beyond the shortest one."""
        return median(self.rtts_ms) - min(self.rtts_ms) if self.rtts_ms else None

    def samples(self, at: Sequence[float]) -> Iterator[tuple[float, float, float]]:
        """Yield the bytes, the smoothed round-trip time and the resent segments by each of these times."""
        place, smoothed = 0, math.nan
        for time in at:
            while place < len(self.sent) and self.sent[place] + self.rtts_ms[place] / 1e3 <= time:
                rtt = self.rtts_ms[place]
                smoothed = rtt if math.isnan(smoothed) else smoothed + (rtt - smoothed) / 8
                place += 1
            known = bisect_left(self.times, time + 1e-9)
            yield self.carried[known - 1] if known else 0, smoothed, bisect_left(self.resent, time + 1e-9)


def read_capture(path: Path) -> list[Conversation]:
    """Return both directions of the connections in a pcap or pcapng file, in the order of their first packets.

    Raises
    ------
    InputError
        The file is not a capture, or contains no TCP.

    """
    flows = read(path).flows
    end_ms = max(flow.until_ms for flow in flows)
    return [each for flow in flows for each in _conversations(flow, (end_ms - flow.until_ms) / 1e3)]


def _conversations(flow: Flow, begin_s: float) -> Iterator[Conversation]:
    """Yield the directions of a connection that carry data."""
    opener, other = flow.name.split(" > ")
    is_opener_here = _is_opener_here(flow)
    name = f"{opener} > {other}" if is_opener_here else f"{other} > {opener}"
    for direction in DIRECTIONS:
        is_forward = is_opener_here == (direction == "up")
        found = Conversation(name, direction)
        _follow_data(found, flow.packets, begin_s, is_forward)
        if not found.data:
            continue
        if direction == "up":
            _time_acknowledgements(found, flow.packets, begin_s, is_forward)
        else:
            _time_echoes(found, flow.packets, begin_s, is_forward)
        yield found


def _is_opener_here(flow: Flow) -> bool:
    """Return whether the end that opened the connection is near the capture: it answers sooner than the other one."""
    least: dict[bool, float] = {}
    for is_forward in (True, False):
        answers = Conversation("", "up")
        _time_acknowledgements(answers, flow.packets, 0.0, is_forward)
        _time_echoes(answers, flow.packets, 0.0, not is_forward)
        least[is_forward] = min(answers.rtts_ms, default=0.0)
    # The other end's answers to the opener take the whole way if the opener is here.
    return least[True] >= least[False]


def _follow_data(found: Conversation, packets: Sequence[Packet], begin_s: float, is_forward: bool) -> None:
    """Count acknowledged bytes, and segments that were sent again."""
    highest = acknowledged = None
    for packet in packets:
        now = begin_s + packet.at_ms / 1e3
        if packet.forward == is_forward and packet.payload:
            found.data = [found.data[0] if found.data else now, now]
            if highest is not None and packet.seq < highest:
                found.resent += [now] * -(-packet.payload // SEGMENT_BYTES)
            highest = max(packet.end, highest or 0)
            if acknowledged is None:
                acknowledged = packet.seq
        elif packet.forward != is_forward and acknowledged is not None and packet.ack > acknowledged:
            new = packet.ack - acknowledged
            acknowledged = packet.ack
            found.times.append(now)
            found.carried.append(found.payload_bytes + new)


def _time_acknowledgements(found: Conversation, packets: Sequence[Packet], begin_s: float, is_forward: bool) -> None:
    """Time packets until they are acknowledged, without those that were sent twice (RFC 6298, section 3)."""
    waiting: list[tuple[int, int, float]] = []
    highest = -1
    for packet in packets:
        now = begin_s + packet.at_ms / 1e3
        takes_room = packet.end > packet.seq
        if packet.forward == is_forward and takes_room:
            if packet.seq < highest:  # An acknowledgement from here on may be for either.
                waiting = [each for each in waiting if each[1] <= packet.seq]
            elif packet.payload or packet.flags & SYN:
                waiting.append((packet.seq, packet.end, now))
            highest = max(highest, packet.end)
        elif packet.forward != is_forward and waiting and packet.ack > waiting[0][0]:
            covered = [each for each in waiting if each[0] < packet.ack]
            waiting = waiting[len(covered) :]
            # The last packet that is covered caused the acknowledgement; earlier ones may have waited for it.
            found.sent.append(covered[-1][2])
            found.rtts_ms.append((now - covered[-1][2]) * 1e3)


def _time_echoes(found: Conversation, packets: Sequence[Packet], begin_s: float, is_forward: bool) -> None:
    """Time this computer's timestamps until data of the far end echoes them (RFC 7323, section 4)."""
    stamped: dict[int, float] = {}
    for packet in packets:
        now = begin_s + packet.at_ms / 1e3
        if packet.forward != is_forward:
            if packet.tsval is not None and packet.ack:
                stamped.setdefault(packet.tsval, now)
        elif packet.tsecr is not None and packet.tsecr in stamped and packet.payload:
            begun = stamped[packet.tsecr]
            found.sent.append(begun)
            found.rtts_ms.append((now - begun) * 1e3)
            # Later packets echo it as well, until the next one has come.
            stamped = {value: at for value, at in stamped.items() if at > begun}


def measurement_of_capture(path: Path) -> Measurement:
    """Return what a capture shows as the samples of a measurement: one phase of load, and the handshakes before.

    Raises
    ------
    InputError
        The file is not a capture, or no connection in it loads the line.

    """
    conversations = read_capture(path)
    loads = _loads(conversations)
    if not loads:
        raise InputError(
            f"{path}: no connection carries {LEAST_BYTES // 1000} kB or more: capture an upload or a download"
        )
    directions = {each.direction for each in loads}
    phase: PhaseName = "both" if len(directions) == 2 else loads[0].direction
    start, stop = _overlap([[each for each in loads if each.direction == way] for way in directions])
    if stop - start < LEAST_SECONDS:
        raise InputError(f"{path}: its load lasts {max(0.0, stop - start):.1f} s: capture a longer one")
    probes = _probes(phase, loads, start, stop)
    spans = [("idle", 0.0, start)] if "idle" in probes["phase"] else []
    names, starts, stops = zip(*spans, (phase, start, stop), strict=True)
    tables: dict[str, dict[str, list[object]]] = {
        "phases": {"phase": [*names], "start_s": [*starts], "stop_s": [*stops]},
        "probes": probes,
        "transfers": _transfers(phase, loads, start, stop),
    }
    small = len(conversations) - len(loads)
    notes = [*UNSEEN]
    if phase == "both":
        notes.append("Load in both directions at once does not show in which of them packets wait.")
    if small:
        notes.append(f"{small} directions of connections carried little and count as no load.")
    ends = sorted({each.name.split(" > ")[1].rpartition(":")[0] for each in loads})
    about = About(
        server=str(path),
        address=", ".join(ends[:3]),
        cc="cubic",
        sent_bytes=sum(each.payload_bytes for each in conversations if each.direction == "up"),
        received_bytes=sum(each.payload_bytes for each in conversations if each.direction == "down"),
        seconds=stop - start,
        is_capture=True,
        notes=tuple(notes),
    )
    return measurement_of(about, tables)


def capture_table(conversations: Sequence[Conversation]) -> str:
    """Write how each connection fared."""

    def cells(name: str, digits: int) -> list[object]:
        values = [getattr(each, name) for each in conversations]
        return [None if value is None else round(value, digits) for value in values]

    columns = [
        Column("connection", "", [each.name for each in conversations]),
        Column("way", "", [each.direction for each in conversations]),
        Column("carried", "MB", [round(each.payload_bytes / 1e6, 2) for each in conversations]),
        Column("goodput", "Mbit/s", cells("goodput_mbps", 2)),
        Column("least RTT", "ms", cells("least_rtt_ms", 1)),
        Column("added", "ms", cells("added_ms", 1)),
        Column("resent", "", [len(each.resent) for each in conversations]),
    ]
    return render(columns)


def _loads(conversations: Sequence[Conversation]) -> list[Conversation]:
    """Return the directions of connections that load the line."""
    most = max((each.payload_bytes for each in conversations), default=0)
    least = max(LEAST_BYTES, LEAST_SHARE * most)
    return [each for each in conversations if each.payload_bytes >= least]


def _overlap(groups: Sequence[Sequence[Conversation]]) -> tuple[float, float]:
    """Return the time in which a connection of each group carries data."""
    starts = [min(each.data[0] for each in group) for group in groups]
    stops = [max(each.data[-1] for each in group) for group in groups]
    return max(starts), min(stops)


def _probes(phase: PhaseName, loads: Sequence[Conversation], start: float, stop: float) -> dict[str, list[object]]:
    """Return the least round trip of each step of time, and the handshakes before the load."""
    least: dict[int, float] = {}
    idle = []
    for each in loads:
        for sent, rtt in zip(each.sent, each.rtts_ms, strict=True):
            step = math.floor((sent - start) / STEP_S)
            if sent < start:
                idle.append((sent, rtt))
            elif sent <= stop:
                least[step] = min(rtt, least.get(step, math.inf))
    rows = [("idle", *sample) for sample in sorted(idle)]
    rows += [(phase, start + step * STEP_S, least[step]) for step in sorted(least)]
    names, times, rtts = zip(*rows, strict=True) if rows else ((), (), ())
    missing = [math.nan] * len(rows)
    return {"phase": [*names], "sent_s": [*times], "rtt_ms": [*rtts], "up_ms": [*missing], "down_ms": [*missing]}


def _transfers(phase: PhaseName, loads: Sequence[Conversation], start: float, stop: float) -> dict[str, list[object]]:
    """Return samples of each connection, from its first data on."""
    rows: dict[str, list[object]] = {name: [] for name in COLUMNS["transfers"]}
    numbers = dict.fromkeys(DIRECTIONS, 0)
    grid = [start + SAMPLE_S * number for number in range(math.ceil((stop - start) / SAMPLE_S))]
    for each in loads:
        opened = max(start, each.data[0])
        at = [opened, *(time for time in grid if time > opened), stop]
        for time, (carried, rtt, resent) in zip(at, each.samples(at), strict=True):
            row = (phase, each.direction, float(numbers[each.direction]), time, float(carried), rtt, float(resent))
            for name, value in zip(rows, row, strict=True):
                rows[name].append(value)
        numbers[each.direction] += 1
    return rows
