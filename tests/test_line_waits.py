"""The queues of a line laid beside a measurement: when it began, how long packets waited, what filled the buffer."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from unbloat.lab.line_waits import (
    Queue,
    beginning,
    read_queues,
    requests_of_streams,
    waits_of_probes,
    waits_of_queues,
)
from unbloat.lab.lines import Kind, Truth, Way
from unbloat.line.measurement import COLUMNS, About, Measurement, measurement_of
from unbloat.line.streams import Stream

PHASES = pd.DataFrame({"phase": ["idle", "down", "up"], "start_s": [0.0, 2.0, 8.0], "stop_s": [1.0, 5.0, 11.0]})
START_S = 1_000_000.0
BEGAN_S = START_S + 1.5
LONG_S = 15.0


NO_TIMES = pd.DataFrame({"direction": [], "time_s": [], "delay_ms": []})


def truth_of(kind: Kind) -> Truth:
    """Make a truth of 8 Mbit/s both ways, 20 ms and buffers of 100 ms."""
    way = Way((8.0, 8.0), (100_000, 100_000), 100.0)
    return Truth(kind, ("fifo",), "beyond", 20.0, 0.2, way, way)


def queue_of(start_s: float, stop_s: float, waiting: float, drops: float = 0.0) -> Queue:
    """Make a queue of 8 Mbit/s in which `waiting` bytes wait between two times of the measurement."""
    time_s = np.arange(START_S, START_S + LONG_S, 0.01)
    loaded = (time_s >= BEGAN_S + start_s) & (time_s < BEGAN_S + stop_s)
    sent = np.cumsum(np.where(loaded, 10_000.0, 0.0))
    return Queue(time_s, np.where(loaded, waiting, 0.0), np.cumsum(loaded * drops), sent, np.full(len(time_s), 8.0))


QUEUES = {"up": queue_of(8, 11, 50_000), "down": queue_of(2, 5, 80_000, 0.01)}


def test_the_probes_tell_when_a_measurement_began() -> None:
    sent_s = np.arange(0, 11, 0.02)
    waits = np.where((sent_s >= 2) & (sent_s < 5), 80.0, np.where((sent_s >= 8) & (sent_s < 11), 50.0, 0.0))
    late = np.random.default_rng(1).exponential(2.0, len(sent_s))
    probes = pd.DataFrame({"sent_s": sent_s, "rtt_ms": 20.2 + waits + late})
    probes.loc[::7, "rtt_ms"] = np.nan
    assert beginning(QUEUES, probes, truth_of("fifo")) == pytest.approx(BEGAN_S, abs=0.02)


def test_the_waits_of_a_fifo_are_those_of_its_bytes() -> None:
    waits = waits_of_queues(QUEUES, PHASES, BEGAN_S, truth_of("fifo"), NO_TIMES)
    assert set(waits) == {"down", "up"}
    assert waits["down"]["median_ms"] == pytest.approx(80, abs=1)
    assert waits["up"]["trimmed_ms"] == pytest.approx(50, abs=1)
    assert (waits["down"]["down_filled"], waits["down"]["up_filled"], waits["up"]["up_filled"]) == (True, False, False)


def test_tcp_sends_small_packets_again_that_meet_a_full_queue() -> None:
    queue = queue_of(2, 5, 80_000)
    early = replace(queue, drop_share=(queue.time_s < START_S + 0.5).astype(float))
    sent_s = START_S + np.array([0.2, 0.7])
    idle_ms = np.zeros(len(queue.time_s))
    assert list(early.left_s(idle_ms, sent_s, 1.0) - START_S) == pytest.approx([1.2, 0.7])
    # The second try after 0.2 s meets a full queue, too; the third comes 0.4 s later.
    assert list(early.left_s(idle_ms, sent_s, 0.2) - START_S) == pytest.approx([0.8, 0.7])
    assert list(queue.left_s(idle_ms, sent_s, 0.2)) == list(sent_s)


def test_tcp_sends_only_dropped_packets_again() -> None:
    queue = replace(QUEUES["down"], drop_share=np.full(len(QUEUES["down"].time_s), 0.25))
    sent_s = START_S + np.linspace(1, 5, 2000)
    late_s = queue.left_s(np.zeros(len(queue.time_s)), sent_s, 1.0) - sent_s
    assert set(late_s.round(6)) == {0.0, 1.0, 3.0, 7.0}
    assert [float(np.mean(late_s > each)) for each in (0.5, 2.0)] == pytest.approx([0.25, 0.0625], abs=0.03)


def test_a_request_on_a_new_connection_takes_longer_where_a_full_queue_drops_its_packets() -> None:
    phase = PHASES[PHASES["phase"] == "up"]
    found = waits_of_queues(QUEUES, phase, BEGAN_S, truth_of("fifo"), NO_TIMES)
    assert found["up"]["new_ms"] == pytest.approx(20.2 + 50.7, abs=1)
    up = QUEUES["up"]
    # A fifth of the packets of the last two seconds.
    full = {**QUEUES, "up": replace(up, drop_share=(abs(up.time_s - BEGAN_S - 10) < 0.2).astype(float))}
    found = waits_of_queues(full, phase, BEGAN_S, truth_of("fifo"), NO_TIMES)
    # TCP repeats after 1 s when it connects, and after 0.2 s and two round trips later on.
    repeated_ms = (0.2 - 0.05) / 0.95 * (1000 + 2 * (200 + 2 * 70.9)) / 3
    assert found["up"]["new_ms"] == pytest.approx(20.2 + 50.7 + repeated_ms, rel=0.1)


def test_what_leaves_from_the_head_tells_which_small_packets_are_dropped(tmp_path: Path) -> None:
    head = "time_s,link,queue_bytes,queue_packets,drops,throughput_mbps,capacity_mbps"
    # Packets of 1500 bytes: one waits behind one in transmission. Each second one is dropped instead of sent.
    rows = [
        f"{at / 100},{name},1500,1,{(at + 1) // 2},{1.2 * (at % 2 == 0)},1.2"
        for at in range(9)
        for name in ("line", "line.reverse")
    ]
    (tmp_path / "q.csv").write_text("\n".join([head, *rows]) + "\n")
    share = read_queues(tmp_path / "q.csv", {"queue": {"kind": "drophead", "limit": "3000b"}})["up"].drop_share
    assert share is not None
    # A small packet that arrives comes to the head after the one that waits, and is the second to leave.
    assert list(share[:6]) == [0.0, 1.0] * 3


def test_a_packet_that_a_full_queue_drops_does_not_wait() -> None:
    up = QUEUES["up"]
    is_full = abs(up.time_s - BEGAN_S - 10) < 0.7
    # The queue is as long as its room for 1.4 of the last 2 s.
    long = replace(up, drop_share=is_full.astype(float), waiting_bytes=np.where(is_full, 90_000.0, up.waiting_bytes))
    found = waits_of_queues({**QUEUES, "up": long}, PHASES, BEGAN_S, truth_of("fifo"), NO_TIMES)
    assert found["up"]["median_ms"] == pytest.approx(50, abs=1)


def test_packets_tell_what_requests_on_loaded_connections_take() -> None:
    at_s = BEGAN_S + np.arange(0, 11, 0.02)
    times = pd.concat(
        pd.DataFrame({"direction": way, "time_s": at_s, "delay_ms": delay})
        for way, delay in (("up", 90.0), ("down", 70))
    )
    waits = waits_of_queues(QUEUES, PHASES, BEGAN_S, truth_of("fifo"), times[times["direction"] == "up"])
    assert waits["up"]["own_ms"] == pytest.approx(90)
    waits = waits_of_queues(QUEUES, PHASES, BEGAN_S, truth_of("fifo"), times[times["direction"] == "down"])
    assert waits["down"]["own_ms"] == pytest.approx(20.2 + 70)
    # A request for a download waits on its way up, too.
    assert waits["up"]["own_ms"] == pytest.approx(20.2 + 70 + 50.7, abs=1)


def test_bytes_dropped_from_the_head_shorten_the_wait() -> None:
    queues = {**QUEUES, "down": queue_of(2, 5, 80_000, 2.0)}
    # Each step sends 10 kB and drops 3 kB.
    waits = waits_of_queues(queues, PHASES, BEGAN_S, truth_of("drophead"), NO_TIMES)
    assert waits["down"]["median_ms"] == pytest.approx(80 * 10 / 13, abs=1)


def test_a_fair_queue_s_length_says_nothing_about_one_flow() -> None:
    assert waits_of_queues(QUEUES, PHASES, BEGAN_S, truth_of("fq_codel"), NO_TIMES) == {}


def measured(up: np.ndarray, down: np.ndarray, resent: float = 0.0) -> Measurement:
    """Make a measurement with these delays of probes and this number of resent segments."""
    sent_s = np.arange(0, 11, 0.02)
    tables: dict[str, dict[str, list[object]]] = {
        "phases": PHASES.to_dict("list"),
        "probes": {
            "phase": ["pause"] * len(sent_s),
            "sent_s": list(sent_s),
            "rtt_ms": list(up + down),
            "up_ms": list(up),
            "down_ms": list(down),
        },
        "transfers": {name: [] for name in COLUMNS["transfers"]},
    }
    for phase, start_s in (("down", 2.0), ("up", 8.0)):
        row = (phase, phase, 0.0, start_s + 1.0, 1e6, np.nan, resent)
        for name, value in zip(tables["transfers"], row, strict=True):
            tables["transfers"][name].append(value)
    return measurement_of(About("simulated"), tables)


def test_simulated_probes_are_exact() -> None:
    sent_s = np.arange(0, 11, 0.02)
    up = 10.1 + np.where((sent_s >= 8) & (sent_s < 11), 95.0, 0.0)
    down = 10.1 + np.where((sent_s >= 2) & (sent_s < 5), 60.0, 0.0)
    waits = waits_of_probes(measured(up, down), truth_of("fifo"))
    assert waits["down"]["median_ms"] == pytest.approx(60) and waits["up"]["trimmed_ms"] == pytest.approx(95)
    assert waits["up"]["up_filled"] and not waits["down"]["down_filled"]


def test_a_buffer_without_a_time_of_its_own_is_full_if_it_overflows() -> None:
    delays = np.full(550, 10.1)
    way = Way((6.0, 9.0), (90_000, 90_000))
    truth = replace(truth_of("varying"), up=way, down=way)
    full, empty = (waits_of_probes(measured(delays, delays, resent), truth) for resent in (1.0, 0.0))
    assert full["up"]["up_filled"] and not full["up"]["down_filled"]
    assert not empty["up"]["up_filled"]


def test_a_request_on_a_loaded_connection_takes_as_long_as_its_segment_and_all_before_it() -> None:
    sent_s = np.arange(0, 3, 0.01)
    ends = 1000.0 * (1 + np.arange(len(sent_s)))
    stream = Stream(sent_s, ends, sent_s + 0.05, ends)
    assert stream.delays_ms(np.array([1.0, 1.005, 2.995])) == pytest.approx([50, 55, math.nan], nan_ok=True)
    # One lost segment: what was sent behind it is acknowledged together with it.
    is_late = (sent_s > 1.49) & (sent_s < 1.7)
    held = Stream(sent_s, ends, np.append(sent_s[~is_late] + 0.05, 1.76), np.append(ends[~is_late], ends[169]))
    held = Stream(
        sent_s, ends, *(column[np.argsort(held.positions)] for column in (held.acknowledged_s, held.positions))
    )
    assert held.delays_ms(np.array([1.5, 1.6])) == pytest.approx([260, 160])
    times = requests_of_streams({"idle": [], "down": [stream], "up": []}, PHASES)
    assert times == {"down": pytest.approx(50, abs=1)}


def test_queues_are_read_from_a_file(tmp_path: Path) -> None:
    head = "time_s,link,queue_bytes,queue_packets,drops,throughput_mbps,capacity_mbps"
    rows = [
        f"{at / 100},{name},3000,2,1,8,{rate}" for at in range(5) for name, rate in (("line", 8), ("line.reverse", ""))
    ]
    (tmp_path / "q.csv").write_text("\n".join([head, *rows]) + "\n")

    def drop_share(kind: str, limit: str) -> list[float] | None:
        queue = {"kind": kind, "limit": limit}
        read = read_queues(tmp_path / "q.csv", {"queue": queue, "reverse": {"queue": queue}})["down"].drop_share
        return None if read is None else list(read)

    for limit, share in (("2p", 1.0), ("3p", 0.0), ("3059b", 1.0), ("3060b", 0.0)):
        assert drop_share("droptail", limit) == [share] * 5
    assert drop_share("pie", "2p") is None
    queues = read_queues(tmp_path / "q.csv")
    assert list(queues["up"].capacity_mbps) == list(queues["down"].capacity_mbps) == [8.0] * 5
    assert list(queues["up"].sent_bytes) == pytest.approx([0, 1e4, 2e4, 3e4, 4e4])
