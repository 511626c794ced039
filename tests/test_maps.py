"""What BPF maps of a control hold when a run begins: simulated, in a guest, and by `unbloat load` on this kernel."""

import json
import shutil
from pathlib import Path

import guests
import pytest
from conftest import Cli
from inline_snapshot import snapshot
from kernel_sandbox import Sandbox
from sentences import stderr_of

pytest_plugins = ["kernel_sandbox"]

FILLED = Path(__file__).parents[1] / "crates/mechanism/tests/sources/filled_maps.bpf.c"
LINE = 'rate = "20mbit"\ndelay = "20ms"\nqueue = { limit = "100p" }'


@pytest.fixture
def windows(tmp_path: Path) -> Path:
    """A sweep over the window that the control takes from its map."""
    shutil.copy(FILLED, tmp_path)
    file = tmp_path / "windows.toml"
    file.write_text(
        f'duration = "3s"\n[link.b]\n{LINE}\n[[flows]]\ncc = "filled_maps.bpf.c"\n'
        'maps = { rates = { 1 = 5 } }\n[sweep]\n"flows.0.maps.rates.1" = [5, 20]\n'
    )
    return file


def windows_of(cli: Cli, *words: object) -> list[float]:
    done = cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    return [run["flows"][0]["cwnd_packets_mean"] for run in json.loads(done.stdout)["runs"]]


def test_a_run_has_what_its_scenario_says(cli: Cli, windows: Path) -> None:
    both = windows_of(cli, "sweep", windows)
    assert both == pytest.approx([5, 20], rel=0.05)
    set_here = windows_of(cli, "run", windows, "--set", "flows.0.maps.rates.1=20")
    assert set_here == pytest.approx(both[1:], rel=0.05), "the cache tells maps apart"


def test_so_has_one_in_a_guest(cli: Cli, windows: Path, cache: Path) -> None:
    kernel = guests.booted(cache)
    assert windows_of(cli, "sweep", windows, "--on", "vm", "--kernel", kernel) == pytest.approx([5, 20], rel=0.05)


@pytest.mark.parametrize("on", ["simulator", "kernel"])
@pytest.mark.parametrize(
    ("maps", "said"),
    [
        (
            "rates.3 = 1",
            "windows.toml:8: flows.0.maps.rates.3: {file} cannot be set up: map rates has the keys 0 to 2, not 3",
        ),
        (
            "rats.0 = 1",
            "windows.toml:8: flows.0.maps.rats: {file} has no map rats (did you mean rates?); valid: events, limits, marks, rates, scratch",
        ),
        (
            "filled_maps.events.0 = 1",
            "windows.toml:8: flows.0.maps.filled_maps.events: {file} cannot be set up: map events is a ring buffer; contents can be set for arrays and hash maps",
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_line(cli: Cli, windows: Path, on: str, maps: str, said: str) -> None:
    windows.write_text(f'duration = "3s"\n[link.b]\n{LINE}\n[[flows]]\ncc = "filled_maps.bpf.c"\nmaps.{maps}\n')
    done = cli("run", "windows.toml", "--on", on)
    assert done.returncode == 2
    assert done.stderr.strip().removeprefix("unbloat: ") == said.format(file="filled_maps.bpf.c"), done.stderr


def test_load_fills_maps_now_and_at_every_boot(sandbox: Sandbox, installed: Sandbox, tmp_path: Path, name: str) -> None:
    shutil.copy(FILLED, tmp_path)
    sandbox("mkdir", "-p", "/var/lib/unbloat")
    entries = ("--map", "rates[1]=40", "--map", "limits[80,0x7f000001]=1,-3,7,20")
    done = installed("load", "./filled_maps.bpf.c", "--as", name, *entries, "--persist")
    assert done.returncode == 0, done.stderr
    unit = sandbox("cat", f"/etc/systemd/system/unbloat-{name}.service").stdout
    assert f"--as {name} {' '.join(entries)}\n" in unit
    (command,) = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert installed("unload", name, "--keep-unit").returncode == 0
    started = sandbox(*command.split(), PYTHONPATH=str(tmp_path / "lib"))
    assert started.returncode == 0, started.stderr
    assert installed("unload", name).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--map", "rates=1"),
            snapshot("unbloat: --map: rates=1 is not NAME[KEY]=VALUE with whole numbers, such as rates[0]=1250000"),
        ),
        (
            ("--map", "rates[0]=x"),
            snapshot("unbloat: --map: rates[0]=x is not NAME[KEY]=VALUE with whole numbers, such as rates[0]=1250000"),
        ),
        (
            ("--map", f"rates[0]={1 << 64}"),
            snapshot(
                "unbloat: --map: rates[0]=18446744073709551616 is out of range: numbers in maps have at most 64 bits"
            ),
        ),
        (
            ("--map", "rates[7]=1"),
            snapshot("unbloat: ./filled_maps.bpf.c cannot be set up: map rates has the keys 0 to 2, not 7"),
        ),
        (
            ("--map", "rates[0]=1", "--dev", "lo"),
            snapshot(
                "unbloat: --map is only for congestion controls; a mechanism at a device stays there until `unbloat unload`"
            ),
        ),
    ],
)
def test_load_refuses_what_does_not_fit(unbloat: Sandbox, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    shutil.copy(FILLED, tmp_path)
    done = unbloat("load", "./filled_maps.bpf.c", *words)
    assert (done.returncode, stderr_of(done)) == (2, said)
