"""The kernel's own queue disciplines and netem, in a guest whose kernel has them all; no root, and no noise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import guests
import pytest
from conftest import Cli

SCENARIO = """\
duration = "3s"
warmup = "1s"
[link.bottleneck]
rate = "10mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "60kb" }
[[flows]]
cc = "kernel:cubic"
[[flows]]
cc = "kernel:cubic"
start = "100ms"
"""
GRID = (
    SCENARIO
    + """
[sweep]
case = [
    { label = "ours", "flows.1.size" = "1kb" },
    { label = "bfifo", "flows.1.size" = "1kb", "link.bottleneck.queue.kind" = "kernel:bfifo" },
    { label = "netem", "flows.1.size" = "1kb", emulator = "netem" },
    { label = "bursts", warmup = "0s", emulator = "netem", LOSS },
    { label = "fq_codel", "link.bottleneck.queue" = { kind = "kernel:fq_codel", target = "8ms", quantum = "1514b" } },
    { label = "codel", profile = { ecn = true }, "link.bottleneck.queue" = { kind = "kernel:codel", ecn = true } },
    { label = "pie", LONGER, "link.bottleneck.queue" = { kind = "kernel:pie", target = "30ms" } },
    { label = "red", "link.bottleneck.queue" = { kind = "kernel:red", limit = "200kb", min = "20kb", max = "60kb" } },
    { label = "prio", "link.bottleneck.queue" = { kind = "kernel:prio" }, "flows.1.tos" = 0x10 },
    { label = "pfifo_fast", "link.bottleneck.queue" = { kind = "kernel:pfifo_fast" }, "flows.1.tos" = 0x10 },
    { label = "fq_pie", LONGER, "link.bottleneck.queue" = { kind = "kernel:fq_pie", target = "30ms" } },
    { label = "cake", "link.bottleneck.queue" = { kind = "kernel:cake", rtt = "200ms" } },
    { label = "policed", "link.bottleneck.queue.kind" = "kernel:bfifo", POLICER },
    { label = "shaping cake", "link.bottleneck.queue" = { kind = "kernel:cake", bandwidth = "8mbit" } },
]
""".replace("LOSS", '"link.bottleneck.loss" = { p = "2%", r = "60%", 1-h = "90%", 1-k = "1%" }')
    .replace("LONGER", 'duration = "5s", warmup = "1500ms"')
    .replace("POLICER", '"link.bottleneck.policer" = { rate = "5mbit", burst = "20kb" }')
)
LOSSY = {
    **{"emulator": "netem", "link.bottleneck.loss": "2%", "warmup": "0s", "duration": "6s"},
    **{"flows.0.size": "1mb", "flows.1.size": "1mb"},
}
PACKET_MS = 1.2
# What the queue and the path hold: 10 Mbit/s for 20 ms.
HELD_BYTES = 60_000 + 25_000

Records = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The kernel of the guests here."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("queues")
        patch.setenv("UNBLOAT_CACHE", str(folder))
        yield guests.booted(folder)


@pytest.fixture(scope="session")
def runs(kernel: str) -> Records:
    """Every run of the grid, by its label, one after the other in one guest."""
    return {run["axes"]["case"]: run for run in guests.run_all(kernel, GRID)}


@pytest.fixture(scope="session")
def lossy(kernel: str) -> Records:
    """Runs with netem's losses, each in a guest of its own: some kernels draw what they have not drawn before."""
    seeds = {"first": 1, "again": 1, "other seed": 2}
    return {label: guests.run_all(kernel, SCENARIO, [{**LOSSY, "seed": seed}])[0] for label, seed in seeds.items()}


def of(run: dict[str, Any], name: str) -> Any:
    """A figure of the bottleneck."""
    return run["links"][0][name]


def figures(run: dict[str, Any]) -> Any:
    return run["flows"], run["links"]


def goodputs(run: dict[str, Any]) -> list[float]:
    return [flow["goodput_mbps"] for flow in run["flows"]]


def test_every_run_is_sound_and_fills_the_link(runs: Records, lossy: Records) -> None:
    for label, run in (runs | lossy).items():
        assert run["sound"], (label, run["unsound_because"])
        if label not in ("bursts", "policed", "shaping cake", *lossy):
            assert of(run, "utilisation_percent") > 97, label


@pytest.mark.parametrize("label", ["bfifo", "netem"])
def test_the_kernel_s_fifos_do_what_ours_does(runs: Records, label: str) -> None:
    """With one flow: the queue of two hangs on how they fall together, which no two guests have alike."""
    ours, theirs = runs["ours"], runs[label]
    assert of(theirs, "utilisation_percent") == pytest.approx(of(ours, "utilisation_percent"), rel=0.01)
    # At the end a hole may hold back all that the path holds, of what came in 2 s.
    held_back = HELD_BYTES * 8 / 2e6
    assert sum(goodputs(theirs)) == pytest.approx(sum(goodputs(ours)), abs=held_back)
    assert of(theirs, "queue_delay_ms_mean") == pytest.approx(of(ours, "queue_delay_ms_mean"), rel=0.05, abs=PACKET_MS)
    assert of(theirs, "queue_delay_ms_max") == pytest.approx(of(ours, "queue_delay_ms_max"), abs=PACKET_MS)
    assert of(theirs, "drops") > 0


@pytest.mark.parametrize("label", ["bfifo", "fq_codel", "pie", "red", "first"])
def test_drops_are_the_flows_losses(runs: Records, lossy: Records, label: str) -> None:
    run = (runs | lossy)[label]
    lost, gone = sum(flow["lost_packets"] for flow in run["flows"]), of(run, "drops") + of(run, "wire_losses")
    # A flow that has ended has found all its losses, but a last segment that a probe repairs is lost without being
    # counted (tcp_process_tlp_ack); another flow has not yet found those of what is on its way.
    unseen = len(run["flows"]) if label in lossy else HELD_BYTES // 1500
    assert gone - unseen <= lost <= gone != 0


def test_netem_s_losses_are_its_own_and_follow_the_seed(lossy: Records) -> None:
    first, again, other = lossy.values()
    assert figures(first) == figures(again) != figures(other)
    for run in (first, other):
        assert all(flow["completion_s"] for flow in run["flows"])
        sent = sum(flow["sent_packets"] for flow in run["flows"])
        # Four standard deviations of so many draws.
        assert of(run, "wire_losses") == pytest.approx(0.02 * sent, abs=4 * (0.02 * sent) ** 0.5)


def test_netem_loses_in_bursts(runs: Records) -> None:
    """Its share is that of the closed form: the wire is bad for 2/62 of the packets."""
    run = runs["bursts"]
    sent = sum(flow["sent_packets"] for flow in run["flows"])
    bad, correlated = 0.02 / 0.62, 0.38 / 0.62
    share = 0.9 * bad + 0.01 * (1 - bad)
    deviation = (sent * (share * (1 - share) + 2 * bad * (1 - bad) * 0.89**2 * correlated)) ** 0.5
    assert of(run, "wire_losses") == pytest.approx(share * sent, abs=4 * deviation)


def test_fq_codel_gives_each_flow_its_share_at_its_target(runs: Records) -> None:
    run = runs["fq_codel"]
    one, other = goodputs(run)
    assert one == pytest.approx(other, rel=0.02)
    assert 4 < of(run, "queue_delay_ms_mean") < 12 and of(run, "marks") == 0 < of(run, "drops")


def test_codel_marks_where_it_may(runs: Records) -> None:
    run = runs["codel"]
    assert of(run, "drops") == 0 < of(run, "marks")
    assert 2 < of(run, "queue_delay_ms_mean") < 10


def test_pie_aims_at_its_target(runs: Records) -> None:
    assert of(runs["pie"], "queue_delay_ms_mean") == pytest.approx(30, abs=10)


def test_red_keeps_the_queue_between_its_bounds(runs: Records) -> None:
    assert 15_000 < of(runs["red"], "queue_bytes_mean") < 60_000


@pytest.mark.parametrize("label", ["prio", "pfifo_fast"])
def test_strict_priorities_go_by_the_type_of_service(runs: Records, label: str) -> None:
    plain, low_delay = goodputs(runs[label])
    assert plain < 0.1 * low_delay


def test_fq_pie_gives_each_flow_its_share_near_its_target(runs: Records) -> None:
    one, other = goodputs(runs["fq_pie"])
    assert one == pytest.approx(other, rel=0.02)
    assert of(runs["fq_pie"], "queue_delay_ms_mean") == pytest.approx(30, abs=15)


def test_cake_keeps_to_its_target_and_its_bandwidth(runs: Records) -> None:
    """Told of round trips of 200 ms it aims at 10 ms: enough that both flows always have packets waiting, so that
    their shares are CAKE's doing. For its first drop it waits 200 ms."""
    one, other = goodputs(runs["cake"])
    assert one == pytest.approx(other, rel=0.03)
    assert 5 < of(runs["cake"], "queue_delay_ms_mean") < 25 and of(runs["cake"], "drops") > 0
    assert 78 < of(runs["shaping cake"], "utilisation_percent") <= 81


def test_a_policer_drops_before_the_queue(runs: Records) -> None:
    """In the 2 s that are measured, the bucket adds at most its 20 kB to half of what the link carries."""
    run = runs["policed"]
    assert 30 < of(run, "utilisation_percent") <= 51
    assert of(run, "drops") > 0 and of(run, "queue_delay_ms_max") < 20


@pytest.mark.parametrize(
    ("change", "place", "what"),
    [
        ("link.bottleneck.queue.kind=kernel:pfifo", "link.bottleneck.queue.kind", "kernel:pfifo"),
        ("link.bottleneck.reverse.queue.kind=kernel:pie", "link.bottleneck.reverse.queue.kind", "kernel:pie"),
        ("emulator=netem", "emulator", "netem"),
    ],
)
def test_the_simulator_has_none_of_them(cli: Cli, small: Path, change: str, place: str, what: str) -> None:
    done = cli("run", small, "--set", 'link.bottleneck.queue.limit="20p"', "--set", change)
    assert done.returncode == 2
    sentence = f"{what} belongs to the running kernel: run it with --on kernel or --on vm"
    assert done.stderr.strip() == f"unbloat: {place}: {sentence}"
