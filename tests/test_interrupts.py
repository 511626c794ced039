"""SIGTERM and SIGHUP end a program in good order."""

import signal

import pytest
from unbloat.system import machine


@pytest.mark.parametrize("number", machine.ENDS)
def test_an_end_that_is_asked_for_unwinds_the_program(number: signal.Signals) -> None:
    with pytest.raises(machine.Ended) as asked, machine.orderly_end():
        signal.raise_signal(number)
    assert asked.value.code == 128 + number
    assert [signal.getsignal(number) for number in machine.ENDS] == [signal.SIG_DFL, signal.SIG_DFL]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_end_that_a_finalizer_swallows_is_found_by_the_next_check() -> None:
    """Python prints an exception of a finalizer, and goes on."""

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    with machine.orderly_end() as end:
        end.check()
        Finalized()
        with pytest.raises(machine.Ended):
            end.check()


def test_a_handler_of_somebody_else_stays() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        with machine.orderly_end():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
