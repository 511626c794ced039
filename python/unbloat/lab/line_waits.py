"""What the queues of a line say about a measurement: how long a sparse packet waited in each phase of load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat.lab.line_grades import Waits
from unbloat.lab.lines import Truth, Way
from unbloat.lab.random_scenarios import PACKET_BYTES
from unbloat.line.measurement import Measurement, PhaseName
from unbloat.line.streams import Stream

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from unbloat.line.arrays import Flags, Numbers

WARM_UP = 1 / 3
"""The first part of a phase, which `unbloat line` leaves out too."""
NEARLY_FULL = 0.9
"""A buffer counts as filled once a packet waited for this share of its time."""
TRIMMED = 0.95
"""The share of waits in a trimmed mean (draft-ietf-ippm-responsiveness)."""
STEP_S = 0.02
"""The time between the sparse packets whose waits count."""
SMALL_BYTES = 60
"""The bytes of a packet that opens a connection."""
SYN_AGAIN_S = 1.0
"""The time after which TCP repeats a packet that opens a connection (RFC 6298); it doubles each time."""
DATA_AGAIN_S = 0.2
"""The time beyond two round trips after which TCP repeats a packet with nothing behind it (RFC 8985, Linux)."""
TRIES = 4
"""The times that a packet is sent: after more, the client has given up."""
SEED = 1
"""Chooses which packets are dropped where the queue tells only their share."""
COARSE_S, FINE_S = 0.05, 0.005
"""The steps in which the beginning of a measurement is searched."""
WAYS = ("up", "down")


@dataclass(frozen=True)
class Queue:
    """One direction of the link over time."""

    time_s: Numbers
    """The time of day at the end of each step."""
    waiting_bytes: Numbers
    drops: Numbers
    """Packets dropped so far."""
    sent_bytes: Numbers
    """Bytes transmitted so far."""
    capacity_mbps: Numbers
    drop_share: Numbers | None = None
    """The share of small packets arriving at each step that the queue drops; None if it does not tell."""

    def drops_at(self, at_s: Numbers, draw: np.random.Generator) -> Flags:
        """Draw which small packets that arrive at these times are dropped."""
        import numpy as np

        if self.drop_share is None:
            return np.zeros(len(at_s), bool)
        steps = np.searchsorted(self.time_s, at_s).clip(max=len(self.time_s) - 1)
        found: Flags = draw.random(len(at_s)) < self.drop_share[steps]
        return found

    def left_s(self, waits_ms: Numbers, sent_s: Numbers, again_s: Numbers | float) -> Numbers:
        """Return when small packets that TCP sends at these times have left the queue.

        TCP repeats those that the queue drops after `again_s`, and doubles that time.
        """
        import numpy as np

        draw = np.random.default_rng(SEED)
        is_dropped = np.ones(len(sent_s), bool)
        for _ in range(TRIES - 1):
            is_dropped &= self.drops_at(sent_s, draw)
            sent_s = sent_s + np.where(is_dropped, again_s, 0.0)
            again_s = 2 * again_s
        left: Numbers = sent_s + np.interp(sent_s, self.time_s, waits_ms) / 1e3
        return left

    def waits_ms(self, kind: str) -> Numbers:
        """Return how long a small packet that arrives at each step waits until the link is free for it.

        The bytes before it leave first, or are dropped from the head. A packet has left the queue when its
        transmission begins. If it takes longer than a step, that is in the middle of a step in the mean.
        """
        import numpy as np

        capacity = np.maximum(self.capacity_mbps, 1e-3)
        gone = self.sent_bytes + (self.drops * PACKET_BYTES if kind == "drophead" else 0)
        until = gone + self.waiting_bytes
        # Several steps may pass before the next byte leaves: the first of equal sums is the time.
        begins_s = np.interp(until, gone + np.arange(len(gone)) * 1e-9, self.time_s)
        # Half a byte is less than any packet, and more than the rounding of the sums.
        steps = np.searchsorted(gone, until - 0.5)
        last = steps.clip(max=len(gone) - 1)
        sizes = np.diff(self.sent_bytes, prepend=0.0)[last]
        packet_ms = np.minimum(sizes, PACKET_BYTES) * 8e-3 / capacity[last]
        step_ms = 1e3 * float(np.median(np.diff(self.time_s)))
        rest_ms = packet_ms - np.minimum(packet_ms, step_ms) / 2
        # An empty queue does not say whether a packet is in transmission; the share of busy time does.
        is_known = (self.waiting_bytes > 0) | (packet_ms > step_ms)
        rest_ms *= np.where(is_known, 1.0, np.minimum(1.0, sizes * 8e-3 / capacity[last] / step_ms))
        waits_ms = np.maximum(1e3 * (begins_s - self.time_s) + rest_ms, 0.0)
        found: Numbers = np.where(steps < len(gone), waits_ms, self.waiting_bytes * 8e-3 / capacity)
        return found


def read_queues(file: Path, link: Mapping[str, Any] | None = None) -> dict[str, Queue]:
    """Read what `unbloat shell --queues` wrote: both directions of the link that a scenario describes."""
    import numpy as np
    import pandas as pd

    rows = pd.read_csv(file)
    found = {}
    sides: tuple[Mapping[str, Any], ...] = ({}, {}) if link is None else (link, link.get("reverse", {}))
    for way, name, side in zip(WAYS, ("line", "line.reverse"), sides, strict=True):
        mine = rows[rows["link"] == name]
        time_s = mine["time_s"].to_numpy(float)
        steps = np.diff(time_s, prepend=time_s[0])
        # A radio has no capacity of its own: what it has carried at most stands in.
        capacity = mine["capacity_mbps"].fillna(mine["throughput_mbps"].quantile(0.95))
        queue = Queue(
            time_s,
            mine["queue_bytes"].to_numpy(float),
            mine["drops"].to_numpy(float),
            np.cumsum(mine["throughput_mbps"].to_numpy(float) * steps) / 8e-6,
            capacity.to_numpy(float),
        )
        kept = side.get("queue", {})
        match kept.get("kind"):
            case "droptail":
                found[way] = replace(queue, drop_share=_is_full(mine, kept["limit"]).astype(float))
            case "drophead":
                found[way] = replace(queue, drop_share=_dropped_from_head(queue))
            case _:
                found[way] = queue
    return found


def _is_full(steps: pd.DataFrame, limit: str) -> Flags:
    """Return at which steps a queue that drops at its tail has no room for a small packet."""
    most, unit = float(limit[:-1]), limit[-1]
    return (steps["queue_packets"] >= most if unit == "p" else steps["queue_bytes"] + SMALL_BYTES > most).to_numpy()


def _dropped_from_head(queue: Queue) -> Numbers:
    """Return the share of drops among the packets that leave after all that wait at each step."""
    import numpy as np

    gone = queue.sent_bytes + queue.drops * PACKET_BYTES
    # The next packet leaves in the first step that has more bytes gone; half a byte is less than any packet.
    turns = np.searchsorted(gone, gone + queue.waiting_bytes + 0.5).clip(max=len(gone) - 1)
    drops = np.diff(queue.drops, prepend=0.0)[turns]
    sent = np.ceil(np.diff(queue.sent_bytes, prepend=0.0)[turns] / PACKET_BYTES - 1e-6)
    share: Numbers = np.where(queue.waiting_bytes > 0, drops / np.maximum(drops + sent, 1.0), 0.0)
    return share


def beginning(queues: Mapping[str, Queue], probes: pd.DataFrame, truth: Truth) -> float:
    """Return the time of day at which a measurement began: its delays then differ least from those of the queues."""
    import numpy as np

    answered = probes[probes["rtt_ms"].notna()]
    sent_s = answered["sent_s"].to_numpy(float)
    measured = answered["rtt_ms"].to_numpy(float) - truth.base_rtt_ms - truth.probe_ms
    waits = {way: queues[way].waits_ms(truth.kind) for way in WAYS}

    def apart(began_s: float) -> float:
        return float(np.mean(np.abs(both_ms(queues, waits, began_s + sent_s) - measured)))

    first, last = float(queues["up"].time_s[0]), float(queues["up"].time_s[-1]) - float(sent_s.max())
    coarse = min(np.arange(first, max(first, last) + COARSE_S, COARSE_S), key=apart)
    return float(min(np.arange(coarse - COARSE_S, coarse + COARSE_S, FINE_S), key=apart))


def both_ms(queues: Mapping[str, Queue], waits: Mapping[str, Numbers], at_s: Numbers) -> Numbers:
    """Return how long packets that are sent at these times wait on the way up, and their answers on the way down."""
    import numpy as np

    up = np.interp(at_s, queues["up"].time_s, waits["up"])
    both: Numbers = up + np.interp(at_s + up / 1e3, queues["down"].time_s, waits["down"])
    return both


def waits_of_queues(
    queues: Mapping[str, Queue], phases: pd.DataFrame, began_s: float, truth: Truth, times: pd.DataFrame
) -> dict[str, Waits]:
    """Return what the queues of an emulated link say about each phase of load, and `times` of loaded connections.

    The length of a fair queue does not say how long the packets of one flow wait, so it says nothing. The times are
    those that `unbloat.lab.near_packets` wrote; the table may be empty.
    """
    import numpy as np

    if truth.kind == "fq_codel":
        return {}

    waits = {way: queues[way].waits_ms(truth.kind) for way in WAYS}
    base_ms = truth.base_rtt_ms + truth.probe_ms
    found: dict[str, Waits] = {}
    for phase, start_s, stop_s in phases[["phase", "start_s", "stop_s"]].itertuples(index=False):
        if phase == "idle":
            continue
        late_s = start_s + WARM_UP * (stop_s - start_s)
        grid = began_s + np.arange(late_s, stop_s, STEP_S)
        sums = both_ms(queues, waits, grid)
        filled = {way: _dropped(queues[way], began_s + start_s, began_s + stop_s) for way in WAYS}
        # A packet that is dropped does not wait.
        there_s = grid + np.interp(grid, queues["up"].time_s, waits["up"]) / 1e3
        draw = np.random.default_rng(SEED)
        gets_through = ~(queues["up"].drops_at(grid, draw) | queues["down"].drops_at(there_s, draw))
        found[phase] = _waits(sums[gets_through] if gets_through.any() else sums, filled["up"], filled["down"])
        again_s = DATA_AGAIN_S + 2e-3 * (base_ms + sums)
        syn_ms, data_ms = (_exchanges_ms(queues, waits, grid, base_ms, each) for each in (SYN_AGAIN_S, again_s))
        # The handshakes of TCP and TLS, and the request itself.
        found[phase]["new_ms"] = round((_trimmed(syn_ms) + 2 * _trimmed(data_ms)) / 3, 4)
        own = times[times["time_s"].between(began_s + late_s, began_s + stop_s)]
        up_ms = own.loc[own["direction"] == "up", "delay_ms"]
        down = own[own["direction"] == "down"]
        # A request for a download's connection goes up first, as a small packet.
        asked_s = down["time_s"].to_numpy(float)
        again_s = DATA_AGAIN_S + 2e-3 * (base_ms + both_ms(queues, waits, asked_s))
        before_ms = base_ms + 1e3 * (queues["up"].left_s(waits["up"], asked_s, again_s) - asked_s)
        if len(own):
            found[phase]["own_ms"] = round(_trimmed([*up_ms, *(down["delay_ms"] + before_ms)]), 4)
    return found


def _exchanges_ms(
    queues: Mapping[str, Queue],
    waits: Mapping[str, Numbers],
    sent_s: Numbers,
    base_ms: float,
    again_s: Numbers | float,
) -> Numbers:
    """Return how long small packets that are sent at these times and their answers take, with all repetitions."""
    there_s = queues["up"].left_s(waits["up"], sent_s, again_s) + base_ms / 2e3
    back_s = queues["down"].left_s(waits["down"], there_s, again_s) + base_ms / 2e3
    return 1e3 * (back_s - sent_s)


def _dropped(queue: Queue, start_s: float, stop_s: float) -> bool:
    """Return whether a queue dropped packets in a time."""
    import numpy as np

    before, after = np.interp([start_s, stop_s], queue.time_s, queue.drops)
    return bool(after > before)


def waits_of_probes(measured: Measurement, truth: Truth) -> dict[str, Waits]:
    """Return what simulated probes say about each phase of load: simulated delays are exact."""
    probes = measured.probes
    delays = {way: probes[f"{way}_ms"] - probes[f"{way}_ms"].min() for way in WAYS}
    sums = delays["up"] + delays["down"]
    found: dict[str, Waits] = {}
    for phase, start_s, stop_s in measured.phases[["phase", "start_s", "stop_s"]].itertuples(index=False):
        if phase == "idle":
            continue
        mine = probes["sent_s"].between(start_s, stop_s)
        late = mine & (probes["sent_s"] >= start_s + WARM_UP * (stop_s - start_s)) & sums.notna()
        if late.any():
            filled = [_was_filled(measured, truth, way, phase, delays[way][mine]) for way in WAYS]
            found[phase] = _waits(sums[late].to_numpy(float), *filled)
    return found


def _was_filled(measured: Measurement, truth: Truth, way: str, phase: str, waits_ms: pd.Series[float]) -> bool:
    """Return whether a phase filled a buffer; a direction without a buffer counts as filled.

    Where the rate is not constant, the buffer has no time of its own. There packets are lost only if it overflows.
    """
    truly: Way = getattr(truth, way)
    if truly.buffer_ms is not None:
        return bool(waits_ms.max() >= NEARLY_FULL * truly.buffer_ms)
    rows = measured.transfers
    mine = (rows["phase"] == phase) & (rows["direction"] == way)
    return truly.buffer_bytes is None or bool((rows["retransmits"][mine] > 0).any())


def requests_of_streams(streams: Mapping[PhaseName, Sequence[Stream]], phases: pd.DataFrame) -> dict[PhaseName, float]:
    """Return the trimmed mean of the times that a request on a loaded connection takes in each phase of load.

    The request may begin at every step of the last two thirds, on every connection that is open then.
    """
    import numpy as np

    found: dict[PhaseName, float] = {}
    for phase, start_s, stop_s in phases[["phase", "start_s", "stop_s"]].itertuples(index=False):
        grid = np.arange(WARM_UP * (stop_s - start_s), stop_s - start_s, STEP_S)
        each = [stream.delays_ms(grid[grid >= stream.sent_s[0]]) for stream in streams[phase] if len(stream.sent_s)]
        known = np.concatenate([delays[np.isfinite(delays)] for delays in each] or [np.zeros(0)])
        if len(known):
            found[phase] = round(_trimmed(known), 4)
    return found


def _waits(sums_ms: Numbers | Sequence[float], up_filled: bool, down_filled: bool) -> Waits:
    import numpy as np

    return {
        "median_ms": round(float(np.median(sums_ms)), 4),
        "trimmed_ms": round(_trimmed(sums_ms), 4),
        "up_filled": up_filled,
        "down_filled": down_filled,
    }


def _trimmed(values: Numbers | Sequence[float]) -> float:
    """Return the mean without the longest twentieth."""
    import numpy as np

    return float(np.mean(np.sort(values)[: max(1, int(TRIMMED * len(values)))]))
