"""What a process holds of the kernel, and whether that is still there when the process is gone."""

import ctypes
import os
import re
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from unbloat import _core

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# The system call's number depends on the machine.
BPF = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine, 280)
BY_ID = {"prog": 13, "map": 14, "link": 30}
"""Commands of bpf(2) that open something by its number."""
GET_INFO = 15
MAP_NAME = slice(24, 40)
LINKS = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 4)
"""Can a link hold a congestion control, so that it goes with its process? Else it stays until somebody cleans up."""
PATIENCE_S = 900
"""How long a test waits for another process. It ends tests that hang, and judges none: a machine may stand still."""


@dataclass
class Holdings:
    """Processes, network namespaces, BPF programs, maps and links; a run's controls have the names of maps it holds."""

    processes: set[int] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)
    bpf: set[tuple[str, int]] = field(default_factory=set)
    controls: set[str] = field(default_factory=set)

    def left(self) -> list[str]:
        """Name what is still there; controls that only sockets hold are asked for last, which takes longest."""
        left = [f"process {process}" for process in self.processes if is_alive(process)]
        left += [f"namespace {namespace}" for namespace in self.namespaces & namespaces_of_all()]
        left += [f"BPF {kind} {number}" for kind, number in self.bpf if is_loaded(kind, number)]
        left += self.controls.intersection(AVAILABLE.read_text().split())
        return left or list(self.controls.intersection(held_controls()))


def holdings(process: int) -> Holdings:
    """Look at a process and all its descendants."""
    found = Holdings()
    own = str(Path("/proc/self/ns/net").readlink())
    for member in [process, *descendants(process)]:
        found.processes.add(member)
        found.namespaces |= namespaces_of(member) - {own}
        for info in Path(f"/proc/{member}/fdinfo").iterdir():
            for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)", read(info), re.MULTILINE):
                found.bpf.add((kind, int(number)))
    maps = [number for kind, number in found.bpf if kind == "map"]
    found.controls = {name for number in maps if re.fullmatch(r"ub\.[0-9a-f]{12}", name := map_name(number))}
    return found


def descendants(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    children = [int(child) for task in tasks for child in read(task / "children").split()]
    return children + [further for child in children for further in descendants(child)]


def namespaces_of_all() -> set[str]:
    processes = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return {namespace for process in processes for namespace in namespaces_of(process)}


def namespaces_of(process: int) -> set[str]:
    """Those it lives in and those it holds open."""
    try:
        links = [*Path(f"/proc/{process}/task").glob("*/ns/net"), *Path(f"/proc/{process}/fd").iterdir()]
        return {target for link in links if (target := str(link.readlink())).startswith("net:")}
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return set()  # It has just gone, or is none of ours: a container's first process.


def read(file: Path) -> str:
    """Give its text; nothing if the process has just gone."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_alive(process: int) -> bool:
    state = re.search(r"^State:\s*(\S)", read(Path(f"/proc/{process}/status")), re.MULTILINE)
    return state is not None and state[1] != "Z"


def is_loaded(kind: str, number: int) -> bool:
    file = opened(kind, number)
    if file >= 0:
        os.close(file)
    return file >= 0


def opened(kind: str, number: int) -> int:
    return bpf(BY_ID[kind], struct.pack("=III", number, 0, 0))


def bpf(command: int, attributes: bytes) -> int:
    arguments = ctypes.create_string_buffer(attributes, 128)
    return ctypes.CDLL(None).syscall(BPF, command, arguments, len(arguments))


def map_name(number: int) -> str:
    """Give a map's name (`struct bpf_map_info`); none if it has just gone."""
    file = opened("map", number)
    if file < 0:
        return ""
    try:
        info = ctypes.create_string_buffer(MAP_NAME.stop)
        assert bpf(GET_INFO, struct.pack("=IIQ", file, len(info), ctypes.addressof(info))) == 0
        return info.raw[MAP_NAME].rstrip(b"\0").decode()
    finally:
        os.close(file)


def wait_until_gone(held: Holdings) -> None:
    """Wait for what a process held; TCP may take ten seconds to give up, and each look at everything costs a guest."""
    wait_until(lambda: not held.left(), every=0.5)


def held_controls() -> list[str]:
    """Also those that nobody can choose any more but a socket still uses."""
    return [control["name"] for control in _core.kernel_status()]


def wait_until(holds: Callable[[], object], every: float = 0.05) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(every)
