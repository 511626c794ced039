"""How much memory a command may take before somebody is told."""

from __future__ import annotations

import re
from pathlib import Path

MEMORY = Path("/proc/meminfo")
CGROUPS = Path("/sys/fs/cgroup")
UNKNOWN = 4 << 30
"""What is taken for free where the system does not say."""


def free() -> int:
    """Return how much memory there is for new work, bytes: of the machine, or of the control group if it is limited."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text(MEMORY), re.MULTILINE)
    machine = int(found[1]) << 10 if found else UNKNOWN
    limit, used = _text(CGROUPS / "memory.max").strip(), _text(CGROUPS / "memory.current").strip()
    group = int(limit) - int(used) if limit.isdecimal() and used.isdecimal() else machine
    return max(0, min(machine, group))


def bound() -> int:
    """Return how much may be taken without a word: half of what is free, bytes."""
    return free() // 2


def words(size: float) -> str:
    """Write a number of bytes: 1.64 GB."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e3:.3g} kB"


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
