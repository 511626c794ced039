"""A line as a few numbers: its scenario, and the measurement that a client would make on it, simulated."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, get_args

from unbloat import _core
from unbloat.line.measurement import DIRECTIONS, About, Direction, Measurement, PhaseName, measurement_of
from unbloat.line.streams import Stream, read_streams
from unbloat.scenarios.source import written
from unbloat.system.paths import ALGORITHMS

if TYPE_CHECKING:
    import pandas as pd

    from unbloat.line.arrays import Numbers

Discipline = Literal["fifo", "drophead", "fq_codel", "fq_pie", "codel", "pie", "policer"]
"""What happens to packets that arrive faster than the line carries them; the keys of the scenario differ."""
DISCIPLINES: tuple[Discipline, ...] = get_args(Discipline)
Kind = Literal["fifo", "fair", "aqm", "policer", "varying", "unknown"]
"""A class of disciplines, as `unbloat line --json` names it."""
KINDS: dict[Discipline, Kind] = {
    "fifo": "fifo",
    "drophead": "fifo",
    "fq_codel": "fair",
    "fq_pie": "fair",
    "codel": "aqm",
    "pie": "aqm",
    "policer": "policer",
}

LINK = "line"
"""The name of the scenario's link; its forward direction is up."""
FREE = "free"
"""A link without delay that takes answers back, so that a probe sees one direction only."""
PROBE_BYTES = 76
"""The IP length of a probe: 48 bytes of payload, UDP and IPv4."""
PACKET_BYTES = 1500
"""The IP length of a full packet."""
PAYLOAD_BYTES = 1448
"""The payload of a full packet with timestamps."""
HEADERS = PACKET_BYTES / PAYLOAD_BYTES
"""Bytes that the line carries for each byte of payload."""
LOAD: dict[PhaseName, tuple[Direction, ...]] = {"idle": (), "down": ("down",), "up": ("up",), "both": ("down", "up")}
"""The directions that carry load in each phase."""
FOREIGN_BYTES, FOREIGN_SHARE, FOREIGN_PAUSE_S = 1500, 0.03, 0.04
"""The bytes of a request on a new connection in one direction, the share of the slower one, and the least pause."""
OWN_BYTES, OWN_SHARE, OWN_PAUSE_S = 120, 0.03, 0.02
"""The bytes of a request on a loaded connection, the share of the slower direction, and the least pause."""
LEAST_RATIO, LEAST_BPS = 0.2, 250e3
"""A direction that nothing has loaded yet counts as so much slower than the other, but as fast as nearly all lines."""
FIRST_ASKED_S = 0.25
"""When the first requests of a phase are sent."""
MOST_PAUSE_S = 3.0
"""The longest time between two requests of a kind."""
UNKNOWN_PAUSE_S = 0.2
"""The time between requests while the rate is unknown."""
IDLE_PAUSE_S = 0.5
"""The time between requests on the empty line."""
INTERVAL_S = 0.5
"""The time over which the client averages goodputs."""
LEAST_SHARE_BPS = 2e6
"""The goodput that a connection should have; one more opens only if all can have it."""
MEASURED_STEP_S, FITTED_STEP_S = 0.001, 0.005
"""The time from one sample of the series to the next, in a measurement and in simulations that are compared with one.

Few probes may arrive in one such time: the series knows the delay of the last of them alone.
"""
LONGEST_WAIT_S = 8.0
"""How long an answer is waited for after the last probe."""


@dataclass(frozen=True)
class Side:
    """One direction of a line."""

    rate_bps: float
    """The rate at which it carries packets; of a policer, the rate of its tokens."""
    buffer_bytes: float = 0.0
    """The room for waiting packets; of fair queues and AQMs, their limit."""
    discipline: Discipline = "fifo"
    loss_percent: float = 0.0
    """Packets that are lost at random."""
    loss_burst: float = 1.0
    """How many packets in a row are lost at once, in the mean."""
    burst_bytes: float = 0.0
    """The bytes that a policer lets pass at once after a pause."""
    line_bps: float = 0.0
    """The rate of the line itself where a policer cuts; 0 is ten times the rate of the tokens."""
    target_s: float = 0.0
    """The target of the delay of a fair queue or an AQM; 0 is the discipline's default."""
    rates: tuple[tuple[float, float], ...] = ()
    """Changes of the rate: when, in seconds since the measurement began, and to how many bit/s."""

    in_packets: bool = False
    """The buffer counts packets, so that a small one takes the room of a full one."""

    @property
    def kind(self) -> Kind:
        """The class of the queue, as `unbloat line --json` names it."""
        return "varying" if self.rates else KINDS[self.discipline]

    @property
    def buffer_s(self) -> float:
        """The time that a full buffer takes to drain."""
        return self.buffer_bytes * 8 / self.rate_bps


@dataclass(frozen=True)
class Line:
    """A line between this computer and a far end."""

    up: Side
    down: Side
    base_rtt_s: float
    """Twice the propagation delay, without the time that packets take to be sent."""

    def side(self, direction: Direction) -> Side:
        """Return one direction."""
        return self.up if direction == "up" else self.down

    def replaced(self, direction: Direction, **changes: Any) -> Line:
        """Return the line with something else in one direction."""
        side = replace(self.side(direction), **changes)
        return replace(self, up=side) if direction == "up" else replace(self, down=side)

    def link(self) -> dict[str, Any]:
        """Return the table `link.line` of its scenario."""
        delay = {"delay": round(self.base_rtt_s / 2, 6)}
        return {**_direction(self.up), **delay, "reverse": _direction(self.down)}


def _direction(side: Side) -> dict[str, Any]:
    """Return the keys of one direction of the link."""
    keys: dict[str, Any] = {"rate": round(side.rate_bps), "queue": _queue(side)}
    if side.discipline == "policer":
        keys["rate"] = round(side.line_bps or 10 * side.rate_bps)
        burst = f"{max(PACKET_BYTES, round(side.burst_bytes))}b"
        keys["policer"] = {"rate": round(side.rate_bps), "burst": burst}
    if side.loss_percent:
        keys["loss"] = _loss(side)
    if side.rates:
        keys["rates"] = [{"at": round(at, 6), "rate": round(rate)} for at, rate in side.rates]
    return keys


def _loss(side: Side) -> str | dict[str, str]:
    """Return the losses of one direction: one by one, or in bursts by the model of Gilbert."""
    if side.loss_burst <= 1.0:
        return f"{side.loss_percent:.6f}%"
    share = min(0.5, side.loss_percent / 100)
    ends = 1 / side.loss_burst
    return {"kind": "gemodel", "p": f"{100 * ends * share / (1 - share):.6f}%", "r": f"{100 * ends:.4f}%"}


def _queue(side: Side) -> dict[str, Any]:
    """Return the queue of one direction."""
    is_managed = KINDS[side.discipline] in ("fair", "aqm")
    if side.in_packets or is_managed:
        limit = f"{max(1, round(side.buffer_bytes / PACKET_BYTES))}p"
    else:
        limit = f"{max(PACKET_BYTES, round(side.buffer_bytes))}b"
    if is_managed:
        target = {"target": round(side.target_s, 6)} if side.target_s else {}
        return {"kind": side.discipline, **target, **({"limit": limit} if side.buffer_bytes else {})}
    return {"kind": "drophead" if side.discipline == "drophead" else "droptail", "limit": limit}


def scenario(line: Line, duration_s: float = 30.0) -> dict[str, Any]:
    """Return a scenario of the line with an upload, a download and a call."""
    return {
        "name": LINK,
        "duration": duration_s,
        "link": {LINK: line.link()},
        "flows": [
            {"name": "upload", "cc": "cubic"},
            {"name": "download", "cc": "cubic", "reverse": True},
            {"name": "call", "app": "voice"},
        ],
    }


Starts = Mapping[PhaseName, Mapping[Direction, Sequence[float]]]
"""When connections open, in seconds since their phase's load began, in the order of their numbers."""


@dataclass(frozen=True)
class Plan:
    """How a line is measured."""

    idle_s: float = 3.0
    down_s: float = 4.0
    up_s: float = 4.0
    both_s: float = 4.0
    """How long each phase lasts; one of 0 seconds is left out."""
    phase_bytes: float = math.inf
    """The payload that ends a phase of load."""
    pause_s: float = 2.0
    """The least time between phases, in which queues drain."""
    probe_s: float = 0.02
    """The time from one probe to the next."""
    sample_s: float = 0.1
    """The time from one sample of the connections to the next."""
    first: int = 4
    """The connections that open when a load begins."""
    more: int = 2
    """The connections that open each second until goodput is stable."""
    most: int = 16
    """The most connections in one direction; fewer open on slow lines."""
    cc: str = "cubic"
    """The congestion control of uploads."""
    far_cc: str = "cubic"
    """The congestion control of downloads."""
    far_reports: bool = True
    """Whether the far end tells the RTT and the retransmissions of downloads."""
    has_one_way: bool = True
    """Whether probes tell one-way delays."""
    starts: Starts = field(default_factory=dict)
    """When connections open, where that is known already; phases that are missing add connections until stable."""

    def seconds(self, phase: PhaseName) -> float:
        """Return how long a phase lasts."""
        return {"idle": self.idle_s, "down": self.down_s, "up": self.up_s, "both": self.both_s}[phase]


def plan_for(budget_bytes: float = 100e6, **options: Any) -> Plan:
    """Return a plan with phases of 10 seconds that end sooner where all of them would take more than a budget."""
    seconds = {"down_s": 10.0, "up_s": 10.0, "both_s": 10.0}
    return Plan(**{**seconds, "phase_bytes": budget_bytes / 3.4, **options})


def simulate(
    line: Line | Mapping[str, Any],
    plan: Plan | None = None,
    *,
    seed: int = 1,
    streams: dict[PhaseName, list[Stream]] | None = None,
) -> Measurement:
    """Measure a line in the simulator; return the tables that the client makes of a real line.

    The line may be a scenario with a link `line`, whose flows are cross traffic: they run in every phase. `streams`
    receives the packets of the loaded connections of each phase, in seconds since its load began.
    """
    plan = plan or plan_for()
    base = {"link": {LINK: line.link()}, "flows": []} if isinstance(line, Line) else dict(line)
    tables: Tables = {}
    best_bps: dict[Direction, float] = {}
    time_s = 0.0
    sent = received = 0
    for number, phase in enumerate(LOAD):
        if plan.seconds(phase) <= 0:
            continue
        made = _Phase(base, plan, phase, time_s, seed + number, has_streams=True)
        made.best_bps = best_bps
        made.run()
        if streams is not None:
            streams[phase] = made.streams
        for name, columns in made.tables().items():
            table = tables.setdefault(name, {})
            for column, values in columns.items():
                table.setdefault(column, []).extend(values)
        sent, received = sent + made.bytes("up"), received + made.bytes("down")
        time_s += plan.seconds(phase) + max(plan.pause_s, made.drain_s() + 1.0)
    _centre(tables["probes"], has_one_way=plan.has_one_way)
    return measurement_of(
        About("simulated", cc=plan.cc, far_cc=plan.far_cc, sent_bytes=sent, received_bytes=received), tables
    )


Tables = dict[str, dict[str, list[object]]]
"""Columns by table, as `measurement_of` takes them."""


def simulate_phase(
    line: Line, plan: Plan, phase: PhaseName, start_s: float = 0.0, *, wait_s: float = LONGEST_WAIT_S, seed: int = 1
) -> Tables:
    """Simulate one phase, whose load begins at `start_s`; its one-way delays are by one clock.

    The last probes are waited for `wait_s`.
    """
    made = _Phase({"link": {LINK: line.link()}}, plan, phase, start_s, seed, wait_s)
    made.run()
    return made.tables()


def _centre(probes: dict[str, list[object]], *, has_one_way: bool) -> None:
    """Shift the one-way delays by a constant, as clocks that differ need it."""
    import numpy as np

    rtt, up = (np.array(probes[name], float) for name in ("rtt_ms", "up_ms"))
    if not has_one_way or not np.isfinite(rtt).any():
        up = np.full(len(rtt), math.nan)
    else:
        up = up - np.nanmin(up) + np.nanmin(rtt) / 2
    probes["up_ms"], probes["down_ms"] = list(up), list(rtt - up)


class _Phase:
    """A phase's simulation."""

    def __init__(
        self,
        base: Mapping[str, Any],
        plan: Plan,
        phase: PhaseName,
        start_s: float,
        seed: int,
        wait_s: float = LONGEST_WAIT_S,
        *,
        has_streams: bool = False,
    ) -> None:
        self._base = base
        self._plan = plan
        self._phase: PhaseName = phase
        self._start_s = start_s
        self._seed = seed
        self._wait_s = wait_s
        self._has_streams = has_streams
        self.streams: list[Stream] = []
        self.best_bps: dict[Direction, float] = {}
        self._load_s = plan.seconds(phase)
        self._step_s = plan.probe_s / math.ceil(plan.probe_s / FITTED_STEP_S - 1e-9)
        """The time from one sample of the series to the next: a part of that between probes."""
        known = plan.starts.get(phase)
        self._is_known = known is not None
        first = [0.0] * plan.first
        self._starts: dict[Direction, list[float]] = {
            each: list(known.get(each, ())) if known is not None else list(first) for each in LOAD[phase]
        }

    def run(self) -> None:
        """Simulate, with more connections each second until goodput is stable."""
        if self._is_known or self._phase == "idle":
            self._finish()
            return
        self._simulate(0.0)
        self._shorten()
        growing = set(LOAD[self._phase])
        for second in range(1, math.ceil(self._load_s)):
            if second >= self._load_s:
                break
            added = False
            for each in list(growing):
                room = self._most(each, second) - len(self._starts[each])
                if room <= 0 or self._is_stable(each, second):
                    growing.discard(each)
                else:
                    self._starts[each] += [float(second)] * min(self._plan.more, room)
                    added = True
            if not growing:
                break
            if added:
                self._simulate(0.0)
                self._shorten()
        self._finish()

    def _finish(self) -> None:
        """Simulate until the last answers are there."""
        if not self._has_streams:
            self._simulate(self._wait_s)
            return
        self._step_s = MEASURED_STEP_S
        with TemporaryDirectory(prefix="unbloat-") as folder:
            trace = Path(folder) / "trace.pcapng"
            self._simulate(self._wait_s, trace)
            self.streams = read_streams(trace, len(self._flows))

    def _most(self, direction: Direction, second: float) -> int:
        """Return how many connections are useful at the rate that a direction has: each should carry its share."""
        import numpy as np

        before, after = np.interp([second - INTERVAL_S, second], *self._goodput(direction))
        useful = int(float(after - before) * 8 / INTERVAL_S / LEAST_SHARE_BPS)
        return min(max(self._plan.first, useful), self._plan.most)

    def _shorten(self) -> None:
        """End the phase when its bytes have been carried."""
        import numpy as np

        found = [self._goodput(each) for each in LOAD[self._phase]]
        times, carried = found[0][0], sum(sums for _, sums in found)
        end = int(np.searchsorted(carried, self._plan.phase_bytes))
        if end < len(times):
            self._load_s = min(self._load_s, max(0.5, float(times[end])))

    def _is_stable(self, direction: Direction, second: int) -> bool:
        """Return whether goodput of the last intervals is near their mean."""
        import numpy as np

        times, sums = self._goodput(direction)
        at = second - 0.25 * np.arange(4, -1, -1)
        if at[0] < 0:
            return False
        steps = np.diff(np.interp(at, times, sums))
        return bool(np.all(np.abs(steps - steps.mean()) <= 0.05 * steps.mean()))

    def _scenario(self, wait_s: float) -> dict[str, Any]:
        link = _from(self._base["link"][LINK], self._start_s)
        flows: list[dict[str, Any]] = []
        here = {"path": [LINK], "reverse_path": [LINK]}
        self._flows: list[tuple[Direction, float]] = []
        for direction in LOAD[self._phase]:
            for start in self._starts[direction]:
                if start > self._load_s - 0.02:
                    continue
                self._flows.append((direction, start))
                cc = self._plan.cc if direction == "up" else self._plan.far_cc
                flows.append({"cc": cc, **here, "start": round(start, 6), "stop": round(self._load_s, 6)})
                if direction == "down":
                    flows[-1]["reverse"] = True
        ping: dict[str, Any] = {"app": {"kind": "ping", "every": self._plan.probe_s, "packet": f"{PROBE_BYTES}b"}}
        ping["stop"] = round(self._load_s, 6)
        flows.append({**ping, "path": [LINK], "reverse_path": [FREE]})
        flows.append({**ping, "path": [FREE], "reverse_path": [LINK], "reverse": True})
        cross = [{**here, **flow} for flow in self._base.get("flows", ())]
        free = {"rate": "100gbit", "queue": {"limit": "10000p"}}
        return {
            **self._base,
            "name": LINK,
            "duration": round(self._load_s + wait_s, 6),
            "seed": self._seed,
            "link": {**self._base["link"], LINK: link, FREE: {**free, "delay": "0s", "reverse": free}},
            "flows": [*flows, *cross],
        }

    def _simulate(self, wait_s: float, trace: Path | None = None) -> None:
        import numpy as np

        point = _core.parse(written(self._scenario(wait_s)), Path.cwd(), ())[0]
        step_ns = round(self._step_s * 1e9)
        record, series = point.run(ALGORITHMS, series_ns=step_ns, pcap=trace, pcap_headers_only=True)
        self._record = json.loads(record)
        assert series is not None
        columns = {name: np.frombuffer(raw, kind) for name, (kind, raw) in series["flows"].items()}
        self._series: list[dict[str, Numbers]] = []
        for number in range(len(self._flows) + 2):
            mine = columns["flow"] == number
            self._series.append({name: values[mine] for name, values in columns.items()})

    def drain_s(self) -> float:
        """Return the largest one-way delay of a probe."""
        import numpy as np

        delays = np.concatenate([self._delays(each)[1] for each in DIRECTIONS])
        return float(np.nanmax(delays, initial=0.0)) / 1e3

    def bytes(self, direction: Direction) -> int:
        """Return the bytes of the load and the probes in one direction."""
        flows = self._record["flows"][: len(self._flows) + 2]
        directions = [*(each for each, _ in self._flows), "up", "down"]
        return sum(
            int(flow["sent_packets"]) * (PROBE_BYTES if number >= len(self._flows) else PACKET_BYTES)
            for number, flow in enumerate(flows)
            if directions[number] == direction
        )

    def _goodput(self, direction: Direction) -> tuple[Numbers, Numbers]:
        """Return times, and the payload bytes that all connections have carried by then."""
        import numpy as np

        step = self._step_s
        times = np.arange(0, round((self._load_s + LONGEST_WAIT_S) / step) + 2) * step
        sums = np.zeros(len(times))
        for (each, _), series in zip(self._flows, self._series, strict=False):
            if each == direction:
                sums += np.interp(times, series["time_s"], np.cumsum(series["goodput_mbps"]) * step / 8e-6)
        return times, sums

    def _delays(self, direction: Direction) -> tuple[Numbers, Numbers]:
        """Return when each probe of one direction was sent, and its delay in ms: missing if it was lost."""
        import numpy as np

        step = self._plan.probe_s
        series = self._series[len(self._flows) + DIRECTIONS[::-1].index(direction)]
        sent = np.arange(math.ceil(round(self._load_s / step, 6))) * step
        delays = np.full(len(sent), math.nan)
        arrived = np.rint(series["goodput_mbps"] * self._step_s / 8e-6 / (PROBE_BYTES - 28)).astype(int)
        has_come = np.zeros(len(sent), bool)
        for time, rtt, count in zip(series["time_s"], series["rtt_ms"], arrived, strict=True):
            if count == 0 or math.isnan(rtt):
                continue
            # The series knows the last of several that came in one step; the others are between their neighbours.
            last = math.floor((time - rtt / 1e3) / step + 1e-6)
            has_come[max(0, last - count + 1) : last + 1] = True
            if 0 <= last < len(sent):
                delays[last] = rtt
        known = np.isfinite(delays)
        if known.any():
            gaps = has_come & ~known
            delays[gaps] = np.interp(sent[gaps], sent[known], delays[known])
        return sent, delays

    def tables(self) -> Tables:
        """Return the rows of this phase."""
        import numpy as np

        plan, phase, start = self._plan, self._phase, self._start_s
        sent, up = self._delays("up")
        _, down = self._delays("down")
        rtt = up + down
        tables: Tables = {
            "phases": {"phase": [phase], "start_s": [start], "stop_s": [start + self._load_s]},
            "probes": {
                "phase": [phase] * len(sent),
                "sent_s": list(start + sent),
                "rtt_ms": list(rtt),
                "up_ms": list(up),
                "down_ms": list(down),
            },
        }
        at = np.append(np.arange(0.0, self._load_s - plan.sample_s / 4, plan.sample_s), self._load_s)
        tables["transfers"] = self._transfers(at)
        tables["requests"] = self._requests(sent, rtt)
        slow = sent[:: max(1, round(0.1 / plan.probe_s))]
        tables["hops"] = {
            "phase": [phase] * len(slow),
            "sent_s": list(start + slow),
            "rtt_ms": [min(0.5, 1e3 * self._delay_s())] * len(slow),
        }
        tables["host"] = {
            "phase": [phase] * len(at),
            "time_s": list(start + at),
            "unsent_bytes": [0.0] * len(at),
            "backlog_bytes": [0.0] * len(at),
        }
        return tables

    def _delay_s(self) -> float:
        """Return the propagation delay of one direction."""
        return float(self._record["flows"][len(self._flows)]["base_rtt_ms"]) / 1e3

    def _transfers(self, at: Numbers) -> dict[str, list[object]]:
        import numpy as np

        rows: dict[str, list[object]] = {
            name: [] for name in ("phase", "direction", "connection", "time_s", "bytes", "rtt_ms", "retransmits")
        }
        numbers: dict[Direction, int] = dict.fromkeys(DIRECTIONS, 0)
        for (direction, opened), series in zip(self._flows, self._series, strict=False):
            mine = at[at >= opened - 1e-9]
            times = series["time_s"]
            step = self._step_s
            # An upload's bytes count when their acknowledgement has come back.
            shown = mine - (self._delay_s() if direction == "up" else 0.0)
            carried = np.concatenate([[0.0], np.cumsum(series["goodput_mbps"]) * step / 8e-6])
            before = np.clip(np.searchsorted(times, mine + 1e-9) - 1, 0, len(times) - 1)
            is_open = times[before] <= mine + 1e-9
            tells = direction == "up" or self._plan.far_reports
            missing = np.full(len(mine), math.nan)
            rows["phase"] += [self._phase] * len(mine)
            rows["direction"] += [direction] * len(mine)
            rows["connection"] += [float(numbers[direction])] * len(mine)
            rows["time_s"] += list(self._start_s + mine)
            rows["bytes"] += list(np.rint(np.interp(shown, np.concatenate([[times[0] - step], times]), carried)))
            rows["rtt_ms"] += list(np.where(is_open, series["srtt_ms"][before], math.nan) if tells else missing)
            rows["retransmits"] += list(
                np.where(is_open, series["retransmitted_packets"][before], 0.0) if tells else missing
            )
            numbers[direction] += 1
        return rows

    def _requests(self, sent: Numbers, rtt: Numbers) -> dict[str, list[object]]:
        """Make requests when the client sends them: each part takes what packets took that were sent at that time."""
        import numpy as np

        known = np.isfinite(rtt)
        rows: dict[str, list[object]] = {
            name: [] for name in ("phase", "kind", "sent_s", "tcp_ms", "tls_ms", "http_ms")
        }

        def add(kind: str, at_s: float, *times_ms: float) -> None:
            for name, value in zip(rows, (self._phase, kind, self._start_s + at_s, *times_ms), strict=True):
                rows[name].append(value)

        ticks = np.arange(FIRST_ASKED_S, self._load_s, OWN_PAUSE_S)
        slower_bps = self._slower_bps(ticks)
        for at_s in self._asked(ticks, slower_bps, FOREIGN_BYTES / FOREIGN_SHARE, FOREIGN_PAUSE_S):
            times_ms: list[float] = []
            for _ in range(3):
                begin_s = at_s + sum(times_ms) / 1e3
                times_ms.append(float(np.interp(begin_s, sent[known], rtt[known])) if known.any() else math.nan)
            add("foreign", at_s, *times_ms)
        for number, at_s in enumerate(self._asked(ticks, slower_bps, OWN_BYTES / OWN_SHARE, OWN_PAUSE_S)):
            opened = [stream for (_, start), stream in zip(self._flows, self.streams, strict=False) if start <= at_s]
            if opened:
                took_ms = opened[number % len(opened)].delays_ms(np.array([at_s]))[0]
                add("self", at_s, math.nan, math.nan, float(took_ms))
        return rows

    def _slower_bps(self, at_s: Numbers) -> Numbers:
        """Return the best rate so far of the slower direction at each time; 0 while it is unknown."""
        import numpy as np

        best = {way: np.full(len(at_s), value) for way, value in self.best_bps.items()}
        for way in LOAD[self._phase]:
            times, sums = self._goodput(way)
            since_s = np.maximum(0.0, at_s - INTERVAL_S)
            rates = (np.interp(at_s, times, sums) - np.interp(since_s, times, sums)) * 8 / (at_s - since_s)
            best[way] = np.maximum(np.maximum.accumulate(rates), best.get(way, 0.0))
            self.best_bps[way] = float(best[way].max(initial=0.0))
        slower: Numbers = np.minimum.reduce(list(best.values()) or [np.zeros(len(at_s))])
        if len(best) < len(DIRECTIONS):
            slower = np.maximum(LEAST_RATIO * slower, np.minimum(slower, LEAST_BPS))
        return slower

    def _asked(self, at_s: Numbers, slower_bps: Numbers, apart_bytes: float, least_s: float) -> Iterator[float]:
        """Yield when requests of a kind are sent: one whenever the slower direction could carry `apart_bytes`."""
        import numpy as np

        pauses = np.clip(apart_bytes * 8 / np.maximum(slower_bps, 1.0), least_s, MOST_PAUSE_S)
        pauses = np.where(slower_bps > 0, pauses, UNKNOWN_PAUSE_S)
        if self._phase == "idle":
            pauses = np.full(len(at_s), IDLE_PAUSE_S)
        last_s = -math.inf
        for now_s, pause_s in zip(at_s, pauses, strict=True):
            if now_s >= last_s + pause_s - 1e-9:
                yield float(now_s)
                last_s = now_s


def _from(link: Mapping[str, Any], start_s: float) -> dict[str, Any]:
    """Return a link as it is from a time on: its rates are as they have changed by then."""
    cut = dict(link)
    if rates := cut.pop("rates", None):
        past = [change for change in rates if _seconds(change["at"]) <= start_s]
        to_come = [change for change in rates if _seconds(change["at"]) > start_s]
        if past:
            cut["rate"] = past[-1]["rate"]
        if to_come:
            cut["rates"] = [{**each, "at": round(_seconds(each["at"]) - start_s, 6)} for each in to_come]
    if "reverse" in cut:
        cut["reverse"] = _from(cut["reverse"], start_s)
    return cut


def _seconds(time: object) -> float:
    return _core.duration_ns(time) / 1e9 if isinstance(time, str) else float(time)  # type: ignore[arg-type]


def noisy(measurement: Measurement, seed: int, *, jitter_ms: float = 0.2) -> Measurement:
    """Return the samples as a real client on a busy computer takes them: probes late at random, samples too."""
    import numpy as np

    draw = np.random.default_rng(seed)

    def late(values: pd.Series) -> pd.Series:
        return values + draw.exponential(jitter_ms, len(values))

    probes = measurement.probes.copy()
    up, down = late(probes["up_ms"]), late(probes["down_ms"])
    probes["rtt_ms"] = (up + down).where(up.notna(), late(probes["rtt_ms"]))
    probes["up_ms"] = up - up.min() + probes["rtt_ms"].min() / 2
    probes["down_ms"] = probes["rtt_ms"] - probes["up_ms"]
    transfers = measurement.transfers.copy()
    times = transfers["time_s"].unique()
    moved = dict(zip(times, times + draw.exponential(jitter_ms / 1e3, len(times)), strict=True))
    transfers["time_s"] = transfers["time_s"].map(moved)
    return replace(measurement, probes=probes, transfers=transfers)
