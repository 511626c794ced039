"""Network meters held against a line whose queue is known: what each prints, and what the queue says."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from unbloat.lab.line_waits import WARM_UP, WAYS, Queue, both_ms
from unbloat.report.report import Report, Table
from unbloat.report.table import Column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unbloat.line.arrays import Numbers

    Mask = NDArray[np.bool_]

Phase = Literal["up", "down", "both"]
"""The direction of the load under which a meter measures."""
PHASES: tuple[Phase, ...] = ("up", "down", "both")

# ---------------------------------------------------------------- Lines


@dataclass(frozen=True)
class Line:
    """A line with known truth."""

    name: str
    title: str
    base_rtt_ms: float
    up_mbps: float
    down_mbps: float
    kind: Literal["fifo", "fq_codel", "policer"]
    up: str
    """The keys of the upload direction, but for the delay."""
    down: str

    @property
    def text(self) -> str:
        """Write the line as a scenario file."""
        lines = [
            f'name = "{self.name}"\nduration = "90s"',
            f'[link.line]\n{self.up}\ndelay = "{self.base_rtt_ms / 2:g}ms"',
            f"[link.line.reverse]\n{self.down}",
            '[[flows]]\nname = "upload"\ncc = "kernel:cubic"',
        ]
        return "\n\n".join(lines) + "\n"


def _fifo(mbps: int, buffer_ms: int) -> str:
    size = mbps * buffer_ms * 125
    return f'rate = "{mbps}mbit"\nqueue = {{ kind = "droptail", limit = "{size}b" }}'


def _fair(mbps: int) -> str:
    return f'rate = "{mbps}mbit"\nqueue = {{ kind = "kernel:fq_codel" }}'


def _policed(mbps: int, wire_mbps: int, burst_ms: int) -> str:
    cut = f'policer = {{ rate = "{mbps}mbit", burst = "{mbps * burst_ms * 125}b" }}'
    return f"{_fifo(wire_mbps, 100)}\n{cut}"


LINES = (
    Line("dsl", "DSL: FIFOs of 1 s up and 200 ms down", 30, 5, 20, "fifo", _fifo(5, 1000), _fifo(20, 200)),
    Line("fair", "FQ-CoDel both ways", 30, 2, 10, "fq_codel", _fair(2), _fair(10)),
    Line("policed", "policers with bursts of 50 ms", 30, 4, 10, "policer", _policed(4, 40, 50), _policed(10, 40, 50)),
)


# ---------------------------------------------------------------- Readings


@dataclass(frozen=True)
class Reading:
    """A number that a meter printed, or the reason for a missing one."""

    meter: str
    says: str
    """The meter's name for the number."""
    phase: Phase
    value: float | None = None
    unit: str = ""
    rtt_ms: float | None = None
    """The round-trip time under load that follows from the number."""
    idle_ms: float | None = None
    """The round-trip time of the idle line that the meter itself gives."""
    added_ms: float | None = None
    """Milliseconds added, if the meter itself gives them."""
    is_mean: bool = False
    """The number is a mean; otherwise it is a median."""
    left_out: float = 0.0
    """The share of the load, from its beginning, that the number leaves out."""
    failure: str = ""

    def added(self, base_rtt_ms: float) -> float | None:
        """Return the milliseconds that the load added; without an idle value of the meter, over the true base."""
        if self.added_ms is not None or self.rtt_ms is None:
            return self.added_ms
        return self.rtt_ms - (base_rtt_ms if self.idle_ms is None else self.idle_ms)


@dataclass(frozen=True)
class Rate:
    """A rate that a meter printed."""

    meter: str
    says: str
    way: Literal["up", "down"]
    phase: Phase
    mbps: float
    left_out: float = 0.0
    """The share of the load, from its beginning, that the number leaves out."""


Found = tuple[list[Reading], list[Rate]]
"""The readings and the rates of a meter."""


def read(session: str, sections: Mapping[str, str]) -> Found:
    """Read what the meters of a session printed; a meter whose output has no number gets a reading with the reason."""
    readings: list[Reading] = []
    rates: list[Rate] = []
    for meter, phase, section, parse in SESSIONS[session]:
        text = sections.get(section, "")
        try:
            found = parse(meter, phase, text)
        except (ValueError, KeyError, TypeError, IndexError):
            found = ([Reading(meter, "", phase, failure=_last_line(text))], [])
        readings += found[0]
        rates += found[1]
    return readings, rates


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "printed nothing"


def sections_of(text: str) -> dict[str, str]:
    """Cut the output of a session into that of its programs: each begins with a line `@@ NAME`."""
    found: dict[str, str] = {}
    for part in re.split(r"^@@ ", text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        found[name.strip()] = body
    return found


def _whole(text: str) -> Any:
    """Return the JSON object in a text with other lines around it."""
    begin = re.search(r"^\{", text, re.MULTILINE)
    if begin is None:
        raise ValueError("no JSON")
    found, _ = json.JSONDecoder().raw_decode(text[begin.start() :])
    return found


def _found(pattern: str, text: str) -> list[float]:
    """Return the numbers of the last match; raises `ValueError` if there is none."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        raise ValueError(pattern)
    return [float(group) for group in matches[-1].groups()]


def _way(phase: Phase) -> Literal["up", "down"]:
    return "down" if phase == "down" else "up"


def iperf3(meter: str, phase: Phase, text: str) -> Found:
    """Read `iperf3 -J`: the smoothed round-trip time of its own connection, and the rates at both ends."""
    end = _whole(text)["end"]
    rtt_ms = end["streams"][0]["sender"]["mean_rtt"] / 1e3
    rates = [
        Rate(meter, says, _way(phase), phase, end[key]["bits_per_second"] / 1e6)
        for says, key in (("sent", "sum_sent"), ("received", "sum_received"))
    ]
    return [Reading(meter, "mean_rtt", phase, rtt_ms, "ms", rtt_ms=rtt_ms or None, is_mean=True)], rates


def iperf3_udp(meter: str, phase: Phase, text: str) -> Found:
    """Read `iperf3 -u -J`: jitter, loss, and the rate that arrived."""
    total = _whole(text)["end"]["sum_received"]
    readings = [
        Reading(meter, "jitter", phase, total["jitter_ms"], "ms"),
        Reading(meter, "lost", phase, total["lost_percent"], "%"),
    ]
    return readings, [Rate(meter, "received", _way(phase), phase, total["bits_per_second"] / 1e6)]


PING = r"rtt min/avg/max/mdev = ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms"


def ping(meter: str, phase: Phase, text: str) -> Found:
    """Read two summaries of `ping`: that of the idle line, and that under load."""
    idle, loaded = text.split(LOADED)
    mean_ms, deviation_ms = (_found(PING, loaded)[place] for place in (1, 3))
    readings = [
        Reading(meter, "avg", phase, mean_ms, "ms", rtt_ms=mean_ms, idle_ms=_found(PING, idle)[1], is_mean=True),
        Reading(meter, "mdev", phase, deviation_ms, "ms"),
    ]
    return readings, []


LOADED = "-- loaded\n"
"""The line between what a probe prints about the idle line and under load."""


def irtt(meter: str, phase: Phase, text: str) -> Found:
    """Read two results of `irtt client -o -`: that of the idle line, and that under load."""
    idle, loaded = (_whole(part)["stats"] for part in text.split(LOADED))
    median_ms, jitter_ms = loaded["rtt"]["median"] / 1e6, loaded["ipdv_round_trip"]["mean"] / 1e6
    readings = [
        Reading(meter, "median RTT", phase, median_ms, "ms", rtt_ms=median_ms, idle_ms=idle["rtt"]["median"] / 1e6),
        Reading(meter, "IPDV", phase, jitter_ms, "ms"),
    ]
    return readings, []


def nuttcp(meter: str, phase: Phase, text: str) -> Found:
    """Read the line of `nuttcp`."""
    mbps, rtt_ms = _found(r"= +([\d.]+) Mbps .* ([\d.]+) msRTT", text)
    return [Reading(meter, "msRTT", phase, rtt_ms, "ms", rtt_ms=rtt_ms)], [
        Rate(meter, "received", _way(phase), phase, mbps)
    ]


def bounceback(meter: str, phase: Phase, text: str) -> Found:
    """Read the lines of each interval of `iperf --bounceback`: requests, and their mean time."""
    lines = re.findall(r"sec .* (\d+)=([\d.]+)/[\d.]+/[\d.]+/[\d.]+ ms .* rps", text)
    requests = sum(int(count) for count, _ in lines)
    if not requests:
        raise ValueError("no requests")
    mean_ms = sum(int(count) * float(each) for count, each in lines) / requests
    return [Reading(meter, "BB avg", phase, mean_ms, "ms", rtt_ms=mean_ms, is_mean=True)], []


def bbperf(meter: str, phase: Phase, text: str) -> Found:
    """Read the summary of `bbperf`: medians without the seconds in which it lets the load grow."""
    found = _whole(text)
    rtt_ms = found["loaded_rtt_ms"]["p50"]
    left_out = BBPERF_GROWS_S / (BBPERF_GROWS_S + LOAD_S)
    reading = Reading(
        meter, "loaded RTT p50", phase, rtt_ms, "ms", rtt_ms=rtt_ms, idle_ms=found["unloaded_rtt_ms"], left_out=left_out
    )
    mbps = found["receiver_throughput_rate_mbps"]["p50"]
    return [reading], [Rate(meter, "received p50", _way(phase), phase, mbps, left_out)]


LOAD_S = 12
"""Seconds of load of the meters that let the user choose."""
BBPERF_GROWS_S = 5
"""Seconds of load before those."""


def flent(meter: str, phase: Phase, text: str) -> Found:
    """Read the summary of `flent rrul_be`: means over the whole test, with the idle seconds around the load."""

    def mean(series: str) -> float:
        return _found(rf"(?m)^ *{re.escape(series)} +: +([\d.]+)", text)[0]

    means = {series: mean(f"Ping (ms) {series}") for series in ("ICMP", "UDP BE1", "avg")}
    readings = [
        Reading(meter, f"Ping {series}", phase, rtt_ms, "ms", rtt_ms=rtt_ms, is_mean=True)
        for series, rtt_ms in means.items()
    ]
    return readings, [Rate(meter, f"TCP {name} sum", way, phase, mean(f"TCP {name} sum")) for name, way in FLENT]


FLENT: tuple[tuple[str, Literal["up", "down"]], ...] = (("upload", "up"), ("download", "down"))


def mach(meter: str, phase: Phase, text: str) -> Found:
    """Read the report of `mach rpm`: round trips a minute, and the median of the probes in the load's connections."""
    found = _whole(text)
    load = found["download" if phase == "down" else "upload"]
    idle_ms, loaded_ms = found["unloaded_latency_ms"], load["loaded_latency_ms"]
    readings = [
        Reading(meter, "rpm", phase, load["rpm"], "RPM", rtt_ms=60e3 / load["rpm"], idle_ms=idle_ms, is_mean=True),
        Reading(meter, "loaded latency", phase, loaded_ms, "ms", rtt_ms=loaded_ms, idle_ms=idle_ms),
    ]
    return readings, [Rate(meter, "throughput", _way(phase), phase, load["throughput"] / 1e6)]


def unbloat_line(meter: str, phase: Phase, text: str) -> Found:
    """Read what `unbloat line --json` prints about a phase of load."""
    found = _whole(text)
    ways: tuple[Literal["up", "down"], ...] = ("up", "down") if phase == "both" else (phase,)
    loads = [(way, found["both"][way] if phase == "both" else found[way]) for way in ways]
    load = loads[0][1]
    readings = [
        Reading(meter, "added_ms", phase, load["added_ms"], "ms", added_ms=load["added_ms"], left_out=WARM_UP),
        Reading(
            meter, "rpm", phase, load["rpm"], "RPM", rtt_ms=60e3 / load["rpm"] if load["rpm"] else None,
            idle_ms=found["idle_rtt_ms"], is_mean=True, left_out=WARM_UP,
        ),
    ]  # fmt: skip
    return readings, [Rate(meter, "rate", way, phase, each["rate_mbps"], WARM_UP) for way, each in loads]


Parser = Callable[[str, Phase, str], Found]
SESSIONS: dict[str, tuple[tuple[str, Phase, str, Parser], ...]] = {
    "up": (
        ("iperf3", "up", "iperf3", iperf3),
        ("ping beside iperf3", "up", "ping", ping),
        ("irtt beside iperf3", "up", "irtt", irtt),
    ),
    "down": (
        ("iperf3", "down", "iperf3", iperf3),
        ("ping beside iperf3", "down", "ping", ping),
        ("irtt beside iperf3", "down", "irtt", irtt),
    ),
    "udp": (("iperf3 -u", "up", "iperf3", iperf3_udp),),
    "nuttcp": (("nuttcp", "up", "nuttcp", nuttcp),),
    "iperf2": (("iperf 2 --bounceback", "both", "iperf", bounceback),),
    "bbperf-up": (("bbperf", "up", "bbperf", bbperf),),
    "bbperf-down": (("bbperf", "down", "bbperf", bbperf),),
    "flent": (("flent rrul_be", "both", "flent", flent),),
    "mach": (("mach rpm", "up", "mach", mach), ("mach rpm", "down", "mach", mach)),
    "unbloat": tuple(("unbloat line", phase, "unbloat", unbloat_line) for phase in PHASES),
}
"""The meters of each session: name, phase of load, section of the output, parser."""


# ---------------------------------------------------------------- What the queue says

SMOOTH_S, GAP_S = 1.0, 2.0
LOADED_SHARE = 0.2
"""The share of the rate above which a direction counts as loaded; acknowledgements need less."""
LEAST_S, BOTH_S = 1.0, 2.0
"""The shortest phase, and the shortest time of load both ways that is more than a queue that empties."""


@dataclass(frozen=True)
class Truth:
    """What the queues say about one phase of load, step by step."""

    step_s: float
    waits_ms: Numbers
    """The waits of a packet of another connection and of its answer."""
    waiting_bytes: dict[str, Numbers]
    """The queue of each loaded direction."""
    sent_bytes: dict[str, Numbers]
    """What each loaded direction transmitted in each step, with headers."""

    def wait_ms(self, reading: Reading) -> float:
        """Return the wait of another connection, by the statistic of a reading, over the time that it covers."""
        import numpy as np

        waits = self.waits_ms[self._first(reading) :]
        return float(np.mean(waits) if reading.is_mean else np.median(waits))

    def load_ms(self, reading: Reading) -> float:
        """Return the mean wait of the load's own packets over the time of a reading, by Little's law."""
        first = self._first(reading)
        return sum(
            1e3 * self.step_s * float(waiting[first:].sum()) / max(float(self.sent_bytes[way][first:].sum()), 1.0)
            for way, waiting in self.waiting_bytes.items()
        )

    def carried_mbps(self, rate: Rate) -> float | None:
        """Return the mean rate of a direction over the time of a meter's rate, with headers."""
        sent = self.sent_bytes.get(rate.way)
        return None if sent is None else float(sent[self._first(rate) :].mean()) * 8e-6 / self.step_s

    def _first(self, found: Reading | Rate) -> int:
        return int(found.left_out * len(self.waits_ms))


def loads(line: Line, queues: Mapping[str, Queue], phases: Container[Phase]) -> dict[Phase, Mask]:
    """Return when the line carried load up, down, and both ways at once.

    `phases` are the loads that the meter makes. Meters that load both ways do so last. Once they do, acknowledgements
    that wait may starve one direction, which is still loaded.
    """
    import numpy as np

    up, down = (_loaded(queues[way], mbps) for way, mbps in (("up", line.up_mbps), ("down", line.down_mbps)))
    both = np.zeros(len(up), bool)
    if "up" not in phases and "down" not in phases:
        return {"both": up | down}
    for start, stop in _runs(up & down):
        if stop - start >= BOTH_S / _step_s(queues["up"]):
            both[start:] = (up | down)[start:]
            break
    return {"up": _longest(up & ~down & ~both), "down": _longest(down & ~up & ~both), "both": both}


def _longest(mask: Mask) -> Mask:
    """Leave the longest time of a mask: programs that warm up load the line shortly, too."""
    import numpy as np

    found = np.zeros(len(mask), bool)
    if runs := _runs(mask):
        start, stop = max(runs, key=lambda run: run[1] - run[0])
        found[start:stop] = True
    return found


def _runs(mask: Mask) -> list[tuple[int, int]]:
    """Return where a mask is true without a gap: the first place, and the one after the last."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(int)))
    return [(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _loaded(queue: Queue, mbps: float) -> Mask:
    """Return when a direction carried load; short gaps count as load."""
    import numpy as np

    step_s = _step_s(queue)
    width = max(1, round(SMOOTH_S / step_s))
    carried = np.diff(queue.sent_bytes, prepend=queue.sent_bytes[0]) * 8e-6 / step_s
    busy = np.convolve(carried, np.ones(width) / width, mode="same") > LOADED_SHARE * mbps
    at = np.flatnonzero(busy)
    for first, last in itertools.pairwise(at):
        if last - first <= GAP_S / step_s:
            busy[first:last] = True
    return np.asarray(busy, bool)


def truths(line: Line, queues: Mapping[str, Queue], phases: Container[Phase] = PHASES) -> dict[Phase, Truth]:
    """Return what the queues say about each phase of load that lasted; `phases` are the loads that the meter makes."""
    import numpy as np

    step_s = _step_s(queues["up"])
    sparse = {way: _sparse_waits(line, queues[way]) for way in WAYS}
    sums = both_ms(queues, sparse, queues["up"].time_s)
    found: dict[Phase, Truth] = {}
    for phase, mask in loads(line, queues, phases).items():
        if mask.sum() * step_s < LEAST_S:
            continue
        ways = WAYS if phase == "both" else (phase,)
        waiting = {way: queues[way].waiting_bytes[mask] for way in ways}
        sent = {way: np.diff(queues[way].sent_bytes, prepend=0.0)[mask] for way in ways}
        found[phase] = Truth(step_s, sums[mask], waiting, sent)
    return found


def _sparse_waits(line: Line, queue: Queue) -> NDArray[np.floating[Any]]:
    """Return how long a packet of another connection waits that arrives at each step.

    A fair queue sends the packets of a sparse flow first: they wait for the packet in transmission only.
    """
    from dataclasses import replace

    import numpy as np

    if line.kind != "fq_codel":
        return queue.waits_ms("fifo")
    first = replace(queue, waiting_bytes=np.minimum(queue.waiting_bytes, 1e-9))
    return first.waits_ms("fifo")


def _step_s(queue: Queue) -> float:
    import numpy as np

    return float(np.median(np.diff(queue.time_s)))


# ---------------------------------------------------------------- The tables


@dataclass(frozen=True)
class Held:
    """A session on a line: what its meters printed, beside what the queues say."""

    line: Line
    readings: Sequence[Reading]
    rates: Sequence[Rate]
    truths: Mapping[Phase, Truth]


def held(line: Line, session: str, output: str, queues: Mapping[str, Queue] | None) -> Held:
    """Hold the output of a session against the queues of its line."""
    sections = sections_of(output)
    if not sections:
        sections = {section: output for _, _, section, _ in SESSIONS[session]}
    readings, rates = read(session, sections)
    phases = {phase for _, phase, _, _ in SESSIONS[session]}
    return Held(line, readings, rates, truths(line, queues, phases) if queues else {})


LEAST_WAIT_MS = 5.0
"""The shortest true wait that a ratio is taken of."""


def report(rows: Sequence[Held]) -> Report:
    """Lay out an overview of milliseconds added, all numbers line by line, and the rates."""
    lines = list(dict.fromkeys(row.line for row in rows))
    parts: list[str | Table] = [Table(_overview(rows, lines), "Milliseconds added, for the true ones")]
    for line in lines:
        mine = [(reading, row) for row in rows if row.line == line for reading in row.readings]
        parts.append(Table(_readings(mine), f"Delays on {line.title}"))
    for line in lines:
        rates = [(rate, row) for row in rows if row.line == line for rate in row.rates]
        parts.append(Table(_rates(rates), f"Rates on {line.title}"))
    return Report(parts)


def _overview(rows: Sequence[Held], lines: Sequence[Line]) -> list[Column]:
    """Return a row for each number that converts to milliseconds added, and a column for each line."""
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        for reading in row.readings:
            added, truth = reading.added(row.line.base_rtt_ms), row.truths.get(reading.phase)
            if added is not None and truth:
                place = cells.setdefault((reading.meter, reading.phase, reading.says), {})
                place[row.line.name] = f"{_short(added)} for {_short(truth.wait_ms(reading))}"
    heads = ("meter", "load", "number")
    columns = [Column(head, "", [key[place] for key in cells]) for place, head in enumerate(heads)]
    return columns + [Column(line.name, "", [found.get(line.name, "-") for found in cells.values()]) for line in lines]


def _readings(mine: Sequence[tuple[Reading, Held]]) -> list[Column]:
    added = [reading.added(row.line.base_rtt_ms) for reading, row in mine]
    truths = [row.truths.get(reading.phase) for reading, row in mine]
    waits = [truth.wait_ms(reading) if truth else None for truth, (reading, _) in zip(truths, mine, strict=True)]
    own = [_number(truth.load_ms(reading) if truth else None) for truth, (reading, _) in zip(truths, mine, strict=True)]
    pairs = list(zip(added, waits, strict=True))
    return [
        Column("meter", "", [reading.meter for reading, _ in mine]),
        Column("load", "", [reading.phase for reading, _ in mine]),
        Column("number", "", [reading.says or "-" for reading, _ in mine]),
        Column("it prints", "", [_printed(reading) for reading, _ in mine], is_right=True),
        Column("added", "ms", [_number(each) for each in added], is_right=True),
        Column("true wait", "ms", [_number(each) for each in waits], is_right=True),
        Column("wait of the load", "ms", own, is_right=True),
        Column("ratio", "", [_ratio(*pair) for pair in pairs], is_right=True),
    ]


def _printed(reading: Reading) -> str:
    if reading.failure or reading.value is None:
        return reading.failure or "-"
    return f"{_short(reading.value)} {reading.unit}".strip()


def _ratio(added_ms: float | None, wait_ms: float | None) -> str:
    if added_ms is None or wait_ms is None or wait_ms < LEAST_WAIT_MS:
        return "-"
    return f"{added_ms / wait_ms:.2f}"


def _rates(mine: Sequence[tuple[Rate, Held]]) -> list[Column]:
    carried = [truth.carried_mbps(rate) if (truth := row.truths.get(rate.phase)) else None for rate, row in mine]
    return [
        Column("meter", "", [rate.meter for rate, _ in mine]),
        Column("load", "", [rate.phase for rate, _ in mine]),
        Column("number", "", [rate.says for rate, _ in mine]),
        Column("way", "", [rate.way for rate, _ in mine]),
        Column("it prints", "Mbit/s", [_number(rate.mbps) for rate, _ in mine], is_right=True),
        Column("the line carried", "Mbit/s", [_number(each) for each in carried], is_right=True),
        Column("rate of the line", "Mbit/s", [_number(_mbps(row.line, rate.way)) for rate, row in mine], is_right=True),
    ]


def _mbps(line: Line, way: str) -> float:
    return line.up_mbps if way == "up" else line.down_mbps


def _number(value: float | None) -> str:
    return "-" if value is None else _short(value)


def _short(value: float) -> str:
    """Write a number with three digits at most behind the first that counts, and without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
