"""The memory that host and guest share: a task goes in, progress and an answer come out, and nobody is interrupted.

Each side waits for the other by looking at the state. The guest looks at fixed instants of its own time, so its next
steps do not depend on when the host was ready.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from mmap import mmap

SIZE = 32 << 20
"""Bytes; the host's memory is taken as far as they are used."""

BOOTING, READY, HELD, TASK, RUNNING, PART, LAST_PART, FAILED = range(8)
"""The guest sets READY, or FAILED with a sentence about the reason, RUNNING, PART and LAST_PART. The host sets HELD,
TASK, and RUNNING when it has taken a part.
"""

_STATE, _LENGTH, _SHARE, _TERMINAL, _DATA = 0, 8, 16, 24, 64
_CAPACITY = SIZE - _DATA

Pause = Callable[[], None]
"""Lets a little time pass; raises to give up."""


class SharedMemory:
    """The mapped memory, as both sides use it."""

    def __init__(self, memory: mmap) -> None:
        self._memory = memory

    @property
    def state(self) -> int:
        """The state, which says whose turn it is."""
        return self._memory[_STATE]

    @state.setter
    def state(self, state: int) -> None:
        self._memory[_STATE] = state

    @property
    def share(self) -> float:
        """The share of the run that is done."""
        share: float = struct.unpack_from("<d", self._memory, _SHARE)[0]
        return share

    @share.setter
    def share(self, share: float) -> None:
        struct.pack_into("<d", self._memory, _SHARE, share)

    @property
    def terminal_size(self) -> tuple[int, int]:
        """Lines and columns of the terminal that a program in the guest has."""
        lines, columns = struct.unpack_from("<HH", self._memory, _TERMINAL)
        return lines, columns

    @terminal_size.setter
    def terminal_size(self, size: tuple[int, int]) -> None:
        struct.pack_into("<HH", self._memory, _TERMINAL, *size)

    def give_task(self, task: bytes) -> None:
        """Hand a task to the guest; `ValueError` if it has no room."""
        if len(task) > _CAPACITY:
            raise ValueError(f"{len(task)} bytes, of which {_CAPACITY} have room")
        self._write(task)
        self.state = TASK

    def give_failure(self, sentence: str) -> None:
        """Report to the host why the guest failed to start."""
        self._write(sentence.encode())
        self.state = FAILED

    def failure(self) -> str | None:
        """Return the sentence that says why the guest failed to start, or None."""
        return self._read().decode() if self.state == FAILED else None

    def take_task(self) -> bytes:
        """Read the task that was given."""
        self.state = RUNNING
        return self._read()

    def give_answer(self, answer: bytes, pause: Pause) -> None:
        """Hand an answer to the host, part by part."""
        for start in range(0, len(answer), _CAPACITY):
            self._write(answer[start : start + _CAPACITY])
            self.state = PART if start + _CAPACITY < len(answer) else LAST_PART
            while self.state == PART:
                pause()

    def take_answer(self, pause: Pause) -> bytes:
        """Wait for the answer, all its parts."""
        answer = bytearray()
        while True:
            state = self.state
            if state in (PART, LAST_PART):
                answer += self._read()
                if state == LAST_PART:
                    return bytes(answer)
                self.state = RUNNING
            pause()

    def _write(self, data: bytes) -> None:
        struct.pack_into("<Q", self._memory, _LENGTH, len(data))
        self._memory[_DATA : _DATA + len(data)] = data

    def _read(self) -> bytes:
        (length,) = struct.unpack_from("<Q", self._memory, _LENGTH)
        return self._memory[_DATA : _DATA + length]
