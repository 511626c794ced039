"""Whether others use a line: packets that wait on it without load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbloat.line.model import FOREIGN_BYTES, PACKET_BYTES, PROBE_BYTES

if TYPE_CHECKING:
    from unbloat.line.arrays import Numbers

CALM_MS = 6.0
"""RTTs of a line without load differ less than this, unless others load it or it is a radio."""
LEAST_PROBES = 40
"""Fewer probes of a line without load do not tell how many of them wait."""
LEAST_SHARE = 0.04
"""The share of the probes that wait on a line that others load."""

LATE_MS = 0.5
"""A computer with any jitter answers some probes this much later, even if most of the others come in time."""
LATE_SHARE = 0.06
"""The share of probes that such a computer may answer still later."""
NO_JITTER_MS = 0.002
"""The least jitter of a computer; simulated ones have less."""


def others_share(waits_ms: Numbers, rate_bps: float, requests_hz: float) -> float:
    """Return the share of probes that waited without load longer than jitter and the client's requests explain.

    Jitter delays most probes, others' packets some: the lower quarter of the waits shows the jitter. A line that
    others load all the time delays even that quarter, by the time of a packet.
    """
    import numpy as np

    packet_ms = PACKET_BYTES * 8e3 / rate_bps
    own = min(1.0, requests_hz * FOREIGN_BYTES * 8 / rate_bps)
    low_ms = float(np.quantile(waits_ms, 0.25))
    if low_ms > max(1.0, 0.7 * packet_ms):
        return 0.75 - own
    # A rate that varies changes the time that a probe itself takes.
    probe_ms = PROBE_BYTES * 8e3 / rate_bps
    has_jitter = low_ms > NO_JITTER_MS
    jitter_ms, late_share = (max(LATE_MS, 20 * low_ms), LATE_SHARE) if has_jitter else (0.0, 0.0)
    return float(np.mean(waits_ms > jitter_ms + 3 * probe_ms + 0.01)) - own - late_share
