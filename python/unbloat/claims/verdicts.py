"""Verdicts: how near a measured number must come to a printed one, its confidence interval included.

A value may be any function of means over the seeds, such as a ratio or the largest over a grid. One seed is the same
draw in every grid point. So its interval is that of Tukey's jackknife. The values with each seed left out are a sample,
for which Student's t gives the interval. For a mean, or the difference of two, that is the usual (paired) one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from unbloat.results.statistics import CONFIDENCE, estimate
from unbloat.system.legible import FIVE, measured_within

# ---------------------------------------------------------------- Values and their intervals

Values = npt.NDArray[np.float64]
"""A value over all seeds, then the value with each seed left out in turn; a value that no seed changes is alone."""

SURE = 0.999
"""Confidence of the intervals by which repeats end early.

Stopping at the first interval of 95 % that leaves the bound out would stop on luck, for each look is one more chance.
Haybittle and Peto's rule for trials with looks in between asks for 99.9 % at each look before the last, which may then
keep its 95 %.
"""


@dataclass(frozen=True)
class Uncertain:
    """A value and its confidence interval, of 95 % unless another was asked for."""

    value: float
    half_width: float | None = None
    """The interval reaches so far to either side; None with a single seed, and where the value is not finite."""
    left_out: tuple[float, ...] = ()
    """The value with each seed left out in turn (jackknife)."""

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + (self.half_width or 0.0)

    def side_of(self, least: float, most: float) -> Literal["below", "within", "above"] | None:
        """Return where it lies in relation to a range; None where its interval crosses an end of that.

        Without an interval, where a time never comes with some of the seeds, the place must be the same whichever seed
        is left out.
        """
        values = [self.value, *self.left_out] if self.half_width is None else [self.low, self.high]
        places = {_place(value, least, most) for value in values}
        return places.pop() if len(places) == 1 else None


def _place(value: float, least: float, most: float) -> Literal["below", "within", "above"]:
    """Place a value. NaN counts as above, like a time that never comes."""
    if value < least:
        return "below"
    return "within" if value <= most else "above"


def jackknife(values: Values, confidence: float = CONFIDENCE) -> Uncertain:
    """Give a value its interval."""
    whole, *parts = values.tolist()
    if len(parts) < 2:
        return Uncertain(whole)
    if not all(map(math.isfinite, (whole, *parts))):
        return Uncertain(whole, None, tuple(parts))
    count = len(parts)
    sample = (count * whole - (count - 1) * part for part in parts)
    return Uncertain(whole, estimate(sample, confidence).half_width, tuple(parts))


def written(answer: Uncertain, digits: int = FIVE) -> str:
    """Write a measured value with `digits` digits, and its interval where these digits show it."""
    return measured_within(answer.value, answer.half_width, digits)


def differ_little(one: float, other: float, difference: float) -> bool:
    """Return whether two finite values differ by less than a share of the larger; equal ones do not differ at all."""
    if one == other or not (math.isfinite(one) and math.isfinite(other)):
        return False
    return abs(one - other) < difference * max(abs(one), abs(other))


def alike(one: Uncertain, other: Uncertain, digits: int = FIVE, others_digits: int = FIVE) -> bool:
    """Return whether two values that are not equal are printed the same, apart from their intervals."""
    if one.value == other.value or not (math.isfinite(one.value) and math.isfinite(other.value)):
        return False
    printed, others = written(one, digits), written(other, others_digits)
    return printed.partition(" ")[0] == others.partition(" ")[0]


# ---------------------------------------------------------------- Answers of which some are open

Answer = bool | None
"""Yes, no, or open."""


def every(answers: Sequence[Answer]) -> Answer:
    """Return whether all are yes; one no decides, an open one leaves it open."""
    return False if False in answers else None if None in answers else True


def some(answers: Sequence[Answer]) -> Answer:
    """Return whether one is yes."""
    return opposite(every([opposite(answer) for answer in answers]))


def opposite(answer: Answer) -> Answer:
    """Negate an answer; open stays open."""
    return None if answer is None else not answer


# ---------------------------------------------------------------- Printed numbers and the rules

Verdict = Literal["reproduced", "direction only", "not reproduced", "undecided", "unsound"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction only", "not reproduced", "undecided")
"""Verdicts that scores count; `unsound` is left out."""

NUMBER = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
"""A number as papers print them."""


class Bounds(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds within which a measured number counts as reproduced; a paper's file sets and explains them."""

    relative: Annotated[float, Meta(ge=0, le=1)]
    """Share of the printed number."""
    index: Annotated[float, Meta(ge=0, le=1)]
    """Distance between fairness indices."""
    difference: Annotated[float, Meta(ge=0, lt=1)] = 0.01
    """Smallest difference of interest, as a share of the larger value: below it, two values are alike."""


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
        """Read a table's row, in which a bare 0 has the resolution of the finest number; illegible numbers are None."""
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
