"""`unbloat compare --packets`: the first packet in which two traces differ, and why."""

import json
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import dpkt
import pytest
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of
from unbloat.comparison import trace
from unbloat.comparison.trace import ACK, ECE, SYN, Capture
from unbloat.lab import compare
from unbloat.lab.compare import FIELDS

MSS = 1000
SENDER, RECEIVER = b"\x0a\x00\x00\x01", b"\x0a\x80\x00\x01"


@dataclass
class Talk:
    """A trace of one connection, written packet by packet."""

    isn: int = 1000
    other_isn: int = 5000
    port: int = 40000

    def __post_init__(self) -> None:
        self.packets: list[tuple[float, dpkt.ip.IP]] = []
        scale = b"\x03\x03\x07\x00"
        self._put(0, True, seq=0, flags=SYN, options=scale)
        self._put(10, False, seq=0, ack=1, flags=SYN | ACK, options=scale)
        self._put(10, True, seq=1, ack=1)

    def data(self, ms: float, number: int, length: int = MSS, **more: int) -> "Talk":
        return self._put(ms, True, seq=1 + MSS * number, ack=1, length=length, **more)

    def ack(self, ms: float, number: int, *sack: tuple[int, int], flags: int = 0, window: int = 500) -> "Talk":
        edges = [(1 + MSS * edge + self.isn) % (1 << 32) for block in sack for edge in block]
        option = b"".join(edge.to_bytes(4, "big") for edge in edges)
        options = b"\x01\x01\x05" + bytes([2 + len(option)]) + option if sack else b""
        return self._put(ms, False, seq=1, ack=1 + MSS * number, flags=ACK | flags, options=options, window=window)

    def _put(
        self,
        ms: float,
        forward: bool,
        *,
        seq: int,
        ack: int = 0,
        length: int = 0,
        flags: int = ACK,
        options: bytes = b"",
        ecn: int = 0,
        window: int = 500,
    ) -> "Talk":
        own, other = (self.isn, self.other_isn) if forward else (self.other_isn, self.isn)
        tcp = dpkt.tcp.TCP(
            sport=self.port if forward else 5201,
            dport=5201 if forward else self.port,
            seq=(seq + own) % (1 << 32),
            ack=(ack + other) % (1 << 32) if flags & ACK else 0,
            flags=flags,
            win=window,
            off=5 + len(options) // 4,
            opts=options,
            data=bytes(length),
        )
        source, target = (SENDER, RECEIVER) if forward else (RECEIVER, SENDER)
        ip = dpkt.ip.IP(src=source, dst=target, p=6, ttl=64, tos=ecn, data=tcp)
        ip.len = len(ip)
        self.packets.append((ms / 1e3, ip))
        return self


def write(file: Path, *talks: Talk) -> Path:
    packets = sorted((packet for talk in talks for packet in talk.packets), key=lambda packet: packet[0])
    with file.open("wb") as opened:
        writer = dpkt.pcap.Writer(opened, linktype=101, nano=True)
        for at, packet in packets:
            writer.writepkt(bytes(packet), at)
    return file


def compared(tmp_path: Path, a: Talk, b: Talk, fields: tuple[str, ...] = FIELDS) -> compare.FlowComparison:
    files = (write(tmp_path / "a.pcap", a), write(tmp_path / "b.pcap", b))
    (flow,) = compare.compare_files(*files, fields).flows
    return flow


def kind(tmp_path: Path, a: Talk, b: Talk) -> str:
    """The reason, which is the same the other way round."""
    kinds = set()
    for one, other in ((a, b), (b, a)):
        found = compared(tmp_path, one, other).difference
        assert found is not None
        kinds.add(found.reason.kind)
    (only,) = kinds
    return only


def begun(**more: int) -> Talk:
    """Four segments, of which two are acknowledged."""
    talk = Talk(**more)
    for number in range(4):
        talk.data(10, number)
    return talk.ack(20, 2)


def test_numbers_count_from_each_syn_also_where_they_wrap(tmp_path: Path) -> None:
    a = begun().ack(21, 2, (3, 4)).data(21, 4)
    b = begun(isn=(1 << 32) - 2500, other_isn=(1 << 32) - 1).ack(21, 2, (3, 4)).data(21, 4)
    flow = compared(tmp_path, a, b)
    assert flow.difference is None and flow.compared == len(a.packets)
    assert [packet.seq for packet in flow.b.packets if packet.payload] == [1, 1001, 2001, 3001, 4001]
    assert flow.b.packets[-2].sack == ((3001, 4001),)


def test_the_window_has_its_scale(tmp_path: Path) -> None:
    talk = Talk().data(10, 0).ack(20, 1, window=500)
    flow = compared(tmp_path, talk, talk)
    assert [packet.window for packet in flow.a.packets if not packet.forward] == [500, 500 << 7]


def test_the_window_that_a_sender_of_data_offers_is_not_compared(tmp_path: Path) -> None:
    """A kernel offers some other one than the simulator, and neither sender is ever sent anything."""
    a, b = (Talk().data(10, 0, window=window).ack(20, 1) for window in (100, 200))
    assert compared(tmp_path, a, b).difference is None


@pytest.mark.parametrize(
    ("fields", "place"), [(FIELDS, 9), (("seq", "ack", "sack", "window"), 10), (("seq", "ack"), 11), (("seq",), 7)]
)
def test_only_what_is_asked_for_is_compared(tmp_path: Path, fields: tuple[str, ...], place: int) -> None:
    """Pure acknowledgements are left out where nothing is asked that they say: the SYNs and five segments are not."""
    a = begun().data(20, 4).ack(21, 3, flags=ECE).ack(22, 4, (5, 6), window=400).data(22, 5)
    b = begun().data(20, 4).ack(21, 3).ack(22, 4, (5, 6), window=399).data(22, 6)
    found = compared(tmp_path, a, b, fields).difference
    assert found is not None and found.place == place


def test_reasons(tmp_path: Path) -> None:
    assert kind(tmp_path, begun().ack(21, 3), begun().ack(21, 4)) == "delayed ACK"
    assert kind(tmp_path, begun().ack(21, 2, (3, 4)), begun().ack(21, 4)) == "loss in one only"
    assert kind(tmp_path, begun().ack(21, 2, (3, 4)), begun().ack(21, 2, (3, 5))) == "SACK compression"
    assert kind(tmp_path, begun().data(20, 4), begun().data(20, 2)) == "retransmission in one only"
    assert kind(tmp_path, begun().data(20, 2), begun().data(20, 3)) == "retransmission of another segment"
    assert kind(tmp_path, begun().data(20, 4), begun().ack(21, 4)) == "more sent on an acknowledgement"
    assert kind(tmp_path, begun().data(45, 3), begun().ack(46, 4)) == "TLP in one only"
    assert kind(tmp_path, begun().data(45, 4), begun().ack(46, 4)) == "TLP in one only"
    assert kind(tmp_path, begun().data(22, 4), begun().ack(46, 4)) == "application or pacing", "no probe comes so soon"
    assert kind(tmp_path, begun().data(20, 4, length=0), begun().ack(21, 4)) == "answer in one only"
    assert kind(tmp_path, begun().data(250, 2), begun().ack(250, 4)) == "RTO in one only"
    assert kind(tmp_path, begun().data(45, 3), begun().data(250, 2)) == "other segment by a timer"
    assert kind(tmp_path, begun().ack(21, 4), begun().ack(21, 4, window=9)) == "window only"
    assert kind(tmp_path, begun().ack(21, 4), begun().ack(21, 4, flags=ECE)) == "ECN"
    assert kind(tmp_path, begun().data(20, 4), begun().data(20, 4, length=500)) == "length of a segment"
    assert kind(tmp_path, begun().data(20, 4).ack(30, 5).ack(35, 5), begun().data(20, 4)) == "end"


def test_times_are_shown_and_not_compared(tmp_path: Path) -> None:
    a, b = begun(), begun()
    for number in range(2, 9):
        a.ack(20 + number, number)
        b.ack(20 + 1.3 * number, number)
    flow = compared(tmp_path, a, b)
    assert flow.difference is None and flow.shift is not None
    assert flow.shift.b.ack == 1 + 4 * MSS and flow.shift.ms == pytest.approx(1.2)
    b.ack(40, 9)
    a.ack(41, 8)
    texts = [
        found.reason.text for one, other in ((a, b), (b, a)) if (found := compared(tmp_path, one, other).difference)
    ]
    assert texts == snapshot(
        [
            "the receiver acknowledges 0 bytes at once in A, 1000 in B (41.000 and 40.000 ms); B's packets had come 1.200 ms later before",
            "the receiver acknowledges 1000 bytes at once in A, 0 in B (40.000 and 41.000 ms); B's packets had come 1.200 ms earlier before",
        ]
    )


def test_a_trace_that_is_cut_off_a_moment_earlier_is_the_same(tmp_path: Path) -> None:
    other = Talk(port=40001).data(500, 0)
    b = write(tmp_path / "b.pcap", begun(), other)
    for ms, is_same in ((498.5, False), (499.5, True)):
        a = write(tmp_path / "a.pcap", begun().ack(ms, 4), other)
        assert compare.compare_files(a, b).is_same == compare.compare_files(b, a).is_same == is_same


def test_flows_are_matched_by_their_ends_or_else_by_their_order(tmp_path: Path) -> None:
    first, second = Talk(port=1).data(10, 0), Talk(port=2).data(11, 0).data(12, 1)
    for packets in (first.packets,):
        packets[:] = [(at + 0.001, packet) for at, packet in packets]
    a = trace.read(write(tmp_path / "a.pcap", first, second))
    first.packets[:] = [(at - 0.002, packet) for at, packet in first.packets]
    b = trace.read(write(tmp_path / "b.pcap", first, second))
    assert [flow.name for flow in a.flows] != [flow.name for flow in b.flows]
    assert compare.compare(a, b).is_same
    c = trace.read(write(tmp_path / "c.pcap", Talk(port=9).data(10, 0)))
    found = compare.compare(b, c)
    assert [(flow.a.name, flow.difference) for flow in found.flows] == [("10.0.0.1:1 > 10.128.0.1:5201", None)]
    assert [flow.name for flow in found.unmatched[0]] == ["10.0.0.1:2 > 10.128.0.1:5201"]
    assert not found.is_same


def write_numbered(file: Path, *talks: tuple[int, Talk]) -> Path:
    """Write a trace whose SYNs name their flows, as those of `--pcap` do."""
    packets = sorted(((at, n, packet) for n, talk in talks for at, packet in talk.packets), key=lambda each: each[:2])
    with file.open("wb") as opened:
        writer = dpkt.pcapng.Writer(opened, linktype=101)
        for at, number, packet in packets:
            comment = dpkt.pcapng.PcapngOptionLE(code=dpkt.pcapng.PCAPNG_OPT_COMMENT, data=b"flow %d" % number)
            opts = [comment, dpkt.pcapng.PcapngOptionLE()] if packet.data.flags & (SYN | ACK) == SYN else []
            micros = round(at * 1e6)
            block = {"ts_high": micros >> 32, "ts_low": micros & 0xFFFFFFFF, "pkt_data": bytes(packet), "opts": opts}
            writer.writepkt(dpkt.pcapng.EnhancedPacketBlockLE(**block), at)
    return file


def test_flows_with_numbers_are_matched_by_them(tmp_path: Path) -> None:
    """The order of SYNs says another thing, and no address of one trace is in the other."""
    one, other = Talk(port=1).data(10, 0), Talk(port=2).data(10, 0).data(12, 1)
    other.packets[:] = [(at + 0.001, packet) for at, packet in other.packets]
    same, longer = Talk(port=3).data(10, 0), Talk(port=4).data(10, 0).data(12, 1)
    same.packets[:] = [(at + 0.001, packet) for at, packet in same.packets]
    a = trace.read(write_numbered(tmp_path / "a.pcapng", (0, one), (7, other), (8, Talk(port=5))))
    b = trace.read(write_numbered(tmp_path / "b.pcapng", (0, same), (7, longer)))
    found = compare.compare(a, b)
    assert [(flow.a.number, flow.difference) for flow in found.flows] == [(0, None), (7, None)]
    assert [flow.number for flow in found.unmatched[0]] == [8] and found.unmatched[1] == []


def test_two_runs_of_the_simulator(cli: Cli, small: Path, tmp_path: Path) -> None:
    for name, loss in (("a", "1%"), ("b", "1%"), ("c", "5%")):
        assert cli("run", small, "--set", f"link.bottleneck.loss={loss}", "--pcap", f"{name}.pcapng").returncode == 0
    same = cli("compare", "--packets", "a.pcapng", "b.pcapng")
    assert same.returncode == 0 and re.sub(r"in all \d+", "in all N", same.stdout) == snapshot("""\
A: a.pcapng
B: b.pcapng

Both hold what the senders' interfaces see: data as it leaves, acknowledgements as they come back. A
data packet that is lost is there all the same, an acknowledgement that is lost is not.

flow 0: 10.0.0.1:40000 > 10.0.0.2:5001
the same in all N packets
""")
    different = cli("compare", "--packets", "a.pcapng", "c.pcapng")
    assert different.returncode == 1
    lines = different.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    rule = lines.index("-" * 100)
    packets = [line for line in lines[:rule] if " | " in line and ("+" in line or "<" in line)]
    assert len(packets) >= 10 and all(line.count(" | ") == 1 for line in packets)
    found = json.loads(cli("compare", "--packets", "a.pcapng", "c.pcapng", "--json").stdout)
    (flow,) = found["flows"]
    assert [each.number for each in trace.read(tmp_path / "a.pcapng").flows] == [0]
    assert found["same"] is False and flow["difference"]["kind"] == "loss in one only"
    assert len(flow["difference"]["a"]) == len(flow["difference"]["b"]) == 11
    assert flow["difference"]["a"][:10] == [{**packet} for packet in flow["difference"]["b"][:10]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.pcapng"], snapshot("unbloat: compare --packets takes two packet traces, A and B")),
        (
            ["a.pcapng", "missing.pcapng"],
            snapshot("unbloat: missing.pcapng: cannot be read: no such file or directory"),
        ),
        (["a.pcapng", "text"], snapshot("unbloat: text: not a packet trace (pcapng or pcap): it ends too early")),
        (["a.pcapng", "cut"], snapshot("unbloat: cut: was cut short in a packet, at byte 4532: capture it again")),
        (
            ["a.pcapng", "cut.pcap"],
            snapshot("unbloat: cut.pcap: was cut short in a packet, at byte 4470: capture it again"),
        ),
        (
            ["a.pcapng", "head.pcap"],
            snapshot("unbloat: head.pcap: was cut short in a packet, at byte 4440: capture it again"),
        ),
        (
            ["a.pcapng", "any"],
            snapshot(
                "unbloat: any: holds packets of PPP (link type 9): capture at one Ethernet interface, as in tcpdump -i eth0"
            ),
        ),
        (
            ["a.pcapng", "short"],
            snapshot(
                "unbloat: short: holds only 42 bytes of a packet, fewer than its headers: capture more of each, as in tcpdump -s 128"
            ),
        ),
        (
            ["a.pcapng", "shorter"],
            snapshot(
                "unbloat: shorter: holds only 24 bytes of a packet, fewer than its headers: capture more of each, as in tcpdump -s 128"
            ),
        ),
        (
            ["a.pcapng", "shortest"],
            snapshot(
                "unbloat: shortest: holds only 4 bytes of a packet, fewer than its headers: capture more of each, as in tcpdump -s 128"
            ),
        ),
        (
            ["a.pcapng", "a.pcapng", "--fields", "seq,rtt"],
            snapshot('unbloat: fields: unknown field "rtt"; valid: seq, ack, sack, window, flags'),
        ),
        (
            ["a.pcapng", "a.pcapng", "--between", "cc=a,b"],
            snapshot("unbloat: compare --between is for results, and --packets for packet traces: leave one out"),
        ),
        (
            ["a.pcapng", "a.pcapng", "--fields", ""],
            snapshot('unbloat: fields: unknown field ""; valid: seq, ack, sack, window, flags'),
        ),
    ],
)
def test_wrong_input(cli: Cli, tmp_path: Path, arguments: list[str], words: str) -> None:
    write(tmp_path / "a.pcapng", begun())
    (tmp_path / "text").write_text("no packets\n")
    with (tmp_path / "cut").open("wb") as opened:
        dpkt.pcapng.Writer(opened, linktype=101).writepkts((at, bytes(packet)) for at, packet in begun().packets)
        opened.truncate(opened.tell() - 100)
    whole = write(tmp_path / "whole.pcap", begun()).read_bytes()
    (tmp_path / "cut.pcap").write_bytes(whole[:-10])
    (tmp_path / "head.pcap").write_bytes(whole[: -len(begun().packets[-1][1])])
    (tmp_path / "any").write_bytes(whole[:20] + (9).to_bytes(4, "little") + whole[24:])
    for name, most in (("short", 42), ("shorter", 24), ("shortest", 4)):
        with (tmp_path / name).open("wb") as opened:
            writer = dpkt.pcap.Writer(opened, linktype=101)
            for at, packet in begun().packets:
                writer.writepkt(bytes(packet)[:most], at)
    done = cli("compare", "--packets", *arguments)
    assert done.returncode == 2 and stderr_of(done) == words and "Traceback" not in done.stderr


class Counted(bytes):
    """What was read of a file; it counts the bytes that are copied where it is put together with others."""

    copied = 0

    def __add__(self, other: bytes) -> "Counted":
        return self.count(bytes(self) + bytes(other))

    def __radd__(self, other: bytes) -> "Counted":
        return self.count(bytes(other) + bytes(self))

    @classmethod
    def count(cls, made: bytes) -> "Counted":
        Counted.copied += len(made)
        return cls(made)


class CountedFile(BytesIO):
    """A file that counts what is read of it."""

    name = "made up"

    def read(self, size: int | None = -1) -> bytes:
        return Counted.count(super().read(size))


@pytest.mark.parametrize("writer", [dpkt.pcap.Writer, dpkt.pcapng.Writer])
def test_a_trace_is_read_in_proportion_to_its_size(writer: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "copied", 0)
    file = BytesIO()
    writer(file, linktype=101).writepkts((n / 1e3, bytes(1500)) for n in range(1000))
    size = file.tell()
    assert [len(data) for _, data in Capture(CountedFile(file.getvalue())).reader()] == 1000 * [1500]
    assert size <= Counted.copied < 5 * size


def test_a_trace_of_cooked_packets_is_read(tmp_path: Path) -> None:
    """Of the first kind (LINKTYPE_LINUX_SLL), which has no interface's number; libpcap before 1.10 writes it."""
    with (tmp_path / "cooked").open("wb") as opened:
        writer = dpkt.pcap.Writer(opened, linktype=113, nano=True)
        for at, packet in begun().packets:
            writer.writepkt(bytes(dpkt.sll.SLL(ethtype=0x0800, hlen=6, data=packet)), at)
    (cooked,) = trace.read(tmp_path / "cooked").flows
    (raw,) = trace.read(write(tmp_path / "raw", begun())).flows
    assert cooked == raw and len(raw.packets) > 4


def test_a_trace_of_all_interfaces_has_each_packet_once(tmp_path: Path) -> None:
    """`tcpdump -i any` writes LINKTYPE_LINUX_SLL2, in which a bridge and its port show each packet once more."""
    with (tmp_path / "any").open("wb") as opened:
        writer = dpkt.pcap.Writer(opened, linktype=276, nano=True)
        for at, packet in begun().packets:
            for interface in (7, 3):
                writer.writepkt(bytes(dpkt.sll2.SLL2(ethtype=0x0800, intindex=interface, data=packet)), at)
    (every,) = trace.read(tmp_path / "any").flows
    (raw,) = trace.read(write(tmp_path / "raw", begun())).flows
    assert every == raw and len(raw.packets) > 4


def in_ipv6(packet: bytes, extensions: bytes = b"", first: int = 6) -> bytes:
    """Put the segment of an IPv4 packet into an IPv6 packet."""
    segment = packet[20:]
    ends = [bytes(12) + packet[at : at + 4] for at in (12, 16)]
    traffic_class = (packet[1] << 20 | 6 << 28).to_bytes(4, "big")
    lengths = (len(extensions) + len(segment)).to_bytes(2, "big") + bytes([first, 64])
    return traffic_class + lengths + b"".join(ends) + extensions + segment


@pytest.mark.parametrize("extensions, first", [(b"", 6), (bytes([6, 0, 1, 4, 0, 0, 0, 0]), 60)])
def test_a_trace_of_ipv6_is_read(tmp_path: Path, extensions: bytes, first: int) -> None:
    with (tmp_path / "six").open("wb") as opened:
        writer = dpkt.pcap.Writer(opened, linktype=101, nano=True)
        fragment = bytes([6, 0, 0, 8, 0, 0, 0, 1])
        esp = b"\x60" + bytes(3) + (8).to_bytes(2, "big") + bytes([50, 64]) + bytes(40)
        for at, packet in begun().packets:
            writer.writepkt(in_ipv6(bytes(packet), extensions, first), at)
            writer.writepkt(in_ipv6(bytes(packet), fragment, 44), at)
            writer.writepkt(esp, at)
    (six,) = trace.read(tmp_path / "six").flows
    (raw,) = trace.read(write(tmp_path / "raw", begun())).flows
    assert six.packets == raw.packets
    assert re.fullmatch(r"\[[0-9a-f:]+\]:\d+ > \[[0-9a-f:]+\]:\d+", six.name)


def test_fields_are_for_packets(cli: Cli) -> None:
    done = cli("compare", "a", "b", "--fields", "seq")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot("unbloat: compare --fields needs --packets and two packet traces")
