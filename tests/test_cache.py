"""Finished runs are kept: the same run is never done twice, another one always is."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import is_alive, wait_until
from sentences import plain
from unbloat.runs.store import Store, sealed, unsealed
from unbloat.system.paths import ALGORITHMS, cache_folder


def records(cache: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in cache.rglob("*.json")}


def test_the_second_run_comes_from_the_cache(small: Path, cache: Path) -> None:
    first = ub.scenario(small).run()
    kept = records(cache)
    second = ub.scenario(small).run()
    assert records(cache) == kept and len(kept) == 1
    assert first.as_dict() == second.as_dict()


def test_a_record_in_the_cache_is_what_is_reported(small: Path, cache: Path) -> None:
    ub.scenario(small).run()
    (file,) = cache.rglob("*.json")
    store = Store(cache / "runs")
    store.put(file.stem, store.take_out(file.stem).replace('"cc":"reno"', '"cc":"kept"'), None, None)
    assert list(ub.scenario(small).run().flows["cc"]) == ["kept"]
    assert list(ub.scenario(small).run(cache=False).flows["cc"]) == ["reno"]


@pytest.mark.parametrize(
    "change",
    [
        {"link.bottleneck.rate": "5mbit"},
        {"seed": 2},
        {"flows.0.cc": "cubic"},
        {"profile": "sack"},
        {"duration": "2.1s"},
    ],
)
def test_another_run_is_another_entry(small: Path, cache: Path, change: dict[str, object]) -> None:
    ub.scenario(small).run()
    ub.scenario(small, change).run()
    assert len(records(cache)) == 2


def test_an_equal_value_in_another_unit_is_the_same_run(small: Path, cache: Path) -> None:
    ub.scenario(small).run()
    ub.scenario(small, {"link.bottleneck.rate": "4000kbit", "flows.0.start": "0s"}).run()
    assert len(records(cache)) == 1


def test_an_edited_own_file_runs_afresh(small: Path, cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.bpf.c"
    text = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    mine.write_text(text)
    ub.scenario(small).run(cc=mine)
    mine.write_text(text + "\n/* edited */\n")
    ub.scenario(small).run(cc=mine)
    assert len(records(cache)) == 2


def test_a_header_beside_an_own_file_counts(small: Path, cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.bpf.c"
    mine.write_text('#include "mine.h"\n' + (ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    for body in ("", "/* edited */\n"):
        (tmp_path / "mine.h").write_text(body)
        ub.scenario(small).run(cc=mine)
    assert len(records(cache)) == 2


def test_series_are_kept_for_each_step(small: Path, cache: Path) -> None:
    ub.scenario(small).run(series="10ms")
    ub.scenario(small).run(series="20ms")
    ub.scenario(small).run(series="10ms")
    assert len(list(cache.rglob("*.arrow"))) == 2
    assert len(records(cache)) == 1


def test_kill_9_loses_nothing_that_was_finished(tmp_path: Path, small: Path, cache: Path) -> None:
    """One grid point is quick and one endless: the quick one must survive, and the endless one's process must not."""
    text = small.read_text() + '\n[sweep]\nduration = ["2s", "3s", "1000000s"]\n'
    file = tmp_path / "long.toml"
    file.write_text(text)
    process = subprocess.Popen([sys.executable, "-m", "unbloat", "run", str(file), "--jobs", "1"])
    wait_until(lambda: len(records(cache)) == 2)
    (worker,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not is_alive(int(worker)))
    kept = records(cache)
    file.write_text(text.replace(', "1000000s"', ""))
    results = ub.scenario(file).run()
    assert len(results.records) == 2
    assert records(cache) == kept


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    """One bit of a digit, or of compressed data."""
    place = len(data) * 2 // 3
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": cut,
    "flipped": flipped,
    "another bit": lambda data: bytes([data[0] ^ 0x40]) + data[1:],
    "zeros": lambda data: bytes(len(data)),
    "longer": lambda data: data + b"x",
    "not UTF-8": lambda data: b"\xff" + data,
    "other JSON": lambda _: b'{"x": 1}',
    "no table": lambda _: b"[]",
}


@pytest.mark.parametrize("suffix", [".json", ".arrow"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_counts_as_absent(small: Path, cache: Path, suffix: str, damage: str) -> None:
    before = ub.scenario(small).run(series="100ms")
    (file,) = (cache / "runs").rglob(f"*{suffix}")
    whole = file.read_bytes()
    file.write_bytes(DAMAGES[damage](whole))
    after = ub.scenario(small).run(series="100ms")
    assert after.as_dict() == before.as_dict() and after.series().equals(before.series())
    assert file.read_bytes() != DAMAGES[damage](whole), "it has healed"


@pytest.mark.parametrize("suffix", [".json", ".arrow"])
def test_any_damaged_byte_is_seen(small: Path, cache: Path, suffix: str) -> None:
    ub.scenario(small).run(series="500ms")
    (file,) = (cache / "runs").rglob(f"*{suffix}")
    store, key, whole = Store(cache / "runs"), file.name.partition(".")[0], file.read_bytes()
    draw = random.Random(5)
    for _ in range(400):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        file.write_bytes(damaged)
        assert not store.has(key, 500_000_000)


@pytest.mark.parametrize("suffix", [".json", ".arrow"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_stands_in_the_place_of_a_file_goes(small: Path, cache: Path, suffix: str, kind: str) -> None:
    """A pipe would be read for ever."""
    before = ub.scenario(small).run(series="100ms")
    (file,) = (cache / "runs").rglob(f"*{suffix}")
    content = file.read_bytes()
    file.unlink()
    match kind:
        case "folder":
            file.mkdir()
            (file / "within").touch()
        case "pipe":
            os.mkfifo(file)
        case _:
            file.symlink_to("/dev/zero")
    after = ub.scenario(small).run(series="100ms")
    assert after.as_dict() == before.as_dict() and after.series().equals(before.series())
    assert file.is_file() and not file.is_symlink() and file.stat().st_size == len(content)


def test_a_record_that_others_may_write_counts_as_absent(small: Path, cache: Path) -> None:
    before = ub.scenario(small).run()
    (file,) = (cache / "runs").rglob("*.json")
    forged = unsealed(file.read_bytes()).replace(b'"goodput_mbps":', b'"goodput_mbps":9')
    file.write_bytes(sealed(forged))
    assert ub.scenario(small).run().as_dict() != before.as_dict(), "which is ours"
    file.chmod(0o666)
    assert ub.scenario(small).run().as_dict() == before.as_dict()
    if os.geteuid() == 0:
        file.write_bytes(sealed(forged))
        os.chown(file, 12345, -1)
        assert ub.scenario(small).run().as_dict() == before.as_dict()


@pytest.mark.parametrize("kind", ["runs", "guests", "kernels"])
def test_a_folder_within_that_others_may_write_is_refused(small: Path, cache: Path, kind: str) -> None:
    """What is in `mechanisms` is not read by Python."""
    shutil.rmtree(cache / kind, ignore_errors=True) if not (cache / kind).is_symlink() else (cache / kind).unlink()
    (cache / kind).mkdir(mode=0o700)
    assert cache_folder(kind) == cache / kind
    (cache / kind).chmod(0o777)
    with pytest.raises(ub.InputError, match=f"{cache / kind}"):
        ub.scenario(small).run() if kind == "runs" else cache_folder(kind)
    if os.geteuid() == 0:
        (cache / kind).chmod(0o700)
        os.chown(cache / kind, 12345, -1)
        with pytest.raises(ub.InputError, match="12345"):
            ub.scenario(small).run() if kind == "runs" else cache_folder(kind)


def test_what_a_run_keeps_is_its_users_alone(small: Path, cache: Path) -> None:
    before = os.umask(0)
    try:
        ub.scenario(small).run(series=True)
    finally:
        os.umask(before)
    kept = [*(cache / "runs").rglob("*"), cache / "runs"]
    assert len(kept) == 4 and not any(path.stat().st_mode & 0o077 for path in kept)


@pytest.mark.parametrize(("command", "how"), [("run", "full"), ("sweep", "read-only")])
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a disk")
def test_a_cache_that_takes_nothing_is_told_once_and_the_result_printed(
    cli: Cli, sweep: Path, tmp_path: Path, command: str, how: str
) -> None:
    mine = tmp_path / "mine.bpf.c"
    mine.write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    words = [command, str(sweep), "--set", f"sweep.flows.0.cc=['{mine}', 'reno']"]
    printed = cli(*words)
    assert printed.returncode == 0
    prepare = {
        "read-only": "mount -t tmpfs -o ro,mode=700 none full",
        "full": "mount -t tmpfs -o size=64k,mode=700 none full; head -c 60k /dev/zero >full/most",
    }[how]
    (tmp_path / "full").mkdir()

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "unbloat", *words, *more]
        shell = ["unshare", "-m", "sh", "-c", f'{prepare}; exec "$@"', "sh", *program]
        environment = {**os.environ, "UNBLOAT_CACHE": str(tmp_path / "full")}
        return subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    done = run()
    assert (done.returncode, done.stdout) == (0, printed.stdout)
    warnings = [plain(line) for line in done.stderr.splitlines() if "UNBLOAT_CACHE" in line]
    assert warnings == snapshot(
        [
            "unbloat: the cache TMP/full cannot be written to, or its disk is full: results are not cached; UNBLOAT_CACHE names another folder"
        ]
    )
    without = run("--no-cache")
    assert (without.returncode, without.stdout) == (0, printed.stdout) and "UNBLOAT_CACHE" not in without.stderr


def test_a_record_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else a power cut may leave its name and nothing in it."""
    done: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("synchronised"), sync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, to: (done.append("named"), replace(self, to)))
    Store(tmp_path).put("key", "{}", None, None)
    assert done == ["synchronised", "named"]


def test_no_half_written_file_is_left(sweep: Path, cache: Path) -> None:
    ub.scenario(sweep).run(series=True)
    suffixes = {file.suffix for file in (cache / "runs").rglob("*") if file.is_file()}
    assert suffixes == {".json", ".arrow"}
    assert not list(cache.rglob(".new-*"))


def test_what_a_control_prints_is_printed_every_time(
    small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the second time nothing was, because the run was kept."""
    text = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    mine = tmp_path / "mine.bpf.c"
    mine.write_text(text.replace("tcp_cong_avoid_ai(tp", 'bpf_printk("grows");\n\ttcp_cong_avoid_ai(tp', 1))
    monkeypatch.setenv("UNBLOAT_PRINTK", "1")
    counts = []
    for _ in range(2):
        ub.scenario(small).run(cc=mine)
        counts.append(capfd.readouterr().err.count("grows"))
    assert counts[0] == counts[1] > 0
    monkeypatch.delenv("UNBLOAT_PRINTK")
    ub.scenario(small).run(cc=mine)
    assert "grows" not in capfd.readouterr().err
