"""How many processors this process may use, and how processes share them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

CHOICE_EVERY_S = 2.0
"""How often the kernel chooses a processor anew: while it may, a guest's threads are on several, and are slower."""


def count() -> int:
    """Count the processors that this process may run on, where the operating system tells; otherwise all."""
    return len(allowed()) or os.cpu_count() or 1


def allowed() -> list[int]:
    """List the processors that this process may run on; none where the operating system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def run_until_they_wait(process: int) -> None:
    """Have the threads that a process is about to start run until they wait: waking another up does not stop them.

    They get the same share of a processor as before (SCHED_BATCH, sched(7)).
    """
    with suppress(PermissionError):
        os.sched_setscheduler(process, os.SCHED_BATCH, os.sched_param(0))


class OneProcessor:
    """Keeps all threads of a process on one processor, and has the kernel choose now and then which that is.

    A choice for good would leave two such processes on one processor while another has nothing to do.
    """

    def __init__(self, process: int) -> None:
        """Leave the first choice to the kernel too: until the first `look`, the threads are where it put them."""
        self._process = process
        self._is_kept = False
        self._next_choice = 0.0

    def look(self) -> None:
        """Let the threads go if it is time to choose again; if they were let go, keep them where most is done."""
        now = time.monotonic()
        if not self._is_kept:
            self._confine({busiest_processor(self._process)})
            self._is_kept, self._next_choice = True, now + CHOICE_EVERY_S
        elif now >= self._next_choice:
            self._confine(set(allowed()))
            self._is_kept = False

    def _confine(self, among: set[int]) -> None:
        for thread in threads(self._process):
            with suppress(OSError):  # It has ended since, or the processor was taken away.
                os.sched_setaffinity(int(thread.name), among)


def threads(process: int) -> list[Path]:
    """List the folders of a process's threads (proc_pid_task(5)); none if it has ended."""
    try:
        return list(Path(f"/proc/{process}/task").iterdir())
    except FileNotFoundError:
        return []


def busiest_processor(process: int) -> int:
    """Return the processor of the thread that has run for longest."""
    return max((ran_where(thread) for thread in threads(process)), default=(0, 0))[1]


def ran_where(thread: Path) -> tuple[int, int]:
    """Return for how many ticks a thread has run, and on which processor it was last (proc_pid_stat(5))."""
    try:
        fields = (thread / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # It has ended since.
        return 0, 0
    return int(fields[11]) + int(fields[12]), int(fields[36])
