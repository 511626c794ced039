"""The applications that a user may name for a line: what each sends, and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from unbloat._core import InputError
from unbloat.results.metrics import number
from unbloat.scenarios.checks import did_you_mean, names_in

Flow = dict[str, Any]
"""A flow group as a scenario has it."""
Rows = Sequence[Mapping[str, object]]
"""Flows of a run's records."""
Fold = Callable[[Rows], float | None]


@dataclass(frozen=True)
class App:
    """An application that a user may name, and how it is judged."""

    name: str
    about: str
    unit: str
    value: Fold
    """The number of a run, from its flows; None where nothing arrived."""
    nothing: Callable[[float], float]
    """The number if nothing arrived in this many seconds."""
    is_more_better: bool
    least: float
    """Smallest difference of interest, in its unit."""
    share: float
    """Smallest difference of interest as a share of today's number; the larger of both counts."""
    flows: tuple[Flow, ...] = ()
    """Flow groups, all with the name of the application."""
    span: float | None = None
    """The range of a scale with two ends; None for numbers whose ratio counts."""
    floor: float = 0.0
    """Smaller numbers count as this one in a ratio."""
    is_alone: bool = False
    """Whether its own traffic would spoil other applications, so that it needs a run for itself."""

    def smallest(self, today: float) -> float:
        """Return the smallest difference of interest from a number of today."""
        return max(self.least, self.share * abs(today))

    def better(self, today: float, cured: float) -> float:
        """Return how much better the number is, in the unit; negative if it is worse."""
        return cured - today if self.is_more_better else today - cured

    def gain(self, today: float, cured: float) -> float:
        """Return the gain between -1 and 1."""
        if self.span is not None:
            return self.better(today, cured) / self.span
        today, cured = max(today, self.floor), max(cured, self.floor)
        return self.better(today, cured) / max(today, cured, 1e-9)


def _mean(column: str) -> Fold:
    """Return the mean of a column over the flows that have it."""

    def of(flows: Rows) -> float | None:
        known = [value for flow in flows if (value := number(flow, column)) is not None]
        return fmean(known) if known else None

    return of


def sum_of(column: str) -> Fold:
    """Return the sum of a column over flows."""

    def of(flows: Rows) -> float | None:
        return sum(number(flow, column) or 0.0 for flow in flows) if flows else None

    return of


def _added_ms(flows: Rows) -> float | None:
    """Return the 99th percentile of the round-trip time above that of the empty path."""
    rtt, base = (_mean(column)(flows) for column in ("rtt_ms_p99", "base_rtt_ms"))
    return None if rtt is None or base is None else rtt - base


PAUSE_S = 1.0
"""The time from one web page to the next: enough for connections to begin anew, and short for many pages in a run."""

APPS = {
    app.name: app
    for app in (
        App(
            name="call",
            about="opinion score of a voice call, the worse direction",
            unit="MOS",
            value=_mean("opinion_score"),
            nothing=lambda _: 1.0,
            is_more_better=True,
            least=0.2,
            share=0.0,
            flows=({"app": "voice", "start": "1s"},),
            span=3.5,
        ),
        App(
            name="page",
            about="mean load time of a web page of 1.2 MB",
            unit="s",
            value=_mean("page_load_s_mean"),
            nothing=lambda seconds: seconds,
            is_more_better=False,
            least=0.1,
            share=0.1,
            flows=({"app": {"kind": "web", "pause": f"{PAUSE_S:g}s"}, "cc": "cubic", "start": "1s..2s"},),
            floor=0.2,
            is_alone=True,
        ),
        App(
            name="game",
            about="99th percentile of the added round-trip time of small packets, 50 a second",
            unit="ms",
            value=_added_ms,
            nothing=lambda seconds: seconds * 1e3,
            is_more_better=False,
            least=5.0,
            share=0.1,
            flows=({"app": {"kind": "ping", "every": "20ms", "packet": "100b"}, "start": "1s..2s"},),
            floor=10.0,
        ),
        App(
            name="backup",
            about="goodput of this computer's uploads",
            unit="Mbit/s",
            value=sum_of("goodput_mbps"),
            nothing=lambda _: 0.0,
            is_more_better=True,
            least=0.0,
            share=0.1,
            floor=0.01,
        ),
    )
}
"""The applications by their names."""


def apps_named(names: str | Sequence[str]) -> list[App]:
    """Return applications by their names, which commas may separate; raises `InputError` for an unknown name."""
    wanted = list(dict.fromkeys(names_in(names)))
    for name in wanted:
        if name not in APPS:
            known = ", ".join(APPS)
            raise InputError(f"for: unknown application {name}{did_you_mean(name, APPS)}; valid: {known}")
    if not wanted:
        raise InputError(f"for: name at least one application of {', '.join(APPS)}")
    return [APPS[name] for name in wanted]
