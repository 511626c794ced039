"""Answers of `unbloat line` held against the truth of a line: for each goal met, missed, or not asked."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from unbloat import _core
from unbloat._core import InputError
from unbloat.lab.lines import Truth, Way
from unbloat.report.report import Report, Table
from unbloat.report.table import Column

Verdict = Literal["met", "missed", "not asked"]
Span = tuple[float, float]
"""The least and the largest value that is true, or that was answered."""
Answer = Mapping[str, Any]
"""The JSON that `unbloat line --json` prints."""

FASTEST_FOR_BUDGET_MBPS = 50.0
"""The goals on seconds and bytes are about lines up to this rate."""


LEAST_EFFECT = 0.02
"""The least true effect whose sign is asked for, as a share of the value."""


class Waits(TypedDict):
    """What the queues say about a phase of load."""

    median_ms: float
    """The median time that a sparse packet and its answer waited, both directions together."""
    trimmed_ms: float
    """The mean without the longest twentieth, as in the draft's RPM."""
    new_ms: NotRequired[float]
    """The mean time that each exchange of a request on a new connection takes: trimmed means, with repetitions."""
    own_ms: NotRequired[float]
    """The trimmed mean of the time from when data is written to a loaded connection until all of it is there."""
    up_filled: bool
    """Whether the queue was full at some time in the phase."""
    down_filled: bool


class Outcome(TypedDict, total=False):
    """The result on one line; a key is missing if that step was not run."""

    answer: Answer
    waits: dict[str, Waits]
    """By phase: down, up and both."""
    error: str
    """The reason for a missing answer."""
    loop_s: float
    """Seconds of the whole loop: to measure, to fit and to choose."""
    fall_ms: dict[str, float] | None
    """The fall in loaded delay under the best cure of this computer: `predicted`, and `shown` by a stock kernel.

    It is None if none is worth it.
    """
    scores: dict[str, float]
    """The score on the true line of each cure that the advice may name; more is better."""
    alike: float
    """Scores that differ by less are alike: a ranking leaves the line as it is for a smaller gain."""
    named_a_winner: bool
    """Whether a proof of a cure against itself named one."""
    effects: dict[str, float]
    """The relative effect of a change: the `true` one, that of flows `beside` others, and that of the `switchback`."""


# ---------------------------------------------------------------- Goals


@dataclass(frozen=True)
class Goal:
    """A goal of part 6 of the issue."""

    name: str
    title: str
    compares: str
    relative: float = 0.0
    """The largest difference as a share of the truth."""
    absolute: float = 0.0
    """The largest difference that counts as none, in the unit of what is compared."""
    most: float | None = None
    """The largest value, for goals without a truth."""
    at_least: float | None = None
    """The least share of lines that meet the goal."""
    at_most: float | None = None
    """The largest share of lines that miss the goal."""
    lines: int | None = None
    """How many lines the goal is about; None for all."""

    def is_reached(self, met: int, asked: int) -> bool:
        """Return whether the share of lines that meet the goal is large enough."""
        if self.at_most is not None:
            return asked - met <= self.at_most * asked
        assert self.at_least is not None
        return met >= self.at_least * asked

    @property
    def bound(self) -> str:
        """Say which share is asked for."""
        if self.at_most is not None:
            return f"at least {100 * (1 - self.at_most):g} %"
        assert self.at_least is not None
        return f"{'at least ' if self.at_least < 1 else ''}{100 * self.at_least:g} %"

    @property
    def tolerance(self) -> str:
        """Say how near is near."""
        parts = [f"{100 * self.relative:g} %"] if self.relative else []
        parts += [f"{self.absolute:g} ms"] if self.absolute else []
        return " or ".join(parts) if parts else "-" if self.most is None else f"at most {self.most:g}"


@dataclass(frozen=True)
class Bounds:
    """The goals, as `docs/line-bounds.toml` has them."""

    source: str
    lines: int
    seed: int
    goals: dict[str, Goal]


def read_bounds(path: Path) -> Bounds:
    """Read the goals; raises `InputError` for a goal that nothing grades."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    goals = {name: Goal(name, **keys) for name, keys in content["goals"].items()}
    if odd := sorted(set(goals) ^ set(PAIRS)):
        raise InputError(f"{path}: {', '.join(odd)}: the goals of the file and those that are graded differ")
    return Bounds(content["source"], content["lines"], content["seed"], goals)


# ---------------------------------------------------------------- What is compared


@dataclass(frozen=True)
class Pair:
    """An answer beside the truth; without an answer the goal is missed."""

    name: str
    """Which of several, such as the direction; may be empty."""
    answer: Span | str | None
    truth: Span | Sequence[str] | None
    """The true values or words; None for goals that have a bound only."""
    unit: str = ""
    note: str = ""
    """Why the pair is right or wrong, if that does not follow from its values."""
    is_right: bool | None = None
    """The verdict, if it does not follow from the values."""


def _ways(truth: Truth) -> tuple[tuple[str, Way], ...]:
    return (("up", truth.up), ("down", truth.down))


def _at(answer: Answer, *keys: str) -> Any:
    """Return the value under these keys; None if it is missing."""
    found: Any = answer
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _span(found: Any) -> Span | None:
    """Return an answer as a range: a number, a quantity, or a list of the least and the most."""
    if found is None:
        return None
    ends = list(found) if isinstance(found, list | tuple) else [found, found]
    low, high = (_number(end) for end in ends)
    return (low or 0.0, math.inf if high is None else high)


def _number(found: Any) -> float | None:
    """Return a number or a quantity in its base unit; None if it is missing or neither."""
    if isinstance(found, str):
        quantity = _core.quantity(found)
        return quantity[1] if quantity else None
    return None if found is None else float(found)


LINKS = {"": "link.line", "up": "link.line", "down": "link.line.reverse"}
FITTED = {
    "rate": (("policer.rate", "rate"), 1e-6),
    "buffer": (("queue.limit",), 1.0),
    "delay": (("delay",), 2e3),
}
"""The keys of a fit, the first of which counts, and the factor: to Mbit/s, bytes, and milliseconds both ways."""


def _fitted(answer: Answer, what: str, way: str = "") -> Span | None:
    """Return what was fitted."""
    keys, factor = FITTED[what]
    spans = (_span(_at(answer, "fit", f"{LINKS[way]}.{key}")) for key in keys)
    span = next((found for found in spans if found), None)
    return (span[0] * factor, span[1] * factor) if span else None


def _says_nothing_fits(answer: Answer) -> bool:
    return _at(answer, "fit", "fits") is False


def _misfit(truth: Truth, answer: Answer) -> Pair | None:
    """Return the verdict on an answer that says that nothing fits; None if it does not say so."""
    if not _says_nothing_fits(answer):
        return None
    if truth.undescribed:
        return Pair("", "nothing fits", None, note=truth.undescribed, is_right=True)
    return Pair("", "nothing fits", None, note="a scenario describes the line", is_right=False)


def _rates(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    answer = outcome["answer"]
    asked = [(name, way) for name, way in _ways(truth) if way.rate_mbps]
    if asked and (misfit := _misfit(truth, answer)):
        yield misfit
        return
    for name, way in asked:
        if _at(answer, "fit"):
            yield Pair(name, _fitted(answer, "rate", name), way.rate_mbps, "Mbit/s")
        else:
            yield Pair(name, _span(_at(answer, name, "rate_mbps")), way.rate_mbps, "Mbit/s", "measured, not fitted")


def _base_rtt(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    answer = outcome["answer"]
    if misfit := _misfit(truth, answer):
        yield misfit
    elif _at(answer, "fit"):
        yield Pair("", _fitted(answer, "delay"), (truth.base_rtt_ms,) * 2, "ms")
    else:
        idle_ms = truth.base_rtt_ms + truth.probe_ms
        yield Pair("", _span(_at(answer, "idle_rtt_ms")), (idle_ms, idle_ms), "ms", "measured, not fitted")


def _buffers(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    answer = outcome["answer"]
    asked = [(name, way) for name, way in _ways(truth) if way.buffer_bytes]
    if not _at(answer, "fit") or not asked:
        return
    if misfit := _misfit(truth, answer):
        yield misfit
        return
    for name, way in asked:
        span = _fitted(answer, "buffer", name)
        if span is None or not math.isinf(span[1]):
            yield Pair(name, span, way.buffer_bytes, "B")
        elif way.buffer_bytes and _was_filled(outcome, name) is False:
            # No upper bound is right where the load never filled the buffer.
            is_right = span[0] <= way.buffer_bytes[1]
            yield Pair(name, span, way.buffer_bytes, "B", "the load never filled it", is_right)
        else:
            yield Pair(name, (span[0], span[0]), way.buffer_bytes, "B", "or more")


def _was_filled(outcome: Outcome, way: str) -> bool | None:
    """Return whether a phase filled the queue of a direction; None if nobody looked."""
    if "waits" not in outcome:
        return None
    return any(phase["up_filled" if way == "up" else "down_filled"] for phase in outcome["waits"].values())


def _class(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    answer = outcome["answer"]
    kind = _at(answer, "queue", "kind")
    if _says_nothing_fits(answer) and truth.undescribed:
        yield Pair("", "nothing fits", None, note=truth.undescribed, is_right=True)
    elif kind is not None:
        yield Pair("", str(kind), truth.answers)


UNDER_LOAD = {("up",): "up", ("down",): "down", ("both", "up"): "both", ("both", "down"): "both"}
"""The tables of an answer that describe load, and their phases."""


def _added(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    for place, phase in UNDER_LOAD.items():
        table = _at(outcome["answer"], *place)
        waits = outcome.get("waits", {}).get(phase)
        if table and waits:
            yield Pair(" ".join(place), _span(table.get("added_ms")), (waits["median_ms"],) * 2, "ms")


def _rpm(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    for place, phase in UNDER_LOAD.items():
        table = _at(outcome["answer"], *place)
        waits = outcome.get("waits", {}).get(phase)
        if table and waits and "rpm" in table:
            new_ms = waits.get("new_ms", truth.base_rtt_ms + truth.probe_ms + waits["trimmed_ms"])
            rpm = 60e3 / ((new_ms + waits.get("own_ms", new_ms)) / 2)
            yield Pair(" ".join(place), _span(table["rpm"]), (rpm, rpm), "RPM")


def _prediction(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    if fall := outcome.get("fall_ms"):
        yield Pair("", (fall["predicted"],) * 2, (fall["shown"],) * 2, "ms")


def _cure(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    scores, cures = outcome.get("scores"), _at(outcome["answer"], "cures")
    if scores and cures:
        chosen, best = cures[0]["name"], max(scores, key=lambda name: scores[name])
        score = (scores[chosen],) * 2 if chosen in scores else None
        # More than the best is impossible.
        yield Pair(chosen, score, (scores[best] - outcome.get("alike", 0.0), scores[best]), "", f"the best is {best}")


def _same(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    if "named_a_winner" in outcome:
        named = outcome["named_a_winner"]
        yield Pair("", "a winner" if named else "no winner", None, is_right=not named)


def _sign(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    if effects := outcome.get("effects"):
        true, beside, by_turns = (effects[name] for name in ("true", "beside", "switchback"))
        if beside * true < 0 and abs(true) >= LEAST_EFFECT:
            yield Pair("", (by_turns, by_turns), (true, true), is_right=by_turns * true > 0)


def _has_budget(truth: Truth) -> bool:
    return all(way.rate_mbps is None or way.rate_mbps[1] <= FASTEST_FOR_BUDGET_MBPS for _, way in _ways(truth))


def _seconds(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    seconds = outcome.get("loop_s", _at(outcome["answer"], "seconds"))
    if _has_budget(truth) and seconds is not None:
        yield Pair("", _span(seconds), None, "s")


def _bytes(truth: Truth, outcome: Outcome) -> Iterator[Pair]:
    size = _at(outcome["answer"], "bytes")
    if _has_budget(truth) and size is not None:
        yield Pair("", _span(size), None, "B")


PAIRS: dict[str, Callable[[Truth, Outcome], Iterator[Pair]]] = {
    "rate": _rates,
    "base_rtt": _base_rtt,
    "buffer": _buffers,
    "class": _class,
    "added": _added,
    "rpm": _rpm,
    "prediction": _prediction,
    "cure": _cure,
    "same": _same,
    "sign": _sign,
    "seconds": _seconds,
    "bytes": _bytes,
}
"""The comparisons of each goal on one line; none if the goal does not ask the line."""


# ---------------------------------------------------------------- Grades


@dataclass(frozen=True)
class Grade:
    """What came of a goal on a line."""

    verdict: Verdict
    why: str = ""
    """The answers that miss the goal beside the truth."""


def grade(goal: Goal, truth: Truth, outcome: Outcome) -> Grade:
    """Hold a line's answer against a goal; a line without an answer misses every goal that it was asked for."""
    if "answer" not in outcome:
        asks = goal.name in ("rate", "base_rtt", "class")
        return Grade("missed", outcome.get("error", "no answer")) if asks else Grade("not asked")
    pairs = list(PAIRS[goal.name](truth, outcome))
    if not pairs:
        return Grade("not asked")
    wrong = [pair for pair in pairs if not is_right(goal, pair)]
    return Grade("missed", "; ".join(map(words, wrong))) if wrong else Grade("met")


def is_right(goal: Goal, pair: Pair) -> bool:
    """Return whether an answer is as near to the truth as the goal asks."""
    if pair.is_right is not None:
        return pair.is_right
    if pair.answer is None or isinstance(pair.answer, str):
        return pair.answer is not None and pair.truth is not None and pair.answer in pair.truth
    answer = middle(pair.answer)
    if pair.truth is None:
        return goal.most is None or answer <= goal.most
    low, high = (float(end) for end in pair.truth)
    apart = max(low - answer, answer - high, 0.0)
    nearest = min(max(answer, low), high)
    return apart <= max(goal.relative * abs(nearest), goal.absolute)


def middle(span: Span) -> float:
    """Return the one value that stands for a range: the geometric mean, as rates and sizes have ranges by factors."""
    low, high = span
    return math.sqrt(low * high) if low > 0 and not math.isinf(high) else (low + high) / 2


def words(pair: Pair) -> str:
    """Write an answer beside the truth."""
    name = f"{pair.name} " if pair.name else ""
    unit = f" {pair.unit}" if pair.unit else ""
    answer = "no answer" if pair.answer is None else _written(pair.answer)
    truth = "" if pair.truth is None else f" for {_written(pair.truth)}"
    note = f" ({pair.note})" if pair.note else ""
    return f"{name}{answer}{truth}{unit}{note}"


def _written(value: Span | str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    low, high = value[0], value[-1]
    if isinstance(low, str):
        return " or ".join(map(str, value))
    return f"{float(low):.4g}" if low == high else f"{float(low):.4g} to {float(high):.4g}"


# ---------------------------------------------------------------- The table


@dataclass(frozen=True)
class Graded:
    """A line with the grades of all goals."""

    number: int
    truth: Truth
    grades: dict[str, Grade]


def graded(number: int, truth: Truth, outcome: Outcome, bounds: Bounds) -> Graded:
    """Hold a line's outcome against all goals."""
    return Graded(number, truth, {name: grade(goal, truth, outcome) for name, goal in bounds.goals.items()})


def report(lines: Sequence[Graded], bounds: Bounds) -> Report:
    """Lay out each goal with its bound and its share, the shares by kind of line, and every miss."""
    goals = list(bounds.goals.values())
    found = {goal.name: [each.grades[goal.name] for each in lines] for goal in goals}
    met = {name: sum(each.verdict == "met" for each in grades) for name, grades in found.items()}
    asked = {name: sum(each.verdict != "not asked" for each in grades) for name, grades in found.items()}
    table = [
        Column("goal", "", [goal.title for goal in goals]),
        Column("tolerance", "", [goal.tolerance for goal in goals]),
        Column("bound", "", [goal.bound for goal in goals]),
        Column("lines asked", "", [asked[goal.name] for goal in goals]),
        Column("met", "", [met[goal.name] for goal in goals]),
        Column("share", "%", [_percent(met[goal.name], asked[goal.name]) for goal in goals]),
        Column("reached", "", [_reached(goal, met[goal.name], asked[goal.name]) for goal in goals]),
    ]
    kinds = sorted({each.truth.kind for each in lines})
    asked_goals = [goal for goal in goals if asked[goal.name]]
    by_kind = [Column("line", "", [*kinds])] + [
        Column(goal.title, "", [_count(lines, kind, goal.name) for kind in kinds]) for goal in asked_goals
    ]
    misses = [
        (goal.title, each.number, each.truth.kind, each.grades[goal.name].why)
        for goal in asked_goals
        for each in lines
        if each.grades[goal.name].verdict == "missed"
    ]
    listed = [Column(head, "", list(cells)) for head, cells in zip(MISS, zip(*misses, strict=True), strict=False)]
    parts: list[str | Table] = [f"{len(lines)} of {bounds.lines} lines have an outcome.", Table(table)]
    if asked_goals:
        parts += ["Lines that meet each goal, of those that it asks, by kind of line:", Table(by_kind)]
    if misses:
        parts += ["Every miss, with the answer and the truth:", Table(listed)]
    return Report(parts)


MISS = ("goal", "number", "line", "answer for the truth")


def _percent(met: int, asked: int) -> float | None:
    return round(100 * met / asked, 1) if asked else None


def _reached(goal: Goal, met: int, asked: int) -> str:
    if not asked:
        return "not asked"
    return "yes" if goal.is_reached(met, asked) else "no"


def _count(lines: Sequence[Graded], kind: str, goal: str) -> str:
    verdicts = [each.grades[goal].verdict for each in lines if each.truth.kind == kind]
    asked = sum(verdict != "not asked" for verdict in verdicts)
    return f"{verdicts.count('met')} of {asked}" if asked else "-"
