"""Processors and memory that this process may use, and an orderly end by signals."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

# ---------------------------------------------------------------- Processors and memory


MEMORY = Path("/proc/meminfo")
CGROUPS = Path("/sys/fs/cgroup")
UNKNOWN = 4 << 30
"""Free memory assumed where the system does not report it."""


def processors() -> int:
    """Count the processors that this process may run on, where the operating system tells; otherwise all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """Return how much memory there is for new work, bytes: of the machine, or of the control group if it is limited."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text(MEMORY), re.MULTILINE)
    machine = int(found[1]) << 10 if found else UNKNOWN
    limit, used = _text(CGROUPS / "memory.max").strip(), _text(CGROUPS / "memory.current").strip()
    group = int(limit) - int(used) if limit.isdecimal() and used.isdecimal() else machine
    return max(0, min(machine, group))


def memory_bound() -> int:
    """Return how much memory a command may take without a warning: half of what is free, bytes."""
    return free_memory() // 2


def bytes_in_words(size: float) -> str:
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


# ---------------------------------------------------------------- An orderly end


ENDS = (signal.SIGTERM, signal.SIGHUP)
"""A service manager, or a terminal that is closed, asks to end."""


class Ended(SystemExit):
    """Somebody asked the process to end. Its code is the status that shells give such processes."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


class OrderlyEnd:
    """Remembers who asked the process to end.

    Python prints an exception that a signal raises within a finalizer, and goes on. So a long loop also calls `check`.
    """

    def __init__(self) -> None:
        self._asked: int | None = None

    def check(self) -> None:
        """Raise `Ended` if somebody asked the process to end."""
        if self._asked is not None:
            raise Ended(self._asked)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        self._asked = number
        self.check()


@contextmanager
def orderly_end() -> Iterator[OrderlyEnd]:
    """Raise `Ended` for SIGTERM and SIGHUP, so that child processes and temporary files are cleaned up.

    Outside the main thread, and where they are ignored or somebody else's, everything stays as it is.
    """
    numbers = [number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    end = OrderlyEnd()
    before = [(number, signal.signal(number, end._hear)) for number in numbers]
    try:
        yield end
    finally:
        for number, handler in before:
            signal.signal(number, handler)
