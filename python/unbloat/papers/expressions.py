"""The language of a paper's claims: small, safe expressions over measurements.

`queue_delay(cubic_plus) < 0.33 * queue_delay(cubic)` is such an expression: numbers, the four operations, comparisons,
`and`, `or`, `not`, `min`, `max`, `abs`, and calls of measurements. What stands in a measurement's brackets names the
runs: labels of the sweep's axes, as words or in quotes, and selectors such as `flow=2`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from unbloat._core import InputError

Selector = str | int | float
Measure = Callable[[str, tuple[str, ...], dict[str, Selector]], float]
"""Called with a measurement's name, the labels and the selectors in its brackets; gives the value."""


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
    """Give the value of an expression; raises `ClaimError` for anything outside the language."""
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


def describe(text: str, measure: Measure) -> str:
    """Write an expression's comparisons with their sides measured: `0.0301 < 0.541`; one that fails says so."""
    return "; ".join(_describe(node, text, measure) for node in _comparisons(_parse(text)))


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
    """Divide as the reals' limit does: a ratio to nothing is infinite, nothing to nothing is no number."""
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


def _describe(node: ast.expr, text: str, measure: Measure) -> str:
    if not isinstance(node, ast.Compare):
        return number(_value(node, text, measure))
    sides = [number(_value(side, text, measure)) for side in (node.left, *node.comparators)]
    words = [sides[0]]
    for op, side in zip(node.ops, sides[1:], strict=True):
        words += [_COMPARISONS[type(op)][0], side]
    return " ".join(words) + ("" if _value(node, text, measure) else " (false)")


def number(value: float) -> str:
    """Write a measured number with five digits, so that it can be read beside a printed one."""
    if math.isinf(value):
        return "unfinished" if value > 0 else "-inf"
    if math.isnan(value):
        return "none"
    return f"{value:.0f}" if abs(value) >= 10_000 else f"{value:.5g}"
