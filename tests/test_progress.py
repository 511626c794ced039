"""The line that tells how far the runs are, and what is said about the wait before them."""

import re

import pytest
from unbloat.runs.progress import Progress, Waiting, clock


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("simulator", "50%  1/2 runs, 5 simulated s/s, 0:04 left"),
        ("vm", "50%  1/2 runs, guest 20.0 s of 40.0 s, 5 guest s/s, 0:04 left"),
        ("kernel", "50%  1/2 runs, 0:04 left"),
    ],
)
def test_progress_tells_share_runs_pace_and_time_left(capsys: pytest.CaptureFixture[str], on: str, words: str) -> None:
    bar = Progress([10, 30], shown=True, on=on)
    bar.update(0, 1)
    bar.update(1, 1 / 3)
    assert bar.line(elapsed_s=4).endswith(words)
    bar.close()
    assert capsys.readouterr().err == "", "nothing is drawn in the first two seconds"


def test_times_left_are_clocks() -> None:
    assert [clock(s) for s in (5, 65, 3700, float("inf"))] == ["0:05", "1:05", "1:01:40", "?"]


def test_a_wait_is_logged_once_where_nobody_watches(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "unbloat")
    say = Waiting(shown=False)
    for what in ("fetches", "boots", "boots"):
        say(what)
    say.close()
    assert caplog.messages == ["fetches", "boots"]


def test_a_terminal_sees_for_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    say = Waiting(shown=True)
    for what in ("fetches", "boots", "boots"):
        say(what)
    say.close()
    lines = capsys.readouterr().err.split("\n")
    assert [re.sub(r"\r\x1b\[K", "", line) for line in lines] == ["unbloat: fetches: 0:00", "unbloat: boots: 0:00", ""]
