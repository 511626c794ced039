"""The memory between host and guest: what goes in comes out, whole, whatever its size, and only once it is whole."""

import threading
from mmap import mmap
from typing import Any

import pytest
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from sentences import refused
from unbloat.guest.inside import shared
from unbloat.guest.inside.shared import SharedMemory

CAPACITY = shared.SIZE - 64
"""The first 64 bytes say what the others are."""


class Memory(mmap):
    """Writes down in which order its parts are written to."""

    written: list[int | slice]

    def __setitem__(self, place: Any, value: Any) -> None:
        self.written.append(place)
        super().__setitem__(place, value)


@pytest.fixture
def memory() -> SharedMemory:
    return SharedMemory(mmap(-1, shared.SIZE))


def test_a_new_memory_says_that_the_guest_boots(memory: SharedMemory) -> None:
    assert (memory.state, memory.share, memory.terminal_size, memory.failure()) == (shared.BOOTING, 0.0, (0, 0), None)


def test_nothing_disturbs_anything_else(memory: SharedMemory) -> None:
    """What both sides say at the same time lies apart."""
    memory.give_task(b"\xff" * 1000)
    memory.share = 0.125
    memory.terminal_size = (40, 65_535)
    assert (memory.share, memory.terminal_size, memory.state) == (0.125, (40, 65_535), shared.TASK)
    assert memory.take_task() == b"\xff" * 1000
    assert memory.state == shared.RUNNING
    assert (memory.share, memory.terminal_size) == (0.125, (40, 65_535))


@pytest.mark.parametrize("size", [1, 1000, CAPACITY])
def test_a_task_arrives(memory: SharedMemory, size: int) -> None:
    task = (bytes(range(1, 252)) * (size // 251 + 1))[:size]
    memory.give_task(task)
    assert memory.take_task() == task


def test_a_task_without_room_is_refused_and_changes_nothing(memory: SharedMemory) -> None:
    memory.give_task(b"before")
    with refused(ValueError, snapshot("33554369 bytes, of which 33554368 have room")):
        memory.give_task(bytes(CAPACITY + 1))
    assert (memory.state, memory.take_task()) == (shared.TASK, b"before")


def test_a_shorter_task_is_not_followed_by_the_rest_of_a_longer_one(memory: SharedMemory) -> None:
    memory.give_task(b"a longer one")
    memory.give_task(b"short")
    assert memory.take_task() == b"short"


def test_the_state_says_so_only_when_all_is_there() -> None:
    """Whoever looks in between, or has been stopped there, must not see half a task, answer or sentence."""
    parts = Memory(-1, shared.SIZE)
    memory = SharedMemory(parts)
    for give in (
        memory.give_task,
        lambda data: memory.give_answer(data, no_pause),
        lambda _: memory.give_failure("no"),
    ):
        parts.written = []
        give(b"data")
        assert len(parts.written) == 2 and parts.written[-1] == 0, "the data, then the state"


def no_pause() -> None:
    pytest.fail("nobody has to wait here")


@pytest.mark.parametrize("size", [1, 99, 100, 101, 200, 205])
def test_an_answer_arrives_part_by_part(memory: SharedMemory, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(shared, "_CAPACITY", 100)
    answer = bytes(1 + i % 255 for i in range(size))
    pause = threading.Event()
    guest = threading.Thread(target=memory.give_answer, args=(answer, lambda: pause.wait(0.001)), daemon=True)
    guest.start()
    waits = []

    def wait() -> None:
        pause.wait(0.001)
        waits.append(1)
        assert len(waits) < 10_000, "the answer never came to an end"

    taken = memory.take_answer(wait)
    guest.join(timeout=PATIENCE_S)
    assert taken == answer and not guest.is_alive()
    assert memory.state == shared.LAST_PART


def test_to_wait_for_an_answer_can_be_given_up(memory: SharedMemory) -> None:
    """The machine has ended, say; half an answer is then none."""
    memory.give_answer(b"part", no_pause)
    memory.state = shared.PART

    def ended() -> None:
        raise RuntimeError("the machine has ended")

    with refused(RuntimeError, snapshot("the machine has ended")):
        memory.take_answer(ended)


def test_a_guest_that_cannot_come_up_says_why(memory: SharedMemory) -> None:
    memory.give_failure("it has no TUN devices - …")
    assert memory.failure() == snapshot("it has no TUN devices - …")
