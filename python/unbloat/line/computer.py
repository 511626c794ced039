"""The abilities of the running computer on which cures of a line depend, read without root."""

from __future__ import annotations

import gzip
import os
import platform
import re
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from unbloat import _core
from unbloat._core import RunError
from unbloat.system import qdiscs
from unbloat.system.paths import ALGORITHMS, mechanism_names

NEEDS = {
    "loading": "what `unbloat load` needs",
    "load --dev": "what `unbloat load --dev` needs",
    "sch_cake": "the kernel's queue discipline cake",
    "sch_htb": "the kernel's queue discipline htb",
    "sch_fq_codel": "the kernel's queue discipline fq_codel",
    "ifb": "the kernel's device ifb",
    "act_mirred": "the kernel's action mirred",
    "cls_matchall": "the kernel's classifier matchall",
    "tc": "the program tc",
    "default": "the machine's first network namespace, where a congestion control can be the default",
    "device": "the device that leads to the far end",
    "restorable": "a queue discipline at the device that can be restored",
    "rate up": "a rate up to shape below",
    "rate down": "a rate down to shape below",
}
"""Requirements of cures besides root's rights, in words."""
CONFIG = {
    "sch_cake": "NET_SCH_CAKE",
    "sch_htb": "NET_SCH_HTB",
    "sch_fq_codel": "NET_SCH_FQ_CODEL",
    "ifb": "IFB",
    "act_mirred": "NET_ACT_MIRRED",
    "cls_matchall": "NET_CLS_MATCHALL",
}
"""The kernel's modules among them, with their names in its configuration."""


@dataclass(frozen=True)
class Computer:
    """The abilities and settings of this computer on which cures depend."""

    device: str | None
    """The device that leads to the far end."""
    cc: str
    """The congestion control of new connections."""
    available: tuple[str, ...]
    """The kernel's own congestion controls that can be chosen, with those that it would load as modules."""
    has: Mapping[str, bool | None]
    """Whether each of `NEEDS` is there; None where finding out takes root's rights."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Words for what is missing, where a need has better ones than `NEEDS`."""
    discipline: str | None = None
    """The device's queue discipline if somebody chose it; None if the kernel's own choice comes back by itself."""
    notsent_lowat: int = 0xFFFF_FFFF
    """Unsent bytes below which programs go on writing."""
    is_root: bool = False
    """Whether this process has root's rights, so that commands need no `sudo`."""


OURS = "ub_"
"""Begins the kernel's name of a mechanism if Linux has a congestion control of that name."""
OF_A_RUN = "ub."
"""Begins the names of congestion controls that belong to one run, or to an `unbloat shell`."""


@cache
def is_of_linux(name: str) -> bool:
    """Return whether Linux has a congestion control of a mechanism's name."""
    file = ALGORITHMS / "congestion" / f"{name}.bpf.c"
    return f'CONTROL_NAME("{name}")' in file.read_text(encoding="utf-8")


SYSCTL = Path("/proc/sys/net/ipv4")
MODULES = Path("/lib/modules")
LOADED = Path("/sys/module")
PROC_CONFIG = Path("/proc/config.gz")


def this_computer(device: str | None) -> Computer:
    """Read what the running kernel has, without root; nothing on the computer changes.

    Parameters
    ----------
    device : str or None
        The device that leads to the far end, such as `eth0`.

    """
    from shutil import which

    loading = _of_doctor()
    modules = _module_files()
    own = {name.removeprefix("tcp_") for name in modules if name.startswith("tcp_") and name not in NO_CONTROLS}
    available = _setting("tcp_available_congestion_control").split()
    named = {need: ", ".join(missing) for need, (_, missing) in loading.items() if missing}
    return Computer(
        device=device,
        cc=_setting("tcp_congestion_control"),
        # What unbloat has loaded is among the mechanisms of the catalogue.
        available=tuple(
            name
            for name in dict.fromkeys((*available, *sorted(own)))
            if not name.startswith((OURS, OF_A_RUN)) and _is_own(name)
        ),
        has={
            **{need: there for need, (there, _) in loading.items()},
            **{need: _has_module(need) for need in CONFIG},
            "tc": which("tc") is not None,
            "default": _is_first_namespace(),
        },
        lacks=named,
        discipline=_chosen_discipline(device) if device else None,
        notsent_lowat=int(_setting("tcp_notsent_lowat") or 0xFFFF_FFFF),
        is_root=os.geteuid() == 0,
    )


SO_NETNS_COOKIE, FIRST_COOKIE = 71, 1
"""The socket option that gives the number of a network namespace (Linux 5.14), and the number of the first one."""


def _is_first_namespace() -> bool | None:
    """Return whether this process is in the machine's first network namespace; None where the kernel does not say."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            cookie = any_socket.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
        except OSError:
            return None
    return int.from_bytes(cookie, sys.byteorder) == FIRST_COOKIE


NO_CONTROLS = ("tcp_diag",)
"""Modules of TCP besides congestion controls."""


def _is_own(name: str) -> bool:
    """Return whether an available congestion control is the kernel's, not one that unbloat may have loaded."""
    return name not in mechanism_names("congestion") or is_of_linux(name)


def _setting(name: str) -> str:
    """Read a setting of TCP; empty where the kernel does not have it."""
    try:
        return (SYSCTL / name).read_text().strip()
    except OSError:
        return ""


def _of_doctor() -> dict[str, tuple[bool | None, list[str]]]:
    """Ask the kernel's doctor what `unbloat load` needs: whether all is there, and what is missing."""
    found: dict[str, tuple[bool | None, list[str]]] = {}
    checks = _core.kernel_doctor()
    for need in ("loading", "load --dev"):
        wanted = [
            each for each in checks if each["needed_for"] == need and not each["optional"] and each["what"] != RIGHTS
        ]
        missing = [each["what"] for each in wanted if each["there"] is False]
        is_there = False if missing else None if any(each["there"] is None for each in wanted) else True
        found[need] = is_there, missing
    return found


RIGHTS = "root's rights"
"""A check of the doctor that `sudo` in each command passes."""


def _has_module(name: str) -> bool | None:
    """Return whether the kernel has a module, loaded or not; None if nothing tells."""
    if (LOADED / name).exists() or name in _module_files():
        return True
    if (config := _config()) is not None:
        return re.search(rf"^CONFIG_{CONFIG[name]}=[ym]$", config, re.MULTILINE) is not None
    return False if _module_files() else None


def _module_files() -> frozenset[str]:
    """List the modules that the kernel has in files or built in."""
    return _modules_in(MODULES / platform.release())


@cache
def _modules_in(folder: Path) -> frozenset[str]:
    lines: list[str] = []
    for name in ("modules.dep", "modules.builtin"):
        try:
            lines += (folder / name).read_text().splitlines()
        except OSError:
            continue
    return frozenset(Path(line.partition(":")[0]).name.partition(".ko")[0].replace("-", "_") for line in lines)


def _config() -> str | None:
    """Read the kernel's configuration, where it shows it."""
    try:
        return gzip.decompress(PROC_CONFIG.read_bytes()).decode(errors="replace")
    except OSError:
        return None


def _chosen_discipline(device: str) -> str | None:
    """Return the device's own discipline if somebody chose it: its handle is then not 0."""
    try:
        found = qdiscs.of_devices().get(socket.if_nametoindex(device))
    except (OSError, RunError):
        return None
    return found.kind if found and found.handle else None
