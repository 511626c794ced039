"""The simulator against the stock kernel that it models, packet by packet: `tools/differential`. No root."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import guests
import pytest
from inline_snapshot import snapshot
from unbloat.lab import families

TOOL = Path(__file__).parents[1] / "tools/differential"
SCENARIOS, TUNED = 50, 15
FAMILIES = list(families.FAMILIES)
LEAST_PERCENT = 90
"""Of the scenarios with one flow, those whose every data packet agrees. It is 99 with the version that the simulator
models; a guest that was booted anew decides some ties otherwise."""
LEAST_TUNED_PERCENT = 80
"""The same of the few with auto-tuned receivers, of which each counts for seven."""

LEAST_OF_FAMILIES_PERCENT = 75
"""Of two scenarios from each family with any control, BBR included; the page says how many of hundreds agree."""


@pytest.fixture(autouse=True)
def kernel(cache: Path) -> str:
    """The kernel of all guests here; they are booted once, before the first test begins."""
    return guests.booted(cache, guests.modelled_kernel())


def differential(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, TOOL, *map(str, arguments), *guests.ONE_AT_A_TIME]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


@dataclass(frozen=True)
class Many:
    """What the tool made of many scenarios: its verdicts, and the folder with the traces."""

    done: "subprocess.CompletedProcess[str]"
    output: Path
    traces: Path


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Many:
    """Run them once for all tests."""
    folder = tmp_path_factory.mktemp("differential")
    (folder / "cache").mkdir()
    output, traces = folder / "verdicts.json", folder / "traces"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBLOAT_CACHE", str(folder / "cache"))
        kernel = guests.booted(folder / "cache", guests.modelled_kernel())
        where = ["--kernel", kernel, "-o", output, "--traces", traces]
        return Many(differential(SCENARIOS, *where, "--at-least", LEAST_PERCENT), output, traces)


def test_most_scenarios_agree_in_every_data_packet(many: Many) -> None:
    assert many.done.returncode == 0, many.done.stdout + many.done.stderr
    verdicts = json.loads(many.output.read_text())
    assert [verdict["number"] for verdict in verdicts] == list(range(SCENARIOS))
    # Not because there was nothing to compare: packets were lost, marked and held back.
    assert sum(verdict["data_packets"] for verdict in verdicts) > 300 * SCENARIOS
    for what in ("loss = ", "gemodel", "ecn_threshold", "receive_window", "delayed_ack", "start = "):
        assert sum(what in verdict["scenario"] for verdict in verdicts) > SCENARIOS // 20, what
    for what in ("jitter", "reorder", "duplicate", "rates", "outages"):
        assert sum(what in verdict["scenario"] for verdict in verdicts) >= SCENARIOS // 50, what


def test_auto_tuned_receivers_agree(tmp_path: Path, kernel: str) -> None:
    """Buffers that grow with what is read (tcp_rmem), and slow readers, whose windows close and open.

    Some windows are held back behind that, and some connections have no timestamps.
    """
    output = tmp_path / "verdicts.json"
    many = [TUNED, "--tunes", "--holds"]
    done = differential(*many, "--kernel", kernel, "-o", output, "--at-least", LEAST_TUNED_PERCENT)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = json.loads(output.read_text())
    assert sum("read_rate" in verdict["scenario"] for verdict in verdicts) >= TUNED // 5
    assert all("tcp_rmem" in verdict["scenario"] for verdict in verdicts)
    for what in ('window_controller = "static"', "timestamps = false"):
        assert sum(what in verdict["scenario"] for verdict in verdicts) >= TUNED // 6, what


def test_every_family_and_control_agrees_mostly(tmp_path: Path, kernel: str) -> None:
    output = tmp_path / "verdicts.json"
    count = 2 * len(FAMILIES)
    least = ["--at-least", LEAST_OF_FAMILIES_PERCENT]
    done = differential(count, "--families", "--kernel", kernel, "-o", output, *least)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = json.loads(output.read_text())
    assert [verdict["family"] for verdict in verdicts] == 2 * FAMILIES
    assert all(verdict["data_packets"] for verdict in verdicts)
    controls = {name.removeprefix("kernel:") for verdict in verdicts for name in verdict["controls"]}
    assert len(controls) > 10, controls


def test_a_family_draws_every_control_in_the_end() -> None:
    drawn = [families.family_scenario(1, number) for number in range(1000)]
    assert {name for each in drawn for name in each.simulated} == {*families.COMMON, *families.OTHERS}
    assert {name for each in drawn for name in each.in_guest if name.startswith("kernel:")} == {
        f"kernel:{name}" for name in families.IN_LINUX.values()
    }


def test_chosen_controls_are_held_against_linux_s_own() -> None:
    drawn = [families.family_scenario(1, number, ["illinois", "clpc"]) for number in range(40)]
    assert {name for each in drawn for name in each.simulated} == {"illinois", "clpc"}
    assert {name for each in drawn for name in each.in_guest} == {"kernel:illinois", "clpc"}


def test_a_guest_gives_the_same_packets_every_time(tmp_path: Path, kernel: str) -> None:
    """Whichever scenarios are asked for: each comes after the same others."""
    traces = []
    for name, numbers in (("a", (25, 26)), ("b", (26,))):
        folder = tmp_path / name
        done = differential(len(numbers), "--first", numbers[0], "--kernel", kernel, "--traces", folder)
        assert done.returncode == 0, done.stderr
        traces.append((folder / "26-guest.pcapng").read_bytes())
    assert traces[0] == traces[1]


def test_too_little_agreement_is_a_failure(kernel: str, many: Many) -> None:
    done = differential(1, "--kernel", kernel, "--traces", many.traces, "--at-least", 101)
    assert done.returncode == 1 and re.sub(r"\d+\.\d", "#", done.stderr.splitlines()[-1]) == snapshot(
        "differential: # % of the one-flow scenarios agree, not # %"
    )
