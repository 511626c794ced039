"""How many processors this process may use, and how processes share them."""

from __future__ import annotations

import os
from contextlib import suppress


def count() -> int:
    """Count the processors that this process may run on, where the operating system tells; otherwise all."""
    return len(allowed()) or os.cpu_count() or 1


def allowed() -> list[int]:
    """List the processors that this process may run on; none where the operating system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def keep_on_one(process: int, number: int) -> None:
    """Keep a process, with what it will start, on one of the processors that this one may run on.

    Zero means the calling thread. Processes with different numbers get different processors, as far as there are.
    """
    if among := allowed():
        os.sched_setaffinity(process, {among[number % len(among)]})


def run_until_they_wait(process: int) -> None:
    """Have the threads that a process is about to start run until they wait: waking another up does not stop them.

    They get the same share of a processor as before (SCHED_BATCH, sched(7)).
    """
    with suppress(PermissionError):
        os.sched_setscheduler(process, os.SCHED_BATCH, os.sched_param(0))
