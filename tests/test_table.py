"""Numbers and tables as the screen shows them."""

import pytest
from unbloat.report.table import Column, render, show
from unbloat.runs.experiment import round_step


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
