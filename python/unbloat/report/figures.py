"""Pictures of runs: windows, RTTs, queues and goodputs over time, and distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import matplotlib as mpl
import matplotlib.patheffects as effects
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat.results.metrics import MANY
from unbloat.scenario.checks import one_of

if TYPE_CHECKING:
    from unbloat.results.results import Results

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F"]
"""Distinct for colour-blind eyes (after Okabe and Ito)."""
DASHES = ["-", "--", ":", "-."]
"""Tell apart the flows of one run, where colours tell runs apart."""
KINDS = ["cwnd", "rtt", "queue", "queue_delay", "goodput", "rtt_cdf", "queue_delay_cdf"]
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
    "text.parse_math": False,  # A name with a $ in it is no formula.
    "figure.dpi": 120,
    "savefig.dpi": 200,
}


@dataclass(frozen=True)
class Line:
    """One line of a panel: what it stands for, how it looks, where it runs."""

    label: str
    group: str
    """What names it where there are too many lines to name each."""
    hue: int
    dash: int
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
    over_time(axes, flow_lines(results, active(results.series()), "cwnd_packets"), "cwnd (packets)", steps=True)


def _rtt(results: Results, axes: Axes) -> None:
    over_time(axes, flow_lines(results, active(results.series()), "rtt_ms"), "RTT (ms)")


def _goodput(results: Results, axes: Axes) -> None:
    lines = [smooth(line) for line in flow_lines(results, results.series(), "goodput_mbps")]
    over_time(axes, lines, "goodput (Mbit/s)")


def _queue(results: Results, axes: Axes) -> None:
    table = results.series("links")
    table = table.assign(queue_kb=table["queue_bytes"] / 1e3)
    over_time(axes, link_lines(results, table, "queue_kb"), "queue (KB)")


def _queue_delay(results: Results, axes: Axes) -> None:
    table = results.link_series
    delays = [pd.Series(delay_ms(rows), rows.index) for _, rows in table.groupby(["run", "link"])]
    table = table.assign(queue_delay_ms=pd.concat(delays))
    over_time(axes, link_lines(results, table, "queue_delay_ms"), "queueing delay (ms)")


def _rtt_cdf(results: Results, axes: Axes) -> None:
    lines = flow_lines(results, results.series("rtt"), "count", x="upper_ms")
    distribution(axes, lines, "RTT (ms)", "share of samples")


def _queue_delay_cdf(results: Results, axes: Axes) -> None:
    lines = link_lines(results, results.series("queue_delay"), "count", x="upper_ms")
    distribution(axes, lines, "queueing delay (ms)", "share of packets")


PANELS: dict[str, Callable[[Results, Axes], None]] = {
    "cwnd": _cwnd,
    "rtt": _rtt,
    "queue": _queue,
    "queue_delay": _queue_delay,
    "goodput": _goodput,
    "rtt_cdf": _rtt_cdf,
    "queue_delay_cdf": _queue_delay_cdf,
}


def delay_ms(link: pd.DataFrame) -> np.ndarray:
    """Give how long a link takes to send what waits in its queue, at each step of its series.

    It sends at whatever rate it has meanwhile: that of a trace, or none in an outage. Where the run ends before the
    queue is sent there is no value.
    """
    time, queued = link["time_s"].to_numpy(), link["queue_bytes"].to_numpy()
    steps = np.diff(time, prepend=0.0)
    sent = np.cumsum(link["throughput_mbps"].to_numpy() * steps) * 1e6 / 8
    gone = np.interp(sent + queued, sent, time, right=np.nan)
    return np.where(queued > 0, (gone - time) * 1e3, 0.0)


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
    """Give a line for each flow of each run, named by what tells it from the others.

    Colours tell runs apart; those of a lone run, its flows, and where there are many, their congestion controls.
    """
    for key, rows in table.groupby(["run", "flow"], sort=True):
        run, flow = cast("tuple[int, int]", key)
        controls = [each["cc"] for each in results.records[run].run["flows"]]
        cc = controls[flow]
        place = flow if len(controls) <= len(COLOURS) else list(dict.fromkeys(controls)).index(cc)
        where = run_label(results, run)
        group = where if cc in where.split() else f"{where} {cc}".strip()
        label = group if controls.count(cc) == 1 else f"{group} #{flow}"
        hue, dash = (place, 0) if len(results.records) == 1 else (run, place)
        yield Line(label, group, hue, dash, rows[x].to_numpy(), rows[y].to_numpy())


def link_lines(results: Results, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Give a line for each run and each link with a queue that is bounded; without one, the first link."""
    links = results.records[0].run["links"]
    names = [link["link"] for link in links if link["queue_percent_mean"] is not None] or [links[0]["link"]]
    for place, name in enumerate(names):
        for key, rows in table[table["link"] == name].groupby("run", sort=True):
            run = cast("int", key)
            label = " ".join(filter(None, [run_label(results, run), name if len(names) > 1 else ""])) or str(name)
            hue, dash = (place, 0) if len(results.records) == 1 else (run, place)
            yield Line(label, label, hue, dash, rows[x].to_numpy(), rows[y].to_numpy())


def run_label(results: Results, run: int) -> str:
    """Name a run by its place on the axes; a lone run needs no name."""
    return " ".join(results.records[run].axes.values())


def over_time(axes: Axes, lines: Iterable[Line], quantity: str, steps: bool = False) -> None:
    """Draw lines over time, each named where it ends."""
    drawn = list(lines)
    for line in drawn:
        axes.plot(line.x, line.y, drawstyle="steps-post" if steps else "default", **look(line))
    axes.set(xlabel="time (s)", ylabel=quantity, ylim=(0, None))
    if len(drawn) > 1:
        name_ends(axes, drawn)


def distribution(axes: Axes, lines: Iterable[Line], quantity: str, share: str) -> None:
    """Draw cumulative distributions from histograms, each named beside its curve."""
    drawn = list(lines)
    for number, line in enumerate(drawn):
        y = np.cumsum(line.y) / np.sum(line.y)
        axes.step(line.x, y, where="post", **look(line))
        level = (number + 1) / (len(drawn) + 1)
        if 1 < len(drawn) <= MANY:
            at = line.x[min(int(np.searchsorted(y, level)), len(y) - 1)]
            note(axes, line.label, line.hue, (at, level), axes.transData)
    axes.set(xlabel=quantity, ylabel=share, ylim=(0, 1), xlim=(0, None))


def look(line: Line) -> dict[str, Any]:
    """Give a line's colour and dashes; after the last colour they begin again with other dashes."""
    dash = line.dash + line.hue // len(COLOURS)
    return {"color": colour(line.hue), "linestyle": DASHES[dash % len(DASHES)]}


def colour(hue: int) -> str:
    """Give a colour by its number."""
    return COLOURS[hue % len(COLOURS)]


def name_ends(axes: Axes, lines: Sequence[Line]) -> None:
    """Write the lines' names to the right of the panel, near where they end, none on another."""
    named = {line.label if len(lines) <= MANY else line.group: line for line in lines}
    top = axes.get_ylim()[1] or 1.0
    wanted = sorted((end_of(line) / top, name, line.hue) for name, line in named.items())
    gap = min(0.11, 1 / len(wanted))
    heights = spaced([height for height, _, _ in wanted], gap)
    for height, (_, name, hue) in zip(heights, wanted, strict=True):
        note(axes, name, hue, (1.01, height), axes.transAxes)


def end_of(line: Line) -> float:
    """Give the height at which a line ends: the mean of its last tenth."""
    known = line.y[np.isfinite(line.y)]
    return float(np.mean(known[-max(1, len(known) // 10) :])) if len(known) else 0.0


def spaced(heights: Sequence[float], gap: float) -> list[float]:
    """Move sorted heights apart until each is `gap` above the one before, all within 0 to 1 if they fit."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else max(height, 0.0))
    excess = max(0.0, placed[-1] - 1)
    return [max(place - excess, i * gap) for i, place in enumerate(placed)]


def note(axes: Axes, text: str, hue: int, at: tuple[float, float], frame: mpl.transforms.Transform) -> None:
    """Write a line's name in its colour."""
    halo = [effects.withStroke(linewidth=2.5, foreground="white")]
    style: dict[str, Any] = {"color": colour(hue), "va": "center", "fontsize": 8, "path_effects": halo}
    axes.annotate(text, at, xycoords=frame, xytext=(4, 0), textcoords="offset points", **style)
