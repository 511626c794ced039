"""The rate of a line from what it carried, by the time in which it was busy.

In a stretch in which packets always waited, that is all the time. Otherwise the share of the probes that wait for
others is the share of busy time. Losses do not matter, but nothing may be missing at the ends of what was carried.
Bytes behind a loss are carried in order only after what was lost has been sent again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from unbloat.line.model import PACKET_BYTES, PAYLOAD_BYTES
from unbloat.line.phase import Phase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


LEAST_WAIT_MS = 1.0
"""Jitter makes probes of a free line wait for less."""
MOMENT_S = 0.005
"""The time from one moment at which the line is busy or not to the next."""
LEAST_S, LEAST_PACKETS = 0.25, 100
"""Shorter stretches, and those of fewer packets, say little: samples are late, and packets come together."""
LATE_S = 0.15
"""How late samples may tell that segments were resent."""
LEAST_COMPLETE = 0.7
"""The share of the phase before which no end is looked for at which nothing is missing."""
LEAST_PROBES, LEAST_SHARE = 40, 0.1
"""Fewer probes, and fewer that wait, say little about the share of busy time."""
RANDOM_LOSS = 0.03
"""The share of lost probes below which any may have been lost at random."""
NO_WAIT_MS = 0.002
"""The resolution of waits."""
MOST_JITTER = 0.1
"""The most jitter by the time of a packet: a packet in transmission delays a probe by part of its time."""
MOST_APART = 0.03
"""Stretches whose rates differ by more say that the rate varies."""


def rate_of_stretches(seen: Phase) -> float:
    """Return the payload rate in bit/s of the times in which a phase was always busy; missing if there are too few."""
    found = [each for each in stretches(seen) if each[0] >= LEAST_S and each[1] >= LEAST_PACKETS * PAYLOAD_BYTES]
    if not found:
        return math.nan
    rates = [8 * carried / seconds for seconds, carried in found]
    if max(rates) > (1 + MOST_APART) * min(rates):
        return math.nan
    return 8 * sum(carried for _, carried in found) / sum(seconds for seconds, _ in found)


def rate_by_use(seen: Phase, jitter_ms: float) -> float:
    """Return the rate in bit/s by the share of the probes that waited; missing if jitter hides which of them did.

    Probes on the empty line wait up to `jitter_ms`. Many lost probes met a full queue, few were lost at random.
    """
    import numpy as np

    # The last samples tell what had left the queue a while before; those of downloads up to a round trip before.
    late_s = seen.base_rtt_s * (1.0 if seen.direction == "up" else 0.75)
    complete = seen.times[_is_complete(seen) & (seen.times > LEAST_COMPLETE * seen.load_s)]
    stop_s = float(complete[-1]) if len(complete) else seen.load_s
    waits = seen.added[seen.sent < stop_s - late_s]
    if len(waits) < LEAST_PROBES:
        return math.nan
    if np.mean(np.isnan(waits)) < RANDOM_LOSS:
        waits = waits[np.isfinite(waits)]
    share = float(np.mean(~(waits <= jitter_ms + NO_WAIT_MS)))
    carried_bps = 8 * float(np.interp(stop_s, seen.times, seen.carried)) / (stop_s - late_s)
    if share < LEAST_SHARE:
        return math.nan
    # Probes find the line busy with those before them only if these waited, too.
    found = carried_bps * PACKET_BYTES / PAYLOAD_BYTES / share + seen.probes_bps
    return found if jitter_ms < MOST_JITTER * PACKET_BYTES * 8e3 / found else math.nan


def stretches(seen: Phase) -> list[tuple[float, float]]:
    """Return the stretches of a phase, each as its seconds and the payload bytes that were carried in it."""
    import numpy as np

    moments = np.arange(0.0, seen.load_s, MOMENT_S)
    is_idle = ~seen.is_busy(moments, max(LEAST_WAIT_MS, 1.2 * seen.packet_ms))
    idle = np.append(moments[is_idle], seen.load_s)
    # Samples tell a round trip later what has left the queue; those of downloads, half of one or more.
    late_s = seen.base_rtt_s
    least_late_s = late_s if seen.direction == "up" else late_s / 2
    times = seen.times[_is_complete(seen) & (seen.times <= seen.load_s)]
    found = []
    place = 0
    while place < len(times):
        ends_s = idle[np.searchsorted(idle, times[place] - late_s - 1e-9)]
        last = int(np.searchsorted(times, min(ends_s + least_late_s, seen.load_s), "right")) - 1
        if last > place:
            first_bytes, last_bytes = np.interp(times[[place, last]], seen.times, seen.carried)
            found.append((float(times[last] - times[place]), float(last_bytes - first_bytes)))
        place = max(last, place) + 1
    return found


def _is_complete(seen: Phase) -> NDArray[np.bool_]:
    """Return at which samples nothing was missing before what had been carried: no segment was resent around them."""
    import numpy as np

    longest_s = float(np.nanmax(seen.added, initial=0.0)) / 1e3
    around = (seen.times - longest_s - seen.base_rtt_s - LATE_S, seen.times + seen.base_rtt_s + LATE_S)
    before, after = (np.interp(each, seen.times, seen.resent) for each in around)
    found: NDArray[np.bool_] = after - before < 0.5
    return found
