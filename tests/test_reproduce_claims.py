"""The claim language and the rules of the verdicts."""

import math

import pytest
from unbloat.papers.expressions import ClaimError, calls, describe, evaluate
from unbloat.papers.verdicts import Bounds, Printed, judge_number, judge_reduction, judge_statement

BOUNDS = Bounds(relative=0.10, index=0.0373)
VALUES = {"cubic": 1.61, "cubic_plus": 0.03, "vegas": 0.0064}


def measure(name, labels, selectors):
    assert name == "queue_delay"
    return VALUES[labels[-1]] * selectors.get("flow", 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 8", 6.5),
        ("-queue_delay(cubic)", -1.61),
        ("queue_delay('500kb', cubic, flow=2)", 3.22),
        ("max(queue_delay(cubic), queue_delay(vegas))", 1.61),
        ("abs(queue_delay(vegas) - queue_delay(vegas))", 0),
        ("queue_delay(cubic_plus) < 0.33 * queue_delay(cubic)", True),
        ("0.01 <= queue_delay(cubic_plus) < queue_delay(vegas)", False),
        ("queue_delay(vegas) == 1 or not queue_delay(cubic) < 1", True),
        ("queue_delay(vegas) < 1 and queue_delay(cubic) < 1", False),
        ("1 / 0", math.inf),
        ("0 / 0 < 1", False),
    ],
)
def test_an_expression_has_its_value(text, value):
    assert evaluate(text, measure) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "queue_delay.__globals__",
        "[x for x in (1, 2)]",
        "lambda: 1",
        "queue_delay(cubic)(vegas)",
        "queue_delay(1 + 1)",
        "queue_delay(*cubic)",
        "queue_delay(cubic, flow=1 + 1)",
        "queue_delay(cubic, **vegas)",
        "2 ** 9",
        "cubic",
        "'text'",
        "True",
        "1 if 2 else 3",
        "1 != 2",
        "queue_delay(cubic",
    ],
)
def test_nothing_else_is_evaluated(text):
    with pytest.raises(ClaimError):
        evaluate(text, measure)


def test_the_measurements_of_an_expression_are_listed():
    found = calls("loss(cubic, '50kb') > 0 and max(loss(vegas), jain(reno, flow=2)) < 1")
    assert [(call.name, call.labels, call.selectors) for call in found] == [
        ("loss", ("cubic", "50kb"), {}),
        ("loss", ("vegas",), {}),
        ("jain", ("reno",), {"flow": 2}),
    ]


def test_a_comparison_is_described_by_its_sides():
    assert describe("queue_delay(vegas) < queue_delay(cubic)", measure) == "0.0064 < 1.61"
    assert describe("queue_delay(cubic) < 1 and 1 / 0 > 2", measure) == "1.61 < 1 (false); unfinished > 2"


@pytest.mark.parametrize(
    ("measured", "printed", "unit", "verdict"),
    [
        (1.45, "1.61", "s", "reproduced"),  # 10 % is 0.161
        (1.44, "1.61", "s", "not reproduced"),
        (0.0349, "0.03", "s", "reproduced"),  # half a unit is wider than 10 %
        (0.0351, "0.03", "s", "not reproduced"),
        (0.93, "0.9623", "index", "reproduced"),
        (0.92, "0.9623", "index", "not reproduced"),
        (math.inf, "38", "s", "not reproduced"),
        (math.nan, "38", "s", "not reproduced"),
    ],
)
def test_a_number_is_reproduced_within_the_bounds(measured, printed, unit, verdict):
    assert judge_number(measured, Printed.parse(printed), unit, BOUNDS, []) == verdict


def test_outside_the_bounds_the_side_counts():
    lower = [(2.0, Printed.parse("1.61"))]
    assert judge_number(0.5, Printed.parse("0.03"), "s", BOUNDS, lower) == "direction only"
    assert judge_number(2.5, Printed.parse("0.03"), "s", BOUNDS, lower) == "not reproduced"
    one_of_two = [*lower, (0.6, Printed.parse("0.0064"))]
    assert judge_number(0.5, Printed.parse("0.03"), "s", BOUNDS, one_of_two) == "not reproduced"


def test_a_comparator_that_the_paper_cannot_tell_apart_gives_no_direction():
    alike = [(1.0, Printed.parse("368.67"))]
    assert judge_number(100.0, Printed.parse("348.87"), "Mb/s", BOUNDS, alike) == "not reproduced"


def test_a_bare_zero_has_the_resolution_of_its_row():
    zero, fine, illegible = Printed.row(["0", "0.52", "1??"])
    assert zero == Printed(0.0, 0.005)
    assert fine == Printed(0.52, 0.005)
    assert illegible is None
    assert judge_number(0.004, zero, "%", BOUNDS, []) == "reproduced"
    assert judge_number(0.006, zero, "%", BOUNDS, []) == "not reproduced"


def test_a_reduction_is_judged_by_what_remains():
    printed = Printed.parse("98.14")
    assert judge_reduction(0.0200, printed, BOUNDS) == "reproduced"
    assert judge_reduction(0.0210, printed, BOUNDS) == "direction only"
    assert judge_reduction(1.0, printed, BOUNDS) == "not reproduced"
    assert judge_reduction(math.nan, printed, BOUNDS) == "not reproduced"


def test_a_statement_has_at_most_a_weaker_form():
    assert judge_statement(True, None) == "reproduced"
    assert judge_statement(False, True) == "direction only"
    assert judge_statement(False, False) == "not reproduced"
    assert judge_statement(False, None) == "not reproduced"
