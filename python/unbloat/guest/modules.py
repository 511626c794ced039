"""The kernel modules that the guest needs: which they are, what they need in turn, and their bytes."""

from __future__ import annotations

import functools
import gzip
import lzma
import re
import shutil
import subprocess
import zlib
from pathlib import Path

from unbloat._core import RunError

WANTED = (
    # Hosts and links.
    *("tun", "veth", "ifb"),
    # Queue disciplines, emulation, and programs at a device.
    *(
        "sch_netem",
        "sch_tbf",
        "sch_htb",
        "sch_prio",
        "sch_red",
        "sch_pie",
        "sch_fq_pie",
        "sch_cake",
        "sch_codel",
        "sch_fq_codel",
        "sch_fq",
        "sch_ingress",
        "cls_bpf",
    ),
    # Congestion controls.
    *("tcp_vegas", "tcp_bbr", "tcp_dctcp", "tcp_veno", "tcp_westwood", "tcp_lp", "tcp_htcp", "tcp_bic", "tcp_hybla"),
    *("tcp_illinois", "tcp_yeah", "tcp_cdg", "tcp_nv", "tcp_highspeed", "tcp_scalable"),
    # Questions about sockets.
    *("inet_diag", "tcp_diag"),
    # The host's files, for programs in the guest.
    *("virtio_pci", "9pnet_virtio", "9p", "overlay"),
)
"""Names of modules that may be built into a kernel, or missing from it; they are left out then."""

ELF = b"\x7fELF"
"""The first bytes of every module."""


def chosen(folder: Path) -> list[tuple[str, bytes]]:
    """Read the names and contents of the modules that a guest needs from `/lib/modules/RELEASE`, dependencies first.

    Raises `RunError` if one cannot be unpacked, or needs another that is not there.
    """
    paths = {module_name(path): path for path in files(folder)}
    order: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name not in order:
            module = contents(paths[name])
            for needed in depends(module):
                if needed not in paths:
                    raise RunError(f"{folder}: the kernel's module {name} needs {needed}, which is not there")
                add(needed)
            order[name] = module

    for name in WANTED:
        if name in paths:
            add(name)
    return [(f"{name}.ko", module) for name, module in order.items()]


def files(folder: Path) -> list[Path]:
    """List the files of all modules."""
    return sorted((folder / "kernel").rglob("*.ko*"))


def module_name(path: Path) -> str:
    """Return a module's name: its file may have hyphens where the kernel has underscores."""
    return path.name.split(".")[0].replace("-", "_")


def depends(module: bytes) -> list[str]:
    """Read from `.modinfo` what a module needs."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    names = found[1].decode().split(",") if found else []
    return [name.replace("-", "_") for name in names if name]


def contents(path: Path) -> bytes:
    """Read a module, unpacked; `RunError` if that cannot be done."""
    try:
        module = unpacked(path)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, subprocess.CalledProcessError) as error:
        raise RunError(f"{path}: the kernel's module cannot be read: {error}") from None
    if not module.startswith(ELF):
        raise RunError(f"{path}: the kernel's module cannot be read: it is not a module")
    return module


def unpacked(path: Path) -> bytes:
    """Read a module with what unpacks a file of that name."""
    packed = path.read_bytes()
    match path.suffix:
        case ".xz":
            return lzma.decompress(packed)
        case ".gz":
            return gzip.decompress(packed)
        case ".zst":
            return subprocess.run([zstd(), "-dc"], input=packed, capture_output=True, check=True).stdout
        case _:
            return packed


@functools.cache
def zstd() -> str:
    """Find the program that unpacks this kernel's modules."""
    program = shutil.which("zstd")
    if program is None:
        raise RunError("the kernel's modules are packed with zstd, which is not installed: apt-get install zstd")
    return program
