"""Reads packet traces: the TCP flows in a pcapng or pcap file, with sequence numbers counted from each SYN."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any

import dpkt

from unbloat._core import InputError
from unbloat.system.files import open_regular

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
            raise ValueError("it has wrong lengths")
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


SENDERS = b"senders"
"""Name of the interface in the traces that `--pcap` writes."""


def raw_ip(data: bytes) -> Any:
    """Parse a packet without a link layer, of either version of IP."""
    return (dpkt.ip6.IP6 if data[:1] and data[0] >> 4 == 6 else dpkt.ip.IP)(data)


DATALINKS: dict[int, Callable[[bytes], Any]] = {
    1: dpkt.ethernet.Ethernet,  # DLT_EN10MB
    12: raw_ip,  # DLT_RAW on Linux
    101: raw_ip,  # LINKTYPE_RAW
    113: dpkt.sll.SLL,  # DLT_LINUX_SLL
    228: dpkt.ip.IP,  # LINKTYPE_IPV4
    229: dpkt.ip6.IP6,  # LINKTYPE_IPV6
    276: dpkt.sll2.SLL2,  # LINKTYPE_LINUX_SLL2, as tcpdump -i any captures
}
"""Parser of a packet, by the number of its link type (https://www.tcpdump.org/linktypes.html)."""
REFUSED_DATALINKS = {
    0: "a loopback interface of BSD",
    9: "PPP",
}
"""Link types that are refused, with their names."""

TCP_HEADER = 20
"""Bytes of TCP's header without options."""
FIN, SYN, RST, ACK, ECE, CWR = 0x01, 0x02, 0x04, 0x10, 0x40, 0x80
SHOWN_FLAGS = {FIN: "FIN", SYN: "SYN", RST: "RST", ECE: "ECE", CWR: "CWR"}
"""The flags of TCP's header (RFC 9293, section 3.1) that say something; PSH depends on how an application writes."""
CODEPOINTS = ("", "ECT1", "ECT0", "CE")
"""The ECN field of the IP header (RFC 3168, section 5)."""
WRAP = 1 << 32
MOST_SCALE = 14
"""A larger shift of the window counts as this one (RFC 7323, section 2.3)."""
DAMAGE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, MemoryError, struct.error, dpkt.Error)
"""Exceptions that dpkt raises for bytes that are not packets: it trusts the lengths in them."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP segment as the trace has it."""

    at_ms: float
    """Since the first packet of the flow."""
    forward: bool
    """From the host that opened the connection."""
    seq: int
    """Relative to the initial sequence number, which is the SYN's: the first byte of data has 1."""
    payload: int
    ack: int
    """Relative to the other direction's initial sequence number; 0 without the ACK flag."""
    sack: tuple[tuple[int, int], ...]
    window: int
    """Bytes, with the scale that the SYN announced."""
    flags: int
    ecn: int
    tsval: int | None
    """TSval of the timestamps option (RFC 7323)."""
    tsecr: int | None

    @property
    def end(self) -> int:
        """The sequence number behind it."""
        return self.seq + self.payload + bool(self.flags & SYN) + bool(self.flags & FIN)

    @property
    def is_pure_ack(self) -> bool:
        """Return whether it acknowledges and does nothing else."""
        return self.payload == 0 and not self.flags & (SYN | FIN | RST)

    @property
    def marks(self) -> str:
        """The flags and the ECN field in words."""
        words = [word for flag, word in SHOWN_FLAGS.items() if self.flags & flag]
        return " ".join(filter(None, [*words, CODEPOINTS[self.ecn]]))


@dataclass
class Flow:
    """A TCP connection: its packets in the order of the trace."""

    name: str
    """The two ends, that first which opened it."""
    packets: list[Packet] = field(default_factory=list)
    until_ms: float = 0
    """From its first packet to the last one of the trace, of whichever flow."""
    number: int | None = None
    """The flow's number in the scenario, which the traces of `--pcap` have as a comment of the SYN."""


@dataclass(frozen=True)
class Trace:
    """The flows of a file, in the order of their first packets."""

    flows: list[Flow]
    at_senders: bool
    """True if the file says that it was captured at the senders' interfaces."""


def read(file: Path) -> Trace:
    """Read a trace; raises `InputError` if the file is not a trace, or contains no TCP."""
    try:
        with open_regular(file) as opened:
            capture = Capture(opened)
            reader = capture.reader()
            flows = flows_of(file, reader, capture)
            at_senders = SENDERS in names(reader)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except CutShortError as cut:
        raise InputError(f"{file}: was cut short in a packet, at byte {cut.at}: capture it again") from None
    except DAMAGE as error:
        # What dpkt.NeedData and Python's own errors say is not about packets.
        wrong = "it ends too early" if isinstance(error, dpkt.NeedData) else "it has wrong lengths"
        why = str(error) if type(error) is ValueError else wrong
        raise InputError(f"{file}: not a packet trace (pcapng or pcap): {why}") from None
    if not flows:
        raise InputError(f"{file}: contains no TCP")
    return Trace(flows, at_senders)


def names(reader: Any) -> set[bytes]:
    """Return the names of the interfaces; a pcap file has none."""
    interface = getattr(reader, "idb", None)
    if interface is None:
        return set()
    return {option.data for option in interface.opts if option.code == dpkt.pcapng.PCAPNG_OPT_IF_NAME}


def flows_of(file: Path, reader: Any, capture: Capture) -> list[Flow]:
    """Sort the packets by connection."""
    number = reader.datalink()
    link = DATALINKS.get(number)
    if link is None:
        what = REFUSED_DATALINKS.get(number, "another link type")
        raise InputError(
            f"{file}: holds packets of {what} (link type {number}): capture at one Ethernet interface, as in "
            "tcpdump -i eth0"
        )
    flows: list[Connection] = []
    current: dict[frozenset[tuple[bytes, int]], Connection] = {}
    last_s = 0.0
    for time, data in reader:
        at_s = float(time)  # dpkt gives a Decimal where a pcap file counts nanoseconds.
        try:
            ip, interface = network_layer(link, data)
        except HeadersCutError:
            raise InputError(
                f"{file}: holds only {len(data)} bytes of a packet, fewer than its headers: capture more of each, as "
                "in tcpdump -s 128"
            ) from None
        if ip is None:
            continue
        source, target = (ip.src, ip.data.sport), (ip.dst, ip.data.dport)
        ends = frozenset((source, target))
        known = current.get(ends)
        if known and known.interface != interface:
            continue  # A bridge and its port show a packet twice.
        if known is None or known.is_reopened_by(ip.data):
            known = current[ends] = Connection(source, target, at_s, interface)
            flows.append(known)
            if ip.data.flags & (SYN | ACK) == SYN:
                known.flow.number = capture.flow_number()
        known.add(at_s, ip)
        last_s = at_s
    for known in flows:
        known.flow.until_ms = (last_s - known.start_s) * 1e3
    return [known.flow for known in flows]


class HeadersCutError(Exception):
    """The capture holds less of a packet than its headers."""


def network_layer(link: Callable[[bytes], Any], data: bytes) -> tuple[Any, int]:
    """Return the IP packet if it carries TCP, otherwise None; and the number of the interface, where all are in one."""
    try:
        packet = link(data)
    except dpkt.NeedData:
        raise HeadersCutError from None
    except NotImplementedError:  # An encrypted packet (ESP).
        return None, 0
    ip = packet if isinstance(packet, IP_PACKETS) else packet.data
    interface: int = getattr(packet, "intindex", 0)
    if not isinstance(ip, IP_PACKETS) or getattr(ip, "p", None) != dpkt.ip.IP_PROTO_TCP or is_later_fragment(ip):
        return None, interface
    # dpkt leaves a header that is cut as bytes, and takes what is there of its options.
    if not isinstance(ip.data, dpkt.tcp.TCP) or len(ip.data.opts) < ip.data.off * 4 - TCP_HEADER:
        raise HeadersCutError
    return ip, interface


IP_PACKETS = (dpkt.ip.IP, dpkt.ip6.IP6)


def is_later_fragment(ip: Any) -> bool:
    """Return whether a packet begins within a segment."""
    if isinstance(ip, dpkt.ip.IP):
        return bool(ip.offset)
    fragment = ip.extension_hdrs.get(dpkt.ip.IP_PROTO_FRAGMENT)
    return fragment is not None and fragment.frag_off > 0


def ip_payload_bytes(ip: Any) -> int:
    """Return the bytes that follow the headers of IP, in the packet as it was on the wire."""
    if isinstance(ip, dpkt.ip.IP):
        return int(ip.len - ip.hl * 4)
    return int(ip.plen - sum(header.length for header in ip.all_extension_headers))


def ecn_of(ip: Any) -> int:
    """Return the field for explicit congestion notification."""
    return int(ip.tos if isinstance(ip, dpkt.ip.IP) else ip.fc) & 3


class Connection:
    """State of a connection that is needed to read its next packet."""

    def __init__(self, source: tuple[bytes, int], target: tuple[bytes, int], at_s: float, interface: int) -> None:
        self.interface = interface
        self.flow = Flow(f"{end_name(source)} > {end_name(target)}")
        self._opener = source
        self.start_s = at_s
        self._initial: list[int | None] = [None, None]
        """By direction, the opener's first: the sequence number that counts as 0."""
        self._near = [0, 0]
        """By direction, a relative sequence number of late."""
        self._scale = [0, 0]

    def is_reopened_by(self, tcp: Any) -> bool:
        """Return whether a SYN opens a new connection between the same ends, and is not sent again."""
        return tcp.flags & (SYN | ACK) == SYN and self._initial[0] not in (None, tcp.seq)

    def add(self, at_s: float, ip: Any) -> None:
        """Take the next packet."""
        tcp = ip.data
        forward = (ip.src, tcp.sport) == self._opener
        own, other = (0, 1) if forward else (1, 0)
        # Options of wrong lengths count as absent (tcp_parse_options).
        options = {
            kind: data for kind, data in filter(None, dpkt.tcp.parse_opts(tcp.opts)) if has_its_length(kind, data)
        }
        is_syn = bool(tcp.flags & SYN)
        if is_syn and dpkt.tcp.TCP_OPT_WSCALE in options:
            self._scale[own] = min(options[dpkt.tcp.TCP_OPT_WSCALE][0], MOST_SCALE)
        stamps = options.get(dpkt.tcp.TCP_OPT_TIMESTAMP)
        packet = Packet(
            at_ms=(at_s - self.start_s) * 1e3,
            forward=forward,
            seq=self._relative(own, tcp.seq, is_syn),
            payload=ip_payload_bytes(ip) - tcp.off * 4,
            ack=self._relative(other, tcp.ack, False) if tcp.flags & ACK else 0,
            sack=self._blocks(other, options.get(dpkt.tcp.TCP_OPT_SACK, b"")),
            window=tcp.win << (0 if is_syn else self._scale[own]),
            flags=tcp.flags,
            ecn=ecn_of(ip),
            tsval=int.from_bytes(stamps[:4], "big") if stamps else None,
            tsecr=int.from_bytes(stamps[4:8], "big") if stamps else None,
        )
        self.flow.packets.append(packet)

    def _relative(self, direction: int, number: int, is_syn: bool) -> int:
        """Count from the SYN; without one in the trace from the first number seen, as if it were the first data."""
        initial = self._initial[direction]
        if initial is None:
            initial = self._initial[direction] = number if is_syn else (number - 1) % WRAP
        near = self._near[direction]
        ahead = (number - initial - near + WRAP // 2) % WRAP - WRAP // 2
        self._near[direction] = near + ahead
        return near + ahead

    def _blocks(self, direction: int, option: bytes) -> tuple[tuple[int, int], ...]:
        """Read the SACK option (RFC 2018)."""
        edges = [int.from_bytes(option[at : at + 4], "big") for at in range(0, len(option), 4)]
        relative = [self._relative(direction, edge, False) for edge in edges]
        return tuple(zip(relative[::2], relative[1::2], strict=False))


def has_its_length(kind: int, data: bytes) -> bool:
    """Return whether an option has as many bytes behind its kind and length as its kind is to have."""
    match kind:
        case dpkt.tcp.TCP_OPT_WSCALE:
            return len(data) == 1
        case dpkt.tcp.TCP_OPT_TIMESTAMP:
            return len(data) == 8
        case dpkt.tcp.TCP_OPT_SACK:
            return len(data) % 8 == 0
        case _:
            return True


def end_name(end: tuple[bytes, int]) -> str:
    """Write an address with its port."""
    address, port = end
    shown = str(ip_address(address))
    return f"[{shown}]:{port}" if ":" in shown else f"{shown}:{port}"


def data_packets(flow: Flow) -> Iterator[Packet]:
    """Yield the packets that carry data from the host that opened the connection."""
    return (packet for packet in flow.packets if packet.forward and packet.payload)
