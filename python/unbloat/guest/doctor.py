"""Checks of what `--on vm` needs, with remedies. Nothing is fetched, no guest is started."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess

from unbloat._core import Error
from unbloat.guest import kernels
from unbloat.guest.qemu import PACKAGES, QEMU
from unbloat.system.core_types import Check
from unbloat.system.paths import cache_folder

PURPOSE = "--on vm"
ROOM_MB = 400
"""Room in the cache for a kernel and a booted guest, with a margin."""


def check(what: str, there: bool, found: str, remedy: str, *, optional: bool = False) -> Check:
    """Describe a check; the remedy applies if it failed."""
    return {
        "what": what,
        "needed_for": PURPOSE,
        "there": there,
        "optional": optional,
        "found": found,
        "remedy": None if there else remedy,
    }


def doctor() -> list[Check]:
    """Run all checks."""
    return [machine(), qemu(), program("setpriv", PACKAGES["setpriv"]), *kernel(), room()]


def machine() -> Check:
    """Check the processor's architecture: the guest runs this machine's Python."""
    kind = platform.machine()
    return check("x86-64 machine", kind == "x86_64", kind, "use such a machine; the simulator runs on any")


def qemu() -> Check:
    """Look for the emulator."""
    found = program(QEMU, PACKAGES[QEMU])
    if found["there"]:
        said = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=False).stdout
        found["found"] = said.partition("\n")[0].removeprefix("QEMU emulator ")
    return found


def program(name: str, package: str) -> Check:
    """Look for a program of a package."""
    path = shutil.which(name)
    return check(name, path is not None, path or "not on the path", f"apt-get install {package}")


def kernel() -> list[Check]:
    """Look for the kernel that a guest would get, and for the program that unpacks its modules."""
    what = "kernel for a guest"
    try:
        chosen = kernels.choose(None)
    except Error as error:
        return [check(what, False, str(error), "apt-get update, or name an image with --kernel FILE")]
    if isinstance(chosen, kernels.Kernel):
        here = check(what, True, f"{chosen.release} ({chosen.image})", "")
        is_packed = next((chosen.modules / "kernel").rglob("*.ko.zst"), None) is not None
        return [here, program("zstd", "zstd")] if is_packed else [here]
    found = f"not in {kernels.BOOT}, nor unpacked; the distribution has {chosen}"
    return [check(what, False, found, "nothing: the first run fetches it", optional=True)]


def room() -> Check:
    """Check that kernel and guest have room in the cache."""
    what, remedy = f"{ROOM_MB} MB in the cache", "have UNBLOAT_CACHE name another folder"
    folder = next(path for path in (cache_folder(), *cache_folder().parents) if os.access(path, os.F_OK))
    if not os.access(folder, os.W_OK):
        return check(what, False, f"{folder} cannot be written to", remedy)
    free_mb = shutil.disk_usage(folder).free >> 20
    return check(what, free_mb >= ROOM_MB, f"{free_mb} MB free in {folder}", f"make room, or {remedy}")
