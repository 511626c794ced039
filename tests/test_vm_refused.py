"""What no guest can have is refused before one is booted; these tests boot none."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Never

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import refused, stderr_of
from unbloat.guest import guest
from unbloat.runs import sweep as sweep_of_cells

BROKEN = "int reno_init( {\n"
NO_KERNEL_HAS = {"flows.0.clock.drift": "100ppm"}


class BootedError(Exception):
    """A guest would have been booted."""


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has a kernel for guests and boots none."""

    def refuse(*_: object) -> Never:
        raise BootedError

    monkeypatch.setattr(guest, "kernel_named", lambda wanted: wanted)
    monkeypatch.setattr(guest, "identity", lambda kernel: "made up")
    monkeypatch.setattr(guest, "prepare", refuse)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    file = tmp_path / "broken.bpf.c"
    file.write_text(BROKEN)
    return file


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            NO_KERNEL_HAS,
            snapshot(
                "flows.0.clock.drift: 100ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate"
            ),
        ),
        (
            {"flows.0.profile": "newreno"},
            snapshot(
                'flows.0.profile: the kernel\'s TCP always recovers by proportional rate reduction; leave profile.prr as in profile "linux", or simulate'
            ),
        ),
        (
            {"flows.0.cc": "dtpa_auto"},
            snapshot(
                "flows.0.cc: dtpa_auto runs in the simulator only: no kernel tells a sender what the other nodes of its mesh send"
            ),
        ),
        ({"flows.0.params.bta": 1}, snapshot("flows.0.params.bta: reno has no parameters, so no parameter bta")),
        (
            {"sweep.flows.0.clock.drift": ["0ppm", "100ppm"]},
            snapshot(
                "flows.0.clock.drift: 100ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate (in the grid point flows.0.clock.drift=100ppm)"
            ),
        ),
    ],
)
@pytest.mark.usefixtures("boots")
def test_a_run(small: Path, changes: dict[str, Any], words: str) -> None:
    with refused(ub.InputError, words):
        ub.scenario(small, changes).run(on="vm")


@pytest.mark.usefixtures("boots")
def test_a_family_s_evening_comes_to_a_guest() -> None:
    """As its file says how, under each of its queues; where TCP fills them no kernel has all of them."""
    with pytest.raises(BootedError):
        ub.scenario("family-evening", {"sweep.small_queues": [{"label": "on"}]}).run(on="vm")
    with refused(
        ub.InputError,
        snapshot(
            "ROOT/python/unbloat/data/scenarios/family-evening.toml:64: host.home.small_queues: must be true on a kernel, unless the queue is droptail without a limit in bytes, prio or pfifo_fast; leave it out, or simulate (in the grid point queue=fq_codel, small_queues=off)"
        ),
    ):
        ub.scenario("family-evening").run(on="vm")


@pytest.mark.usefixtures("boots")
def test_a_control_that_does_not_compile(small: Path, broken: Path) -> None:
    with pytest.raises(ub.InputError, match=r"(?s)flows.0.cc: .*broken.bpf.c"):
        ub.scenario(small).run(on="vm", cc=broken)


@pytest.mark.usefixtures("boots")
def test_what_could_run_comes_to_a_guest(small: Path) -> None:
    with pytest.raises(BootedError):
        ub.scenario(small).run(on="vm")


def test_not_even_a_kernel_is_looked_for(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have to be fetched."""

    def refuse(_: object) -> Never:
        raise BootedError

    monkeypatch.setattr(guest, "kernel_named", refuse)
    with refused(
        ub.InputError,
        snapshot(
            "flows.0.clock.drift: 100ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate"
        ),
    ):
        ub.scenario(small, NO_KERNEL_HAS).run(on="vm")


@pytest.mark.usefixtures("boots")
def test_a_sweep_of_which_nothing_can_run(small: Path) -> None:
    with refused(
        ub.InputError,
        snapshot(
            "flows.0.clock.drift: 100ppm is not supported on a kernel, where both ends read the same clock; leave it out, or simulate"
        ),
    ):
        ub.scenario(small, NO_KERNEL_HAS).run(on="vm", repeat=2)


def test_a_sweep_goes_on_with_the_rest(small: Path, boots: None, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[object] = []

    def run_all(folder: Path, cells: Mapping[object, Any], *_: object, **_more: object) -> Never:
        left.extend(cell.axes for cell in cells.values())
        raise BootedError

    monkeypatch.setattr(guest, "prepare", lambda *_: guest.Guest(Path("made up")))
    monkeypatch.setattr(sweep_of_cells, "run_all", run_all)
    with pytest.raises(BootedError):
        ub.scenario(small, {"sweep.flows.0.clock.drift": ["0ppm", "100ppm"]}).run(on="vm", repeat=2)
    assert left == [[("flows.0.clock.drift", "0ppm")]] * 2


@pytest.mark.usefixtures("no_guest")
def test_a_shell(cli: Cli, small: Path, broken: Path) -> None:
    """On a machine without QEMU, which it would miss next."""
    for words, said in (
        (
            ["--set", "flows.0.profile=newreno"],
            snapshot(
                'unbloat: flows.0.profile: the kernel\'s TCP always recovers by proportional rate reduction; leave profile.prr as in profile "linux", or simulate'
            ),
        ),
        (
            ["--cc", "dtpa_auto"],
            snapshot(
                "unbloat: flows.0.cc: dtpa_auto runs in the simulator only: no kernel tells a sender what the other nodes of its mesh send"
            ),
        ),
    ):
        done = cli("shell", small, "--on", "vm", *words, "--", "true")
        assert (done.returncode, stderr_of(done)) == (2, said)
    done = cli("shell", small, "--on", "vm", "--cc", broken, "--", "true")
    assert done.returncode == 2 and "broken.bpf.c" in done.stderr, done.stderr
    done = cli("shell", small, "--on", "vm", "--", "true")
    assert done.returncode == 1 and "qemu" in done.stderr
