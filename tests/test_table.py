"""Numbers and tables as the screen shows them, and the line of progress."""

import re

import pytest
from unbloat.progress import Progress, clock
from unbloat.runner import round_step
from unbloat.table import Column, render, show


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.99923, "2.00"),
        (81.68, "81.7"),
        (1234.5, "1234"),
        (0.0064, "0.0064"),
        (0.0, "0"),
        (3, "3"),
        (None, "-"),
        (float("inf"), "∞"),
    ],
)
def test_numbers_have_the_digits_that_mean_something(value: object, text: str) -> None:
    assert show(value) == text


def test_numbers_align_right_words_left_and_empty_columns_go() -> None:
    table = render(
        [Column("name", "", ["a", "long"]), Column("x", "ms", [1.0, 22.0]), Column("none", "", [None, None])]
    )
    assert table.splitlines() == ["name     x", "        ms", "────  ────", "a     1.00", "long  22.0"]


def test_the_step_of_a_series_is_round() -> None:
    assert [round_step(ns) for ns in (1e6, 60e6, 199e6, 0.3)] == [1_000_000, 50_000_000, 100_000_000, 1]


def test_progress_tells_share_runs_speed_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    bar = Progress([10, 30], shown=True)
    bar.update(0, 1)
    bar.update(1, 1 / 3)
    line = bar.line(elapsed_s=4)
    assert re.search(r"50%  1/2 runs, 5 simulated s/s, 0:04 left", line)
    bar.close()
    assert capsys.readouterr().err == "", "nothing is drawn in the first two seconds"


def test_times_left_are_clocks() -> None:
    assert [clock(s) for s in (5, 65, 3700, float("inf"))] == ["0:05", "1:05", "1:01:40", "?"]
