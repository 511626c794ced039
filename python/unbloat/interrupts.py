"""Ctrl-C that cannot get lost: Python ignores what is raised within a destructor, and some libraries have long ones."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
