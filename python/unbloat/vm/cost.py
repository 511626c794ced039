"""What a run in a guest takes beforehand: a guess, by the rate of its link."""

from __future__ import annotations

from itertools import pairwise

from unbloat._core import Cell

MEASURED = ((0.0, 0.0), (2e6, 0.16), (20e6, 1.34), (100e6, 3.86))
"""Rates in bit/s, and processor seconds for a second of the guest: `benches/guest-speed` on the development machine.
Beyond the last the guest's processor is always busy, and that does not cost more."""


def processor_s(cell: Cell) -> float:
    """Guess how long a processor takes for a cell; where its link follows a recording, as for a slow one."""
    return cell.duration_s * per_guest_second(cell.slowest_rate_bps or MEASURED[1][0])


def per_guest_second(rate: float) -> float:
    """Guess the processor time of a guest's second at a rate in bit/s."""
    for (slower, less), (faster, more) in pairwise(MEASURED):
        if rate <= faster:
            return less + (more - less) * (rate - slower) / (faster - slower)
    return MEASURED[-1][1]
