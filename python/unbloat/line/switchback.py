"""A comparison by turns in time (switchback): the order of the turns, and an interval that holds whenever one stops.

Flows that share a queue share its delay. A comparison of flows side by side therefore has a wrong size or sign: see
"Unbiased experiments in congested networks" (Spang and others, IMC 2021). Here the whole line takes turns.

A coin chooses each turn's side, until one side leads by `MOST_AHEAD` turns: the other is then due (Soares and Wu,
1983, "big stick"). If the cure changes nothing, the values say nothing about the coin. Somebody bets on each coin at
its odds, with all values in sight. The stake of 1 then becomes 20 or more in one of 20 proofs at most, whenever they
stop: this is Ville's inequality. See "Interactive rank testing by betting" (Duan, Ramdas and Wasserman, CLeaR 2022).
Nothing is assumed about the line: its values may drift, depend on each other and have heavy tails. A change is taken
out of the values of `after`; the interval holds each change with which the stake stays below 20.

The bets come from a model of the line: a level, which may wander, and a constant change. A wrong model costs turns, and
never the level of confidence. A change that varies from turn to turn has no exact interval.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

Side = Literal["before", "after"]
"""The state of the line: the former one, or that with the cure."""
SIDES: tuple[Side, ...] = get_args(Side)
Verdict = Literal["better", "worse", "alike", "unclear"]
Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
MOST_AHEAD = 3
"""Turns by which one side may lead: with fewer, fewer orders are possible, and large changes take two turns more."""


# ---------------------------------------------------------------- The order of the turns


@dataclass
class Order:
    """The sides of the turns, drawn one by one."""

    seed: int
    _random: random.Random = field(init=False)
    _ahead: int = field(init=False, default=0)
    """Turns by which `after` leads."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def draw(self) -> Draw:
        """Choose the side of the next turn."""
        chance = 0.0 if self._ahead >= MOST_AHEAD else 1.0 if self._ahead <= -MOST_AHEAD else 0.5
        is_after = self._random.random() < chance
        self._ahead += 1 if is_after else -1
        return Draw("after" if is_after else "before", chance)


class Draw(NamedTuple):
    """The side of a turn, and how likely `after` was when it was drawn."""

    side: Side
    chance: float


# ---------------------------------------------------------------- The bets


WANDERING = (0.0, 0.5)
"""Variances by which the level wanders each turn, in those of a turn's noise: one model stands still, one moves."""
PRIOR_NOISE = 2.0
"""The noise of a turn as the models first guess it, in smallest changes of interest."""
PRIOR_WEIGHT = 2.0
"""Turns that this guess is worth."""
PRIOR_CHANGE = 25.0
"""Variance of the change as the models first guess it, in that of the noise."""
UNKNOWN = 1e6
"""Variance of the level before the first turn."""


class Stakes:
    """Stakes that began as 1, one for each of many columns of values; each is bet on every coin.

    Each model is a Bayesian regression on the level and the change, with an unknown noise. Its forecasts have Student's
    t distribution: see "Bayesian forecasting and dynamic models" (West and Harrison), 4.5. The stake is the mean of the
    models' stakes.
    """

    def __init__(self, columns: int, smallest: float = 1.0) -> None:
        shape = (len(WANDERING), columns)
        self._wandering = np.array(WANDERING)[:, None]
        self._level, self._change = np.zeros(shape), np.zeros(shape)
        # The covariance of level and change, in units of the noise's variance.
        self._ll, self._lc, self._cc = np.full(shape, UNKNOWN), np.zeros(shape), np.full(shape, PRIOR_CHANGE)
        self._weight = np.full(shape, PRIOR_WEIGHT)
        self._squares = np.full(shape, PRIOR_WEIGHT * (PRIOR_NOISE * smallest) ** 2)
        self._log = np.zeros(shape)
        self._count = 0

    def bet(self, values: Floats, is_after: bool | npt.NDArray[np.bool_], chance: float | Floats) -> Floats:
        """Bet on the side of a turn with its values in sight, then learn the side; return the stakes' logarithms."""
        self._ll = self._ll + self._wandering
        before, after = self._log_density(values, -0.5), self._log_density(values, 0.5)
        with np.errstate(divide="ignore"):
            either = np.logaddexp(np.log(chance) + after, np.log1p(-np.asarray(chance)) + before)
        self._log = self._log + np.where(is_after, after, before) - either
        self._learn(values, np.where(is_after, 0.5, -0.5))
        stakes: Floats = np.logaddexp.reduce(self._log, axis=0) - math.log(len(WANDERING))
        return stakes

    def _log_density(self, values: Floats, x: float) -> Floats:
        """Return how likely a model finds these values if the turn's side is `x`, up to a common factor."""
        variance = self._squares / self._weight * self._spread(x)
        miss = values - self._level - x * self._change
        tail = (self._weight + 1) / 2 * np.log1p(miss**2 / (self._weight * variance))
        density: Floats = -0.5 * np.log(variance) - tail
        return density

    def _spread(self, x: float | Floats) -> Floats:
        """Return the variance of the forecast in units of the noise's."""
        spread: Floats = self._ll + 2 * x * self._lc + x**2 * self._cc + 1
        return spread

    def _learn(self, values: Floats, x: Floats) -> None:
        spread, miss = self._spread(x), values - self._level - x * self._change
        to_level, to_change = (self._ll + x * self._lc) / spread, (self._lc + x * self._cc) / spread
        self._level, self._change = self._level + to_level * miss, self._change + to_change * miss
        self._ll = self._ll - to_level**2 * spread
        self._lc = self._lc - to_level * to_change * spread
        self._cc = self._cc - to_change**2 * spread
        # The first value says where the level is, and nothing about the noise.
        if self._count:
            self._weight, self._squares = self._weight + 1, self._squares + miss**2 / spread
        self._count += 1


# ---------------------------------------------------------------- A quantity, and its change


@dataclass(frozen=True)
class Quantity:
    """What a turn measures, and what about it matters."""

    name: str
    unit: str
    better: Literal["less", "more"]
    smallest: float = 0.1
    """The smallest change of interest: a part of the value, or for differences in the quantity's unit."""
    scale: Literal["ratio", "difference"] = "ratio"
    """Whether the change is a factor, as that of delays and rates is, or a difference of values that may be zero."""

    def position(self, value: float) -> float:
        """Return where a value lies on the scale on which changes add up."""
        return math.log(max(value, LEAST)) if self.scale == "ratio" else value

    def change(self, position: float) -> float:
        """Return a change on that scale as a part of the value, or in the quantity's unit."""
        return math.expm1(min(position, MOST_LOG)) if self.scale == "ratio" else position

    @property
    def smallest_position(self) -> float:
        """The smallest change of interest on that scale."""
        return math.log1p(self.smallest) if self.scale == "ratio" else self.smallest


LEAST = 1e-3
"""In place of values that have no logarithm: a microsecond in milliseconds, a kilobit in megabits."""
MOST_LOG = 700.0
"""A logarithm whose exponential is still a number."""


@dataclass(frozen=True)
class Change:
    """A quantity before and after, and the interval of its change."""

    quantity: Quantity
    turns: dict[Side, int]
    """Turns of each side that have a value."""
    median: dict[Side, float | None]
    """The median of each side's values."""
    estimate: float | None
    """The median of the changes between turns of both sides that are at most `NEAR` apart."""
    low: float
    """The lower end of the interval; infinite while nothing excludes it."""
    high: float
    """The upper end of the interval."""
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, with null for an end of the interval that nothing bounds yet."""
        ends = {"low": self.low, "high": self.high}
        return {
            "quantity": self.quantity.name,
            "unit": self.quantity.unit,
            "better": self.quantity.better,
            "scale": self.quantity.scale,
            "smallest": self.quantity.smallest,
            "turns": self.turns,
            "before": self.median["before"],
            "after": self.median["after"],
            "change": self.estimate,
            **{name: end if math.isfinite(end) else None for name, end in ends.items()},
            "verdict": self.verdict,
        }


NEAR = 3
"""Turns between which the estimate compares: drift moves turns that lie far apart."""
REACH = 500
CANDIDATES: Floats = np.sinh(np.arange(-REACH, REACH + 1) * (math.asinh(2000) / REACH))
"""Changes that are tried, in smallest changes of interest: dense around zero, and up to 2000 on either side."""


class Switchback:
    """The turns so far of one quantity, and what they show."""

    def __init__(self, quantity: Quantity, confidence: float = CONFIDENCE) -> None:
        self.quantity = quantity
        self._limit = -math.log(1 - confidence)
        self._candidates = CANDIDATES * quantity.smallest_position
        self._stakes = Stakes(len(CANDIDATES), quantity.smallest_position)
        self._is_left = np.full(len(CANDIDATES), True)
        """Which candidates no stake has excluded so far."""
        self._ends = (-math.inf, math.inf)
        self._values: list[tuple[int, Side, float]] = []
        self._count = 0

    def add(self, draw: Draw, value: float | None) -> None:
        """Add a turn, in the order of time; one without a value counts as time that passed."""
        self._count += 1
        if value is None or not math.isfinite(value):
            return
        self._values.append((self._count, draw.side, value))
        is_after = draw.side == "after"
        rests = self.quantity.position(value) - self._candidates * is_after
        self._is_left &= self._stakes.bet(rests, is_after, draw.chance) < self._limit
        # A change that varies may leave none: the interval stays as it was.
        if self._is_left.any():
            self._ends = self._ends_left()

    def _ends_left(self) -> tuple[float, float]:
        """Return the excluded candidates next to those that are left; infinite where none is excluded."""
        left = np.flatnonzero(self._is_left)
        low = float(self._candidates[left[0] - 1]) if left[0] else -math.inf
        high = float(self._candidates[left[-1] + 1]) if left[-1] + 1 < len(self._candidates) else math.inf
        return low, high

    @property
    def verdict(self) -> Verdict:
        """The answer of the interval; a clear change that is smaller than any of interest counts as alike."""
        low, high = self._ends
        if -self.quantity.smallest_position <= low and high <= self.quantity.smallest_position:
            return "alike"
        if low < 0 < high or 0 in (low, high):
            return "unclear"
        return "better" if (high < 0) == (self.quantity.better == "less") else "worse"

    @property
    def change(self) -> Change:
        """Sum the turns up."""
        values: dict[Side, list[float]] = {side: [v for _, s, v in self._values if s == side] for side in SIDES}
        low, high = self._ends
        estimate = self._estimate()
        to_change = self.quantity.change
        return Change(
            self.quantity,
            {side: len(values[side]) for side in SIDES},
            {side: median(values[side]) if values[side] else None for side in SIDES},
            None if estimate is None else to_change(min(max(estimate, low), high)),
            to_change(low),
            high if math.isinf(high) else to_change(high),
            self.verdict,
        )

    def _estimate(self) -> float | None:
        changes = [
            self.quantity.position(after) - self.quantity.position(before)
            for i, one, after in self._values
            for j, other, before in self._values
            if one == "after" and other == "before" and abs(i - j) <= NEAR
        ]
        return median(changes) if changes else None


def sum_up(quantity: Quantity, draws: Sequence[Draw], values: Sequence[float | None]) -> Change:
    """Sum up turns that are over."""
    switchback = Switchback(quantity)
    for draw, value in zip(draws, values, strict=True):
        switchback.add(draw, value)
    return switchback.change
