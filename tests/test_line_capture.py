"""What captures show of a line: one that the simulator writes at a sender, and one as a receiver of data sees it."""

from collections.abc import Iterator
from pathlib import Path

import dpkt
import pytest
import unbloat as ub
from unbloat.line.answer import answer
from unbloat.line.capture import capture_table, measurement_of_capture, read_capture
from unbloat.line.fit import fit
from unbloat.line.measurement import read_measurement

UPLOAD = """
duration = "8s"
[link.line]
rate = "5mbit"
delay = "15ms"
queue = { limit = "60000b" }
[link.line.reverse]
rate = "20mbit"
[[flows]]
count = 2
cc = "cubic"
"""
HERE, FAR = b"\x0a\x00\x00\x01", b"\xc0\x00\x02\x01"
SYN, ACK = 2, 16
MSS, PACKET_S, BASE_S, WINDOW = 1448, 0.0024, 0.03, 40


@pytest.fixture(scope="module")
def upload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capture")
    scenario = folder / "line.toml"
    scenario.write_text(UPLOAD)
    ub.scenario(scenario).run(pcap=folder / "upload.pcapng")
    return folder / "upload.pcapng"


def segment(to: bytes, seq: int, ack: int, times: tuple[float, float], flags: int = ACK, length: int = 0) -> bytes:
    """Write a segment with timestamps: its own time, and the one that it echoes."""
    stamps = b"".join((1000 + round(time * 1e3)).to_bytes(4, "big") for time in times)
    options = b"\x01\x01\x08\x0a" + stamps
    ports = (443, 40000) if to == HERE else (40000, 443)
    tcp = dpkt.tcp.TCP(
        sport=ports[0], dport=ports[1], seq=seq, ack=ack, flags=flags, off=8, opts=options, data=bytes(length)
    )
    ip = dpkt.ip.IP(src=FAR if to == HERE else HERE, dst=to, p=6, data=tcp)
    ip.len = len(ip)
    return bytes(ip)


def download(seconds: float, *, has_handshake: bool = True, again: int | None = None) -> Iterator[tuple[float, bytes]]:
    """Yield a download with a window of 40 segments, which a line of 5 Mbit/s fills, as its receiver captures it."""
    if has_handshake:
        yield 0.0, segment(FAR, 100, 0, (0, 0), SYN)
        yield BASE_S, segment(HERE, 500, 101, (BASE_S / 2, 0), SYN | ACK)
        yield BASE_S, segment(FAR, 101, 501, (BASE_S, BASE_S / 2))
    arrivals: list[float] = []
    for number in range(int(seconds / PACKET_S)):
        asked = arrivals[number - WINDOW] if number >= WINDOW else BASE_S
        at = max(asked + BASE_S, arrivals[-1] + PACKET_S if arrivals else 0.0)
        arrivals.append(at)
        data = segment(HERE, 501 + MSS * number, 101, (at - BASE_S / 2, asked), length=MSS)
        yield at, data
        yield at, segment(FAR, 101, 501 + MSS * (number + 1), (at, at - BASE_S / 2))
        if number == again:
            yield at + 1e-4, data


def written(file: Path, packets: Iterator[tuple[float, bytes]]) -> Path:
    with file.open("wb") as opened:
        writer = dpkt.pcap.Writer(opened, linktype=101)
        for time, packet in packets:
            writer.writepkt(packet, 1e9 + time)
    return file


def test_an_upload_shows_its_round_trips_and_its_losses(upload: Path) -> None:
    found = read_capture(upload)
    assert [each.direction for each in found] == ["up", "up"]
    assert sum(each.goodput_mbps or 0.0 for each in found) == pytest.approx(4.8, rel=0.03)
    for each in found:
        assert each.least_rtt_ms == pytest.approx(30, abs=1)
        assert 40 < (each.added_ms or 0.0) < 100  # The buffer holds 96 ms.
        assert each.resent
    assert all(each.name.startswith("10.0.") for each in found)
    assert "least RTT" in capture_table(found)


def test_a_line_is_fitted_to_an_upload(upload: Path) -> None:
    found = fit(measurement_of_capture(upload))
    assert found.fits, found.why_not
    assert found.kinds == {"up": "fifo", "down": "unknown"}
    assert found.line.up.rate_bps == pytest.approx(5e6, rel=0.03)
    assert found.line.up.buffer_bytes == pytest.approx(60e3, rel=0.1)
    assert found.line.base_rtt_s == pytest.approx(0.03, abs=0.002)


def test_a_capture_is_a_measurement_that_can_be_saved_and_summed_up(upload: Path, tmp_path: Path) -> None:
    found = measurement_of_capture(upload)
    assert list(found.phases["phase"]) == ["idle", "up"]
    assert found.about.notes[0].startswith("A capture shows neither packets of other computers nor")
    load = answer(found).summary.loads["up", "up"]
    assert load.loss_percent is None
    assert load.rate_mbps == pytest.approx(5, rel=0.02)
    assert load.added_ms is not None
    assert 40 < load.added_ms < 100
    found.save(tmp_path / "saved.json")
    assert read_measurement(tmp_path / "saved.json").about == found.about


@pytest.mark.parametrize("has_handshake", [True, False])
def test_timestamps_show_the_round_trips_of_a_download(tmp_path: Path, has_handshake: bool) -> None:
    file = written(tmp_path / "down.pcap", download(3.0, has_handshake=has_handshake, again=700))
    (found,) = read_capture(file)
    assert (found.name, found.direction) == ("10.0.0.1:40000 > 192.0.2.1:443", "down")
    assert found.goodput_mbps == pytest.approx(MSS * 8e-6 / PACKET_S, rel=0.01)
    assert (found.least_rtt_ms or 0.0) + (found.added_ms or 0.0) == pytest.approx(WINDOW * PACKET_S * 1e3, abs=2)
    if has_handshake:
        assert found.least_rtt_ms == pytest.approx(BASE_S * 1e3, abs=2)
    assert len(found.resent) == 1
    transfers = measurement_of_capture(file).transfers
    assert transfers["bytes"].iloc[-1] == found.payload_bytes
    assert transfers["retransmits"].iloc[-1] == 1
    assert transfers["rtt_ms"].iloc[-1] == pytest.approx(WINDOW * PACKET_S * 1e3, abs=2)


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [(0.1, "no connection carries 100 kB or more: capture an upload or a download"), (0.5, "capture a longer one")],
)
def test_a_capture_without_load_is_refused(tmp_path: Path, seconds: float, sentence: str) -> None:
    file = written(tmp_path / "down.pcap", download(seconds))
    with pytest.raises(ub.InputError, match=sentence):
        measurement_of_capture(file)
