"""What the queues of a line say about a measurement: how long a sparse packet waited in each phase of load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat.lab.line_grades import Waits
from unbloat.lab.lines import Truth
from unbloat.lab.random_scenarios import PACKET_BYTES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating[Any]]

WARM_UP = 1 / 3
"""The first part of a phase, which `unbloat line` leaves out too."""
NEARLY_FULL = 0.9
"""A buffer counts as filled once a packet waited for this share of its time."""
STEP_S = 0.02
"""The time grid on which a measurement is laid over the queues."""
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

    def waits_ms(self, kind: str) -> Numbers:
        """Return how long a sparse packet that arrives at each step waits.

        In a FIFO it waits until the bytes before it have left, or were dropped from the head. A fair queue serves it
        next, after the packet in transmission.
        """
        import numpy as np

        if kind == "fq_codel":
            busy = self.waiting_bytes > 0
            return np.where(busy, PACKET_BYTES / 2 * 8e-3 / np.maximum(self.capacity_mbps, 1e-3), 0.0)
        gone = self.sent_bytes + (self.drops * PACKET_BYTES if kind == "drophead" else 0)
        until = gone + self.waiting_bytes
        # Several steps may pass before the next byte leaves: the first of equal sums is the time.
        left_s = np.interp(until, gone + np.arange(len(gone)) * 1e-9, self.time_s, right=math.nan)
        waits = 1e3 * (left_s - self.time_s)
        rest = self.waiting_bytes * 8e-3 / np.maximum(self.capacity_mbps, 1e-3)
        return np.where(self.waiting_bytes > 0, np.where(np.isfinite(waits), waits, rest), 0.0)


def read_queues(file: Path) -> dict[str, Queue]:
    """Read what `unbloat shell --queues` wrote: both directions."""
    import numpy as np
    import pandas as pd

    rows = pd.read_csv(file)
    found = {}
    for way, name in zip(WAYS, ("line", "line.reverse"), strict=True):
        mine = rows[rows["link"] == name]
        time_s = mine["time_s"].to_numpy(float)
        steps = np.diff(time_s, prepend=time_s[0])
        # A radio has no capacity of its own: what it has carried at most stands in.
        capacity = mine["capacity_mbps"].fillna(mine["throughput_mbps"].quantile(0.95))
        found[way] = Queue(
            time_s,
            mine["queue_bytes"].to_numpy(float),
            mine["drops"].to_numpy(float),
            np.cumsum(mine["throughput_mbps"].to_numpy(float) * steps) / 8e-6,
            capacity.to_numpy(float),
        )
    return found


def beginning(queues: Mapping[str, Queue], transfers: pd.DataFrame, base_rtt_ms: float) -> float:
    """Return the time of day at which a measurement began: its transfers then follow what the link has carried.

    Downloads count where there are any, because their bytes arrive one propagation delay after the link has sent them.
    """
    import numpy as np

    way = "down" if (transfers["direction"] == "down").any() else "up"
    queue = queues[way]
    mine = transfers[transfers["direction"] == way]
    grid = np.arange(0, float(mine["time_s"].max()) + STEP_S, STEP_S)
    carried = np.zeros(len(grid))
    for _, one in mine.groupby(["phase", "connection"]):
        carried += np.interp(grid, one["time_s"], one["bytes"], left=0.0)
    start = float(queue.time_s[0])
    clock = np.arange(start, float(queue.time_s[-1]), STEP_S)
    sent = np.diff(np.interp(clock, queue.time_s, queue.sent_bytes))
    received = np.diff(carried)
    if len(sent) < len(received):
        sent = np.append(sent, np.zeros(len(received) - len(sent)))
    place = int(np.argmax(np.correlate(sent, received, "valid")))
    return start + place * STEP_S - base_rtt_ms / 2e3


def waits_of_queues(
    queues: Mapping[str, Queue], phases: pd.DataFrame, began_s: float, truth: Truth
) -> dict[str, Waits]:
    """Return what the queues of an emulated link say about each phase of load."""
    import numpy as np

    waits = {way: queues[way].waits_ms(truth.kind) for way in WAYS}
    found: dict[str, Waits] = {}
    for phase, start_s, stop_s in phases[["phase", "start_s", "stop_s"]].itertuples(index=False):
        if phase == "idle":
            continue
        late_s = start_s + WARM_UP * (stop_s - start_s)
        grid = began_s + np.arange(late_s, stop_s, STEP_S)
        up, down = (np.interp(grid, queues[way].time_s, waits[way]) for way in WAYS)
        filled = {way: _dropped(queues[way], began_s + start_s, began_s + stop_s) for way in WAYS}
        found[phase] = _waits(up + down, filled["up"], filled["down"])
    return found


def _dropped(queue: Queue, start_s: float, stop_s: float) -> bool:
    """Return whether a queue dropped packets in a time."""
    import numpy as np

    before, after = np.interp([start_s, stop_s], queue.time_s, queue.drops)
    return bool(after > before)


def waits_of_probes(probes: pd.DataFrame, phases: pd.DataFrame, truth: Truth) -> dict[str, Waits]:
    """Return what simulated probes say about each phase of load: simulated delays are exact."""
    delays = {way: probes[f"{way}_ms"] - probes[f"{way}_ms"].min() for way in WAYS}
    sums = delays["up"] + delays["down"]
    found: dict[str, Waits] = {}
    for phase, start_s, stop_s in phases[["phase", "start_s", "stop_s"]].itertuples(index=False):
        if phase == "idle":
            continue
        mine = probes["sent_s"].between(start_s, stop_s)
        late = mine & (probes["sent_s"] >= start_s + WARM_UP * (stop_s - start_s)) & sums.notna()
        if late.any():
            filled = [_was_long(delays[way][mine].max(), getattr(truth, way).buffer_ms) for way in WAYS]
            found[phase] = _waits(sums[late].to_numpy(float), *filled)
    return found


def _was_long(wait_ms: float, buffer_ms: float | None) -> bool:
    """Return whether a wait shows a full buffer; if the buffer has no time of its own, it counts as filled."""
    return buffer_ms is None or bool(wait_ms >= NEARLY_FULL * buffer_ms)


def _waits(sums_ms: Numbers | Sequence[float], up_filled: bool, down_filled: bool) -> Waits:
    import numpy as np

    return {
        "median_ms": round(float(np.median(sums_ms)), 4),
        "mean_ms": round(float(np.mean(sums_ms)), 4),
        "up_filled": up_filled,
        "down_filled": down_filled,
    }
