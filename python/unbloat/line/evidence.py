"""Goodput, delays and losses of each phase of a measurement, read before anything is fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unbloat.line.course import Course, mean_bps
from unbloat.line.measurement import COLUMNS, DIRECTIONS, Direction, Measurement, PhaseName
from unbloat.line.model import LOAD, PAYLOAD_BYTES, Plan
from unbloat.line.packet_times import course_of_packets, rate_of_packets
from unbloat.line.phase import Phase
from unbloat.line.room import Ahead, ahead
from unbloat.line.stretches import rate_by_use, rate_of_stretches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unbloat.line.arrays import Numbers


class View(Phase):
    """What one phase shows of the rate of one direction."""

    in_any_phase: Ahead | None = None
    """What was before the probes of all phases that load the direction; only this one unless set."""

    @cached_property
    def ahead(self) -> Ahead:
        """What was in the queue before the probes."""
        return self.in_any_phase or ahead_of([self], self)

    def parts(self, count: int) -> tuple[Numbers, Numbers]:
        """Return what each part of the phase says about the rate; missing where it says nothing.

        First the payload rate in bit/s, where the line was busy and nothing was lost. Then the longest wait in ms,
        where segments were resent: a buffer that overflows is full.
        """
        import numpy as np

        edges = np.linspace(0, self.load_s, count + 1)
        again = np.diff(np.interp(edges, self.times, self.resent))
        is_lossy = again > 0
        # Bytes behind a loss are carried in order only after a round trip, which takes about the longest wait more.
        reach = 1 + math.ceil((0.5 + float(np.nanmax(self.added, initial=0.0)) / 1e3) * count / self.load_s)
        around = np.convolve(is_lossy, np.ones(2 * reach + 1), "full")[reach:-reach] > 0
        busy, rates = self._busy_and_rates(count)
        part = np.clip((self.sent / self.load_s * count).astype(int), 0, count - 1)
        waits = np.nan_to_num(self.added)
        longest = np.array([np.max(waits[part == each], initial=0.0) for each in range(count)])
        is_known = np.isfinite(again)
        paces = np.where(is_known & ~around & (busy > 0.97), rates, math.nan)
        return paces, np.where(is_known & is_lossy & (longest > 0), longest, math.nan)

    @cached_property
    def link_bps(self) -> float:
        """The rate of the line as single packets or undisturbed parts show it; missing if neither does."""
        by_packets = rate_of_packets(self.sent * 1e3, self.added, self.packet_ms)
        return by_packets if math.isfinite(by_packets) else self.parts_bps

    @cached_property
    def course(self) -> Course:
        """The course of the rate, as groups of packets show it."""
        times_ms, rates = course_of_packets(self.sent * 1e3, self.added, self.packet_ms)
        return Course(times_ms / 1e3, rates)

    def least_rates_bps(self) -> Numbers:
        """Return the least mean rate while each probe waited, by the course of the rate; 0 for those that did not."""
        import numpy as np

        seconds = np.nan_to_num(self.added) / 1e3
        bits = self.course.least_of(self.sent, self.sent + seconds)
        return bits / np.where(seconds > 0, seconds, 1.0)

    @cached_property
    def stretches_bps(self) -> float:
        """The rate of the times in which the line was always busy; missing if there are too few of them."""
        return self.wire_bps(rate_of_stretches(self))

    @cached_property
    def use_bps(self) -> float:
        """The rate by the share of busy time; missing if jitter hides it."""
        return rate_by_use(self, self.jitter_ms)

    def doubt_rate(self) -> None:
        """Take the rate of packets and stretches for unknown, as no line with this rate explains the phase."""
        self.link_bps = self.stretches_bps = math.nan

    @cached_property
    def parts_bps(self) -> float:
        """The rate of parts of the phase that were busy throughout, if most of them agree; otherwise missing."""
        import numpy as np

        count = max(6, min(20, round(self.load_s / 0.5)))
        busy, rates = self._busy_and_rates(count)
        paces, _ = self.parts(count)
        calm, rates = paces[np.isfinite(paces)], rates[busy > 0.97]
        # Bytes behind a loss come late, so that parts with losses must agree more clearly.
        agreeing = [(each, share) for each, share in ((calm, 0.5), (rates, 0.75)) if len(each) >= 4]
        for each, share in agreeing:
            middle = float(np.median(each))
            if np.mean(np.abs(each / middle - 1) < 0.015) >= share:
                return self.wire_bps(middle)
        return math.nan

    @cached_property
    def flat_bps(self) -> float:
        """The rate at which most parts of the phase carried bytes, busy or not; missing if they differ."""
        import numpy as np

        count = max(6, min(20, round(self.load_s / 0.5)))
        rates = self._busy_and_rates(count)[1][count // 4 :]
        middle = float(np.median(rates))
        is_flat = middle > 0 and np.mean(np.abs(rates / middle - 1) < 0.015) >= 0.6
        return self.wire_bps(middle) if is_flat else math.nan

    @cached_property
    def busy_bps(self) -> float:
        """The mean rate of a phase in which packets always waited, for less than a small part of it; else missing."""
        is_short = self.wait(0.9) / 1e3 < self.load_s / 100
        return self.wire_bps(self.rate(0.3, 1.0)) if is_short and self.busy_share() >= 0.97 else math.nan

    def _busy_and_rates(self, count: int) -> tuple[Numbers, Numbers]:
        """Return the share of busy time and the payload rate of each part of the phase."""
        import numpy as np

        edges = np.linspace(0, self.load_s, count + 1)
        moments = edges[:-1, None] + np.linspace(0, self.load_s / count, 20)
        rates = np.diff(np.interp(edges, self.times, self.carried)) * 8 / (self.load_s / count)
        return np.mean(self.is_busy(moments), axis=1), rates


SURELY_SLOWED, MOST_SLOWED = 0.85, 0.7
"""A phase may have the rate of another if it is a larger share of it: by busy stretches, and by busy time.

Acknowledgements take a part of a rate with load both ways.
"""


def slowed(seen: View, beside: View) -> float:
    """Return the rate of a phase by that of another, where both show that it is slower; otherwise 1.

    A radio sends both ways by turns, so load both ways halves the rate of each. Packets wait longer in an equal buffer.
    """
    sure, usual = (
        (seen.stretches_bps / beside.stretches_bps, SURELY_SLOWED),
        (seen.use_bps / beside.use_bps, MOST_SLOWED),
    )
    ratio, most = sure if math.isfinite(sure[0]) else usual
    return ratio if ratio < most else 1.0


SETTLED = 0.3
"""The share of a phase after which acknowledgements of the other direction wait beside its packets."""
DOUBT = 0.05
"""How far waits on a line whose rate varies are open, as a share."""


def ahead_of(loaded: Sequence[View], seen: View) -> Ahead:
    """Return what was before the probes of all phases of a direction, with waits as at the rate of the phase `seen`.

    The first phase loads the direction alone, and tells whether the rate varies. With load both ways, acknowledgements
    disturb the times of packets. If the rate varies, waits count by its mean, and only where phases show the rate.
    """
    if not loaded[0].course.varies:
        return ahead(loaded, [slowed(each, seen) for each in loaded])
    known = [each for each in loaded if each.course.is_known]
    mean = mean_bps([each.course for each in known])
    shares = [each.least_rates_bps() / mean for each in known]
    return replace(ahead(known, shares, SETTLED), doubt=DOUBT)


Columns = Mapping[str, Mapping[str, Any]]


def view(
    tables: Columns, phase: PhaseName, direction: Direction, base_ms: float, base_rtt_ms: float, *, is_alone: bool
) -> View | None:
    """Read a phase; None if nothing was carried. `base_ms` is the delay of the empty line, missing if unknown."""
    import numpy as np

    phases = tables["phases"]
    place = [number for number, name in enumerate(phases["phase"]) if name == phase]
    if not place:
        return None
    start, stop = float(phases["start_s"][place[0]]), float(phases["stop_s"][place[0]])
    transfers = {name: np.asarray(values) for name, values in tables["transfers"].items()}
    mine = (transfers["phase"] == phase) & (transfers["direction"] == direction)
    if not mine.any() or stop <= start:
        return None
    moments = transfers["time_s"][mine].astype(float) - start
    grid = np.unique(moments[(moments >= 0) & (moments <= stop - start + 0.05)])
    if len(grid) < 4:
        return None
    carried, resent = np.zeros(len(grid)), np.zeros(len(grid))
    owns = []
    least = float(np.min(transfers["bytes"][mine].astype(float)))  # Handshakes do not count as load.
    for number in np.unique(transfers["connection"][mine]):
        of = mine & (transfers["connection"] == number)
        at = transfers["time_s"][of].astype(float) - start
        carried += np.interp(grid, at, transfers["bytes"][of].astype(float) - least, left=0.0)
        owns.append(np.interp(grid, at, transfers["rtt_ms"][of].astype(float), left=math.nan, right=math.nan))
        again = transfers["retransmits"][of].astype(float)
        known = np.isfinite(again)
        resent += np.interp(grid, at[known], again[known], left=0.0) if known.any() else math.nan
    if carried[-1] <= 0:
        return None
    stacked = np.array(owns)
    has_own = np.isfinite(stacked).any(axis=0)
    own = np.full(len(grid), math.nan)
    if has_own.any():
        own[has_own] = np.nanmedian(stacked[:, has_own], axis=0) - base_rtt_ms
    probes = {name: np.asarray(values) for name, values in tables["probes"].items()}
    of = (probes["phase"] == phase) & (probes["sent_s"].astype(float) >= start)
    sent = probes["sent_s"][of].astype(float) - start
    rtt = probes["rtt_ms"][of].astype(float)
    one_way = probes[f"{direction}_ms"][of].astype(float)
    if np.isfinite(one_way).any() and not math.isnan(base_ms):
        added = one_way - base_ms
    elif is_alone:
        added = rtt - base_rtt_ms
    else:
        added = np.full(len(sent), math.nan)
    segments = float(carried[-1]) / PAYLOAD_BYTES + 1
    lost = float(np.mean(np.isnan(rtt))) if len(rtt) else math.nan
    again_by_all = float(resent[-1]) / segments
    base_rtt_s = max(0.0, base_rtt_ms / 1e3)
    waits = np.maximum(added, 0.0)
    return View(direction, stop - start, sent, waits, grid, carried, own, resent, again_by_all, lost, base_rtt_s)


@dataclass
class Evidence:
    """Numbers and views that are read from a measurement once."""

    tables: Columns
    base_rtt_ms: float
    """RTT of a probe on the empty line."""
    base_ms: dict[Direction, float]
    """One-way delay of a probe on the empty line, by the client's clock; missing if unknown."""
    idle_loss: float
    """Share of the probes that are lost without load."""
    idle_spread_ms: float
    """How much RTTs differ without load."""
    idle_waits_ms: dict[Direction, Numbers]
    """Waits of the probes without load; those of round trips where one-way delays are unknown."""
    idle_requests_hz: float
    """The client's own requests in each second without load."""
    views: dict[tuple[PhaseName, Direction], View]
    plan: Plan
    starts_s: dict[PhaseName, float]
    probe_s: dict[PhaseName, float]
    """The time from one probe to the next in each phase."""


def evidence_of(measurement: Measurement) -> Evidence:
    """Read a measurement; a table or a column may be missing."""
    import numpy as np

    tables = {
        name: {column: getattr(measurement, name)[column].to_numpy() for column in columns}
        for name, columns in COLUMNS.items()
    }
    probes = tables["probes"]
    rtt = probes["rtt_ms"].astype(float)
    is_idle = probes["phase"] == "idle"
    answered = np.isfinite(rtt)
    if not answered.any():
        base_rtt_ms = math.nan
    else:
        least = float(np.quantile(rtt[answered], 0.002))
        idle = rtt[answered & is_idle]
        calm = len(idle) and np.quantile(idle, 0.9) - np.quantile(idle, 0.1) < 3.0
        base_rtt_ms = min(float(np.quantile(idle, 0.1)), least + 1.0) if calm else least
    base_ms: dict[Direction, float] = {}
    for direction in DIRECTIONS:
        delays = probes[f"{direction}_ms"].astype(float)
        known = np.isfinite(delays)
        if not known.any():
            base_ms[direction] = math.nan
            continue
        calm = delays[known & is_idle]
        base = float(np.quantile(delays[known], 0.002))
        base_ms[direction] = min(float(np.quantile(calm, 0.1)), base + 1.0) if len(calm) else base
    spread = _spread_ms(tables, rtt, is_idle & answered)
    idle_waits_ms = {each: _idle_waits(probes, each, is_idle) for each in DIRECTIONS}
    views: dict[tuple[PhaseName, Direction], View] = {}
    for phase, directions in LOAD.items():
        for direction in directions:
            found = view(tables, phase, direction, base_ms[direction], base_rtt_ms, is_alone=len(directions) == 1)
            if found:
                waits_ms = idle_waits_ms[direction]
                found.jitter_ms = float(np.quantile(waits_ms, 0.98)) if len(waits_ms) else math.inf
                views[phase, direction] = found
    for direction in DIRECTIONS:
        loaded = [each for (_, of), each in views.items() if of == direction]
        for each in loaded:
            each.in_any_phase = ahead_of(loaded, each)
    probe_s = {each: _interval_s(probes["sent_s"][probes["phase"] == each].astype(float)) for each in LOAD}
    phases = tables["phases"]
    starts_s = {name: float(start) for name, start in zip(phases["phase"], phases["start_s"], strict=True)}
    seconds = {name: float(stop) - starts_s[name] for name, stop in zip(phases["phase"], phases["stop_s"], strict=True)}
    plan = Plan(
        idle_s=seconds.get("idle", 0.0),
        down_s=seconds.get("down", 0.0),
        up_s=seconds.get("up", 0.0),
        both_s=seconds.get("both", 0.0),
        cc=_simulated(measurement.about.cc),
        # A far end that chose is taken for one like this computer.
        far_cc=_simulated(measurement.about.far_cc or measurement.about.cc),
        starts=_starts(tables, starts_s, base_rtt_ms / 1e3 if base_rtt_ms > 0 else 0.0),
    )
    return Evidence(
        tables,
        base_rtt_ms,
        base_ms,
        float(np.mean(~answered[is_idle])) if is_idle.any() else 0.0,
        spread,
        idle_waits_ms,
        float(np.sum(tables["requests"]["phase"] == "idle")) / max(1.0, seconds.get("idle", 0.0)),
        views,
        plan,
        starts_s,
        probe_s,
    )


def _simulated(cc: str) -> str:
    """Return the congestion control that stands for one in simulations of a measurement."""
    return "bbr" if cc.startswith("bbr") else "cubic"


def _spread_ms(tables: Columns, rtt: Numbers, of: NDArray[np.bool_]) -> float:
    """Return how much RTTs without load differ; the client's own requests are a load to a slow line."""
    import numpy as np

    if not of.any():
        return 0.0
    sent = np.asarray(tables["probes"]["sent_s"], float)
    asked = {name: np.asarray(values) for name, values in tables["requests"].items()}
    took = np.nansum([asked[name].astype(float) for name in ("tcp_ms", "tls_ms", "http_ms")], axis=0) / 1e3
    is_free = of.copy()
    for start, length in zip(asked["sent_s"].astype(float), took, strict=True):
        is_free &= (sent < start - 0.05) | (sent > start + length + 0.1)
    # A busy computer answers some probes late; traffic of others delays most of them.
    calm = rtt[is_free if is_free.sum() >= 8 else of]
    return float(np.quantile(calm, 0.3) - np.quantile(rtt[np.isfinite(rtt)], 0.002))


def _idle_waits(probes: Mapping[str, Any], direction: Direction, is_idle: NDArray[np.bool_]) -> Numbers:
    """Return the waits of the probes without load, in ms."""
    import numpy as np

    one_way = probes[f"{direction}_ms"].astype(float)
    delays = one_way if np.isfinite(one_way).any() else probes["rtt_ms"].astype(float)
    found = delays[is_idle & np.isfinite(delays)]
    return np.asarray(found - np.quantile(found, 0.02)) if len(found) else found


def _interval_s(times: Numbers) -> float:
    """Return the usual time from one probe to the next, in whole milliseconds."""
    import numpy as np

    gaps = np.diff(times)
    return min(1.0, max(0.005, round(float(np.median(gaps[gaps > 0])), 3))) if (gaps > 0).any() else 0.05


def _starts(
    tables: Columns, starts_s: Mapping[PhaseName, float], base_rtt_s: float
) -> dict[PhaseName, dict[Direction, list[float]]]:
    """Return when each connection would have opened, since its phase began, to carry its first bytes when it did.

    A simulated connection opens with the load. The client's connections are open before, so theirs may be negative.
    """
    import numpy as np

    transfers = {name: np.asarray(values) for name, values in tables["transfers"].items()}
    found: dict[PhaseName, dict[Direction, list[float]]] = {}
    for phase, directions in LOAD.items():
        found[phase] = {}
        for direction in directions:
            mine = (transfers["phase"] == phase) & (transfers["direction"] == direction)
            each = [mine & (transfers["connection"] == number) for number in np.unique(transfers["connection"][mine])]
            samples = [(transfers["time_s"][of].astype(float), transfers["bytes"][of].astype(float)) for of in each]
            least = min((float(carried[0]) for _, carried in samples), default=0.0) + HANDSHAKE_BYTES
            lag_s = base_rtt_s * (2.0 if direction == "up" else 1.5)
            firsts, later = [], []
            for times, carried in samples:
                at = times - starts_s.get(phase, 0.0)
                place = int(np.argmax(carried > least))
                if carried[place] <= least:
                    continue  # It never carried anything.
                if at[0] > SOON_S:
                    later.append(float(at[0]))
                    continue
                before = at[place - 1] if place else 0.0
                usual = at[0] + lag_s
                opened = at[0] if before - 0.01 <= usual <= at[place] + 0.01 else (before + at[place]) / 2 - lag_s
                firsts.append(0.0 if abs(opened) < 0.01 else float(opened))
            # The first bytes of the others wait in the queue that the very first ones fill.
            firsts = [min(firsts)] * len(firsts) if firsts else []
            if firsts and firsts[0] < -0.3 * base_rtt_s:
                later = [at - _round_trip_s(tables, starts_s[phase] + at, base_rtt_s) for at in later]
            firsts += later
            found[phase][direction] = sorted(firsts)
    return found


HANDSHAKE_BYTES = 2500
"""Bytes by which connections differ that have carried no load."""
SOON_S = 0.2
"""Connections seen this soon began with the load, on an empty queue."""


def _round_trip_s(tables: Columns, time_s: float, usual_s: float) -> float:
    """Return the round-trip time of the probes just before a time."""
    import numpy as np

    sent, rtt = (np.asarray(tables["probes"][name], float) for name in ("sent_s", "rtt_ms"))
    near = rtt[(sent > time_s - 1.0) & (sent < time_s) & np.isfinite(rtt)]
    return float(np.median(near)) / 1e3 if len(near) else usual_s
