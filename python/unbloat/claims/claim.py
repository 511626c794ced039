"""Claims: statements and published numbers, compared with measurements in one grid point or over the grid points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np
from msgspec import Struct

from unbloat.claims.expressions import Selectors, calls, decide, describe, evaluate
from unbloat.claims.measurements import Measurements
from unbloat.claims.quantities import unit_named
from unbloat.claims.verdicts import (
    SURE,
    Answer,
    Bounds,
    Printed,
    Uncertain,
    Values,
    Verdict,
    every,
    is_near,
    jackknife,
    judge_reduction,
    judge_statement,
)

TAKES_OF_NUMBERS = ("largest", "smallest", "mean")
TAKES_OF_STATEMENTS = ("every", "most", "some")
"""In every grid point, in more than half of them, in at least one."""


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement: an inequality that `holds`, a `quantity` with its published value, or a `reduction` in per cent.

    One about a grid names the axes that it goes `over`, and which of the grid points it is about (`take`).
    """

    id: str
    says: str
    holds: str | None = None
    direction: str | None = None
    quantity: str | None = None
    reduction: str | None = None
    published: str = ""
    unit: str = ""
    over: list[str] = []
    take: str = ""
    """One of `TAKES_OF_NUMBERS` for a quantity, of `TAKES_OF_STATEMENTS` for what holds; empty without `over`."""
    without: list[str] = []
    """Labels of the grid that it does not cover."""
    main: bool = False
    """One of the paper's main claims: what its abstract or its conclusion says."""

    def expressions(self) -> Iterator[tuple[str, str]]:
        """Yield every expression that the claim evaluates, with its key."""
        for name in ("holds", "direction", "quantity", "reduction"):
            if (text := getattr(self, name)) is not None:
                yield name, text


@dataclass(frozen=True)
class Outcome:
    """The measured value of a claim, as a number or in words, and its verdict."""

    measured: Uncertain | str
    verdict: Verdict
    why_unsound: str = ""
    """Which of the runs behind it is unsound."""


@dataclass(frozen=True)
class Place:
    """A place of a claim's grid: its setting, and the repeats that all grid points of that have."""

    setting: Sequence[str]
    runs: Measurements
    bounds: Bounds

    def measure(self, name: str, labels: tuple[str, ...], selectors: Selectors) -> Values:
        """Measure in one of its grid points."""
        return self.runs.means(name, [*self.setting, *labels], selectors)

    def decide(self, text: str) -> Answer:
        """Return whether a statement holds here."""
        return decide(text, self.measure, self.runs.confidence, self.bounds.difference)

    def describe(self, text: str) -> str:
        """Write a statement's comparisons with the values measured here."""
        return describe(text, self.measure, self.runs.confidence, self.bounds.difference, unit_named)


def judge_claim(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> Outcome:
    """Judge a claim in the setting `at`; raises `ClaimError` where a label or a quantity does not exist."""
    if claim.holds is None:
        labels = contenders(claim, at, runs, bounds)
        shared = runs.shared([each for place in labels for each in settings_at(claim, at, place)])
        outcome = _number(claim, [Place([*at, *place], shared, bounds) for place in labels], bounds)
    elif claim.over:
        outcome = _statement_of_a_grid(claim, places_of(claim, at, runs), places(claim, at, runs, bounds))
    else:
        (place,) = places(claim, at, runs, bounds)
        verdict = judge_statement(place.decide(claim.holds), _direction(claim, [place]))
        outcome = Outcome(place.describe(claim.holds), verdict)
    doubt = next(filter(None, map(runs.why_unsound, settings_of(claim, at, runs))), "")
    return Outcome(outcome.measured, "unsound", doubt) if doubt else outcome


def places_of(claim: Claim, at: Sequence[str], runs: Measurements) -> list[tuple[str, ...]]:
    """List the grid points that a claim is about, by their labels; a claim without a grid has one, with none."""
    return [labels for labels in runs.labels(claim.over, at) if not set(labels) & set(claim.without)]


def settings_of(claim: Claim, at: Sequence[str], runs: Measurements) -> list[tuple[str, ...]]:
    """List the labels of every grid point that a claim measures."""
    return [each for labels in places_of(claim, at, runs) for each in settings_at(claim, at, labels)]


def settings_at(claim: Claim, at: Sequence[str], labels: Sequence[str]) -> list[tuple[str, ...]]:
    """List the labels of the grid points that a claim measures in one place of its grid."""
    named = {call.labels for _, expression in claim.expressions() for call in calls(expression)}
    return [(*at, *labels, *own) for own in sorted(named)]


def contenders(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> list[tuple[str, ...]]:
    """List the places of its grid that a claim's number may come from, all of them for a mean.

    A place that is surely not the largest, or smallest, needs no repeats to say by how much.
    """
    named = places_of(claim, at, runs)
    if claim.take == "mean" or len(named) == 1:
        return named
    sign = -1 if claim.take == "smallest" else 1
    found = [jackknife(sign * _value(claim, place), SURE) for place in places(claim, at, runs, bounds)]
    least = max(found, key=lambda each: each.value).low
    return [labels for labels, each in zip(named, found, strict=True) if not each.high < least]


def open_settings(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> list[tuple[str, ...]]:
    """List the labels of the grid points whose further repeats may decide a claim; none if it is decided."""
    if judge_claim(claim, at, runs, bounds).verdict != "undecided":
        return []
    if claim.holds is None:
        named = contenders(claim, at, runs, bounds)
    else:
        pairs = zip(places_of(claim, at, runs), places(claim, at, runs, bounds), strict=True)
        named = [labels for labels, place in pairs if not claim.over or place.decide(claim.holds) is None]
    return [each for labels in named for each in settings_at(claim, at, labels)]


def places(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> list[Place]:
    """List the places of a claim's grid, each with the repeats that all of its grid points have."""
    labels = places_of(claim, at, runs)
    return [Place([*at, *each], runs.shared(settings_at(claim, at, each)), bounds) for each in labels]


# ---------------------------------------------------------------- Numbers

FOLDS: dict[str, Callable[[Sequence[float]], float]] = {"largest": max, "smallest": min, "mean": fmean, "": max}
"""Functions that fold a claim's numbers of several grid points into one."""


def _value(claim: Claim, place: Place) -> Values:
    return evaluate(claim.quantity if claim.quantity is not None else str(claim.reduction), place.measure)


def _number(claim: Claim, places: Sequence[Place], bounds: Bounds) -> Outcome:
    found = np.broadcast_arrays(*(_value(claim, place) for place in places))
    folded = np.array([FOLDS[claim.take](each) for each in np.transpose(found).tolist()])
    interval = partial(jackknife, confidence=places[0].runs.confidence)
    value, printed = interval(folded), Printed.parse(claim.published)
    if claim.reduction is not None:
        return Outcome(interval(100 * (1 - folded)), judge_reduction(value, printed, bounds))
    here = [place for place, each in zip(places, found, strict=True) if each[0] == value.value]
    chosen = places if claim.take == "mean" or not here else here[:1]  # Where nothing was measured, NaN is nowhere.
    return Outcome(value, judge_statement(is_near(value, printed, claim.unit, bounds), _direction(claim, chosen)))


def _direction(claim: Claim, places: Sequence[Place]) -> Answer:
    """Return whether the weaker form holds, in every one of these places."""
    return claim.direction is not None and every([place.decide(claim.direction) for place in places])


# ---------------------------------------------------------------- Statements


def _statement_of_a_grid(claim: Claim, labels: Sequence[Sequence[str]], places: Sequence[Place]) -> Outcome:
    """Count the grid points in which it holds; one about every grid point that holds in most of them has its direction.

    It is undecided where the open grid points would make a difference.
    """
    answers = [place.decide(str(claim.holds)) for place in places]
    surely, at_most = answers.count(True), len(answers) - answers.count(False)
    verdicts = {_verdict_of_count(claim, holding, len(answers)) for holding in (surely, at_most)}
    verdict: Verdict = verdicts.pop() if len(verdicts) == 1 else "undecided"
    return Outcome(_in_words([" ".join(each) for each in labels], answers), verdict)


def _verdict_of_count(claim: Claim, holding: int, points: int) -> Verdict:
    most = holding > points / 2
    holds = {"every": holding == points, "most": most, "some": holding > 0}[claim.take]
    return judge_statement(holds, most and claim.take == "every")


def _in_words(places: Sequence[str], answers: Sequence[Answer]) -> str:
    """Say in how many grid points a statement holds, and name the fewer: those in which it does not, or does."""
    named = {answer: [p for p, each in zip(places, answers, strict=True) if each is answer] for answer in set(answers)}
    holding, failing, undecided = (named.get(answer, []) for answer in (True, False, None))
    words = f"in {len(holding)} of {len(answers)} grid points"
    if failing and holding:
        is_mostly = len(holding) > len(answers) / 2
        words += f", not at {', '.join(failing)}" if is_mostly else f", only at {', '.join(holding)}"
    return f"{words}, open at {', '.join(undecided)}" if undecided else words
