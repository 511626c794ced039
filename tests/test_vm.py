"""Runs in guests: a stock kernel in virtual time. These tests need QEMU, and no root.

What can be worked out on paper comes out exactly here, for the guest's clock is its own: the bounds are those of the
arithmetic, not of a busy machine.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import guests
import pcapng
import pytest
import unbloat as ub
from conftest import Cli, Write
from inline_snapshot import snapshot
from kept import KEPT
from leftovers import PATIENCE_S, descendants, is_alive, read, wait_until
from sentences import stderr_of
from unbloat import RunError
from unbloat.guest import guest, kernels, qemu
from unbloat.system.paths import mechanism_names

LTE = Path(__file__).parents[1] / "scenarios/traces/lte-small.down"
SEGMENT = 1448
"""Payload of a packet of 1500 bytes: IP, TCP and time stamps take the rest."""

CONSTANT = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf_tracing_net.h"
SEC("struct_ops") void BPF_PROG(constant_init, struct sock *sk) { tcp_sk(sk)->snd_cwnd = 4; }
SEC("struct_ops") void BPF_PROG(constant_stay, struct sock *sk, __u32 ack, __u32 acked) {}
SEC("struct_ops") __u32 BPF_PROG(constant_same, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC("struct_ops") __u32 BPF_PROG(constant_undo, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }

SEC(".struct_ops")
struct tcp_congestion_ops constant = {
	.init = (void *)constant_init,
	.cong_avoid = (void *)constant_stay,
	.ssthresh = (void *)constant_same,
	.undo_cwnd = (void *)constant_undo,
	.name = "constant",
};
char _license[] SEC("license") = "GPL";
"""
"""A user's own control: four packets, whatever happens."""


@pytest.fixture(autouse=True)
def kernel(cache: Path) -> str:
    """The kernel of all guests here; they are booted once, before the first test begins."""
    return guests.booted(cache)


@contextmanager
def busy_processors() -> Iterator[None]:
    """Take every processor's time from whoever else wants it."""
    burn = [sys.executable, "-c", "while True: pass"]
    burning = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


def started_by(process: int, program: str) -> list[int]:
    return [child for child in descendants(process) if program in read(Path(f"/proc/{child}/cmdline"))]


# ---------------------------------------------------------------- What a run measures


def test_every_control_works_on_the_oldest_kernel(scenario: Write, kernel: str) -> None:
    """Each has a flow of its own, but the one that no kernel tells what the other nodes of its mesh send.

    All initial windows fit into the queue: they are what even a flow that yields to all others delivers.
    """
    controls = [name for name in ub.catalogue("congestion_controls")["name"] if name != "dtpa_auto"]
    link = 'rate = "20mbit"\ndelay = "5ms"\nqueue = { limit = "1000p" }'
    file = scenario(link, *(f'cc = "{name}"' for name in controls))
    (run,) = guests.run_all(kernel, file)
    delivered = {flow["cc"]: flow["goodput_mbps"] for flow in run["flows"]}
    assert run["sound"] and set(delivered) == set(controls) and min(delivered.values()) > 0.05, delivered


def test_every_window_controller_works_on_the_oldest_kernel(scenario: Write, kernel: str) -> None:
    """Each has a flow of its own over one link."""
    link = 'rate = "20mbit"\ndelay = "5ms"\nqueue = { limit = "200p" }'
    params = {"rtac": "\nwindow_controller_params = { bdp = 34 }"}
    controllers = mechanism_names("window")
    flows = (f'cc = "cubic"\nwindow_controller = "{name}"{params.get(name, "")}' for name in controllers)
    (run,) = guests.run_all(kernel, scenario(link, *flows))
    delivered = dict(zip(controllers, (flow["goodput_mbps"] for flow in run["flows"]), strict=True))
    assert run["sound"] and min(delivered.values()) > 0.05, delivered


def test_timeouts_are_counted_where_the_kernel_does_not(small: Path, kernel: str) -> None:
    """`TCP_INFO` has a count of them from Linux 6.7 on."""
    assert kernel == "6.1"
    results = ub.scenario(small, {"link.bottleneck.loss": "25%"}).run(on="vm", kernel=kernel)
    (flow,) = results.as_dict()["runs"][0]["flows"]
    assert 0 < flow["timeouts"] < flow["retransmitted_packets"]


def test_a_small_link_in_every_respect(scenario: Write, tmp_path: Path, kernel: str) -> None:
    """2 Mbit/s with losses: records, series and trace come back and tell the same story."""
    file = scenario('rate = "2mbit"\ndelay = "10ms"\nqueue = { limit = "15kb" }', 'cc = "kernel:cubic"', duration="3s")
    results = ub.scenario(file).run(on="vm", kernel=kernel, pcap=tmp_path / "trace.pcapng", series="10ms")
    run = results.as_dict()["runs"][0]
    flow, (link, _) = run["flows"][0], run["links"]
    assert run["on"] == "vm" and flow["cc"] == "kernel:cubic"
    assert run["sound"] and run["cpu_idle_percent"] > 90 and run["boot_s"] > 1
    assert link["drops"] > 0 and flow["lost_packets"] == link["drops"] and flow["timeouts"] == 0
    # Nothing waits longer than the ten packets that there is room for, and one of them had to be there to be full.
    assert 9 * 6 < link["queue_delay_ms_max"] <= 10 * 6 + 0.1
    assert results.series("links")["queue_bytes"].max() <= 15_000
    assert len(results.series()) == pytest.approx(300, abs=2)

    trace = pcapng.read(tmp_path / "trace.pcapng")
    assert all(segment.checksums_right for segment in trace)
    data = [segment for segment in trace if segment.source.startswith("10.0.0.") and segment.payload]
    assert len(data) == flow["sent_packets"]


def test_dctcp_keeps_the_queue_about_its_threshold(scenario: Write, kernel: str) -> None:
    link = 'rate = "20mbit"\ndelay = "5ms"\nqueue = { limit = "300p", ecn_threshold = "20p" }'
    file = scenario(link, 'cc = "dctcp"', top='warmup = "500ms"')
    results = ub.scenario(file).run(on="vm", kernel=kernel)
    (bottleneck, _), (flow,) = results.links.to_dict("records"), results.flows.to_dict("records")
    assert bottleneck["marks"] > 20 and bottleneck["drops"] == 0
    assert flow["goodput_mbps"] > 18
    assert 0.3 * 20 * 1500 < bottleneck["queue_bytes_mean"] < 2 * 20 * 1500


@pytest.mark.parametrize("delayed", [True, False])
def test_completion_and_acknowledgements(scenario: Write, tmp_path: Path, kernel: str, delayed: bool) -> None:
    """A file that never has to wait for the window takes its own time on the wire, and two round trips."""
    flow = f'cc = "kernel:reno"\nstart = "100ms"\nsize = "{100 * SEGMENT}b"\nreceive_window = "64kb"'
    flow += f"\ndelayed_ack = {str(delayed).lower()}"
    file = scenario('rate = "2mbit"\ndelay = "10ms"\nqueue = {}', flow, duration="1s")
    results = ub.scenario(file).run(on="vm", kernel=kernel, pcap=tmp_path / "trace.pcapng")
    # The handshake's packets have 60 bytes, an acknowledgement 52.
    on_the_wire = 100 * 1500 * 8 / 2e6 + (2 * 60 + 52) * 8 / 2e6
    assert results.flows["completion_s"][0] == pytest.approx(0.040 + on_the_wire, rel=0.003)
    assert results.flows["sent_packets"][0] == 100
    trace = pcapng.read(tmp_path / "trace.pcapng")
    back = [segment for segment in trace if not segment.source.startswith("10.0.0.") and not segment.flags & pcapng.SYN]
    # Linux acknowledges a connection's first segments at once in any case; the last one may acknowledge the end alone.
    assert 50 <= len(back) < 75 if delayed else 100 <= len(back) <= 101


def test_starts_stops_and_windows(scenario: Write, tmp_path: Path, kernel: str) -> None:
    """Flows that leave the link room, so that each is as its own settings say."""
    file = scenario(
        'rate = "100mbit"\ndelay = "20ms"\nqueue = {}',
        'cc = "kernel:reno"\nreceive_window = "50kb"',
        'cc = "kernel:reno"\nreceive_window = "25kb"\npacket = "500b"',
        'cc = "kernel:reno"\nreceive_window = "30kb"\ncount = 2\nstart = "300ms"\nstagger = "400ms"\nstop = "1200ms"',
        top='warmup = "500ms"',
        duration="2500ms",
    )
    results = ub.scenario(file).run(on="vm", kernel=kernel, pcap=tmp_path / "trace.pcapng")
    # A window each round trip, which two acknowledgements and part of a segment make a little less.
    for flow, window in [(0, 50_000), (1, 25_000)]:
        rate = window * 8 / 1000 / results.flows["rtt_ms_mean"][flow]
        assert 0.9 * rate < results.flows["goodput_mbps"][flow] < rate
    assert results.flows["retransmitted_packets"].sum() == 0
    sent = [
        [segment for segment in pcapng.read(tmp_path / "trace.pcapng") if segment.source == f"10.0.0.{host}"]
        for host in range(1, 5)
    ]
    for segments, start, stop in zip(sent, [0, 0, 0.3, 0.7], [2.5, 2.5, 1.2, 1.2], strict=True):
        assert segments[0].flags & pcapng.SYN and segments[0].at == pytest.approx(start, abs=0.001)
        # What has been written by then still goes out, a window each round trip.
        assert stop - 0.045 < max(segment.at for segment in segments if segment.payload) < stop + 0.2


def test_the_least_timeout(scenario: Write, tmp_path: Path, kernel: str) -> None:
    """A segment that is lost with all that follow it is sent again when both that and four variances have passed."""
    link = 'rate = "2mbit"\ndelay = "10ms"\nqueue = {}\noutages = [{ at = "500ms", for = "100ms", lose = true }]'
    flow = 'cc = "kernel:reno"\nreceive_window = "6kb"\nprofile = { tlp = false, rto_min = "1s" }'
    file = scenario(link, flow, duration="2s")
    (run,) = ub.scenario(file).run(on="vm", kernel=kernel, pcap=tmp_path / "trace.pcapng").as_dict()["runs"]
    assert run["flows"][0]["timeouts"] == 1
    sent = [s.at for s in pcapng.read(tmp_path / "trace.pcapng") if s.source.startswith("10.0.0.") and s.payload]
    pauses = [later - earlier for earlier, later in pairwise(sent)]
    assert max(pauses) == pytest.approx(1.05, abs=0.05)


@pytest.mark.parametrize("beta", [512, 870])
def test_parameters_reach_the_kernel(scenario: Write, kernel: str, beta: int) -> None:
    """CUBIC's window after its first loss is beta times that before."""
    parameters = f'cc = "cubic"\nparams = {{ beta = {beta}, hystart = false }}'
    file = scenario('rate = "4mbit"\ndelay = "10ms"\nqueue = { limit = "45kb" }', parameters, duration="1s")
    series = ub.scenario(file).run(on="vm", kernel=kernel, series="1ms").series()
    threshold = series["ssthresh_packets"].dropna()
    before = series["cwnd_packets"][: threshold.index[0]].iloc[-1]
    assert threshold.iloc[0] == pytest.approx(before * beta / 1024, abs=1.5)


def test_a_users_file_a_module_and_a_trace(scenario: Write, tmp_path: Path, kernel: str) -> None:
    """What the run reads is here, and so is the compiler: the guest has neither."""
    (tmp_path / "constant.bpf.c").write_text(CONSTANT)
    link = f'trace = "{LTE}"\ndelay = "20ms"\nqueue = {{ limit = "60kb" }}'
    file = scenario(link, f'cc = "{tmp_path / "constant.bpf.c"}"', 'cc = "kernel:vegas"', 'cc = "vegas"')
    results = ub.scenario(file).run(on="vm", kernel=kernel, series="100ms")
    assert results.as_dict()["runs"][0]["sound"]
    assert list(results.flows["cc"]) == ["constant", "kernel:vegas", "vegas"]
    assert (results.flows["goodput_mbps"] > 0.1).all()
    of_users_file = results.series()[results.series()["flow"] == 0]["cwnd_packets"].dropna()
    assert of_users_file.iloc[1:].max() == 4


def test_a_saturated_guest_is_unsound(scenario: Write, kernel: str) -> None:
    """A packet each microsecond is more than a processor forwards that takes a nanosecond for an instruction.

    The emulator goes before all else, and Linux leaves a twentieth of each second to what comes behind.
    """
    file = scenario('rate = "10gbit"\ndelay = "1ms"\nqueue = {}', 'cc = "kernel:cubic"\ncount = 20', duration="1s")
    (run,) = ub.scenario(file).run(on="vm", kernel=kernel).as_dict()["runs"]
    busy_percent = 100 - run["cpu_idle_percent"]
    assert not run["sound"] and busy_percent > 94
    assert run["unsound_because"].replace(f"{busy_percent:.0f} %", "N %") == snapshot(
        "the guest's processor was busy for N % of the run, so its hosts were slower than the scenario's"
    )


# ---------------------------------------------------------------- Same start, same bytes

LOSSY = (
    'rate = "4mbit"\ndelay = "10ms"\nqueue = { limit = "30kb" }\nloss = "1%"',
    'cc = "cubic"',
    'cc = "kernel:reno"',
)


def test_the_same_seed_gives_the_same_bytes(scenario: Write, tmp_path: Path, kernel: str) -> None:
    """One after the other, or two guests side by side on a busy machine; another seed loses other packets."""
    file = scenario(*LOSSY, top="[sweep]\nseed = [7, 8]", duration="1s")

    def run(name: str, jobs: int) -> tuple[list[object], list[bytes]]:
        results = ub.scenario(file).run(on="vm", kernel=kernel, pcap=tmp_path / name, cache=False, jobs=jobs)
        return results.as_dict()["runs"], [path.read_bytes() for path in sorted(tmp_path.glob(f"{Path(name).stem}-*"))]

    alone = run("alone.pcapng", 1)
    with busy_processors():
        together = run("together.pcapng", 2)
    assert together == alone
    (first, second), (first_packets, second_packets) = alone
    assert first["flows"] != second["flows"] and first_packets != second_packets


def test_kept_runs_are_taken(cli: Cli, small: Path, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unlike those on this machine's kernel, which never come out twice the same."""
    words = ("run", small, "--on", "vm", "--kernel", kernel, "--json")
    first = cli(*words)
    assert first.returncode == 0
    monkeypatch.setenv("TMPDIR", "/nowhere")  # Where a run could not begin.
    second = cli(*words)
    assert (second.stdout, second.returncode) == (first.stdout, 0)


def test_it_is_the_scenario_that_counts(scenario: Write, tmp_path: Path, kernel: str) -> None:
    """Not how and where it is written down, nor whether it is one of a sweep."""
    file = scenario(*LOSSY, top="seed = 7", duration="1s")
    elsewhere = tmp_path / "a/longer/path/to/another.toml"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text(file.read_text() + "# a remark\n" * 50)

    def run(file: Path, **overrides: object) -> dict[str, object]:
        results = ub.scenario(file, {"name": "one", **overrides}).run(on="vm", kernel=kernel, cache=False)
        return {**results.as_dict()["runs"][0], "axes": {}}

    assert run(elsewhere, **{"sweep.seed": [7, 8]}) == run(file)


def test_series_come_without_another_run(scenario: Write, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at a kernel changes what it does, so every run is looked at."""
    results = ub.scenario(scenario(*LOSSY)).run(on="vm", kernel=kernel)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert len(results.series()) > 1000


# ---------------------------------------------------------------- What cannot be


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ["--cc", "kernel:nonesuch"],
            snapshot('unbloat: flows.0.cc: the kernel lacks the congestion control "nonesuch"; it has ...'),
        ),
        (
            ["--set", "profile=newreno"],
            snapshot(
                'unbloat: TMP/small.toml:9: flows.0.profile: the kernel\'s TCP always recovers by proportional rate reduction; leave profile.prr as in profile "linux", or simulate'
            ),
        ),
        (
            ["--kernel", "./image"],
            snapshot("unbloat: kernel image: is not a kernel image for x86 (a bzImage, as /boot has them)"),
        ),
        (["--kernel", "./nothing"], snapshot("unbloat: kernel nothing: No such file or directory")),
        (["--kernel", "."], snapshot("unbloat: kernel .: Is a directory")),
    ],
)
def test_wrong_input_is_a_sentence(
    cli: Cli, small: Path, tmp_path: Path, kernel: str, change: list[str], told: str
) -> None:
    (tmp_path / "image").write_bytes(bytes(100_000))
    done = cli("run", small, "--on", "vm", "--kernel", kernel, *change)
    assert done.returncode == 2
    # What each kernel and distribution has.
    assert re.sub("; it has .*", "; it has ...", stderr_of(done)) == told


def test_a_kernel_that_is_too_old_is_named(cli: Cli, small: Path) -> None:
    """What is said of it depends on the distribution."""
    done = cli("run", small, "--on", "vm", "--kernel", "4.19")
    assert done.returncode == 2 and "4.19" in done.stderr and done.stderr.count("\n") == 1


def test_a_kernel_s_own_control_elsewhere(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--cc", "kernel:vegas")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: flows.0.cc: kernel:vegas belongs to the running kernel: run it with --on kernel or --on vm, or write vegas, unbloat's own"
    )


def test_without_qemu(cli: Cli, small: Path, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    done = cli("run", small, "--on", "vm", "--kernel", kernel)
    assert done.returncode == 1
    assert stderr_of(done) == snapshot(
        "unbloat: guests (on = vm) need qemu-system-x86_64 and setpriv, which are not installed: apt-get install qemu-system-x86 util-linux"
    )


def test_a_guest_that_stumbles_tells_over_what(cache: Path, kernel: str) -> None:
    """Its last words are its own, not a dump of a kernel that has lost its first process."""
    with qemu.resume(guest.prepare(kernel, lambda _: None).state) as machine:
        machine.begin(b"no task at all")
        with pytest.raises(RunError) as refusal:
            machine.memory.take_answer(machine.pause)
    assert str(refusal.value).splitlines()[0] == snapshot("the guest stopped unexpectedly; its last output:")
    assert "json.decoder.JSONDecodeError: Expecting value: line 1 column 1" in str(refusal.value)


# ---------------------------------------------------------------- Who has no rights


def without_rights(folder: Path) -> list[str]:
    """Give what makes a command that of a user who owns a folder and nothing else; who is no root is one already.

    The right to read stays: this checkout and its Python may lie in root's home.
    """
    if os.geteuid() != 0:
        return []
    nobody = 65534
    os.chown(folder, nobody, nobody)
    rights = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search"]
    return ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups", *rights]


def test_a_user_without_rights(small: Path, cache: Path, tmp_path: Path, kernel: str) -> None:
    """Boots a guest and runs in it, with files in its own folder only; this machine's kernel is closed to it."""
    home = tmp_path / "home"
    home.mkdir()
    own = {**os.environ, "HOME": str(home), "UNBLOAT_CACHE": str(home / "cache"), "TMPDIR": str(home)}
    user = without_rights(home)

    def run(*where: str) -> "subprocess.CompletedProcess[str]":
        command = [*user, sys.executable, "-m", "unbloat", "run", str(small), "--json", *where]
        return subprocess.run(command, cwd=home, env=own, capture_output=True, text=True, timeout=PATIENCE_S)

    refused = run("--on", "kernel")
    assert refused.returncode == 1 and "root" in refused.stderr, refused.stderr
    done = run("--on", "vm", "--kernel", str(kernels.find_kernel(kernel).image))
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["runs"]
    assert record["sound"] and record["on"] == "vm" and record["flows"][0]["goodput_mbps"] > 3
    assert {path.name for path in home.iterdir()} == {"cache"}


# ---------------------------------------------------------------- Ends before the end


def kill_parent(run: int) -> None:
    os.kill(run, signal.SIGKILL)


def kill_workers(run: int) -> None:
    for process in started_by(run, "unbloat.runs.worker"):
        os.kill(process, signal.SIGKILL)


def interrupt(run: int) -> None:
    """As Ctrl-C does."""
    os.killpg(run, signal.SIGINT)


@pytest.mark.parametrize(("end", "status"), [(kill_parent, -signal.SIGKILL), (kill_workers, 1), (interrupt, 130)])
def test_ended_in_the_middle(small: Path, cache: Path, kernel: str, end: Callable[[int], None], status: int) -> None:
    """No machine stays, and what was finished is kept. The second run takes minutes, however busy the machine is."""
    small.write_text(small.read_text().replace('"2s"', '"1s"') + "[sweep]\nduration = ['1s', '5000s']\n")
    command = [sys.executable, "-m", "unbloat", "run", str(small), "--on", "vm", "--kernel", kernel, "--json"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    records = cache / "runs"
    wait_until(lambda: any(records.rglob("*.json")))
    wait_until(lambda: started_by(run.pid, qemu.QEMU))
    members = descendants(run.pid)
    end(run.pid)
    _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == status and "Traceback" not in said
    wait_until(lambda: not any(is_alive(member) for member in members))
    assert len([json.loads(file.read_text()) for file in records.rglob("*.json")]) == 1
    assert not any(KEPT.glob("*/.new-*"))
