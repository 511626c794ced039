"""The language of claims: small, safe expressions over measurements.

`queue_delay(cubic_plus) < 0.33 * queue_delay(cubic)` is such an expression: numbers, the four operations, comparisons,
`and`, `or`, `not`, `min`, `max`, `abs`, and measurements. The brackets of a measurement name the runs: labels of the
sweep's axes, as words or in quotes, and selectors such as `flow=2`. A measurement without brackets is about all flows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from unbloat._core import InputError
from unbloat.claims.verdicts import (
    Answer,
    Uncertain,
    Values,
    alike,
    differ_little,
    every,
    jackknife,
    opposite,
    some,
    written,
)
from unbloat.results.statistics import CONFIDENCE

Selector = str | int | float
Selectors = Mapping[str, Selector]
Measure = Callable[[str, tuple[str, ...], Selectors], Values]
"""Called with a measurement's name, the labels and the selectors in its brackets."""


class ClaimError(InputError):
    """A claim that cannot be read or evaluated, in one sentence."""


_ARITHMETIC: dict[type[ast.operator], Callable[[Values, Values], Values]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,  # As limits do: a number over zero is infinite, zero over zero is NaN.
}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Values, Values], npt.NDArray[np.bool_]]]] = {
    ast.Lt: ("<", np.less),
    ast.LtE: ("<=", np.less_equal),
    ast.Gt: (">", np.greater),
    ast.GtE: (">=", np.greater_equal),
    ast.Eq: ("==", np.equal),
}
FUNCTIONS: dict[str, Callable[..., Values]] = {
    "min": lambda one, other, *more: reduce(np.minimum, (one, other, *more)),
    "max": lambda one, other, *more: reduce(np.maximum, (one, other, *more)),
    "abs": lambda value: np.abs(value),
}
"""Functions of values; every other name is a measurement."""


@dataclass(frozen=True)
class Call:
    """A measurement as an expression names it."""

    name: str
    labels: tuple[str, ...]
    selectors: Selectors


def evaluate(text: str, measure: Measure) -> Values:
    """Evaluate an expression, a statement to 1 where it holds; raises `ClaimError` for what is outside the language."""
    return _evaluate(parsed(text), text, measure)


def calls(text: str) -> list[Call]:
    """List the measurements that an expression names, without taking them."""
    found: list[Call] = []

    def record(name: str, labels: tuple[str, ...], selectors: Selectors) -> Values:
        found.append(Call(name, labels, selectors))
        return np.ones(1)

    evaluate(text, record)
    return found


def states(text: str) -> bool:
    """Return whether an expression is a statement: comparisons, joined by `and`, `or` and `not`."""
    return all(isinstance(node, ast.Compare) for node in _comparisons(parsed(text)))


def decide(text: str, measure: Measure, confidence: float = CONFIDENCE, difference: float = 0.0) -> Answer:
    """Return whether a statement holds; open where the interval of a difference that it hangs on crosses zero.

    `<` and `>` are also open between values that differ by less than the share `difference` of the larger.
    """
    evaluate(text, measure)  # Raises what is wrong with it.
    return Statement(text, measure, confidence, difference).decide(parsed(text))


def describe(
    text: str,
    measure: Measure,
    confidence: float = CONFIDENCE,
    difference: float = 0.0,
    units: Callable[[str], str] = lambda _: "",
) -> str:
    """Write an expression's comparisons with their sides measured: `0.0301 < 0.541 ms`; one that fails says so.

    `units` gives the unit of a measurement by its name.
    """
    statement = Statement(text, measure, confidence, difference, units)
    return "; ".join(statement.describe(node) for node in _comparisons(parsed(text)))


def first_side(
    text: str, measure: Measure, confidence: float = CONFIDENCE, units: Callable[[str], str] = lambda _: ""
) -> tuple[Uncertain, str]:
    """Measure the left side of a statement's first comparison; return it with its unit."""
    first = next(node for node in _comparisons(parsed(text)) if isinstance(node, ast.Compare))
    return jackknife(_evaluate(first.left, text, measure), confidence), unit_of(first.left, units) or ""


def margins(text: str, measure: Measure, confidence: float = CONFIDENCE) -> list[Uncertain]:
    """Measure how far each comparison of a statement holds: the side that should be larger, over the other."""
    statement = Statement(text, measure, confidence)
    found = []
    for node in filter(lambda each: isinstance(each, ast.Compare), _comparisons(parsed(text))):
        assert isinstance(node, ast.Compare)
        for op, (left, right) in zip(node.ops, statement.sides(node), strict=True):
            larger, smaller = (right, left) if isinstance(op, ast.Lt | ast.LtE) else (left, right)
            with np.errstate(all="ignore"):
                ratio = np.where(larger == smaller, 1.0, larger / smaller)  # 0 / 0 too.
            found.append(jackknife(ratio, confidence))
    return found


def parsed(text: str) -> ast.expr:
    """Parse an expression; raises `ClaimError` for another text."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else error
        raise ClaimError(f"`{_beginning(text)}` is not an expression: {why}") from None


def _beginning(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]} ..."


@np.errstate(all="ignore")
def _evaluate(node: ast.expr, text: str, measure: Measure) -> Values:
    try:
        return _value(node, text, measure)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:  # `min()`, and numbers beyond all measure.
        raise ClaimError(f"`{_beginning(text)}` cannot be evaluated: {error}") from None


def _value(node: ast.expr, text: str, measure: Measure) -> Values:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return np.array([number], dtype=float)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, text, measure)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return np.equal(_value(inner, text, measure), 0).astype(float)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_value(left, text, measure), _value(right, text, measure))
        case ast.BoolOp(op=op, values=values):
            both = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return reduce(both, [_value(value, text, measure) for value in values]).astype(float)
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(op) in _COMPARISONS for op in ops):
            sides = pairwise(_value(side, text, measure) for side in (left, *rest))
            answers = [_COMPARISONS[type(op)][1](*pair) for op, pair in zip(ops, sides, strict=True)]
            return reduce(np.logical_and, answers).astype(float)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(argument, text, measure) for argument in arguments))
        case ast.Name(id=name):
            return measure(name, (), {})
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            labels = tuple(_label(argument, text) for argument in arguments)
            return measure(name, labels, dict(_selector(keyword, text) for keyword in keywords))
    raise ClaimError(
        f"`{ast.unparse(node)}` in `{text}`: valid: numbers, + - * /, comparisons, and, or, not, "
        f"{', '.join(FUNCTIONS)} and measurements such as loss(cubic)"
    )


def _label(node: ast.expr, text: str) -> str:
    match node:
        case ast.Name(id=label) | ast.Constant(value=str() as label):
            return label
    raise ClaimError(
        f"`{ast.unparse(node)}` in `{text}`: brackets contain labels (cubic, '50kb') and selectors (flow=2)"
    )


def _selector(keyword: ast.keyword, text: str) -> tuple[str, Selector]:
    match keyword:
        case ast.keyword(arg=str() as name, value=ast.Constant(value=str() | int() | float() as value)):
            return name, value
    raise ClaimError(
        f"`{ast.unparse(keyword)}` in `{text}`: a selector needs a number or a word in quotes: flow=2, cc='reno'"
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


def unit_of(node: ast.expr, units: Callable[[str], str]) -> str | None:
    """Return the unit of an expression: None of a bare number, empty of a ratio and where units differ."""
    match node:
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            return units(name)
        case ast.UnaryOp(operand=inner):
            return unit_of(inner, units)
        case ast.BinOp(left=left, op=op, right=right):
            one, other = unit_of(left, units), unit_of(right, units)
            if isinstance(op, ast.Add | ast.Sub):
                return _common([one, other])
            return one if other is None else other if one is None and isinstance(op, ast.Mult) else ""
        case ast.Call(args=parts):
            return _common([unit_of(part, units) for part in parts])
        case ast.Compare(left=left, comparators=rest):
            return _common([unit_of(part, units) for part in (left, *rest)])
    return None


def _common(units: Sequence[str | None]) -> str | None:
    """Return the unit that all parts have which have one; empty if they differ."""
    found = {unit for unit in units if unit is not None}
    return found.pop() if len(found) == 1 else "" if found else None


@dataclass(frozen=True)
class Statement:
    """An expression whose comparisons are decided by intervals."""

    text: str
    measure: Measure
    confidence: float
    """Confidence level of the intervals."""
    difference: float = 0.0
    """Smallest difference of interest, as a share of the larger side."""
    units: Callable[[str], str] = lambda _: ""
    """Unit of a measurement by its name."""

    def decide(self, node: ast.expr) -> Answer:
        """Return whether a part of the expression holds."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return opposite(self.decide(inner))
            case ast.BoolOp(op=op, values=values):
                answers = [self.decide(value) for value in values]
                return every(answers) if isinstance(op, ast.And) else some(answers)
            case ast.Compare(ops=ops):
                return every([self._compare(op, *pair) for op, pair in zip(ops, self.sides(node), strict=True)])
        return bool(_evaluate(node, self.text, self.measure)[0])

    def describe(self, node: ast.expr) -> str:
        """Write a comparison with its sides measured."""
        if not isinstance(node, ast.Compare):
            return written(self._interval(_evaluate(node, self.text, self.measure)))
        pairs = [(self._interval(left), self._interval(right)) for left, right in self.sides(node)]
        words = [written(pairs[0][0])]
        for op, (_, side) in zip(node.ops, pairs, strict=True):
            words += [_COMPARISONS[type(op)][0], written(side)]
        why_open = "alike" if any(self._are_alike(*each) for each in zip(node.ops, pairs, strict=True)) else "open"
        unit = unit_of(node, self.units)
        words += [unit] if unit else []
        return " ".join(words) + {True: "", False: " (false)", None: f" ({why_open})"}[self.decide(node)]

    def sides(self, node: ast.Compare) -> Sequence[tuple[Values, Values]]:
        """Measure the sides of each comparison."""
        return list(pairwise(_evaluate(side, self.text, self.measure) for side in (node.left, *node.comparators)))

    def _interval(self, values: Values) -> Uncertain:
        return jackknife(values, self.confidence)

    def _compare(self, op: ast.cmpop, left: Values, right: Values) -> Answer:
        """Compare two sides; those that print alike are neither less nor greater, however sure their difference."""
        holds = _COMPARISONS[type(op)][1]
        answer = self._compare_difference(op, left, right)
        if answer is None or (answer and holds(np.zeros(1), np.zeros(1))):
            return answer
        return None if self._are_alike(op, (self._interval(left), self._interval(right))) else answer

    def _are_alike(self, op: ast.cmpop, pair: tuple[Uncertain, Uncertain]) -> bool:
        """Return whether two sides print alike, or differ by less than is of interest to `<` and `>`."""
        one, other = pair
        strict = isinstance(op, ast.Lt | ast.Gt)
        return alike(one, other) or (strict and differ_little(one.value, other.value, self.difference))

    @np.errstate(invalid="ignore")
    def _compare_difference(self, op: ast.cmpop, left: Values, right: Values) -> Answer:
        """Hold a difference against zero; where it is not finite, the sides against each other without each seed."""
        holds = _COMPARISONS[type(op)][1]
        between = self._interval(left - right)
        if between.half_width:
            if isinstance(op, ast.Eq) and between.low <= 0 <= between.high:
                return None
            answers = holds(np.array([between.low, between.high]), np.zeros(1))
        else:
            answers = holds(left, right)
            answers = answers[:1] if between.half_width == 0 else answers
        return bool(answers[0]) if len(set(answers.tolist())) == 1 else None
