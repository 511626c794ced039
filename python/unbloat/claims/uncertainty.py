"""Confidence intervals of values that are calculated from means over the seeds.

The value may be any function of the means, such as a ratio or the largest over a grid, and one seed is the same draw in
every cell. So its interval is that of Tukey's jackknife: what the value is with each of the seeds left out makes a
sample, of which Student's t gives the interval. For a mean, or the difference of two, that is the usual (paired) one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from unbloat.results.statistics import CONFIDENCE, estimate

Seed = int | None
"""A seed to leave out; none if None."""


SURE = 0.999
"""Confidence of the intervals by which repeats end early.

To look after every stage and to stop at the first interval of 95 % that leaves the bound out would stop on luck: each
look is one more chance for that. Haybittle and Peto's rule for trials that are looked at while they run asks for
99.9 % at each look before the last; the last may then keep its 95 %.
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
    """Place a value; a value that is no number is near nothing, and counts as above, like a time that never comes."""
    if value < least:
        return "below"
    return "within" if value <= most else "above"


def jackknife(value: Callable[[Seed], float], seeds: Sequence[int], confidence: float = CONFIDENCE) -> Uncertain:
    """Calculate a value with its interval; `value` is called with the seed to leave out."""
    whole = value(None)
    if len(seeds) < 2:
        return Uncertain(whole)
    parts = tuple(value(seed) for seed in seeds)
    if not all(map(math.isfinite, (whole, *parts))):
        return Uncertain(whole, None, parts)
    count = len(seeds)
    sample = (count * whole - (count - 1) * part for part in parts)
    return Uncertain(whole, estimate(sample, confidence).half_width, parts)


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
