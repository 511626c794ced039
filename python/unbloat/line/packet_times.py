"""The rate of a line from the times at which probes leave its queue: whole packets are sent between two of them.

Lost packets do not change these times. So they also show how the rate of a line varies whose buffer overflows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from unbloat.line.model import PACKET_BYTES, PROBE_BYTES

if TYPE_CHECKING:
    from unbloat.line.arrays import Flags, Numbers

LEAST_PACKET_MS = 4.0
"""Jitter hides the time of a packet that takes less."""
LEAST_STEPS = 12
"""Fewer times between probes may have a common measure by chance."""
MOST_PACKET = 1.15
"""The most time of a packet by that at the rate of the goodput, which is at most the rate of the line."""
LEAST_PACKET = 0.25
"""The least time of a packet by that at the rate of the goodput: senders may wait for timers most of the time."""
LIKELY_PACKET = 0.6
"""The least one where the queue may have been empty between some probes."""
LEAST_STEP = 0.15
"""The least time between probes with a packet between them, by that of a packet at the rate of the goodput."""
PROBE = PROBE_BYTES / PACKET_BYTES
"""The time of a probe by that of a packet."""
LEAST_AGREEMENT = 0.55
"""The least agreement of many steps with a common measure; few steps must agree more clearly."""
LEAST_OF_GROUPS = 0.4
"""The least agreement in groups, of which several must say alike: small packets disturb some of the steps."""
ALIKE = 0.04
"""Agreement that differs by less is alike: then the longer time of a packet counts."""
MOST_EQUAL = 0.85
"""The most steps of one length: probes that do not wait are all as far apart as they were sent."""
NEAR = 0.12
"""How far from a whole number of packets a step may be, in packets."""
GROUP, NEXT = 24, 6
"""Times between probes that together show the rate at a time; and those from one group to the next."""
LONGEST_GROUP_MS = 3000.0
"""The rate may change within a longer group."""
SLOWEST_PACKET = 1.6
"""The most time of a packet by the usual one, where the rate varies."""
LEAP = 1.3
"""A rate that differs by this factor from those before and after it is chance: twice the rate measures many steps."""


def rate_of_packets(sent_ms: Numbers, waits_ms: Numbers, usual_ms: float) -> float:
    """Return the rate in bit/s; missing if the times between probes have no common measure.

    The waits of lost probes are missing. `usual_ms` is the time of a packet at the rate of the goodput.
    """
    if usual_ms < LEAST_PACKET_MS:
        return math.nan
    steps, has_packets, is_surely_busy = _steps(sent_ms, waits_ms, usual_ms)
    is_perhaps_busy = waits_ms[1:] > 0.05 * usual_ms
    surely = steps[is_surely_busy & has_packets]
    perhaps = steps[(is_surely_busy | is_perhaps_busy) & has_packets]
    # Half of the time of a packet measures the steps nearly as well, so likely times come first.
    for of, least, most_equal in (
        (surely, LIKELY_PACKET, 1.0),
        (perhaps, LIKELY_PACKET, MOST_EQUAL),
        (surely, LEAST_PACKET, 1.0),
    ):
        found_ms = _common_ms(of, usual_ms, (least, MOST_PACKET), LEAST_AGREEMENT, most_equal)
        if math.isfinite(found_ms):
            return PACKET_BYTES * 8e3 / found_ms
    return math.nan


def course_of_packets(sent_ms: Numbers, waits_ms: Numbers, usual_ms: float) -> tuple[Numbers, Numbers]:
    """Return times in ms and the rates in bit/s around them; both are empty where groups of probes show no rate."""
    import numpy as np

    found: list[tuple[float, float]] = []
    if usual_ms >= LEAST_PACKET_MS:
        steps, has_packets, is_surely_busy = _steps(sent_ms, waits_ms, usual_ms)
        is_step = has_packets & is_surely_busy
        left_ms, steps = (sent_ms + waits_ms)[1:][is_step], steps[is_step]
        for first in range(0, len(steps) - GROUP + 1, NEXT):
            group = slice(first, first + GROUP)
            if left_ms[group][-1] - left_ms[first] > LONGEST_GROUP_MS:
                continue
            packet_ms = _common_ms(steps[group], usual_ms, (LIKELY_PACKET, SLOWEST_PACKET), LEAST_OF_GROUPS, 1.0)
            if math.isfinite(packet_ms):
                found.append((float(np.mean(left_ms[group])), PACKET_BYTES * 8e3 / packet_ms))
    if not found:
        return np.zeros(0), np.zeros(0)
    times, rates = np.array(found).T
    leaps = np.abs(np.diff(np.log(rates), prepend=math.inf, append=math.inf)) > math.log(LEAP)
    is_usual = ~(leaps[:-1] & leaps[1:])
    return times[is_usual], rates[is_usual]


def _steps(sent_ms: Numbers, waits_ms: Numbers, usual_ms: float) -> tuple[Numbers, Flags, Flags]:
    """Return the times between probes, which of them have packets, and in which the queue was surely not empty."""
    import numpy as np

    leaves = sent_ms + waits_ms
    steps = np.diff(leaves)
    # The queue cannot have been empty between two probes if the second came before the first had left.
    return steps, steps > LEAST_STEP * usual_ms, sent_ms[1:] < leaves[:-1]


def _common_ms(
    steps: Numbers, usual_ms: float, within: tuple[float, float], least_agreement: float, most_equal: float
) -> float:
    """Return the time of a packet of which steps between probes are multiples, beside a probe's own."""
    import numpy as np

    count = len(steps)
    if count < LEAST_STEPS:
        return math.nan
    least, most = within
    packets = np.exp(np.arange(math.log(most * usual_ms), math.log(least * usual_ms), -0.001))
    agreement = np.array([np.mean(np.cos(2 * math.pi * (steps / each - PROBE))) for each in packets])
    best = float(agreement.max())
    if best < least_agreement + 1.5 / math.sqrt(count):
        return math.nan
    first = int(np.argmax(agreement > best - ALIKE))
    near = slice(first, first + 1 + int(np.argmax(np.append(agreement[first:], -1) < best - ALIKE)))
    found = float(packets[near][int(np.argmax(agreement[near]))])
    for _ in range(2):
        whole = np.rint(steps / found - PROBE)
        is_near = (np.abs(steps / found - PROBE - whole) < NEAR) & (whole > 0)
        if is_near.sum() < LEAST_STEPS or np.unique_counts(whole[is_near]).counts.max() > most_equal * is_near.sum():
            return math.nan
        found = float(steps[is_near].sum() / (whole[is_near] + PROBE).sum())
    return found
