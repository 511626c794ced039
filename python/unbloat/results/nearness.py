"""Tolerances: how far two values may lie apart and still count as alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from unbloat._core import InputError

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
