"""`unbloat.lab.meters`: what it reads from recorded outputs of meters, and what the queues of a line say beside it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from unbloat.lab.line_waits import Queue
from unbloat.lab.meters import (
    LINES,
    LOADED,
    Phase,
    Rate,
    Reading,
    bbperf,
    bounceback,
    flent,
    held,
    iperf3,
    iperf3_udp,
    irtt,
    mach,
    nuttcp,
    ping,
    report,
    sections_of,
    truths,
    unbloat_line,
)

DSL, FAIR = LINES[0], LINES[1]


def iperf3_output(mean_rtt_us: int, sent: float, received: float) -> str:
    end = {
        "streams": [{"sender": {"max_rtt": 1031022, "min_rtt": 152181, "mean_rtt": mean_rtt_us}}],
        "sum_sent": {"bits_per_second": sent, "retransmits": 33},
        "sum_received": {"bits_per_second": received},
    }
    return json.dumps({"start": {}, "end": end}, indent="\t")


PING = """\
PING receiver (10.128.0.1) 56(84) bytes of data.

--- receiver ping statistics ---
10 packets transmitted, 10 received, 0% packet loss, time 1937ms
rtt min/avg/max/mdev = 30.289/38.104/48.074/6.113 ms
-- loaded
PING receiver (10.128.0.1) 56(84) bytes of data.

--- receiver ping statistics ---
59 packets transmitted, 54 received, 8.47458% packet loss, time 11814ms
rtt min/avg/max/mdev = 30.254/408.244/1029.952/240.066 ms, pipe 6
"""
NUTTCP = "   20.1186 MB /   8.88 sec =   19.0083 Mbps 0 %TX 0 %RX 0 retrans 30.30 msRTT\n"
BOUNCEBACK = """\
[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS
[  1] 0.0000-1.0000 sec  1.56 KBytes  12.8 Kbits/sec    8=113.521/36.334/145.915/35.489 ms    0   14K/99517 us    8.8 rps
[  1] 1.0000-2.0000 sec   400 Bytes  3.20 Kbits/sec    2=161.570/160.271/162.869/1.837 ms    0   14K/107109 us    6.2 rps
[  2] 1.0000-2.0000 sec   718 KBytes  5.88 Mbits/sec  7356/0          0      124K/205611(636) us  3.577630
"""
BBPERF = """\
test running, tcp up, control conn addr ('10.0.0.1', 22479), args {'server': False}
{
    "num_samples": 111,
    "unloaded_rtt_ms": 32.06491470336914,
    "loaded_rtt_ms": {
        "p50": 901.2188911437988
    },
    "receiver_throughput_rate_mbps": {
        "p50": 4.8232254382273565
    }
}
"""
FLENT = """\
                              avg       median       99th %          # data pts
 Ping (ms) ICMP    :       560.00       625.50      1036.64 ms              110
 Ping (ms) UDP BE1 :       110.50       198.42      1030.93 ms              110
 Ping (ms) avg     :       223.18          N/A          N/A ms              110
 TCP download sum  :         5.01          N/A          N/A Mbits/s         110
 TCP upload sum    :         4.69          N/A          N/A Mbits/s         110
"""
MACH = json.dumps(
    {
        "unloaded_latency_ms": 30.5,
        "jitter_ms": 6.9,
        "download": {"throughput": 19_000_000, "loaded_latency_ms": 86.9, "rpm": 446},
        "upload": {"throughput": 4_700_000, "loaded_latency_ms": 206.8, "rpm": 240},
    },
    indent=2,
)
UNBLOAT = json.dumps(
    {
        "idle_rtt_ms": 30.4,
        "up": {"rate_mbps": 4.96, "loaded_rtt_ms": 949.5, "added_ms": 919.0, "rpm": 60.0},
        "both": {
            way: {"rate_mbps": rate, "added_ms": 975.0, "rpm": None} for way, rate in (("up", 4.7), ("down", 11.7))
        },
    }
)


def irtt_output(idle_ns: int, loaded_ns: int) -> str:
    parts = [
        json.dumps({"stats": {"rtt": {"median": median}, "ipdv_round_trip": {"mean": 14_145_854}}}, indent=4)
        for median in (idle_ns, loaded_ns)
    ]
    return f"\n{LOADED}".join(parts)


def added(reading: Reading) -> float | None:
    found = reading.added(DSL.base_rtt_ms)
    return None if found is None else round(found, 3)


def test_iperf3_prints_the_delay_of_its_own_connection_and_two_rates() -> None:
    (reading,), rates = iperf3("iperf3", "up", iperf3_output(482_288, 6.34e6, 4.47e6))
    assert (reading.value, added(reading), reading.is_mean) == (482.288, 452.288, True)
    assert [(rate.says, rate.way, rate.mbps) for rate in rates] == [("sent", "up", 6.34), ("received", "up", 4.47)]


def test_iperf3_prints_an_rtt_of_zero_for_downloads() -> None:
    (reading,), rates = iperf3("iperf3", "down", iperf3_output(0, 20.5e6, 19.2e6))
    assert (reading.value, added(reading)) == (0.0, None)
    assert rates[0].way == "down"


def test_jitter_and_loss_are_no_delay() -> None:
    total = {"jitter_ms": 1.25, "lost_percent": 41.1, "bits_per_second": 4.88e6}
    readings, rates = iperf3_udp("iperf3 -u", "up", json.dumps({"end": {"sum_received": total}}))
    assert [(each.value, each.unit, added(each)) for each in readings] == [(1.25, "ms", None), (41.1, "%", None)]
    assert rates[0].mbps == 4.88


def test_probes_take_off_the_delay_of_the_idle_line() -> None:
    mean, deviation = ping("ping", "up", PING)[0]
    assert (added(mean), mean.is_mean, added(deviation)) == (370.14, True, None)
    median, jitter = irtt("irtt", "up", irtt_output(34_473_005, 386_807_984))[0]
    assert (added(median), median.is_mean, added(jitter)) == (352.335, False, None)


def test_nuttcp_prints_the_round_trip_time_of_the_handshake() -> None:
    (reading,), (rate,) = nuttcp("nuttcp", "up", NUTTCP)
    assert (added(reading), rate.mbps) == (0.3, 19.0083)


def test_requests_of_iperf_2_count_by_their_number() -> None:
    (reading,), _ = bounceback("iperf 2", "both", BOUNCEBACK)
    assert added(reading) == round((8 * 113.521 + 2 * 161.570) / 10 - 30, 3)


def test_bbperf_and_flent_print_summaries() -> None:
    (reading,), (rate,) = bbperf("bbperf", "up", BBPERF)
    assert (added(reading), rate.mbps) == (869.154, 4.8232254382273565)
    readings, rates = flent("flent", "both", FLENT)
    assert [(each.says, added(each)) for each in readings] == [
        ("Ping ICMP", 530),
        ("Ping UDP BE1", 80.5),
        ("Ping avg", 193.18),
    ]
    assert [(rate.way, rate.mbps) for rate in rates] == [("up", 4.69), ("down", 5.01)]


def test_rpm_become_milliseconds() -> None:
    rpm, latency = mach("mach", "up", MACH)[0]
    assert (added(rpm), added(latency)) == (219.5, 176.3)
    own, rpm = unbloat_line("unbloat line", "up", UNBLOAT)[0]
    assert (added(own), added(rpm)) == (919.0, 969.6)


def test_a_missing_number_leaves_the_others() -> None:
    readings, rates = unbloat_line("unbloat line", "both", UNBLOAT)
    assert [added(each) for each in readings] == [975.0, None]
    assert [(rate.way, rate.mbps) for rate in rates] == [("up", 4.7), ("down", 11.7)]


# ---------------------------------------------------------------- Queues

STEP_S = 0.01


def queue(mbps: float, waiting_bytes: float, start_s: float, stop_s: float) -> Queue:
    """Make a queue that is as long from a time to another, while the direction carries its whole rate."""
    time_s = np.arange(0, 20, STEP_S)
    busy = (time_s >= start_s) & (time_s < stop_s)
    sent = np.cumsum(np.where(busy, mbps * 125e3 * STEP_S, 0.0))
    return Queue(time_s, np.where(busy, waiting_bytes, 0.0), np.zeros(len(time_s)), sent, np.full(len(time_s), mbps))


def median(phase: Phase) -> Reading:
    return Reading("meter", "median", phase)


def queues(up_s: tuple[float, float], down_s: tuple[float, float]) -> dict[str, Queue]:
    return {"up": queue(5, 250_000, *up_s), "down": queue(20, 250_000, *down_s)}


def test_a_fifo_makes_everybody_wait() -> None:
    found = truths(DSL, queues((4, 14), (4, 14)))
    assert set(found) == {"both"}
    # 400 ms up and 100 ms down; the last bytes leave as the load ends.
    assert found["both"].wait_ms(median("both")) == pytest.approx(500, rel=0.02)
    assert found["both"].load_ms(median("both")) == pytest.approx(500, rel=0.12)


def test_a_fair_queue_makes_only_the_load_wait() -> None:
    found = truths(FAIR, queues((4, 14), (0, 0)))
    assert set(found) == {"up"}
    assert found["up"].wait_ms(median("up")) == pytest.approx(1.2, rel=0.05)
    assert found["up"].load_ms(median("up")) == pytest.approx(400, rel=0.12)


def test_the_load_tells_the_phases() -> None:
    found = truths(DSL, queues((2, 9), (8.5, 16)))
    assert set(found) == {"up", "down"}
    assert found["down"].carried_mbps(Rate("meter", "rate", "down", "down", 20)) == pytest.approx(20, rel=0.15)


def test_a_direction_that_the_other_one_starves_is_loaded_still() -> None:
    assert set(truths(DSL, queues((2, 14), (2, 6)))) == {"both"}


def test_all_load_of_a_meter_that_only_loads_both_ways_counts() -> None:
    found = truths(DSL, queues((2, 14), (8, 14)), ["both"])
    assert {phase: len(truth.waits_ms) * STEP_S for phase, truth in found.items()} == {"both": pytest.approx(12, abs=1)}


def test_a_short_load_before_the_longest_one_does_not_count() -> None:
    once, twice = queues((8, 16), (0, 0)), queues((8, 16), (0, 0))
    twice["up"].sent_bytes[200:] += np.minimum(np.arange(1800) * 6250.0, 625_000)
    assert [truths(DSL, each)["up"].wait_ms(median("up")) for each in (once, twice)] == [pytest.approx(401.2)] * 2


def test_the_truth_leaves_out_what_the_meter_leaves_out() -> None:
    filling = queues((4, 16), (0, 0))
    filling["up"].waiting_bytes[400:800] = 0
    found = truths(DSL, filling)["up"]
    whole, late = (replace(median("up"), is_mean=True, left_out=share) for share in (0, 1 / 3))
    assert (found.wait_ms(late), found.load_ms(late)) == pytest.approx((400, 400), rel=0.06)
    assert (found.wait_ms(whole), found.load_ms(whole)) == pytest.approx((267, 267), rel=0.06)
    rates = [Rate("meter", "rate", "up", "up", 5, share) for share in (0, 1 / 3)]
    assert [found.carried_mbps(rate) for rate in rates] == pytest.approx([5, 5], rel=0.06)


# ---------------------------------------------------------------- Tables


def test_the_table_has_what_meters_print_beside_the_truth() -> None:
    output = f"starting\n@@ nuttcp\n{NUTTCP}"
    assert sections_of(output) == {"nuttcp": NUTTCP}
    text = report([held(DSL, "nuttcp", output, queues((4, 14), (0, 0)))]).markdown()
    assert "| nuttcp | up | msRTT | 0.30 for 401 |" in text
    assert "| nuttcp | up | msRTT | 30.3 ms | 0.30 |" in text


def test_a_meter_without_an_answer_says_why() -> None:
    found = held(DSL, "nuttcp", "nuttcp: not here\n", None)
    assert [each.failure for each in found.readings] == ["nuttcp: not here"]
    assert "nuttcp: not here" in report([found]).text()
