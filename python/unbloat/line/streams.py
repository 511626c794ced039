"""How long a request takes on a connection that carries load: what simulated packets say."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat.line.arrays import Numbers

PACKET_BLOCK = 6
"""The type of the blocks of a pcapng file that have packets."""
IP_BYTES = 20
SENDER = 1
"""The last byte of the address of a flow's sender; the two before it are the number of the flow."""
SYN = 2


@dataclass(frozen=True)
class Stream:
    """The packets of a connection as its sender sees them."""

    sent_s: Numbers
    """When each segment was sent for the first time."""
    ends: Numbers
    """The position in the stream behind each segment."""
    acknowledged_s: Numbers
    """When acknowledgements came."""
    positions: Numbers
    """The position in the stream up to which each of them acknowledges all bytes."""

    def delays_ms(self, at_s: Numbers) -> Numbers:
        """Return how long a request that is written at each time takes; missing where no answer came.

        The request is part of the next new segment. It is there once that segment and all before it are acknowledged,
        so a loss before it delays it.
        """
        import numpy as np

        delays = np.full(len(at_s), np.nan)
        segments = np.searchsorted(self.sent_s, at_s - 1e-9)
        has_segment = segments < len(self.sent_s)
        ends = self.ends[segments[has_segment]]
        answers = np.searchsorted(self.positions, ends)
        has_answer = answers < len(self.positions)
        known = np.flatnonzero(has_segment)[has_answer]
        delays[known] = 1e3 * (self.acknowledged_s[answers[has_answer]] - at_s[known])
        return delays


def read_streams(capture: Path, count: int) -> list[Stream]:
    """Return the first flows in a trace that the simulator wrote, as many as wanted, in their order."""
    import numpy as np

    found: list[tuple[list[float], list[int], list[float], list[int]]] = [([], [], [], []) for _ in range(count)]
    first: dict[int, int] = {}
    for time_s, packet in _packets(capture.read_bytes()):
        flow = packet[13] << 8 | packet[14]
        if flow >= count:
            continue
        total = int.from_bytes(packet[2:4], "big")
        number, answer, offset, flags = struct.unpack_from(">IIBB", packet, IP_BYTES + 4)
        sent_s, ends, acknowledged_s, positions = found[flow]
        if packet[15] == SENDER:
            start = first.setdefault(flow, number)
            end = (number - start + total - IP_BYTES - (offset >> 4) * 4) % (1 << 32)
            if not flags & SYN and end > (ends[-1] if ends else 1):
                sent_s.append(time_s)
                ends.append(end)
        else:
            position = (answer - first.get(flow, answer)) % (1 << 32)
            if position > (positions[-1] if positions else 0):
                acknowledged_s.append(time_s)
                positions.append(position)
    return [Stream(*(np.array(column, float) for column in columns)) for columns in found]


def _packets(content: bytes) -> Iterator[tuple[float, bytes]]:
    """Yield the packets of a little-endian pcapng file with their times in seconds."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == PACKET_BLOCK:
            high, low, held = struct.unpack_from("<III", content, at + 12)
            yield (high << 32 | low) / 1e9, content[at + 28 : at + 28 + held]
        at += length
