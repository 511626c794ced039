"""Testbeds that are killed, interrupted, or not alone: nothing of them stays. These tests need root."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pcapng
import pytest
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import AVAILABLE, LINKS, PATIENCE_S, Holdings, descendants, holdings, wait_until, wait_until_gone
from sentences import stderr_of

UNBLOAT = [sys.executable, "-m", "unbloat"]
GRID = '[sweep]\nduration = ["1s", "5s"]\n"flows.0.cc" = ["vegas"]\n'
"""The second run is long enough to be ended in the middle, though the machine stands still for some seconds."""
End = Callable[[int], None]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, which must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def kill_all(group: int) -> None:
    """As the kernel does when it runs out of memory, or a service manager that loses its patience."""
    for process in [*descendants(group), group]:
        with suppress(ProcessLookupError):  # It ended with the one before it.
            os.kill(process, signal.SIGKILL)


def kill_parent(group: int) -> None:
    os.kill(group, signal.SIGKILL)


def kill_worker(group: int) -> None:
    os.kill(descendants(group)[0], signal.SIGKILL)


def interrupt(group: int) -> None:
    """As Ctrl-C does."""
    os.killpg(group, signal.SIGINT)


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (kill_all, -signal.SIGKILL, ""),
        (kill_parent, -signal.SIGKILL, ""),
        (
            kill_worker,
            1,
            snapshot("unbloat: the run's process was killed (SIGKILL); perhaps the machine ran out of memory"),
        ),
        (interrupt, 130, snapshot("unbloat: interrupted; finished runs are cached")),
    ],
)
def test_a_grid_that_is_ended_in_the_middle(
    cli: Cli, small: Path, cache: Path, temporary: Path, end: End, status: int, words: str
) -> None:
    small.write_text(small.read_text() + GRID)
    command = [*UNBLOAT, "run", str(small), "--on", "kernel", "--json"]
    pins = set(Path("/sys/fs/bpf").rglob("*"))
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    records = cache / "runs"
    wait_until(lambda: any(records.rglob("*.json")))
    time.sleep(0.4)
    wait_until(lambda: is_under_way(holdings(run.pid)))
    held = holdings(run.pid)
    assert is_under_way(held)
    end(run.pid)
    _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == status
    assert "Traceback" not in said
    if status > 0:
        assert said.splitlines()[-1].partition(" (in the grid point")[0] == words
    if not LINKS:
        assert cli("clean").returncode == 0
    wait_until_gone(held)
    assert set(Path("/sys/fs/bpf").rglob("*")) == pins
    kept = {file: file.stat().st_mtime_ns for file in records.rglob("*.json")}
    assert len(kept) == 1 and all(json.loads(file.read_text()) for file in kept)

    assert cli("clean").returncode == 0
    assert not any(temporary.iterdir())
    done = cli("run", small, "--on", "kernel", "--json")
    assert stderr_of(done) == snapshot("unbloat: continues an interrupted command: 1 of 2 runs are there")
    assert len(json.loads(done.stdout)["runs"]) == 2
    assert all(file.stat().st_mtime_ns == before for file, before in kept.items())
    assert not any(temporary.iterdir())


def is_under_way(held: Holdings) -> bool:
    kinds = {"prog", "map", "link"} if LINKS else {"prog", "map"}
    return len(held.namespaces) == 2 and {kind for kind, _ in held.bpf} == kinds


# Programs that have left their terminal, their session and their parent, with data under way.
DAEMONS = """
import os, socket, subprocess, sys, time
mark = sys.argv[1]
daemon = f"(setsid sh -c 'touch {mark}; exec sleep 1000' &) &"
subprocess.run(["sh", "-c", daemon])
with socket.create_server(("", 5000)) as server:
    if sys.argv[2] == "serve":
        connection = server.accept()[0]
    else:
        socket.create_connection((sys.argv[2], 5000)).sendall(bytes(10_000_000))
    time.sleep(1000)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, None])
def test_a_shell_that_ends_takes_all_with_it(
    cli: Cli, small: Path, tmp_path: Path, temporary: Path, how: signal.Signals | None
) -> None:
    program = tmp_path / "daemons.py"
    program.write_text(DAEMONS)
    near, far = tmp_path / "near", tmp_path / "far"
    at_far = f"{sys.executable} {program} {far} serve"
    words = ["--cc", "vegas", "--far", at_far, "--", sys.executable, str(program), str(near), "receiver"]
    shell = subprocess.Popen([*UNBLOAT, "shell", str(small), *words])
    wait_until(lambda: near.exists() and far.exists())
    time.sleep(1)
    held = holdings(shell.pid)
    sleeping = [process for process in held.processes if b"1000" in Path(f"/proc/{process}/cmdline").read_bytes()]
    assert len(held.namespaces) == 2 and len(held.bpf) > 5 and len(sleeping) == 2 and len(held.controls) == 1
    if how:
        shell.send_signal(how)
    else:
        (program_there,) = [process for process in descendants(shell.pid) if cmdline(process)[-1:] == ["receiver"]]
        os.kill(program_there, signal.SIGKILL)
    assert shell.wait(timeout=PATIENCE_S) == (-how if how else 128 + signal.SIGKILL)
    if not LINKS:
        assert cli("clean").returncode == 0
    # Data that nobody will acknowledge holds the control until TCP gives up.
    wait_until_gone(held)
    assert cli("clean").returncode == 0
    assert not any(temporary.iterdir())


def cmdline(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text().split("\0")[:-1]


def test_a_finished_run_leaves_nothing(small: Path) -> None:
    """Nor do its connections, at either end: DCTCP's receivers use it too."""
    command = [*UNBLOAT, "run", str(small), "--on", "kernel", "--json", "--cc", "dctcp"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    held = Holdings()
    while run.poll() is None:
        now = holdings(run.pid)
        held = now if now.bpf and now.namespaces else held
        time.sleep(0.3)
    assert held.bpf and held.namespaces
    assert json.loads(run.communicate(timeout=PATIENCE_S)[0])["runs"]
    wait_until_gone(held)


def test_testbeds_in_containers_with_equal_process_numbers(small: Path, cache: Path) -> None:
    """One kernel registers the controls of both; each is process 1 of its container."""
    container = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *UNBLOAT]
    run = ["run", str(small), "--on", "kernel", "--no-cache", "--set", "flows.0.cc=vegas"]
    with subprocess.Popen([*container, *run, "--set", "duration=10000s"]) as endless:
        try:
            wait_until(lambda: len(is_offered(holdings(endless.pid))) == 1)
            held = holdings(endless.pid)
            for words in (["clean"], run, ["clean"]):
                done = subprocess.run([*container, *words], capture_output=True, text=True, timeout=PATIENCE_S)
                assert done.returncode == 0, done.stderr
                assert not any(control in done.stdout for control in held.controls)
            assert is_offered(held) == held.controls
        finally:
            endless.kill()
    wait_until_gone(held)


def is_offered(held: Holdings) -> set[str]:
    return held.controls.intersection(AVAILABLE.read_text().split())


def test_two_testbeds_side_by_side(small: Path, tmp_path: Path) -> None:
    """All flows have the same addresses and ports: they would meet if they could."""
    traces = [tmp_path / "one.pcapng", tmp_path / "other.pcapng"]
    command = [*UNBLOAT, "run", str(small), "--on", "kernel", "--json", "--cc", "kernel:cubic", "--pcap"]
    runs = [subprocess.Popen([*command, str(trace)], stdout=subprocess.PIPE, text=True) for trace in traces]
    for run, trace in zip(runs, traces, strict=True):
        (flow,) = json.loads(run.communicate(timeout=PATIENCE_S)[0])["runs"][0]["flows"]
        assert 0 < flow["goodput_mbps"] < 4
        data = [segment for segment in pcapng.read(trace) if segment.source.startswith("10.0.") and segment.payload]
        # What leaves after the end of the run is in the trace too.
        assert len(data) >= flow["sent_packets"]
        sequence = [(segment.seq - data[0].seq) % 2**32 for segment in data]
        assert max(sequence) < sum(segment.payload for segment in data)
