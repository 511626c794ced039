"""How processes share processors: what OneProcessor keeps where, and that it lets the kernel choose anew."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from unbloat.system import processors
from unbloat.system.processors import OneProcessor

THREADS = 3
COMPUTES = f"""
import threading, time
for _ in range({THREADS - 1}):
    threading.Thread(target=threading.Event().wait).start()
while time.process_time() < 0.1:
    pass
print("ready", flush=True)
while True:
    pass
"""
"""One of its threads has run for ten ticks and goes on; the others wait."""


@pytest.fixture
def computing() -> Iterator[int]:
    """A process that computes."""
    with subprocess.Popen([sys.executable, "-c", COMPUTES], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def may_run_on(process: int) -> list[set[int]]:
    """List the processors that each thread may run on."""
    return [os.sched_getaffinity(int(thread.name)) for thread in processors.threads(process)]


def test_threads_are_kept_together_and_let_go_again(computing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = set(processors.allowed())
    monkeypatch.setattr(processors, "CHOICE_EVERY_S", math.inf)
    one = OneProcessor(computing)
    assert may_run_on(computing) == [everywhere] * THREADS
    one.look()
    kept, *others = may_run_on(computing)
    assert len(kept) == 1
    assert kept <= everywhere
    assert others == [kept] * (THREADS - 1)
    one.look()  # It is too early to choose again.
    assert may_run_on(computing) == [kept] * THREADS
    monkeypatch.setattr(processors, "CHOICE_EVERY_S", 0)
    again = OneProcessor(computing)
    again.look()
    again.look()
    assert may_run_on(computing) == [everywhere] * THREADS
    again.look()
    kept, *others = may_run_on(computing)
    assert len(kept) == 1
    assert others == [kept] * (THREADS - 1)


def test_the_processor_is_that_of_the_thread_that_runs_most(computing: int) -> None:
    for processor in processors.allowed():
        os.sched_setaffinity(computing, {processor})  # The main thread alone.
        OneProcessor(computing).look()
        assert may_run_on(computing) == [{processor}] * THREADS


def test_a_process_that_has_ended_is_no_error() -> None:
    nobody = int(Path("/proc/sys/kernel/pid_max").read_text())  # All are below, and an ended one's may be given again.
    OneProcessor(nobody).look()
    assert processors.threads(nobody) == []
