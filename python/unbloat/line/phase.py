"""One direction of one phase of a measurement: what was sent, carried and delayed by when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbloat.line.measurement import Direction
from unbloat.line.model import PACKET_BYTES, PAYLOAD_BYTES, PROBE_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unbloat.line.arrays import Numbers

BINS = 8
"""Parts of a phase whose goodput and delay are compared."""
PEAK_SHARE = 0.2
"""The part of a phase whose goodput may be its largest."""


@dataclass
class Phase:
    """What one phase shows of one direction; times in seconds since its load began."""

    direction: Direction
    load_s: float
    sent: Numbers
    added: Numbers
    """Delays of the probes beyond those of the empty line, in ms; missing if lost."""
    times: Numbers
    carried: Numbers
    """Payload bytes of all connections by these times."""
    own: Numbers
    """Median over the connections of the RTT that they see, beyond that of the empty line, in ms."""
    resent: Numbers
    """Segments that all connections have resent by these times; missing if unknown."""
    retransmitted: float
    """Resent segments by all segments; missing if unknown."""
    probes_lost: float
    base_rtt_s: float
    """RTT of a probe on the empty line."""
    jitter_ms: float = 0.0
    """How long nearly all probes wait at most on the empty line."""

    def rate(self, start: float, stop: float) -> float:
        """Return the payload rate between two shares of the phase, bit/s."""
        import numpy as np

        at = np.array([start, stop]) * self.load_s
        first, last = np.interp(at, self.times, self.carried)
        return float(last - first) * 8 / float(at[1] - at[0])

    def peak(self) -> float:
        """Return the largest payload rate of a part of the phase, bit/s."""
        import numpy as np

        at = np.linspace(0.1, 0.8, 15) * self.load_s
        first, last = (np.interp(at + more, self.times, self.carried) for more in (0.0, PEAK_SHARE * self.load_s))
        return float(np.max(last - first)) * 8 / (PEAK_SHARE * self.load_s)

    def bins(self) -> Numbers:
        """Return the payload rate of each part of the phase, bit/s."""
        import numpy as np

        at = np.linspace(0, self.load_s, BINS + 1)
        return np.diff(np.interp(at, self.times, self.carried)) * 8 / (self.load_s / BINS)

    def waits(self) -> Numbers:
        """Return the median wait in each part of the phase, ms."""
        import numpy as np

        part = np.clip((self.sent / self.load_s * BINS).astype(int), 0, BINS - 1)
        found = [self.added[part == each] for each in range(BINS)]
        return np.array([np.nanmedian(each) if np.isfinite(each).any() else math.nan for each in found])

    def wait(self, share: float, start: float = 0.3) -> float:
        """Return a quantile of the waits from a share of the phase on, ms."""
        import numpy as np

        late = self.added[self.sent >= start * self.load_s]
        late = late[np.isfinite(late)]
        return float(np.quantile(late, share)) if len(late) else math.nan

    @property
    def packet_ms(self) -> float:
        """The time that a full packet takes at the rate of the goodput."""
        return PACKET_BYTES * 8e3 / max(1.0, self.rate(0.3, 1.0))

    def is_busy(self, moments: Numbers, least_ms: float | None = None) -> NDArray[np.bool_]:
        """Return whether packets waited for others at these times, for longer than `least_ms` or a packet."""
        import numpy as np

        waits = np.nan_to_num(self.added)
        is_waiting = waits > (1.2 * self.packet_ms if least_ms is None else least_ms)
        begins, ends = self.sent[is_waiting], (self.sent + np.maximum(waits / 1e3, 0.03))[is_waiting]
        began, ended = (np.searchsorted(np.sort(each), moments) for each in (begins, ends))
        found: NDArray[np.bool_] = began > ended
        return found

    def busy_share(self) -> float:
        """Return the share of the time, after the start of the phase, in which packets waited for others."""
        import numpy as np

        return float(np.mean(self.is_busy(np.linspace(0.3, 1.0, 200) * self.load_s)))

    def wire_bps(self, payload_bps: float) -> float:
        """Return the rate of packets that carry payload at a rate, with the probes among them."""
        return payload_bps * PACKET_BYTES / PAYLOAD_BYTES + self.probes_bps

    @property
    def probes_bps(self) -> float:
        """The rate of the probes."""
        import numpy as np

        return PROBE_BYTES * 8 / float(np.median(np.diff(self.sent))) if len(self.sent) > 1 else 0.0

    def own_wait(self, share: float = 0.5) -> float:
        """Return a quantile of the connections' own waits after the start of the phase, ms."""
        import numpy as np

        late = self.own[self.times >= 0.3 * self.load_s]
        late = late[np.isfinite(late)]
        return float(np.quantile(late, share)) if len(late) else math.nan
