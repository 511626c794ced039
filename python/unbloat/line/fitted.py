"""The line that was fitted: its ranges, the place of its queue, and the scenario file that it becomes."""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from unbloat.line.evidence import Evidence
from unbloat.line.measurement import DIRECTIONS, Direction
from unbloat.line.model import LINK, Kind, Line, Side, scenario
from unbloat.scenarios.source import inline

Where = Literal["host", "first_hop", "beyond"]
"""Where packets wait: in this computer, on the way to the first router, or behind it."""
Range = tuple[float, float | None]
"""The least and the largest value that the measurement leaves open; None without a bound."""


@dataclass(frozen=True)
class Fit:
    """The line that explains a measurement best."""

    line: Line
    ranges: Mapping[str, Range]
    """The range of each key, such as `link.line.queue.limit`, around the line's value by a factor.

    In bit/s, bytes, seconds and percent.
    """
    kinds: Mapping[Direction, Kind]
    """The class of each direction's queue; `unknown` without load."""
    where: Where
    residual_percent: float
    """How far the simulated goodput and delays are from the measured ones."""
    fits: bool
    why_not: tuple[str, ...] = ()
    """Sentences on the samples that the line does not explain."""
    notes: tuple[str, ...] = ()
    """Sentences on what the load could not show."""

    @property
    def kind(self) -> Kind:
        """The class of the queue in which packets wait longest."""
        known = [each for each in DIRECTIONS if self.kinds[each] != "unknown"]
        if not known:
            return "unknown"
        special = [each for each in known if self.kinds[each] != "fifo"]
        return self.kinds[max(special or known, key=lambda each: self.line.side(each).buffer_s)]


def where(evidence: Evidence, line: Line) -> Where:
    """Return where packets wait under load."""
    import numpy as np

    host, hops = evidence.tables["host"], evidence.tables["hops"]
    added = {each: seen.wait(0.5) for (_, each), seen in evidence.views.items()}
    if len(host["phase"]) and "up" in added:
        mine = np.asarray(host["phase"]) == ("up" if ("up", "up") in evidence.views else "both")
        backlog = host["backlog_bytes"][mine].astype(float)
        backlog = backlog[np.isfinite(backlog)]
        if len(backlog):
            waits_ms = float(np.median(backlog)) * 8e3 / line.up.rate_bps
            if waits_ms > max(5.0, 0.5 * added["up"]):
                return "host"
    rtt = hops["rtt_ms"].astype(float)
    is_idle = hops["phase"] == "idle"
    is_loaded = np.isin(hops["phase"].astype(str), ["down", "up", "both"])
    calm, loaded = rtt[is_idle & np.isfinite(rtt)], rtt[is_loaded & np.isfinite(rtt)]
    if len(calm) and len(loaded) and added:
        more = float(np.median(loaded) - np.median(calm))
        if more > max(3.0, 0.5 * max(added.values())):
            return "first_hop"
    return "beyond"


def write_scenario(found: Fit) -> str:
    """Write the fitted line as a scenario file; comments give what the measurement leaves open."""
    line, duration_s = _from_zero(_rounded(found.line))
    content = scenario(line, duration_s)
    link = content["link"][LINK]
    if found.fits:
        state = ("A line that `unbloat line` measured and fitted: forward", "It describes the measurement; goodput")
    else:
        state = ("No line explains what `unbloat line` measured. This is the nearest: forward", "Goodput")
    lines = [
        f"# {state[0]} is up, reverse is down.",
        f"# {state[1]} and delays differ by {found.residual_percent:g} % on average.",
        *_commented((*found.why_not, *found.notes)),
        f"name = {inline(content['name'], 'name')}",
        f"duration = {inline(content['duration'], 'duration')}",
        "",
        f"[link.{LINK}]",
        *_entries({key: value for key, value in link.items() if key != "reverse"}, f"link.{LINK}", found.ranges),
        "",
        f"[link.{LINK}.reverse]",
        *_entries(link["reverse"], f"link.{LINK}.reverse", found.ranges),
    ]
    for flow in content["flows"]:
        lines += ["", "[[flows]]", *(f"{key} = {inline(value, f'flows.{key}')}" for key, value in flow.items())]
    return "\n".join(lines) + "\n"


def _entries(table: Mapping[str, Any], head: str, ranges: Mapping[str, Range]) -> Iterator[str]:
    for key, value in table.items():
        name = f"{head}.{key}"
        open_to = [
            f"{of[len(name) + 1 :]} {_span(of, span)}".strip()
            for of, span in ranges.items()
            if of == name or of.startswith(f"{name}.")
        ]
        comment = f"  # {', '.join(open_to)}" if open_to else ""
        yield f"{key} = {_bare(inline(value, name))}{comment}"


def _bare(text: str) -> str:
    """Write the keys of inline tables without quotation marks."""
    return re.sub(r'"([a-z_]+)" = ', r"\1 = ", text)


def _commented(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from textwrap.wrap(
            f"{sentence[:1].upper()}{sentence[1:]}.", 118, initial_indent="# ", subsequent_indent="# "
        )


def _from_zero(line: Line) -> tuple[Line, float]:
    """Return a line whose rates change from the beginning of a run on, and a duration that has room for the changes."""
    changes = [at for side in (line.up, line.down) for at, _ in side.rates]
    if not changes:
        return line, 30.0
    first = min(changes)

    def moved(side: Side) -> Side:
        return replace(side, rates=tuple((round(at - first + 0.1, 3), rate) for at, rate in side.rates))

    return replace(line, up=moved(line.up), down=moved(line.down)), max(30.0, math.ceil(max(changes) - first + 2))


def _span(key: str, span: Range) -> str:
    """Write a range with the unit of its key, as a scenario has it."""
    names = {"rate": "rate", "limit": "limit", "delay": "delay", "target": "delay", "loss": "loss", "burst": "size"}
    unit = names[key.rpartition(".")[2]]

    def text(end: float) -> str:
        return str(json.loads(inline(_significant(end), unit)))

    least, most = span
    return f"at least {text(least)}" if most is None else f"{text(least)} to {text(most)}"


def _rounded(line: Line) -> Line:
    """Return a line with four digits of each number."""

    def rounded(side: Side) -> Side:
        rates = tuple((round(at, 3), _significant(rate)) for at, rate in side.rates)
        return replace(
            side,
            rates=rates,
            rate_bps=_significant(side.rate_bps),
            buffer_bytes=_significant(side.buffer_bytes),
            loss_percent=_significant(side.loss_percent),
            loss_burst=_significant(side.loss_burst),
            burst_bytes=_significant(side.burst_bytes),
            line_bps=_significant(side.line_bps),
            target_s=_significant(side.target_s),
        )

    return Line(rounded(line.up), rounded(line.down), _significant(line.base_rtt_s))


def _significant(number: float) -> float:
    return float(f"{number:.4g}")
