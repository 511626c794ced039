"""Folders that everybody may write to, such as /tmp: nobody knows beforehand how commands will call their files there.

Who knows can make the file first, as a link to somebody else's.
"""

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import SMALL
from leftovers import PATIENCE_S
from unbloat.system.paths import ALGORITHMS

NOBODY = 65534
IN_CREATE = 0x100
IN_MOVED_TO = 0x80
EVENT = struct.Struct("iIII")
COMMANDS = {
    "run": ["run", "small.toml", "--no-cache", "--figure", "run.png", "-o", "out", "--pcap", "run.pcapng"],
    "sweep": ["sweep", "small.toml", "--no-cache", "--set", "sweep.duration=['1s', '2s']", "-j", "2"],
    "dask": ["sweep", "small.toml", "--no-cache", "--set", "sweep.duration=['1s', '2s']", "--dask", "local", "-j", "2"],
    "compiler": ["check", "mine.bpf.c"],
    "show": ["show", "cubic_plus"],
    "kernel": ["run", "small.toml", "--no-cache", "--on", "kernel", "--set", "duration=100ms"],
    "clean": ["clean"],
}


@contextmanager
def new_names(folder: Path) -> Iterator[list[str]]:
    """Collect what is made or renamed in a folder meanwhile."""
    kernel = ctypes.CDLL(None, use_errno=True)
    watch = kernel.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0
    names: list[str] = []
    try:
        assert kernel.inotify_add_watch(watch, os.fsencode(folder), IN_CREATE | IN_MOVED_TO) >= 0
        yield names
        try:
            events = os.read(watch, 1 << 20)
        except BlockingIOError:
            return
        while events:
            length = EVENT.unpack_from(events)[3]
            names.append(events[EVENT.size : EVENT.size + length].rstrip(b"\0").decode())
            events = events[EVENT.size + length :]
    finally:
        os.close(watch)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder like /tmp, for whoever asks for one."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "mine.bpf.c").write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    return folder


def call(folder: Path, shared: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Call a command of somebody without a folder for settings, whose libraries resort to the shared one."""
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(shared), "HOME": "/nonexistent"}
    environment["UNBLOAT_CACHE"] = str(folder / "cache")
    command = [sys.executable, "-m", "unbloat", *map(str, words)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


@pytest.mark.parametrize("what", COMMANDS)
def test_nobody_knows_the_names_in_a_shared_folder(tmp_path: Path, shared: Path, what: str) -> None:
    seen: list[set[str]] = []
    for _ in range(2):
        with new_names(shared) as names:
            done = call(tmp_path, shared, *COMMANDS[what])
        assert done.returncode == 0, done.stderr
        seen.append(set(names))
    assert not seen[0] & seen[1]
    assert what != "dask" or seen[0], "what is looked for there is seen"


def test_a_strangers_scratch_folder_is_not_dasks(tmp_path: Path, shared: Path) -> None:
    """Dask's default is a name that everybody knows; it wrote its locks through a stranger's links."""
    victims = [tmp_path / name for name in ("first", "second")]
    scratch = shared / "dask-scratch-space"
    scratch.mkdir()
    scratch.chmod(0o777)
    for victim, lock in zip(victims, ("global.lock", "purge.lock"), strict=True):
        victim.write_text("precious")
        (scratch / lock).symlink_to(victim)
        os.lchown(scratch / lock, NOBODY, NOBODY)
    os.chown(scratch, NOBODY, NOBODY)
    before = scratch.stat().st_mtime_ns
    done = call(tmp_path, shared, *COMMANDS["dask"])
    assert done.returncode == 0, done.stderr
    assert [victim.read_text() for victim in victims] == ["precious", "precious"]
    assert scratch.stat().st_mtime_ns == before
    assert [path.name for path in shared.iterdir()] == [scratch.name], "and nothing of ours stays"
