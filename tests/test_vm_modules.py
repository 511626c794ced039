"""The modules that a guest gets: each behind what it needs, however it is packed."""

import gzip
import lzma
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from made_up_kernels import module_that_needs, write
from sentences import refused
from unbloat import RunError
from unbloat.guest import modules


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty `/lib/modules/RELEASE`."""
    return tmp_path


def put(folder: Path, name: str, data: bytes) -> Path:
    file = folder / "kernel/net/somewhere" / name
    write(file, data)
    return file


def names(folder: Path) -> list[str]:
    return [name for name, _ in modules.chosen(folder)]


def test_only_what_is_wanted_and_what_that_needs(folder: Path) -> None:
    put(folder, "soundcore.ko", module_that_needs())
    put(folder, "veth.ko", module_that_needs())
    put(folder, "9p.ko", module_that_needs("netfs", "9pnet"))
    put(folder, "netfs.ko", module_that_needs("fscache"))
    put(folder, "fscache.ko", module_that_needs())
    put(folder, "9pnet.ko", module_that_needs())
    assert names(folder) == ["veth.ko", "fscache.ko", "netfs.ko", "9pnet.ko", "9p.ko"]


def test_what_several_need_comes_once(folder: Path) -> None:
    put(folder, "tcp_diag.ko", module_that_needs("inet_diag"))
    put(folder, "inet_diag.ko", module_that_needs())
    assert names(folder) == ["inet_diag.ko", "tcp_diag.ko"]


def test_hyphens_are_underscores(folder: Path) -> None:
    """In a file's name as in what another needs."""
    put(folder, "sch_red.ko", module_that_needs("some-thing"))
    put(folder, "some-thing.ko", module_that_needs())
    assert names(folder) == ["some_thing.ko", "sch_red.ko"]


def test_a_kernel_that_has_everything_built_in(folder: Path) -> None:
    assert modules.chosen(folder / "nothing") == []


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress)])
def test_packed_modules_come_unpacked(folder: Path, suffix: str, pack: object) -> None:
    module = module_that_needs("ip_tunnel")
    put(folder, f"veth.ko{suffix}", pack(module))  # type: ignore[operator]
    put(folder, f"ip_tunnel.ko{suffix}", pack(module_that_needs()))  # type: ignore[operator]
    assert modules.chosen(folder) == [("ip_tunnel.ko", module_that_needs()), ("veth.ko", module)]


@pytest.fixture
def zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name, which takes `packed:` away."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    modules.zstd.cache_clear()
    program = tmp_path / "bin/zstd"
    script = "#!/bin/sh\nread -r word\n[ \"$1 $word\" = '-dc packed:' ] || exit 1\nexec /bin/cat\n"
    write(program, script.encode())
    program.chmod(0o755)
    return program


def test_zstd_is_asked(folder: Path, zstd: Path) -> None:
    put(folder, "veth.ko.zst", b"packed:\n" + module_that_needs())
    assert modules.chosen(folder) == [("veth.ko", module_that_needs())]


def test_without_zstd(folder: Path, zstd: Path) -> None:
    put(folder, "veth.ko.zst", b"packed:\n")
    zstd.unlink()
    with refused(
        RunError, snapshot("the kernel's modules are packed with zstd, which is not installed: apt-get install zstd")
    ):
        modules.chosen(folder)


PACKED = gzip.compress(module_that_needs(), mtime=0)
BROKEN = {
    "empty": b"",
    "not packed": b"nothing that was packed",
    "cut off": PACKED[:-12],
    "damaged": PACKED[:10] + b"\xff" * 40,
    "no module": gzip.compress(b"text", mtime=0),
}


@pytest.mark.parametrize("name", ["veth.ko", "veth.ko.xz", "veth.ko.gz", "veth.ko.zst"])
@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_module_is_named(folder: Path, zstd: Path, name: str, data: bytes) -> None:
    file = put(folder, name, data)
    with pytest.raises(RunError, match=f"^{file}: ") as refusal:
        modules.chosen(folder)
    assert "\n" not in str(refusal.value)


def test_what_is_needed_and_missing_is_named(folder: Path) -> None:
    put(folder, "overlay.ko", module_that_needs("exportfs"))
    with refused(RunError, snapshot("TMP: the kernel's module overlay needs exportfs, which is not there")):
        modules.chosen(folder)
