"""Numbers and tables as the screen shows them."""

import math
from pathlib import Path

import pytest
import unbloat as ub
from unbloat.report.results_tables import links_columns
from unbloat.report.table import Column, render, show
from unbloat.runs.experiment import round_step
from unbloat.system.legible import with_interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.99923, "2.00"),
        (81.68, "81.7"),
        (1234.5, "1234"),
        (0.0064, "0.00640"),
        (8.6e-4, "0.000860"),
        (3.1e-5, "3.10e-5"),
        (-2.46e-12, "-2.46e-12"),
        (0.09999999, "0.100"),
        (9.999, "10.0"),
        (99.96, "100"),
        (99_996.2, "99996"),
        (-math.inf, "-∞"),
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


ROWS = ["cubic", "vegas"]
WIDE = [
    Column("control", "", ROWS),
    *(Column(f"metric_{n}", "ms", [float(n), float(n)]) for n in range(12)),
]


def widest(table: str) -> int:
    return max(map(len, table.splitlines()))


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_wide_table_is_folded_into_several_with_the_same_labels(width: int) -> None:
    table = render(WIDE, width)
    assert widest(table) <= width
    parts = table.split("\n\n")
    assert len(parts) > 1
    heads = [head for part in parts for head in part.splitlines()[0].split("metric_")[1:]]
    assert [int(head) for head in heads] == list(range(12)), "every column is there, once and in order"
    assert all([line.split()[0] for line in part.splitlines()[-2:]] == ROWS for part in parts)


def test_words_that_align_to_the_right_are_values_and_no_labels() -> None:
    """As in a comparison, where only the last column has a unit."""
    values = [Column(head, "", ["12.3 ± 0.0456", "7"], is_right=True) for head in ("A", "B", "B - A")]
    table = render([Column("metric", "", ["goodput", "loss"]), *values, Column("", "%", [1.0, 2.0])], 40)
    assert widest(table) <= 40 and table.count("metric") == 2


def test_a_table_that_fits_stays_as_it_is() -> None:
    whole = render(WIDE)
    assert render(WIDE, widest(whole)) == whole
    assert render(WIDE, widest(whole) - 1) != whole


def test_sentences_are_folded_before_columns_are() -> None:
    sentence = "the kernel lacks it, and nothing but another kernel would mend that"
    table = render([Column("what", "", ["qdisc"]), Column("why", "", [sentence]), Column("n", "", [1])], 50)
    assert widest(table) == 50 and "\n\n" not in table
    lines = table.splitlines()[2:]
    assert " ".join(" ".join(line.split()) for line in lines).replace(" 1 ", " ").split() == [
        "qdisc",
        *sentence.split(),
    ]


def test_a_terminal_s_width_counts_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert render(WIDE) == render(WIDE, 1000), "this is none"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert widest(render(WIDE)) <= 60


def test_heads_of_several_words_take_less_room_on_a_narrow_screen() -> None:
    columns = [Column("link", "", ["a", "b"]), Column("queueing delay, near", "ms", [1.0, 2.0])]
    assert render(columns, 16).splitlines()[:3] == ["      queueing", "        delay,", "link      near"]
    assert len(render(columns, 80).splitlines()[0].split()) == 4


def test_no_part_of_a_wide_table_has_a_lone_column_that_others_could_share() -> None:
    parts = render([Column("flow", "", ["a"]), *(Column(f"metric_{n}", "ms", [1.0]) for n in range(5))], 44)
    assert [part.splitlines()[0].count("metric") for part in parts.split("\n\n")] == [3, 2]


def test_columns_without_a_value_are_left_out() -> None:
    assert "completion" not in render(
        [Column("flow", "", ["a"]), Column("completion", "s", [None]), Column("x", "", ["-"])]
    )


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (19.3, 0.0029, "19.3000 ± 0.0029"),
        (-1692.0, 4.8, "-1692.0 ± 4.8"),
        (72.04, 0.496, "72.04 ± 0.50"),
        (100.0, 0.018, "100.000 ± 0.018"),
        (4.8, 3.77, "4.8 ± 3.8"),
        (0.52, 0.0196, "0.520 ± 0.020"),
        (1234.5, 56.7, "1234 ± 57"),
        (0.0, 0.5, "0.00 ± 0.50"),
        (1870.76, 8.97e-5, "1871"),
        (28.3, 0.0, "28.3"),
        (28.3, None, "28.3"),
        (math.inf, 1.0, "∞"),
    ],
)
def test_a_mean_has_the_decimal_places_of_its_interval(mean: float, half_width: float | None, text: str) -> None:
    assert with_interval(mean, half_width) == text


SHORT_TABLE = """
duration = "2s"
[link.first]
rate = "100mbit"
delay = "1ms"
queue = {}
[link.slow]
rate = "4mbit"
delay = "10ms"
queue = QUEUE
[[flows]]
cc = "cubic"
ecn = true
access = { rate = "50mbit", delay = "1ms" }
"""


@pytest.mark.parametrize(
    ("queue", "has_marks"), [("{}", False), ('{ kind = "cake" }', True), ('{ limit = "100kb" }', False)]
)
def test_the_links_are_the_first_and_those_where_something_happens(tmp_path: Path, queue: str, has_marks: bool) -> None:
    """Neither reverse directions, which carry acknowledgements, nor an access link that is faster than the path."""
    (tmp_path / "two.toml").write_text(SHORT_TABLE.replace("QUEUE", queue))
    columns = {column.head: column.cells for column in links_columns(ub.scenario(tmp_path / "two.toml").run())}
    assert columns["link"] == ["first", "slow"]
    assert ("ECN marks" in columns) == has_marks
    assert not has_marks or columns["ECN marks"][1] > 0
