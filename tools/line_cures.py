"""The steps of `tools/lines` about cures: the ranking, the score of each cure on the true line, and the fall in delay.

A stock Debian computer has the measured line. So the ranking is the same wherever this runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import unbloat as ub
from unbloat.lab.line_grades import Outcome
from unbloat.lab.line_waits import WARM_UP
from unbloat.lab.lines import Line
from unbloat.line.applications import apps_named
from unbloat.line.choose import BY_FAR, MAY_BE_FASTER, VARIES, Choice, Ranked, choose
from unbloat.line.computer import NEEDS, Computer
from unbloat.line.cures import Cure, Reaches, cures
from unbloat.line.home import BESIDE, WAYS, Home, Way, draw, home_of
from unbloat.line.model import plan_for
from unbloat.line.trials import ALIKE, scores, trial
from unbloat.scenarios.source import Source

WANTED = "call,page"
"""The applications of `unbloat line` if nobody names others."""
DEBIAN = Computer(
    device="eth0",
    cc="cubic",
    # The modules of the Linux that Debian ships, beside what is built in.
    available=(
        *("cubic", "reno", "bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv"),
        *("scalable", "vegas", "veno", "westwood", "yeah"),
    ),
    has=dict.fromkeys(NEEDS, True),
)
"""The computer at the line: its kernel has every module of Debian, and loads BPF."""
DRAWS, MORE_DRAWS = 3, 9
"""Draws of each cure on the true line, and of the best: each number of connections, and each pair of them both ways."""
MOST_BEST = 6
"""Cures that have more draws besides the chosen one, so that none is the best by chance."""
LOADS_OF: Mapping[Reaches, Sequence[Way]] = {"uploads": ("up",), "downloads": ("down",), "everybody": ("up", "down")}
"""The loads whose delay a cure is to change."""


def ranked(fitted: Path, answer: Mapping[str, Any]) -> Choice | None:
    """Rank cures of a fitted line, in simulations whose number no clock decides; None if no line fits."""
    fit = answer.get("fit")
    if not fit or not fit["fits"]:
        return None
    ranges = {key: span for key, span in fit.items() if key.startswith("link.")}
    return choose(fitted, ranges, WANTED, DEBIAN, queue=answer["queue"]["where"], budget_s=None)


def ranking_of(choice: Choice) -> dict[str, Any]:
    """Return what `unbloat line --json` prints about a choice."""
    return {"verdict": choice.verdict, "advice": choice.sentence, "cures": choice.json()}


def scored(of: Line, fitted: Path, choice: Choice) -> dict[str, float]:
    """Score the cures of a choice on the true line, as they would be loaded.

    Shapers that were not tried, because the rate is not known well enough, shape below the fitted rates. A cure of this
    computer stands beside a router's less the lead that a router needs to be advised.
    """
    simulated = [each for each in choice.cures if each.draws and each.cure]
    by_name = {each.name: each.cure for each in simulated if each.cure}
    home = home_of(fitted, (), DEBIAN.cc)
    up_bps, down_bps = (home.rate_bps(way) for way in WAYS)
    if up_bps and down_bps:
        untried = {each.name for each in choice.cures if each.not_simulated in (VARIES, MAY_BE_FASTER)}
        every = cures(DEBIAN, up_bps, down_bps)
        by_name |= {cure.name: cure for cure in every if cure.name in untried and cure.can_load is not False}
    scenario = tomllib.loads(of.text)

    def found_in(some: Sequence[Cure], draws: int) -> dict[str, float]:
        return scores(scenario, some, WANTED, others=others(of), draws=draws)

    found = found_in(list(by_name.values()), DRAWS)
    best = sorted(by_name, key=lambda name: -found.get(name, -1.0))[:MOST_BEST]
    finalists = dict.fromkeys([*best, *({choice.best.name} & by_name.keys())])
    found |= found_in([by_name[name] for name in finalists], MORE_DRAWS)
    handicap = BY_FAR if choice.verdict == "host" else 0.0
    at_routers = {name for name, cure in by_name.items() if cure.where == "router"}
    return {name: round(score - handicap * (name in at_routers), 4) for name, score in found.items()}


def others(of: Line) -> list[dict[str, Any]]:
    """Return the flow groups of others on a line, which go on as long as a trial lasts."""
    return [
        {key: value for key, value in flow.items() if key != "stop"} for flow in tomllib.loads(of.text)["flows"][1:]
    ]


def outcome_of_cures(of: Line, fitted: Path, choice: Choice) -> Outcome:
    """Return what the goal on the chosen cure is graded by."""
    return {"scores": scored(of, fitted, choice), "alike": ALIKE}


# ---------------------------------------------------------------- The fall in loaded delay

Shown = Callable[[Source], float]
"""Returns the loaded delay that a trial shows, in ms."""
(CALL,) = apps_named("call")
"""The application whose packets show the delay."""
CALL_BESIDE = replace(CALL, flows=tuple({**flow, **BESIDE} for flow in CALL.flows))
"""A call of another computer, for cures that a kernel loads for all flows of a computer and the simulator for some."""


def first_here(choice: Choice) -> Ranked | None:
    """Return the best cure that this computer can load, if one is worth it."""
    return next((each for each in choice.cures if each.where == "host" and each.is_worth_it), None)


def fall_of(of: Line, fitted: Path, choice: Choice) -> dict[str, float] | None:
    """Return the fall in loaded delay that the fitted line predicts, and that a stock kernel shows on the true line."""
    best = first_here(choice)
    if best is None or best.cure is None:
        return None
    on_fit = home_of(fitted, (), DEBIAN.cc)
    on_truth = home_of(tomllib.loads(of.text), others(of), DEBIAN.cc)
    times_s = {load: load_s(on_fit.rate_bps(load)) for load in WAYS}
    predicted = fall_ms(on_fit, best.cure, times_s, lambda source: loaded_ms(source, "simulator"))
    shown = fall_ms(on_truth, best.cure, times_s, lambda source: loaded_ms(source, "vm"))
    return {"predicted": round(predicted, 3), "shown": round(shown, 3)}


def load_s(rate_bps: float | None) -> tuple[float, float]:
    """Return the warm-up and the rest of a load as a measurement has it, which its bytes may end early."""
    plan = plan_for()
    seconds = plan.seconds("up")
    if rate_bps:
        seconds = min(seconds, max(LEAST_LOAD_S, plan.phase_bytes * 8 / rate_bps))
    return round(seconds * WARM_UP, 3), round(seconds * (1 - WARM_UP), 3)


LEAST_LOAD_S = 3.0
"""The shortest load: connections begin within its first second."""


RUNS = 3
"""Runs of each load, whose connections begin at other times: on slow lines that moves a delay by a quarter.

Each run begins at another place of a rate that varies, as in the ranking.
"""
FLOWS = 4
"""Connections of each load."""


def fall_ms(home: Home, cure: Cure, times_s: Mapping[Way, tuple[float, float]], shown: Shown) -> float:
    """Return the mean fall in loaded delay under a cure, in each direction that the cure reaches."""
    for_some = any(key.endswith(".window_controller") for key in cure.keys or ())

    def fall(load: Way, number: int) -> float:
        apps = [CALL_BESIDE if for_some and load == "down" else CALL]
        drawn = replace(draw(home, {}, number), uploads=FLOWS, downloads=FLOWS)
        today, cured = (shown(trial(home, each, load, apps, drawn, times_s[load])) for each in (None, cure))
        return today - cured

    return fmean(fall(load, number) for load in LOADS_OF[cure.reaches] for number in range(RUNS))


def loaded_ms(source: Source, on: Literal["simulator", "vm"]) -> float:
    """Return the mean round-trip time of the call's packets in a trial."""
    flows = ub.Scenario(source).run(on=on, progress=False).flows
    return float(flows.loc[flows["name"] == "call", "rtt_ms_mean"].iloc[0])
