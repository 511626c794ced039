"""Judges a candidate: runs a suite's scenarios with it, and holds the results against the rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from unbloat._core import GridPoint, InputError
from unbloat.claims.batches import Batch, RepeatRule, measure, simulator
from unbloat.claims.expressions import Selectors, calls, decide, describe, first_side
from unbloat.claims.measurements import Measurements
from unbloat.claims.quantities import is_over_time, unit_named
from unbloat.claims.verdicts import Answer, Uncertain, Values
from unbloat.runs.progress import StagedProgress
from unbloat.scenarios.source import Source
from unbloat.suites.candidate import Candidate
from unbloat.suites.suite import Criterion, Rule, Suite

Verdict = Literal["pass", "fail", "open", "unsound"]
"""Whether a candidate meets a rule; `open` if the repeats leave it undecided."""
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
    """The comparisons with the measured values, or the reason why a run is unsound."""
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

    Raises
    ------
    ClaimError
        A rule names a label, a flow or an axis that the runs do not have.

    """
    stages = StagedProgress(on=manner.on)
    simulate = simulator(on=manner.on, kernel=manner.kernel, cache=manner.cache, jobs=manner.jobs, stages=stages)
    seeds = suite.content.runs.seeds if manner.on == "simulator" else 1
    batches = [_batch(suite, candidate, name) for name in suite.scenarios()]
    stages.expect([point.duration_s for batch in batches for point in _points(suite, batch) for _ in range(seeds)])
    found = measure(batches, RepeatRule(seeds), simulate)
    return [
        _judged(suite, criterion, rule, setting, found[rule.scenario])
        for criterion in suite.criteria
        for rule in criterion.rules
        for setting in settings_of(rule, found[rule.scenario])
    ]


def _points(suite: Suite, batch: Batch) -> list[GridPoint]:
    """Read the grid points of a scenario; an error names the suite's file."""
    try:
        return batch.points()
    except InputError as error:
        raise InputError(str(error).replace("<text>", str(suite.file_of(batch.name)))) from None


def _batch(suite: Suite, candidate: Candidate, scenario: str) -> Batch:
    text = candidate.put_into(suite.file_of(scenario).read_text(encoding="utf-8"))
    rules = [rule for each in suite.criteria for rule in each.rules if rule.scenario == scenario]
    named = [call for rule in rules for call in calls(rule.claim)]
    over_time = any(is_over_time(call.name, call.selectors) for call in named)
    step = suite.content.runs.series.get(scenario, SERIES_STEP) if over_time else ""
    return Batch(scenario, Source(None, text), series=step)


SERIES_STEP = "50ms"
"""The step of a scenario's time series unless the suite gives another."""


def settings_of(rule: Rule, runs: Measurements) -> list[tuple[str, ...]]:
    """List the settings of a rule by their labels."""
    every = runs.labels(rule.over, rule.at)
    return [labels for labels in every if not rule.among or set(labels) & set(rule.among)]


def _judged(suite: Suite, criterion: Criterion, rule: Rule, setting: Sequence[str], runs: Measurements) -> Judged:
    labels = [*rule.at, *setting]
    claim, difference = rule.claim, suite.content.runs.difference
    shared = runs.shared([(*labels, *call.labels) for call in calls(claim)])

    def measured(name: str, own: tuple[str, ...], selectors: Selectors) -> Values:
        return shared.means(name, [*labels, *own], selectors)

    side, unit = first_side(claim, measured, shared.confidence, unit_named)
    doubt = next(filter(None, (shared.why_unsound([*labels, *call.labels]) for call in calls(claim))), "")
    if doubt:
        return Judged(criterion, rule, tuple(labels), side, unit, doubt, "unsound")
    words = describe(claim, measured, shared.confidence, difference, unit_named)
    verdict = OF_ANSWERS[decide(claim, measured, shared.confidence, difference)]
    return Judged(criterion, rule, tuple(labels), side, unit, words, verdict)
