"""Pictures of runs: windows, RTTs, queues and goodputs over time, and distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
import matplotlib.patheffects as effects
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat.results import one_of

if TYPE_CHECKING:
    from unbloat.results import Results

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F"]
"""Distinct for colour-blind eyes (after Okabe and Ito)."""
STYLES = ["-", "--", ":", "-."]
"""For the lines after the eighth."""
KINDS = ["cwnd", "rtt", "queue", "goodput", "rtt_cdf", "queue_delay_cdf"]
SHORT = {"cdf": ["rtt_cdf", "queue_delay_cdf"]}
DEFAULT = ["cwnd", "rtt", "queue", "goodput"]
FORMATS = ["svg", "png", "pdf"]

SMOOTH = 100
"""Points of a smoothed line, about."""

LOOK: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "unbloat",
    "svg.fonttype": "none",
    "figure.dpi": 120,
    "savefig.dpi": 200,
}


@dataclass(frozen=True)
class Line:
    """One line of a panel: what it stands for, which colour it shares, where it runs."""

    label: str
    group: str
    x: np.ndarray
    y: np.ndarray


def draw(results: Results, kinds: Sequence[str]) -> Figure:
    """Draw one panel for each kind; raises `InputError` for a kind that there is not."""
    wanted = panels_of(kinds)
    with mpl.rc_context(LOOK):
        figure = Figure(figsize=(7.5, 0.6 + 2.2 * len(wanted)), layout="constrained")
        panels = figure.subplots(len(wanted), squeeze=False)[:, 0]
        for panel, kind in zip(panels, wanted, strict=True):
            PANELS[kind](results, panel)
            if kind not in SHORT["cdf"]:
                panel.set_xlim(0, max(record.run["duration_s"] for record in results.records))
        figure.suptitle(title(results), x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def panels_of(kinds: Sequence[str]) -> list[str]:
    """Give the panels that the kinds mean, the usual ones without any."""
    wanted = [kind for name in kinds or DEFAULT for kind in SHORT.get(name, [name])]
    return [one_of("plot", kind, [*KINDS, *SHORT]) for kind in wanted]


def format_of(path: Path) -> str:
    """Give the format that a name's ending says."""
    return one_of(f"{path}: the ending", path.suffix[1:].lower(), FORMATS)


def check(kinds: Sequence[str], path: Path) -> None:
    """Raise `InputError` for what cannot be drawn or written."""
    panels_of(kinds)
    format_of(path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that its name's ending says; the same figure gives the same bytes."""
    kind = format_of(path)
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}[kind]
    with mpl.rc_context(LOOK):
        figure.savefig(path, format=kind, metadata=metadata)


def title(results: Results) -> str:
    """Name the scenario, and what the lines have in common."""
    run = results.records[0].run
    controls = {flow["cc"] for record in results.records for flow in record.run["flows"]}
    common = f" · {controls.pop()}" if len(controls) == 1 else ""
    return f"{run['scenario']}{common}"


# ---------------------------------------------------------------- Panels


def _cwnd(results: Results, axes: Axes) -> None:
    over_time(axes, flow_lines(results, active(results.series), "cwnd_packets"), "cwnd (packets)", steps=True)


def _rtt(results: Results, axes: Axes) -> None:
    over_time(axes, flow_lines(results, active(results.series), "rtt_ms"), "RTT (ms)")


def _goodput(results: Results, axes: Axes) -> None:
    lines = [smooth(line) for line in flow_lines(results, results.series, "goodput_mbps")]
    over_time(axes, lines, "goodput (Mbit/s)")


def _queue(results: Results, axes: Axes) -> None:
    table = results.link_series
    lines = list(link_lines(results, table.assign(queue_kb=table["queue_bytes"] / 1e3), "queue_kb"))
    over_time(axes, lines, "queue (KB)")


def _rtt_cdf(results: Results, axes: Axes) -> None:
    lines = list(flow_lines(results, results.rtt_distribution, "count", x="upper_ms"))
    distribution(axes, lines, "RTT (ms)", "share of samples")


def _queue_delay_cdf(results: Results, axes: Axes) -> None:
    lines = list(link_lines(results, results.queue_delay_distribution, "count", x="upper_ms"))
    distribution(axes, lines, "queueing delay (ms)", "share of packets")


PANELS: dict[str, Callable[[Results, Axes], None]] = {
    "cwnd": _cwnd,
    "rtt": _rtt,
    "queue": _queue,
    "goodput": _goodput,
    "rtt_cdf": _rtt_cdf,
    "queue_delay_cdf": _queue_delay_cdf,
}


def active(series: pd.DataFrame) -> pd.DataFrame:
    """Keep of each flow what lies between its first and its last packet in flight."""
    times = series["time_s"].where(series["in_flight_packets"] > 0).groupby([series["run"], series["flow"]])
    return series[series["time_s"].between(times.transform("min"), times.transform("max"))]


def smooth(line: Line) -> Line:
    """Average over neighbours: segments that wait for a lost one reach the application all at once."""
    width = max(1, len(line.y) // SMOOTH)
    rows = len(line.y) // width * width
    return replace(line, x=line.x[:rows].reshape(-1, width)[:, -1], y=line.y[:rows].reshape(-1, width).mean(axis=1))


def flow_lines(results: Results, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Give a line for each flow of each run, named by what tells it from the others."""
    for key, rows in table.groupby(["run", "flow"], sort=True):
        run, flow = cast("tuple[int, int]", key)
        flows = results.records[run].run["flows"]
        cc = flows[flow]["cc"]
        where = run_label(results, run)
        group = where if cc in where.split() else f"{where} {cc}".strip()
        alone = sum(other["cc"] == cc for other in flows) == 1
        yield Line(group if alone else f"{group} #{flow}", group, rows[x].to_numpy(), rows[y].to_numpy())


def link_lines(results: Results, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Give a line for each run's bottleneck."""
    bottleneck = results.records[0].run["links"][0]["link"]
    for run, rows in table[table["link"] == bottleneck].groupby("run", sort=True):
        label = run_label(results, cast("int", run)) or str(bottleneck)
        yield Line(label, label, rows[x].to_numpy(), rows[y].to_numpy())


def run_label(results: Results, run: int) -> str:
    """Name a run by its place on the axes; a lone run needs no name."""
    return " ".join(results.records[run].axes.values())


def over_time(axes: Axes, lines: Iterator[Line] | list[Line], quantity: str, steps: bool = False) -> None:
    """Draw lines over time, each named where it ends."""
    drawn = list(lines)
    ends = []
    for line, style in zip(drawn, styles(drawn), strict=True):
        axes.plot(line.x, line.y, drawstyle="steps-post" if steps else "default", **style)
        known = line.y[np.isfinite(line.y)]
        ends.append(float(np.mean(known[-max(1, len(known) // 10) :])) if len(known) else 0.0)
    axes.set(xlabel="time (s)", ylabel=quantity, ylim=(0, None))
    name_ends(axes, drawn, ends)


def distribution(axes: Axes, lines: list[Line], quantity: str, share: str) -> None:
    """Draw cumulative distributions from histograms, each named beside its curve."""
    for number, (line, style) in enumerate(zip(lines, styles(lines), strict=True)):
        y = np.cumsum(line.y) / np.sum(line.y)
        axes.step(line.x, y, where="post", **style)
        level = (number + 1) / (len(lines) + 1)
        if 1 < len(lines) <= len(COLOURS):
            at = line.x[min(int(np.searchsorted(y, level)), len(y) - 1)]
            note(axes, line.label, style["color"], (at, level), axes.transData)
    axes.set(xlabel=quantity, ylabel=share, ylim=(0, 1), xlim=(0, None))


def styles(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Give each line a colour of its own; where there are more than colours, one for each group."""
    names = [line.label for line in lines]
    if len(names) > len(COLOURS):
        names = [line.group for line in lines]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return [
        {
            "color": COLOURS[places[name] % len(COLOURS)],
            "linestyle": STYLES[places[name] // len(COLOURS) % len(STYLES)],
        }
        for name in names
    ]


def name_ends(axes: Axes, lines: Sequence[Line], ends: Sequence[float]) -> None:
    """Write the lines' names to the right of the panel, near where they end, none on another."""
    if len(lines) < 2:
        return
    looks = styles(lines)
    many = len(lines) > len(COLOURS)
    named = {line.group if many else line.label: i for i, line in enumerate(lines)}
    top = axes.get_ylim()[1] or 1.0
    wanted = sorted((ends[i] / top, name, looks[i]["color"]) for name, i in named.items())
    gap = min(0.11, 1 / len(wanted))
    heights = spread([height for height, _, _ in wanted], gap)
    for height, (_, name, colour) in zip(heights, wanted, strict=True):
        note(axes, name, colour, (1.01, height), axes.transAxes)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move sorted heights apart until each is `gap` above the one before, all within 0 to 1 if they fit."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else max(height, 0.0))
    excess = max(0.0, placed[-1] - 1)
    return [max(place - excess, i * gap) for i, place in enumerate(placed)]


def note(axes: Axes, text: str, colour: str, at: tuple[float, float], frame: mpl.transforms.Transform) -> None:
    """Write a line's name in its colour."""
    halo = [effects.withStroke(linewidth=2.5, foreground="white")]
    look: dict[str, Any] = {"color": colour, "va": "center", "fontsize": 8, "path_effects": halo}
    axes.annotate(text, at, xycoords=frame, xytext=(4, 0), textcoords="offset points", **look)
