"""An orderly end: SIGTERM and SIGHUP unwind the program, as Ctrl-C does."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDS = (signal.SIGTERM, signal.SIGHUP)
"""A service manager, or a terminal that is closed, asks to end."""


class Ended(SystemExit):
    """Somebody asked the process to end. Its code is the status that shells give such processes."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


@contextmanager
def orderly_end() -> Iterator[None]:
    """Raise `Ended` for SIGTERM and SIGHUP, so that child processes and temporary files are cleaned up.

    Outside the main thread, and where they are ignored or somebody else's, everything stays as it is.
    """
    numbers = [number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = [(number, signal.signal(number, _end)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)
