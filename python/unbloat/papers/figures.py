"""A paper's figures, drawn from the measurements: bars and lines with 95 % confidence intervals, windows over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from unbloat.papers.expressions import Selector
from unbloat.papers.measurements import Measurements
from unbloat.papers.paper import Figure, Panel, Paper
from unbloat.papers.quantities import MeasuredRun
from unbloat.report.figures.style import COLOURS, LOOK
from unbloat.results.statistics import estimate


def draw(paper: Paper, measurements: Mapping[str, Measurements], folder: Path) -> list[Path]:
    """Draw every figure of the paper into `folder` as SVG; give the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(LOOK):
        for figure in paper.figures:
            canvas = DRAWN_BY[figure.kind](figure, measurements)
            file = folder / f"{figure.id}.svg"
            # Without the date, the same numbers make the same bytes: a drawn figure can be committed and compared.
            canvas.savefig(file, metadata={"Date": None})
            files.append(file)
    return files


def _lines(figure: Figure, measurements: Mapping[str, Measurements]) -> Canvas:
    canvas, panels = _side_by_side(figure)
    for axes, panel in zip(panels, figure.panels, strict=True):
        for hue, line in enumerate(figure.lines):
            _line(axes, figure, [*panel.at, line], measurements[panel.scenario], COLOURS[hue])
        axes.set_title(panel.name, fontsize=9)
        axes.set_xticks(range(len(figure.groups)), figure.groups, fontsize=8)
        axes.set_xlabel(figure.axis)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel(quantity_and_unit(figure))
    panels[0].legend(figure.lines, fontsize=8)
    return canvas


def _line(axes: Axes, figure: Figure, at: Sequence[str], runs: Measurements, colour: str) -> None:
    """Draw a quantity over the groups; a cell that draws nothing has an interval of no width, a single run none."""
    repeats = [runs.repeats(figure.quantity, [*at, group], {}, figure.unit) for group in figure.groups]
    estimates = [estimate(values) for values in repeats]
    means = [math.nan if each.mean is None else each.mean for each in estimates]
    widths = [each.half_width or 0.0 for each in estimates]
    axes.errorbar(range(len(means)), means, widths, color=colour, marker="o", markersize=3, capsize=2, linewidth=1.2)


def _mean_windows(figure: Figure, measurements: Mapping[str, Measurements]) -> Canvas:
    canvas, panels = _side_by_side(figure)
    for axes, panel in zip(panels, figure.panels, strict=True):
        for hue, line in enumerate(figure.groups):
            run = measurements[panel.scenario].pick([*panel.at, line])[0]
            windows = [window for _, window in _first(figure, run.windows)]
            mean = np.mean([window[1] for window in windows], axis=0)
            axes.plot(windows[0][0], mean, linewidth=1, color=COLOURS[hue], label=line)
        axes.set_title(panel.name, fontsize=9)
        axes.set_xlabel("time (s)")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("mean cwnd (packets)")
    panels[0].legend(fontsize=8)
    return canvas


def _side_by_side(figure: Figure) -> tuple[Canvas, Sequence[Axes]]:
    """Give a canvas with room for every panel; they share the height."""
    canvas = Canvas(figsize=(3.6 * max(len(figure.panels), 1.5), 3.4), layout="constrained")
    canvas.suptitle(figure.title, fontsize=11)
    return canvas, canvas.subplots(1, len(figure.panels), squeeze=False, sharey=True)[0]


def quantity_and_unit(figure: Figure) -> str:
    """Name what is drawn upwards."""
    return figure.quantity if figure.unit == "index" else f"{figure.quantity} ({figure.unit})"


def _bars(figure: Figure, measurements: Mapping[str, Measurements]) -> Canvas:
    canvas = Canvas(figsize=(3.2 * len(figure.panels), 3.4), layout="constrained")
    canvas.suptitle(figure.title, fontsize=11)
    panels = canvas.subplots(1, len(figure.panels), squeeze=False)[0]
    for axes, panel in zip(panels, figure.panels, strict=True):
        _bar_panel(axes, figure, panel, measurements[panel.scenario])
    panels[0].set_ylabel(quantity_and_unit(figure))
    panels[0].legend(fontsize=8)
    return canvas


def _bar_panel(axes: Axes, figure: Figure, panel: Panel, runs: Measurements) -> None:
    width = 0.8 / len(figure.bars)
    for number, bar in enumerate(figure.bars):
        selectors: dict[str, Selector] = {} if bar.flow is None else {"flow": bar.flow}
        repeats = [
            runs.repeats(figure.quantity, [*panel.at, *bar.at, group], selectors, figure.unit)
            for group in figure.groups
        ]
        heights = [fmean(values) for values in repeats]
        places = [group - 0.4 + width * (number + 0.5) for group in range(len(figure.groups))]
        finite = [height if math.isfinite(height) else 0.0 for height in heights]
        axes.bar(places, finite, width, label=bar.name, color=COLOURS[number])
        intervals = [estimate(values).half_width or 0.0 for values in repeats]
        if any(intervals):
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


def _windows(figure: Figure, measurements: Mapping[str, Measurements]) -> Canvas:
    canvas, panels = _one_under_another(figure, measurements)
    for axes, group, run in panels:
        for flow, window in _first(figure, run.windows):
            axes.step(window[0], window[1], where="post", linewidth=0.8, color=COLOURS[flow], label=_control(run, flow))
            lost = window[0, 1:][(window[2, 1:] > window[2, :-1])]
            axes.plot(lost, [0] * len(lost), "|", color="black", markersize=6)
        _name_controls(axes, run)
        axes.set_ylabel(f"{group}: cwnd (packets)", fontsize=8)
    canvas.axes[-1].set_xlabel("time (s); marks on the axis: retransmissions")
    return canvas


def _rates(figure: Figure, measurements: Mapping[str, Measurements]) -> Canvas:
    canvas, panels = _one_under_another(figure, measurements)
    for axes, group, run in panels:
        for flow, rate in _first(figure, run.rates):
            axes.plot(rate[0], rate[1], linewidth=0.8, color=COLOURS[flow], label=_control(run, flow))
        _name_controls(axes, run)
        axes.set_ylabel(f"{group}: goodput (Mb/s)", fontsize=8)
        axes.set_ylim(bottom=0)
    canvas.axes[-1].set_xlabel("time (s)")
    return canvas


def _one_under_another(
    figure: Figure, measurements: Mapping[str, Measurements]
) -> tuple[Canvas, list[tuple[Axes, str, MeasuredRun]]]:
    """Give a canvas with a panel for every group, and the run behind each."""
    canvas = Canvas(figsize=(8, 2.6 * len(figure.groups)), layout="constrained")
    canvas.suptitle(figure.title, fontsize=11)
    panels = canvas.subplots(len(figure.groups), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    runs = [measurements[figure.scenario].pick([*figure.at, group])[0] for group in figure.groups]
    return canvas, list(zip(panels, figure.groups, runs, strict=True))


def _control(run: MeasuredRun, flow: int) -> str:
    return str(run.record["flows"][flow]["cc"])


def _name_controls(axes: Axes, run: MeasuredRun) -> None:
    """Tell flows of different controls apart; those of one need no names."""
    if len({flow["cc"] for flow in run.record["flows"]}) > 1:
        axes.legend(fontsize=8, loc="upper right")


def _first(figure: Figure, flows: Mapping[int, np.ndarray] | None) -> list[tuple[int, np.ndarray]]:
    """Give the flows that the figure shows."""
    return sorted((flows or {}).items())[: figure.flows]


DRAWN_BY: dict[str, Callable[[Figure, Mapping[str, Measurements]], Canvas]] = {
    "bars": _bars,
    "window": _windows,
    "lines": _lines,
    "mean_window": _mean_windows,
    "rates": _rates,
}
