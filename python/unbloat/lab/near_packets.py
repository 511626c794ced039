"""Times of requests on loaded connections, from the packets at the near end of an emulated line.

    python -m unbloat.lab.near_packets FILE        beside `unbloat line`, until a signal ends it

The program watches the near end's device. At the end it writes a table: for each connection with load and every 20 ms,
how long what was written then took. Uploads tell it alone. Downloads need the far end's clock, which its timestamps
tell if `net.ipv4.tcp_timestamps` is 2 there.
"""

from __future__ import annotations

import signal
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unbloat.line.streams import Stream
from unbloat.system.files import write_text

STEP_S = 0.02
"""The time between two requests in the table."""
LOAD_BYTES = 100_000
"""Connections that carry less do not count as load."""
TICK_S = 1e-3
"""The unit of TCP's timestamps."""
EVERY = 3
"""The protocol that a socket asks for to see what this end sends, too."""
TCP = 6
HEAD_BYTES = 120
"""The headers of IP and TCP fit in."""
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
"""Gives root a buffer beyond the system limit, which a fast line fills while this program waits for a processor."""
SOL_PACKET = 263
PACKET_STATISTICS = 6
STATISTICS_BYTES = 8
BUFFER_BYTES = 1 << 26
"""Packets that wait for this program take up to this room."""
SYN = 2


@dataclass(frozen=True)
class Segment:
    """A TCP packet at the near end."""

    time_s: float
    """The time of day."""
    is_out: bool
    """This end sent it."""
    port: int
    """This end's."""
    number: int
    """The sequence number."""
    payload: int
    answer: int
    """The acknowledged number."""
    ticks: int | None
    """The sender's timestamp."""
    opens: bool = False
    """A connection begins, perhaps on a port that an earlier one had."""


def segment(time_s: float, is_out: bool, packet: bytes) -> Segment | None:
    """Read an IPv4 packet, of which the headers suffice; None if it has no TCP."""
    ip_bytes = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or packet[9] != TCP or len(packet) < ip_bytes + 20:
        return None
    total = int.from_bytes(packet[2:4], "big")
    source, target, number, answer, offset, flags = struct.unpack_from(">HHIIBB", packet, ip_bytes)
    head = (offset >> 4) * 4
    ticks = _timestamp(packet[ip_bytes + 20 : ip_bytes + head])
    port, payload = source if is_out else target, total - ip_bytes - head
    return Segment(time_s, is_out, port, number, payload, answer, ticks, opens=bool(flags & SYN))


def _timestamp(options: bytes) -> int | None:
    """Return the timestamp among the options of TCP."""
    at = 0
    while at < len(options) and options[at] != 0:
        if options[at] == 1:
            at += 1
        elif options[at] == 8 and at + 6 <= len(options):
            return int.from_bytes(options[at + 2 : at + 6], "big")
        else:
            at += max(2, options[at + 1] if at + 1 < len(options) else 2)
    return None


@dataclass
class _Half:
    """One direction of a connection: positions in its stream, when they were sent, and when all before was there."""

    first: int | None = None
    sent_s: list[float] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    there_s: list[float] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    early: dict[int, int] = field(default_factory=dict)
    """Segments that wait for one before them: their ends by their beginnings."""

    def place(self, number: int) -> int:
        """Return a position in the stream."""
        if self.first is None:
            self.first = number
        return (number - self.first) % (1 << 32)

    def sends(self, time_s: float, end: int) -> None:
        """Note new data."""
        if end < 1 << 31 and end > (self.ends[-1] if self.ends else 0):
            self.sent_s.append(time_s)
            self.ends.append(end)

    def is_there(self, time_s: float, position: int) -> None:
        """Note that all data before a position is there."""
        if position < 1 << 31 and position > (self.positions[-1] if self.positions else 0):
            self.there_s.append(time_s)
            self.positions.append(position)

    def arrives(self, time_s: float, start: int, end: int) -> None:
        """Note a segment, which fills a gap, or comes too early."""
        known = self.positions[-1] if self.positions else 0
        if start > known:
            self.early[start] = max(end, self.early.get(start, 0))
            return
        known = max(known, end)
        for begin in sorted(self.early):
            if begin > known:
                break
            known = max(known, self.early.pop(begin))
        self.is_there(time_s, known)

    def stream(self) -> Stream:
        """Return what was noted."""
        import numpy as np

        return Stream(*(np.array(each, float) for each in (self.sent_s, self.ends, self.there_s, self.positions)))


Times = tuple[str, float, float]
"""The direction of a request, when it began, in s, and how long it took, in ms."""
COLUMNS = "direction,time_s,delay_ms\n"


def times_of(segments: Iterable[Segment]) -> Iterator[Times]:
    """Return how long requests take on each loaded connection.

    Those of uploads are round trips. Those of downloads are one-way, beyond the least delay of any packet.
    """
    # Pandas would take longer to load in a guest than all the rest.
    import numpy as np

    up: list[_Half] = []
    down: list[_Half] = []
    places: dict[int, int] = {}
    apart_s = np.inf
    for each in segments:
        if each.opens:
            places.pop(each.port, None)
            continue
        if each.port not in places:
            places[each.port] = len(up)
            up.append(_Half())
            down.append(_Half())
        out, back = (halves[places[each.port]] for halves in (up, down))
        if each.is_out:
            end = out.place(each.number) + each.payload
            if each.payload:
                out.sends(each.time_s, end)
            continue
        out.is_there(each.time_s, out.place(each.answer))
        if each.ticks is not None:
            apart_s = min(apart_s, each.time_s - each.ticks * TICK_S)
        start = back.place(each.number)
        if each.payload and each.ticks is not None:
            # A tick is over half a tick later in the mean.
            back.sends((each.ticks + 0.5) * TICK_S, start + each.payload)
            back.arrives(each.time_s, start, start + each.payload)
    for direction, halves, clock_s in (("up", up, 0.0), ("down", down, apart_s)):
        for half in halves:
            if not half.ends or half.ends[-1] < LOAD_BYTES or not half.positions:
                continue
            stream = half.stream()
            at_s = np.arange(stream.sent_s[0], stream.sent_s[-1], STEP_S)
            delays = stream.delays_ms(at_s) - 1e3 * clock_s
            for time_s, delay_ms in zip(at_s + clock_s, delays, strict=True):
                if np.isfinite(delay_ms):
                    yield direction, float(time_s), float(delay_ms)


class UnseenError(Exception):
    """Packets that passed while this program had no room for them."""


class _EndError(Exception):
    """A signal that ends the program."""


def _end(*_: object) -> None:
    raise _EndError


def listening() -> socket.socket:
    """Return a socket that gets all packets of this computer with their times, and has much room for them."""
    device = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERY))
    device.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    device.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    return device


def watch(file: Path) -> None:
    """Note packets until a signal comes, and write the table."""
    with listening() as device:
        signal.signal(signal.SIGTERM, _end)
        found: list[tuple[bytes, bytes, bool]] = []
        try:
            while True:
                packet, notes, _, (_, _, kind, *_) = device.recvmsg(HEAD_BYTES, 64)
                found.append((packet, notes[0][2], kind == socket.PACKET_OUTGOING))
        except _EndError:
            require_all(device.getsockopt(SOL_PACKET, PACKET_STATISTICS, STATISTICS_BYTES))
    # Packets are read when no more come, so that reading them delays nothing.
    segments = (segment(_time_s(time), is_out, packet) for packet, time, is_out in found)
    rows = (
        f"{direction},{time_s:.4f},{delay_ms:.4f}\n"
        for direction, time_s, delay_ms in times_of(each for each in segments if each)
    )
    write_text(file, COLUMNS + "".join(rows))


def require_all(statistics: bytes) -> None:
    """Raise UnseenError if the kernel's count of packets has any for which there was no room.

    A packet that went unseen looks like one that never came, behind which all later ones wait.
    """
    _, unseen = struct.unpack("II", statistics)
    if unseen:
        raise UnseenError(f"{unseen} packets went unseen")


def _time_s(time: bytes) -> float:
    seconds, nanos = struct.unpack("qq", time[:16])
    return float(seconds + nanos / 1e9)


if __name__ == "__main__":
    try:
        watch(Path(sys.argv[1]))
    except UnseenError as error:
        print(f"unsound: {error}", file=sys.stderr)
        sys.exit(1)
