"""Files that a command writes are whole or not there, and tables of two runs are told apart."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from sentences import plain, refused, stderr_of
from unbloat.cli.app import main
from unbloat.results import files, sets
from unbloat.system.files import room_for, whole, write_text
from unbloat.system.paths import ALGORITHMS

KILLED = """
import os, signal, sys
from pathlib import Path
import pandas, pyarrow, pyarrow.fs, pyarrow.parquet
from unbloat.results import sets

def table(value):
    return pyarrow.table({"x": [value]}).replace_schema_metadata({sets.IDENTITY: str(value).encode()})

TABLES = {1: table(1), 2: table(2)}

def put(folder, value, names):
    sets.put(folder, "abcd", {name: TABLES[value] for name in names})

def child(act):
    if not (pid := os.fork()):
        act()
        os._exit(0)
    return os.waitpid(pid, 0)[1]

def killed_at(step, folder):
    left = step
    def count(event, arguments):
        nonlocal left
        if event != "os.fork" and any(isinstance(each, (str, Path)) and str(folder) in str(each) for each in arguments):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    put(folder, 2, "abd")

step = 0
while True:
    folder = Path(str(step)).absolute()
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    assert child(lambda: put(folder, 1, "abc")) == 0
    if child(lambda: killed_at(step, folder)) == 0:
        break
    step += 1
"""


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def values(folder: Path) -> dict[str, int]:
    return {name: table.read()["x"][0].as_py() for name, table in sets.opened(folder, "abcd").items()}


def test_whenever_a_process_is_killed_the_old_set_is_there_or_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path / "killed", check=True)
    old, new = {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 2, "d": 2}
    folders = sorted((tmp_path / "killed").iterdir(), key=lambda folder: int(folder.name))
    found = [values(folder) for folder in folders]
    first = found.index(new)
    assert all(each == old for each in found[:first]) and all(each == new for each in found[first:])
    cut_short = [folder for folder in folders if (folder / sets.WAITING).exists()]
    assert first > 10 and len(cut_short) > 4, "killed in many places"
    for folder in cut_short:
        # The next process finishes it, and removes what the killed one has left.
        sets.put(folder, "abcd", {"a": pq.read_table(folder / "a.parquet")} if (folder / "a.parquet").exists() else {})
        assert {*names(folder)} <= {"a.parquet", "notes.txt"}
    assert (folders[-1] / "notes.txt").read_text() == "mine"


def test_a_set_that_waits_is_found_by_every_reader(cli: Cli, small: Path, tmp_path: Path) -> None:
    ub.scenario(small).run(series=True).save(tmp_path / "out")
    waiting = tmp_path / "out" / sets.WAITING
    waiting.mkdir()
    for file in (tmp_path / "out").glob("*.parquet"):
        file.rename(waiting / file.name)
    (waiting / "nodes.parquet").touch()
    read = ub.read(tmp_path / "out")
    assert len(read) == len(files.read(tmp_path)) == 1 and not read.series("links").empty
    assert cli("report", "out").returncode == 0


@pytest.mark.parametrize("command", [["export", "--csv"], ["report"], ["plot", "-o", "x.svg"], ["compare", "one"]])
def test_tables_of_two_runs_in_a_folder_are_noticed(cli: Cli, small: Path, tmp_path: Path, command: list[str]) -> None:
    for name, rate in {"one": "2mbit", "two": "4mbit"}.items():
        ub.scenario(small, {"link.bottleneck.rate": rate}).run(series=True).save(tmp_path / name)
    shutil.copy(tmp_path / "one" / "flows.parquet", tmp_path / "two")
    done = cli(*command, "two")
    assert done.returncode == 2 and done.stdout == ""
    assert stderr_of(done) == snapshot(
        "unbloat: two: contains tables of two runs: flows.parquet was not written with runs.parquet; run again with -o, or give each run its own folder"
    )
    with refused(
        ub.InputError,
        snapshot(
            "TMP/two: contains tables of two runs: flows.parquet was not written with runs.parquet; run again with -o, or give each run its own folder"
        ),
    ):
        ub.read(tmp_path / "two")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    for before in (False, True):
        with pytest.raises(ZeroDivisionError), whole(file) as draft:
            draft.write_text("half")
            raise ZeroDivisionError
        assert file.exists() is before
        write_text(file, "old")
    assert file.read_text() == "old" and names(tmp_path) == ["cache", "x.txt"]


def test_permissions_and_links_of_a_file_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "x.txt", tmp_path / "link"
    before = os.umask(0o027)
    try:
        write_text(file, "1")
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o640
    file.chmod(0o604)
    link.symlink_to(file)
    write_text(link, "2")
    assert link.is_symlink() and file.read_text() == "2" and file.stat().st_mode & 0o777 == 0o604


def test_a_pipe_is_written_to(cli: Cli, small: Path) -> None:
    assert cli("run", small, "-o", "out").returncode == 0
    printed = cli("export", "out", "--csv")
    assert cli("export", "out", "--csv", "-o", "/dev/stdout").stdout == printed.stdout


FULL = """
mkdir -p full; mount -t tmpfs -o size=64k none full; head -c 60000 /dev/zero > full/most
"$@"; echo "status $?"
ls -A full
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a disk")
@pytest.mark.parametrize("option", ["-o", "--figure", "--pcap"])
def test_a_full_disk_is_told_before_anything_is_run(small: Path, tmp_path: Path, option: str) -> None:
    file = {"-o": "full", "--figure": "full/x.svg", "--pcap": "full/x.pcapng"}[option]
    command = [sys.executable, "-m", "unbloat", "run", str(small), option, file]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", FULL, "sh", *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "status 2\nmost\n"
    assert stderr_of(done).replace(file, "FILE") == snapshot(
        "unbloat: FILE: cannot be written: no space left on device"
    )


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_the_table_is_printed_although_a_file_cannot_be_written(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A disk that gets full after the run has begun."""
    assert main([command, str(small)]) == 0
    printed = capsys.readouterr().out

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(sets, "sync", full)
    assert main([command, str(small), "-o", str(tmp_path / "out")]) == 2
    shown = capsys.readouterr()
    assert shown.out == printed and names(tmp_path / "out") == []
    assert plain(shown.err) == snapshot("unbloat: TMP/out: cannot be written: no space left on device\n")


def test_packets_of_a_run_that_fails_leave_no_file(cli: Cli, small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL)
    (tmp_path / "packets").mkdir()
    assert cli("run", small, "--pcap", "packets/x.pcapng").returncode == 0
    kept = (tmp_path / "packets" / "x.pcapng").read_bytes()
    crash = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text().replace("tcp_sk(sk);", "tcp_sk(sk);\n" + CRASH, 1)
    (tmp_path / "mine.bpf.c").write_text(crash)
    for name in ("x.pcapng", "y.pcapng"):
        assert cli("run", small, "--cc", "./mine.bpf.c", "--pcap", f"packets/{name}").returncode != 0
    assert names(tmp_path / "packets") == ["x.pcapng"]
    assert (tmp_path / "packets" / "x.pcapng").read_bytes() == kept


CRASH = "*(volatile int *)8 = 1;"


def test_devices_take_no_room_check(tmp_path: Path) -> None:
    room_for(Path("/dev/null"), tmp_path / "new" / "x")
    assert (tmp_path / "new").is_dir() and names(tmp_path / "new") == []
