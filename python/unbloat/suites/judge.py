"""Judges a candidate: runs a suite's scenarios with it, and holds the results against the rules."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from unbloat._core import GridPoint, InputError, RunError
from unbloat.claims.batches import Batch, Place, RepeatRule, measure, place_of, simulator
from unbloat.claims.expressions import Selectors, calls, decide, describe, first_side
from unbloat.claims.measurements import Measurements
from unbloat.claims.quantities import is_over_time, unit_named
from unbloat.claims.verdicts import Answer, Uncertain, Values
from unbloat.results.grid_points import Repeats
from unbloat.runs import costs
from unbloat.runs.progress import StagedProgress
from unbloat.scenarios.source import PLACE, Source
from unbloat.suites.candidate import Candidate
from unbloat.suites.suite import Criterion, Rule, Suite

log = logging.getLogger(__name__)

Verdict = Literal["pass", "fail", "open", "unsound"]
"""Whether a candidate meets a rule; `open` if the repeats leave it undecided, or if a run is lacking."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
OF_ANSWERS: Mapping[Answer, Verdict] = {True: "pass", False: "fail", None: "open"}


@dataclass(frozen=True)
class Judged:
    """A rule in one setting, with what was measured."""

    criterion: Criterion
    rule: Rule
    setting: tuple[str, ...]
    """The labels of the setting."""
    measured: Uncertain
    """The left side of the rule's first comparison."""
    unit: str
    words: str
    """The comparisons with the measured values, or the reason why a run is unsound, or why there is none."""
    verdict: Verdict

    @property
    def where(self) -> str:
        """The scenario and the labels of the setting."""
        return ", ".join([self.rule.scenario, *self.setting])

    def as_dict(self) -> dict[str, object]:
        """Return the row of `unbloat judge --json`."""
        known = math.isfinite(self.measured.value)
        interval = [self.measured.low, self.measured.high] if known and self.measured.half_width is not None else None
        return {
            "id": self.criterion.id,
            "criterion": self.criterion.title,
            "setting": self.where,
            "measured": self.measured.value if known else None,
            "unit": self.unit,
            "interval": interval,
            "rule": self.rule.holds,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Manner:
    """How a suite's scenarios run; the fields are arguments of `Scenario.run`."""

    on: str = "simulator"
    kernel: str | None = None
    cache: bool | None = None
    jobs: int | None = None


def judge(suite: Suite, candidate: Candidate, manner: Manner) -> list[Judged]:
    """Run what the rules measure, and judge each rule in each setting.

    A setting that cannot run there, or of which a run fails, is left open with the reason.

    Raises
    ------
    ClaimError
        A rule names a label, a flow or an axis that the runs do not have.
    InputError
        Nothing of the suite can run there, or the candidate's own file is wrong.
    RunError
        Every run fails.

    """
    stages = StagedProgress(on=manner.on)
    simulate = simulator(
        on=manner.on, kernel=manner.kernel, cache=manner.cache, jobs=manner.jobs, stages=stages, goes_on=True
    )
    seeds = suite.content.runs.on_backend(manner.on).seeds
    plans = [plan_of(suite, candidate, name, manner.on) for name in suite.scenarios()]
    running = [plan for plan in plans if plan.batch.places]
    if not running:
        raise next(error for plan in plans for error in plan.refused.values())
    points = [point for plan in running for point in plan.batch.points() for _ in range(seeds)]
    stages.expect([point.duration_s for point in points])
    if manner.on == "vm":
        log.info("%d runs %s", len(points), costs.in_guests(points))
    found = measure([plan.batch for plan in running], RepeatRule(seeds), simulate)
    if not any(runs.runs for runs in found.values()):
        raise RunError(next(failure.reason for runs in found.values() for failure in runs.points[0].failures))
    return [
        _judged(suite, criterion, rule, setting, plan, found.get(rule.scenario))
        for criterion in suite.criteria
        for rule in criterion.rules
        for plan in plans
        if rule in plan.rules
        for setting in settings_of(rule, plan.grid)
    ]


@dataclass(frozen=True)
class Plan:
    """The grid points of a scenario that the rules are about."""

    rules: Sequence[Rule]
    """The rules about this scenario."""
    grid: Measurements
    """All grid points, without runs, to find the settings of rules."""
    batch: Batch
    """Those to run."""
    refused: Mapping[Place, InputError]
    """Why the others cannot run there."""

    def why_not(self, labels: Sequence[str], runs: Measurements | None) -> str:
        """Return the reason why a grid point lacks a run, by the labels of the point; empty if a run exists."""
        place = place_of(self.grid.point(labels).axes)
        if refusal := self.refused.get(place):
            return PLACE.sub("", str(refusal).split("\n")[0])
        point = runs.point(labels) if runs else None
        return point.failures[0].reason.split("\n")[0] if point and not point.records else ""


def plan_of(suite: Suite, candidate: Candidate, scenario: str, on: str) -> Plan:
    """Find the grid points that the rules are about, and which of them cannot run there."""
    text = candidate.put_into(suite.file_of(scenario).read_text(encoding="utf-8"))
    rules = [rule for each in suite.criteria for rule in each.rules if rule.scenario == scenario]
    over_time = any(is_over_time(call.name, call.selectors) for rule in rules for call in calls(rule.claim))
    step = suite.content.runs.series.get(scenario, SERIES_STEP) if over_time else ""
    overrides = suite.content.runs.on_backend(on).overrides.get(scenario, {})
    batch = Batch(scenario, Source(None, text), overrides=overrides, series=step)
    points = {place_of(dict(point.axes)): point for point in _points(suite, batch)}
    grid = Measurements(scenario, [Repeats(dict(place), [], [], scenario, on, None) for place in points])
    wanted = {
        place_of(grid.point([*rule.at, *setting, *call.labels]).axes)
        for rule in rules
        for setting in settings_of(rule, grid)
        for call in calls(rule.claim)
    }
    refused = {place: error for place in points if place in wanted and (error := _refusal(points[place], on))}
    return Plan(rules, grid, replace(batch, places=frozenset(wanted - refused.keys())), refused)


def _refusal(point: GridPoint, on: str) -> InputError | None:
    """Return why a grid point cannot run there."""
    try:
        point.check(on)
    except InputError as error:
        return error
    return None


def _points(suite: Suite, batch: Batch) -> list[GridPoint]:
    """Read the grid points of a scenario; an error names the suite's file."""
    try:
        return batch.points()
    except InputError as error:
        raise InputError(str(error).replace("<text>", str(suite.file_of(batch.name)))) from None


SERIES_STEP = "50ms"
"""The step of a scenario's time series unless the suite gives another."""


def settings_of(rule: Rule, runs: Measurements) -> list[tuple[str, ...]]:
    """List the settings of a rule by their labels."""
    every = runs.labels(rule.over, rule.at)
    return [labels for labels in every if not rule.among or set(labels) & set(rule.among)]


def _judged(
    suite: Suite, criterion: Criterion, rule: Rule, setting: Sequence[str], plan: Plan, runs: Measurements | None
) -> Judged:
    labels = [*rule.at, *setting]
    claim, difference = rule.claim, suite.content.runs.difference
    points = [(*labels, *call.labels) for call in calls(claim)]
    lacking = next(filter(None, (plan.why_not(point, runs) for point in points)), "")
    if lacking or not runs:
        return Judged(criterion, rule, tuple(labels), Uncertain(math.nan), "", lacking, "open")
    shared = runs.shared(points)

    def measured(name: str, own: tuple[str, ...], selectors: Selectors) -> Values:
        return shared.means(name, [*labels, *own], selectors)

    side, unit = first_side(claim, measured, shared.confidence, unit_named)
    doubt = next(filter(None, (shared.why_unsound(point) for point in points)), "")
    if doubt:
        return Judged(criterion, rule, tuple(labels), side, unit, doubt, "unsound")
    words = describe(claim, measured, shared.confidence, difference, unit_named)
    verdict = OF_ANSWERS[decide(claim, measured, shared.confidence, difference)]
    return Judged(criterion, rule, tuple(labels), side, unit, words, verdict)
