"""Whether the rate of a line changes while it carries load."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unbloat.line.evidence import View
from unbloat.line.model import PAYLOAD_BYTES


def is_unsteady(measured: View, replicas: Sequence[View], *, may_be_loss: bool) -> bool:
    """Return whether the rate changes from part to part, as replicas of a line with a constant rate do not show.

    Slow lines show it by the times of packets. A busy line without losses carries at its rate. A full buffer makes
    packets wait for its room by its rate, but random losses come at any wait.
    """
    if measured.course.is_long:
        return measured.course.varies
    paces, ceilings = variation(measured)
    usual = [variation(each) for each in replicas]
    if math.isfinite(paces):
        return paces > 0.03 + 1.4 * max((each for each, _ in usual if math.isfinite(each)), default=0.0)
    if may_be_loss or math.isfinite(measured.link_bps) or not math.isfinite(ceilings):
        return False
    return ceilings > 0.04 + 1.4 * max((each for _, each in usual if math.isfinite(each)), default=0.0)


def variation(seen: View) -> tuple[float, float]:
    """Return how much paces and the waits of full buffers differ in a phase, by their medians; missing if unknown."""
    import numpy as np

    count = parts_of(seen)
    paces, ceilings = (each[np.isfinite(each)] for each in seen.parts(count))
    pace = ceiling = math.nan
    if len(paces) >= 3:
        few = 3 * PAYLOAD_BYTES * 8 / (seen.load_s / count)
        pace = max(0.0, float(np.ptp(paces)) - few) / float(np.median(paces))
    if len(ceilings) >= 5:
        # Most of the longest waits are equal if the rate is constant; shorter ones come of losses elsewhere.
        usual, longest = np.quantile(ceilings, [0.6, 0.95])
        ceiling = max(0.0, float(longest - usual) - 1.5 * seen.packet_ms) / float(usual)
    return pace, ceiling


def parts_of(seen: View) -> int:
    """Return how many parts of a phase are compared: each has at least two samples of the connections."""
    return max(4, min(20, round(seen.load_s / 0.25)))
