"""Distributions: of the round-trip times and queueing delays within runs, and of metrics over flows and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from unbloat._core import InputError
from unbloat.report.figures.grid import Looks, Sample, Shown, View, quantity, spans_decades, values_of
from unbloat.report.figures.layout import name_above, row_label
from unbloat.report.figures.lines import Line
from unbloat.report.figures.series import flow_lines, link_lines
from unbloat.report.figures.style import GREY, Style, colour, dashes, first_digit, foot_of, span
from unbloat.results.metrics import MANY, Metric

if TYPE_CHECKING:
    pass

FEW_CURVES = 6
"""As many curves are named one by one; more of them by what their colours and dashes mean."""
WHISKERS = (5, 25, 50, 75, 95)
"""Percentiles of a box: ends of the whiskers, of the box, and the middle."""
FEW = 0.02
"""A tail down to no less than this share is of few values."""
BOXES = "box: 25-75 %, whiskers: 5-95 %"
BELOW_BOXES: Style = {"loc": "right"}
"""The line that explains boxes may be longer than the axis: there is room to the left, under the names."""


@dataclass(frozen=True)
class Histogram:
    """Counts of values, each up to the upper edge of its bin."""

    label: str
    hue: int
    dash: int
    upper: np.ndarray
    count: np.ndarray

    @property
    def share(self) -> np.ndarray:
        """The share of the values that lie at or under each edge."""
        cumulative: np.ndarray = np.cumsum(self.count) / np.sum(self.count)
        return cumulative

    def percentiles(self, wanted: Sequence[float]) -> list[float]:
        """Return percentiles, each the upper edge of its bin."""
        places = np.searchsorted(self.share, np.array(wanted) / 100 - 1e-12)
        return [float(self.upper[min(place, len(self.upper) - 1)]) for place in places]


def cumulative(kind: str, view: View, *, is_tail: bool) -> None:
    """Draw the distributions within runs: the share of values up to each, or above it on a logarithmic axis."""
    histograms, label, counted = within_runs(kind, view)
    _curves(view.axes, histograms, is_tail)
    view.axes.set_xlabel(label)
    view.axes.set_ylabel(f"share of {counted}{' above' if is_tail else ''}")
    name_above(view.axes, [histogram.label for histogram in histograms], view.size)


def boxes(kind: str, view: View) -> None:
    """Draw a box for each distribution within runs."""
    histograms, label, _ = within_runs(kind, view)
    percentiles = {each.label: each.percentiles(WHISKERS) for each in histograms}
    _boxes(view, percentiles, [each.hue for each in histograms])
    view.axes.set_xlabel(f"{label}\n{BOXES}", **BELOW_BOXES)


def of_metric(metric: Metric, groups: Sequence[str], view: View, *, is_tail: bool) -> None:
    """Draw the distribution of a metric over flows and runs; `groups` are those of flows in the whole picture."""
    looks = view.looks(groups)
    histograms = [
        Histogram(
            f"{each.label} ({len(each.values)})",
            *looks.look(each.axes, each.group),
            np.sort(each.values),
            np.ones(len(each.values)),
        )
        for each in _known(metric, view)
    ]
    _curves(view.axes, histograms, is_tail)
    values = [value for sample in values_of(view.whole, metric) for value in sample.values]
    if spans_decades(values):
        span(view.axes.xaxis, values)
    view.axes.set_xlabel(quantity(metric, view.bottlenecks))
    view.axes.set_ylabel(f"share of {metric.of}s{' above' if is_tail else ''}")
    _name(view, looks, histograms)


def boxes_of_metric(metric: Metric, groups: Sequence[str], view: View) -> None:
    """Draw a box of a metric for each grid point and group of flows; a single value is written as a number."""
    axes, size = view.axes, view.size
    samples, looks = _known(metric, view), view.looks(groups)
    hues = [looks.look(each.axes, each.group)[0] for each in samples]
    numbers = {len(each.values) for each in samples}
    labels = [each.label if len(numbers) == 1 else f"{each.label} ({len(each.values)})" for each in samples]
    values = [float(value) for each in samples for value in each.values]
    foot = foot_of(values) if spans_decades(values) else 0.0
    percentiles = [np.percentile(np.maximum(each.values, foot), WHISKERS).tolist() for each in samples]
    _boxes(view, dict(zip(labels, percentiles, strict=True)), hues)
    for place, (each, hue) in enumerate(zip(samples, hues, strict=True)):
        if len(each.values) <= MANY:
            at = np.full(len(each.values), place)
            style: Style = {"color": colour(hue), "alpha": 0.6, "markersize": 2.5 * size.line, "clip_on": False}
            axes.plot(np.maximum(each.values, foot), at, ".", **style)
    if foot:
        span(axes.xaxis, values)
    words = f"one {metric.of} each" if numbers == {1} else f"{BOXES} of {_counted(metric, numbers)}"
    axes.set_xlabel(f"{quantity(metric, view.bottlenecks)}\n{words}", **BELOW_BOXES)


def _counted(metric: Metric, numbers: set[int]) -> str:
    """Say of how many values boxes are, where that is the same for all; else their names do."""
    return f"{numbers.copy().pop()} {metric.of}s each" if len(numbers) == 1 else f"(n) {metric.of}s"


def _known(metric: Metric, view: View) -> list[Sample]:
    """Return the samples that have values; raises `InputError` if none has."""
    if known := [each for each in values_of(view.records, metric, view.whole) if len(each.values)]:
        return known
    raise InputError(f"nothing to draw: no sound run has a value of {metric.title}")


def _name(view: View, looks: Looks, drawn: Sequence[Histogram]) -> None:
    """Name the curves above the panel; many of them by their colours and their dashes apart."""
    if not view.is_part and (not looks.are_two or len(drawn) <= FEW_CURVES):
        name_above(view.axes, [each.label for each in drawn], view.size)
        return
    shown = looks.legend(lambda hue: {"color": colour(hue)}, lambda dash: {"color": GREY, "linestyle": dashes(0, dash)})
    name_above(view.axes, [label for label, _ in shown], view.size, [Line2D([], [], **style) for _, style in shown])


# ---------------------------------------------------------------- Parts


def within_runs(kind: str, shown: Shown) -> tuple[list[Histogram], str, str]:
    """Return the histograms of a kind, what they are of, and what was counted."""
    if kind == "rtt":
        lines = list(flow_lines(shown, shown.results.series("rtt"), "count", x="upper_ms"))
        return pooled(lines), "RTT (ms)", "RTT samples"
    lines = list(link_lines(shown, shown.results.series("queue_delay"), "count", x="upper_ms"))
    return pooled(lines), "queueing delay (ms)", "packets"


def pooled(lines: Sequence[Line]) -> list[Histogram]:
    """Put the histograms of one name together; where there are too many names, those of their groups."""
    if not lines:
        raise InputError("nothing to draw: no run has such samples")
    for level in range(-1, len(lines[0].groups)):
        parts: dict[str, list[Line]] = {}
        for line in lines:
            parts.setdefault(line.label if level < 0 else line.groups[level], []).append(line)
        if len(parts) <= MANY:
            break
    return [_pooled(label, members) for label, members in parts.items()]


def _pooled(label: str, lines: Sequence[Line]) -> Histogram:
    edges, places = np.unique(np.concatenate([line.x for line in lines]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([line.y for line in lines]))
    return Histogram(label, lines[0].hue, lines[0].dash, edges, counts)


def _curves(axes: Axes, histograms: Sequence[Histogram], is_tail: bool) -> None:
    least = 1.0
    for histogram in histograms:
        look: Style = {"color": colour(histogram.hue), "linestyle": dashes(histogram.hue, histogram.dash)}
        share = histogram.share
        # A cumulative distribution starts at 0, at its least value.
        x, y = np.append(histogram.upper[0], histogram.upper), np.append(0.0, share)
        if is_tail:
            y = 1 - y
            y[-1] = np.nan  # Nothing is above the largest value, and nothing has no logarithm.
            least = min(least, float(np.nanmin(y)))
        axes.plot(x, y, drawstyle="steps-post", **look)
    if is_tail:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(percent)
        # Few values lie within a decade, which has one label otherwise.
        axes.yaxis.set_minor_formatter(percent_of_few if least > FEW else NullFormatter())
        axes.set_ylim(max(least * 0.8, 1e-6), 1.2)
    else:
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(percent)
    ends = [(each.upper[0], each.upper[-1]) for each in histograms]
    low, high = (min(end[0] for end in ends), max(end[1] for end in ends)) if ends else (0.0, 1.0)
    margin = 0.03 * (high - low) or 0.5
    axes.set_xlim(0 if low < 0.25 * high else low - margin, high + margin)


def percent(share: float, _: float) -> str:
    """Format a share at a tick."""
    return f"{100 * share:g} %"


def percent_of_few(share: float, place: float) -> str:
    """Format a share at a minor tick of a logarithmic axis, where that is 2 or 5 of a decade."""
    return percent(share, place) if first_digit(share) in "25" else ""


def _boxes(view: View, percentiles: Mapping[str, Sequence[float]], hues: Sequence[int]) -> None:
    """Draw boxes one below another, so that their names can be read."""
    axes, size = view.axes, view.size
    parts = ("whislo", "q1", "med", "q3", "whishi")
    stats = [
        {"label": row_label(label, size), **dict(zip(parts, ends, strict=True))} for label, ends in percentiles.items()
    ]
    width = 0.8 * size.line
    lines: Style = {f"{part}props": {"linewidth": width} for part in ("box", "whisker", "cap")}
    drawn = axes.bxp(
        stats,
        positions=range(len(stats)),
        orientation="horizontal",
        showfliers=False,
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.5 * width},
        **lines,
    )
    for hue, box in zip(hues, drawn["boxes"], strict=True):
        box.set(facecolor=colour(hue), alpha=0.55)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    ends = [end for each in percentiles.values() for end in each]
    axes.set_xlim(left=0 if ends and min(ends) < 0.5 * max(ends) else None)
