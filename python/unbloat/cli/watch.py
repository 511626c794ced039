"""`unbloat line --watch`: which connection and which program fills the queue now."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict

from unbloat.cli.terminal import say_json, tell
from unbloat.line.watch import Row, Seen, watch
from unbloat.report.live import LINE_S, Display
from unbloat.report.table import Column, render
from unbloat.system.legible import count_of, in_a_line, short

MOST_IN_A_LINE = 3
"""Connections that a line names, where lines are printed."""
AROUND = 8
"""Lines of a picture that no connection takes: title, heads, a remark, the cursor."""


def watch_command(*, json: bool, interval_s: float = LINE_S) -> None:
    """Show which connections fill the queue, again and again until Ctrl-C; as JSON once, after one interval."""
    if os.geteuid() != 0:
        tell("without root only your own programs have names; the others go by their users")
    seconds = watch(interval_s)
    if json:
        say_json(as_json(next(seconds)))
        return
    try:
        with closing(Display(sys.stdout, Connections())) as display:
            for seen in seconds:
                display.show(seen)
    except KeyboardInterrupt:
        return  # It has no other end.


def as_json(seen: Seen) -> dict[str, object]:
    """Return an interval as scripts get it."""
    return {
        "interval_s": seen.interval_s,
        "direction_sure": seen.is_direction_sure,
        "connections": [asdict(row) for row in seen.rows],
        "devices": {
            device: {f"{way}_mbps": rate for way, rate in rates.items()} for device, rates in seen.devices.items()
        },
    }


class Connections:
    """The connections of the latest interval, as text."""

    def __init__(self) -> None:
        """Start with none."""
        self.time_s = 0.0
        self._seen: Seen | None = None

    def add(self, seen: Seen) -> bool:
        """Add an interval; each has a line."""
        self.time_s, self._seen = seen.time_s, seen
        return True

    def line(self) -> str:
        """Say in one line which connections fill the queue most."""
        rows = self._seen.rows if self._seen else []
        parts = [sentence(row) for row in rows[:MOST_IN_A_LINE]] or ["no connection carries data"]
        if len(rows) > MOST_IN_A_LINE:
            parts.append(f"and {count_of(len(rows) - MOST_IN_A_LINE, 'more connection')}")
        return "; ".join([f"{self.time_s:.1f} s", *parts])

    def frame(self, width: int, height: int, pace: float | None = None) -> str:
        """Draw a table of the connections, as many as the screen has room for."""
        if self._seen is None:
            return ""
        rows = self._seen.rows
        shown = rows[: max(1, height - AROUND - len(self._seen.devices))]
        lines = [f"{count_of(len(rows), 'connection')} with data in the last {self._seen.interval_s:.1f} s", ""]
        lines += table(shown, width).splitlines() if shown else ["-"]
        lines += ["", *device_lines(self._seen)]
        if not self._seen.is_direction_sure:
            lines.append("Both directions wait alike: one may wait in the other's queue.")
        return "\n".join(lines)


def sentence(row: Row) -> str:
    """Say what a connection does, and how much of a queue it makes."""
    where = f"{whose(row)} {row.direction} {row.far}: {short(row.rate_mbps)} Mbit/s"
    if row.rtt_ms is None or row.added_ms is None or row.queued_bytes is None:
        return f"{where}, RTT unknown"
    return (
        f"{where}, RTT {short(row.rtt_ms)} ms, {short(row.added_ms)} added, {short(row.queued_bytes / 1e3)} kB queued"
    )


def whose(row: Row) -> str:
    """Name a connection's program, or what is known of it."""
    return in_a_line(f"{row.program} {row.pid}" if row.program else f"({row.user or 'closed'})")


def table(rows: Sequence[Row], width: int) -> str:
    """Draw a table that is not wider than the screen: its last columns give way."""
    columns = [
        Column("program", "", [whose(row) for row in rows]),
        Column("", "", [row.direction for row in rows]),
        Column("far end", "", [row.far for row in rows]),
        Column("rate", "Mbit/s", [row.rate_mbps for row in rows]),
        Column("queued", "kB", [None if row.queued_bytes is None else row.queued_bytes / 1e3 for row in rows]),
        Column("added", "ms", [row.added_ms for row in rows]),
        Column("RTT", "ms", [row.rtt_ms for row in rows]),
        Column("unsent", "kB", [None if row.unsent_bytes is None else row.unsent_bytes / 1e3 for row in rows]),
        Column("resent", "", ["-" if row.retransmits is None else row.retransmits for row in rows], is_right=True),
        Column("control", "", [row.congestion_control or "-" for row in rows]),
        Column("least RTT", "ms", [row.least_rtt_ms for row in rows]),
    ]
    while True:
        drawn = render(columns, sys.maxsize)
        if len(columns) <= 5 or max(map(len, drawn.splitlines())) <= width:
            return drawn
        columns.pop()


def device_lines(seen: Seen) -> list[str]:
    """Say what the devices carried, and how much of that the connections did: QUIC, for one, is not among them."""
    own = seen.carried_mbps
    return [
        f"{in_a_line(device)}: {short(rates['down'])} Mbit/s down, {short(rates['up'])} up; "
        f"of these, TCP: {short(own['down'])} and {short(own['up'])}"
        for device, rates in seen.devices.items()
    ]
