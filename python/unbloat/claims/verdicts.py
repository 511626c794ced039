"""The rules of the verdicts: how near a measured number must come to a printed one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

from unbloat.claims.uncertainty import Answer, Uncertain, every

Verdict = Literal["reproduced", "direction only", "not reproduced", "undecided", "unsound"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction only", "not reproduced", "undecided")
"""Verdicts that scores count; `unsound` is left out."""

NUMBER = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
"""A number as papers print them."""


class Bounds(Struct, frozen=True, forbid_unknown_fields=True):
    """How near a measured number has to be to count as reproduced; a paper's file sets and explains the bounds."""

    relative: Annotated[float, Meta(ge=0, le=1)]
    """Share of the printed number."""
    index: Annotated[float, Meta(ge=0, le=1)]
    """Distance between fairness indices."""


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it."""

    value: float
    half_unit: float
    """Half a unit of its last digit: what rounding hides."""

    @classmethod
    def parse(cls, text: str) -> Printed:
        """Read a decimal number; raises `ValueError` for anything else."""
        if not is_number(text):
            raise ValueError(f"{text!r} is not a decimal number")
        exponent = Decimal(text).as_tuple().exponent
        assert isinstance(exponent, int)
        return cls(float(text), 0.5 * 10.0**exponent)

    @classmethod
    def row(cls, texts: Sequence[str]) -> list[Printed | None]:
        """Read a table's row, in which a bare 0 has the resolution of the finest number; illegible numbers are none."""
        numbers = [cls.parse(text) if is_number(text) else None for text in texts]
        finest = min((printed.half_unit for printed in numbers if printed), default=0.5)
        return [cls(0.0, finest) if printed and printed.value == 0 else printed for printed in numbers]


def is_number(text: str) -> bool:
    """Return whether a number is legible, unlike one such as `1??`, of which the copy at hand preserves a part."""
    return NUMBER.fullmatch(text) is not None


def reach(printed: Printed, unit: str, bounds: Bounds) -> float:
    """Rules 1 and 4: the relative bound or the rounding, whichever is wider; an index has its own bound."""
    return bounds.index if unit == "index" else max(bounds.relative * abs(printed.value), printed.half_unit)


def near(measured: float, printed: Printed, unit: str, bounds: Bounds) -> bool:
    """Return whether a number counts as the printed one."""
    return abs(measured - printed.value) <= reach(printed, unit, bounds)


def is_near(measured: Uncertain, printed: Printed, unit: str, bounds: Bounds) -> Answer:
    """Return whether what was measured counts as the printed number; open where its interval crosses a bound."""
    far = reach(printed, unit, bounds)
    place = measured.side_of(printed.value - far, printed.value + far)
    return None if place is None else place == "within"


def judge_number(
    measured: Uncertain,
    printed: Printed,
    unit: str,
    bounds: Bounds,
    others: Sequence[tuple[Uncertain | None, Printed]],
) -> Verdict:
    """Rules 1 and 2: near the printed number, or at least on its side of the row's others.

    With each of the others goes how far the measured number lies above the other's; None if that is not known.
    """
    sides: list[Answer] = []
    for above, other in others:
        if not near(other.value, printed, unit, bounds) and not near(printed.value, other, unit, bounds):
            sides.append(_is_on_side(above, printed.value > other.value))
    return judge_statement(is_near(measured, printed, unit, bounds), every(sides) if sides else False)


def _is_on_side(above: Uncertain | None, is_above: bool) -> Answer:
    """Return whether a difference has the published sign."""
    if above is None or (side := above.side_of(0.0, 0.0)) is None:
        return None
    return side == ("above" if is_above else "below") and not math.isnan(above.value)


def judge_reduction(ratio: Uncertain, printed: Printed, bounds: Bounds) -> Verdict:
    """Rule 3: a reduction by x % leaves a remainder, which must be near; the direction is that of a reduction."""
    remains = Printed(1 - printed.value / 100, printed.half_unit / 100)
    side = ratio.side_of(1.0, 1.0)
    return judge_statement(is_near(ratio, remains, "ratio", bounds), None if side is None else side == "below")


def judge_statement(holds: Answer, direction: Answer) -> Verdict:
    """Rule 5: a statement holds as it is written, or in its weaker form (`direction`, False if it has none).

    It is undecided where that hangs on what intervals leave open.
    """
    if holds:
        return "reproduced"
    if holds is None or direction is None:
        return "undecided"
    return "direction only" if direction else "not reproduced"
