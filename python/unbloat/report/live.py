"""A run or a link to look at while it goes on: queues, windows and goodputs, drawn in a terminal or line by line."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TextIO, TypeVar

from unbloat.system.core_types import FlowNow, LinkNow, Step
from unbloat.system.legible import count_of, in_a_line, short

if TYPE_CHECKING:
    from rich.live import Live

Part = TypeVar("Part", contravariant=True)

BLOCKS = "▁▂▃▄▅▆▇█"
COLUMN_S = 0.5
"""The time that a column of a picture spans, for whoever looks on."""
LINE_S = 1.0
"""From one line to the next, where lines are printed."""
BETWEEN_S = 0.1
"""From one picture to the next."""
KEPT = 200
"""The number of columns to store: the widest terminals have room for no more."""
SMOOTHED_S = 1.0
"""The rate that a queue is sent at is the mean over this, because a recorded one has gaps."""
MOST_LINKS, MOST_FLOWS = 4, 8
"""The largest number of flows listed one by one; a low terminal lists fewer."""
AROUND = 4
"""Lines that the list of flows leaves free: a gap, its heading, the other flows, the cursor."""
NAME, NUMBER, NARROWEST = 18, 6, 4
"""Widths of columns: a name, a number, the least of a picture."""


class Track:
    """A quantity over time: its mean in each column, as far back as a picture may reach."""

    def __init__(self) -> None:
        self._columns: deque[tuple[int, float, int]] = deque(maxlen=KEPT)

    def add(self, column: int, value: float | None) -> None:
        """Add a value."""
        if value is None:
            return
        total, count = 0.0, 0
        if self._columns and self._columns[-1][0] == column:
            _, total, count = self._columns.pop()
        self._columns.append((column, total + value, count + 1))

    def at(self, column: int) -> float | None:
        """Return the mean in a column; None if it has no values."""
        return self.between(column, column)[0]

    @property
    def latest(self) -> int:
        """The latest column that has values."""
        return self._columns[-1][0] if self._columns else -1

    def between(self, first: int, last: int) -> list[float | None]:
        """Return the means from one column to another."""
        means = {column: total / count for column, total, count in self._columns if first <= column <= last}
        return [means.get(column) for column in range(first, last + 1)]


@dataclass
class LinkTrack:
    """A direction of a link."""

    delay: Track = field(default_factory=Track)
    """Queueing delay, ms."""
    rate: Track = field(default_factory=Track)
    """Rate that it transmits, Mbit/s."""
    drops: int = 0
    longest: int = 0
    """The most bytes that have waited."""
    _carried: deque[tuple[float, float]] = field(default_factory=deque)
    """Steps of the last second: their lengths, and how much the link could have transmitted, Mbit."""

    def add(self, column: int, step_s: float, row: LinkNow) -> None:
        """Add a step of the series."""
        self._carried.append((step_s, (row["capacity_mbps"] or 0.0) * step_s))
        while sum(step for step, _ in self._carried) - self._carried[0][0] >= SMOOTHED_S:
            self._carried.popleft()
        self.delay.add(column, self._delay_ms(row["queue_bytes"]))
        self.rate.add(column, row["throughput_mbps"])
        self.drops = row["drops"]
        self.longest = max(self.longest, row["queue_bytes"])

    def _delay_ms(self, queue_bytes: int) -> float | None:
        """Return how long the waiting bytes take to send at the present rate, ms; None while the rate is zero."""
        seconds, megabits = (sum(parts) for parts in zip(*self._carried, strict=True))
        if not queue_bytes:
            return 0.0
        return queue_bytes * 8 / 1e3 / (megabits / seconds) if megabits else None


@dataclass
class FlowTrack:
    """A flow."""

    name: str
    cwnd: int = 0
    rtt_ms: float | None = None
    window: Track = field(default_factory=Track)
    """Packets."""
    goodput: Track = field(default_factory=Track)
    """Mbit/s."""

    def add(self, column: int, row: FlowNow) -> None:
        """Add a step of the series."""
        self.cwnd, self.rtt_ms = row["cwnd_packets"], row["rtt_ms"]
        self.window.add(column, self.cwnd)
        self.goodput.add(column, row["goodput_mbps"])


class View:
    """A run so far, as text."""

    def __init__(self, title: str, names: Sequence[str], duration_s: float | None = None, pace: float = 1.0) -> None:
        """Start empty; `names` are the flows', and `pace` is how many seconds of the run pass in one of real time."""
        self._title = in_a_line(title)
        self._names = [in_a_line(name) for name in names]
        self._duration_s = duration_s
        self._column_s = COLUMN_S * pace
        self._line_s = LINE_S * pace
        self.time_s = 0.0
        self._lines = 0
        self._links: dict[str, LinkTrack] = {}
        self._flows: dict[int, FlowTrack] = {}

    def add(self, step: Step) -> bool:
        """Add a step of the series; return whether a line is due."""
        step_s, self.time_s = step["time_s"] - self.time_s, step["time_s"]
        column = self._column
        for row in step["links"]:
            self._links.setdefault(in_a_line(row["link"]), LinkTrack()).add(column, step_s, row)
        for flow in step["flows"]:
            number = flow["flow"]
            if number not in self._flows:
                self._flows[number] = FlowTrack(self._names[number])
            self._flows[number].add(column, flow)
        if len(self._flows) > MOST_FLOWS:
            seen = self._flows.items()
            self._flows = {number: flow for number, flow in seen if flow.window.latest > column - KEPT}
        # Sums of steps are not exact: without the small addition the last step of a line may fall short of it.
        lines = int(self.time_s / self._line_s + 1e-6)
        is_due, self._lines = lines > self._lines, lines
        return is_due

    @property
    def _column(self) -> int:
        """The column that the latest step belongs to: a step ends where its column ends."""
        return max(0, int(self.time_s / self._column_s - 1e-6))

    # ------------------------------------------------------------ Lines

    def line(self) -> str:
        """Format the present state in one line."""
        parts = [f"{self.time_s:.1f} s"]
        for name, link in self._busiest():
            delay, rate = (short(track.at(self._column)) for track in (link.delay, link.rate))
            parts.append(f"{name}: queue {delay} ms, {rate} Mbit/s, {link.drops} drops")
        flows, others = self._chosen(MOST_FLOWS)
        parts += [f"{flow.name}: cwnd {flow.cwnd}, {short(flow.goodput.at(self._column))} Mbit/s" for flow in flows]
        return "; ".join([*parts, *others])

    # ------------------------------------------------------------ Pictures

    def frame(self, width: int, height: int, pace: float | None = None) -> str:
        """Draw it, in lines of at most `width` columns; `pace` is that which there has been, where that is worth it."""
        of = f" of {self._duration_s:g} s" if self._duration_s else ""
        speed = f" · {short(pace)} simulated s/s" if pace else ""
        lines = [f"{self._title} · {self.time_s:.1f} s{of}{speed}", ""]
        lines += self._link_lines(width)
        if self._flows:
            lines += ["", *self._flow_lines(width, max(1, height - len(lines) - AROUND))]
        return "\n".join(points(line, width).rstrip() for line in lines)

    def _link_lines(self, width: int) -> Iterator[str]:
        picture = max(NARROWEST, width - NAME - 4 * (NUMBER + 2) - 4)
        span = f"queue, ms: last {short(picture * self._column_s)} s"
        heads = (f"{head:>{NUMBER + 1}}" for head in ("peak", "Mbit/s", "drops"))
        yield f"{points('link', NAME)}{'now':>{NUMBER}}  {points(span, picture)} {' '.join(heads)}"
        for name, link in self._busiest():
            seen = link.delay.between(self._column - picture + 1, self._column)
            most = max((value for value in seen if value is not None), default=None)
            numbers = (
                f"{text:>{NUMBER + 1}}" for text in (short(most), short(link.rate.at(self._column)), str(link.drops))
            )
            now = short(link.delay.at(self._column))
            yield f"{points(name, NAME)}{now:>{NUMBER}}  {sparkline(seen, most)} {' '.join(numbers)}"

    def _flow_lines(self, width: int, most: int) -> Iterator[str]:
        flows, others = self._chosen(min(most, MOST_FLOWS))
        picture = max(NARROWEST, (width - NAME - 3 * (NUMBER + 2) - 2) // 2)
        first = self._column - picture + 1
        windows = [flow.window.between(first, self._column) for flow in flows]
        goodputs = [flow.goodput.between(first, self._column) for flow in flows]
        scales = [
            max((v for seen in many for v in seen if v is not None), default=None) for many in (windows, goodputs)
        ]
        heads = (f"cwnd: 0-{short(scales[0])} packets", f"goodput: 0-{short(scales[1])} Mbit/s")
        room = NUMBER + 2 + picture
        yield f"{points('flow', NAME)}{points(heads[0], room)} {points(heads[1], room)} {'RTT, ms':>{NUMBER + 1}}"
        for flow, window, goodput in zip(flows, windows, goodputs, strict=True):
            parts = [
                f"{flow.cwnd:>{NUMBER}}  {sparkline(window, scales[0])}",
                f"{short(flow.goodput.at(self._column)):>{NUMBER}}  {sparkline(goodput, scales[1])}",
                f"{short(flow.rtt_ms):>{NUMBER + 1}}",
            ]
            yield f"{points(flow.name, NAME)}{' '.join(parts)}"
        yield from others

    def _busiest(self) -> list[tuple[str, LinkTrack]]:
        """List the links, of many those whose queues have been longest."""
        ranked = sorted(self._links, key=lambda name: -self._links[name].longest)[:MOST_LINKS]
        return [(name, link) for name, link in self._links.items() if name in ranked]

    def _chosen(self, most: int) -> tuple[list[FlowTrack], list[str]]:
        """List the flows, of many those that get most just now, and say in a line what the others do."""
        alive = [number for number, flow in self._flows.items() if flow.window.latest == self._column]
        numbers = sorted(self._flows if len(self._flows) <= most else alive)
        if len(numbers) <= most:
            return [self._flows[number] for number in numbers], []
        ranked = sorted(numbers, key=lambda number: -(self._flows[number].goodput.at(self._column) or 0.0))
        rest = sum(self._flows[number].goodput.at(self._column) or 0.0 for number in ranked[most:])
        count = len(ranked) - most
        others = f"and {count_of(count, 'more flow')}: {short(rest)} Mbit/s together"
        return [self._flows[number] for number in sorted(ranked[:most])], [others]


def sparkline(values: Iterable[float | None], top: float | None) -> str:
    """Draw values as blocks, of which the highest stands for `top`; nothing where there is no value."""
    return "".join(" " if value is None else BLOCKS[height(value, top)] for value in values)


def height(value: float, top: float | None) -> int:
    """Return the block character for a value."""
    last = len(BLOCKS) - 1
    return min(last, round(last * value / top)) if top else 0


def points(text: str, width: int) -> str:
    """Cut or pad a text to a number of columns of a terminal."""
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


# ---------------------------------------------------------------- Where it is shown


class Shown(Protocol[Part]):
    """Something that changes, part by part, and can be shown as text."""

    time_s: float
    """The time that the latest part has."""

    def add(self, part: Part, /) -> bool:
        """Add a part; return whether a line is due."""

    def line(self) -> str:
        """Format the present state in one line."""

    def frame(self, width: int, height: int, pace: float | None = None) -> str:
        """Draw the present state, in lines of at most `width` columns."""


class Display(Generic[Part]):
    """Shows a view: in one place of a terminal, again and again, or line by line elsewhere."""

    def __init__(self, stream: TextIO, view: Shown[Part], *, tells_pace: bool = False) -> None:
        """Show nothing yet; `tells_pace` has it measure how fast time passes there."""
        self._stream = stream
        self._view = view
        self._tells_pace = tells_pace
        self._next = 0.0
        self._begun: tuple[float, float] | None = None
        """When the first part was shown, here and there."""
        self._live: Live | None = self._begin() if can_draw(stream) else None

    def _begin(self) -> Live:
        from rich.console import Console
        from rich.live import Live

        live = Live(
            console=Console(file=self._stream),
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        live.start()
        return live

    def show(self, part: Part) -> None:
        """Add a part, such as a step of a series, and show the view if that is due."""
        is_due = self._view.add(part)
        self._begun = self._begun or (time.monotonic(), self._view.time_s)
        if self._live is None:
            if is_due:
                print(self._view.line(), file=self._stream, flush=True)
        elif time.monotonic() >= self._next:
            self._draw(self._live)

    def _draw(self, live: Live) -> None:
        from rich.text import Text

        now = time.monotonic()
        self._next = now + BETWEEN_S
        size = live.console.size
        frame = Text(self._view.frame(size.width, size.height, self._pace(now)), no_wrap=True, overflow="crop")
        live.update(frame, refresh=True)

    def _pace(self, now: float) -> float | None:
        """Return how fast simulated time passes, where it is known and enough has passed."""
        here, there = self._begun or (now, 0.0)
        return (self._view.time_s - there) / (now - here) if self._tells_pace and now - here >= BETWEEN_S else None

    def close(self) -> None:
        """Leave the latest state on the screen, and a blank line before what comes next."""
        if self._live is not None:
            if self._begun:
                self._draw(self._live)
            self._live.stop()
            self._live = None
            print(file=self._stream)


def can_draw(stream: TextIO) -> bool:
    """Return whether pictures can be drawn there: on a terminal that has the blocks."""
    try:
        BLOCKS.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return stream.isatty() and os.environ.get("TERM") not in (None, "", "dumb", "unknown")
