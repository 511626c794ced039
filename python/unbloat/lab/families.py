"""Families of random scenarios for `tools/differential --families`: one corner of TCP or of a path each.

A scenario follows from the seed and its number alone; number N belongs to family N modulo the number of families.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from unbloat.lab.random_scenarios import PACKET_BYTES, Group, Scenario, between, duration_of

COMMON = ("reno", "cubic", "vegas", "bbr")
"""Half of all flows have one of these."""
OTHERS = (
    "agile_sd",
    "clpc",
    "compound",
    "cubic_plus",
    "dctcp",
    "elastic",
    "elastic_plus",
    "htcp",
    "ledbat",
    "reno_plus",
    "tcp_lp",
    "vegas_plus",
    "veno",
    "westwood",
)
"""All other congestion controls, except one that follows ns-2 (`compound_ns2`) and those for a mesh (`dtpa*`)."""
IN_LINUX = {
    "reno": "reno",
    "cubic": "cubic",
    "vegas": "vegas",
    "bbr": "bbr",
    "dctcp": "dctcp",
    "htcp": "htcp",
    "veno": "veno",
}
"""Congestion controls that Linux has too, under its name; half of their flows in the guest run Linux's own.

Linux's `lp` is left out: ours is another algorithm, as its file says.
"""
IN_LINUX_TOO = IN_LINUX | {"illinois": "illinois", "westwood": "westwood"}
"""Those that `--controls` holds against Linux's own. No other scenario draws the last two from Linux.

So the scenarios of a seed stay what they were.
"""


@dataclass
class Experiment:
    """A scenario before it is written: a family changes what it is about and leaves the rest as drawn."""

    draw: random.Random
    rate_bps: float
    rtt_s: float
    queue: str
    groups: list[Group]
    link: list[str] = field(default_factory=list)
    """Further lines of the bottleneck."""
    reverse: list[str] = field(default_factory=list)
    """Lines of the bottleneck's reverse direction."""
    links: list[str] = field(default_factory=list)
    """Further links, behind the bottleneck."""
    top: list[str] = field(default_factory=list)
    """Lines above all tables."""
    last_start_s: float = 0.0
    """When the last flow may start."""

    def duration_s(self) -> float:
        """Return the length of the run."""
        return self.last_start_s + duration_of(self.rate_bps, self.rtt_s, [each.size for each in self.groups])

    def moment_s(self, least: float = 0.05, most: float = 0.7) -> float:
        """Draw a moment in the run."""
        return self.draw.uniform(least, most) * self.duration_s()

    def lose(self, chance: float, least: float, most: float) -> None:
        """Have the link lose some packets, by chance; the bounds are in percent."""
        if self.draw.random() < chance:
            self.link.append(f"loss = {self.share(least, most)}")

    def share(self, least: float, most: float) -> str:
        """Draw a share in percent; the bounds are in percent."""
        return f'"{between(self.draw, least, most):.2f}%"'


def family_scenario(seed: int, number: int, controls: Sequence[str] = ()) -> Scenario:
    """Draw the scenario of a number.

    With `controls` every flow has one of these instead, in the guest Linux's own if Linux has it.
    """
    name = list(FAMILIES)[number % len(FAMILIES)]
    draw = random.Random(f"{seed}/{number}/families")
    rate_bps, rtt_s = between(draw, 1e6, 20e6), between(draw, 5e-3, 200e-3)
    packets = queue_packets(rate_bps, rtt_s, between(draw, 0.3, 4))
    of = Experiment(draw, rate_bps, rtt_s, f'{{ limit = "{packets}p" }}', [group(draw)])
    FAMILIES[name](of)
    if controls:
        chosen = random.Random(f"{seed}/{number}/controls")
        of.groups = [with_control(each, chosen.choice(controls)) for each in of.groups]
    lines = [
        f'name = "differential {name} {seed}/{number}"',
        f'duration = "{round(of.duration_s() * 1e3)}ms"',
        f"seed = {number + 1}",
        *of.top,
        "",
        "[link.bottleneck]",
        f'rate = "{round(of.rate_bps / 1e3)}kbit"',
        f'delay = "{round(of.rtt_s / 2 * 1e6)}us"',
        f"queue = {of.queue}",
        *of.link,
        *(["", "[link.bottleneck.reverse]", *of.reverse] if of.reverse else ()),
        *of.links,
        *(line for each in of.groups for line in each.lines()),
    ]
    return Scenario(
        number,
        "\n".join(lines) + "\n",
        len(of.groups),
        of.rate_bps,
        of.duration_s(),
        tuple(each.control for each in of.groups),
        tuple(each.control_in_guest for each in of.groups),
        family=name,
    )


def queue_packets(rate_bps: float, rtt_s: float, bdps: float) -> int:
    """Return the packets of a queue of `bdps` bandwidth-delay products, four at least."""
    return max(4, round(rate_bps * rtt_s / 8 / PACKET_BYTES * bdps))


def group(draw: random.Random, *more: str, size: int | None = None) -> Group:
    """Draw a flow's congestion control; `more` are further lines of the flow."""
    control = draw.choice(COMMON if draw.random() < 0.5 else OTHERS)
    return Group(
        control=control,
        in_linux=IN_LINUX.get(control) if draw.random() < 0.5 else None,
        size=size,
        receiver=more,
        delayed_ack=True,
        ecn=control == "dctcp",
    )


def with_control(flow: Group, control: str) -> Group:
    """Give a flow another congestion control; the guest runs Linux's own if Linux has it."""
    return replace(flow, control=control, in_linux=IN_LINUX_TOO.get(control), ecn=flow.ecn or control == "dctcp")


def plain(of: Experiment) -> None:
    """Lose some packets, evenly or in bursts, or none."""
    match of.draw.choice(["none", "uniform", "gemodel"]):
        case "uniform":
            of.link.append(f"loss = {of.share(0.1, 3)}")
        case "gemodel":
            r = of.draw.randint(20, 70)
            of.link.append(f'loss = {{ kind = "gemodel", p = {of.share(0.05, 1)}, r = "{r}%" }}')


def short(of: Experiment) -> None:
    """Send one to four short flows that begin at different times."""
    count = of.draw.randint(1, 4)
    of.last_start_s = 3.0
    of.groups = [
        group(
            of.draw,
            f'start = "{of.draw.randrange(0, 3000)}ms"',
            size=round(between(of.draw, 3, 200)) * 1448,
        )
        for _ in range(count)
    ]
    of.lose(0.7, 0.3, 10)


def receive_window(of: Experiment) -> None:
    """Let the receiver's buffer limit the sender: a fixed window, an auto-tuned buffer, a slow reader."""
    default = between(of.draw, 3e3, 300e3)
    if of.draw.random() < 0.4:
        most = default * between(of.draw, 1, 50)
        buffer = f'tcp_rmem = {{ default = "{round(max(default, 10e3))}b", max = "{round(max(most, 10e3))}b" }}'
    else:
        buffer = f'receive_window = "{round(default)}b"'
    reads = f'read_rate = "{round(between(of.draw, 0.2, 1.5) * of.rate_bps / 1e3)}kbit"'
    of.groups = [group(of.draw, buffer, *([reads] if of.draw.random() < 0.3 else []))]
    of.lose(0.5, 0.1, 2)


def acknowledgements(of: Experiment) -> None:
    """Lose, slow down or reorder the acknowledgements."""
    match of.draw.choice(["loss", "bursts", "slow", "jitter", "reorder"]):
        case "loss":
            of.reverse.append(f"loss = {of.share(1, 40)}")
        case "bursts":
            r = of.draw.randint(20, 70)
            of.reverse.append(f'loss = {{ kind = "gemodel", p = {of.share(0.5, 10)}, r = "{r}%" }}')
        case "slow":
            of.reverse.append(f'rate = "{round(of.rate_bps / between(of.draw, 20, 200) / 1e3) + 8}kbit"')
            of.reverse.append(f'queue = {{ limit = "{of.draw.randint(8, 400)}p" }}')
        case "jitter":
            of.reverse.append(f'jitter = "{round(between(of.draw, 0.02, 0.5) * of.rtt_s / 2 * 1e6)}us"')
            of.reverse.append("jitter_reorder = true")
        case _:
            of.reverse.append(f"reorder = {of.share(0.5, 25)}")
    of.lose(0.5, 0.1, 2)


def outages(of: Experiment) -> None:
    """Take a direction down one to three times; packets wait, or those that are sent are lost."""
    moments = sorted(of.moment_s() for _ in range(of.draw.randint(1, 3)))
    tables = []
    for at, after in zip(moments, [*moments[1:], float("inf")], strict=True):
        long = min(between(of.draw, 0.01, 3), 0.9 * (after - at))
        lose = ", lose = true" if of.draw.random() < 0.5 else ""
        tables.append(f'{{ at = "{round(at * 1e3)}ms", for = "{max(1, round(long * 1e3))}ms"{lose} }}')
    (of.link if of.draw.random() < 0.7 else of.reverse).append(f"outages = [{', '.join(tables)}]")


def jitter(of: Experiment) -> None:
    """Vary the delay, with and without overtaking, or let packets leave the order."""
    match of.draw.choice(["jitter", "overtaking", "ahead", "behind"]):
        case "ahead":
            of.link.append(f"reorder = {of.share(0.1, 25)}")
        case "behind":
            by = f'"{round(between(of.draw, 0.05, 1) * of.rtt_s * 1e6)}us"'
            of.link += [f"reorder = {of.share(0.1, 25)}", f"reorder_by = {by}"]
        case kind:
            of.link.append(f'jitter = "{round(between(of.draw, 0.02, 0.5) * of.rtt_s / 2 * 1e6)}us"')
            of.link += ["jitter_reorder = true"] if kind == "overtaking" else []
    of.lose(0.5, 0.1, 2)


def duplicates(of: Experiment) -> None:
    """Deliver some packets twice, in one direction or both."""
    where = of.draw.choice(["forward", "reverse", "both"])
    if where != "reverse":
        of.link.append(f"duplicate = {of.share(0.2, 20)}")
    if where != "forward":
        of.reverse.append(f"duplicate = {of.share(0.2, 20)}")


def ecn(of: Experiment) -> None:
    """Mark ECN-capable flows, by a threshold or by a queue discipline."""
    of.groups = [replace(group(of.draw), ecn=True) for _ in range(of.draw.randint(1, 2))]
    stagger(of)
    packets = queue_packets(of.rate_bps, of.rtt_s, between(of.draw, 0.5, 4))
    of.queue = of.draw.choice(
        [
            f'{{ limit = "{packets}p", ecn_threshold = "{max(2, packets // 2)}p" }}',
            '{ kind = "codel", ecn = true }',
            '{ kind = "fq_codel" }',
            '{ kind = "fq_codel", ce_threshold = "3ms" }',
            '{ kind = "pie", ecn = true }',
        ]
    )


def packet_sizes(of: Experiment) -> None:
    """Send packets of 300 to 16 000 bytes."""
    size = round(between(of.draw, 300, 16000))
    of.groups = [group(of.draw, f'packet = "{size}b"')]
    limit = max(4 * size, round(of.rate_bps * of.rtt_s / 8 * between(of.draw, 0.3, 4)))
    of.queue = f'{{ limit = "{limit}b" }}'
    of.lose(0.5, 0.1, 1)


def long_rtt(of: Experiment) -> None:
    """Send over round trips of 0.3 to 1.5 s."""
    of.rtt_s = between(of.draw, 0.3, 1.5)
    of.rate_bps = between(of.draw, 1e6, 5e6)
    of.queue = f'{{ limit = "{queue_packets(of.rate_bps, of.rtt_s, between(of.draw, 0.2, 2))}p" }}'
    of.lose(0.5, 0.05, 0.5)


def rates(of: Experiment) -> None:
    """Change the rate one to three times."""
    changes = sorted(of.moment_s(0.1, 0.9) for _ in range(of.draw.randint(1, 3)))
    table = (
        f'{{ at = "{round(at * 1e3)}ms", rate = "{round(between(of.draw, 0.2, 5) * of.rate_bps / 1e3)}kbit" }}'
        for at in changes
    )
    of.link.append(f"rates = [{', '.join(table)}]")


def switches(of: Experiment) -> None:
    """Switch parts of the stack off, or start with another window."""
    of.top.append(
        of.draw.choice(
            [
                "profile = { timestamps = false }",
                "profile = { sack = false, rack = false, tlp = false }",
                "profile = { pacing = true }",
                f"profile = {{ initial_window = {round(between(of.draw, 1, 40))} }}",
                f'profile = {{ rto_min = "{round(between(of.draw, 20, 1000))}ms" }}',
                "profile = { window_scaling = false }",
            ]
        )
    )
    plain(of)


def two_flows(of: Experiment) -> None:
    """Send two flows that share the queue."""
    of.groups = [group(of.draw), group(of.draw)]
    stagger(of)
    of.lose(0.5, 0.1, 1)


def stagger(of: Experiment) -> None:
    """Let the flows behind the first begin later: two that begin at once would compete for the same instants."""
    for each in of.groups[1:]:
        each.receiver += (f'start = "{of.draw.randrange(1, 1000)}ms"',)


def both_ways(of: Experiment) -> None:
    """Send data in both directions, so that acknowledgements wait behind data."""
    of.groups = [group(of.draw), group(of.draw, "reverse = true")]
    stagger(of)
    of.reverse += [
        f'rate = "{round(between(of.draw, 0.2, 5) * of.rate_bps / 1e3)}kbit"',
        f'queue = {{ limit = "{of.draw.randint(8, 200)}p" }}',
    ]


def two_links(of: Experiment) -> None:
    """Send over two links in a row; the second is slower or faster, and may lose packets too."""
    packets = queue_packets(of.rate_bps, of.rtt_s, between(of.draw, 0.3, 4))
    of.links += [
        "",
        "[link.second]",
        f'rate = "{round(between(of.draw, 0.5, 3) * of.rate_bps / 1e3)}kbit"',
        f'delay = "{round(between(of.draw, 1, 40) * 1e3)}us"',
        f'queue = {{ limit = "{packets}p" }}',
    ]
    if of.draw.random() < 0.5:
        of.links.append(f"loss = {of.share(0.1, 2)}")


def fair_queues(of: Experiment) -> None:
    """Send one or two flows through a fair queue or an active queue management of the emulator's."""
    of.groups = [group(of.draw) for _ in range(of.draw.randint(1, 2))]
    stagger(of)
    of.queue = of.draw.choice(
        [
            '{ kind = "fq_codel" }',
            '{ kind = "fq_pie" }',
            f'{{ kind = "cake", bandwidth = "{round(0.95 * of.rate_bps / 1e3)}kbit" }}',
            '{ kind = "codel" }',
            '{ kind = "pie" }',
        ]
    )


def applications(of: Experiment) -> None:
    """Run a program over TCP: messages, chunks, pages, a film, or a writer that is slower than the link."""
    kind = of.draw.choice(["messenger", "game", "upload", "web", "video", "writer"])
    size = round(between(of.draw, 100, 100e3))
    app = {
        "messenger": f'every = "{of.draw.randint(50, 800)}ms", request = "{size}b", response = "{size // 3 + 50}b"',
        "game": f'every = "{of.draw.randint(30, 300)}ms"',
        "upload": f'chunk = "{size + 20000}b", pause = "{of.draw.randint(20, 3000)}ms"',
        "web": f'objects = {of.draw.randint(1, 20)}, response = "{size // 4 + 500}b", pause = "1s"',
        "video": 'piece = "1s"',
        "writer": "",
    }[kind]
    lines = f'app = {{ kind = "{kind}", {app} }}' if app else f'write_rate = "{round(of.rate_bps / 2e3)}kbit"'
    of.groups = [group(of.draw, lines)]
    of.reverse.append('queue = { limit = "1000p" }')
    of.lose(0.4, 0.1, 3)


def fast(of: Experiment) -> None:
    """Send at 30 to 80 Mbit/s over short paths."""
    of.rate_bps, of.rtt_s = between(of.draw, 30e6, 80e6), between(of.draw, 2e-3, 40e-3)
    of.queue = f'{{ limit = "{queue_packets(of.rate_bps, of.rtt_s, between(of.draw, 0.5, 3))}p" }}'


FAMILIES: dict[str, Callable[[Experiment], None]] = {
    each.__name__: each
    for each in (
        plain,
        short,
        receive_window,
        acknowledgements,
        outages,
        jitter,
        duplicates,
        ecn,
        packet_sizes,
        long_rtt,
        rates,
        switches,
        two_flows,
        both_ways,
        two_links,
        fair_queues,
        applications,
        fast,
    )
}
