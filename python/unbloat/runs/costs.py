"""Estimates of the time and memory that simulations take, made from their scenarios before they begin."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from unbloat import _core
from unbloat.system import machine
from unbloat.system.legible import clock, in_words

log = logging.getLogger(__name__)

PACKETS_PER_S = 2e6
"""Data packets that a process simulates in a second, about. Flows with few packets take longer."""
LONG_S = 600.0
"""Shorter work starts without a warning."""
FLOW_BYTES, PACKET_BYTES, SAMPLE_BYTES = 4500, 200, 100
"""Memory of a flow, of a packet under way while the table of packets grows, and of a sample of a series."""
MOST_UNDER_WAY = 1 << 22
"""Packets under way, beyond which the simulator's hosts refuse datagrams."""


@dataclass(frozen=True)
class Cost:
    """The packets and the memory of a run."""

    packets: float
    memory: float
    """Bytes."""


def of(point: _core.GridPoint, series_ns: int | None = None) -> Cost:
    """Estimate a run: links are full, and what datagrams bring beyond that waits if its queue has no limit."""
    packets, waiting = point.expected_packets()
    flows = point.steady_flows
    samples = point.duration_s * 1e9 / series_ns * (flows + point.sampled_links) if series_ns else 0
    under_way = min(waiting, MOST_UNDER_WAY)
    return Cost(packets, flows * FLOW_BYTES + under_way * PACKET_BYTES + samples * SAMPLE_BYTES)


def tell(costs: Iterable[Cost], processes: int) -> None:
    """Log what runs will take if it is long, or if it is much of this machine's memory."""
    runs = sorted(costs, key=lambda cost: cost.memory, reverse=True)
    packets = sum(cost.packets for cost in runs)
    seconds = packets / PACKETS_PER_S / max(1, min(processes, len(runs)))
    if seconds > LONG_S:
        log.warning("some %s packets are to be simulated, which takes about %s here", in_words(packets), clock(seconds))
    needed = sum(cost.memory for cost in runs[:processes])
    if needed > machine.memory_bound():
        fewer = "; --jobs 1 does one run at a time" if processes > 1 and len(runs) > 1 else ""
        log.warning(
            "about %s of memory will be needed, and %s are free%s",
            machine.bytes_in_words(needed),
            machine.bytes_in_words(machine.free_memory()),
            fewer,
        )


# ---------------------------------------------------------------- In guests

MEASURED = ((0.0, 0.0), (2e6, 0.06), (20e6, 0.42), (100e6, 2.21))
"""Rates in bit/s, and processor seconds for a second of the guest: `benches/guest-speed` on the development machine.
Beyond the last the guest's processor is always busy, and that does not cost more."""


def guest_processor_s(point: _core.GridPoint) -> float:
    """Guess how long a processor takes for a grid point; where its link follows a recording, as for a slow one."""
    return point.duration_s * per_guest_second(point.slowest_rate_bps or MEASURED[1][0])


def per_guest_second(rate: float) -> float:
    """Guess the processor time of a guest's second at a rate in bit/s."""
    for (slower, less), (faster, more) in pairwise(MEASURED):
        if rate <= faster:
            return less + (more - less) * (rate - slower) / (faster - slower)
    return MEASURED[-1][1]


def in_guests(points: Sequence[_core.GridPoint]) -> str:
    """Say how long runs in guests take if none is cached."""
    guest_s, processor_s = (sum(map(each, points)) for each in (lambda point: point.duration_s, guest_processor_s))
    return f"in guests, {clock(guest_s)} of their time: some {clock(processor_s)} of a processor's if all are new"
