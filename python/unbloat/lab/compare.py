"""The first packet in which two runs of one scenario differ, flow by flow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from unbloat._core import InputError
from unbloat.lab import trace
from unbloat.lab.causes import Cause, Split, cause_of
from unbloat.lab.trace import Flow, Packet, Trace

FIELDS = ("seq", "ack", "sack", "window", "flags")
"""Fields of a packet that are compared, besides its direction and its place in the order of both directions."""
BEFORE = 10
"""Packets shown before a difference."""
SHIFT_MS = 1.0
"""Smallest shift in time between the traces that is reported, ms."""


@dataclass(frozen=True)
class Shift:
    """The first packet whose time in one trace is far from that in the other."""

    place: int
    """In the order of the compared packets."""
    a: Packet
    b: Packet

    @property
    def ms(self) -> float:
        """How much later B's packet is, ms."""
        return self.b.at_ms - self.a.at_ms


@dataclass(frozen=True)
class Difference:
    """The first packet that is not the same."""

    place: int
    """In the order of the compared packets."""
    fields: tuple[str, ...]
    """Names from `FIELDS` that differ; "order" if the packets go opposite ways, "end" if one trace has no more."""
    split: Split
    reason: Cause

    @property
    def at_ms(self) -> float:
        """When it is, by the clock of the flow; where both have a packet, the earlier one."""
        packets = (side.next for side in (self.split.side_a, self.split.side_b))
        return min(packet.at_ms for packet in packets if packet)


@dataclass(frozen=True)
class FlowComparison:
    """A flow of A compared with one of B."""

    a: Flow
    b: Flow
    compared: int
    """Packets that are the same in both from the start on."""
    difference: Difference | None
    shift: Shift | None
    """Before the difference, if there is one."""


@dataclass(frozen=True)
class Comparison:
    """Two traces."""

    names: tuple[str, str]
    fields: tuple[str, ...]
    flows: list[FlowComparison]
    unmatched: tuple[list[Flow], list[Flow]]
    """Flows that only A has, and that only B has."""
    at_senders: tuple[bool, bool]

    @property
    def is_same(self) -> bool:
        """Return whether nothing differs."""
        return not any(self.unmatched) and all(flow.difference is None for flow in self.flows)


def parse_fields(text: str) -> tuple[str, ...]:
    """Read a list such as `seq,ack`; raises `InputError`."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in FIELDS:
            raise InputError(f'fields: "{word}" is no field: there are {", ".join(FIELDS)}')
    return tuple(field for field in FIELDS if field in words)


def compare_files(a: Path, b: Path, fields: Collection[str] = FIELDS) -> Comparison:
    """Read two traces and compare them."""
    return compare(trace.read(a), trace.read(b), fields, (str(a), str(b)))


def compare(a: Trace, b: Trace, fields: Collection[str] = FIELDS, names: tuple[str, str] = ("A", "B")) -> Comparison:
    """Compare the flows of two traces."""
    pairs, unmatched = matched(a.flows, b.flows)
    chosen = tuple(field for field in FIELDS if field in fields)
    flows = [compare_flows(of_a, of_b, chosen) for of_a, of_b in pairs]
    return Comparison(names, chosen, flows, unmatched, (a.at_senders, b.at_senders))


def matched(a: Sequence[Flow], b: Sequence[Flow]) -> tuple[list[tuple[Flow, Flow]], tuple[list[Flow], list[Flow]]]:
    """Pair flows by their numbers in the scenario; without those by their addresses and ports where these are the same.

    Else only the order of SYNs is left, which delays on the way to the trace may change. Gives the pairs, and what only
    one of the traces has.
    """
    of_a, of_b = ({flow.number: flow for flow in flows if flow.number is not None} for flows in (a, b))
    if len(of_a) == len(a) and len(of_b) == len(b):
        pairs = [(flow, of_b[number]) for number, flow in sorted(of_a.items()) if number in of_b]
        only = [[flow for flow in flows if flow.number not in other] for flows, other in ((a, of_b), (b, of_a))]
        return pairs, (only[0], only[1])
    by_name = {flow.name: flow for flow in b}
    if len(by_name) == len(b) and {flow.name for flow in a} == set(by_name):
        return [(flow, by_name[flow.name]) for flow in a], ([], [])
    common = min(len(a), len(b))
    return list(zip(a, b, strict=False)), (list(a[common:]), list(b[common:]))


def compare_flows(a: Flow, b: Flow, fields: Collection[str] = FIELDS, shift_ms: float = SHIFT_MS) -> FlowComparison:
    """Find the first difference, and the first time shift of more than `shift_ms` before it."""
    of_a, of_b = compared_indices(a, fields), compared_indices(b, fields)
    shift = None
    for place, (at_a, at_b) in enumerate(zip(of_a, of_b, strict=False)):
        first, second = a.packets[at_a], b.packets[at_b]
        if different := differing(first, second, fields):
            return FlowComparison(a, b, place, difference(a, b, place, different, (at_a, at_b), shift), shift)
        if shift is None and abs(second.at_ms - first.at_ms) > shift_ms:
            shift = Shift(place, first, second)
    common = min(len(of_a), len(of_b))
    rest = [a.packets[place] for place in of_a[common:]] or [b.packets[place] for place in of_b[common:]]
    if rest and not is_cut_off(rest[0], a, b):
        at = (next_or_end(of_a, common, a), next_or_end(of_b, common, b))
        return FlowComparison(a, b, common, difference(a, b, common, ("end",), at, shift), shift)
    return FlowComparison(a, b, common, None, shift)


def compared_indices(flow: Flow, fields: Collection[str]) -> list[int]:
    """Return the indices of the packets to compare; pure ACKs are left out unless a field of theirs is compared."""
    if {"ack", "sack", "window"} & set(fields):
        return list(range(len(flow.packets)))
    return [place for place, packet in enumerate(flow.packets) if not packet.is_pure_ack]


def differing(a: Packet, b: Packet, fields: Collection[str]) -> tuple[str, ...]:
    """List the fields in which two packets differ.

    The window that the sender of the data offers limits nobody, so it is not compared.
    """
    if a.forward != b.forward:
        return ("order",)
    compared = [field for field in fields if field != "window" or not a.forward]
    return tuple(field for field in compared if value(a, field) != value(b, field))


def value(packet: Packet, field: str) -> object:
    """Return the value that is compared under a field's name."""
    match field:
        case "seq":
            return packet.seq, packet.payload
        case "flags":
            return packet.marks
        case _:
            return getattr(packet, field)


def is_cut_off(extra: Packet, a: Flow, b: Flow) -> bool:
    """Return whether a packet that one trace has in excess comes so late that the other just ended before it."""
    return extra.at_ms > max(a.until_ms, b.until_ms) - SHIFT_MS


def next_or_end(places: Sequence[int], number: int, flow: Flow) -> int:
    """Return the index of a compared packet in its flow, or the one after the last."""
    return places[number] if number < len(places) else len(flow.packets)


def difference(
    a: Flow, b: Flow, place: int, fields: tuple[str, ...], at: tuple[int, int], shift: Shift | None
) -> Difference:
    """Describe a difference."""
    split = Split(a.packets, b.packets, at[0], at[1], fields)
    return Difference(place, fields, split, cause_of(split, shift.ms if shift else None))
