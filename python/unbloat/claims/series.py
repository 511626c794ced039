"""Measures of time series: how congestion windows grow and fall, how soon rates give way, come back and are shared.

A window and a rate are arrays with the rows `WINDOW` and `RATE`. A claim about a rate asks when its
*mean over some seconds* is low or high enough, counted from the start of those seconds. A sender that a window limits
has no rate within a round trip, and during loss recovery nothing reaches the application in order.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Track = npt.NDArray[np.float64]
"""Columns of a flow's series as rows, the time (s) first."""
WINDOW = ("time_s", "cwnd_packets", "retransmitted_packets")
RATE = ("time_s", "goodput_mbps", "in_flight_packets")
"""The goodput is over the step that ends at the time."""


def tracks(series: pd.DataFrame, columns: Sequence[str]) -> dict[int, Track]:
    """Return these columns of a run's flows, by their numbers from 0."""
    return {int(str(flow)): rows[[*columns]].to_numpy(dtype=float).T for flow, rows in series.groupby("flow")}


# ---------------------------------------------------------------- Windows


def falls(window: Track, low: float, high: float) -> npt.NDArray[np.intp]:
    """Find the samples after which it falls to between `low` and `high` of itself."""
    ratio = window[1, 1:] / np.maximum(window[1, :-1], 1)
    return np.flatnonzero((ratio >= low) & (ratio <= high))


def regrowths(window: Track, low: float, high: float) -> int:
    """Count the falls after which the window rises again before the next of them."""
    spans = itertools.pairwise([*falls(window, low, high), window.shape[1] - 1])
    return sum(bool(window[1, start + 1 : end + 1].max(initial=0) > window[1, start + 1]) for start, end in spans)


def rests(window: Track, seconds: float) -> list[tuple[int, int]]:
    """Find the stretches, first and last sample, over which the window stands still for at least `seconds`."""
    edges = [0, *(np.flatnonzero(np.diff(window[1])) + 1), window.shape[1]]
    stretches = ((start, end - 1) for start, end in itertools.pairwise(edges))
    return [(start, end) for start, end in stretches if window[0, end] - window[0, start] >= seconds]


QUIET_S = 0.5
"""A repair is over when nothing has been sent again for so long."""


def after_slow_start(window: Track) -> Track:
    """Leave out what comes before the repair of the first losses is over; all of it if nothing is lost."""
    resent = np.flatnonzero(np.diff(window[2]) > 0) + 1
    if not len(resent):
        return window
    ends = np.append(np.diff(window[0, resent]) > QUIET_S, True)  # The last one ends a repair in any case.
    return window[:, resent[np.flatnonzero(ends)[0]] :]


GIVES_WAY = 0.95
"""A window that falls below this share of itself from one sample to the next has given way."""


def turning(windows: Sequence[Track]) -> float:
    """Return when the largest window first shrinks, once every flow is there: from then on windows may converge.

    Infinite if it never does.
    """
    times = functools.reduce(np.intersect1d, [window[0] for window in windows])
    sizes = np.array([window[1, np.isin(window[0], times)] for window in windows])
    largest, sample = np.argmax(sizes[:, :-1], axis=0), np.arange(len(times) - 1)
    gave_way = np.flatnonzero(sizes[largest, sample + 1] < GIVES_WAY * sizes[largest, sample])
    return float(times[gave_way[0] + 1]) if len(gave_way) else math.inf


def mean_window(windows: Sequence[Track]) -> tuple[Track, Track]:
    """Return every time at which a flow is there, and the mean window of the flows there."""
    times, places = np.unique(np.concatenate([window[0] for window in windows]), return_inverse=True)
    sums = np.bincount(places, weights=np.concatenate([window[1] for window in windows]))
    return times, sums / np.bincount(places)


# ---------------------------------------------------------------- Rates

Span = tuple[float, float]
"""Beginning and end of a time span, s."""


def sum_of(rates: Sequence[Track]) -> Track:
    """Add flows up; all are sampled at the same times, each from its start on."""
    times = np.unique(np.concatenate([rate[0] for rate in rates]))
    total = np.zeros((2, len(times)))
    for rate in rates:
        total[:, np.searchsorted(times, rate[0])] += rate[1:]
    return np.vstack([times, total])


def active(rate: Track) -> Span:
    """Return the time span in which something is in flight; for an idle flow it is empty and at the end."""
    busy = np.flatnonzero(rate[2] > 0)
    return (float(rate[0, busy[0]]), float(rate[0, busy[-1]])) if len(busy) else (float(rate[0, -1]),) * 2


def mean_rate(rate: Track, span: Span) -> float:
    """Average over a span, in Mbit/s; NaN without a sample."""
    inside = rate[1, (rate[0] > span[0]) & (rate[0] <= span[1])]
    return float(inside.mean()) if len(inside) else math.nan


def wait(rate: Track, span: Span, seconds: float, is_there: Callable[[Track], npt.NDArray[np.bool_]]) -> float:
    """Return the time from a span's start until the mean over the next `seconds` passes the test; infinite if never."""
    step = rate[0, 1] - rate[0, 0]
    width = max(1, round(seconds / step))
    inside = rate[1, (rate[0] > span[0] + step / 2) & (rate[0] <= span[1] + step / 2)]
    if len(inside) < width:
        return math.inf
    sums = np.concatenate([[0.0], np.cumsum(inside)])
    there = np.flatnonzero(is_there((sums[width:] - sums[:-width]) / width))
    return float(there[0] * step) if len(there) else math.inf


def fill_time(rate: Track, above: float, seconds: float) -> float:
    """Return how long after its start the flow reaches `above` Mbit/s."""
    return wait(rate, (active(rate)[0], rate[0, -1]), seconds, lambda means: means >= above)


def yield_time(rate: Track, others: Track, below: float, seconds: float) -> float:
    """Return how long after others started the flow is below `below` Mbit/s; NaN if it was below before they came."""
    start, end = active(others)
    if not mean_rate(rate, (start - seconds, start)) >= below:
        return math.nan
    return wait(rate, (start, end), seconds, lambda means: means < below)


def refill_time(rate: Track, others: Track, above: float, seconds: float) -> float:
    """Return how long after the others' last segment was acknowledged the flow is at `above` Mbit/s or more."""
    return wait(rate, (active(others)[1], rate[0, -1]), seconds, lambda means: means >= above)
