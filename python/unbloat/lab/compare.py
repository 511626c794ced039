"""The first packet in which two runs of one scenario differ, flow by flow: on the screen and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from unbloat._core import InputError
from unbloat.comparison import trace
from unbloat.comparison.trace import Flow, Packet, Trace
from unbloat.lab.causes import Cause, Side, Split, cause_of

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
        """Delay of B's packet behind A's, ms."""
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
        packets = (side.next for side in (self.split.a, self.split.b))
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
            raise InputError(f'fields: unknown field "{word}"; valid: {", ".join(FIELDS)}')
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
    split = Split(Side("A", a.packets, at[0]), Side("B", b.packets, at[1]), fields)
    return Difference(place, fields, split, cause_of(split, shift.ms if shift else None))


WIDTH = 100
BETWEEN = " | "
COLUMN = (WIDTH - len(BETWEEN)) // 2
AT_SENDERS = (
    "what the senders' interfaces see: data as it leaves, acknowledgements as they come back. A data packet that is "
    "lost is there all the same, an acknowledgement that is lost is not"
)
INDENT = " " * 12


def text_of(comparison: Comparison) -> str:
    """Lay a comparison out for the terminal."""
    a, b = comparison.names
    parts = [f"A: {a}\nB: {b}", *notes(comparison)]
    parts += [flow_text(number, flow) for number, flow in numbered(comparison)]
    for name, flows in zip("AB", comparison.unmatched, strict=True):
        parts += [f"only in {name}: {flow.name}, {len(flow.packets)} packets" for flow in flows]
    return "\n\n".join(parts)


def numbered(comparison: Comparison) -> list[tuple[int, FlowComparison]]:
    """Give each flow its number in the scenario, or without one that of its place."""
    return [(place if flow.a.number is None else flow.a.number, flow) for place, flow in enumerate(comparison.flows)]


def notes(comparison: Comparison) -> list[str]:
    """Say what the traces do not hold."""
    of = [name for name, is_so in zip("AB", comparison.at_senders, strict=True) if is_so]
    if not of:
        return []
    who = "Both hold" if len(of) == 2 else f"{of[0]} holds"
    return [textwrap.fill(f"{who} {AT_SENDERS}.", WIDTH)]


def flow_text(number: int, flow: FlowComparison) -> str:
    """Lay one flow out."""
    names = flow.a.name if flow.a.name == flow.b.name else f"{flow.a.name} in A, {flow.b.name} in B"
    head = f"flow {number}: {names}"
    shift = [textwrap.fill(shift_text(flow.shift), WIDTH)] if flow.shift else []
    if flow.difference is None:
        return "\n".join([head, f"the same in all {flow.compared} packets", *shift])
    found = flow.difference
    what = " and ".join(found.fields)
    first = f"differ in packet {found.place + 1} ({what}): {found.reason.kind}: {found.reason.text}"
    return "\n".join([head, textwrap.fill(first, WIDTH), *shift, "", *table(found)])


def shift_text(shift: Shift) -> str:
    """Say where the times part."""
    packet = described(shift.a)
    return f"times part in packet {shift.place + 1}, {packet}: {shift.a.at_ms:.3f} ms in A, {shift.b.at_ms:.3f} ms in B"


def table(found: Difference) -> list[str]:
    """Lay the packets before the difference and the different ones side by side."""
    a, b = found.split.a, found.split.b
    ends = [point(side.next) if side.next else ["(no more packets)"] for side in (a, b)]
    return [
        side_by_side(["A: ms from the SYN"], ["B: ms from the SYN"]),
        *map(side_by_side, points(a), points(b)),
        "-" * WIDTH,
        side_by_side(*ends),
    ]


def points(side: Side) -> list[list[str]]:
    """Write the last packets before the difference, so that both sides end in the same line."""
    packets = side.before[-BEFORE:]
    return [*[[""]] * (BEFORE - len(packets)), *map(point, packets)]


def side_by_side(a: Sequence[str], b: Sequence[str]) -> str:
    """Put two grid points of some lines next to each other."""
    rows = zip_longest(a, b, fillvalue="")
    return "\n".join(f"{left:<{COLUMN}}{BETWEEN}{right}".rstrip() for left, right in rows)


def point(packet: Packet) -> list[str]:
    """Write a packet in lines that fit a column."""
    words = f"{packet.at_ms:>10.3f} {described(packet)}"
    return textwrap.wrap(words, COLUMN, subsequent_indent=INDENT, drop_whitespace=True) or [words]


def described(packet: Packet) -> str:
    """Write what a packet says."""
    words = [">" if packet.forward else "<"]
    if packet.payload or not packet.ack or packet.marks.startswith(("SYN", "FIN")):
        words.append(f"{packet.seq}+{packet.payload}")
    if not packet.forward:
        words.append(f"ack {packet.ack}")
        words += [f"sack {low}-{high}" for low, high in packet.sack]
        words.append(f"win {packet.window}")
    return " ".join(filter(None, [*words, packet.marks]))


def dict_of(comparison: Comparison) -> dict[str, object]:
    """Convert a comparison for JSON."""
    return {
        "a": comparison.names[0],
        "b": comparison.names[1],
        "fields": list(comparison.fields),
        "same": comparison.is_same,
        "at_senders_only": dict(zip("ab", comparison.at_senders, strict=True)),
        "flows": [flow_dict(number, flow) for number, flow in numbered(comparison)],
        "only_in": {
            name: [flow.name for flow in flows] for name, flows in zip("ab", comparison.unmatched, strict=True)
        },
    }


def flow_dict(number: int, flow: FlowComparison) -> dict[str, object]:
    """Convert the comparison of one flow for JSON, with the packets before the difference and the different ones."""
    found, shift = flow.difference, flow.shift
    difference = found and {
        "packet": found.place,
        "fields": list(found.fields),
        "kind": found.reason.kind,
        "reason": found.reason.text,
        **{
            side.name.lower(): [packet_dict(each) for each in [*side.before[-BEFORE:], side.next] if each]
            for side in (found.split.a, found.split.b)
        },
    }
    return {
        "flow": number,
        "a": flow.a.name,
        "b": flow.b.name,
        "same": found is None,
        "same_packets": flow.compared,
        "difference": difference,
        "time_shift": shift and {"packet": shift.place, "a_ms": shift.a.at_ms, "b_ms": shift.b.at_ms},
    }


def packet_dict(packet: Packet) -> dict[str, object]:
    """Convert a packet for JSON."""
    return {
        "ms": packet.at_ms,
        "direction": "forward" if packet.forward else "back",
        **{name: getattr(packet, name) for name in ("seq", "payload", "ack", "sack", "window")},
        "flags": packet.marks,
        "tsval": packet.tsval,
        "tsecr": packet.tsecr,
    }
