"""The choice of a cure for a line: what helps the user's applications, what it costs, and how sure that is.

A line is a scenario with one link `line`, forward up and reverse down. Around it `choose` builds a home: this computer
and a neighbour, each behind a fast device, and a router. The queues of today are those of the line, because the fit saw
them all as one. Each cure sets its keys there (`cures.py`). Cured and today's homes are then simulated as pairs. Both
have the same draw from the fitted ranges, the same number of bulk connections, and the same seed. The first draw is the
fitted line itself.

* Loads (`home.py`): this computer uploads; it downloads; a neighbour does both beside it. The first two count. The
  third shows the harm to others, what a cure that reaches only this computer still does, and how much its transfers
  yield. Known traffic of others runs in each of them.
* Applications (`applications.py`): a voice call by its opinion score, web pages by their load time, a backup by its
  goodput. A game's packets count by the 99th percentile of the added round-trip time.
* Cost: throughput that bulk transfers of this computer lose, or that the neighbour's lose beside it, whichever is more.
  Throughput that they give up beside those of the neighbour is *yielding*, which a program that is cured alone may do.
* Score (`trials.py`): the mean gain of the applications, each between -1 and 1, less half the cost and a tenth of the
  yielding. A cure is worth it if one application gains its smallest difference of interest, the score is above `ALIKE`,
  and most draws agree. The cheapest leads where the best scores are alike, if it is as sure.
* Shapers need a rate that is constant and known (`_shaped_rate`).
* `sure` is a probability: of n draws k agree that one application gains its smallest difference and the score is above
  `ALIKE`. By Laplace's rule of succession it is (k + 1) / (n + 2), so that few draws make nothing certain.
* Pairs: the best cures of either direction also run together.

All cures have the first draws, and the best of them the others. Simulations stop when the budget of seconds is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from unbloat.line.applications import App, Flow, apps_named
from unbloat.line.computer import Computer
from unbloat.line.cures import Cure, Reaches, Where, cures
from unbloat.line.home import LINK, LOADS, OWN, WAYS, Home, Ranges, Way, base_of, home_of
from unbloat.line.trials import ALIKE, LEAVE, Costs, Trials, Values, gains_of, is_better, number_of
from unbloat.system.paths import mechanism_names

# ---------------------------------------------------------------- Answers


@dataclass(frozen=True)
class Change:
    """The change of one number of an application by a cure."""

    unit: str
    today: float
    """The mean over all draws today."""
    cured: float
    """The mean over all draws with the cure."""
    change: float
    """The mean difference, cured less today."""
    low: float
    """Nine of ten draws have a difference above this one."""
    high: float
    """Nine of ten draws have a difference below this one."""

    def json(self) -> dict[str, object]:
        """Return it as `unbloat line --json` prints it."""
        interval = [_rounded(self.low), _rounded(self.high)]
        numbers = {name: _rounded(getattr(self, name)) for name in ("today", "cured", "change")}
        return {**numbers, "interval": interval, "unit": self.unit}


QueueWhere = Literal["host", "first_hop", "beyond"]
"""The place where packets wait: in this computer, on the way to the first router, or behind it."""
BEFORE_THE_ROUTER = "packets wait before they reach the router's queue"
Verdict = Literal["host", "router", "leave"]
"""The place of the best cure: this computer or the router; or `leave`, if the line is best left as it is."""


@dataclass(frozen=True)
class Ranked:
    """A cure with what it does; the choice to change nothing is one of them."""

    name: str
    where: Where | None
    """None for the choice to change nothing."""
    command: str
    undo: str
    reaches: Reaches = "everybody"
    """The traffic that it changes."""
    openwrt: str = ""
    effects: Mapping[str, Change] = field(default_factory=dict)
    """By application, the mean over uploads and downloads of this computer."""
    under: Mapping[str, Mapping[str, Change]] = field(default_factory=dict)
    """By load, `up`, `down` and `others`, and by application."""
    lost_percent: float = 0.0
    """Throughput that bulk transfers of this computer lose; 0 if they gain."""
    harm_percent: float = 0.0
    """Throughput that bulk transfers of a neighbour lose; 0 if they gain."""
    yields_percent: float = 0.0
    """Throughput that bulk transfers of this computer lose beside a neighbour's; 0 if they gain."""
    score: float = 0.0
    """The mean gain of the applications less what it costs."""
    sure: float = 0.0
    """The probability that it beats today, from the draws that agree."""
    draws: int = 0
    """Draws that were simulated; 0 if it is not simulated."""
    is_worth_it: bool = False
    not_simulated: str = ""
    """Why it is not simulated."""
    missing: tuple[str, ...] = ()
    """What this computer lacks for it."""
    unknown: tuple[str, ...] = ()
    """Requirements that only root can check."""
    cure: Cure | None = None
    """The cure itself; None for the choice to change nothing."""

    @property
    def cost_percent(self) -> float:
        """The larger of both losses of throughput."""
        return max(self.lost_percent, self.harm_percent)

    def json(self) -> dict[str, object]:
        """Return it as `unbloat line --json` prints it."""
        simulated = self.draws > 0
        return {
            "name": self.name,
            "where": self.where,
            "command": self.command,
            "undo": self.undo,
            "openwrt": self.openwrt or None,
            "for": _json_of(self.effects),
            "under": {load: _json_of(changes) for load, changes in self.under.items()},
            "cost_percent": _rounded(self.cost_percent) if simulated else None,
            "yields_percent": _rounded(self.yields_percent) if simulated else None,
            "sure": _rounded(self.sure) if simulated else None,
            "draws": self.draws,
            "not_simulated": self.not_simulated or None,
            "missing": list(self.missing),
            "unknown": list(self.unknown),
        }


@dataclass(frozen=True)
class Choice:
    """The ranking of all cures for a line."""

    verdict: Verdict
    sentence: str
    """The advice in words."""
    cures: tuple[Ranked, ...]
    """The best first; behind the choice to change nothing come those that are not worth it, and those not simulated."""
    notes: tuple[str, ...] = ()
    """Remarks on the simulations, a sentence each."""

    @property
    def best(self) -> Ranked:
        """The best choice, which may be to change nothing."""
        return self.cures[0]

    def json(self) -> list[dict[str, object]]:
        """Return the cures as `unbloat line --json` prints them."""
        return [each.json() for each in self.cures]


def _json_of(changes: Mapping[str, Change]) -> dict[str, object]:
    return {name: change.json() for name, change in changes.items()}


def _rounded(value: float) -> float:
    """Round to four significant digits."""
    return float(f"{value:.4g}")


# ---------------------------------------------------------------- The ranking

EVEN = 0.5
"""A cure that helps with this probability or less is not worth it."""
BY_FAR = 0.15
"""A router whose score is above that of this computer's best cure by so much is the place to cure the line."""


def _changes(
    today: Sequence[Values], cured: Sequence[Values], apps: Sequence[App], loads: Sequence[str]
) -> dict[str, Change]:
    """Return the change of each application over all draws."""
    changes = {}
    for app in apps:
        pairs = [
            (before, after)
            for a, b in zip(today, cured, strict=True)
            if (before := number_of(a, app, loads)) is not None and (after := number_of(b, app, loads)) is not None
        ]
        if pairs:
            before, after = (fmean(side) for side in zip(*pairs, strict=True))
            differences = sorted(b - a for a, b in pairs)
            low, high = _quantile(differences, 0.1), _quantile(differences, 0.9)
            changes[app.name] = Change(app.unit, before, after, after - before, low, high)
    return changes


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile of numbers in order, by linear interpolation."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _ranked(cure: Cure, trials: Trials, apps: Sequence[App], most_sure: float) -> Ranked:
    """Judge a cure by its draws."""
    base = Ranked(
        name=cure.name,
        where=cure.where,
        reaches=cure.reaches,
        command=cure.command,
        undo=cure.undo,
        openwrt=cure.openwrt,
        missing=cure.missing,
        unknown=cure.unknown,
        cure=cure,
    )
    if cure.name in trials.failed or cure.name not in trials.found:
        why = trials.failed.get(cure.name) or cure.why_not or "this computer cannot load it"
        return replace(base, not_simulated=why)
    today, cured = trials.sides(cure)
    costs = Costs.of(today, cured)
    score = trials.score(cure)
    # Transfers beside others vary by chance: the cost of a draw is that of all.
    weighed = costs.weighed(may_yield=cure.may_yield)
    agree = sum(
        is_better([a], [b], apps) and fmean(gains_of(a, b, apps)) - weighed > ALIKE
        for a, b in zip(today, cured, strict=True)
    )
    sure = min(most_sure, (agree + 1) / (len(cured) + 2))
    return replace(
        base,
        effects=_changes(today, cured, apps, OWN),
        under={load: _changes(today, cured, apps, (load,)) for load in LOADS},
        lost_percent=100 * costs.lost,
        harm_percent=100 * costs.harm,
        yields_percent=100 * costs.yields,
        score=score,
        sure=sure,
        draws=len(cured),
        is_worth_it=is_better(today, cured, apps) and score > ALIKE and sure > EVEN,
    )


# ---------------------------------------------------------------- The choice

Progress = Callable[[float, str], None]
"""Gets the share of the work that is done, and what is simulated, in words."""
BUDGET_S = 10.0
"""Seconds after which no further draw begins."""
MOST_DRAWS, FEW_DRAWS = 9, 4
"""Draws of each cure, at most; and those that the best cures should have where time is short."""
FIRST_SHARE = 0.5
"""The first draw of all cures takes no more than this share of the time; cures at devices come first."""
AT_ONCE = 6
"""Cures that are simulated between two looks at the clock, at most."""
SCREEN_SHARE = 0.1
"""All cures get a second draw if the first took no more than this share of the time that is left."""
LEAST_KEPT, MOST_KEPT = 4, 6
"""Cures that continue after the first draws, at least and at most."""


def choose(
    line: str | Path | Mapping[str, Any],
    ranges: Ranges,
    wanted: str | Sequence[str],
    computer: Computer,
    *,
    others: Sequence[Flow] = (),
    queue: QueueWhere = "beyond",
    is_explained: bool = True,
    cgroup: str | None = None,
    budget_s: float | None = BUDGET_S,
    draws: int = MOST_DRAWS,
    progress: Progress | None = None,
    jobs: int | None = None,
    cache: bool = True,
) -> Choice:
    """Rank cures of a line for applications.

    Parameters
    ----------
    line : path or dict
        The fitted scenario, with one link `line`. Its flow groups do not count.
    ranges : dict
        The least and the most of fitted keys, such as `{"link.line.rate": ["4.8mbit", "5.1mbit"]}`.
    wanted : str or sequence of str
        Applications, such as `"call,page"`.
    computer : Computer
        The abilities of this computer, which `this_computer` reads.
    others : sequence of dict
        Flow groups of known traffic of others, which shares the line all the time.
    queue : str
        The place where packets wait, as `fit.py` names it. A router helps only if it is `beyond` the first hop.
    is_explained : bool
        Whether the line explains its measurement; if not, no cure is surer than even, so none is worth it.
    cgroup : str, optional
        The control group of the program that uploads: congestion controls are then for its connections only.
    budget_s : float or None
        Seconds after which no further draw begins; None for all draws.
    draws : int
        Draws of each cure, at most.
    progress : function, optional
        Gets the share of the work that is done, and words about it.
    jobs : int, optional
        Processes at a time.
    cache : bool
        Whether to reuse stored runs, and to store new ones.

    Raises
    ------
    InputError
        If the line, a range or an application is wrong.
    RunError
        If today's line cannot be simulated.

    """
    clock = _Clock(budget_s)
    apps = apps_named(wanted)
    cc, notes = _simulated_control(computer.cc)
    home = home_of(line, others, cc)
    up_bps, down_bps = (_shaped_rate(home, ranges, way) for way in WAYS)
    every = [_within_reach(cure, queue) for cure in cures(computer, up_bps, down_bps, cgroup)]
    trials = Trials(home, ranges, apps, jobs, cache)
    search = _Search(trials, clock, progress or (lambda _, __: None), draws)
    search.screen([cure for cure in every if cure.keys is not None and cure.can_load is not False])
    pairs = search.pair()
    search.go_on()
    most_sure = 1.0 if is_explained else EVEN
    if not is_explained:
        notes.append("no line explains the measurement, so no cure is sure to help")
    ranked = [_ranked(cure, trials, apps, most_sure) for cure in (*every, *pairs)]
    return _choice(ranked, trials, apps, notes, has_others=bool(others))


class _Clock:
    """The time that simulations may take."""

    def __init__(self, budget_s: float | None) -> None:
        self._end_s = math.inf if budget_s is None else time.monotonic() + budget_s

    @property
    def left_s(self) -> float:
        """The time that is left; below zero if it is used up."""
        return self._end_s - time.monotonic()


class _Search:
    """The simulations of a choice, in the order in which a short time is spent best."""

    def __init__(self, trials: Trials, clock: _Clock, progress: Progress, draws: int) -> None:
        self._trials = trials
        self._clock = clock
        self._progress = progress
        self._draws = draws
        self._screened = 1
        self._pace_s = 0.0
        self.tried: list[Cure] = []
        """Cures that have the first draw."""

    def screen(self, able: Sequence[Cure]) -> None:
        """Simulate the first draw of cures, at devices first; and a second one if that is quick."""
        able = sorted(able, key=lambda cure: (not cure.is_at_device, cure.reaches == "uploads"))
        self._progress(0.0, "the line as it is")
        begun = time.monotonic()
        self._trials.run([None], 0)  # Processes start, and mechanisms compile.
        first_s = time.monotonic() - begun
        begun, most_s = time.monotonic(), FIRST_SHARE * self._clock.left_s
        at_once = max(1, int(min(AT_ONCE, most_s / first_s)))
        while len(self.tried) < len(able) and (not self.tried or time.monotonic() - begun < most_s):
            self._progress(0.2 * len(self.tried) / len(able), "every cure on the fitted line")
            some = able[len(self.tried) : len(self.tried) + at_once]
            self._trials.run(some, 0)
            self.tried += some
        for cure in able[len(self.tried) :]:
            self._trials.failed[cure.name] = "the time did not suffice"
        taken_s = time.monotonic() - begun
        self._pace_s = taken_s / max(1, len(self.tried))
        if self._draws > 1 and taken_s < SCREEN_SHARE * self._clock.left_s:
            words = "every cure on another draw"
            self._trials.run([None, *self.tried], 1, lambda share: self._progress(0.2 + 0.1 * share, words))
            self._screened = 2

    def pair(self) -> list[Cure]:
        """Combine cures of this computer for downloads with some for uploads, and simulate them as far as the others.

        Of either direction it takes the best that changes the ends of connections, and the best at the device.
        """
        pairs = [down.beside(up) for down in self._best_of("downloads") for up in self._best_of("uploads")]
        if self._screened * len(pairs) * self._pace_s > self._clock.left_s:
            return []
        for place in range(self._screened):
            self._progress(0.3 + 0.1 * place / self._screened, "pairs of cures")
            self._trials.run(pairs, place)
        self.tried += pairs
        return pairs

    def _best_of(self, reaches: Reaches) -> list[Cure]:
        own = [cure for cure in self._going() if cure.where == "host" and cure.reaches == reaches]
        own = [cure for cure in own if self._trials.changes_something(cure)]
        groups = ([cure for cure in own if cure.is_at_device is is_at_device] for is_at_device in (False, True))
        return [max(group, key=self._trials.score) for group in groups if group]

    def _going(self) -> list[Cure]:
        return [cure for cure in self.tried if cure.name not in self._trials.failed]

    def go_on(self) -> None:
        """Simulate further draws of the best cures, as many as there is time for."""
        going = _best(sorted(self._going(), key=lambda cure: -self._trials.score(cure)), self._kept())
        more = self._draws - self._screened
        draw_s = self._pace_s * (len(going) + 1)
        for done in range(more):
            if draw_s > self._clock.left_s:
                break
            begun = time.monotonic()
            self._progress(0.4 + 0.6 * done / more, f"draw {self._screened + done + 1} of {self._draws}")
            self._trials.run([None, *going], self._screened + done)
            draw_s = time.monotonic() - begun
        self._progress(1.0, "")

    def _kept(self) -> int:
        """Return how many cures continue: fewer where the time would not suffice for some draws of each."""
        if math.isinf(self._clock.left_s):
            return MOST_KEPT
        return min(MOST_KEPT, int(self._clock.left_s / max(self._pace_s, 1e-3) / FEW_DRAWS))


def _within_reach(cure: Cure, queue: QueueWhere) -> Cure:
    """Return a cure, without keys if packets wait before they reach its place."""
    is_in_vain = cure.where == "router" and queue != "beyond"
    return replace(cure, keys=None, why_not=BEFORE_THE_ROUTER) if is_in_vain else cure


VARIES = "the line's rate varies, and the cure needs a fixed one"
MAY_BE_FASTER = "the load did not fill the line, which may be faster than the cure would let it be"


def _shaped_rate(home: Home, ranges: Ranges, way: Way) -> float | str:
    """Return the rate that a shaper must stay below, the least that was fitted; or why no shaper suits a direction.

    A measurement sees a rate that varies for some seconds only. Later it may be lower, and the shaper would do nothing,
    or higher, and the shaper would waste it. A radio or a shared cable varies both ways, even if a measurement shows
    one of them only.
    """
    rate = home.rate_bps(way)
    if rate is None or any(home.table(each).get("rates") for each in WAYS):
        return VARIES
    ends = ranges.get(f"{LINK[way]}{'policer.' if 'policer' in home.table(way) else ''}rate")
    if ends is None:
        return rate
    return MAY_BE_FASTER if ends[1] is None else min(rate, base_of(ends[0], "bps"))


def _simulated_control(name: str) -> tuple[str, list[str]]:
    """Return the mechanism that simulates the congestion control of today, and a note if another has its place."""
    simulated = mechanism_names("congestion")
    own = name.removeprefix("ub_")
    if own in simulated:
        return own, []
    why = (
        f"the simulator lacks {name}, the congestion control of today"
        if name
        else "today's congestion control is unknown"
    )
    return "cubic", [f"{why}: cubic has its place"]


def _best(ordered: Sequence[Cure], count: int) -> list[Cure]:
    """Return the first cures, and the best of this computer and of the router where they are not among them."""
    kept = list(ordered[: max(count, LEAST_KEPT)])
    for where in ("host", "router"):
        if all(cure.where != where for cure in kept):
            kept += [cure for cure in ordered if cure.where == where][:1]
    return kept


def _in_order(found: Sequence[Ranked], most: int) -> list[Ranked]:
    """Order cures by their scores, those with most draws first.

    The cheapest leads of those whose score is like that of the best, and which are as sure.
    """
    ordered = sorted(found, key=lambda each: (each.draws < most, -each.score))
    equals = [each for each in ordered if each.draws == ordered[0].draws and each.sure >= ordered[0].sure]
    alike = [each for each in equals if each.score > ordered[0].score - ALIKE]
    cheapest = min(alike, key=lambda each: each.cost_percent, default=None)
    return sorted(ordered, key=lambda each: each is not cheapest)


def _choice(
    found: Sequence[Ranked], trials: Trials, apps: Sequence[App], notes: Sequence[str], *, has_others: bool
) -> Choice:
    """Order the cures and say which place is the right one."""
    today = list(trials.found[LEAVE].values())
    most = max((each.draws for each in found), default=0)
    worth = _in_order([each for each in found if each.is_worth_it], most)
    rest = sorted((each for each in found if each.draws and not each.is_worth_it), key=lambda each: -each.score)
    unknown = [each for each in found if not each.draws]
    leave = Ranked(
        name=LEAVE,
        where=None,
        command="",
        undo="",
        effects=_changes(today, today, apps, OWN),
        under={load: _changes(today, today, apps, (load,)) for load in LOADS},
        sure=1 - max((each.sure for each in found if each.draws), default=0.0),
        draws=len(today),
    )
    hosts, routers = (_in_order([each for each in worth if each.where == where], most) for where in ("host", "router"))
    is_far = bool(routers) and routers[0].score - (hosts[0].score if hosts else 0.0) >= BY_FAR
    verdict: Verdict = "router" if routers and (is_far or not hosts) else "host" if hosts else "leave"
    # A router that is hardly better than this computer comes behind it: it is more work.
    worth.sort(key=lambda each: each is not (routers if verdict == "router" else hosts or worth)[0])
    ordered = (*worth, leave, *rest, *unknown)
    return Choice(verdict, _sentence(verdict, ordered[0], has_others=has_others), ordered, tuple(notes))


def _sentence(verdict: Verdict, best: Ranked, *, has_others: bool) -> str:
    """Write the advice."""
    if verdict == "leave":
        return "Leave it: no cure changes any of these applications by a difference of interest."
    if verdict == "router":
        why = "others fill the line" if has_others else "no cure of this computer helps as much"
        return f"Cure it on the router or modem, because {why}. On a Linux router: {best.command}"
    return f"Load {best.name} on this computer: {best.command}"
