"""Runs on the kernel as a user meets them: these tests need root, and real time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli


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
    assert real["flows"][0]["goodput_mbps"] == pytest.approx(simulated["flows"][0]["goodput_mbps"], rel=0.05)


def test_files_of_both_backends_can_be_compared(cli: Cli, small: Path) -> None:
    for on in ("kernel", "simulator"):
        assert cli("run", small, "--on", on, "-o", on).returncode == 0
    done = cli("compare", "kernel", "simulator", "--json")
    said = json.loads(done.stdout)
    assert (said["a"]["on"], said["b"]["on"]) == ("kernel", "simulator")
    assert said["cells"][0]["figures"]["goodput"]["b_over_a"] == pytest.approx(1, rel=0.05)


def test_series_and_packets_are_kept(small: Path, tmp_path: Path) -> None:
    results = ub.run(small, on="kernel", series="100ms", pcap=tmp_path / "trace.pcapng")
    assert len(results.series) == pytest.approx(20, abs=1)
    assert (results.series["cwnd_packets"] >= 1).all()
    assert set(results.link_series["link"]) == {"bottleneck", "bottleneck.reverse"}
    assert (tmp_path / "trace.pcapng").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--set", "profile=newreno"], "flows.0.profile: the kernel's TCP always"),
        (["--cc", "kernel:nonesuch"], '--set: flows.0.cc: the kernel has no congestion control "nonesuch"; it has '),
        (["--cc", "cubik"], '--set: flows.0.cc: there is no congestion control "cubik"'),
    ],
)
def test_what_the_kernel_cannot_do_is_a_sentence(cli: Cli, small: Path, change: list[str], words: str) -> None:
    done = cli("run", small, "--on", "kernel", *change)
    assert done.returncode == 2
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_without_root_s_rights_it_says_so(small: Path) -> None:
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    command = [*bare, sys.executable, "-m", "unbloat", "run", str(small), "--on", "kernel"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "CAP_SYS_ADMIN" in done.stderr and "sudo" in done.stderr and done.stderr.count("\n") == 1


def test_clean_says_what_it_removed(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    left = tmp_path / "unbloat-hosts-4194305"
    left.write_text("")
    assert cli("clean").stdout == f"removed {left}\n" and not left.exists()
    assert cli("clean").stdout == "nothing was left behind\n"
    assert json.loads(cli("clean", "--json").stdout) == {"removed": []}
