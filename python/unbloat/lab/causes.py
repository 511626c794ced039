"""Why two traces part at a packet, as far as the packets around it show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unbloat.comparison.trace import CWR, ECE, SYN, Packet

TIMER_MS = 0.6
"""A data packet so long after the packet before it was not sent because of that one."""
RTO_LEAST_MS = 200.0
"""TCP_RTO_MIN: no retransmission timeout comes sooner after the last transmission."""


@dataclass(frozen=True)
class Cause:
    """A class of differences, and what makes this one belong to it."""

    kind: str
    text: str


@dataclass(frozen=True)
class Side:
    """One of two traces of a flow, seen from where they part."""

    name: str
    packets: Sequence[Packet]
    at: int

    @property
    def before(self) -> Sequence[Packet]:
        """The packets before that place."""
        return self.packets[: self.at]

    @property
    def next(self) -> Packet | None:
        """The packet that is not the same; none if the trace has ended."""
        return self.packets[self.at] if self.at < len(self.packets) else None

    @property
    def burst(self) -> list[Packet]:
        """The data packets that are sent from here on before the next acknowledgement comes."""
        burst = []
        for packet in self.packets[self.at :]:
            if not packet.forward:
                break
            burst.append(packet)
        return burst

    @property
    def highest(self) -> int:
        """The end of all data sent before."""
        return max((packet.end for packet in self.before if packet.forward), default=0)

    @property
    def acknowledged(self) -> int:
        """The highest acknowledgement that has come before."""
        return max((packet.ack for packet in self.before if not packet.forward), default=0)

    def was_sent_before(self, packet: Packet) -> bool:
        """Return whether a data packet was sent before."""
        return packet.forward and packet.payload > 0 and packet.seq < self.highest

    def by_timer(self) -> bool:
        """Return whether the next packet is data that no packet just before it has triggered."""
        packet = self.next
        if packet is None or not packet.forward or not packet.payload or not self.at:
            return False
        return packet.at_ms - self.packets[self.at - 1].at_ms > TIMER_MS

    def handshake_ms(self) -> float:
        """Return the time from the last SYN to the answer: no round trip of the flow is shorter."""
        answer = next((packet.at_ms for packet in self.packets if not packet.forward), 0.0)
        syns = [packet.at_ms for packet in self.packets if packet.forward and packet.flags & SYN]
        return answer - max((at_ms for at_ms in syns if at_ms < answer), default=answer)

    def since_last_sent_ms(self) -> float:
        """Return the time from the last data sent to the next packet, ms."""
        sent = [packet.at_ms for packet in self.before if packet.forward]
        return self.packets[self.at].at_ms - sent[-1] if sent else 0.0


@dataclass(frozen=True)
class Split:
    """The place at which two traces part."""

    a: Side
    b: Side
    fields: tuple[str, ...]
    """Names of the fields that differ, as in `Difference`."""

    @property
    def packets(self) -> tuple[Packet, Packet]:
        """The packets that are not the same, where neither trace has ended."""
        return self.a.packets[self.a.at], self.b.packets[self.b.at]

    def sides(self) -> tuple[tuple[Side, Side], tuple[Side, Side]]:
        """Return both traces in either order: a test of a cause looks at one against the other."""
        return (self.a, self.b), (self.b, self.a)


def cause_of(split: Split, shift_ms: float | None) -> Cause:
    """Return the first cause that fits; `shift_ms` is how much later B was before, if that was much."""
    for recognise in RECOGNISERS:
        if reason := recognise(split):
            break
    else:
        reason = Cause("not recognised", "no known reason fits")
    if shift_ms is None:
        return reason
    when = "later" if shift_ms > 0 else "earlier"
    return Cause(reason.kind, f"{reason.text}; B's packets had come {abs(shift_ms):.3f} ms {when} before")


Recogniser = Callable[[Split], Cause | None]


def handshake(split: Split) -> Cause | None:
    """Recognise connections that were opened differently."""
    for one, _ in split.sides():
        if one.next and one.next.flags & SYN:
            return Cause("handshake", f"{one.name} has a packet of the handshake here")
    return None


def ended(split: Split) -> Cause | None:
    """Recognise a trace that has no more packets."""
    for one, other in split.sides():
        if one.next is None and other.next is not None:
            what = "data" if other.next.forward else "an acknowledgement"
            return Cause("end", f"{one.name} has ended, {other.name} goes on with {what}")
    return None


def window(split: Split) -> Cause | None:
    """Recognise packets of which only the offered windows differ."""
    if split.fields != ("window",):
        return None
    a, b = split.packets
    return Cause("window only", f"only the window differs: {a.window} against {b.window} bytes")


def congestion_mark(split: Split) -> Cause | None:
    """Recognise an ECN mark on one side only, its echo, or the answer to it."""
    if split.fields != ("flags",):
        return None
    a, b = split.packets
    if (a.flags ^ b.flags) & (ECE | CWR):
        return Cause("ECN", f'only the flags differ: "{a.marks}" against "{b.marks}"')
    return Cause("flags", f'only flags or the ECN field differ: "{a.marks}" against "{b.marks}"')


def timer(split: Split) -> Cause | None:
    """Recognise a packet that a timer sent: a timeout, a tail loss probe, or RACK's timer."""
    for one, other in split.sides():
        packet = one.next
        if packet is None or not one.by_timer() or other.by_timer():
            continue
        waited = one.since_last_sent_ms()
        after = f"{packet.seq}, {waited:.1f} ms after it last sent"
        if not one.was_sent_before(packet):
            # RFC 8985, section 7.2: a probe comes two smoothed RTTs after the last segment, or later.
            is_probe = one.acknowledged < one.highest and waited >= 2 * one.handshake_ms()
            kind = "TLP in one only" if is_probe else "application or pacing"
            return Cause(kind, f"{one.name} sends new data {after}, and {other.name} does not")
        if packet.end == one.highest and packet.seq != one.acknowledged:
            return Cause("TLP in one only", f"{one.name} sends its last segment again, {after}")
        if packet.seq == one.acknowledged and waited >= RTO_LEAST_MS:
            return Cause("RTO in one only", f"{one.name} sends the first outstanding segment again, {after}")
        if packet.end == one.highest:
            return Cause("TLP in one only", f"{one.name} sends its last segment again, {after}")
        return Cause("RACK timer in one only", f"{one.name} sends a segment again, {after}")
    return None


def timers_differ(split: Split) -> Cause | None:
    """Recognise packets that timers sent on both sides, but different ones."""
    if not (split.a.by_timer() and split.b.by_timer()):
        return None
    words = []
    for side in (split.a, split.b):
        packet = side.packets[side.at]
        what = "again" if side.was_sent_before(packet) else "new"
        words.append(f"{side.name} sends {packet.seq} ({what}) after {side.since_last_sent_ms():.1f} ms")
    return Cause("other segment by a timer", "; ".join(words))


def acknowledgement(split: Split) -> Cause | None:
    """Recognise acknowledgements that differ."""
    a, b = split.a, split.b
    ack_a, ack_b = a.next, b.next
    if ack_a is None or ack_b is None or ack_a.forward or ack_b.forward:
        return None
    if ack_a.ack != ack_b.ack and not ack_a.sack and not ack_b.sack:
        return delayed(a, b, ack_a, ack_b)
    if (ack_a.ack, ack_a.sack) == (ack_b.ack, ack_b.sack):
        return None
    if bool(ack_a.sack) != bool(ack_b.sack) and ack_a.ack != ack_b.ack:
        one, two = (a, ack_a) if ack_a.sack else (b, ack_b)
        return Cause("loss in one only", f"{one.name} lacks {two.ack}, and the other acknowledges it")
    if ack_a.ack != ack_b.ack:
        return Cause("delayed ACK in recovery", f"A acknowledges {ack_a.ack}, B {ack_b.ack}, both with holes")
    edges = [max((edge for _, edge in ack.sack), default=0) for ack in (ack_a, ack_b)]
    if edges[0] != edges[1]:
        return Cause("SACK compression", f"A reports data up to {edges[0]}, B up to {edges[1]} in the same place")
    if set(ack_a.sack) == set(ack_b.sack):
        return Cause("order of SACK blocks", "the SACK blocks are the same in another order")
    return Cause("SACK blocks", "A and B report other blocks below the same highest one")


def delayed(a: Side, b: Side, ack_a: Packet, ack_b: Packet) -> Cause:
    """Recognise acknowledgements that were delayed differently, both sides having received the same."""
    taken = [ack.ack - side.acknowledged for side, ack in ((a, ack_a), (b, ack_b))]
    words = f"the receiver acknowledges {taken[0]} bytes at once in A, {taken[1]} in B"
    return Cause("delayed ACK", f"{words} ({ack_a.at_ms:.3f} and {ack_b.at_ms:.3f} ms)")


def answer(split: Split) -> Cause | None:
    """Recognise a pure acknowledgement that the sender of the data sends on one side only."""
    for one, other in split.sides():
        packet = one.next
        if packet is None or not packet.forward or not packet.is_pure_ack:
            continue
        if other.next is None or not (other.next.forward and other.next.is_pure_ack):
            text = f"{one.name}'s sender answers a packet by an acknowledgement of its own, {other.name}'s does not"
            return Cause("answer in one only", text)
    return None


def retransmission(split: Split) -> Cause | None:
    """Recognise a retransmission of another segment, or one where the other side sends new data."""
    a, b = split.packets
    if not (a.forward and b.forward) or a.seq == b.seq:
        return None
    again = [side.was_sent_before(packet) for side, packet in ((split.a, a), (split.b, b))]
    if all(again):
        return Cause("retransmission of another segment", f"A sends {a.seq} again, B {b.seq}")
    for one, packet, other in ((split.a, a, b), (split.b, b, a)):
        if one.was_sent_before(packet):
            return Cause(
                "retransmission in one only", f"{one.name} sends {packet.seq} again, the other new {other.seq}"
            )
    return Cause("other new data", f"A sends {a.seq}, B {b.seq}")


def length(split: Split) -> Cause | None:
    """Recognise segments at the same place in the stream with different lengths."""
    a, b = split.packets
    if a.forward and b.forward and a.seq == b.seq and a.payload != b.payload:
        return Cause("length of a segment", f"{a.payload} against {b.payload} bytes at {a.seq}")
    return None


def burst(split: Split) -> Cause | None:
    """Recognise a side that sends more than the other upon the same acknowledgement."""
    for one, other in split.sides():
        if one.next is None or other.next is None or not one.next.forward or other.next.forward:
            continue
        if one.was_sent_before(one.next):
            return Cause("retransmission in one only", f"{one.name} sends {one.next.seq} again, the other nothing")
        more = len(one.burst)
        return Cause("more sent on an acknowledgement", f"{one.name} sends {more} new segments that the other does not")
    return None


RECOGNISERS: tuple[Recogniser, ...] = (
    handshake,
    ended,
    window,
    congestion_mark,
    answer,
    timers_differ,
    timer,
    length,
    retransmission,
    acknowledgement,
    burst,
)
"""Asked one after the other; the first that answers is right."""
