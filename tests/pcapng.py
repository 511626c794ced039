"""Reads the packet traces that runs leave: each TCP segment with its time, and whether its checksums are right."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ENHANCED_PACKET = 6
TCP = 6
SYN, ECE = 2, 0x40
MSS, TIMESTAMPS = 2, 8


@dataclass(frozen=True)
class Segment:
    """What a packet says; time in seconds since the start of the run."""

    at: float
    source: str
    target: str
    length: int
    """Of the IP packet."""
    seq: int
    ack: int
    flags: int
    payload: int
    tsval: int | None
    """Of the timestamps option (RFC 7323)."""
    mss: int | None
    """Of the option of that name (RFC 9293, section 3.7.1)."""
    checksums_right: bool


def read(file: Path) -> list[Segment]:
    return [segment(at, packet) for at, packet in packets(file.read_bytes())]


def packets(trace: bytes) -> Iterator[tuple[float, bytes]]:
    """Each packet with its time; the only interface counts in nanoseconds."""
    position = 0
    while position < len(trace):
        kind, length = struct.unpack_from("<II", trace, position)
        if kind == ENHANCED_PACKET:
            _, high, low, captured, original = struct.unpack_from("<IIIII", trace, position + 8)
            assert captured == original
            yield ((high << 32) + low) / 1e9, trace[position + 28 : position + 28 + captured]
        position += length


def segment(at: float, packet: bytes) -> Segment:
    header = (packet[0] & 15) * 4
    length, protocol = int.from_bytes(packet[2:4]), packet[9]
    assert packet[0] >> 4 == 4 and length == len(packet) and protocol == TCP
    source, target = packet[12:16], packet[16:20]
    tcp = packet[header:]
    _, _, seq, ack, offset, flags = struct.unpack_from("!HHIIBB", tcp)
    pseudo = source + target + struct.pack("!HH", TCP, len(tcp))
    return Segment(
        at=at,
        source=dotted(source),
        target=dotted(target),
        length=length,
        seq=seq,
        ack=ack,
        flags=flags,
        payload=len(tcp) - (offset >> 4) * 4,
        tsval=option(tcp[20 : (offset >> 4) * 4], TIMESTAMPS, 4),
        mss=option(tcp[20 : (offset >> 4) * 4], MSS, 2),
        checksums_right=ones_sum(packet[:header]) == 0xFFFF == ones_sum(pseudo + tcp),
    )


def option(options: bytes, kind: int, length: int) -> int | None:
    """Find the number of `length` bytes that an option begins with."""
    end, nothing = 0, 1
    position = 0
    while position < len(options) and options[position] != end:
        if options[position] == kind:
            return int.from_bytes(options[position + 2 : position + 2 + length])
        position += 1 if options[position] == nothing else options[position + 1]
    return None


def dotted(address: bytes) -> str:
    return ".".join(map(str, address))


def ones_sum(data: bytes) -> int:
    """The ones' complement sum of 16-bit words, all ones over data that holds its own checksum (RFC 1071)."""
    total = int.from_bytes(data + bytes(len(data) % 2)) % 0xFFFF
    return total or 0xFFFF
