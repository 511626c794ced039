"""A capture file (pcapng or pcap) as dpkt is to see it."""

from __future__ import annotations

import re
import struct
from typing import IO, Any

import dpkt

ENHANCED_PACKET = 6
"""The type of a block with a packet (draft-ietf-opsawg-pcapng, section 4.3)."""
HEAD = 8
"""Bytes of a block's type and length."""
MAGIC = 0x1A2B3C4D
"""The magic number of a file's first block, behind its type and length, in the file's byte order."""
NUMBERED = re.compile(rb"flow (\d+)")
"""The comment that `--pcap` writes beside the SYN of each flow."""


class CutShortError(Exception):
    """The file ends within a packet."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Capture:
    """A file from which dpkt reads: of a pcapng file the packets of the first interface.

    dpkt tells neither packets of different interfaces apart nor what is said of a packet, and takes a part of a packet
    for the whole. It reads a block's or a packet's head first, then the rest.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.name = file.name
        magic = file.read(HEAD + 4)[HEAD:]
        self._order = next((order for order in "<>" if magic == struct.pack(f"{order}I", MAGIC)), None)
        self._rest = b""
        self._is_after_head = False
        self._block = b""
        file.seek(0)

    def reader(self) -> Any:
        """Return dpkt's reader for the file's format."""
        return dpkt.pcapng.Reader(self) if self._order else dpkt.pcap.Reader(HeadsAndPackets(self._file))

    def read(self, size: int) -> bytes:
        """Read the head of the next block of a pcapng file, without those of other interfaces, or the rest of one."""
        if size < 0:
            raise ValueError("it says wrong lengths")
        is_head = size == HEAD and not self._is_after_head
        if is_head:
            self._rest = self._next_head()
        held, self._rest = self._rest[:size], self._rest[size:]
        read = held + self._file.read(size - len(held))
        if len(read) < size and (read or self._is_after_head):
            raise CutShortError(self._file.tell())
        self._block = read if is_head else self._block + read
        self._is_after_head = is_head
        return read

    def flow_number(self) -> int | None:
        """Return the number of the flow that the packet read last opens, if its comment says so."""
        if not self._order:
            return None
        packet = dpkt.pcapng.EnhancedPacketBlockLE if self._order == "<" else dpkt.pcapng.EnhancedPacketBlock
        comments = (option.data for option in packet(self._block).opts if option.code == dpkt.pcapng.PCAPNG_OPT_COMMENT)
        return next((int(found[1]) for comment in comments if (found := NUMBERED.fullmatch(comment))), None)

    def _next_head(self) -> bytes:
        """Read the start of the next block that is not another interface's packet."""
        while True:
            head = self._file.read(HEAD)
            kind, length = struct.unpack(f"{self._order}II", head) if len(head) == HEAD else (0, 0)
            interface = self._file.read(4) if kind == ENHANCED_PACKET else b""
            if not any(interface):
                return head + interface
            self._file.seek(max(length - HEAD - 4, 0), 1)


class HeadsAndPackets:
    """A pcap file: after the file's head, the heads of packets and packets in turns."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.name = file.name
        self._is_packet = False
        self._is_begun = False

    def read(self, size: int) -> bytes:
        """Read a head or a packet, the whole of it."""
        read = self._file.read(size)
        if len(read) < size and self._is_begun and (read or self._is_packet):
            raise CutShortError(self._file.tell())
        self._is_packet = self._is_begun and not self._is_packet
        self._is_begun = True
        return read
