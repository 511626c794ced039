"""Ctrl-C that cannot get lost: Python ignores what is raised within a destructor, and some libraries have long ones."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDS = (signal.SIGTERM, signal.SIGHUP)
"""A service manager, or a terminal that is closed, asks to end."""
AGAIN_S = 0.01
"""How long to wait for a destructor to end."""


@contextmanager
def kept() -> Iterator[None]:
    """Have SIGINT raise `KeyboardInterrupt` behind a destructor and not within.

    Outside the main thread, and where SIGINT is ignored or somebody else's, everything stays as it is.
    """
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not is_ours:
        yield
        return
    before = [(number, signal.signal(number, _interrupt)) for number in (signal.SIGINT, signal.SIGALRM)]
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


class Ended(SystemExit):
    """Somebody asked the process to end. Its code is the status that shells give such processes."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


@contextmanager
def orderly_end() -> Iterator[None]:
    """Have SIGTERM and SIGHUP raise `Ended`, so that what was started is ended and temporary files go.

    Outside the main thread, and where they are ignored or somebody else's, everything stays as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> None:
    raise Ended(number)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    if _in_destructor(frame):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        raise KeyboardInterrupt


def _in_destructor(frame: FrameType | None) -> bool:
    while frame:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
