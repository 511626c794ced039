"""An interrupt that comes within a destructor is not lost."""

import signal
import time

import pytest
from unbloat import interrupts


class Slow:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        self.went_on = True


def test_an_interrupt_within_a_destructor_comes_behind_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts.kept():
        slow = Slow()
        del slow
        time.sleep(5)
    assert signal.getsignal(signal.SIGINT) is before


def test_any_other_comes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.kept():
        signal.raise_signal(signal.SIGINT)
