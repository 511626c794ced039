"""The language of a paper's claims: small, safe expressions over measurements.

`queue_delay(cubic_plus) < 0.33 * queue_delay(cubic)` is such an expression: numbers, the four operations, comparisons,
`and`, `or`, `not`, `min`, `max`, `abs`, and calls of measurements. What stands in a measurement's brackets names the
runs: labels of the sweep's axes, as words or in quotes, and selectors such as `flow=2`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from unbloat._core import InputError
from unbloat.claims.uncertainty import Answer, Seed, Uncertain, every, jackknife, opposite, some
from unbloat.results.statistics import CONFIDENCE
from unbloat.system.legible import FIVE, measured_within

Selector = str | int | float
Measure = Callable[[str, tuple[str, ...], dict[str, Selector]], float]
"""Called with a measurement's name, the labels and the selectors in its brackets; return the value."""


@dataclass(frozen=True)
class Repeated:
    """Measurements over several seeds."""

    without: Callable[[Seed], Measure]
    """Returns the function that measures without one of them."""
    seeds: Sequence[int]
    confidence: float = CONFIDENCE
    """Confidence level of the intervals."""

    def interval(self, value: Callable[[Seed], float]) -> Uncertain:
        """Calculate a value with its interval; `value` is called with the seed to leave out."""
        return jackknife(value, self.seeds, self.confidence)


class ClaimError(InputError):
    """A claim that cannot be read or evaluated, in one sentence."""


_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}


@dataclass(frozen=True)
class Call:
    """A measurement as an expression names it."""

    name: str
    labels: tuple[str, ...]
    selectors: dict[str, Selector]


def evaluate(text: str, measure: Measure) -> float | bool:
    """Evaluate an expression; raises `ClaimError` for anything outside the language."""
    node = _parse(text)
    try:
        return _value(node, text, measure)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:  # `min()`, and numbers beyond all measure.
        raise ClaimError(f"`{_beginning(text)}` cannot be worked out: {error}") from None


def calls(text: str) -> list[Call]:
    """List the measurements that an expression names, without taking them."""
    found: list[Call] = []

    def record(name: str, labels: tuple[str, ...], selectors: dict[str, Selector]) -> float:
        found.append(Call(name, labels, selectors))
        return 1.0

    evaluate(text, record)
    return found


def work_out(text: str, repeated: Repeated) -> Uncertain:
    """Evaluate an expression, with its confidence interval."""
    return repeated.interval(lambda seed: float(evaluate(text, repeated.without(seed))))


def decide(text: str, repeated: Repeated) -> Answer:
    """Return whether a statement holds; open where the interval of a difference that it hangs on crosses zero."""
    evaluate(text, repeated.without(None))  # Raises what is wrong with it.
    return _decide(_parse(text), text, repeated)


def describe(text: str, repeated: Repeated) -> str:
    """Write an expression's comparisons with their sides measured: `0.0301 < 0.541`; one that fails says so."""
    return "; ".join(_describe(node, text, repeated) for node in _comparisons(_parse(text)))


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise ClaimError(f"`{_beginning(text)}` is not an expression: {why}") from None


def _beginning(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} ..."


def _value(node: ast.expr, text: str, measure: Measure) -> float | bool:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, text, measure)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, text, measure)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _divide(_value(left, text, measure), _value(right, text, measure))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, text, measure), _value(right, text, measure))
        case ast.BoolOp(op=op, values=values):
            holds = all if isinstance(op, ast.And) else any
            return holds([bool(_value(value, text, measure)) for value in values])
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(op) in _COMPARISONS for op in ops):
            sides = [_value(side, text, measure) for side in (left, *rest)]
            return all(_COMPARISONS[type(op)][1](sides[i], sides[i + 1]) for i, op in enumerate(ops))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, text, measure) for argument in arguments))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            labels = tuple(_label(argument, text) for argument in arguments)
            return measure(name, labels, dict(_selector(keyword, text) for keyword in keywords))
    raise ClaimError(
        f"`{ast.unparse(node)}` in `{text}`: a claim knows numbers, + - * /, comparisons, and, or, not, "
        f"{', '.join(_FUNCTIONS)} and measurements such as loss(cubic)"
    )


def _divide(dividend: float, divisor: float) -> float:
    """Divide as limits do: a number over zero is infinite, zero over zero is NaN."""
    if divisor:
        return dividend / divisor
    return math.copysign(math.inf, dividend) if dividend else math.nan


def _label(node: ast.expr, text: str) -> str:
    match node:
        case ast.Name(id=label) | ast.Constant(value=str() as label):
            return label
    raise ClaimError(
        f"`{ast.unparse(node)}` in `{text}`: its brackets hold labels (cubic, '50kb') and selectors (flow=2)"
    )


def _selector(keyword: ast.keyword, text: str) -> tuple[str, Selector]:
    match keyword:
        case ast.keyword(arg=str() as name, value=ast.Constant(value=str() | int() | float() as value)):
            return name, value
    raise ClaimError(
        f"`{ast.unparse(keyword)}` in `{text}`: a selector names a number or a word in quotes: flow=2, cc='reno'"
    )


def _comparisons(node: ast.expr) -> Iterator[ast.expr]:
    """Go through `and`, `or` and `not` to the comparisons."""
    match node:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _comparisons(value)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _comparisons(inner)
        case _:
            yield node


def _describe(node: ast.expr, text: str, repeated: Repeated) -> str:
    if not isinstance(node, ast.Compare):
        return written(repeated.interval(_side(node, text, repeated)))
    sides = [repeated.interval(_side(side, text, repeated)) for side in (node.left, *node.comparators)]
    words = [written(sides[0])]
    for op, side in zip(node.ops, sides[1:], strict=True):
        words += [_COMPARISONS[type(op)][0], written(side)]
    why_open = "alike" if any(alike(*pair) for pair in pairwise(sides)) else "open"
    return " ".join(words) + {True: "", False: " (false)", None: f" ({why_open})"}[_decide(node, text, repeated)]


def _decide(node: ast.expr, text: str, repeated: Repeated) -> Answer:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return opposite(_decide(inner, text, repeated))
        case ast.BoolOp(op=op, values=values):
            answers = [_decide(value, text, repeated) for value in values]
            return every(answers) if isinstance(op, ast.And) else some(answers)
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [left, *rest]
            return every([_compare(op, sides[i], sides[i + 1], text, repeated) for i, op in enumerate(ops)])
    return bool(_value(node, text, repeated.without(None)))


def _compare(op: ast.cmpop, left: ast.expr, right: ast.expr, text: str, repeated: Repeated) -> Answer:
    """Compare two sides; those that print alike are neither less nor greater, whatever their difference's interval."""
    holds = _COMPARISONS[type(op)][1]
    answer = _compare_difference(op, left, right, text, repeated)
    if answer is None or (answer and holds(0.0, 0.0)):
        return answer
    first, second = (repeated.interval(_side(side, text, repeated)) for side in (left, right))
    return None if alike(first, second) else answer


def _side(node: ast.expr, text: str, repeated: Repeated) -> Callable[[Seed], float]:
    return lambda seed: float(_value(node, text, repeated.without(seed)))


def _compare_difference(op: ast.cmpop, left: ast.expr, right: ast.expr, text: str, repeated: Repeated) -> Answer:
    """Hold the difference of two sides against zero; where that is not finite, the sides without each of the seeds."""
    holds = _COMPARISONS[type(op)][1]

    def sides(seed: Seed) -> tuple[float, float]:
        measure = repeated.without(seed)
        return float(_value(left, text, measure)), float(_value(right, text, measure))

    def difference(seed: Seed) -> float:
        first, second = sides(seed)
        return first - second

    between = repeated.interval(difference)
    if between.half_width:
        answers = {holds(between.low, 0.0), holds(between.high, 0.0)}
        if isinstance(op, ast.Eq) and between.low <= 0 <= between.high:
            return None
    else:
        left_out = () if between.half_width == 0 else repeated.seeds
        answers = {holds(*sides(seed)) for seed in (None, *left_out)}
    return answers.pop() if len(answers) == 1 else None


def written(answer: Uncertain, digits: int = FIVE) -> str:
    """Write what was measured with so many digits, and its interval where these show it."""
    return measured_within(answer.value, answer.half_width, digits)


def alike(one: Uncertain, other: Uncertain, digits: int = FIVE, others_digits: int = FIVE) -> bool:
    """Return whether two values that are not equal are printed the same, apart from their intervals."""
    if one.value == other.value or not (math.isfinite(one.value) and math.isfinite(other.value)):
        return False
    printed, others = written(one, digits), written(other, others_digits)
    return printed.partition(" ")[0] == others.partition(" ")[0]
