"""How many packets in a row a line loses at once, from the times at which segments were resent.

Losses one by one resend segments in nearly as many samples as there are segments. Bursts resend as many in few samples.
A buffer that overflows loses more at once than a line does, so large numbers do not count. The mean is right within a
half where bursts are rare. It is too small where a burst spreads over the samples of several round trips.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat.line.phase import Phase

MOST_AT_ONCE = 30
"""The most segments that are resent within one sample, unless a buffer overflowed."""
LEAST_EVENTS = 3
"""Fewer losses say nothing about bursts."""
LEAST_BURST = 1.5
"""Shorter bursts are taken for chance."""


def loss_burst(seen: Phase) -> float:
    """Return how many packets are lost at once in the mean; 1 if losses come one by one or are too few."""
    import numpy as np

    resent = np.diff(seen.resent, prepend=0.0)
    resent = resent[resent <= MOST_AT_ONCE]
    samples, lossy = len(resent), int(np.sum(resent > 0))
    if lossy < LEAST_EVENTS:
        return 1.0
    # Several losses may fall into one sample; as many samples have none as chance leaves out.
    events = -samples * math.log(1 - min(lossy, samples - 0.5) / samples)
    burst = float(resent.sum()) / events
    return burst if burst >= LEAST_BURST else 1.0
