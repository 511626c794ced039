"""An interrupt that comes within a destructor is not lost."""

import signal
import time

import pytest
from unbloat import interrupts


class InterruptedInItsDestructor:
    def __init__(self, ended: list[str]) -> None:
        self.ended = ended

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        self.ended.append("the destructor")


def test_an_interrupt_within_a_destructor_comes_behind_it() -> None:
    ended: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts.kept():
        it = InterruptedInItsDestructor(ended)
        del it
        time.sleep(5)
    assert ended == ["the destructor"]
    assert signal.getsignal(signal.SIGINT) is before


def test_any_other_comes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.kept():
        signal.raise_signal(signal.SIGINT)
