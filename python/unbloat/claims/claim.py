"""Claims: statements and published numbers, compared with measurements in one cell or over the cells of a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec import Struct

from unbloat.claims.expressions import Measure, Repeated, Selector, calls, decide, describe, evaluate
from unbloat.claims.measurements import Measurements
from unbloat.claims.uncertainty import SURE, Answer, Seed, Uncertain, every, jackknife
from unbloat.claims.verdicts import (
    Bounds,
    Printed,
    Verdict,
    is_near,
    judge_reduction,
    judge_statement,
)

TAKES_OF_NUMBERS = ("largest", "smallest", "mean")
TAKES_OF_STATEMENTS = ("every", "most", "some")
"""In every cell of the grid, in more than half of them, in at least one."""


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement: an inequality that `holds`, a `quantity` with its published value, or a `reduction` in per cent.

    One about a grid names the axes that it goes `over`, and which of the cells it is about (`take`).
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


def judge_claim(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> Outcome:
    """Judge a claim in the setting `at`; raises `ClaimError` where a label or a quantity does not exist."""
    places = places_of(claim, at, runs)
    if claim.holds is None:
        settings = [each for labels in contenders(claim, at, runs) for each in settings_at(claim, at, labels)]
        shared = runs.shared(settings)
        outcome = _number(claim, [_repeated(shared, [*at, *labels]) for labels in contenders(claim, at, runs)], bounds)
    elif claim.over:
        outcome = _statement_of_a_grid(claim, places, _cells(claim, at, runs))
    else:
        outcome = _statement(claim, _cells(claim, at, runs)[0])
    why = (runs.why_unsound(labels) for labels in settings_of(claim, at, runs))
    doubt = next(filter(None, why), "")
    return Outcome(outcome.measured, "unsound", doubt) if doubt else outcome


def places_of(claim: Claim, at: Sequence[str], runs: Measurements) -> list[tuple[str, ...]]:
    """List the cells of the grid that a claim is about, by their labels; a claim without a grid has one, with none."""
    return [labels for labels in runs.labels(claim.over, at) if not set(labels) & set(claim.without)]


def settings_of(claim: Claim, at: Sequence[str], runs: Measurements) -> list[tuple[str, ...]]:
    """List the labels of every cell that a claim measures."""
    return [each for labels in places_of(claim, at, runs) for each in settings_at(claim, at, labels)]


def settings_at(claim: Claim, at: Sequence[str], labels: Sequence[str]) -> list[tuple[str, ...]]:
    """List the labels of the cells that a claim measures in one place of its grid."""
    named = {call.labels for _, expression in claim.expressions() for call in calls(expression)}
    return [(*at, *labels, *own) for own in sorted(named)]


def contenders(claim: Claim, at: Sequence[str], runs: Measurements) -> list[tuple[str, ...]]:
    """List the places of its grid that a claim's number may come from, all of them for a mean.

    A place that is surely not the largest, or smallest, needs no repeats to say by how much.
    """
    places = places_of(claim, at, runs)
    if claim.take == "mean" or len(places) == 1:
        return places
    text = claim.quantity if claim.quantity is not None else str(claim.reduction)
    sign = -1 if claim.take == "smallest" else 1
    found = [
        jackknife(
            lambda seed, cell=cell: sign * float(evaluate(text, cell.without(seed))),  # type: ignore[misc]
            cell.seeds,
            SURE,
        )
        for cell in _cells(claim, at, runs)
    ]
    least = max(found, key=lambda each: each.value).low
    return [labels for labels, each in zip(places, found, strict=True) if not each.high < least]


def open_settings(claim: Claim, at: Sequence[str], runs: Measurements, bounds: Bounds) -> list[tuple[str, ...]]:
    """List the labels of the cells whose further repeats may decide a claim; none if it is decided."""
    if judge_claim(claim, at, runs, bounds).verdict != "undecided":
        return []
    if claim.holds is None:
        places = contenders(claim, at, runs)
    else:
        pairs = zip(places_of(claim, at, runs), _cells(claim, at, runs), strict=True)
        places = [labels for labels, cell in pairs if not claim.over or decide(claim.holds, cell) is None]
    return [each for labels in places for each in settings_at(claim, at, labels)]


def _cells(claim: Claim, at: Sequence[str], runs: Measurements) -> list[Repeated]:
    """Give the measurements in each place of a claim's grid, with the repeats that all cells of that place have."""
    return [
        _repeated(runs.shared(settings_at(claim, at, labels)), [*at, *labels]) for labels in places_of(claim, at, runs)
    ]


def _repeated(runs: Measurements, setting: Sequence[str]) -> Repeated:
    def without(seed: Seed) -> Measure:
        def measure(name: str, labels: tuple[str, ...], selectors: dict[str, Selector]) -> float:
            return runs.take(name, [*setting, *labels], selectors, without=seed)

        return measure

    return Repeated(without, runs.seeds, runs.confidence)


# ---------------------------------------------------------------- Numbers

FOLDS: dict[str, Callable[[Sequence[float]], float]] = {"largest": max, "smallest": min, "mean": fmean, "": max}
"""Functions that fold a claim's numbers of several cells into one."""


def _number(claim: Claim, cells: Sequence[Repeated], bounds: Bounds) -> Outcome:
    text = claim.quantity if claim.quantity is not None else str(claim.reduction)

    def values(seed: Seed) -> list[float]:
        return [float(evaluate(text, cell.without(seed))) for cell in cells]

    value = cells[0].interval(lambda seed: FOLDS[claim.take](values(seed)))
    printed = Printed.parse(claim.published)
    if claim.reduction is not None:
        saved = cells[0].interval(lambda seed: 100 * (1 - FOLDS[claim.take](values(seed))))
        return Outcome(saved, judge_reduction(value, printed, bounds))
    chosen = cells if claim.take == "mean" else [cells[values(None).index(value.value)]]
    return Outcome(value, judge_statement(is_near(value, printed, claim.unit, bounds), _direction(claim, chosen)))


def _direction(claim: Claim, cells: Sequence[Repeated]) -> Answer:
    """Return whether the weaker form holds, in every one of these cells."""
    return claim.direction is not None and every([decide(claim.direction, cell) for cell in cells])


# ---------------------------------------------------------------- Statements


def _statement(claim: Claim, cell: Repeated) -> Outcome:
    text = str(claim.holds)
    verdict = judge_statement(decide(text, cell), _direction(claim, [cell]))
    return Outcome(describe(text, cell), verdict)


def _statement_of_a_grid(claim: Claim, labels: Sequence[Sequence[str]], cells: Sequence[Repeated]) -> Outcome:
    """Count the cells in which it holds; a statement about every cell that holds in most of them has its direction.

    It is undecided where the open cells would make a difference.
    """
    answers = [decide(str(claim.holds), cell) for cell in cells]
    surely, at_most = answers.count(True), len(answers) - answers.count(False)
    verdicts = {_verdict_of_count(claim, holding, len(answers)) for holding in (surely, at_most)}
    verdict: Verdict = verdicts.pop() if len(verdicts) == 1 else "undecided"
    return Outcome(_in_words([" ".join(each) for each in labels], answers), verdict)


def _verdict_of_count(claim: Claim, holding: int, cells: int) -> Verdict:
    most = holding > cells / 2
    holds = {"every": holding == cells, "most": most, "some": holding > 0}[claim.take]
    return judge_statement(holds, most and claim.take == "every")


def _in_words(places: Sequence[str], answers: Sequence[Answer]) -> str:
    """Say in how many cells a statement holds, and name the fewer: those in which it does not, or does."""
    named = {answer: [p for p, each in zip(places, answers, strict=True) if each is answer] for answer in set(answers)}
    holding, failing, undecided = (named.get(answer, []) for answer in (True, False, None))
    words = f"in {len(holding)} of {len(answers)} cells"
    if failing and holding:
        is_mostly = len(holding) > len(answers) / 2
        words += f", not at {', '.join(failing)}" if is_mostly else f", only at {', '.join(holding)}"
    return f"{words}, open at {', '.join(undecided)}" if undecided else words
