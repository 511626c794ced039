"""The course of a rate that varies, as groups of packets of a slow line show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat.line.arrays import Numbers

LEAST_GROUPS = 5
"""Fewer groups of packets do not show whether the rate varies."""
LEAST_RATIO = 1.06
"""How much the rates of groups differ at least if the rate varies; those of constant lines differ by up to 4 %."""
FAR_S = 3600.0
"""Longer than any phase."""
LEAST_CHANGE = 0.01
"""Smaller changes are not noted."""


@dataclass(frozen=True)
class Course:
    """The rate of a direction at some times of a phase."""

    times_s: Numbers
    """Times since the load began, in order."""
    rates_bps: Numbers

    @property
    def is_known(self) -> bool:
        """Whether there is any time at which the rate is known."""
        return len(self.rates_bps) > 0

    @property
    def is_long(self) -> bool:
        """Whether there are enough times to tell whether the rate varies."""
        return len(self.rates_bps) >= LEAST_GROUPS

    @property
    def varies(self) -> bool:
        """Whether the rate varies: the tenth of the highest rates and the tenth of the lowest do not count."""
        import numpy as np

        if not self.is_long:
            return False
        low, high = np.quantile(self.rates_bps, [0.1, 0.9])
        return float(high / low) > LEAST_RATIO

    def least_of(self, since_s: Numbers, ends_s: Numbers) -> Numbers:
        """Return the bits that spans of time carried at least.

        Between two times, the rate may be the lower one. Before the first and after the last, it may be the lowest.
        """
        import numpy as np

        edges = np.concatenate([[-FAR_S], self.times_s, [FAR_S]])
        lowest = float(np.min(self.rates_bps))
        lower = np.concatenate([[lowest], np.minimum(self.rates_bps[:-1], self.rates_bps[1:]), [lowest]])
        carried = np.concatenate([[0.0], np.cumsum(lower * np.diff(edges))])
        found: Numbers = np.interp(ends_s, edges, carried) - np.interp(since_s, edges, carried)
        return found

    def changes(self, start_s: float) -> list[tuple[float, float]]:
        """Return when the rate changes, in seconds since the measurement began, and to how many bit/s.

        `start_s` is the beginning of the phase.
        """
        import numpy as np

        between = (self.times_s[1:] + self.times_s[:-1]) / 2
        at = start_s + np.concatenate([[0.0], between])
        found = [(float(at[0]), float(self.rates_bps[0]))]
        for time, rate in zip(at[1:], self.rates_bps[1:], strict=True):
            if abs(rate / found[-1][1] - 1) > LEAST_CHANGE:
                found.append((float(time), float(rate)))
        return found


def mean_bps(courses: Sequence[Course]) -> float:
    """Return the mean rate of courses."""
    import numpy as np

    return float(np.mean(np.concatenate([each.rates_bps for each in courses])))
