"""Runs with the running kernel's TCP, and what their records and traces say of each other: these tests need root.

The machine may stand still at any moment, for a second too. What is about time is in test_vm.py, where it is virtual.
"""

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pcapng
import pytest
import unbloat as ub
from conftest import Cli, Write
from pcapng import ECE, SYN, Segment

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
    """2 Mbit/s with losses: a complete trace that tells the same story as the record."""
    file = scenario('rate = "2mbit"\ndelay = "10ms"\nqueue = { limit = "15kb" }', 'cc = "kernel:cubic"', duration="3s")
    results = ub.scenario(file).run(on="kernel", pcap=tmp_path / "trace.pcapng", series="10ms")
    run = results.as_dict()["runs"][0]
    flow, (link, reverse) = run["flows"][0], run["links"]
    assert flow["cc"] == "kernel:cubic"
    assert run["lateness_us_p99"] > 0
    # A tenth of a packet's 6 ms is what such a run bears.
    assert not run["sound"] or run["lateness_us_p99"] <= 600
    assert link["drops"] > 0 and reverse["drops"] == 0
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
    """They drop packets and carry the others; test_vm_agreement.py holds them to ours."""
    file = scenario(f'rate = "2mbit"\ndelay = "10ms"\nqueue = {{ {queue} }}', 'cc = "kernel:reno"', duration="4s")
    run = ub.scenario(file).run(on="kernel").as_dict()["runs"][0]
    (flow,), (link, reverse) = run["flows"], run["links"]
    assert flow["lost_packets"] > 0 and link["drops"] > 0 == reverse["drops"]
    assert 0 < link["queue_bytes_mean"] < 15_000
    assert 0 < flow["goodput_mbps"] < 2


def test_each_group_has_its_own_settings(scenario: Write, tmp_path: Path) -> None:
    file = scenario(
        'rate = "100mbit"\ndelay = "20ms"\nqueue = {}',
        'cc = "kernel:reno"',
        'cc = "kernel:reno"\npacket = "500b"',
        'cc = "kernel:reno"\ncount = 2\nstart = "300ms"\nstagger = "400ms"',
        duration="1500ms",
    )
    ub.scenario(file).run(on="kernel", pcap=tmp_path / "trace.pcapng")
    flows = of_flows(pcapng.read(tmp_path / "trace.pcapng"))
    assert [max(segment.length for segment in flows[flow]) for flow in range(4)] == [1500, 500, 1500, 1500]
    for flow, start in enumerate([0, 0, 0.3, 0.7]):
        # Late perhaps, early never.
        assert flows[flow][0].flags & SYN and flows[flow][0].at >= start


def test_marks_take_the_place_of_drops(scenario: Write, tmp_path: Path) -> None:
    """DCTCP negotiates ECN. What it loses, and how full it keeps link and queue, is said in test_vm.py."""
    link = 'rate = "20mbit"\ndelay = "5ms"\nqueue = { limit = "300p", ecn_threshold = "20p" }'
    file = scenario(link, 'cc = "dctcp"', top='warmup = "500ms"')
    results = ub.scenario(file).run(on="kernel", pcap=tmp_path / "trace.pcapng")
    assert results.as_dict()["runs"][0]["links"][0]["marks"] > 20
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
    ub.scenario(file).run(on=on, pcap=tmp_path / "trace.pcapng")
    trace = pcapng.read(tmp_path / "trace.pcapng")
    ends = {segment.source for segment in trace}
    assert len(ends) == 2
    for end in ends:
        first, *_, last = (segment for segment in trace if segment.source == end)
        assert first.tsval is not None and last.tsval is not None
        # The machine may stand still between the stamp and the trace; the other kind of ticks is a thousandfold.
        assert (last.tsval - first.tsval) % 2**32 / (last.at - first.at) == pytest.approx(ticks, rel=0.5)


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
    (run,) = ub.scenario(file).run(on="kernel").as_dict()["runs"]
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
    assert done.stderr.startswith(f"unbloat: {file}:{line}: flows.0.profile: ")


def test_clocks_that_drift_are_for_the_simulator(scenario: Write, cli: Cli) -> None:
    """A kernel has one clock, but takes an offset: its connections have random ones."""
    file = scenario('rate = "4mbit"\ndelay = "10ms"\nqueue = {}', 'cc = "reno"\nclock = { offset = "-3600s" }')
    done = cli("run", file, "--on", "kernel", "--set", "flows.0.clock.drift=50ppm")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "unbloat: flows.0.clock.drift: 50ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate\n"
    )
    assert cli("run", file, "--on", "kernel", "--set", "duration=1s").returncode == 0
