"""Requests on loaded connections, timed by the packets of a line's near end."""

import socket
import struct

import pandas as pd
import pytest
from unbloat.lab.near_packets import (
    BUFFER_BYTES,
    PACKET_STATISTICS,
    SOL_PACKET,
    STATISTICS_BYTES,
    Segment,
    UnseenError,
    listening,
    require_all,
    segment,
    times_of,
)

PORT, STEP_S = 40_000, 0.01
PAYLOAD = 1448
COUNT = 300


def table(segments: list[Segment]) -> pd.DataFrame:
    return pd.DataFrame(times_of(segments), columns=["direction", "time_s", "delay_ms"])


def test_an_upload_s_requests_take_until_all_before_them_is_acknowledged() -> None:
    sent = [Segment(number * STEP_S, True, PORT, 7 + number * PAYLOAD, PAYLOAD, 1, None) for number in range(COUNT)]
    answers = [Segment(each.time_s + 0.04, False, PORT, 1, 0, each.number + PAYLOAD, 5) for each in sent]
    # One is lost and sent again; until it is there, answers repeat.
    held = [each for each in answers if not 1.04 <= each.time_s < 1.3]
    found = table(sorted([*sent, *held], key=lambda each: each.time_s))
    assert set(found["direction"]) == {"up"}
    assert found["delay_ms"].median() == pytest.approx(40, abs=6)
    late = found[found["time_s"].between(1.0, 1.05)]["delay_ms"]
    assert late.max() == pytest.approx(300, abs=15)


def test_a_download_s_requests_take_until_all_before_them_has_come() -> None:
    def data(number: int, come_s: float) -> Segment:
        return Segment(come_s, False, PORT, 7 + number * PAYLOAD, PAYLOAD, 1, 5000 + int(number * STEP_S * 1e3))

    lost, again_s = 100, 1.5
    come = [data(number, 9 + number * STEP_S + (0.05 if number else 0.02)) for number in range(COUNT) if number != lost]
    found = table(sorted([*come, data(lost, 9 + again_s)], key=lambda each: each.time_s))
    assert set(found["direction"]) == {"down"}
    # The first packet met no queue: the others wait for 30 ms more.
    assert found["delay_ms"].median() == pytest.approx(30, abs=6)
    assert found["delay_ms"].max() == pytest.approx(1e3 * (again_s - lost * STEP_S) - 20, abs=15)


def test_a_port_may_have_several_connections() -> None:
    def upload(start_s: float, first: int) -> list[Segment]:
        opening = Segment(start_s, True, PORT, first - 1, 0, 0, None, opens=True)
        sent = [
            Segment(start_s + 1 + number * STEP_S, True, PORT, first + number * PAYLOAD, PAYLOAD, 1, None)
            for number in range(COUNT)
        ]
        answers = [Segment(each.time_s + 0.04, False, PORT, 1, 0, each.number + PAYLOAD, 5) for each in sent]
        return [opening, *sorted([*sent, *answers], key=lambda each: each.time_s)]

    found = table([*upload(0.0, 7), *upload(20.0, 1 << 30)])
    assert found["delay_ms"].max() < 60
    assert found["time_s"].between(4.1, 20.9).sum() == 0


def test_what_carries_little_is_no_load() -> None:
    assert table([Segment(1.0, True, PORT, 1, 500, 1, None)]).empty


def test_packets_that_went_unseen_spoil_the_times() -> None:
    require_all(struct.pack("II", 500, 0))
    with pytest.raises(UnseenError, match="3 packets"):
        require_all(struct.pack("II", 500, 3))


def test_packets_that_wait_have_room() -> None:
    try:
        device = listening()
    except PermissionError:
        pytest.skip("only root sees all packets")
    with device:
        assert device.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= BUFFER_BYTES
        require_all(device.getsockopt(SOL_PACKET, PACKET_STATISTICS, STATISTICS_BYTES))


def test_a_packet_is_read_from_its_headers() -> None:
    options = b"\x01\x01\x08\x0a" + struct.pack(">II", 77, 3)
    tcp = struct.pack(">HHIIBBHHH", 443, PORT, 1000, 2000, (20 + len(options)) // 4 << 4, 16, 0, 0, 0) + options
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + 100, 0, 0, 64, 6, 0, bytes(4), bytes(4))
    assert segment(1.5, False, ip + tcp) == Segment(1.5, False, PORT, 1000, 100, 2000, 77)
    opening = segment(1.5, False, ip + tcp[:13] + b"\x02" + tcp[14:])
    assert opening and opening.opens
    assert segment(1.5, False, ip[:9] + b"\x11" + ip[10:] + tcp) is None
    assert segment(1.5, False, b"\x65" + ip[1:] + tcp) is None
