"""An interrupt that comes within a destructor is not lost."""

import signal
import time

import pytest
from unbloat.system import interrupts


class InterruptedInItsDestructor:
    def __init__(self, ended: list[str], number: signal.Signals = signal.SIGINT) -> None:
        self.ended, self.number = ended, number

    def __del__(self) -> None:
        signal.raise_signal(self.number)
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


@pytest.mark.parametrize("number", interrupts.ENDS)
def test_an_end_that_is_asked_for_within_a_destructor_comes_behind_it(number: signal.Signals) -> None:
    ended: list[str] = []
    with pytest.raises(interrupts.Ended) as asked, interrupts.kept(), interrupts.orderly_end():
        it = InterruptedInItsDestructor(ended, number)
        del it
        time.sleep(5)
    assert ended == ["the destructor"] and asked.value.code == 128 + number
    assert [signal.getsignal(number) for number in interrupts.ENDS] == [signal.SIG_DFL, signal.SIG_DFL]
