"""System calls of a guest that Python has no functions for."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import BinaryIO

_libc = ctypes.CDLL(None, use_errno=True)
_FINIT_MODULE = 313  # x86-64; the C library has no function for it.
_RB_AUTOBOOT = 0x01234567
_MS_RDONLY, _MS_MOVE = 1, 1 << 13


def mount(kind: str, source: str, place: Path, *, read_only: bool = False, options: str = "") -> None:
    """Mount a file system."""
    words = [word.encode() for word in (source, str(place), kind)]
    check(_libc.mount(*words, _MS_RDONLY if read_only else 0, options.encode()), f"{kind} cannot be mounted at {place}")


def move_mount(source: Path, place: Path) -> None:
    """Have a mounted file system somewhere else."""
    check(_libc.mount(str(source).encode(), str(place).encode(), None, _MS_MOVE, None), f"{source} cannot be moved")


def load_module(module: BinaryIO) -> None:
    """Load a module into the kernel."""
    check(_libc.syscall(_FINIT_MODULE, module.fileno(), b"", 0), f"the kernel refuses its module {module.name}")


def end_machine() -> None:
    """Restart the machine, which the host does not let it do."""
    check(_libc.reboot(_RB_AUTOBOOT), "the machine cannot be restarted")


def check(status: int, sentence: str) -> None:
    """Raise if a call of the C library has failed."""
    if status != 0:
        raise OSError(ctypes.get_errno(), f"{sentence}: {os.strerror(ctypes.get_errno())}")
