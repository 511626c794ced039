"""Time series: windows, round-trip times, queues and goodputs, with what bounds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.report import names
from unbloat.report.figures.cells import Looks
from unbloat.report.figures.labels import at_top, remark
from unbloat.report.figures.lines import Line, Mark, over_time, smooth
from unbloat.report.figures.style import COLOURS, PALE, SHADE, Size
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import MANY, is_bounded
from unbloat.results.record import Record

if TYPE_CHECKING:
    from unbloat.results.run_set import RunSet

OF_A_LINK = ("buffer", "full buffer", "link rate")
"""Marks that are the bottleneck's, where others are drawn beside it."""
ABOVE = 1.1
"""Goodput that exceeds the link's rate by so much is explained."""
IN_BURSTS = "above the link rate: what waited behind a lost segment is delivered at once"
BUSY = 0.05
"""A link whose queue is not this share of the longest one is not drawn beside it."""
OF_LINKS = 6
"""The first colour of links in a picture whose other colours are flows', so that none of them means both."""


def draw(kind: str, whole: Sequence[Record], results: RunSet, axes: Axes, size: Size, rows: int) -> None:
    """Draw one kind of series of some runs into a panel, with the looks of the whole picture."""
    axes.set_xlim(0, max(record.run["duration_s"] for record in results.records))
    shade_warmup(results.records, axes)
    DRAWN_BY[kind](Panel(whole, results, axes, size, rows))
    axes.set_xlabel("time (s)")


@dataclass(frozen=True)
class Panel:
    """A panel of series: whose, and where."""

    whole: Sequence[Record]
    results: RunSet
    axes: Axes
    size: Size
    rows: int

    def flows(self, column: str) -> list[Line]:
        """Return a line for each flow."""
        return list(flow_lines(self.results, active(self.results.series("flows")), column, whole=self.whole))

    def draw(self, lines: Iterable[Line], marks: Sequence[Mark], unit: str, what: str = "flows", **how: Any) -> None:
        """Draw lines and marks in a unit; a line is named where the whole picture has several."""
        looks = _looks_of_links(self.whole, self.results.records) if what != "flows" else self.looks
        over_time(self.axes, lines, self.size, self.rows, marks, what, unit, is_named=looks.are_several, **how)

    @property
    def looks(self) -> Looks:
        """The looks of flows."""
        return _looks_of_flows(self.whole, self.results.records)

    def marks(self, label: str, height: Callable[[names.Path], float | None], *, both: bool = False) -> list[Mark]:
        """Return the mark that all runs have in common, with `both` of either direction that has a queue."""
        return _marks(self.whole, self.results.records, label, height, both=both)


def _cwnd(panel: Panel) -> None:
    panel.axes.set_ylabel("cwnd (packets)")
    marks = panel.marks("bandwidth-delay product", _product_packets)
    panel.draw(panel.flows("cwnd_packets"), marks, "packets", drawstyle="steps-post")


def _rtt(panel: Panel) -> None:
    panel.axes.set_ylabel("RTT (ms)")
    marks = panel.marks("empty path", lambda path: path.rtts_ms[0] if len(path.rtts_ms) == 1 else None)
    panel.draw(panel.flows("rtt_ms"), marks, "ms")


def _goodput(panel: Panel) -> None:
    panel.axes.set_ylabel("goodput (Mbit/s)")
    marks = panel.marks("link rate", lambda path: path.rate_mbps, both=True)
    if not marks:
        capacity(panel.results, panel.axes)
    lines = smooth(panel.flows("goodput_mbps"))
    panel.draw(lines, marks, "Mbit/s")
    rate = max((mark.height for mark in marks), default=np.inf)
    if len(lines) <= MANY and any(np.nanmax(line.y, initial=0) > ABOVE * rate for line in lines):
        remark(panel.axes, IN_BURSTS)


def _throughput(panel: Panel) -> None:
    panel.axes.set_ylabel("throughput (Mbit/s)")
    table = panel.results.series("links")
    lines = smooth(list(link_lines(panel.results, table, "throughput_mbps", whole=panel.whole)))
    marks = panel.marks("link rate", lambda path: path.rate_mbps, both=True)
    if not marks:
        capacity(panel.results, panel.axes)
    panel.draw(lines, marks, "Mbit/s", "links")


def _send_queue(panel: Panel) -> None:
    _of_sockets(panel, "wmem_queued_bytes", "send queue")


def _send_buffer(panel: Panel) -> None:
    _of_sockets(panel, "sndbuf_bytes", "send buffer")


def _of_sockets(panel: Panel, column: str, name: str) -> None:
    """Draw what a socket holds, or may hold, for its program: data that wait or are on their way."""
    table = panel.results.series("flows")
    if column not in table or not (table[column] > 0).any():
        why = "flows of a host ([host.NAME]) have one in the simulator, and those of a kernel"
        raise InputError(f"there is nothing to draw: no flow has a {name}; {why}")
    panel.axes.set_ylabel(f"{name} (KB)")
    table = active(table.assign(kilobytes=table[column] / 1e3))
    panel.draw(flow_lines(panel.results, table, "kilobytes", whole=panel.whole), [], "KB", drawstyle="steps-post")


def _queue(panel: Panel) -> None:
    panel.axes.set_ylabel("queue (KB)")
    table = panel.results.series("links")
    table = table.assign(queue_kb=table["queue_bytes"] / 1e3)
    lines = link_lines(panel.results, table, "queue_kb", whole=panel.whole)
    marks = panel.marks("buffer", lambda path: path.limit_bytes and path.limit_bytes / 1e3)
    panel.draw(lines, marks, "KB", "queues")


def _queue_delay(panel: Panel) -> None:
    panel.axes.set_ylabel("queueing delay (ms)")
    table = panel.results.series("links")
    delays = [pd.Series(delay_ms(part), part.index) for _, part in table.groupby(["run", "link"])]
    table = table.assign(queue_delay_ms=pd.concat(delays))
    lines = link_lines(panel.results, table, "queue_delay_ms", whole=panel.whole)
    panel.draw(lines, panel.marks("full buffer", lambda path: path.limit_ms), "ms", "queues")


DRAWN_BY: dict[str, Callable[[Panel], None]] = {
    "cwnd": _cwnd,
    "rtt": _rtt,
    "queue": _queue,
    "queue_delay": _queue_delay,
    "goodput": _goodput,
    "throughput": _throughput,
    "send_queue": _send_queue,
    "send_buffer": _send_buffer,
}


# ---------------------------------------------------------------- What is no measurement


def shade_warmup(records: Sequence[Record], axes: Axes) -> None:
    """Shade what the numbers leave out."""
    ends = {float(record.run.get("warmup_s") or 0.0) for record in records}
    if len(ends) == 1 and (end := ends.pop()):
        axes.axvspan(0, end, color=PALE, zorder=0, linewidth=0)
        if axes is cast("Figure", axes.figure).axes[0]:
            at_top(axes, "warm-up", is_left=True)


def _marks(
    whole: Sequence[Record],
    records: Sequence[Record],
    label: str,
    height: Callable[[names.Path], float | None],
    *,
    both: bool = False,
) -> list[Mark]:
    """Return the mark that all runs have in common, of the bottleneck, or with `both` of its other direction too."""
    bottlenecks = Bottlenecks.of(records)
    links = busy_links(whole)
    marked = _directions(records, bottlenecks, links) if both else [bottlenecks.link(records[0].run)["link"]]
    # A bound has one name in all panels of a picture, whichever links are busy there.
    is_said = label in OF_A_LINK and (len(links) > 1 or Bottlenecks.of(whole).is_one_of_several)
    bounded = [link["link"] for record in whole for link in record.run["links"] if is_bounded(link)]
    marks = []
    for name in marked:
        heights = {height(names.Path.of(record.run, bottlenecks, name)) for record in records}
        common = heights.pop() if len(heights) == 1 else None
        of = f" ({direction(name, [name, *bounded])})" if is_said else ""
        marks += [Mark(f"{label}{of}", float(common))] if common else []
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


def capacity(results: RunSet, axes: Axes) -> None:
    """Shade what a link whose rate varies could have carried, where all runs had the same one.

    Neighbours in a mesh share their radio, so what one of its links could carry says nothing.
    """
    table = results.series("links")
    if "capacity_mbps" not in table or any(record.run.get("nodes") for record in results.records):
        return
    bottleneck = Bottlenecks.of(results.records).link(results.records[0].run)["link"]
    runs = [part for _, part in table[table["link"] == bottleneck].groupby("run", sort=True)]
    values = [part["capacity_mbps"].to_numpy() for part in runs]
    if any(len(each) != len(values[0]) or not np.allclose(each, values[0], equal_nan=True) for each in values[1:]):
        return
    x, y = (runs[0][name].to_numpy() for name in ("time_s", "capacity_mbps"))
    (line,) = smooth([Line("", (), 0, 0, x, np.nan_to_num(y))])
    axes.fill_between(line.x, line.y, color=SHADE, linewidth=0, zorder=1)
    at_top(axes, "shaded: what the link could carry")


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


def flow_lines(
    results: RunSet, table: pd.DataFrame, y: str, x: str = "time_s", whole: Sequence[Record] | None = None
) -> Iterator[Line]:
    """Yield a line for each flow of each run, named by what tells it from the others.

    Colours tell the labels of the compared axis apart, and dashes the other axes and flows; colours those of a lone
    run, and where there are many flows, their groups. Looks are those of the whole picture's records.
    """
    wheres = {number: names.run_label(record) for number, record in results.by_number.items()}
    looks = _looks_of_flows(whole or results.records, results.records)
    for key, rows in table.groupby(["run", "flow"], sort=True):
        number, flow = cast("tuple[int, int]", key)
        record, where = results.by_number[number], wheres[number]
        hue, dash = looks.look(record.cell_axes, _place(record, flow))
        group = names.flow_group(record.run["flows"][flow])
        # A run that is called by its control's name need not have it twice.
        is_said = group in where.split() and not record.run["flows"][flow].get("name")
        members = (where if is_said else names.joined(where, group), where or "all flows")
        label = names.flow_label(record.run, where, flow)
        yield Line(label, members, hue, dash, rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float))


def _place(record: Record, flow: int) -> str:
    """Name what of a run a flow looks like: itself alone where there are few, else its group."""
    flows = record.run["flows"]
    return f"#{flow}" if len(flows) <= len(COLOURS) else names.flow_group(flows[flow])


def _looks_of_flows(whole: Sequence[Record], part: Sequence[Record]) -> Looks:
    places = dict.fromkeys(_place(record, flow) for record in whole for flow in range(len(record.run["flows"])))
    return Looks.of(whole, part, list(places))


def link_lines(
    results: RunSet, table: pd.DataFrame, y: str, x: str = "time_s", whole: Sequence[Record] | None = None
) -> Iterator[Line]:
    """Yield a line for each run and each link, except links whose queues are almost empty beside the others.

    Looks are those of the whole picture's records, and so are the links.
    """
    wheres = {number: names.run_label(record) for number, record in results.by_number.items()}
    links = busy_links(whole or results.records)
    looks = _looks_of_links(whole or results.records, results.records)
    for name in links:
        for key, rows in table[table["link"] == name].groupby("run", sort=True):
            number = cast("int", key)
            where = wheres[number]
            own = direction(name, links) if len(links) > 1 else ""
            label = names.joined(where, own) or name
            hue, dash = looks.look(results.by_number[number].cell_axes, name)
            hue += OF_LINKS if looks.axis is None else 0
            members = (label, where or "all links")
            yield Line(label, members, hue, dash, rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float))


def _looks_of_links(whole: Sequence[Record], part: Sequence[Record]) -> Looks:
    return Looks.of(whole, part, busy_links(whole))


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
