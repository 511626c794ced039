"""Ctrl-C that is never lost: Python drops what is raised within a destructor, and some libraries have long ones."""

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
    """Raise `KeyboardInterrupt` for SIGINT after a destructor, not within.

    Outside the main thread, and where SIGINT is ignored or somebody else's, everything stays as it is.
    """
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _raising([signal.SIGINT] if is_ours else []):
        yield


class Ended(SystemExit):
    """Somebody asked the process to end. Its code is the status that shells give such processes."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name


@contextmanager
def orderly_end() -> Iterator[None]:
    """Raise `Ended` for SIGTERM and SIGHUP, so that child processes and temporary files are cleaned up.

    That is raised behind a destructor and not within. Outside the main thread, and where they are ignored or somebody
    else's, everything stays as it is.
    """
    with _raising([number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]):
        yield


@contextmanager
def _raising(numbers: list[signal.Signals]) -> Iterator[None]:
    """Have these signals raise their exceptions."""
    if threading.current_thread() is not threading.main_thread() or not numbers:
        yield
        return
    before = [(number, signal.signal(number, _raise)) for number in numbers]
    before.append((signal.SIGALRM, signal.signal(signal.SIGALRM, _raise_late)))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


_late: int = signal.SIGINT
"""The signal that waits for a destructor to end."""


def _raise(number: int, frame: FrameType | None) -> None:
    global _late
    if _in_destructor(frame):
        _late = number
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    elif number == signal.SIGINT:
        raise KeyboardInterrupt
    else:
        raise Ended(number)


def _raise_late(_number: int, frame: FrameType | None) -> None:
    _raise(_late, frame)


def _in_destructor(frame: FrameType | None) -> bool:
    while frame:
        if frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False
