"""A paper's figures, drawn from the measurements: bars and lines with 95 % confidence intervals, windows over time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from unbloat.claims import series
from unbloat.claims.expressions import Selector
from unbloat.claims.measurements import Measurements
from unbloat.claims.quantities import quantity_named
from unbloat.papers import claims_figure
from unbloat.papers import ratios as ratios_of
from unbloat.papers.judge import JudgedPaper
from unbloat.papers.paper import Bar, Figure, Panel, in_brackets
from unbloat.report.figures.style import BLACK, COLOURS, DASHES, legible, look, suit, suit_together
from unbloat.results.record import Record
from unbloat.results.statistics import Estimate, estimate
from unbloat.system.files import room_within, whole

HUES = [*(colour for colour in COLOURS if colour != BLACK), BLACK]
"""Intervals and what a paper prints are black, so black bars would hide them: black comes last."""
Hues = Mapping[str, str]
"""The colours of a figure by what they stand for."""


@dataclass(frozen=True)
class Drawn:
    """A figure, the name of its file, and what it shows."""

    name: str
    title: str
    canvas: Canvas


def draw(
    judged: JudgedPaper, measurements: Mapping[str, Measurements], folder: Path, names: Collection[str] | None = None
) -> list[Path]:
    """Draw main claims, numbers and every figure of the paper, or those of these names, into `folder` as SVG."""
    room_within(folder)
    figures = [figure for figure in drawn(judged, measurements) if names is None or figure.name in names]
    with look():
        return [_saved(figure.canvas, folder / figure.name) for figure in figures]


def drawn(judged: JudgedPaper, measurements: Mapping[str, Measurements]) -> list[Drawn]:
    """Draw them: first the pictures of the main claims and of all numbers, where there are any, then the figures."""
    with look():
        claims, ratios = claims_figure.draw(judged, measurements), ratios_of.draw(judged)
        first = [Drawn(claims_figure.file_of(judged.paper), claims_figure.TITLE, claims)] if claims else []
        first += [Drawn(ratios_of.file_of(judged.paper), ratios_of.TITLE, ratios)] if ratios else []
        hues = hues_of([names_in(figure, measurements) for figure in judged.paper.figures])
        return first + [
            Drawn(f"{figure.id}.svg", figure.title, figure_of(figure, measurements, own))
            for figure, own in zip(judged.paper.figures, hues, strict=True)
        ]


def figure_of(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues | None = None) -> Canvas:
    """Draw a figure; alone it has colours of its own."""
    return DRAWN_BY[figure.kind](figure, measurements, hues or hues_of([names_in(figure, measurements)])[0])


def names_in(figure: Figure, measurements: Mapping[str, Measurements]) -> list[str]:
    """List what has a colour of its own in a figure."""
    if figure.kind in ("window", "rates"):
        runs = [run for _, run in _of_groups(figure, measurements)]
        return list(dict.fromkeys(str(flow["cc"]) for run in runs for flow in run.run["flows"]))
    return figure.lines or [bar.name for bar in figure.bars] or figure.groups


def hues_of(figures: Sequence[Sequence[str]]) -> list[Hues]:
    """Assign each name its colour in each figure: the same in all, unless another name of that figure has it."""
    first: dict[str, int] = {}
    found: list[Hues] = []
    for names in figures:
        taken: dict[str, int] = {}
        for name in names:
            wanted = first.setdefault(name, len(first)) % len(HUES)
            free = [hue for hue in range(len(HUES)) if hue not in taken.values()]
            taken[name] = wanted if wanted in free or not free else free[0]
        found.append({name: HUES[hue] for name, hue in taken.items()})
    return found


def _saved(canvas: Canvas, file: Path) -> Path:
    """Write a figure; without the date, and the name of what drew it, the same numbers make the same bytes."""
    with whole(file) as draft:
        legible(canvas).savefig(draft, format=file.suffix[1:], metadata={"Date": None, "Creator": None})
    return file


def _lines(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas = _panels_of_lines(figure, measurements, _line, hues)
    for axes in canvas.axes:
        axes.set_xticks(range(len(figure.groups)), figure.groups, fontsize=8)
        axes.set_xlabel(figure.axis)
        axes.set_ylim(bottom=0)
    suit_together(canvas.axes)
    return canvas


def _panels_of_lines(
    figure: Figure,
    measurements: Mapping[str, Measurements],
    draw: Callable[[Axes, Figure, Sequence[str], Measurements, int, str], None],
    hues: Hues,
) -> Canvas:
    """Have each of the figure's lines drawn into each of its panels."""
    canvas, panels = _side_by_side(figure)
    for axes, panel in zip(panels, figure.panels, strict=True):
        for number, line in enumerate(figure.lines):
            draw(axes, figure, [*panel.at, line], measurements[panel.scenario], number, hues[line])
            if panel.published:
                _published(axes, panel.published[number], number, _beside(figure, number), hues[line])
        axes.set_title(panel.name, fontsize=9)
    panels[0].set_ylabel(in_unit(figure.quantity, figure.unit))
    _legend(canvas, panels[0])
    return canvas


def _published(axes: Axes, heights: Sequence[float], number: int, beside: float, hue: str) -> None:
    """Draw what the paper prints as dashes over a line's own points."""
    places = [group + beside for group in range(len(heights))]
    name = "published" if number == 0 else ""
    axes.plot(places, heights, "_", markersize=13, markeredgewidth=2, color=hue, label=name)


def _line(axes: Axes, figure: Figure, at: Sequence[str], runs: Measurements, number: int, hue: str) -> None:
    """Draw a quantity over the groups; a grid point that draws nothing has an interval of no width, a single run none.

    Lines are a little beside each other, so that every interval is visible.
    """
    means, reach = _over_groups(figure, figure.quantity, figure.unit, at, runs)
    places = [group + _beside(figure, number) for group in range(len(means))]
    axes.errorbar(places, means, reach, label=figure.lines[number], color=hue, **LINE_AND_INTERVALS)


LINE_AND_INTERVALS: dict[str, Any] = {"marker": "o", "markersize": 3, "capsize": 2, "linewidth": 1.2}

BESIDE = 0.08
"""The distance between lines of a group; groups are 1 apart."""


def _beside(figure: Figure, number: int) -> float:
    return BESIDE * (number - (len(figure.lines) - 1) / 2)


def _over_groups(
    figure: Figure, quantity: str, unit: str, at: Sequence[str], runs: Measurements
) -> tuple[list[float], np.ndarray]:
    """Return a quantity's mean in each of the groups, NaN where there is none, and how far the intervals reach."""
    repeats = [runs.values(quantity, [*at, group], unit=unit) for group in figure.groups]
    estimates = [estimate(values) for values in repeats]
    means = [math.nan if each.mean is None else each.mean for each in estimates]
    return means, reaches(estimates, quantity)


def _curves(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas = _panels_of_lines(figure, measurements, _curve, hues)
    for axes in canvas.axes:
        axes.set_xlabel(in_unit(figure.against, figure.against_unit))
        axes.margins(0.12)
    return canvas


def _curve(axes: Axes, figure: Figure, at: Sequence[str], runs: Measurements, number: int, hue: str) -> None:
    """Draw a point for every group, joined in order; the first and the last bear the value that they stand for."""
    heights, up = _over_groups(figure, figure.quantity, figure.unit, at, runs)
    widths, across = _over_groups(figure, figure.against, figure.against_unit, at, runs)
    axes.errorbar(widths, heights, up, across, label=figure.lines[number], color=hue, **LINE_AND_INTERVALS)
    for place in (0, -1):
        name = f"{figure.axis} = {figure.groups[place]}"
        above = (4, 8 if number == 0 else -12)
        point = (widths[place], heights[place])
        axes.annotate(name, point, xytext=above, textcoords="offset points", fontsize=7, color=hue, ha="center")


def _distributions(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas = _panels_of_lines(figure, measurements, _distribution, hues)
    for axes in canvas.axes:
        axes.set_xlabel(in_unit(figure.quantity, figure.unit))
        axes.set_ylim(0, 1)
        suit(axes)
    canvas.axes[0].set_ylabel("share of packets" if figure.percentiles else "share of flows")
    return canvas


def _distribution(axes: Axes, figure: Figure, at: Sequence[str], runs: Measurements, number: int, hue: str) -> None:
    """Draw which share of flows has so much or less; those without a value count, and never come."""
    if number == 0:
        for value in figure.published or []:
            axes.axvline(value, color="black", linewidth=0.8, linestyle="--", label="published")
    if figure.percentiles:
        _percentiles(axes, figure, at, runs, number, hue)
        return
    values = runs.each_flow(figure.quantity, at, figure.groups, figure.unit)
    known = sorted(value for value in values if math.isfinite(value))
    if known:
        shares = np.arange(len(known) + 1) / len(values)
        axes.step([known[0], *known], shares, where="post", color=hue, label=figure.lines[number])


def _percentiles(axes: Axes, figure: Figure, at: Sequence[str], runs: Measurements, number: int, hue: str) -> None:
    """Draw which share of packets has so much or less, in the mean over the flows that have any."""
    for_each = [
        runs.each_flow(f"{figure.quantity}_p{percentile}", at, figure.groups, figure.unit)
        for percentile in figure.percentiles
    ]
    known = [[value for value in values if math.isfinite(value)] for values in for_each]
    means = [fmean(values) if values else math.nan for values in known]
    shares = [percentile / 100 for percentile in figure.percentiles]
    axes.plot(means, shares, marker="o", markersize=3, color=hue, label=figure.lines[number])


def reaches(estimates: Sequence[Estimate], quantity: str) -> np.ndarray:
    """Return how far the intervals reach down and up, cut where the quantity cannot have such values."""
    most = quantity_named(quantity).most or math.inf
    reach = [
        (min(each.half_width, each.mean), min(each.half_width, most - each.mean))
        if each.half_width and each.mean is not None
        else (0.0, 0.0)
        for each in estimates
    ]
    clipped: np.ndarray = np.clip(np.array(reach).T, 0, None)
    return clipped


def _legend(canvas: Canvas, axes: Axes) -> None:
    """Name what a panel shows, beside all panels: within one the names would cover what is drawn."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        canvas.legend(handles, names, loc="outside right upper", fontsize=8)


def _mean_windows(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas, panels = _side_by_side(figure)
    for axes, panel in zip(panels, figure.panels, strict=True):
        for line in figure.groups:
            run = measurements[panel.scenario].pick([*panel.at, line])[0]
            times, sizes = series.mean_window([window for _, window in _first(figure, run, series.WINDOW)])
            axes.plot(times, sizes, linewidth=1, color=hues[line], label=line)
        axes.set_title(panel.name, fontsize=9)
        axes.set_xlabel("time (s)")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("mean cwnd (packets)")
    _legend(canvas, panels[0])
    return canvas


def _side_by_side(figure: Figure) -> tuple[Canvas, Sequence[Axes]]:
    """Make a canvas with the panels side by side; their vertical axes have one scale."""
    canvas = _canvas(figure, 1.2 + 3.6 * max(len(figure.panels), 1.5), 3.4)
    return canvas, canvas.subplots(1, len(figure.panels), squeeze=False, sharey=True)[0]


def in_unit(quantity: str, unit: str) -> str:
    """Name what an axis shows."""
    return f"{quantity.replace('_', ' ')}{in_brackets(unit)}"


LEGEND = 1.2
"""Width of the legend, in inches."""


def _canvas(figure: Figure, width: float, height: float) -> Canvas:
    """Make a canvas of `width` by `height` inches under the figure's title, which ends before the legend begins."""
    canvas = Canvas(figsize=(width, height), layout="constrained")
    canvas.suptitle(
        textwrap.fill(figure.title, int(11 * (width - LEGEND))), x=0.01, ha="left", fontsize=10, fontweight="bold"
    )
    return canvas


def _bars(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas = _canvas(figure, 1.2 + 3.2 * len(figure.panels), 3.4)
    panels = canvas.subplots(1, len(figure.panels), squeeze=False)[0]
    for axes, panel in zip(panels, figure.panels, strict=True):
        _bar_panel(axes, figure, panel, measurements[panel.scenario], hues)
    panels[0].set_ylabel(in_unit(figure.quantity, figure.unit))
    suit_together(panels)
    _legend(canvas, panels[0])
    return canvas


def _bar_panel(axes: Axes, figure: Figure, panel: Panel, runs: Measurements, hues: Hues) -> None:
    width = 0.8 / len(figure.bars)
    for number, bar in enumerate(figure.bars):
        quantity = bar.quantity or figure.quantity
        repeats = [_in_group(figure, [*panel.at, *bar.at], bar, group, runs) for group in figure.groups]
        heights = [fmean(values) for values in repeats]
        places = [group - 0.4 + width * (number + 0.5) for group in range(len(figure.groups))]
        finite = [height if math.isfinite(height) else 0.0 for height in heights]
        axes.bar(places, finite, width, label=bar.name, color=hues[bar.name])
        intervals = reaches([estimate(values) for values in repeats], quantity)
        if intervals.any():
            axes.errorbar(places, finite, intervals, fmt="none", ecolor="black", elinewidth=0.8, capsize=2)
        for place, height in zip(places, heights, strict=True):
            if not math.isfinite(height):
                axes.text(place, 0, "unfinished", rotation=90, ha="center", va="bottom", fontsize=7)
        if panel.published:
            axes.hlines(
                panel.published[number],
                [place - width / 2 for place in places],
                [place + width / 2 for place in places],
                colors="black",
                label="published" if number == 0 else "",
            )
    axes.set_title(panel.name, fontsize=9)
    axes.set_xticks(range(len(figure.groups)), figure.groups, fontsize=8)
    axes.set_xlabel(figure.axis)
    axes.set_ylim(bottom=0)


def _in_group(figure: Figure, at: list[str], bar: Bar, group: str, runs: Measurements) -> list[float]:
    """Measure a bar of one group: of the grid point with this label, or of the flows or nodes with this value."""
    selectors: dict[str, Selector] = {} if bar.flow is None else {"flow": bar.flow}
    if figure.by:
        selectors[figure.by] = int(group) if group.isdecimal() else group
    labels = at if figure.by else [*at, group]
    return runs.values(bar.quantity or figure.quantity, labels, selectors, figure.unit)


def _windows(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas, panels = _one_under_another(figure, measurements)
    for axes, group, run in panels:
        for flow, window in _first(figure, run, series.WINDOW):
            axes.step(window[0], window[1], where="post", linewidth=0.8, **_look(run, flow, hues))
            lost = window[0, 1:][(window[2, 1:] > window[2, :-1])]
            axes.plot(lost, [0] * len(lost), "|", color="black", markersize=6)
        if figure.published:
            axes.axhline(figure.published[figure.groups.index(group)], color="black", linewidth=0.8, linestyle="--")
        _name_controls(axes, hues)
        axes.set_ylabel(f"{group}: cwnd (packets)", fontsize=8)
    published = "; dashed: published" if figure.published else ""
    canvas.axes[-1].set_xlabel(f"time (s); marks on the axis: retransmissions{published}")
    return canvas


def _rates(figure: Figure, measurements: Mapping[str, Measurements], hues: Hues) -> Canvas:
    canvas, panels = _one_under_another(figure, measurements)
    for axes, group, run in panels:
        for flow, rate in _first(figure, run, series.RATE):
            axes.plot(rate[0], rate[1], linewidth=0.8, **_look(run, flow, hues))
        _name_controls(axes, hues)
        axes.set_ylabel(f"{group}: goodput (Mb/s)", fontsize=8)
        axes.set_ylim(bottom=0)
    canvas.axes[-1].set_xlabel("time (s)")
    return canvas


def _one_under_another(
    figure: Figure, measurements: Mapping[str, Measurements]
) -> tuple[Canvas, list[tuple[Axes, str, Record]]]:
    """Make a canvas with a panel for every group, one below another, and return the run behind each."""
    canvas = _canvas(figure, 8, 2.6 * len(figure.groups))
    panels = canvas.subplots(len(figure.groups), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    runs = _of_groups(figure, measurements)
    return canvas, [(axes, group, run) for axes, (group, run) in zip(panels, runs, strict=True)]


def _of_groups(figure: Figure, measurements: Mapping[str, Measurements]) -> list[tuple[str, Record]]:
    """Return the run that is drawn of each group."""
    return [(group, measurements[figure.scenario].pick([*figure.at, group])[0]) for group in figure.groups]


def _control(run: Record, flow: int) -> str:
    return str(run.run["flows"][flow]["cc"])


def _look(run: Record, flow: int, hues: Hues) -> dict[str, Any]:
    """Return how a flow looks.

    Congestion controls differ in colour, and their flows in dashes. Flows of a lone one differ in colour.
    """
    control = _control(run, flow)
    alike = [number for number, other in enumerate(run.run["flows"]) if other["cc"] == control]
    label = control if len(alike) == 1 else f"{control} #{flow}"
    if len(hues) == 1:
        return {"color": COLOURS[flow % len(COLOURS)], "label": label}
    return {"color": hues[control], "linestyle": DASHES[alike.index(flow) % len(DASHES)], "label": label}


def _name_controls(axes: Axes, hues: Hues) -> None:
    """Name flows where the figure has several congestion controls; those of one need no names."""
    if len(hues) > 1:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _first(figure: Figure, record: Record, columns: Sequence[str]) -> list[tuple[int, series.Track]]:
    """Return these columns of the series of the flows that the figure shows."""
    if record.series is None:
        return []
    return sorted(series.tracks(record.series, columns).items())[: figure.flows]


DRAWN_BY: dict[str, Callable[[Figure, Mapping[str, Measurements], Hues], Canvas]] = {
    "bars": _bars,
    "window": _windows,
    "lines": _lines,
    "curve": _curves,
    "mean_window": _mean_windows,
    "ecdf": _distributions,
    "rates": _rates,
}
