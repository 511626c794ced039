"""Whether others use a line: packets that wait on it without load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbloat.line.model import FOREIGN_BYTES, PACKET_BYTES, PROBE_BYTES
from unbloat.line.stretches import NO_WAIT_MS

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
    late_ms = 3 * probe_ms + 0.01
    if low_ms > NO_WAIT_MS:  # Clocks and computers without any jitter are simulated ones.
        late_ms += max(LATE_MS, 20 * low_ms)
        own += LATE_SHARE
    return float(np.mean(waits_ms > late_ms)) - own
