"""The emulated link against its settings, as independent programs inside the two hosts see it.

What is about time is tried in guests, whose clock no busy machine disturbs.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import guests
import pytest

TRAIN = Path(__file__).with_name("train.py")
IN_VIRTUAL_TIME = Path(__file__).with_name("in_virtual_time.py")
LTE = Path(__file__).parents[1] / "scenarios/traces/lte-small.down"
WITHIN = 0.01


@dataclass
class Arrival:
    """A packet that came through; times in milliseconds."""

    number: int
    sent: float
    at: float
    size: int

    @property
    def delay(self) -> float:
        return self.at - self.sent


Train = Callable[..., list[Arrival]]


@pytest.fixture
def train(tmp_path: Path, cache: Path) -> Train:
    """Send a train of packets over a link; give those that arrive, after the checks that hold for every link."""

    def shell(on: str) -> list[str]:
        if on == "kernel":
            return ["-m", "unbloat", "shell", "--on", "kernel"]
        return [str(IN_VIRTUAL_TIME), "shell", "--on", "vm", "--kernel", guests.booted(cache)]

    def run(
        link: str,
        count: int,
        size: int = 1500,
        gap_ms: float = 0,
        to: str = "receiver",
        flows: str = "",
        on: str = "vm",
    ) -> list[Arrival]:
        file = tmp_path / "link.toml"
        file.write_text(f'duration = "1s"\n[link.bottleneck]\n{link}\n[[flows]]\ncc = "kernel:reno"\n{flows}\n')
        signal = tmp_path / "ready"
        python = f"{sys.executable} -S {TRAIN}"
        far = f"{python} send {signal} {to} {count} {size} {round(gap_ms * 1000)}"
        near = f"{python} receive {signal} 250".split()
        command = [sys.executable, *shell(on), str(file), "--at", to, "--far", far, "--", *near]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        arrivals = read(done.stdout)
        check_conservation(arrivals, count, size)
        return arrivals

    return run


def read(lines: str) -> list[Arrival]:
    rows = [[int(word) for word in line.split()] for line in lines.splitlines()]
    start = rows[0][1]
    return [Arrival(number, (sent - start) / 1e6, (at - start) / 1e6, size) for number, sent, at, size in rows]


def check_conservation(arrivals: list[Arrival], count: int, size: int) -> None:
    """In order, none twice, none invented, none cut short, none before it was sent."""
    numbers = [arrival.number for arrival in arrivals]
    assert all(earlier < later for earlier, later in pairwise(numbers))
    assert set(numbers) <= set(range(count))
    assert all(arrival.size == size and arrival.delay > 0 for arrival in arrivals)


def rate_mbps(arrivals: list[Arrival]) -> float:
    """Of the second half: the guest's one processor is late with the first packets, for it sends the others then."""
    half = arrivals[len(arrivals) // 2 :]
    return (len(half) - 1) * half[0].size * 8 / 1000 / (half[-1].at - half[0].at)


def about(value: float) -> object:
    return pytest.approx(value, rel=WITHIN)


def one_way(to: str, settings: str) -> str:
    """Settings of the direction in question; the other one does not matter."""
    if to == "receiver":
        return settings
    reverse = ", ".join(settings.splitlines())
    return f'rate = "1gbit"\ndelay = "5ms"\nqueue = {{}}\nreverse = {{ {reverse} }}'


@pytest.mark.parametrize(
    ("mbps", "to", "queue", "count", "gap_ms"),
    [
        # All at once into a queue that never drops.
        (2, "receiver", "{}", 150, 0),
        (100, "sender", "{}", 1500, 0),
        # A third more than the link carries: the queue drops what is too much.
        (20, "sender", '{ limit = "60kb" }', 1500, 0.45),
        (100, "receiver", '{ limit = "60kb" }', 1500, 0.09),
        # The kernel's queues behind its shaper.
        (2, "receiver", '{ kind = "kernel:pfifo" }', 150, 0),
        (20, "sender", '{ kind = "kernel:bfifo", limit = "60kb" }', 1500, 0.45),
        (100, "receiver", '{ kind = "kernel:bfifo", limit = "60kb" }', 1500, 0.09),
    ],
)
def test_rate(train: Train, mbps: int, to: str, queue: str, count: int, gap_ms: float) -> None:
    link = one_way(to, f'rate = "{mbps}mbit"\ndelay = "5ms"\nqueue = {queue}')
    arrivals = train(link, count, gap_ms=gap_ms, to=to)
    assert rate_mbps(arrivals) == about(mbps)
    assert (len(arrivals) == count) == ("60kb" not in queue)


SLOW_LINE = 'access = { rate = "1mbit", delay = "15ms" }'
FAR_AWAY = 'access = { delay = "15ms" }'


@pytest.mark.parametrize(
    ("to", "link", "flows", "size", "ms"),
    [
        # Propagation, and the packet's own time on the wire.
        ("receiver", 'rate = "2mbit"\ndelay = "20ms"', "", 1500, 20 + 6),
        ("receiver", 'rate = "500kbit"\ndelay = "22ms"', "", 250, 22 + 4),
        ("receiver", 'rate = "100mbit"\ndelay = "50ms"', "", 1500, 50 + 0.12),
        # The sender's own line carries it before the bottleneck does.
        ("receiver", 'rate = "10mbit"\ndelay = "10ms"', SLOW_LINE, 1500, 12 + 15 + 1.2 + 10),
        ("receiver", 'rate = "10mbit"\ndelay = "10ms"', FAR_AWAY, 1500, 15 + 1.2 + 10),
        # On the reverse path the bottleneck's settings hold unless it has its own, and of the sender's line the delay.
        ("sender", 'rate = "2mbit"\ndelay = "20ms"', "", 1500, 20 + 6),
        ("sender", 'rate = "50mbit"\ndelay = "1ms"\nreverse.delay = "30ms"', SLOW_LINE, 1500, 0.24 + 30 + 15),
    ],
)
@pytest.mark.parametrize("queue", ["{}", '{ kind = "kernel:pfifo" }'])
def test_delay_of_single_packets(
    train: Train, to: str, link: str, flows: str, size: int, ms: float, queue: str
) -> None:
    link = f"{link}\nqueue = {queue}\nreverse.queue = {queue}"
    arrivals = train(link, 10, size, gap_ms=30, to=to, flows=flows)
    assert [arrival.delay for arrival in arrivals] == [about(ms)] * 10


@pytest.mark.parametrize(
    ("to", "limit", "size", "waiting"),
    [
        ("receiver", "30kb", 1500, 20),
        ("receiver", "30kb", 500, 60),
        ("receiver", "20p", 500, 20),
        ("sender", "10kb", 1500, 6),
        ("sender", "20p", 1500, 20),
    ],
)
@pytest.mark.parametrize("whose", ["ours", "the kernel's"])
def test_queue_length(train: Train, to: str, limit: str, size: int, waiting: int, whose: str) -> None:
    theirs = "kernel:pfifo" if limit.endswith("p") else "kernel:bfifo"
    kind = "droptail" if whose == "ours" else theirs
    link = one_way(to, f'rate = "1mbit"\ndelay = "10ms"\nqueue = {{ kind = "{kind}", limit = "{limit}" }}')
    arrivals = train(link, waiting + 50, size, to=to)
    # Those that fit, and the one in transmission.
    assert [arrival.number for arrival in arrivals] == list(range(waiting + 1))
    packet_ms = size * 8 / 1000
    # The kernel's shaper begins with less credit than a packet's.
    for arrival in arrivals:
        assert 0 <= arrival.delay - 10 - (arrival.number + 1) * packet_ms < packet_ms / 2


@pytest.mark.parametrize(("to", "loss"), [("receiver", 0.5), ("sender", 0.8)])
def test_loss(train: Train, to: str, loss: float) -> None:
    count = 20_000
    link = one_way(to, f'rate = "1gbit"\ndelay = "1ms"\nqueue = {{}}\nloss = "{loss:.0%}"')
    arrivals = train(link, count, 100, to=to)
    # The seed decides which ones, so this holds always or never; the standard deviation is 0.35 % of all packets.
    assert 1 - len(arrivals) / count == about(loss)
    # A loss says nothing about the next packet.
    numbers = {arrival.number for arrival in arrivals}
    after_a_loss = [number in numbers for number in range(1, count) if number - 1 not in numbers]
    assert 1 - sum(after_a_loss) / len(after_a_loss) == pytest.approx(loss, rel=0.03)


@pytest.mark.parametrize("to", ["receiver", "sender"])
def test_delivery_opportunities(train: Train, to: str) -> None:
    arrivals = train(one_way(to, f'trace = "{LTE}"\ndelay = "10ms"\nqueue = {{}}'), 500, to=to)
    assert len(arrivals) == 500
    file = [float(line) for line in LTE.read_text().split()]
    rounds = [start + at for start in (0, file[-1]) for at in file]
    # When the train met the trace nobody knows; but there is one place that it fits, to the grain of the clocks.
    by_misfit = sorted(range(len(file)), key=lambda start: misfit(arrivals[::20], rounds[start::20]))
    best, second = (misfit(arrivals, rounds[start:]) for start in by_misfit[:2])
    assert best < 0.1
    assert second > 1


def misfit(arrivals: list[Arrival], opportunities: list[float]) -> float:
    """How far the arrivals are from these opportunities in the median, wherever the trace began; milliseconds."""
    shifts = [arrival.at - opportunity for arrival, opportunity in zip(arrivals, opportunities, strict=False)]
    middle = median(shifts)
    return median(abs(shift - middle) for shift in shifts)


@pytest.mark.realtime
@pytest.mark.parametrize("to", ["receiver", "sender"])
@pytest.mark.parametrize("queue", ["{}", '{ kind = "kernel:pfifo" }'], ids=["ours", "the kernel's"])
def test_on_the_running_kernel(train: Train, to: str, queue: str) -> None:
    """All come through, and none earlier than it can; needs root."""
    link = one_way(to, f'rate = "2mbit"\ndelay = "20ms"\nqueue = {queue}')
    arrivals = train(link, 25, to=to, on="kernel")
    assert len(arrivals) == 25
    for arrival in arrivals:
        assert arrival.at - arrivals[0].sent > (1 - WITHIN) * (20 + 6 * (arrival.number + 1))
