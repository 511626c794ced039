"""How far the keys of a fitted line are open."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unbloat.line.evidence import View
from unbloat.line.fitted import Range
from unbloat.line.model import PACKET_BYTES, PAYLOAD_BYTES, Side


def factor_and_spread(*estimates: Sequence[float]) -> tuple[float, float]:
    """Return the factor that corrects a rate, from estimates by replica, and how far it is open: the logarithm's."""
    import numpy as np

    logs = [np.log(np.clip(each, 0.5, 2.0)) for each in estimates]
    weights = np.array([1 / (float(np.std(each)) + 0.002) ** 2 for each in logs])
    middle = float(np.sum(weights * [np.median(each) for each in logs]) / weights.sum())
    apart = abs(float(np.median(logs[0])) - float(np.median(logs[-1]))) / 2
    return math.exp(middle), 2.5 * min(float(np.std(each)) for each in logs) + 0.006 + apart + abs(middle) / 4


def value_of(side: Side, key: str) -> float:
    """Return what a direction has for a key with a range."""
    values = {
        "rate": side.rate_bps,
        "policer.rate": side.rate_bps,
        "queue.limit": side.buffer_bytes,
        "queue.target": side.target_s,
        "loss": side.loss_percent,
        "policer.burst": side.burst_bytes,
    }
    return values[key] or 1.0


def moved(span: Range, factor: float) -> Range:
    """Return a range that moves along with its value."""
    least, most = span
    return least * factor, None if most is None else most * factor


def whole_packets(least: float, most: float) -> Range:
    """Return the range of a buffer that counts packets, in bytes: less than a packet more or less changes nothing."""
    return math.ceil(least / PACKET_BYTES) * PACKET_BYTES, math.floor(most / PACKET_BYTES) * PACKET_BYTES


def target_range(side: Side, measured: View, replicas: Sequence[View]) -> Range:
    """Return the range of a target of the delay, from the median waits of replicas."""
    import numpy as np

    waits = [math.log((measured.wait(0.5) + 1) / (each.wait(0.5) + 1)) for each in replicas]
    spread = 2 * float(np.std(waits)) + 0.1
    return side.target_s * math.exp(-spread), side.target_s * math.exp(spread)


def loss_range(side: Side, measured: View) -> Range:
    """Return the range of the share of packets lost at random: rare events vary by the root of their number."""
    packets = max(1.0, measured.carried[-1] / PAYLOAD_BYTES)
    wide = 200 * math.sqrt(side.loss_percent / 100 / packets) + side.loss_percent / 3
    return max(0.0, side.loss_percent - wide), side.loss_percent + wide
