"""Units in statements: `rtt_p99 < 50ms` becomes `rtt_p99 < 50.0`, in the unit of what it is compared with.

A number with a unit is converted to the unit of its comparison. A bare number beside a share is a fraction, so that
`share(flow=2) >= 0.3` asks for 30 %. A bare number beside a time, a rate or a size is an error.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from unbloat import _core
from unbloat.claims.expressions import FUNCTIONS, ClaimError, parsed, unit_of

LITERAL = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(%|[A-Za-z]+(?:/s)?)(?![\w(])")
"""A number with its unit, such as `50ms`, `1.5mbit` or `30%`."""
QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")
SCALES = {
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "Mbit/s": ("bps", 1e6),
    "%": ("percent", 1.0),
    "B": ("bytes", 1.0),
    "packets": ("packets", 1.0),
}
"""Units of measurements: the kind of quantity that scenarios write for it, and the factor to the base unit of that."""
PAIRS = {"s": "50ms", "bps": "10mbit", "bytes": "64kb"}
"""Quantities that need a unit, with an example."""


def in_own_units(text: str, units: Callable[[str], str]) -> str:
    """Rewrite a statement so that each number is in the unit of what it is compared with.

    `units` gives the unit of a measurement by its name.

    Raises
    ------
    ClaimError
        The text has another form, or compares different units.

    """
    tree = parsed(_quoted(text))
    found = _Converter(text, units).visit(tree)
    return ast.unparse(found)


def _quoted(text: str) -> str:
    """Put numbers with units in quotation marks, outside of those that exist."""
    parts = QUOTED.split(text)
    return "".join(part if place % 2 else LITERAL.sub(r"'\1\2'", part) for place, part in enumerate(parts))


class _Converter(ast.NodeTransformer):
    """Replaces the numbers of comparisons."""

    def __init__(self, text: str, units: Callable[[str], str]) -> None:
        self._text = text
        self._units = units

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        """Convert both sides of a comparison to its unit."""
        unit = unit_of(node, self._units) or ""
        sides = [self._side(side, unit) for side in (node.left, *node.comparators)]
        return ast.Compare(sides[0], node.ops, sides[1:])

    def _side(self, node: ast.expr, unit: str) -> ast.expr:
        """Convert what adds up to a side; factors stay as they are."""
        match node:
            case ast.Constant(value=str(text)):
                return ast.Constant(self._quantity(text, unit))
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return ast.Constant(self._bare(number, unit))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return ast.UnaryOp(ast.USub(), self._side(inner, unit))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                return ast.BinOp(self._side(left, unit), op, self._side(right, unit))
            case ast.BinOp(left=left, op=op, right=right) if any(map(_has_unit, ast.walk(node))):
                # The number with a unit is one of the factors: `2 * 50ms`.
                return ast.BinOp(self._factor(left, unit), op, self._factor(right, unit))
            case ast.Call(func=ast.Name(id=name) as function, args=parts, keywords=[]) if name in FUNCTIONS:
                return ast.Call(function, [self._side(part, unit) for part in parts], [])
            case ast.Call(func=function, args=labels, keywords=keywords):
                return ast.Call(function, labels, [self._selector(each) for each in keywords])
        return node

    def _factor(self, node: ast.expr, unit: str) -> ast.expr:
        return node if isinstance(node, ast.Constant) and not _has_unit(node) else self._side(node, unit)

    def _selector(self, keyword: ast.keyword) -> ast.keyword:
        """Convert the time of a selector such as `after=5s` to seconds."""
        match keyword.value:
            case ast.Constant(value=str(text)) if (found := _core.quantity(text)) and found[0] == "s":
                return ast.keyword(keyword.arg, ast.Constant(found[1]))
        return keyword

    def _quantity(self, text: str, unit: str) -> float:
        kind, factor = SCALES.get(unit, ("", 1.0))
        found = _core.quantity(text)
        if found is None:
            raise ClaimError(f"`{text}` in `{self._text}`: unknown unit; examples: 50ms, 10mbit, 64kb, 30%, 20p")
        if found == ("percent", found[1]) and unit in ("", "index"):
            return found[1] / 100
        if found[0] != kind:
            raise ClaimError(f"`{text}` in `{self._text}`: the other side {_said(unit)}")
        return found[1] / factor

    def _bare(self, number: float, unit: str) -> float:
        kind = SCALES.get(unit, ("", 1.0))[0]
        if number == 0:
            return number
        if kind in PAIRS:
            raise ClaimError(f"`{number:g}` in `{self._text}` has no unit; write it as in {PAIRS[kind]}")
        return 100 * number if kind == "percent" else number


def _has_unit(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _said(unit: str) -> str:
    return f"is in {unit}" if unit else "has no unit"
