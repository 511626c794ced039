"""Time series: windows, round-trip times, queues and goodputs, with what bounds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat.report.figures import names
from unbloat.report.figures.lines import Line, Mark, over_time, smooth
from unbloat.report.figures.style import COLOURS, GREY, PALE, SHADE, Size, Style, small
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import MANY
from unbloat.results.record import Record

if TYPE_CHECKING:
    from unbloat.results.results import Results

OF_A_LINK = ("buffer", "full buffer", "link rate")
"""Marks that are the bottleneck's, where others are drawn beside it."""
BUSY = 0.05
"""A link whose queue is not this share of the longest one is not drawn beside it."""


def draw(kind: str, results: Results, axes: Axes, size: Size, rows: int) -> None:
    """Draw one kind of series into a panel."""
    axes.set_xlim(0, max(record.run["duration_s"] for record in results.records))
    shade_warmup(results.records, axes)
    DRAWN_BY[kind](results, axes, size, rows)
    axes.set_xlabel("time (s)")


def _cwnd(results: Results, axes: Axes, size: Size, rows: int) -> None:
    lines = flow_lines(results, active(results.series("flows")), "cwnd_packets")
    marks = _marks(results.records, "bandwidth-delay product", _product_packets)
    over_time(axes, lines, size, rows, marks, drawstyle="steps-post")
    axes.set_ylabel("cwnd (packets)")


def _rtt(results: Results, axes: Axes, size: Size, rows: int) -> None:
    marks = _marks(results.records, "empty path", lambda path: path.rtts_ms[0] if len(path.rtts_ms) == 1 else None)
    over_time(axes, flow_lines(results, active(results.series("flows")), "rtt_ms"), size, rows, marks)
    axes.set_ylabel("RTT (ms)")


def _goodput(results: Results, axes: Axes, size: Size, rows: int) -> None:
    lines = smooth(list(flow_lines(results, active(results.series("flows")), "goodput_mbps")))
    marks = _marks(results.records, "link rate", lambda path: path.rate_mbps)
    if not marks:
        capacity(results, axes)
    over_time(axes, lines, size, rows, marks)
    axes.set_ylabel("goodput (Mbit/s)")


def _queue(results: Results, axes: Axes, size: Size, rows: int) -> None:
    table = results.series("links")
    table = table.assign(queue_kb=table["queue_bytes"] / 1e3)
    lines = link_lines(results, table, "queue_kb")
    marks = _marks(results.records, "buffer", lambda path: path.limit_bytes and path.limit_bytes / 1e3)
    over_time(axes, lines, size, rows, marks, "queues")
    axes.set_ylabel("queue (KB)")


def _queue_delay(results: Results, axes: Axes, size: Size, rows: int) -> None:
    table = results.series("links")
    delays = [pd.Series(delay_ms(part), part.index) for _, part in table.groupby(["run", "link"])]
    lines = link_lines(results, table.assign(queue_delay_ms=pd.concat(delays)), "queue_delay_ms")
    over_time(axes, lines, size, rows, _marks(results.records, "full buffer", lambda path: path.limit_ms), "queues")
    axes.set_ylabel("queueing delay (ms)")


DRAWN_BY: dict[str, Callable[[Results, Axes, Size, int], None]] = {
    "cwnd": _cwnd,
    "rtt": _rtt,
    "queue": _queue,
    "queue_delay": _queue_delay,
    "goodput": _goodput,
}


# ---------------------------------------------------------------- What is no measurement


def shade_warmup(records: Sequence[Record], axes: Axes) -> None:
    """Shade what the numbers leave out."""
    ends = {float(record.run.get("warmup_s") or 0.0) for record in records}
    if len(ends) == 1 and (end := ends.pop()):
        axes.axvspan(0, end, color=PALE, zorder=0, linewidth=0)
        if axes is cast("Figure", axes.figure).axes[0]:
            behind = {"facecolor": PALE, "edgecolor": "none", "pad": 0.5}  # A bound may be drawn there.
            style: Style = {"va": "top", "color": GREY, "fontsize": small(axes), "bbox": behind}
            axes.text(0.01 * axes.get_xlim()[1], 0.97, "warm-up", transform=axes.get_xaxis_transform(), **style)


def _marks(records: Sequence[Record], label: str, height: Callable[[names.Path], float | None]) -> list[Mark]:
    """Return the mark that all runs have in common."""
    bottlenecks = Bottlenecks.of(records)
    heights = {height(names.Path.of(record.run, bottlenecks)) for record in records}
    common = heights.pop() if len(heights) == 1 else None
    links = busy_links(records)
    own = bottlenecks.link(records[0].run)["link"]
    of = f" ({direction(own, links)})" if len(links) > 1 and label in OF_A_LINK else ""
    return [Mark(f"{label}{of}", float(common))] if common else []


def _product_packets(path: names.Path) -> float | None:
    if not path.rate_mbps or len(path.rtts_ms) != 1 or not path.packet_ms:
        return None
    return path.rtts_ms[0] / path.packet_ms


def capacity(results: Results, axes: Axes) -> None:
    """Shade what a link whose rate varies could have carried, where all runs had the same one."""
    table = results.series("links")
    if "capacity_mbps" not in table:
        return
    bottleneck = Bottlenecks.of(results.records).link(results.records[0].run)["link"]
    runs = [part for _, part in table[table["link"] == bottleneck].groupby("run", sort=True)]
    values = [part["capacity_mbps"].to_numpy() for part in runs]
    if any(len(each) != len(values[0]) or not np.allclose(each, values[0], equal_nan=True) for each in values[1:]):
        return
    x, y = (runs[0][name].to_numpy() for name in ("time_s", "capacity_mbps"))
    (line,) = smooth([Line("", (), 0, 0, x, np.nan_to_num(y))])
    axes.fill_between(line.x, line.y, color=SHADE, linewidth=0, zorder=1)
    style: Style = {"color": GREY, "fontsize": small(axes), "va": "top", "ha": "right"}
    axes.text(0.995, 0.985, "shaded: what the link could carry", transform=axes.transAxes, **style)


# ---------------------------------------------------------------- Lines


def delay_ms(link: pd.DataFrame) -> np.ndarray:
    """Compute how long a link takes to send what waits in its queue at each step of its series, ms.

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


def flow_lines(results: Results, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Yield a line for each flow of each run, named by what tells it from the others.

    Colours tell runs apart, where they differ in more than the seed, and dashes their flows; colours those of a lone
    run, and where there are many flows, their groups.
    """
    wheres = {number: names.run_label(record) for number, record in results.by_number.items()}
    places = list(dict.fromkeys(wheres.values()))
    for key, rows in table.groupby(["run", "flow"], sort=True):
        number, flow = cast("tuple[int, int]", key)
        run, where = results.by_number[number].run, wheres[number]
        groups = list(dict.fromkeys(map(names.flow_group, run["flows"])))
        group = names.flow_group(run["flows"][flow])
        place = flow if len(run["flows"]) <= len(COLOURS) else groups.index(group)
        hue, dash = (place, 0) if len(places) == 1 else (places.index(where), place)
        label = names.flow_label(run, where, flow)
        members = (names.joined(where, group), group, "all flows")
        yield Line(label, members, hue, dash, rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float))


def link_lines(results: Results, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Yield a line for each run and each link, except links whose queues are almost empty beside the others."""
    wheres = {number: names.run_label(record) for number, record in results.by_number.items()}
    places = list(dict.fromkeys(wheres.values()))
    links = busy_links(results.records)
    for place, name in enumerate(links):
        for key, rows in table[table["link"] == name].groupby("run", sort=True):
            where = wheres[cast("int", key)]
            own = direction(name, links) if len(links) > 1 else ""
            label = names.joined(where, own) or name
            hue, dash = (place, 0) if len(places) == 1 else (places.index(where), place)
            members = (label, own or name, "all links")
            yield Line(label, members, hue, dash, rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float))


def busy_links(records: Sequence[Record]) -> list[str]:
    """List the links with queues worth drawing, in the order of the records; the bottleneck is always one."""
    delays: dict[str, float] = {}
    for record in records:
        for link in record.run["links"]:
            delay = link.get("queue_delay_ms_mean") or 0.0
            delays[link["link"]] = max(delays.get(link["link"], 0.0), delay)
    bottleneck = Bottlenecks.of(records).link(records[0].run)["link"]
    longest = max(delays.values())
    busy = [name for name, delay in delays.items() if name == bottleneck or delay >= BUSY * longest > 0]
    # Many busy links are mostly access links, which look alike: the bottleneck stands for all.
    return busy if len(busy) <= MANY else [bottleneck]


def direction(name: str, links: Sequence[str]) -> str:
    """Name a link; one direction of a lone link by the direction alone."""
    forward = name.removesuffix(".reverse")
    if {link.removesuffix(".reverse") for link in links} != {forward}:
        return name
    return "forward" if name == forward else "reverse"
