"""Names of scenarios, runs, flows, links and paths in tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import Row
from unbloat.results.record import Record, where_ran
from unbloat.results.rows import Run
from unbloat.system.legible import DIGITS, measured

BARE = re.compile(r"on|off|yes|no|true|false|none|[-+.\d]+( ?%)?")
"""Labels that say nothing without their axis: switches, and numbers without a unit."""


def title_of(records: Sequence[Record]) -> str:
    """Name the scenario, and where it ran if that was not the simulator."""
    scenarios = dict.fromkeys(str(record.run["scenario"]) for record in records)
    places = dict.fromkeys(where_ran(record.run) for record in records if record.run["on"] != "simulator")
    return joined_facts([", ".join(scenarios), ", ".join(places)])


def facts_of(records: Sequence[Record]) -> str:
    """Say what all runs have in common: the path, and the congestion control."""
    controls = {flow["cc"] for record in records for flow in record.run["flows"]}
    return joined_facts([path_of(records), controls.pop() if len(controls) == 1 else ""])


def path_of(records: Sequence[Record]) -> str:
    """Say what all paths have in common: rate, round-trip time while nothing waits, buffer.

    For settings that a sweep varies it says "swept". Rate and buffer are the bottleneck's, which is named where there
    are several links. They are left out where a mesh's nodes have the queues.
    """
    bottlenecks = Bottlenecks.of(records)
    paths = [Path.of(record.run, bottlenecks) for record in records]
    words = [list(each) for each in zip(*([p.rate_words, p.rtt_words, p.buffer_words] for p in paths), strict=True)]
    if words and not common(words[-1]):  # The same bytes may be other bandwidth-delay products.
        words[-1] = [each.partition(" (")[0] for each in words[-1]]
    rate, rtt, buffer = map(common, words) if words else ("", "", "")
    if any(record.run.get("nodes") for record in records):
        return rtt
    points = [tuple(record.point_axes.items()) for record in records]
    differing = [what for what, each in zip(("rate", "RTT", "buffer"), words, strict=False) if _is_swept(points, each)]
    swept = f"{listed(differing)} swept" if differing else ""
    if name := bottlenecks.name:
        return joined_facts(
            [rtt, f"{name}: {facts}" if (facts := ", ".join(filter(None, [rate, buffer]))) else "", swept]
        )
    return joined_facts([rate, rtt, buffer, swept])


def _is_swept(points: Sequence[Hashable], words: Sequence[str]) -> bool:
    """Return whether words differ between grid points and agree within each, as those of two sets may."""
    return len(set(words)) > 1 and len(set(zip(points, words, strict=True))) == len(set(points))


def listed(words: Sequence[str]) -> str:
    """Write words as a list: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def joined_facts(facts: Sequence[str]) -> str:
    """Put the facts that are known on a line."""
    return " · ".join(filter(None, facts))


def common(words: Iterable[str]) -> str:
    """Return the word that all are; empty where they differ."""
    found = set(words)
    return found.pop() if len(found) == 1 else ""


@dataclass(frozen=True)
class Path:
    """The bottleneck and the way there and back, as far as the records say it."""

    rate_mbps: float | None
    """None where it varies, or is not known."""
    mean_mbps: float | None
    rtts_ms: tuple[float, ...]
    """The round-trip times of flows on the empty path."""
    limit_bytes: int | None
    limit_packets: int | None
    packet_ms: float | None
    queue: str

    @classmethod
    def of(cls, run: Run, bottlenecks: Bottlenecks, name: str = "") -> Path:
        """Read it from the records of a run, over the link of this name; those of an earlier version say little."""
        row = next((link for link in run["links"] if name and link["link"] == name), bottlenecks.link(run))
        rtts = {flow["base_rtt_ms"] for flow in run["flows"] if flow.get("base_rtt_ms") is not None}
        # The record has the packet time of the slowest forward link; with one link (two directions) it is known which.
        is_slowest = len(run["links"]) == 2 and row is run["links"][0]
        packet_ms = run.get("packet_ms") if is_slowest else None
        limits = [None if limit is None else int(limit) for limit in (row.get("limit_bytes"), row.get("limit_packets"))]
        rates = (row.get("rate_mbps"), row.get("rate_mbps_mean"))
        return cls(*rates, tuple(sorted(rtts)), limits[0], limits[1], packet_ms, row.get("queue_kind") or "")

    @property
    def rate_words(self) -> str:
        """The rate with its unit."""
        if self.rate_mbps is not None:
            return rate_words(self.rate_mbps)
        return f"{rate_words(self.mean_mbps)} in the mean" if self.mean_mbps else ""

    @property
    def rtt_words(self) -> str:
        """The round-trip time, or the range of them."""
        if not self.rtts_ms:
            return ""
        ends = dict.fromkeys(measured(rtt, DIGITS) for rtt in (self.rtts_ms[0], self.rtts_ms[-1]))
        return f"RTT {' to '.join(ends)} ms"

    @property
    def buffer_words(self) -> str:
        """The kind of queue, and its room, in bandwidth-delay products too where that is simple."""
        kind = "" if self.queue == "droptail" else self.queue
        if self.limit_bytes is not None:
            room = size_words(self.limit_bytes)
        elif self.limit_packets is not None:
            room = f"{self.limit_packets} packets"
        else:
            return kind
        products = "" if self.products is None or kind else f" ({measured(self.products, 2)} BDP)"
        return f"{kind or 'buffer'} {room}{products}"

    @property
    def products(self) -> float | None:
        """The buffer in bandwidth-delay products; none where flows have different round-trip times."""
        if self.limit_bytes is None or not self.mean_mbps or len(self.rtts_ms) != 1 or not self.rtts_ms[0]:
            return None
        return self.limit_bytes * 8 / (self.mean_mbps * 1e3 * self.rtts_ms[0])

    @property
    def limit_ms(self) -> float | None:
        """The time that a full buffer takes to send; none where the rate varies."""
        if not self.rate_mbps:
            return None
        if self.limit_bytes is not None:
            return self.limit_bytes * 8 / (self.rate_mbps * 1e3)
        return None if self.limit_packets is None or not self.packet_ms else self.limit_packets * self.packet_ms


def rate_words(mbps: float) -> str:
    """Write a rate with the unit that suits it."""
    for factor, unit in ((1e-3, "Gbit/s"), (1.0, "Mbit/s")):
        if mbps * factor >= 1:
            return f"{measured(mbps * factor, DIGITS)} {unit}"
    return f"{measured(mbps * 1e3, DIGITS)} kbit/s"


def size_words(size: float) -> str:
    """Write a number of bytes with the unit that suits it."""
    for factor, unit in ((1e6, "MB"), (1e3, "kB")):
        if size >= factor:
            return f"{measured(size / factor, DIGITS)} {unit}"
    return f"{size:g} bytes"


# ---------------------------------------------------------------- Runs and flows


def run_label(record: Record) -> str:
    """Name a run by its labels on the axes; a lone run needs no name."""
    unsound = "" if record.is_sound else "unsound"
    return " ".join(filter(None, [point_label(record.point_axes), unsound]))


def point_label(axes: Mapping[str, str]) -> str:
    """Name a grid point by its labels on some axes."""
    return " ".join(axis_label(axis, label) for axis, label in axes.items())


def axis_label(axis: str, label: str) -> str:
    """Return a label, after its axis if it says nothing alone: `small_queues off`, `count 3`."""
    return f"{short_name(axis)} {label}" if BARE.fullmatch(label) else label


def short_name(axis: str) -> str:
    """Name an axis by its last word; by the last two where that says too little alone."""
    parts = [part for part in axis.split(".") if not part.isdigit() and part != "*"]
    return " ".join(parts[-2:]) if parts[-1] in ("limit", "kind", "target", "rate", "delay") else parts[-1]


def flow_group(flow: Row) -> str:
    """Name what a flow belongs to: by its group's name, or its congestion control."""
    return str(flow.get("name") or flow["cc"])


def flow_label(run: Run, where: str, number: int) -> str:
    """Name a flow of the run that is called `where`, by its group, and by its number where that has several."""
    flows = run["flows"]
    group = flow_group(flows[number])
    several = sum(flow_group(flow) == group for flow in flows) > 1
    return joined(where, "" if group in where.split() and not flows[number].get("name") else group) + (
        f" #{number}" if several else ""
    )


def flow_words(row: Row) -> int | str:
    """Return a flow's number, or what a mean is of, with the name of its group if that has one."""
    number, name = row["flow"], row.get("name")
    if isinstance(number, int):
        return f"{number} {name}" if name else number
    return f"{name}: {number}" if name else str(number)


def joined(where: str, what: str) -> str:
    """Put the name of a run before that of something in it."""
    return f"{where}: {what}" if where and what else where or what


def are_flows_reported(records: Sequence[Record]) -> bool:
    """Return whether flows have names, other congestion controls or an end, so that each is of interest."""
    return any(
        len({flow["cc"] for flow in record.run["flows"]}) > 1
        or any(flow.get("name") or flow.get("completion_s") is not None for flow in record.run["flows"])
        for record in records
    )
