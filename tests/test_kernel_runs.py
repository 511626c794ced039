"""Runs on the kernel as a user meets them: these tests need root, and real time.

How near their figures are to the simulator's is said in guests, in test_vm_agreement.py: no machine stands still there.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pcapng
import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from sentences import stderr_of
from unbloat.comparison import trace


def test_a_run_on_the_kernel_has_the_simulator_s_figures(cli: Cli, small: Path) -> None:
    real, simulated = (
        json.loads(cli("run", small, "--on", on, "--json").stdout)["runs"][0] for on in ("kernel", "simulator")
    )
    assert real["on"] == "kernel"
    assert real["lateness_us_p99"] > 0 and real["cpu_idle_percent"] is not None
    assert simulated["lateness_us_p99"] is None and simulated["sound"]
    assert real.keys() == simulated.keys()
    for part in ("flows", "links"):
        assert [row.keys() for row in real[part]] == [row.keys() for row in simulated[part]]
    assert 0 < real["flows"][0]["goodput_mbps"] < 4


def test_files_of_both_backends_can_be_compared(cli: Cli, small: Path) -> None:
    goodput = {}
    for on in ("kernel", "simulator"):
        (run,) = json.loads(cli("run", small, "--on", on, "-o", on, "--json").stdout)["runs"]
        goodput[on] = run["flows"][0]["goodput_mbps"]
    done = cli("compare", "kernel", "simulator", "--json")
    said = json.loads(done.stdout)
    assert [each["on"] for each in said["sets"]] == ["kernel", "simulator"]
    metrics = {each["metric"]: each for each in said["comparisons"][0]["grid_points"][0]["metrics"]}
    assert metrics["goodput_mbps"]["ratio"] == pytest.approx(goodput["simulator"] / goodput["kernel"], rel=1e-3)


def test_series_and_packets_are_kept(small: Path, tmp_path: Path) -> None:
    results = ub.scenario(small).run(on="kernel", series="100ms", pcap=tmp_path / "trace.pcapng")
    assert len(results.series()) == pytest.approx(20, abs=1)
    assert (results.series()["cwnd_packets"] >= 1).all()
    assert set(results.series("links")["link"]) == {"bottleneck", "bottleneck.reverse"}
    assert len(pcapng.read(tmp_path / "trace.pcapng")) > 20
    assert [flow.number for flow in trace.read(tmp_path / "trace.pcapng").flows] == [0]


@pytest.mark.parametrize("size", [100, 127, 40_000, 65_535])
def test_packets_of_any_size(small: Path, tmp_path: Path, size: int) -> None:
    """Those of 802.15.4 have 127 bytes."""
    changes = {"flows.0.packet": f"{size}b", "link.bottleneck.queue.limit": "20p", "flows.0.size": f"{8 * size}b"}
    results = ub.scenario(small, changes).run(on="kernel", pcap=tmp_path / "trace.pcapng")
    assert results.flows["sent_packets"].sum() >= 8
    segments = pcapng.read(tmp_path / "trace.pcapng")
    assert max(segment.length for segment in segments) == size
    assert all(segment.checksums_right for segment in segments)
    assert {segment.mss for segment in segments if segment.flags & pcapng.SYN} == {size - 40}


DRAWS = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

SEC("struct_ops") void BPF_PROG(draws_init, struct sock *sk)
{
	bpf_get_prandom_u32();
	((struct tcp_sock *)sk)->snd_ssthresh = 1000000 + bpf_get_prandom_u32() % 1000000;
}

SEC("struct_ops") void BPF_PROG(draws_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
}

SEC("struct_ops") __u32 BPF_PROG(draws_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

SEC("struct_ops") __u32 BPF_PROG(draws_undo, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC(".struct_ops") struct tcp_congestion_ops draws = {
	.init = (void *)draws_init,
	.cong_avoid = (void *)draws_avoid,
	.ssthresh = (void *)draws_ssthresh,
	.undo_cwnd = (void *)draws_undo,
	.name = "draws",
};
"""


def test_a_control_draws_from_the_seed_in_both_backends(small: Path, tmp_path: Path) -> None:
    control = tmp_path / "draws.bpf.c"
    control.write_text(DRAWS)

    def drawn(on: str, seed: int) -> set[float]:
        results = ub.scenario(small).run(on=on, cc=control, seed=seed, series="500ms")
        return set(results.series()["ssthresh_packets"])

    assert drawn("kernel", 1) == drawn("simulator", 1) != drawn("simulator", 2)
    assert drawn("kernel", 2) == drawn("simulator", 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ["--set", "profile=newreno"],
            snapshot(
                'unbloat: TMP/small.toml:9: flows.0.profile: the kernel\'s TCP always recovers by proportional rate reduction; leave profile.prr as in profile "linux", or simulate'
            ),
        ),
        (
            ["--cc", "kernel:nonesuch"],
            snapshot('unbloat: flows.0.cc: the kernel lacks the congestion control "nonesuch"; it has ...'),
        ),
        (
            ["--cc", "cubik"],
            snapshot(
                "unbloat: unknown congestion control cubik (did you mean cubic?); `unbloat list congestion-controls` shows all"
            ),
        ),
    ],
)
def test_what_the_kernel_cannot_do_is_a_sentence(cli: Cli, small: Path, change: list[str], told: str) -> None:
    done = cli("run", small, "--on", "kernel", *change)
    assert done.returncode == 2
    # Each kernel has controls of its own.
    assert re.sub("; it has .*", "; it has ...", stderr_of(done)) == told


def test_without_root_s_rights_it_says_so(small: Path) -> None:
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    command = [*bare, sys.executable, "-m", "unbloat", "run", str(small), "--on", "kernel"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 1
    assert stderr_of(done) == snapshot(
        "unbloat: emulated hosts need root's rights (CAP_SYS_ADMIN, CAP_NET_ADMIN): run it with sudo"
    )


def test_clean_finds_nothing_where_nothing_was_killed(cli: Cli) -> None:
    assert cli("clean").stdout == snapshot("nothing was left behind\n")
    assert json.loads(cli("clean", "--json").stdout) == {"removed": []}
