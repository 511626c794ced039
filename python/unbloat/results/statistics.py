"""Confidence intervals (95 %, Student's t) of a mean over repeats and of a difference of two means; tolerances.

A single run does not say how far another one would lie from it: its interval is unknown, not zero. Repeats that draw
nothing agree to the last digit, and theirs is zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import mean, stdev

from unbloat._core import InputError

CONFIDENCE = 0.95
ROUNDING = 1e-12
"""Values that differ by less of themselves are the same: sums of the same flows in another order are that far apart."""


@dataclass(frozen=True)
class Estimate:
    """The mean of repeats."""

    n: int
    """Repeats that have a value."""
    mean: float | None
    """Mean of the values; None without any."""
    deviation: float | None
    """Standard deviation of one run (n - 1 in the denominator); none with less than two."""
    half_width: float | None
    """The interval reaches so far to either side of the mean; none with less than two."""
    least: float | None = field(default=None, compare=False)
    greatest: float | None = field(default=None, compare=False)

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width


def estimate(values: Iterable[float | None], confidence: float = CONFIDENCE) -> Estimate:
    """Sum repeats up; those without a value (None, NaN) are left out. Next to an infinite one there is no interval."""
    known = _known(values)
    if not known:
        return Estimate(0, None, None, None)
    ends = min(known), max(known)
    if len(known) < 2 or math.inf in map(abs, known):
        return Estimate(len(known), mean(known), None, None, *ends)
    deviation = stdev(known)
    half_width = _quantile(len(known) - 1, confidence) * deviation / math.sqrt(len(known))
    return Estimate(len(known), mean(known), deviation, half_width, *ends)


@dataclass(frozen=True)
class Difference:
    """The difference of two means, B minus A."""

    mean: float
    half_width: float | None
    """Half the width of the interval; None where a side has less than two repeats."""
    is_paired: bool
    """Repeats of the same seed were compared one by one."""

    @property
    def is_clear(self) -> bool | None:
        """Return whether the interval leaves zero out; none where there is no interval."""
        return None if self.half_width is None else abs(self.mean) > self.half_width


def difference(a: Mapping[int, float | None], b: Mapping[int, float | None]) -> Difference | None:
    """Take A from B; each has a value by the seed of its run. None where a side has no value, or an infinite one.

    Runs with the same seed on both sides are pairs: they met the same luck (the same losses), which drops out of their
    difference. Otherwise this is Welch's interval, which lets the two scatter differently.
    """
    a, b = ({seed: value for seed, value in side.items() if _known([value])} for side in (a, b))
    if not a or not b or math.inf in map(abs, _known([*a.values(), *b.values()])):
        return None
    if a.keys() == b.keys():
        pairs = estimate(_minus(b[seed], a[seed]) for seed in a)
        assert pairs.mean is not None
        return Difference(pairs.mean, pairs.half_width, is_paired=True)
    return _welch(estimate(a.values()), estimate(b.values()))


def _welch(a: Estimate, b: Estimate) -> Difference:
    """Welch's interval, with the degrees of freedom of Welch and Satterthwaite."""
    assert a.mean is not None and b.mean is not None
    between = _minus(b.mean, a.mean)
    if a.deviation is None or b.deviation is None:
        return Difference(between, None, is_paired=False)
    errors = [side.deviation**2 / side.n for side in (a, b) if side.deviation]
    if not errors:
        return Difference(between, 0.0, is_paired=False)
    freedom = sum(errors) ** 2 / sum((side.deviation or 0.0) ** 4 / side.n**2 / (side.n - 1) for side in (a, b))
    return Difference(between, _quantile(freedom) * math.sqrt(sum(errors)), is_paired=False)


def _quantile(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return Student's quantile: how many standard errors the interval reaches to either side."""
    # It loads in a tenth of the time of scipy.stats, which is still long: only repeats need it.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + confidence) / 2))


def _known(values: Iterable[float | None]) -> list[float]:
    return [float(value) for value in values if value is not None and not math.isnan(value)]


def _minus(b: float | None, a: float | None) -> float:
    assert a is not None and b is not None
    return 0.0 if math.isclose(a, b, rel_tol=ROUNDING) else b - a


Tolerance = float | str
"""A tolerance: a share of A such as "5%" or 0.05, or a factor such as "1.5x"."""


@dataclass(frozen=True)
class Near:
    """A tolerance: the largest of its bounds counts."""

    share: float = 0.0
    """Largest difference, as a share of A."""
    packets: int = 0
    """Largest difference, in transmission times of packets."""
    factor: float | None = None
    """Largest ratio of the greater value to the lesser; replaces the other bounds."""
    units: float = 0.0
    """Largest difference, in the metric's unit."""

    def __call__(self, a: float, b: float, packet_ms: float) -> bool:
        """Return whether B is near A; `packet_ms` is the transmission time of a packet at the bottleneck."""
        if self.factor is not None:
            return max(a, b) <= self.factor * min(a, b)
        return abs(b - a) <= max(self.share * abs(a), self.packets * packet_ms, self.units)

    def are_alike(self, a: float, b: float, packet_ms: float) -> bool:
        """Return whether the values are near in either order."""
        return self(a, b, packet_ms) or self(b, a, packet_ms)

    def __str__(self) -> str:
        if self.factor is not None:
            return f"within a factor of {self.factor:g}"
        packets = {0: "", 1: " or one packet's transmission time"}.get(
            self.packets, f" or {self.packets} packets' transmission times"
        )
        return f"within {100 * self.share:g} %{packets}{f' or {self.units:g}' if self.units else ''}"

    @classmethod
    def parse(cls, metric: str, tolerance: Tolerance, default: Near | None) -> Near:
        """Read a tolerance; one packet's time stays allowed where it is by default. Raises `InputError`."""
        text = f"{100 * tolerance:g}%" if isinstance(tolerance, int | float) else tolerance.strip()
        try:
            value, unit = float(text[:-1]), text[-1:]
        except ValueError:
            value, unit = math.nan, ""
        if unit == "%" and 0 <= value < math.inf:
            return cls(value / 100, default.packets if default else 0)
        if unit == "x" and 1 <= value < math.inf:
            return cls(factor=value)
        raise InputError(f'tolerance: {metric}={tolerance}: must be a share such as "5%", or a factor such as "1.5x"')


NEAR: Mapping[str, Near] = {
    **dict.fromkeys(("goodput", "throughput", "bitrate", "utilisation"), Near(0.03)),
    **dict.fromkeys(("queue_delay", "rtt"), Near(0.10, packets=1)),
    **dict.fromkeys(("losses", "retransmissions"), Near(factor=1.5)),
    # What people feel: a tenth of a second of a page, or three points of a call's 93, is nothing to most of them.
    **dict.fromkeys(("page_load", "startup"), Near(0.10, units=0.1)),
    "completion": Near(0.10),
    "response": Near(0.10, units=10.0),
    "rating": Near(units=3.0),
    "stalled": Near(units=1.0),
}
"""Default tolerances of comparisons and reports, by the key of the metric."""
