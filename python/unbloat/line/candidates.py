"""Candidates for one direction of a line: what the samples suggest, how well they explain it, and corrections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from unbloat.line.evidence import View
from unbloat.line.loss_bursts import loss_burst
from unbloat.line.model import HEADERS, PACKET_BYTES, Side
from unbloat.line.policers import FAST_LINE, plausible_factor, policers

ENOUGH = 3.0
"""The largest score of a line that fits, unless chance alone makes a larger one."""
SLOW_BPS = 4e6
"""Slower lines carry so few packets that probes matter in a queue that counts packets."""
FEW_SLOTS = 16
"""The most packets of a queue that counts so few that probes matter at any rate."""
LEAST_RESENT, LEAST_LOSSY, MOST_RESENT = 2e-5, 2e-4, 0.15
"""The share of resent segments from which on they may have been lost at random, in a full buffer too, and the most."""
OPEN = 4.0
"""The room of a buffer that was never filled, by the least one for the waits."""
UNKNOWN_WAIT_MS = 50.0
"""The longest wait where no probe was answered."""
LIKELY_PACKETS = 0.1
"""The margin of a buffer of packets where phases show one."""
SURE_RATE = 0.02
"""How far a rate is open that the samples show directly, as a logarithm."""
RATE_BY_USE = 0.05
"""How far a rate is open that follows from the share of busy time."""


@dataclass
class Candidate:
    """One direction as one class of queue has it."""

    side: Side
    score: float = math.inf
    """Root mean square of the differences, by what is usual for each."""
    residual: float = math.inf
    """Mean relative difference of goodput and delays."""
    seen: View | None = None
    usual: float = 0.0
    """The score of two simulations of this line that differ by chance alone."""

    @property
    def fits(self) -> bool:
        """Whether the measurement differs from the simulations no more than they differ from one another."""
        return self.score < max(ENOUGH, 1.3 * self.usual + 0.2)


def difference(measured: View, simulated: View | None, side: Side, noise_ms: float) -> tuple[float, float]:
    """Return the score of a simulation, and the mean relative difference of goodput and delays."""
    import numpy as np

    if simulated is None:
        return math.inf, math.inf
    packet_ms = PACKET_BYTES * 8e3 / side.rate_bps
    mean = max(measured.rate(0, 1), 1.0)
    terms: list[tuple[float, float]] = []  # A normalized difference and its weight.
    rates = (simulated.bins() - measured.bins()) / mean
    terms += [(float(each) / 0.10, 0.5) for each in rates]
    terms.append(((simulated.rate(0.3, 1) - measured.rate(0.3, 1)) / mean / 0.03, 3.0))
    relative = [float(np.mean(np.abs(rates)))]
    floor = 1.0 + noise_ms + 0.7 * packet_ms
    usual = max(measured.wait(0.5), 1.0)
    waits = simulated.waits() - measured.waits()
    terms += [(float(each) / (0.2 * usual + floor), 0.5) for each in waits if math.isfinite(each)]
    for share in (0.1, 0.5, 0.9, 0.98):
        one, other = measured.wait(share), simulated.wait(share)
        if math.isfinite(one) and math.isfinite(other):
            terms.append(((other - one) / (0.1 * max(one, usual) + floor), 1.0))
            relative.append(max(0.0, abs(other - one) - floor) / max(one, usual, floor))
    one, other = measured.wait(1.0, 0.0), simulated.wait(1.0, 0.0)
    if math.isfinite(one) and math.isfinite(other):
        terms.append(((other - one) / (0.15 * max(one, usual) + floor + 2), 1.0))
    for share in (0.5, 0.9):
        one, other = measured.own_wait(share), simulated.own_wait(share)
        if math.isfinite(one) and math.isfinite(other):
            terms.append(((other - one) / (0.15 * max(one, usual) + floor), 1.0))
    if math.isfinite(measured.retransmitted) and math.isfinite(simulated.retransmitted):
        usual_loss = 0.3 * measured.retransmitted + 0.01
        terms.append(((simulated.retransmitted - measured.retransmitted) / usual_loss, 1.0))
    if math.isfinite(measured.probes_lost):
        terms.append(((simulated.probes_lost - measured.probes_lost) / (0.4 * measured.probes_lost + 0.03), 1.0))
    squares = sum(weight * min(abs(value), 6.0) ** 2 for value, weight in terms)
    return math.sqrt(squares / sum(weight for _, weight in terms)), float(np.mean(relative))


PENALTIES: dict[str, float] = {
    "fifo": 0.0,
    "packets": 0.15,
    "drophead packets": 0.08,
    "lossy": 0.1,
    "lossy in bursts": 0.15,
    "unfilled": 0.2,
    "unfilled in bursts": 0.2,
    "drophead": 0.05,
    "fq_codel": 0.15,
    "pie": 0.1,
    "codel": 0.15,
    "policer": 0.1,
    "policer of 25 ms": 0.1,
    "policer of 60 ms": 0.1,
    "policer of 110 ms": 0.1,
    "policer of 200 ms": 0.1,
    FAST_LINE: 0.1,
    "varying": 0.25,
}
"""The margin by which a class's score must beat that of a simpler one."""


UNFILLED = ("unfilled", "unfilled in bursts")
"""The classes whose losses are random ones alone."""
LOSSY = ("lossy", "lossy in bursts", *UNFILLED)
"""The classes with random losses."""
PACKETS = ("packets", "drophead packets")
"""The classes whose buffers count packets."""


def penalty(name: str, measured: View) -> float:
    """Return the margin by which a class's score must beat that of a simpler one.

    Buffers of packets are the simpler ones where the waits of phases differ as theirs do.
    """
    is_likely = name in PACKETS and measured.retransmitted > 0
    is_likely = is_likely and measured.ahead.counts_bytes(measured.wire_bps(measured.rate(0.3, 1.0))) is False
    return PENALTIES[name] - (LIKELY_PACKETS if is_likely else 0.0)


def first_sides(measured: View, idle_loss: float, connections: int) -> dict[str, Side]:
    """Return the candidates that the samples suggest directly, by class."""
    known = next((each for each in (measured.link_bps, measured.stretches_bps) if math.isfinite(each)), math.nan)
    is_known = math.isfinite(known)
    goodput = measured.rate(0.4, 1.0) * HEADERS
    rate = next(each for each in (known, measured.use_bps, goodput) if math.isfinite(each))
    packet_ms = PACKET_BYTES * 8e3 / rate
    highest = measured.wait(0.98, 0.0)
    loss = 100 * idle_loss if idle_loss > 0.01 else 0.0
    room = room_of(measured, rate, in_packets=False)
    found: dict[str, Side] = {"fifo": Side(rate, room, "fifo", loss)}
    found["drophead"] = Side(rate, room, "drophead", loss)
    slots = room_of(measured, rate, in_packets=True)
    may_be_packets = rate < SLOW_BPS or slots <= FEW_SLOTS * PACKET_BYTES
    if may_be_packets and not measured.ahead.counts_bytes(rate):
        # Probes and acknowledgements take as much room as data in a queue that counts packets.
        found["packets"] = Side(rate, slots, "fifo", loss, in_packets=True)
        found["drophead packets"] = Side(rate, slots, "drophead", loss, in_packets=True)
    resent = measured.retransmitted if math.isfinite(measured.retransmitted) else max(0.002, measured.probes_lost)
    faster = rate
    if not math.isfinite(known_bps(found["fifo"], measured)):
        is_short = highest < 20 + 3 * packet_ms or measured.wait(0.5) < 0.2 * highest
        faster = 2 * HEADERS * measured.peak() if is_short else rate
    burst = loss_burst(measured)
    for ending, length in (("", 1.0), (" in bursts", burst)) if burst > 1 else (("", 1.0),):
        if LEAST_LOSSY < resent < MOST_RESENT:
            found[f"lossy{ending}"] = Side(rate, room, "fifo", 80 * resent if loss else 25 * resent, length)
        if LEAST_RESENT < resent < MOST_RESENT:
            # The waits say only how much room there is at least.
            found[f"unfilled{ending}"] = Side(faster, OPEN * room * faster / rate, "fifo", 100 * resent, length)
    middle = measured.wait(0.5)
    # A fair queue serves a packet of each connection in turn; a probe waits for a turn if it comes more often.
    is_low = not math.isfinite(middle) or middle < max(3, 0.8 * connections) * packet_ms + 4
    if is_low:
        found["fq_codel"] = Side(rate, 0.0, "fq_codel", loss)
        found |= {} if is_known else policers(measured, goodput, loss)
    if math.isfinite(middle) and middle < 120 + 5 * packet_ms:
        target = min(0.1, max(0.002, middle / 1e3))
        found["pie"] = Side(rate, 0.0, "pie", loss, target_s=target)
        found["codel"] = Side(rate, 0.0, "codel", loss, target_s=target)
    return found


def room_of(measured: View, rate_bps: float, *, in_packets: bool) -> float:
    """Return the room of a buffer at a rate that the longest waits show."""
    room = measured.ahead.room_bytes(rate_bps, in_packets=in_packets)
    return room if math.isfinite(room) else max(2.0 * PACKET_BYTES, UNKNOWN_WAIT_MS * rate_bps / 8e3)


def is_open(side: Side, measured: View) -> bool:
    """Return whether a candidate's buffer is one that was never filled."""
    return side.buffer_bytes > OPEN / 2 * room_of(measured, side.rate_bps, in_packets=side.in_packets)


def corrected_room(room_bytes: float, rate_bps: float, measured: View, simulated: View) -> float:
    """Return the room of a buffer by the longest waits of a simulation, where the rate at each wait is not known."""
    one, other = measured.wait(0.98, 0.0), simulated.wait(0.98, 0.0)
    small = 0.3 + 0.3 * PACKET_BYTES * 8e3 / rate_bps
    return room_bytes * clipped((one + small) / (other + small)) if math.isfinite(one - other) else room_bytes


def corrected(side: Side, measured: View, simulated: View) -> Side:
    """Return the candidate with what the simulation was wrong about corrected."""
    if math.isfinite(known := known_bps(side, measured)):
        ratio = known / side.rate_bps
    else:
        ratio = math.sqrt(
            clipped(measured.rate(0.3, 1.0) / max(1.0, simulated.rate(0.3, 1.0)))
            * clipped(measured.peak() / max(1.0, simulated.peak()))
        )
    ratio = plausible_factor(side, measured, ratio)
    changes: dict[str, Any] = {"rate_bps": side.rate_bps * ratio}
    if side.rates:
        changes["rates"] = tuple((at, rate * ratio) for at, rate in side.rates)
    if has_room(side):
        changes["buffer_bytes"] = _room_at(side, side.rate_bps * ratio, measured)
    if side.target_s:
        one, other = measured.wait(0.5), simulated.wait(0.5)
        small = 0.3 + 0.3 * PACKET_BYTES * 8e3 / side.rate_bps
        if math.isfinite(one) and math.isfinite(other):
            changes["target_s"] = min(0.2, max(0.001, side.target_s * clipped((one + small) / (other + small))))
    if side.loss_percent and math.isfinite(measured.retransmitted - simulated.retransmitted):
        excess = 100 * (measured.retransmitted - simulated.retransmitted)
        changes["loss_percent"] = min(20.0, max(0.2 * side.loss_percent, side.loss_percent + 0.8 * excess))
    return replace(side, **changes)


def on_course(side: Side, mean_bps: float, rates: Sequence[tuple[float, float]], measured: View) -> Side:
    """Return a candidate whose rate varies, with the room of its buffer at the mean rate."""
    room = _room_at(side, mean_bps, measured) if has_room(side) else side.buffer_bytes
    return replace(side, rate_bps=mean_bps, rates=tuple(rates), buffer_bytes=room)


def has_room(side: Side) -> bool:
    """Return whether a candidate's buffer is as large as the waits show; AQMs keep their queues shorter."""
    return side.discipline in ("fifo", "drophead")


def _room_at(side: Side, rate_bps: float, measured: View) -> float:
    """Return the room of a candidate's buffer at another rate."""
    times = OPEN if is_open(side, measured) else 1.0
    return times * room_of(measured, rate_bps, in_packets=side.in_packets)


def known_bps(side: Side, measured: View) -> float:
    """Return the rate of a candidate that the samples show directly, the mean of one that varies; or missing."""
    if side.rates:
        return side.rate_bps if measured.course.varies else math.nan
    return measured.flat_bps if side.discipline == "policer" else shown_bps(measured)[0]


def shown_bps(measured: View) -> tuple[float, float]:
    """Return the rate of a line that samples show directly, and how far it is open, as a logarithm; may be missing."""
    sure = (measured.link_bps, measured.stretches_bps, measured.flat_bps, measured.busy_bps)
    shown = [(each, SURE_RATE) for each in sure] + [(measured.use_bps, RATE_BY_USE)]
    return next((each for each in shown if math.isfinite(each[0])), (math.nan, 0.0))


def stepped(side: Side, name: str, factor: float) -> Side | None:
    """Return the candidate with another rate, another limit of the wait, or another line; None if it has none."""
    room = side.buffer_bytes * factor
    if name == "line":
        return replace(side, line_bps=side.line_bps * factor) if side.discipline == "policer" else None
    if name == "rate":
        return replace(side, rate_bps=side.rate_bps * factor, buffer_bytes=room, burst_bytes=side.burst_bytes * factor)
    if side.target_s:
        return replace(side, target_s=side.target_s * factor)
    if side.burst_bytes:
        return replace(side, burst_bytes=side.burst_bytes * factor)
    return None  # The longest waits show the room.


def clipped(ratio: float) -> float:
    """Return a ratio that corrects a candidate, by a factor of two at most."""
    return min(2.0, max(0.5, ratio))
