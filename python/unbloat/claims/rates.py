"""Measures of goodput over time: how soon flows give way, come back, and get a share.

A rate is an array: rows of time (s), goodput over the step that ends there (Mb/s), segments in flight. What is asked
for is when the *mean over some seconds* is low or high enough, counted from the start of those seconds: a sender that a
window limits has no rate within a round trip, and while losses are repaired nothing reaches the application in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Rate = npt.NDArray[np.float64]
COLUMNS = ["time_s", "goodput_mbps", "in_flight_packets"]
"""The columns of a run's series that are its rows."""


def of(series: pd.DataFrame) -> dict[int, Rate]:
    """Return the rates of a run's flows, by their numbers from 0."""
    return {int(str(flow)): rows[COLUMNS].to_numpy(dtype=float).T for flow, rows in series.groupby("flow")}


Span = tuple[float, float]
"""From when to when, s."""


def sum_of(rates: Sequence[Rate]) -> Rate:
    """Add flows up; all are sampled at the same times, each from its start on."""
    times = np.unique(np.concatenate([rate[0] for rate in rates]))
    total = np.zeros((2, len(times)))
    for rate in rates:
        total[:, np.searchsorted(times, rate[0])] += rate[1:]
    return np.vstack([times, total])


def active(rate: Rate) -> Span:
    """Return the time span in which something is in flight; for an idle flow it is empty and at the end."""
    busy = np.flatnonzero(rate[2] > 0)
    return (float(rate[0, busy[0]]), float(rate[0, busy[-1]])) if len(busy) else (float(rate[0, -1]),) * 2


def mean(rate: Rate, span: Span) -> float:
    """Average over a span, Mb/s; no number where it holds no sample."""
    inside = rate[1, (rate[0] > span[0]) & (rate[0] <= span[1])]
    return float(inside.mean()) if len(inside) else math.nan


Test = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.bool_]]


def wait(rate: Rate, span: Span, seconds: float, is_there: Test) -> float:
    """Return the time from a span's start until the mean over the next `seconds` passes the test; infinite if never."""
    step = rate[0, 1] - rate[0, 0]
    width = max(1, round(seconds / step))
    inside = rate[1, (rate[0] > span[0] + step / 2) & (rate[0] <= span[1] + step / 2)]
    if len(inside) < width:
        return math.inf
    sums = np.concatenate([[0.0], np.cumsum(inside)])
    there = np.flatnonzero(is_there((sums[width:] - sums[:-width]) / width))
    return float(there[0] * step) if len(there) else math.inf


def fill_time(rate: Rate, above: float, seconds: float) -> float:
    """Return how long after its start the flow reaches `above` Mb/s."""
    return wait(rate, (active(rate)[0], rate[0, -1]), seconds, lambda means: means >= above)


def yield_time(rate: Rate, others: Rate, below: float, seconds: float) -> float:
    """Return how long after others started the flow is below `below` Mb/s; NaN if it was below before they came."""
    start, end = active(others)
    if not mean(rate, (start - seconds, start)) >= below:
        return math.nan
    return wait(rate, (start, end), seconds, lambda means: means < below)


def refill_time(rate: Rate, others: Rate, above: float, seconds: float) -> float:
    """Return how long after the others' last segment was acknowledged the flow is at `above` Mb/s or more."""
    return wait(rate, (active(others)[1], rate[0, -1]), seconds, lambda means: means >= above)
