"""Random scenarios for `tools/differential`: each follows from the seed and its number alone."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

PACKET_BYTES = 1500
LONG_PACKETS = 1000
"""Packets that a flow without end sends, about, so that no run takes long."""
ROUNDS = 20
"""The least number of round trips of a flow without end."""
LONGEST_S = 12.0
SHARE_OF_TWO_FLOWS = 0.2
SHARE_WITHOUT_TIMESTAMPS = 0.3
SHARE_HELD = 0.6
"""The share of flows whose window a controller limits."""
SHARE_IMPAIRED = 0.35
"""Scenarios whose link does more than lose packets."""

Overrides = dict[str, object]


@dataclass(frozen=True)
class Scenario:
    """A scenario file's text, and which congestion control each flow has in the simulator and in the guest."""

    number: int
    text: str
    flows: int
    rate_bps: float
    duration_s: float
    simulated: tuple[str, ...]
    in_guest: tuple[str, ...]
    family: str = "plain"

    def controls(self, names: tuple[str, ...]) -> Overrides:
        """Return the overrides that set the congestion controls."""
        return {f"flows.{flow}.cc": name for flow, name in enumerate(names)}

    @property
    def packet_ms(self) -> float:
        """The time that the bottleneck takes for a full packet."""
        return PACKET_BYTES * 8e3 / self.rate_bps


def scenario(seed: int, number: int, *, tunes: bool = False, holds: bool = False) -> Scenario:
    """Draw one; its receivers may have auto-tuned buffers, slow readers and window controllers."""
    draw = random.Random(f"{seed}/{number}")
    flows = 2 if draw.random() < SHARE_OF_TWO_FLOWS else 1
    rate_bps = between(draw, 1e6, 20e6)
    rtt_s = between(draw, 5e-3, 200e-3)
    bdp_packets = rate_bps * rtt_s / 8 / PACKET_BYTES
    queue_packets = max(4, round(bdp_packets * between(draw, 0.3, 4)))
    ecn = draw.random() < 0.2
    groups = [group(draw, ecn) for _ in range(flows)]
    if tunes:
        receivers = random.Random(f"{seed}/{number}/receivers")
        groups = [replace(each, receiver=receiver(receivers, rate_bps)) for each in groups]
    holders = random.Random(f"{seed}/{number}/holders")
    has_timestamps = not (holds and holders.random() < SHARE_WITHOUT_TIMESTAMPS)
    if holds:
        groups = [replace(each, receiver=(*each.receiver, *held(holders, bdp_packets))) for each in groups]
    duration_s = duration_of(rate_bps, rtt_s, [each.size for each in groups])
    lines = [
        f'name = "differential {seed}/{number}"',
        f'duration = "{round(duration_s * 1e3)}ms"',
        f"seed = {number + 1}",
        *(() if has_timestamps else ("profile = { timestamps = false }",)),
        "",
        "[link.bottleneck]",
        f'rate = "{round(rate_bps / 1e3)}kbit"',
        f'delay = "{round(rtt_s / 2 * 1e6)}us"',
        f"queue = {{ {queue(draw, queue_packets, ecn)} }}",
        *loss(draw),
        *impairment(random.Random(f"{seed}/{number}/impairment"), rate_bps, rtt_s, duration_s),
        *groups[0].lines(),
        # Two flows that begin at once would compete for the same instants.
        *(line for each in groups[1:] for line in [*each.lines(), f'start = "{draw.randrange(1, 1000)}ms"']),
    ]
    return Scenario(
        number,
        "\n".join(lines) + "\n",
        flows,
        rate_bps,
        duration_s,
        tuple(each.control for each in groups),
        tuple(each.control_in_guest for each in groups),
    )


def duration_of(rate_bps: float, rtt_s: float, sizes: Sequence[int | None]) -> float:
    """Return the length of a run with flows of such sizes, in seconds; a size of None is without end."""
    packets = LONG_PACKETS if None in sizes else 0
    enough_s = max(packets * PACKET_BYTES * 8 / rate_bps, ROUNDS * rtt_s)
    needed_s = sum(size or 0 for size in sizes) * 8 / rate_bps
    # A short flow has some timeouts' time to come to its end.
    return max(1.0, min(LONGEST_S, enough_s + (2 + 4 * needed_s if packets == 0 else 0)))


@dataclass
class Group:
    """A flow of a scenario."""

    control: str
    in_linux: str | None
    """Linux's name for the congestion control, if the guest runs the kernel's own in place of ours."""
    size: int | None
    """Bytes; none is without end."""
    receiver: tuple[str, ...]
    """Further lines, such as those on its buffer and its reader."""
    delayed_ack: bool
    ecn: bool

    @property
    def control_in_guest(self) -> str:
        """The congestion control that the guest's kernel runs."""
        return f"kernel:{self.in_linux}" if self.in_linux else self.control

    def lines(self) -> list[str]:
        """Write it."""
        lines = ["", "[[flows]]", f'cc = "{self.control}"']
        if self.size is not None:
            lines.append(f'size = "{self.size}b"')
        lines += self.receiver
        if not self.delayed_ack:
            lines.append("delayed_ack = false")
        if self.ecn:
            lines.append("ecn = true")
        return lines


def group(draw: random.Random, ecn: bool) -> Group:
    """Draw a flow."""
    control = draw.choice(["reno", "cubic"])
    return Group(
        control=control,
        in_linux=control if draw.random() < 0.5 else None,
        size=round(between(draw, 5e3, 200e3)) if draw.random() < 0.5 else None,
        receiver=(f'receive_window = "{round(between(draw, 20e3, 400e3))}b"',) if draw.random() < 0.3 else (),
        delayed_ack=draw.random() < 0.85,
        ecn=ecn,
    )


def held(draw: random.Random, bdp_packets: float) -> tuple[str, ...]:
    """Draw whether a window controller limits the window, and to how many packets.

    Others follow RTTs, which are of another clock in a kernel (docs/agreement/departures.md).
    """
    most = max(2, round(bdp_packets * between(draw, 0.3, 3)))
    lines = ('window_controller = "static"', f"window_controller_params = {{ most = {most} }}")
    return lines if draw.random() < SHARE_HELD else ()


def receiver(draw: random.Random, rate_bps: float) -> tuple[str, ...]:
    """Draw a receive buffer that is auto-tuned, and how fast it is read."""
    default = between(draw, 20e3, 300e3)
    most = default * between(draw, 1, 50)
    buffer = f'tcp_rmem = {{ default = "{round(default)}b", max = "{round(most)}b" }}'
    reads = f'read_rate = "{round(between(draw, 0.2, 1.5) * rate_bps / 1e3)}kbit"'
    return (buffer, reads) if draw.random() < 0.3 else (buffer,)


def queue(draw: random.Random, packets: int, ecn: bool) -> str:
    """Draw the queue's limit, and where it marks."""
    factor, unit = (PACKET_BYTES, "b") if draw.random() < 0.5 else (1, "p")
    marks = f', ecn_threshold = "{max(2, packets // 2) * factor}{unit}"' if ecn else ""
    return f'limit = "{packets * factor}{unit}"{marks}'


def loss(draw: random.Random) -> list[str]:
    """Draw what the wire loses."""
    kind = draw.choices(["none", "uniform", "gemodel"], [4, 3, 3])[0]
    if kind == "uniform":
        return [f'loss = "{between(draw, 0.1, 3):.2f}%"']
    if kind == "gemodel":
        p, r = between(draw, 0.05, 1), between(draw, 20, 70)
        return [f'loss = {{ kind = "gemodel", p = "{p:.3f}%", r = "{r:.0f}%" }}']
    return []


def impairment(draw: random.Random, rate_bps: float, rtt_s: float, duration_s: float) -> list[str]:
    """Draw what else the link does to packets: one thing, or nothing."""
    if draw.random() > SHARE_IMPAIRED:
        return []
    match draw.choice(["jitter", "reorder", "duplicate", "rates", "outages"]):
        case "jitter":
            return [f'jitter = "{round(between(draw, 0.02, 0.4) * rtt_s / 2 * 1e6)}us"']
        case "reorder":
            ahead = [f'reorder = "{between(draw, 0.1, 3):.2f}%"']
            by = f'reorder_by = "{round(between(draw, 0.05, 1) * rtt_s * 1e6)}us"'
            return [*ahead, by] if draw.random() < 0.5 else ahead
        case "duplicate":
            return [f'duplicate = "{between(draw, 0.1, 3):.2f}%"']
        case "rates":
            changes = sorted(draw.uniform(0.1, 0.9) * duration_s for _ in range(draw.randint(1, 3)))
            rates = (between(draw, 0.3, 3) * rate_bps for _ in changes)
            table = (
                f'{{ at = "{round(at * 1e3)}ms", rate = "{round(rate / 1e3)}kbit" }}'
                for at, rate in zip(changes, rates, strict=True)
            )
            return [f"rates = [{', '.join(table)}]"]
        case _:
            at, long = draw.uniform(0.05, 0.6) * duration_s, between(draw, 0.01, 1.0)
            lose = ", lose = true" if draw.random() < 0.5 else ""
            return [f'outages = [{{ at = "{round(at * 1e3)}ms", for = "{round(long * 1e3)}ms"{lose} }}]']


def between(draw: random.Random, least: float, most: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return math.exp(draw.uniform(math.log(least), math.log(most)))
