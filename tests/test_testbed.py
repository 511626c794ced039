"""Runs with the running kernel's TCP against what can be worked out on paper: these tests need root."""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pcapng
import pytest
import unbloat as ub
from conftest import Cli, Write
from pcapng import ECE, SYN, Segment

pytestmark = pytest.mark.realtime

SEGMENT = 1448
"""Payload of a packet of 1500 bytes: IP, TCP and time stamps take the rest."""


def of_flows(trace: list[Segment]) -> dict[int, list[Segment]]:
    """The data segments and SYNs that each flow's sender sent: senders are 10.0.0.1 and following."""
    sent = defaultdict(list)
    for segment in trace:
        if segment.source.startswith("10.0.0."):
            sent[int(segment.source.split(".")[3]) - 1].append(segment)
    return sent


def retransmissions(sent: list[Segment]) -> int:
    """Data that does not go beyond what was sent before."""
    count, end = 0, 0
    for segment in sent:
        if segment.payload:
            count += segment.seq < end
            end = max(end, segment.seq + segment.payload)
    return count


def test_a_small_link_in_every_respect(scenario: Write, tmp_path: Path) -> None:
    """2 Mbit/s with losses: sound, with a complete trace that tells the same story as the record."""
    file = scenario('rate = "2mbit"\ndelay = "10ms"\nqueue = { limit = "15kb" }', 'cc = "kernel:cubic"', duration="3s")
    results = ub.run(file, on="kernel", pcap=tmp_path / "trace.pcapng", series="10ms")
    run = results.as_dict()["runs"][0]
    flow, (link, reverse) = run["flows"][0], run["links"]
    assert flow["cc"] == "kernel:cubic"
    assert run["lateness_us_p99"] > 0
    # A tenth of a packet's 6 ms is what such a run bears.
    assert run["sound"] == (run["lateness_us_p99"] <= 600), run["unsound_because"]
    assert link["drops"] > 0 and reverse["drops"] == 0 and flow["timeouts"] == 0
    assert flow["lost_packets"] == link["drops"]
    # Nothing waits longer than the ten packets that there is room for, and one of them had to be there to be full.
    assert 9 * 6 < link["queue_delay_ms_max"] <= 10 * 6
    assert results.series("links")["queue_bytes"].max() <= 15_000

    trace = pcapng.read(tmp_path / "trace.pcapng")
    assert all(segment.checksums_right for segment in trace)
    assert all(earlier.at <= later.at for earlier, later in pairwise(trace))
    (sent,) = of_flows(trace).values()
    data = [segment for segment in sent if segment.payload]
    assert len(data) == flow["sent_packets"]
    assert retransmissions(sent) == flow["retransmitted_packets"] > 0
    # Every packet carries one segment.
    assert Counter(segment.length for segment in data).most_common(1)[0][0] == 1500
    assert max(segment.length for segment in trace) == 1500


@pytest.mark.parametrize("queue", ['kind = "kernel:pfifo", limit = "10p"', 'kind = "kernel:bfifo", limit = "15kb"'])
def test_the_running_kernel_s_own_queues(scenario: Write, queue: str) -> None:
    """What they drop is what the flow loses, and they are never long empty; test_vm_agreement.py holds them to ours."""
    file = scenario(f'rate = "2mbit"\ndelay = "10ms"\nqueue = {{ {queue} }}', 'cc = "kernel:reno"', duration="4s")
    run = ub.run(file, on="kernel").as_dict()["runs"][0]
    (flow,), (link, reverse) = run["flows"], run["links"]
    assert flow["lost_packets"] == link["drops"] > 0 == reverse["drops"]
    assert 0.4 * 15_000 < link["queue_bytes_mean"] < 15_000
    assert 1.7 < flow["goodput_mbps"] < 2


def test_times_windows_and_sizes_of_packets(scenario: Write, tmp_path: Path) -> None:
    """Flows that leave the link room, so that each is as its own settings say."""
    file = scenario(
        'rate = "100mbit"\ndelay = "20ms"\nqueue = {}',
        'cc = "kernel:reno"\nreceive_window = "100kb"',
        'cc = "kernel:reno"\nreceive_window = "50kb"\npacket = "500b"',
        'cc = "kernel:reno"\nreceive_window = "30kb"\ncount = 2\nstart = "300ms"\nstagger = "400ms"\nstop = "1200ms"',
        top='warmup = "500ms"',
        duration="2500ms",
    )
    results = ub.run(file, on="kernel", pcap=tmp_path / "trace.pcapng")
    goodput = results.flows["goodput_mbps"]
    # A window each round trip, which two acknowledgements, the machine and part of a segment make a little less.
    for flow, window in [(0, 100_000), (1, 50_000)]:
        rate = window * 8 / 1000 / results.flows["rtt_ms_mean"][flow]
        assert 0.85 * rate < goodput[flow] < rate
    assert results.flows["retransmitted_packets"].sum() == 0

    flows = of_flows(pcapng.read(tmp_path / "trace.pcapng"))
    opened = [flows[flow][0].at for flow in range(4)]
    assert all(flows[flow][0].flags & SYN for flow in range(4))
    # A busy machine may be late, but never early.
    for at, expected in zip(opened, [0, 0, 0.3, 0.7], strict=True):
        assert expected <= at < expected + 0.05
    for flow, (largest, stop) in enumerate([(1500, 2.5), (500, 2.5), (1500, 1.2), (1500, 1.2)]):
        assert max(segment.length for segment in flows[flow]) == largest
        last = max(segment.at for segment in flows[flow] if segment.payload)
        # What has been written by then still goes out, a window each round trip.
        assert stop - 0.05 < last < stop + 0.25


@pytest.mark.parametrize("delayed", [True, False])
def test_completion_and_acknowledgements(scenario: Write, tmp_path: Path, delayed: bool) -> None:
    """A file that never has to wait for the window takes its own time on the wire, and two round trips."""
    size = 100 * SEGMENT
    file = scenario(
        'rate = "2mbit"\ndelay = "10ms"\nqueue = {}',
        f"""
        cc = "kernel:reno"
        start = "100ms"
        size = "{size}b"
        receive_window = "64kb"
        delayed_ack = {str(delayed).lower()}
        """,
        duration="1s",
    )
    results = ub.run(file, on="kernel", pcap=tmp_path / "trace.pcapng")
    # The handshake's packets have 60 bytes, an acknowledgement 52.
    on_the_wire = 100 * 1500 * 8 / 2e6 + (2 * 60 + 52) * 8 / 2e6
    # A busy machine takes longer; test_vm.py, where the clock is the guest's own, says that nothing else does.
    assert results.flows["completion_s"][0] > 0.98 * (0.040 + on_the_wire)
    assert results.flows["sent_packets"][0] == 100
    back = [
        s for s in pcapng.read(tmp_path / "trace.pcapng") if not s.source.startswith("10.0.0.") and not s.flags & SYN
    ]
    # Linux acknowledges a connection's first segments at once in any case; the last one may acknowledge the end alone.
    assert 50 <= len(back) < 75 if delayed else 100 <= len(back) <= 101


@pytest.mark.parametrize("beta", [512, 870])
def test_parameters_reach_the_kernel(scenario: Write, beta: int) -> None:
    """CUBIC's window after its first loss is beta times that before."""
    parameters = f'cc = "cubic"\nparams = {{ beta = {beta}, hystart = false }}'
    file = scenario('rate = "4mbit"\ndelay = "10ms"\nqueue = { limit = "45kb" }', parameters, duration="1s")
    series = ub.run(file, on="kernel", series="1ms").series()
    threshold = series["ssthresh_packets"].dropna()
    before = series["cwnd_packets"][: threshold.index[0]].iloc[-1]
    assert threshold.iloc[0] == pytest.approx(before * beta / 1024, abs=1.5)


def test_marks_take_the_place_of_drops(scenario: Write, tmp_path: Path) -> None:
    """DCTCP negotiates ECN. How full it keeps link and queue is said where time is virtual, in test_vm.py."""
    link = 'rate = "20mbit"\ndelay = "5ms"\nqueue = { limit = "300p", ecn_threshold = "20p" }'
    file = scenario(link, 'cc = "dctcp"', top='warmup = "500ms"')
    results = ub.run(file, on="kernel", pcap=tmp_path / "trace.pcapng")
    (records, _), (flow,) = results.links.to_dict("records"), results.flows.to_dict("records")
    assert records["marks"] > 20 and records["drops"] == 0 and flow["retransmitted_packets"] == 0
    trace = pcapng.read(tmp_path / "trace.pcapng")
    assert all(segment.checksums_right for segment in trace)
    assert sum(bool(segment.flags & ECE) for segment in trace if segment.source.startswith("10.128.")) > 20


@pytest.mark.parametrize("on", ["kernel", "simulator"])
@pytest.mark.parametrize(("tcp_usec_ts", "ticks"), [(False, 1_000), (True, 1_000_000)])
def test_the_ticks_of_timestamps(scenario: Write, tmp_path: Path, on: str, tcp_usec_ts: bool, ticks: int) -> None:
    """Both ends count so many a second."""
    profile = f"profile = {{ tcp_usec_ts = {str(tcp_usec_ts).lower()} }}"
    cc = "kernel:reno" if on == "kernel" else "reno"
    link = 'rate = "4mbit"\ndelay = "10ms"\nqueue = { limit = "30kb" }'
    file = scenario(link, f'cc = "{cc}"\n{profile}')
    ub.run(file, on=on, pcap=tmp_path / "trace.pcapng")
    trace = pcapng.read(tmp_path / "trace.pcapng")
    ends = {segment.source for segment in trace}
    assert len(ends) == 2
    for end in ends:
        # In the middle of the run, when the machine has no connection to set up or to end.
        first, *_, last = (segment for segment in trace if segment.source == end and 0.5 < segment.at < 1.9)
        assert first.tsval is not None and last.tsval is not None
        # The machine may be some milliseconds late.
        assert (last.tsval - first.tsval) % 2**32 / (last.at - first.at) == pytest.approx(ticks, rel=0.01)


def test_both_backends_answer_in_one_shape(cli: Cli, small: Path) -> None:
    """The same keys with values of the same types, where both have one."""
    kernel, simulated = (
        json.loads(cli("run", small, "--on", on, "--json", "--series", "100ms", "--set", "duration=1s").stdout)
        for on in ("kernel", "simulator")
    )
    assert shape(kernel) == shape(simulated)


def shape(value: object) -> object:
    """Names and types, all numbers alike; of a list its first member's."""
    if isinstance(value, dict):
        own = {"kernel", "lateness_us_p99", "cpu_idle_percent", "unsound_because"}
        return {key: shape(inner) for key, inner in value.items() if key not in own}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    return "number" if type(value) in (int, float) else type(value).__name__


def test_people_on_a_host_wait_for_the_path_at_least(scenario: Write) -> None:
    """With whatever this kernel has for bands; how long they wait beside an upload is tested in guests."""
    groups = ('cc = "cubic"', 'app = "messenger"\ncc = "cubic"', 'app = "ping"', 'app = "voice"')
    link = 'rate = "4mbit"\ndelay = "10ms"\nqueue = { kind = "prio", bands = 2 }'
    file = scenario(
        link, *(f'host = "pc"\n{group}' for group in groups), top='[host.pc]\nclassifier = "sorpc"', duration="3s"
    )
    (run,) = ub.run(file, on="kernel").as_dict()["runs"]
    upload, messages, _, ping, call = run["flows"]
    assert upload["goodput_mbps"] > 0 and messages["response_ms_p50"] >= 20
    for flow in (ping, call):
        assert flow["delay_ms_p50"] >= 10 and flow["rtt_ms_min"] >= 20 and flow["cc"] == "none"
    assert call["opinion_score"] >= 1 and run["links"][0]["utilisation_percent"] > 0


@pytest.mark.parametrize("switch", ["prr", "quick_ack"])
def test_what_a_kernel_always_does_cannot_be_switched_off(scenario: Write, cli: Cli, switch: str) -> None:
    link = 'rate = "4mbit"\ndelay = "10ms"\nqueue = {}'
    file = scenario(link, f'cc = "reno"\nprofile = {{ {switch} = false }}')
    line = file.read_text().splitlines().index(f"profile = {{ {switch} = false }}") + 1
    done = cli("run", file, "--on", "kernel")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"unbloat: {file}:{line}: flows.0.profile: the kernel's TCP always")


def test_clocks_that_drift_are_for_the_simulator(scenario: Write, cli: Cli) -> None:
    """A kernel has one clock, but takes an offset: its connections have random ones."""
    file = scenario('rate = "4mbit"\ndelay = "10ms"\nqueue = {}', 'cc = "reno"\nclock = { offset = "-3600s" }')
    done = cli("run", file, "--on", "kernel", "--set", "flows.0.clock.drift=50ppm")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "unbloat: --set: flows.0.clock.drift: 50ppm cannot be had on a kernel, where both ends read the same clock: "
        "leave it out, or simulate\n"
    )
    assert cli("run", file, "--on", "kernel", "--set", "duration=1s").returncode == 0
