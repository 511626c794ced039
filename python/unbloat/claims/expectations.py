"""Expectations: the statements of `[expect]`, held against the results of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from unbloat._core import GridPoint
from unbloat.claims.expressions import Call, ClaimError, Selectors, calls, decide, describe, states
from unbloat.claims.measurements import Measurements
from unbloat.claims.quantities import is_over_time, quantity_named, unit_named
from unbloat.claims.units import in_own_units
from unbloat.claims.verdicts import Answer, Values
from unbloat.report.table import Column, render
from unbloat.results.grid_points import points_of
from unbloat.results.record import Outcome, Record
from unbloat.results.statistics import CONFIDENCE

if TYPE_CHECKING:
    from unbloat.results.grid_points import Repeats
    from unbloat.results.run_set import RunSet

Verdict = Literal["met", "failed", "open", "unsound", "no result"]
"""Whether results fulfil an expectation; `open` if the repeats leave it undecided."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
OF_ANSWERS: Mapping[Answer, Verdict] = {True: "met", False: "failed", None: "open"}


@dataclass(frozen=True)
class Expectation:
    """A statement that the results of a grid point must fulfil."""

    name: str
    """The key below `[expect]`."""
    statement: str
    """The text of the file."""
    place: str
    """File, line and key."""
    axes: Mapping[str, str]
    """The labels of the grid point."""

    @cached_property
    def claim(self) -> str:
        """The statement with each number in the unit of its measurement; raises `ClaimError` for another text."""
        return in_own_units(self.statement, lambda name: quantity_named(name).unit)

    @property
    def title(self) -> str:
        """The name with the labels of the grid point."""
        return titled(self.name, self.axes)

    @property
    def calls(self) -> list[Call]:
        """The measurements that the statement names."""
        return calls(self.claim)

    def check(self) -> None:
        """Raise `ClaimError`, with the place, for a statement that results cannot fulfil or fail."""
        try:
            if not states(self.claim):
                raise ClaimError(f"`{self.statement}` states nothing; write a comparison, such as rtt_p99 < 50ms")
            for call in self.calls:
                quantity_named(call.name)
        except ClaimError as error:
            raise ClaimError(f"{self.place}: {error}") from None


@dataclass(frozen=True)
class Judged:
    """An expectation and its verdict."""

    name: str
    statement: str
    axes: Mapping[str, str]
    """The labels of the grid points that it is about."""
    measured: str
    """The comparisons with the measured values, or the reason why there are none."""
    verdict: Verdict

    @property
    def title(self) -> str:
        """The name with the labels of the grid points."""
        return titled(self.name, self.axes)


def titled(name: str, axes: Mapping[str, str]) -> str:
    """Name a statement about some grid points."""
    return f"{name} [{', '.join(axes.values())}]" if axes else name


def expectations_of(points: Sequence[GridPoint], axes: Sequence[Mapping[str, str]]) -> list[Expectation]:
    """List what grid points, with these labels, expect; raises `ClaimError` for a statement that is wrong."""
    found = [
        Expectation(name, statement, place, labels)
        for point, labels in zip(points, axes, strict=True)
        for name, statement, place in point.expectations
    ]
    for each in {(each.name, each.statement): each for each in found}.values():
        each.check()
    return found


def need_series(expectations: Sequence[Expectation]) -> bool:
    """Return whether an expectation measures something over time."""
    return any(is_over_time(call.name, call.selectors) for each in expectations for call in each.calls)


def judge(expectations: Sequence[Expectation], results: RunSet, confidence: float = CONFIDENCE) -> list[Judged]:
    """Hold results against expectations; those about the same grid points give one verdict.

    Raises
    ------
    ClaimError
        An expectation names a label, a flow or a number that the runs do not have.

    """
    points = points_of(list(_with_series(results) if need_series(expectations) else results.outcomes))
    found: dict[tuple[str, str, tuple[tuple[str, str], ...]], Judged] = {}
    for each in expectations:
        own = _axes_of_labels(each, points)
        axes = {axis: label for axis, label in each.axes.items() if axis not in own}
        key = (each.name, each.statement, tuple(axes.items()))
        if key not in found:
            here = [point for point in points if axes.items() <= point.axes.items()]
            if here:  # Otherwise `only` has left it out.
                found[key] = _judged(each, axes, here, confidence)
    return list(found.values())


def _with_series(results: RunSet) -> Iterator[Outcome]:
    frames = dict(list(results.series("flows").groupby("run")))
    for number, outcome in enumerate(results.outcomes):
        yield replace(outcome, series=frames.get(number)) if isinstance(outcome, Record) else outcome


def _axes_of_labels(each: Expectation, points: Sequence[Repeats]) -> set[str]:
    """Return the axes that the labels of a statement name."""
    labels = {label for call in each.calls for label in call.labels}
    return {axis for point in points for axis, label in point.axes.items() if label in labels}


def _judged(each: Expectation, axes: Mapping[str, str], points: Sequence[Repeats], confidence: float) -> Judged:
    def judged(measured: str, verdict: Verdict) -> Judged:
        return Judged(each.name, each.statement, axes, measured, verdict)

    if failed := next((point.failures[0] for point in points if not point.records), None):
        return judged(failed.reason, "no result")
    runs = Measurements(points[0].scenario, points, confidence)

    def measure(name: str, labels: tuple[str, ...], selectors: Selectors) -> Values:
        return runs.means(name, labels, selectors)

    try:
        measured = describe(each.claim, measure, confidence, units=unit_named)
        doubt = next(filter(None, (runs.why_unsound(call.labels) for call in each.calls)), "")
        if doubt:
            return judged(doubt, "unsound")
        return judged(measured, OF_ANSWERS[decide(each.claim, measure, confidence)])
    except ClaimError as error:
        raise ClaimError(f"{each.place}: {error}") from None


# ---------------------------------------------------------------- The table


def text_of(judged: Sequence[Judged]) -> str:
    """Draw the verdicts as a table for the screen."""
    columns = [
        Column("expectation", "", [each.title for each in judged]),
        Column("measured", "", [each.measured for each in judged]),
        Column("verdict", "", [each.verdict for each in judged]),
    ]
    return render(columns)


def have_failed(judged: Sequence[Judged]) -> bool:
    """Return whether a statement is false, or could not be judged."""
    return any(each.verdict not in ("met", "open") for each in judged)
