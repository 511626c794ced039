"""Random lines with known truth for `tools/lines`: each follows from the seed and its number alone."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unbloat.lab.random_scenarios import PACKET_BYTES, between

Kind = Literal["fifo", "drophead", "fq_codel", "pie", "policer", "varying", "wifi", "loss", "cross"]
"""The kind of a line; `loss` and `cross` are FIFOs with losses and with traffic of others."""
Answer = Literal["fifo", "fair", "aqm", "policer", "varying", "unknown"]
"""A class that `unbloat line` names as `queue.kind`."""

BLOCK: tuple[Kind, ...] = (
    *(("fifo",) * 5),
    *(kind for kind in ("drophead", "fq_codel", "pie", "policer", "varying", "loss", "cross") for _ in range(2)),
    "wifi",
)
"""The kinds of lines in a row that makes every count of lines a fair mixture; each block has an order of its own."""
ANSWERS: dict[Kind, tuple[Answer, ...]] = {
    "fifo": ("fifo",),
    "drophead": ("fifo",),
    "fq_codel": ("fair",),
    "pie": ("aqm",),
    "policer": ("policer",),
    "varying": ("varying",),
    # The rate of a radio alone in its cell depends on back-offs and on how many packets it aggregates.
    "wifi": ("fifo", "varying"),
    "loss": ("fifo",),
    "cross": ("fifo",),
}
"""The right answers."""
UNDESCRIBED: dict[Kind, str] = {
    "cross": "traffic of others shares the line",
    "wifi": "a radio has no rate of its own",
}
"""Why no scenario with one link and constant settings describes a kind of line."""

LEAST_MBPS, MOST_MBPS = 0.3, 300.0
LEAST_RTT_MS, MOST_RTT_MS = 2.0, 600.0
LEAST_BUFFER_MS, MOST_BUFFER_MS = 10.0, 5000.0
DURATION_S = 90
LEAST_PACKETS = 2
"""The least buffer; slow lines have no room for less than a packet."""
PROBE_BYTES = 76
"""The IP length of a probe."""
PHASE_S = 4.0
"""The time over which a measurement sees a varying rate."""


@dataclass(frozen=True)
class Way:
    """The truth about one direction of a line."""

    rate_mbps: tuple[float, float] | None
    """The least and the largest mean rate that a phase of load can meet; equal if the rate is constant."""
    buffer_bytes: tuple[int, int] | None = None
    """The least and the largest room that holds as many full packets, if the room limits the wait."""
    buffer_ms: float | None = None
    """The time in which a full buffer empties."""
    burst_bytes: int | None = None
    """What a policer lets pass at once."""


@dataclass(frozen=True)
class Cross:
    """Traffic of others."""

    name: str
    """The name of the flow group in the scenario."""
    kind: Literal["bulk", "steady", "bursts"]
    """One connection without end, datagrams at a constant rate, or downloads that begin at random."""
    is_down: bool
    rate_mbps: float = 0.0
    """The rate of the datagrams, or the mean rate that the downloads ask for."""


@dataclass(frozen=True)
class Truth:
    """The true properties of a line."""

    kind: Kind
    answers: tuple[Answer, ...]
    """Each of them is right as `queue.kind`."""
    where: Literal["first_hop", "beyond"]
    base_rtt_ms: float
    """The propagation round-trip time."""
    probe_ms: float
    """The transmission time of a probe and its answer, which an RTT of the empty line includes."""
    up: Way
    down: Way
    undescribed: str | None = None
    """Why no fitted scenario describes the line; saying so is then right."""
    cross: tuple[Cross, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line as a scenario file's text, and its truth."""

    number: int
    text: str
    truth: Truth


@dataclass(frozen=True)
class _Side:
    """One direction as it is written and as it is known."""

    keys: list[str]
    way: Way


def line(seed: int, number: int) -> Line:
    """Draw one."""
    block, place = divmod(number, len(BLOCK))
    kind = random.Random(f"{seed}/block {block}").sample(BLOCK, len(BLOCK))[place]
    down_mbps, up_mbps = rates(random.Random(f"{seed}/{number}/rates"))
    delay_us = round(500 * significant(between(random.Random(f"{seed}/{number}/rtt"), LEAST_RTT_MS, MOST_RTT_MS)))
    up, down = (
        side(random.Random(f"{seed}/{number}/{name}"), kind, mbps)
        for name, mbps in (("up", up_mbps), ("down", down_mbps))
    )
    radio = random.Random(f"{seed}/{number}/radio")
    cross = traffic(random.Random(f"{seed}/{number}/cross"), up_mbps, down_mbps) if kind == "cross" else []
    lines = [
        f'name = "line {seed}/{number}"',
        f'duration = "{DURATION_S}s"',
        f"seed = {number + 1}",
        *(["", "[wifi.home]", f'standard = "{radio.choice(["802.11g", "802.11n"])}"'] if kind == "wifi" else []),
        "",
        "[link.line]",
        *([f'wifi = "home"\nsignal = "-{radio.randint(45, 82)}dbm"'] if kind == "wifi" else []),
        *up.keys,
        f'delay = "{delay_us}us"',
        "",
        "[link.line.reverse]",
        *down.keys,
        *flow("upload", 'cc = "cubic"'),
        *(text for each in cross for text in flow_of(each)),
    ]
    truth = Truth(
        kind=kind,
        answers=ANSWERS[kind],
        where="first_hop" if kind == "wifi" else "beyond",
        base_rtt_ms=delay_us / 500,
        probe_ms=0.0 if kind == "wifi" else probe_ms(up_mbps, down_mbps),
        up=up.way,
        down=down.way,
        undescribed=UNDESCRIBED.get(kind),
        cross=tuple(cross),
    )
    return Line(number, "\n".join(lines) + "\n", truth)


def rates(draw: random.Random) -> tuple[float, float]:
    """Draw the rates down and up: most lines are slower up, some as fast, few faster."""
    down = between(draw, LEAST_MBPS, MOST_MBPS)
    match draw.choices(["slower", "equal", "faster"], [65, 25, 10])[0]:
        case "slower":
            up = down / between(draw, 1.5, 20)
        case "faster":
            up = down * between(draw, 1.5, 4)
        case _:
            up = down
    return rounded(down), rounded(min(MOST_MBPS, max(LEAST_MBPS, up)))


def side(draw: random.Random, kind: Kind, mbps: float) -> _Side:
    """Draw the queue of one direction, and what else the direction does to packets."""
    limit, buffer_bytes = buffer(draw, mbps)
    buffer_ms = significant(buffer_bytes[0] * 8e-3 / mbps)
    room = Way((mbps, mbps), buffer_bytes, buffer_ms)
    fixed = [f'rate = "{kilobits(mbps)}kbit"']
    fifo = [f'queue = {{ kind = "droptail", limit = "{limit}" }}']
    managed = Way((mbps, mbps))
    match kind:
        case "drophead":
            return _Side([*fixed, f'queue = {{ kind = "drophead", limit = "{limit}" }}'], room)
        case "fq_codel":
            return _Side([*fixed, 'queue = { kind = "fq_codel" }'], managed)
        case "pie":
            target = draw.choice([10, 15, 20])
            return _Side([*fixed, f'queue = {{ kind = "pie", target = "{target}ms" }}'], managed)
        case "policer":
            # The wire is faster than what the provider sells.
            wire = rounded(min(1000.0, mbps * between(draw, 3, 20)))
            burst = max(10 * PACKET_BYTES, round(significant(mbps * 125 * between(draw, 10, 300))))
            cut = f'policer = {{ rate = "{kilobits(mbps)}kbit", burst = "{burst}b" }}'
            return _Side([f'rate = "{kilobits(wire)}kbit"', cut, *fifo], Way((mbps, mbps), burst_bytes=burst))
        case "varying":
            start, table, seen = variation(draw, mbps)
            # The buffer's time varies with the rate.
            return _Side([f'rate = "{start}kbit"', *fifo, f"rates = [{table}]"], Way(seen, buffer_bytes))
        case "wifi":
            return _Side(fifo, Way(None, buffer_bytes))
        case "loss":
            return _Side([*fixed, *fifo, losses(draw)], room)
        case _:
            return _Side([*fixed, *fifo], room)


def buffer(draw: random.Random, mbps: float) -> tuple[str, tuple[int, int]]:
    """Draw the room of a buffer as a scenario writes it, and the range of rooms that hold as many full packets."""
    wanted = mbps * 125 * between(draw, LEAST_BUFFER_MS, MOST_BUFFER_MS)
    if draw.random() < 0.3:
        packets = max(LEAST_PACKETS, round(wanted / PACKET_BYTES))
        return f"{packets}p", _alike(packets)
    size = max(LEAST_PACKETS * PACKET_BYTES, round(significant(wanted)))
    return f"{size}b", _alike(size // PACKET_BYTES)


def _alike(packets: int) -> tuple[int, int]:
    """Return the least and the largest room for this number of full packets."""
    return packets * PACKET_BYTES, (packets + 1) * PACKET_BYTES - 1


def variation(draw: random.Random, mbps: float) -> tuple[int, str, tuple[float, float]]:
    """Draw a rate that changes in steps; return its first value in kbit/s, the changes, and the means of `PHASE_S`."""
    step_s = round(between(draw, 0.2, 3), 1)
    spread = between(draw, 0.1, 0.5)
    memory = 0.9
    noise = math.sqrt(1 - memory * memory)
    level = draw.gauss(0, 1)
    levels = []
    for _ in range(math.ceil(DURATION_S / step_s)):
        levels.append(math.exp(spread * max(-2.5, min(2.5, level))))
        level = memory * level + noise * draw.gauss(0, 1)
    mean = sum(levels) / len(levels)
    steps = [kilobits(mbps * each / mean) for each in levels]
    changes = (
        f'{{ at = "{round(place * step_s * 1e3)}ms", rate = "{rate}kbit" }}'
        for place, rate in enumerate(steps)
        if place > 0
    )
    return steps[0], ", ".join(changes), means([rate / 1e3 for rate in steps], step_s)


def means(steps: Sequence[float], step_s: float) -> tuple[float, float]:
    """Return the least and the largest mean of rates over the time of a phase."""
    if step_s * len(steps) <= PHASE_S:
        raise ValueError("the rates last no longer than a phase")
    total = [0.0]
    for rate in steps:
        total.append(total[-1] + rate * step_s)

    def carried(until_s: float) -> float:
        place = min(int(until_s / step_s), len(steps) - 1)
        return total[place] + steps[place] * (until_s - place * step_s)

    last_s = step_s * len(steps) - PHASE_S
    tenths = [tenth / 10 for tenth in range(int(last_s * 10) + 1)]
    found = [(carried(start + PHASE_S) - carried(start)) / PHASE_S for start in tenths]
    return significant(min(found)), significant(max(found))


def probe_ms(up_mbps: float, down_mbps: float) -> float:
    """Return the transmission time of a probe and of its answer."""
    return significant(PROBE_BYTES * 8e-3 * (1 / up_mbps + 1 / down_mbps))


def losses(draw: random.Random) -> str:
    """Draw what the wire loses: packets one by one, or in bursts."""
    if draw.random() < 0.5:
        return f'loss = "{between(draw, 0.01, 2):.3f}%"'
    return f'loss = {{ kind = "gemodel", p = "{between(draw, 0.01, 0.5):.3f}%", r = "{between(draw, 10, 60):.0f}%" }}'


def traffic(draw: random.Random, up_mbps: float, down_mbps: float) -> list[Cross]:
    """Draw the traffic of others: one or two of its kinds."""
    found = []
    for name in ("cross", "more cross")[: draw.randint(1, 2)]:
        is_down = draw.random() < 0.7
        mbps = (down_mbps if is_down else up_mbps) * between(draw, 0.05, 0.6)
        kinds: tuple[Literal["bulk", "steady", "bursts"], ...] = ("bulk", "steady", "bursts")
        kind = draw.choice(kinds)
        found.append(Cross(name, kind, is_down, 0.0 if kind == "bulk" else rounded(mbps)))
    return found


BURST_BYTES = 300_000
"""The mean size of a download among the bursts."""


def flow_of(cross: Cross) -> list[str]:
    """Write the flow group of traffic of others."""
    reverse = ["reverse = true"] if cross.is_down else []
    match cross.kind:
        case "bulk":
            keys = ['cc = "cubic"']
        case "steady":
            keys = [f'app = {{ kind = "udp", rate = "{kilobits(cross.rate_mbps)}kbit" }}']
        case "bursts":
            size = f'size = {{ kind = "pareto", mean = "{BURST_BYTES}b", most = "{100 * BURST_BYTES}b" }}'
            each_s = max(0.02, cross.rate_mbps * 1e6 / 8 / BURST_BYTES)
            keys = ['cc = "cubic"', size, f'arrivals = {{ rate = "{each_s:.3g}/s" }}', f'stop = "{DURATION_S}s"']
    return flow(cross.name, *keys, *reverse)


def flow(name: str, *keys: str) -> list[str]:
    """Write a flow group."""
    return ["", "[[flows]]", f'name = "{name}"', *keys]


def kilobits(mbps: float) -> int:
    """Return a rate in kbit/s, at least one."""
    return max(1, round(mbps * 1e3))


def rounded(mbps: float) -> float:
    """Round a rate in Mbit/s to what a scenario writes."""
    return kilobits(significant(mbps)) / 1e3


def significant(number: float, digits: int = 4) -> float:
    """Round to a few digits, so that the last bits of a machine's logarithm make no difference."""
    return float(f"{number:.{digits}g}")
