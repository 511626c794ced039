"""The guest's files: the archive is read back as kernels read it, and what is in it is what a guest needs, no more."""

import marshal
import stat
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from made_up_kernels import kernel, module_that_needs, write
from sentences import refused
from unbloat import RunError, _core
from unbloat.guest import initramfs
from unbloat.guest.initramfs import Archive, Entry
from unbloat.guest.kernels import Kernel, kernel_of
from unbloat.system.paths import ALGORITHMS

CORE = Path(_core.__file__)
HEADER = 110
"""Bytes: a magic number of six digits, and thirteen fields of eight."""
UNCHECKED = 0b01
"""Flags of a compiled module that says by a hash what it was made from, which is not looked at (PEP 552)."""


@dataclass
class Unpacked:
    """What a kernel makes of an entry."""

    number: int
    mode: int
    links: int
    data: bytes
    device: tuple[int, int]


def unpack(archive: bytes) -> dict[str, Unpacked]:
    """Read a cpio archive (`newc`) as the kernel's `buffer-format.rst` describes it."""
    entries: dict[str, Unpacked] = {}
    at = 0
    while True:
        assert at % 4 == 0 and archive[at : at + 6] == b"070701"
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        number, mode, owner, group, links, _, size, _, _, major, minor, name_size, checksum = fields
        assert (owner, group, checksum) == (0, 0, 0)
        name = archive[at + HEADER : at + HEADER + name_size]
        assert name.endswith(b"\0") and b"\0" not in name[:-1]
        start = aligned(at + HEADER + name_size)
        data = archive[start : start + size]
        assert len(data) == size, "the archive is cut off"
        padding = archive[at + HEADER + name_size : start] + archive[start + size : aligned(start + size)]
        assert not any(padding)
        at = aligned(start + size)
        if name == b"TRAILER!!!\0":
            assert at == len(archive)
            return entries
        assert name[:-1].decode() not in entries
        entries[name[:-1].decode()] = Unpacked(number, mode, links, data, (major, minor))


def aligned(at: int) -> int:
    return (at + 3) // 4 * 4


# ---------------------------------------------------------------- The format


def test_everything_comes_back(tmp_path: Path) -> None:
    archive = Archive()
    archive.add_file(Path("/a/program"), b"#!", 0o755)
    archive.add_file(Path("/a/text"), b"words", 0o640)
    archive.add_link(Path("/b/link"), "../a/text")
    archive.add(Path("/dev/console"), Entry(stat.S_IFCHR | 0o600, device=(5, 1)))
    entries = unpack(archive.pack())
    assert list(entries) == ["a", "a/program", "a/text", "b", "b/link", "dev", "dev/console"]
    assert {name: (oct(entry.mode), entry.data) for name, entry in entries.items()} == {
        "a": (oct(stat.S_IFDIR | 0o755), b""),
        "a/program": (oct(stat.S_IFREG | 0o755), b"#!"),
        "a/text": (oct(stat.S_IFREG | 0o640), b"words"),
        "b": (oct(stat.S_IFDIR | 0o755), b""),
        "b/link": (oct(stat.S_IFLNK | 0o777), b"../a/text"),
        "dev": (oct(stat.S_IFDIR | 0o755), b""),
        "dev/console": (oct(stat.S_IFCHR | 0o600), b""),
    }
    assert entries["dev/console"].device == (5, 1)
    # One name each: kernels take entries of the same number with several links for the same file.
    assert {entry.links for entry in entries.values()} == {1}
    assert len({entry.number for entry in entries.values()}) == len(entries)


@pytest.mark.parametrize("size", [*range(9), 65_536, 65_537])
@pytest.mark.parametrize("name", ["n", "nn", "nnn", "nnnn", "n" * 200])
def test_lengths_of_every_remainder(name: str, size: int) -> None:
    """`unpack` looks at where each entry begins; a second one shows that the first was not too short."""
    archive = Archive()
    data = bytes(1 + i % 255 for i in range(size))
    archive.add_file(Path("/") / name, data)
    archive.add_file(Path("/z"), b"last")
    entries = unpack(archive.pack())
    assert (entries[name].data, entries["z"].data) == (data, b"last")


def test_the_order_of_additions_does_not_matter() -> None:
    there, back = Archive(), Archive()
    names = [Path("/b/c/d"), Path("/a"), Path("/b/a")]
    for archive, order in ((there, names), (back, names[::-1])):
        for name in order:
            archive.add_file(name, name.name.encode())
    assert there.pack() == back.pack()


# ---------------------------------------------------------------- The content


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    root = tmp_path_factory.mktemp("kernel")
    image = kernel(root, "6.1.0-9-amd64", "veth.ko", "soundcore.ko")
    write(root / "lib/modules/6.1.0-9-amd64/kernel/sch_red.ko", module_that_needs("veth"))
    return kernel_of(image)


@pytest.fixture(scope="module")
def files(made_up: Kernel) -> dict[str, Unpacked]:
    return unpack(initramfs.build(made_up))


def test_the_same_kernel_has_the_same_files(made_up: Kernel) -> None:
    assert initramfs.build(made_up) == initramfs.build(made_up)


def test_the_first_process_is_this_python(files: dict[str, Unpacked]) -> None:
    first = files["init"]
    python = str(Path(sys.executable).resolve())
    assert stat.S_ISREG(first.mode) and first.mode & 0o111
    assert first.data.decode().splitlines()[0] == f"#!{python} -IS"
    assert files[python.lstrip("/")].data == initramfs.loaded_part(Path(python).read_bytes())
    assert str(initramfs.LOADER.resolve()).lstrip("/") in files, "what programs name as their loader"


def links(files: dict[str, Unpacked]) -> set[str]:
    return {name for name, entry in files.items() if stat.S_ISLNK(entry.mode)}


def test_every_link_leads_to_a_file_or_folder(files: dict[str, Unpacked]) -> None:
    for name in links(files):
        target = (Path("/") / name).parent / files[name].data.decode()
        assert str(target.resolve()).lstrip("/") in files or target.is_dir(), name


def test_every_folder_comes_before_what_is_in_it(files: dict[str, Unpacked]) -> None:
    """Kernels make no folders of themselves."""
    seen = {"."}
    for name, entry in files.items():
        assert str(Path(name).parent) in seen, name
        seen.add(name) if stat.S_ISDIR(entry.mode) else None


def test_our_part_is_the_agent_the_core_and_the_algorithms(files: dict[str, Unpacked]) -> None:
    ours = {name.removeprefix("guest/unbloat/") for name in files if name.startswith("guest/unbloat/")}
    names = ("__init__", "agent", "messages", "program", "queues", "shared", "system", "translations")
    modules = {f"guest/inside/{name}.py" for name in names}
    sources = {"__init__.py", "guest/__init__.py", *modules}
    folders = {str(folder) for source in sources for folder in Path(source).parents} - {"."}
    compiled = {cache_from_source(source, optimization="") for source in sources}
    assert ours - compiled == {CORE.name, *folders, *(str(Path(c).parent) for c in compiled), *sources}
    assert files[f"guest/unbloat/{CORE.name}"].data == initramfs.loaded_part(CORE.read_bytes())
    cubic = "congestion/cubic.bpf.c"
    assert files[f"guest/algorithms/{cubic}"].data == (ALGORITHMS / cubic).read_bytes()


def test_what_is_left_out_of_a_library_is_not_missed(tmp_path: Path) -> None:
    part = initramfs.loaded_part(CORE.read_bytes())
    assert len(part) < CORE.stat().st_size
    write(tmp_path / "unbloat" / "__init__.py", b"")
    write(tmp_path / "unbloat" / CORE.name, part)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from unbloat import _core; print(_core.__version__)"
    done = subprocess.run([sys.executable, "-IS", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{_core.__version__}\n"
    assert initramfs.loaded_part(b"#!/bin/sh\n") == b"#!/bin/sh\n"


def test_every_module_is_compiled_and_taken_unseen(files: dict[str, Unpacked]) -> None:
    """Compiling them at boot took a second of a processor; of an initramfs, kernels may not keep the files' times."""
    modules = [name for name in files if name.endswith(".py")]
    assert "guest/unbloat/guest/inside/agent.py" in modules and len(modules) > 30
    for name in modules:
        compiled = files[cache_from_source(name, optimization="")].data
        assert compiled[:4] == MAGIC_NUMBER and int.from_bytes(compiled[4:8], "little") == UNCHECKED, name
        code = marshal.loads(compiled[16:])
        assert code.co_filename == f"/{name}" and code == compile(files[name].data, f"/{name}", "exec"), name


def test_modules_stand_in_the_order_to_load_them(files: dict[str, Unpacked]) -> None:
    assert files["guest/modules/order"].data.split() == [b"veth.ko", b"sch_red.ko"]
    assert files["guest/modules/sch_red.ko"].data == module_that_needs("veth")
    assert "guest/modules/soundcore.ko" not in files


def test_a_python_that_cannot_run_there(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    write(broken, b"#!/bin/sh\necho first >&2; echo no module named unbloat >&2; exit 1\n")
    broken.chmod(0o755)
    with refused(RunError, snapshot("TMP/python cannot run in a guest: no module named unbloat")):
        initramfs.files_of_agent(broken, tmp_path)
