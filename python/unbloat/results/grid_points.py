"""The grid points with all of their repeats: where they lie, and what repeats say about each metric."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from unbloat._core import InputError
from unbloat.results.bottleneck import RATES
from unbloat.results.metrics import ALL, metrics_of
from unbloat.results.record import SEED, Failure, Outcome, Record
from unbloat.results.rows import Run
from unbloat.system.legible import ALIKE

if TYPE_CHECKING:
    from unbloat.results.statistics import Estimate


@dataclass(frozen=True)
class PointKey:
    """The place of a grid point: its scenario and the labels of the axes."""

    scenario: str
    labels: frozenset[tuple[str, str]]
    order: tuple[str, ...] = field(compare=False)
    """The axes as the file has them; two files may differ in that."""

    @classmethod
    def of(cls, record: Record) -> PointKey:
        """Return the key of a run's grid point."""
        axes = record.point_axes
        return cls(record.run["scenario"], frozenset(axes.items()), tuple(axes))

    @property
    def axes(self) -> dict[str, str]:
        """Return the label of every axis."""
        labels = dict(self.labels)
        return {axis: labels[axis] for axis in self.order}

    def holds(self, other: PointKey) -> bool:
        """Return whether the other lies here, whatever axes it has besides."""
        return self.scenario == other.scenario and self.labels <= other.labels

    def __str__(self) -> str:
        labels = ", ".join(self.axes.values())
        return f"{self.scenario}: {labels}" if labels else self.scenario


RunsByPoint = dict[PointKey, list[Record]]
"""The runs of a set by their places."""


def by_point(records: Sequence[Record]) -> RunsByPoint:
    """Sort runs by their places."""
    places: RunsByPoint = {}
    for record in records:
        places.setdefault(PointKey.of(record), []).append(record)
    return places


@dataclass(frozen=True)
class ResultSet:
    """One of the sets."""

    name: str
    on: str
    """The backends of the runs."""
    kernel: str
    """Whose TCP it was; empty for the simulator's."""

    @classmethod
    def of(cls, name: str, records: Sequence[Record]) -> ResultSet:
        """Describe a set."""
        on = dict.fromkeys(record.run["on"] for record in records)
        kernels = dict.fromkeys(filter(None, (record.run.get("kernel") for record in records)))
        return cls(name, ", ".join(on), ", ".join(kernels))

    def __str__(self) -> str:
        return f"{self.name} ({' '.join(filter(None, (self.on, self.kernel)))})"


def in_both(names: tuple[str, str], sides: tuple[RunsByPoint, RunsByPoint]) -> list[PointKey]:
    """List the places that two sets have in common; raises `InputError` if there are none."""
    both = [place for place in sides[0] if place in sides[1]]
    if not both:
        first = [next(iter(side), "nothing") for side in sides]
        raise InputError(
            f"{names[0]} and {names[1]} have no grid point in common: "
            f"the first begins with ({first[0]}), the second with ({first[1]})"
        )
    return both


def in_one(sides: tuple[RunsByPoint, RunsByPoint]) -> tuple[list[PointKey], list[PointKey]]:
    """List the places that only the first has, and those that only the second has."""
    a, b = sides
    return [place for place in a if place not in b], [place for place in b if place not in a]


LEAST_RTT = "rtt_ms_min"
"""The one column in which seeds alone differ by microseconds: how soon a host woke up."""
MetricOf = tuple[str, str]
"""The object that a metric describes (a flow, a link), and the name of its column."""


@dataclass(frozen=True)
class Repeats:
    """All runs of a grid point, or of several where grid points are pooled."""

    axes: dict[str, str]
    records: list[Record]
    failures: list[Failure]
    scenario: str
    on: str
    kernel: str | None

    @property
    def sound(self) -> list[Record]:
        """The runs whose numbers can be believed."""
        return [record for record in self.records if record.is_sound]

    @property
    def runs(self) -> list[Run]:
        """Records of the sound runs, as mappings."""
        return [record.run for record in self.sound]

    @property
    def are_alike(self) -> bool:
        """Return whether several sound runs are as good as the same: no metric differs by more than `ALIKE`."""
        runs = self.sound
        # The first two runs settle most cases, and cost little.
        return len(runs) > 1 and _are_alike(runs[:2]) and _are_alike(runs)


def _are_alike(runs: Sequence[Record]) -> bool:
    values = values_by_seed(runs, are_sums=True)
    return all(_alike(by_seed) for (_, name), by_seed in values.items() if name != LEAST_RTT)


def _alike(by_seed: Mapping[int, float | None]) -> bool:
    known = [value for value in by_seed.values() if value is not None]
    if len(known) < len(by_seed):
        return not known
    return max(known) - min(known) <= ALIKE * max(map(abs, known))


def points_of(outcomes: Sequence[Outcome], by: Sequence[str] | None = None) -> list[Repeats]:
    """Sort runs by their labels on the axes `by`, in the order of the grid; by default by all but the seed's.

    Runs of other scenarios, and on other backends or kernels, are other grid points.
    """
    points: dict[Hashable, Repeats] = {}
    for outcome in outcomes:
        axes = {axis: label for axis, label in outcome.axes.items() if (axis != SEED if by is None else axis in by)}
        point = points.setdefault((*where(outcome), tuple(axes.items())), Repeats(axes, [], [], *where(outcome)))
        if isinstance(outcome, Record):
            point.records.append(outcome)
        else:
            point.failures.append(outcome)
    return list(points.values())


def where(outcome: Outcome) -> tuple[str, str, str | None]:
    """Return the scenario, the backend and the kernel's release of a run."""
    run = outcome.run if isinstance(outcome, Record) else vars(outcome)
    return run["scenario"], run["on"], run.get("kernel")


def content(record: Record) -> Hashable:
    """Return a run's results in a form that can be compared: equal for equal runs, in whatever file they are."""
    rows = [*record.run["flows"], *record.run["links"]]
    return tuple(tuple(sorted((name, value) for name, value in row.items() if value is not None)) for row in rows)


def estimates(records: Sequence[Record], *, are_sums: bool) -> dict[MetricOf, Estimate]:
    """Estimate the mean of each metric over runs; `are_sums` as `values_of` has it."""
    from unbloat.results.statistics import estimate

    values: dict[MetricOf, list[float | None]] = {}
    for _, metric, value in values_of(records, are_sums=are_sums):
        values.setdefault(metric, []).append(value)
    return {metric: estimate(found) for metric, found in values.items()}


def values_by_seed(records: Sequence[Record], *, are_sums: bool) -> dict[MetricOf, dict[int, float | None]]:
    """Return each metric of one grid point by the seeds of its runs; `are_sums` as `values_of` has it."""
    values: dict[MetricOf, dict[int, float | None]] = {}
    for record, metric, value in values_of(records, are_sums=are_sums):
        values.setdefault(metric, {})[record.run["seed"]] = value
    return values


def values_of(records: Sequence[Record], *, are_sums: bool) -> Iterator[tuple[Record, MetricOf, float | None]]:
    """Yield every metric of the runs of a grid point.

    Rates of all flows have a value only where they are sums, in every grid point that this one is compared with
    (`Bottlenecks.adds_up`). A column with values of some grid points would make these look better or worse.
    """
    for record in records:
        for of, metrics in metrics_of(record.run):
            for name, value in metrics.items():
                yield record, (of, name), value if are_sums or of != ALL or name not in RATES else None


def stats_of(point: Repeats, *, are_sums: bool) -> Iterator[Mapping[str, object]]:
    """Yield a row per metric of a grid point: mean, deviation and interval over the sound runs.

    Pooled grid points have no interval: their settings are chosen, and not drawn like the luck of repeats.
    """
    is_pooled = len({tuple(record.point_axes.items()) for record in point.sound}) > 1
    for (of, metric), estimate in estimates(point.sound, are_sums=are_sums).items():
        yield {
            "of": of,
            "metric": metric,
            "n": estimate.n,
            "mean": estimate.mean,
            "deviation": estimate.deviation,
            "ci95_low": None if is_pooled else estimate.low,
            "ci95_high": None if is_pooled else estimate.high,
        }


# ---------------------------------------------------------------- Several sets

SET = "results"
"""The axis that tells sets apart whose runs are not repeats of each other."""


def together(sets: Mapping[str, Sequence[Outcome]]) -> list[Outcome]:
    """Put sets together, which have names; runs that are in several count once.

    Runs of the same grid point and seed with other numbers come from a scenario that was changed. Then every run has
    the name of its set as a label of a further axis.
    """
    once: list[tuple[str, Outcome]] = []
    seen: dict[Hashable, set[Hashable]] = {}
    for name, outcomes in sets.items():
        for outcome in outcomes:
            if isinstance(outcome, Record):
                place = (where(outcome), outcome.run["seed"], tuple(sorted(outcome.axes.items())))
                known = seen.setdefault(place, set())
                if (numbers := content(outcome)) in known:
                    continue
                known.add(numbers)
            once.append((name, outcome))
    if all(len(known) == 1 for known in seen.values()):
        return [outcome for _, outcome in once]
    return [replace(outcome, axes={**outcome.axes, SET: name}) for name, outcome in once]
