"""The guest's files: this machine's Python, the core of unbloat, the algorithms, the kernel's modules, nothing else."""

from __future__ import annotations

import json
import lzma
import os
import py_compile
import re
import shutil
import stat
import struct
import subprocess
import sys
import zlib
from contextlib import closing
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat._core import RunError
from unbloat.guest import modules
from unbloat.guest.kernels import Kernel
from unbloat.system.paths import ALGORITHMS
from unbloat.system.scratch import Scratch

GUEST = Path("/guest")
"""The guest's folder for unbloat's own files. All other files have the host's paths."""
HERE = Path(__file__).parent
INSIDE = "inside"
"""The folder with the modules that run in the guest."""
LOADER = Path("/lib64/ld-linux-x86-64.so.2")
"""The loader that programs for x86-64 name."""
CONSOLE = (5, 1)
"""Major and minor number of /dev/console."""

PT_LOAD = 1
E_PHOFF, E_SHOFF, E_PHENTSIZE, E_SHNUM = 32, 40, 54, 60
"""Offsets in the header of a 64-bit file (elf(5)). `e_phnum` follows the third, `e_shstrndx` the last."""
SEGMENT = "<I4xQ16xQ"
"""Type, place in the file and length there, as a segment's header has them."""

TRIAL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import unbloat.guest.inside.agent
with open("/proc/self/maps") as maps:
    names = [line.split(maxsplit=5)[5].strip() for line in maps if "/" in line]
names += [getattr(module, "__file__", None) for module in list(sys.modules.values())]
print(json.dumps([name for name in names if name and name.startswith("/")]))
"""
"""Imports the agent as the guest will, and prints every file that this loaded."""

INIT = """\
#!{python} -IS
import sys
sys.path.insert(0, "{guest}")
from unbloat.guest.inside import agent
agent.main()
"""


@dataclass(frozen=True)
class Entry:
    """A file, folder, link or device of the archive."""

    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


class Archive:
    """A cpio archive in the form that kernels unpack (`newc`)."""

    def __init__(self) -> None:
        self._entries: dict[Path, Entry] = {}

    def add(self, path: Path, entry: Entry) -> None:
        """Put something at a path, with the folders above it."""
        for folder in reversed(path.parents[:-1]):
            self._entries.setdefault(folder, Entry(stat.S_IFDIR | 0o755))
        self._entries[path] = entry

    def add_file(self, path: Path, data: bytes, permissions: int = 0o755) -> None:
        """Put a file at a path."""
        self.add(path, Entry(stat.S_IFREG | permissions, data))

    def add_link(self, path: Path, target: str) -> None:
        """Put a symbolic link at a path."""
        self.add(path, Entry(stat.S_IFLNK | 0o777, target.encode()))

    def files(self, suffix: str) -> list[tuple[Path, bytes]]:
        """List the files whose names end like that, with what they hold."""
        return [(path, entry.data) for path, entry in self._entries.items() if path.suffix == suffix]

    def pack(self) -> bytes:
        """Pack the entries into an archive (cpio); the same entries make the same bytes."""
        out = bytearray()
        for number, path in enumerate(sorted(self._entries), 1):
            append(out, str(path).lstrip("/"), self._entries[path], number)
        append(out, "TRAILER!!!", Entry(0), 0)
        return bytes(out)


def append(out: bytearray, name: str, entry: Entry, number: int) -> None:
    """Append an entry: header of hexadecimal fields, name, data, each padded to a multiple of four bytes."""
    links = 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name) + 1, 0)
    out += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    out += bytes(-len(out) % 4)
    out += entry.data + bytes(-len(entry.data) % 4)


def build(kernel: Kernel) -> bytes:
    """Build the initramfs for a kernel."""
    archive = Archive()
    add_python(archive)
    for name in ("proc", "sys", "dev", "tmp", "run"):
        archive.add(Path("/") / name, Entry(stat.S_IFDIR | 0o755))
    archive.add(Path("/dev/console"), Entry(stat.S_IFCHR | 0o600, device=CONSOLE))
    for file in sorted(path for path in ALGORITHMS.rglob("*") if path.is_file()):
        archive.add_file(GUEST / "algorithms" / file.relative_to(ALGORITHMS), file.read_bytes())
    chosen = modules.chosen(kernel.modules)
    for name, data in chosen:
        archive.add_file(GUEST / "modules" / name, data)
    archive.add_file(GUEST / "modules/order", "\n".join(name for name, _ in chosen).encode())
    return archive.pack()


def add_python(archive: Archive) -> None:
    """Add the interpreter, the core, the agent, and whatever they load."""
    python = Path(os.path.realpath(sys.executable))
    with closing(Scratch()) as scratch:
        temporary = scratch.folder.resolve()
        package = temporary / "unbloat"
        write_package(package)
        for name in sorted(files_of_agent(python, temporary)):
            # Our own modules are added below. What a process has mapped need not be a file.
            if not name.is_relative_to(temporary) and name.is_file():
                add_with_names(archive, name)
        for file in sorted(path for path in package.rglob("*") if path.is_file()):
            archive.add_file(GUEST / file.relative_to(temporary), loaded_part(file.read_bytes()))
        compile_modules(archive, temporary)
    archive.add_link(LOADER.parent.resolve() / LOADER.name, str(LOADER.resolve()))
    # Folders that are links, such as /lib, through which programs name their loader and libraries.
    for link in (path for path in Path("/").iterdir() if path.is_symlink() and path.name.startswith("lib")):
        archive.add_link(link, str(link.readlink()))
    archive.add_file(Path("/init"), INIT.format(python=python, guest=GUEST).encode())


def write_package(package: Path) -> None:
    """Write what the guest has of this package: the core and the agent, without what would need more."""
    inside = package / HERE.name / INSIDE
    inside.mkdir(parents=True)
    for folder in (package, inside.parent):
        (folder / "__init__.py").write_text("")
    shutil.copy(_core.__file__, package)
    for module in (HERE / INSIDE).glob("*.py"):
        shutil.copy(module, inside)


def files_of_agent(python: Path, folder: Path) -> set[Path]:
    """Import the agent out of `folder` in a process of its own; return all files that it loaded."""
    command: list[str | Path] = [python, "-ISB", "-c", TRIAL, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise RunError(f"{python} cannot run in a guest: {said[-1]}")
    return {Path(name) for name in json.loads(done.stdout)}


def add_with_names(archive: Archive, file: Path) -> None:
    """Add a file where it really is, and the links beside it that lead to it: libraries are asked for by such names."""
    real = file.resolve()
    archive.add_file(real, loaded_part(real.read_bytes()))
    for name in real.parent.iterdir() if ".so" in real.name else []:
        if name.is_symlink() and name.resolve() == real:
            archive.add_link(name, real.name)


def loaded_part(data: bytes) -> bytes:
    """Leave out parts of a program or library that are never loaded, such as debug information.

    In the terms of elf(5): what comes behind the last segment, and the headers of sections.
    """
    if not data.startswith(b"\x7fELF"):
        return data
    (headers,), (size, number) = struct.unpack_from("<Q", data, E_PHOFF), struct.unpack_from("<HH", data, E_PHENTSIZE)
    end = 0
    for place in range(headers, headers + size * number, size):
        kind, offset, length = struct.unpack_from(SEGMENT, data, place)
        if kind == PT_LOAD:
            end = max(end, offset + length)
    kept = bytearray(data[:end])
    struct.pack_into("<Q", kept, E_SHOFF, 0)
    struct.pack_into("<HH", kept, E_SHNUM, 0, 0)
    return bytes(kept)


def compile_modules(archive: Archive, folder: Path) -> None:
    """Add what Python compiles the archive's modules to; `folder` is for files that are needed meanwhile.

    The guest does not check it against the sources (PEP 552). Kernels need not keep file times, so that it could seem
    old, and Python would compile each module again.
    """
    source, compiled = folder / "source.py", folder / "compiled"
    unseen = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for name, code in archive.files(".py"):
        source.write_bytes(code)
        py_compile.compile(str(source), str(compiled), str(name), doraise=True, optimize=0, invalidation_mode=unseen)
        archive.add_file(Path(cache_from_source(name, optimization="")), compiled.read_bytes())


XZ, GZIP, ZSTD = b"\xfd7zXZ\0", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
"""The first bytes of packed data, by the way of packing."""
SIZE_BYTES = 4
"""The kernel's build puts the unpacked size behind the packed data."""
DIRECT_ENTRY = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")
"""An ELF note with the name Xen, of type 18 (`XEN_ELFNOTE_PHYS32_ENTRY`): where QEMU can enter the kernel directly."""


def bootable(image: bytes) -> bytes:
    """Return the kernel that is packed in a bzImage, if QEMU can start it directly, or else the image as it is."""
    try:
        kernel = unpacked(payload(image))
    except (struct.error, lzma.LZMAError, zlib.error, subprocess.CalledProcessError):
        return image
    return kernel if DIRECT_ENTRY.search(kernel) else image


def payload(image: bytes) -> bytes:
    """Cut the packed kernel out of a bzImage: the kernel's `Documentation/arch/x86/boot.rst`, `payload_offset`."""
    offset, length = struct.unpack_from("<II", image, 0x248)
    sectors_of_setup = image[0x1F1] or 4
    start = (1 + sectors_of_setup) * 512 + offset
    return image[start : start + length]


def unpacked(packed: bytes) -> bytes:
    """Unpack a kernel. Damaged data and other ways of packing give nothing."""
    if packed.startswith(ZSTD) and (zstd := shutil.which("zstd")):
        frame = packed[:-SIZE_BYTES]
        return subprocess.run([zstd, "-dc"], input=frame, capture_output=True, check=True).stdout
    if packed.startswith(XZ):
        unpacker: Any = lzma.LZMADecompressor()
    elif packed.startswith(GZIP):
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    else:
        return b""
    kernel: bytes = unpacker.decompress(packed)
    return kernel if unpacker.eof else b""
