"""`unbloat compare --packets`: the first difference of each flow, on the screen and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from unbloat.lab.compare import BEFORE, Comparison, Difference, FlowComparison, Shift
from unbloat.lab.trace import Packet

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
    split = found.split
    of_a, of_b = split.a[: split.at_a][-BEFORE:], split.b[: split.at_b][-BEFORE:]
    lines = [side_by_side(["A: ms from the SYN"], ["B: ms from the SYN"])]
    lines += [side_by_side(cell(a), cell(b)) for a, b in zip_longest(padded(of_a), padded(of_b))]
    lines.append("-" * WIDTH)
    following = [list(side[at : at + 1]) for side, at in ((split.a, split.at_a), (split.b, split.at_b))]
    lines.append(side_by_side(*(cell(packets[0]) if packets else ["(no more packets)"] for packets in following)))
    return lines


def padded(packets: Sequence[Packet]) -> list[Packet | None]:
    """Have both sides end in the same line."""
    return [*[None] * (BEFORE - len(packets)), *packets][-BEFORE:]


def side_by_side(a: Sequence[str], b: Sequence[str]) -> str:
    """Put two cells of some lines next to each other."""
    rows = zip_longest(a, b, fillvalue="")
    return "\n".join(f"{left:<{COLUMN}}{BETWEEN}{right}".rstrip() for left, right in rows)


def cell(packet: Packet | None) -> list[str]:
    """Write a packet in lines that fit a column."""
    if packet is None:
        return [""]
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


def dict_of(comparison: Comparison) -> dict[str, Any]:
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


def flow_dict(number: int, flow: FlowComparison) -> dict[str, Any]:
    """Convert the comparison of one flow for JSON."""
    found, shift = flow.difference, flow.shift
    return {
        "flow": number,
        "a": flow.a.name,
        "b": flow.b.name,
        "same": found is None,
        "same_packets": flow.compared,
        "difference": found and difference_dict(found),
        "time_shift": shift and {"packet": shift.place, "a_ms": shift.a.at_ms, "b_ms": shift.b.at_ms},
    }


def difference_dict(found: Difference) -> dict[str, Any]:
    """Convert a difference, with the packets before it, for JSON; the last of each list is the different one."""
    split = found.split
    sides = {"a": (split.a, split.at_a), "b": (split.b, split.at_b)}
    return {
        "packet": found.place,
        "fields": list(found.fields),
        "kind": found.reason.kind,
        "reason": found.reason.text,
        **{
            name: [packet_dict(packet) for packet in side[max(0, at - BEFORE) : at + 1]]
            for name, (side, at) in sides.items()
        },
    }


def packet_dict(packet: Packet) -> dict[str, Any]:
    """Convert a packet for JSON."""
    return {
        "ms": packet.at_ms,
        "direction": "forward" if packet.forward else "back",
        "seq": packet.seq,
        "payload": packet.payload,
        "ack": packet.ack,
        "sack": [list(block) for block in packet.sack],
        "window": packet.window,
        "flags": packet.marks,
        "tsval": packet.tsval,
        "tsecr": packet.tsecr,
    }
