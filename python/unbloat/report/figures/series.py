"""Time series: windows, round-trip times, queues and goodputs, with what bounds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.report import names
from unbloat.report.figures.grid import Looks, Shown, View
from unbloat.report.figures.layout import at_top, remark
from unbloat.report.figures.lines import Line, Mark, over_time, smooth
from unbloat.report.figures.style import COLOURS, PALE, SHADE
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import MANY, is_bounded
from unbloat.results.record import Record

if TYPE_CHECKING:
    pass

OF_A_LINK = ("buffer", "full buffer", "link rate")
"""Marks that are the bottleneck's, where others are drawn beside it."""
ABOVE = 1.1
"""Goodput that exceeds the link's rate by so much is explained."""
IN_BURSTS = "above the link rate: what waited behind a lost segment is delivered at once"
BUSY = 0.05
"""A link whose queue is not this share of the longest one is not drawn beside it."""
OF_LINKS = 6
"""The first colour of links in a picture whose other colours are flows', so that none of them means both."""


def draw(kind: str, view: View) -> None:
    """Draw one kind of series of some runs into a panel, with the looks of the whole picture."""
    view.axes.set_xlim(0, max(record.run["duration_s"] for record in view.records))
    shade_warmup(view)
    DRAWN_BY[kind](view)
    view.axes.set_xlabel("time (s)")


def _draw(view: View, lines: Sequence[Line], marks: Sequence[Mark], unit: str, what: str = "flows", **how: Any) -> None:
    """Draw lines and marks in a unit; a line is named where the whole picture has several."""
    looks = _looks_of_flows(view) if what == "flows" else _looks_of_links(view)
    over_time(view.axes, lines, view.size, view.rows, marks, what, unit, is_named=looks.are_several, **how)


def _of_flows(view: View, column: str) -> list[Line]:
    return list(flow_lines(view, active(view.results.series("flows")), column))


def _cwnd(view: View) -> None:
    view.axes.set_ylabel("cwnd (packets)")
    marks = _marks(view, "bandwidth-delay product", _product_packets)
    _draw(view, _of_flows(view, "cwnd_packets"), marks, "packets", drawstyle="steps-post")


def _rtt(view: View) -> None:
    view.axes.set_ylabel("RTT (ms)")
    marks = _marks(view, "empty path", lambda path: path.rtts_ms[0] if len(path.rtts_ms) == 1 else None)
    _draw(view, _of_flows(view, "rtt_ms"), marks, "ms")


def _goodput(view: View) -> None:
    view.axes.set_ylabel("goodput (Mbit/s)")
    marks = _rates(view)
    lines = smooth(_of_flows(view, "goodput_mbps"))
    _draw(view, lines, marks, "Mbit/s")
    rate = max((mark.height for mark in marks), default=np.inf)
    if len(lines) <= MANY and any(np.nanmax(line.y, initial=0) > ABOVE * rate for line in lines):
        remark(view.axes, IN_BURSTS)


def _throughput(view: View) -> None:
    view.axes.set_ylabel("throughput (Mbit/s)")
    lines = smooth(list(link_lines(view, view.results.series("links"), "throughput_mbps")))
    _draw(view, lines, _rates(view), "Mbit/s", "links")


def _of_sockets(column: str, name: str, view: View) -> None:
    """Draw what a socket holds, or may hold, for its program: data that wait or are on their way."""
    table = view.results.series("flows")
    if column not in table or not (table[column] > 0).any():
        why = "only flows of a host ([host.NAME]) in the simulator and flows of a kernel have one"
        raise InputError(f"nothing to draw: no flow has a {name}; {why}")
    view.axes.set_ylabel(f"{name} (kB)")
    table = active(table.assign(kilobytes=table[column] / 1e3))
    _draw(view, list(flow_lines(view, table, "kilobytes")), [], "kB", drawstyle="steps-post")


def _queue(view: View) -> None:
    view.axes.set_ylabel("queue (kB)")
    table = view.results.series("links")
    lines = list(link_lines(view, table.assign(queue_kb=table["queue_bytes"] / 1e3), "queue_kb"))
    marks = _marks(view, "buffer", lambda path: path.limit_bytes and path.limit_bytes / 1e3)
    _draw(view, lines, marks, "kB", "queues")


def _queue_delay(view: View) -> None:
    view.axes.set_ylabel("queueing delay (ms)")
    table = view.results.series("links")
    delays = [pd.Series(delay_ms(part), part.index) for _, part in table.groupby(["run", "link"])]
    lines = list(link_lines(view, table.assign(queue_delay_ms=pd.concat(delays)), "queue_delay_ms"))
    _draw(view, lines, _marks(view, "full buffer", lambda path: path.limit_ms), "ms", "queues")


DRAWN_BY: dict[str, Callable[[View], None]] = {
    "cwnd": _cwnd,
    "rtt": _rtt,
    "queue": _queue,
    "queue_delay": _queue_delay,
    "goodput": _goodput,
    "throughput": _throughput,
    "send_queue": partial(_of_sockets, "wmem_queued_bytes", "send queue"),
    "send_buffer": partial(_of_sockets, "sndbuf_bytes", "send buffer"),
}


# ---------------------------------------------------------------- What is no measurement


def shade_warmup(view: View) -> None:
    """Shade what the numbers leave out."""
    ends = {float(record.run.get("warmup_s") or 0.0) for record in view.records}
    if len(ends) == 1 and (end := ends.pop()):
        view.axes.axvspan(0, end, color=PALE, zorder=0, linewidth=0)
        if view.axes is cast("Figure", view.axes.figure).axes[0]:
            at_top(view.axes, "warm-up", is_left=True)


def _marks(view: View, label: str, height: Callable[[names.Path], float | None], *, both: bool = False) -> list[Mark]:
    """Return the mark that all runs have in common, of the bottleneck, or with `both` of its other direction too."""
    records, bottlenecks = view.records, Bottlenecks.of(view.records)
    links = busy_links(view.whole)
    marked = _directions(records, bottlenecks, links) if both else [bottlenecks.link(records[0].run)["link"]]
    # A bound has one name in all panels of a picture, whichever links are busy there.
    is_said = label in OF_A_LINK and (len(links) > 1 or view.bottlenecks.is_one_of_several)
    bounded = [link["link"] for record in view.whole for link in record.run["links"] if is_bounded(link)]
    marks = []
    for name in marked:
        heights = {height(names.Path.of(record.run, bottlenecks, name)) for record in records}
        common = heights.pop() if len(heights) == 1 else None
        of = f" ({direction(name, [name, *bounded])})" if is_said else ""
        marks += [Mark(f"{label}{of}", float(common))] if common else []
    return marks


def _rates(view: View) -> list[Mark]:
    """Return the rate of the bottleneck, in either direction that has a queue; where it varies, shade it."""
    marks = _marks(view, "link rate", lambda path: path.rate_mbps, both=True)
    if not marks:
        capacity(view)
    return marks


def _directions(records: Sequence[Record], bottlenecks: Bottlenecks, links: Sequence[str]) -> list[str]:
    """Return the bottleneck and its other direction, if that is one of the links that have a queue."""
    bottleneck = bottlenecks.link(records[0].run)["link"]
    forward = bottleneck.removesuffix(".reverse")
    return [name for name in (forward, f"{forward}.reverse") if name in {bottleneck, *links}]


def _product_packets(path: names.Path) -> float | None:
    if not path.rate_mbps or len(path.rtts_ms) != 1 or not path.packet_ms:
        return None
    return path.rtts_ms[0] / path.packet_ms


def capacity(view: View) -> None:
    """Shade what a link whose rate varies could have carried, where all runs had the same one.

    Neighbours in a mesh share their radio, so what one of its links could carry says nothing.
    """
    table = view.results.series("links")
    if "capacity_mbps" not in table or any(record.run.get("nodes") for record in view.records):
        return
    bottleneck = Bottlenecks.of(view.records).link(view.records[0].run)["link"]
    runs = [part for _, part in table[table["link"] == bottleneck].groupby("run", sort=True)]
    values = [part["capacity_mbps"].to_numpy() for part in runs]
    if any(len(each) != len(values[0]) or not np.allclose(each, values[0], equal_nan=True) for each in values[1:]):
        return
    x, y = (runs[0][name].to_numpy() for name in ("time_s", "capacity_mbps"))
    (line,) = smooth([Line("", (), 0, 0, x, np.nan_to_num(y))])
    view.axes.fill_between(line.x, line.y, color=SHADE, linewidth=0, zorder=1)
    remark(view.axes, "shaded: what the link could carry")


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
    """Keep of each flow what lies between its first and its last packet in flight, or all if nobody knows those."""
    in_flight = series["in_flight_packets"]
    times = series["time_s"].where((in_flight > 0) | in_flight.isna()).groupby([series["run"], series["flow"]])
    return series[series["time_s"].between(times.transform("min"), times.transform("max"))]


def flow_lines(shown: Shown, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Yield a line for each flow of each run, named by what tells it from the others.

    Colours distinguish the labels of the compared axis, and dashes the other axes and flows. In a lone run colours
    distinguish flows, or their groups where there are many. Looks are those of the whole picture's records.
    """
    by_number = shown.results.by_number
    wheres = {number: names.run_label(record) for number, record in by_number.items()}
    looks = _looks_of_flows(shown)
    for key, rows in table.groupby(["run", "flow"], sort=True):
        number, flow = cast("tuple[int, int]", key)
        record, where = by_number[number], wheres[number]
        look = looks.look(record.point_axes, _place(record, flow))
        group = names.flow_group(record.run["flows"][flow])
        # A run that is called by its control's name need not have it twice.
        is_said = group in where.split() and not record.run["flows"][flow].get("name")
        members = (where if is_said else names.joined(where, group), where or "all flows")
        label = names.flow_label(record.run, where, flow)
        yield Line(label, members, *look, rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float))


def _place(record: Record, flow: int) -> str:
    """Name what of a run a flow looks like: itself alone where there are few, else its group."""
    flows = record.run["flows"]
    return f"#{flow}" if len(flows) <= len(COLOURS) else names.flow_group(flows[flow])


def _looks_of_flows(shown: Shown) -> Looks:
    places = (_place(record, flow) for record in shown.whole for flow in range(len(record.run["flows"])))
    return shown.looks(list(dict.fromkeys(places)))


def link_lines(shown: Shown, table: pd.DataFrame, y: str, x: str = "time_s") -> Iterator[Line]:
    """Yield a line for each run and each link, except links whose queues are almost empty beside the others.

    Looks are those of the whole picture's records, and so are the links.
    """
    by_number = shown.results.by_number
    wheres = {number: names.run_label(record) for number, record in by_number.items()}
    links, looks = busy_links(shown.whole), _looks_of_links(shown)
    for name in links:
        for key, rows in table[table["link"] == name].groupby("run", sort=True):
            number = cast("int", key)
            where = wheres[number]
            own = direction(name, links) if len(links) > 1 else ""
            label = names.joined(where, own) or name
            hue, dash = looks.look(by_number[number].point_axes, name)
            hue += OF_LINKS if looks.axis is None else 0
            members = (label, where or "all links")
            yield Line(label, members, hue, dash, rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float))


def _looks_of_links(shown: Shown) -> Looks:
    return shown.looks(busy_links(shown.whole))


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
