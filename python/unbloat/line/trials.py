"""The simulations of a home around a line: today and with each cure, what applications gain, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from unbloat._core import InputError, RunError
from unbloat.line.applications import App, Flow, apps_named, sum_of
from unbloat.line.cures import Cure
from unbloat.line.home import (
    CONNECTIONS,
    DOWNLOADS,
    FAR,
    LOADS,
    OWN,
    THEIR_DOWNLOADS,
    THEIR_UPLOADS,
    UPLOADS,
    Draw,
    Home,
    Ranges,
    draw,
    home_of,
)
from unbloat.results.rows import Run
from unbloat.runs import batch
from unbloat.scenarios.source import Source, source_of
from unbloat.system import machine

LEAVE = "leave it"
"""The name of the choice to change nothing."""
Values = dict[tuple[str, str], float]
"""Numbers of a draw: by load, and by application or by role of bulk transfers."""


def placed_keys(keys: Mapping[str, object], flows: Sequence[Flow]) -> dict[str, object]:
    """Replace roles in a cure's keys by the numbers of the flow groups that have them; drop those without a group."""
    roles = {str(flow["name"]): place for place, flow in enumerate(flows)}
    placed: dict[str, object] = {}
    for key, value in keys.items():
        role, _, rest = key.partition(".")
        if role not in (UPLOADS, DOWNLOADS):
            placed[key] = value
        elif role in roles:
            placed[f"flows.{roles[role]}.{rest}"] = value
    return placed


def trial(
    home: Home,
    cure: Cure | None,
    load: str,
    apps: Sequence[App],
    drawn: Draw,
    times_s: tuple[float, float] | None = None,
) -> Source:
    """Return the scenario of a home under a load, today or with a cure; `times_s` are warm-up and measured time."""
    scenario = home.scenario(load, apps, drawn, times_s)
    keys = placed_keys((cure.keys if cure else None) or {}, scenario["flows"])
    return source_of(scenario, {"seed": drawn.seed, **drawn.keys, **keys})


def scores(
    line: str | Path | Mapping[str, Any],
    cures: Sequence[Cure],
    wanted: str | Sequence[str],
    *,
    ranges: Ranges | None = None,
    others: Sequence[Flow] = (),
    cc: str = FAR,
    draws: int = len(CONNECTIONS),
    jobs: int | None = None,
    cache: bool = True,
) -> dict[str, float]:
    """Score cures on any line for applications, as a choice scores them on the fitted one; more is better.

    Parameters
    ----------
    line : path or dict
        A scenario with one link `line`, whose rate may vary, and whose packets may be lost. Its flow groups do not
        count.
    cures : sequence of Cure
        The cures, with the rates at which they would be loaded.
    wanted : str or sequence of str
        Applications, such as `"call,page"`.
    ranges : dict, optional
        The least and the most of the line's keys, between which draws after the first one lie.
    others : sequence of dict
        Flow groups of the traffic of others, which shares the line all the time.
    cc : str
        The congestion control of today's uploads.
    draws : int
        Draws, which differ in their number of connections, and in the place where a varying rate begins.
    jobs : int, optional
        Processes at a time.
    cache : bool
        Whether to reuse stored runs, and to store new ones.

    Returns
    -------
    dict
        Scores by the names of the cures; the choice to change nothing has 0. A cure that fails has none. One that
        changes no application by its smallest difference of interest has 0 at most.

    """
    trials = Trials(home_of(line, others, cc), ranges or {}, apps_named(wanted), jobs, cache)
    for number in range(draws):
        trials.run([None, *cures], number)
    return trials.scores(cures)


class Trials:
    """The simulations of a home: today, and with each cure."""

    def __init__(self, home: Home, ranges: Ranges, apps: Sequence[App], jobs: int | None, cache: bool) -> None:
        self._home = home
        self._ranges = ranges
        self._apps = apps
        self._jobs = jobs or machine.processors()
        self._is_kept = cache
        light = [app for app in apps if not app.is_alone]
        # Goodput is counted where no application spoils it, even if no other application runs there.
        self._groups = [light, *([app] for app in apps if app.is_alone)]
        self.found: dict[str, dict[int, Values]] = {}
        """The numbers of each cure by its name, and by draw; today has the name `LEAVE`."""
        self.failed: dict[str, str] = {}
        """Why a cure has no numbers."""

    def run(
        self, chosen: Sequence[Cure | None], number: int, progress: Callable[[float], None] = lambda _: None
    ) -> None:
        """Simulate cures, and today for None, with one draw."""
        drawn = draw(self._home, self._ranges, number)
        jobs = [(cure, load, apps) for cure in chosen for load in LOADS for apps in self._groups_of(load)]
        sources = [trial(self._home, cure, load, apps, drawn) for cure, load, apps in jobs]
        rows = batch.run_all(
            sources,
            self._jobs,
            is_kept=self._is_kept,
            progress=False,
            is_whole=True,
            finished=lambda done: progress(done / len(sources)),
        )
        for (cure, load, apps), row in zip(jobs, rows, strict=True):
            name = cure.name if cure else LEAVE
            if "run" not in row:
                if cure is None:
                    raise (InputError if row.get("wrong_input") else RunError)(row["error"])
                self.failed[name] = row["error"]
                continue
            values = self.found.setdefault(name, {}).setdefault(number, {})
            values.update(self._values(row["run"], load, apps))

    def score(self, cure: Cure) -> float:
        """Return a cure's score over its draws; a pair must be better than one cure to rank before it."""
        return score_of(*self.sides(cure), self._apps, cure) - (ALIKE if cure.parts else 0.0)

    def scores(self, cures: Sequence[Cure]) -> dict[str, float]:
        """Return the scores of cures by their names, with 0 for the choice to change nothing.

        A cure that changes no application by its smallest difference of interest is not worth more than that.
        """
        known = [cure for cure in cures if cure.name in self.found and cure.name not in self.failed]
        most = {cure.name: math.inf if is_better(*self.sides(cure), self._apps) else 0.0 for cure in known}
        return {LEAVE: 0.0, **{cure.name: min(most[cure.name], self.score(cure)) for cure in known}}

    def changes_something(self, cure: Cure) -> bool:
        """Return whether a cure changes the applications at all."""
        pairs = zip(*self.sides(cure), strict=True)
        return any(abs(gain) > ALIKE / 2 for a, b in pairs for gain in gains_of(a, b, self._apps))

    def sides(self, cure: Cure) -> tuple[list[Values], list[Values]]:
        """Return the numbers of today and of a cure, draw by draw."""
        found = self.found[cure.name]
        return [self.found[LEAVE][number] for number in found], list(found.values())

    def _groups_of(self, load: str) -> list[list[App]]:
        """Return the applications of each run; only loads that count have runs for one application."""
        return self._groups if load in OWN else self._groups[:1]

    def _values(self, run: Run, load: str, apps: Sequence[App]) -> Iterator[tuple[tuple[str, str], float]]:
        measured = run["duration_s"] - run["warmup_s"]

        def rows(name: str) -> list[Any]:
            return [flow for flow in run["flows"] if flow.get("name") == name]

        if apps is self._groups[0]:
            for role in LOADS[load]:
                yield (load, role), sum_of("goodput_mbps")(rows(role)) or 0.0
        for app in apps:
            flows = rows(app.name if app.flows else UPLOADS)
            if flows:
                value = app.value(flows)
                yield (load, app.name), app.nothing(measured) if value is None else value


# ---------------------------------------------------------------- Gains and costs

COST_WEIGHT, YIELD_WEIGHT = 0.5, 0.1
"""The weights of lost throughput, and of throughput left to others, against the gain of applications."""
ALIKE = 0.02
"""Scores that differ by less are alike: a cure must be better than none by so much, and a pair better than one."""


def number_of(values: Values, app: App, loads: Sequence[str]) -> float | None:
    """Return an application's mean number over loads."""
    known = [values[load, app.name] for load in loads if (load, app.name) in values]
    return fmean(known) if known else None


def gains_of(today: Values, cured: Values, apps: Sequence[App]) -> list[float]:
    """Return the gain of each application, a mean over the loads that count."""
    each = [
        [app.gain(today[load, app.name], cured[load, app.name]) for load in OWN if (load, app.name) in today]
        for app in apps
    ]
    return [fmean(gains) for gains in each if gains]


def _lost(today: Sequence[Values], cured: Sequence[Values], kinds: Sequence[tuple[str, str]]) -> list[float]:
    """Return the share of goodput that each kind of bulk transfer loses over all draws."""
    losses = []
    for kind in kinds:
        before, after = (sum(values.get(kind, 0.0) for values in side) for side in (today, cured))
        losses.append(1 - after / before if before > 0 else 0.0)
    return losses


@dataclass(frozen=True)
class Costs:
    """Throughput that a cure costs, as shares of at least 0."""

    lost: float
    harm: float
    yields: float

    @classmethod
    def of(cls, today: Sequence[Values], cured: Sequence[Values]) -> Costs:
        """Compare the goodput of bulk transfers, over all draws together."""
        own = _lost(today, cured, [("up", UPLOADS), ("down", DOWNLOADS)])
        theirs = _lost(today, cured, [("others", THEIR_UPLOADS), ("others", THEIR_DOWNLOADS)])
        beside = _lost(today, cured, [("others", UPLOADS), ("others", DOWNLOADS)])
        return cls(max(0.0, *own), max(0.0, fmean(theirs)), max(0.0, *beside))

    def weighed(self, *, may_yield: bool) -> float:
        """Return the cost as it counts against the gain of applications."""
        return COST_WEIGHT * max(self.lost, self.harm) + (0.0 if may_yield else YIELD_WEIGHT * self.yields)


def score_of(today: Sequence[Values], cured: Sequence[Values], apps: Sequence[App], cure: Cure) -> float:
    """Return the mean gain of the applications less what the cure costs."""
    gains = [gain for a, b in zip(today, cured, strict=True) for gain in gains_of(a, b, apps)]
    return fmean(gains) - Costs.of(today, cured).weighed(may_yield=cure.may_yield)


def is_better(today: Sequence[Values], cured: Sequence[Values], apps: Sequence[App]) -> bool:
    """Return whether one application gains its smallest difference of interest."""
    for app in apps:
        before, after = (
            [value for values in side if (value := number_of(values, app, OWN)) is not None] for side in (today, cured)
        )
        if before and app.better(fmean(before), fmean(after)) >= app.smallest(fmean(before)):
            return True
    return False
