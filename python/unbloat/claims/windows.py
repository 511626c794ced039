"""Measures of congestion windows over time. A window is an array: rows of time (s), segments, retransmitted packets."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Window = npt.NDArray[np.float64]
COLUMNS = ["time_s", "cwnd_packets", "retransmitted_packets"]
"""The columns of a run's series that are its rows."""


def of(series: pd.DataFrame) -> dict[int, Window]:
    """Return the windows of a run's flows, by their numbers from 0."""
    return {int(str(flow)): rows[COLUMNS].to_numpy(dtype=float).T for flow, rows in series.groupby("flow")}


def falls(window: Window, low: float, high: float) -> npt.NDArray[np.intp]:
    """Find the samples after which it falls to between `low` and `high` of itself."""
    ratio = window[1, 1:] / np.maximum(window[1, :-1], 1)
    return np.flatnonzero((ratio >= low) & (ratio <= high))


def regrowths(window: Window, low: float, high: float) -> int:
    """Count the falls after which the window rises again before the next of them."""
    spans = itertools.pairwise([*falls(window, low, high), window.shape[1] - 1])
    return sum(bool(window[1, start + 1 : end + 1].max(initial=0) > window[1, start + 1]) for start, end in spans)


def rests(window: Window, seconds: float) -> list[tuple[int, int]]:
    """Find the stretches, first and last sample, over which the window stands still for at least `seconds`."""
    edges = [0, *(np.flatnonzero(np.diff(window[1])) + 1), window.shape[1]]
    stretches = ((start, end - 1) for start, end in itertools.pairwise(edges))
    return [(start, end) for start, end in stretches if window[0, end] - window[0, start] >= seconds]


QUIET_S = 0.5
"""A repair is over when nothing has been sent again for so long."""


def after_slow_start(window: Window) -> Window:
    """Leave out what comes before the repair of the first losses is over; all of it if nothing is lost."""
    resent = np.flatnonzero(np.diff(window[2]) > 0) + 1
    if not len(resent):
        return window
    ends = np.append(np.diff(window[0, resent]) > QUIET_S, True)  # The last one ends a repair in any case.
    return window[:, resent[np.flatnonzero(ends)[0]] :]


GIVES_WAY = 0.95
"""A window that falls below this share of itself from one sample to the next has given way."""


def turning(windows: Sequence[Window]) -> float:
    """Return when the largest window first shrinks, once every flow is there: from then on windows may converge.

    Infinite if it never does.
    """
    times = functools.reduce(np.intersect1d, [window[0] for window in windows])
    sizes = np.array([window[1, np.isin(window[0], times)] for window in windows])
    largest, sample = np.argmax(sizes[:, :-1], axis=0), np.arange(len(times) - 1)
    gave_way = np.flatnonzero(sizes[largest, sample + 1] < GIVES_WAY * sizes[largest, sample])
    return float(times[gave_way[0] + 1]) if len(gave_way) else float("inf")


def mean(windows: Sequence[Window]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return every time at which a flow is there, and the mean window of the flows there."""
    times, places = np.unique(np.concatenate([window[0] for window in windows]), return_inverse=True)
    sums = np.bincount(places, weights=np.concatenate([window[1] for window in windows]))
    return times, sums / np.bincount(places)


def jain(shares: npt.NDArray[np.float64]) -> float:
    """Compute Jain's fairness index; of all zeros it is 1."""
    squares = float(np.sum(shares**2))
    return float(np.sum(shares)) ** 2 / (len(shares) * squares) if squares else 1.0
