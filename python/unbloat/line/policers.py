"""The rate of a policer, which has no queue that tells it.

Its bucket starts full. While it lasts, everything passes; then the tokens' rate does. A deep bucket and a slow rate
carry about as much as a shallow one and a faster rate, so several buckets are tried. Goodput shows the rate within
about 5 % where the bucket lasts for most of a round trip. A shallow one fills up between the windows of the senders.
Tokens are lost then, and nothing shows how many: the rate is open above.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from unbloat.line.model import HEADERS, PACKET_BYTES, Side
from unbloat.line.phase import PEAK_SHARE

if TYPE_CHECKING:
    from unbloat.line.evidence import View

BUCKETS_S = {
    "policer": 0.0,
    "policer of 25 ms": 0.025,
    "policer of 60 ms": 0.06,
    "policer of 110 ms": 0.11,
    "policer of 200 ms": 0.2,
}
"""Policers by the time in which their tokens fill the bucket: a slow start hides how deep it is."""
FAST_LINE = "policer of a fast line"
"""The policer that is tried on another line."""
FASTER = 3.0
"""The rate of that line, by the one that the samples suggest."""
LEAST_LINE = 2.0
"""The least rate of a line by that of a policer on it: packets seldom wait where a policer cuts."""
MOST_UNUSED = 1.07
"""The most by which a policer's rate exceeds what passes it in the second half or the fullest part of a phase."""
ALIKE = 0.3
"""How much worse the score of a policer may be by chance."""
LEAST_BUCKET = 0.5
"""The least time in which tokens fill the bucket, by the round-trip time, if goodput shows their rate."""


def policers(measured: View, passed_bps: float, loss_percent: float) -> dict[str, Side]:
    """Return the policers that samples suggest, by name; none where packets wait too often for a policer."""
    import numpy as np

    tokens = measured.carried * HEADERS - passed_bps / 8 * measured.times
    peak = float(np.max(np.diff(measured.carried) / np.maximum(np.diff(measured.times), 1e-3))) * 8 * HEADERS
    least = max(10.0 * PACKET_BYTES, float(tokens.max()))
    # A policer cuts where the line itself is not busy, so that no packet waits for another.
    line_bps = measured.use_bps if math.isfinite(measured.use_bps) else max(3 * passed_bps, peak)
    if line_bps < LEAST_LINE * passed_bps:
        return {}
    # Names of equal buckets give one candidate.
    bursts = {max(least, passed_bps / 8 * seconds): name for name, seconds in BUCKETS_S.items()}
    return {
        name: Side(passed_bps, 64 * PACKET_BYTES, "policer", loss_percent, burst_bytes=burst, line_bps=line_bps)
        for burst, name in bursts.items()
    }


def on_faster_line(side: Side) -> Side:
    """Return a policer on a line that is faster than the samples suggest.

    The times of probes and the timers of senders have common measures, so that more probes may wait than the load of
    the line says.
    """
    return replace(side, line_bps=FASTER * side.line_bps)


def loses_tokens(side: Side, base_rtt_s: float) -> bool:
    """Return whether the bucket of a policer fills up between the windows that senders bring in each round trip."""
    return side.discipline == "policer" and side.burst_bytes * 8 / side.rate_bps < LEAST_BUCKET * base_rtt_s


def plausible_factor(side: Side, measured: View, ratio: float) -> float:
    """Return the factor of a candidate's rate, within what is likely for a policer.

    Once the burst is gone, nothing passes but the tokens' rate, or less. Senders that wait for timers leave tokens
    unused, but fewer in the fullest part of the phase, in which at most one more burst passes.
    """
    if side.discipline != "policer":
        return ratio
    late = measured.wire_bps(measured.rate(0.5, 1.0)) / side.rate_bps
    fullest_bps = measured.wire_bps(measured.peak()) - side.burst_bytes * 8 / (PEAK_SHARE * measured.load_s)
    return min(max(ratio, 0.95 * late), MOST_UNUSED * max(late, fullest_bps / side.rate_bps))
