"""The rules of the verdicts: how near a measured number must come to a printed one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

Verdict = Literal["reproduced", "direction only", "not reproduced"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction only", "not reproduced")

NUMBER = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
"""A number as papers print them."""


class Bounds(Struct, frozen=True, forbid_unknown_fields=True):
    """How near counts as reproduced; a paper's file sets and explains them."""

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
    """Tell a legible number from one such as `1??`, of which the copy at hand preserves a part."""
    return NUMBER.fullmatch(text) is not None


def near(measured: float, printed: Printed, unit: str, bounds: Bounds) -> bool:
    """Rules 1 and 4: within the relative bound or the rounding, whichever is wider; an index within its own bound."""
    if unit == "index":
        return abs(measured - printed.value) <= bounds.index
    return abs(measured - printed.value) <= max(bounds.relative * abs(printed.value), printed.half_unit)


def judge_number(
    measured: float, printed: Printed, unit: str, bounds: Bounds, others: Sequence[tuple[float, Printed]]
) -> Verdict:
    """Rules 1 and 2: near the printed number, or at least on its side of the row's others (measured, printed)."""
    if near(measured, printed, unit, bounds):
        return "reproduced"
    sides = []
    for other_measured, other in others:
        if not near(other.value, printed, unit, bounds) and not near(printed.value, other, unit, bounds):
            sides.append((measured - other_measured) * (printed.value - other.value) > 0)
    return "direction only" if sides and all(sides) else "not reproduced"


def judge_reduction(ratio: float, printed: Printed, bounds: Bounds) -> Verdict:
    """Rule 3: a reduction by x % states what remains, which must be near; the direction is that something was saved."""
    remains = Printed(1 - printed.value / 100, printed.half_unit / 100)
    if near(ratio, remains, "ratio", bounds):
        return "reproduced"
    return "direction only" if ratio < 1 else "not reproduced"


def judge_statement(holds: bool, direction: bool | None) -> Verdict:
    """Rule 5: a statement holds as it is written, or in its weaker form if it has one."""
    if holds:
        return "reproduced"
    return "direction only" if direction else "not reproduced"
