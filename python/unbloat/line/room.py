"""The room of a buffer from the longest waits: a packet that waits has its wait times the rate in bytes before it.

The longest wait shows at least how much room there is. A buffer that overflows has no more. A byte queue of 20 packets
or more is found within 8 %. A queue that counts packets holds small ones, too. The probes before a probe are known, so
the number of packets is exact on a line that carries nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbloat.line.model import PACKET_BYTES, PROBE_BYTES

if TYPE_CHECKING:
    from unbloat.line.arrays import Numbers
    from unbloat.line.phase import Phase

SENDING = 0.6
"""The part of a packet that the line is still sending when a probe waits longest; it takes no room."""
MOST_JITTER = 0.1
"""The most of the longest wait that is taken for jitter."""
SMALL_PACKETS = 10
"""The least number of small packets in a full queue that tells one of packets from one of bytes."""
UNSEEN_MS = 30.0
"""How much longer than the longest waits of probes those of packets between them may be."""
SURE_SLOTS = 0.1
"""The part of a packet that chance may add to a count of packets."""


@dataclass(frozen=True)
class Ahead:
    """What was in the queue before each probe of all phases that load a direction."""

    waits_ms: Numbers
    probes: Numbers
    """Probes that had not left the queue yet."""
    longest_of_phases_ms: tuple[float, ...] = ()
    """The longest wait but one of each phase."""
    doubt: float = 0.0
    """How far waits are open, as a share: those on a line whose rate varies count at least."""

    @property
    def longest_ms(self) -> float:
        """The longest wait but one, as a single probe may be late for other reasons; missing without probes."""
        return _longest_ms(self.waits_ms)

    def longest_bytes(self, rate_bps: float) -> float:
        """Return the bytes that the longest wait had before it at a rate, those in transmission among them."""
        return self.longest_ms * rate_bps / 8e3

    def room_bytes(self, rate_bps: float, *, in_packets: bool) -> float:
        """Return the least buffer for these waits, in bytes of full packets; missing without probes."""
        import numpy as np

        if len(self.waits_ms) < 2:
            return math.nan
        if not in_packets:
            return max(2.0 * PACKET_BYTES, self.longest_bytes(rate_bps) - SENDING * PACKET_BYTES)
        full = (self.waits_ms * rate_bps / 8e3 - PROBE_BYTES * self.probes) / PACKET_BYTES
        packets = float(np.sort(full + self.probes)[-2])
        return max(1.0, math.ceil(packets - SURE_SLOTS)) * PACKET_BYTES

    def counts_bytes(self, rate_bps: float) -> bool | None:
        """Return whether the buffer counts bytes, as the waits of two phases show; None if they show nothing.

        A full buffer of bytes makes packets wait equally long in all phases. A buffer of packets makes them wait for
        less time where it holds more small packets, such as acknowledgements. With few small packets, or one phase,
        the waits show nothing.
        """
        small = self.room_bytes(rate_bps, in_packets=True) - self.room_bytes(rate_bps, in_packets=False)
        if len(self.longest_of_phases_ms) < 2 or not small >= SMALL_PACKETS * PACKET_BYTES:
            return None
        apart_ms = max(self.longest_of_phases_ms) - min(self.longest_of_phases_ms) - self.doubt * self.longest_ms
        if apart_ms * rate_bps / 8e3 < PACKET_BYTES:
            return True
        return False if apart_ms > UNSEEN_MS else None


def ahead(phases: Sequence[Phase], slowed: Sequence[Numbers | float] = (), settled: float = 0.0) -> Ahead:
    """Return what was before the probes of phases of one direction.

    `slowed` has the rate of each phase, or that while each of its probes waited, by the rate for which the waits count.
    `settled` is the share of a phase after which its longest wait is compared with those of others.
    """
    import numpy as np

    waits, probes, longest_ms = [np.zeros(0)], [np.zeros(0)], []
    for seen, share in zip(phases, slowed or [1.0] * len(phases), strict=True):
        known = np.isfinite(seen.added)
        sent_ms, waits_ms = seen.sent[known] * 1e3, seen.added[known]
        most_ms = float(np.max(waits_ms, initial=0.0))
        waits_ms = np.maximum(0.0, waits_ms - min(seen.jitter_ms, MOST_JITTER * most_ms))
        left_ms = np.maximum.accumulate(sent_ms + waits_ms)
        waits.append(waits_ms * np.broadcast_to(share, known.shape)[known])
        late = waits[-1][sent_ms >= settled * seen.load_s * 1e3]
        longest_ms += [_longest_ms(late)] if len(late) > 1 else []
        before = np.arange(len(sent_ms), dtype=float)
        probes.append(np.maximum(0.0, before - np.searchsorted(left_ms, sent_ms)))
    return Ahead(np.concatenate(waits), np.concatenate(probes), tuple(longest_ms))


def _longest_ms(waits_ms: Numbers) -> float:
    import numpy as np

    return float(np.sort(waits_ms)[-2]) if len(waits_ms) > 1 else math.nan
