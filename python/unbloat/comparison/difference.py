"""Two sweeps, compared grid point by grid point and metric by metric, with the intervals that repeats give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unbloat.report.names import are_flows_reported, flow_words
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.grid_points import PointKey, ResultSet, by_point, in_both, in_one, values_by_seed
from unbloat.results.metrics import MANY, Metric
from unbloat.results.record import Record
from unbloat.results.statistics import CONFIDENCE, Difference, Estimate, difference, estimate
from unbloat.system.legible import ALIKE


@dataclass(frozen=True)
class MetricDifference:
    """One metric of one grid point in both sweeps."""

    of: str
    """All flows, one of them, or a link."""
    name: str
    a: Estimate
    b: Estimate
    difference: Difference | None
    """None where a side has no value."""

    @property
    def exceeds(self) -> bool | None:
        """Return whether the difference exceeds its interval; none where single or fixed runs leave that open."""
        return None if self.difference is None or self.is_fixed else self.difference.is_clear

    @property
    def is_fixed(self) -> bool:
        """Return whether all repeats are alike on either side, so that the difference has no interval to be shown."""
        if not self.difference or not self.difference.mean or not all(map(_are_alike, (self.a, self.b))):
            return False
        return not self.is_visible or (self.difference.half_width or 0.0) <= ALIKE * abs(self.difference.mean)

    @property
    def is_visible(self) -> bool:
        """Return whether the means differ by more than the ticks of clocks make."""
        return self.difference is not None and abs(self.difference.mean) > ALIKE * abs(self.a.mean or 0)

    @property
    def change_percent(self) -> float | None:
        """Return the difference in per cent of A; None where A is zero."""
        if self.difference is None or not self.a.mean:
            return None
        return 100 * self.difference.mean / abs(self.a.mean)

    @property
    def half_width_percent(self) -> float | None:
        """Return half of the difference's interval in per cent of A; None with less than two runs on a side."""
        if self.difference is None or self.difference.half_width is None or not self.a.mean:
            return None
        return 100 * self.difference.half_width / abs(self.a.mean)


def _are_alike(side: Estimate) -> bool:
    return side.deviation is not None and side.mean is not None and side.deviation <= ALIKE * abs(side.mean)


@dataclass(frozen=True)
class PointDifference:
    """A grid point of both sweeps."""

    place: PointKey
    link: str
    """The name of its bottleneck."""
    metrics: tuple[MetricDifference, ...]
    flows: Mapping[str, str]
    """Names of flows that are laid out one by one."""


@dataclass(frozen=True)
class SweepComparison:
    """Everything that two sweeps have in common, and what they have not."""

    sides: tuple[ResultSet, ResultSet]
    points: list[PointDifference]
    only: tuple[list[PointKey], list[PointKey]]
    unsound: tuple[int, int]
    """Runs that were left out, because they are not to be believed."""
    bottlenecks: Bottlenecks
    shown: tuple[Metric, ...] = ()
    """Metrics that are laid out; empty for the usual ones."""

    def counts(self) -> dict[str, int]:
        """Count the differences by whether they exceed their intervals."""
        metrics = [metric for point in self.points for metric in point.metrics if metric.difference]
        return {
            "metrics": len(metrics),
            "exceed": sum(metric.exceeds is True for metric in metrics),
            "within": sum(metric.exceeds is False for metric in metrics),
            "open": sum(metric.exceeds is None and not metric.is_fixed for metric in metrics),
            "fixed": sum(metric.is_fixed for metric in metrics),
        }

    @property
    def is_within(self) -> bool:
        """Return whether both have the same grid points, all sound, and differ no more clearly than by chance.

        Where repeats are alike, or single, there is no chance to go by: whatever differs there differs.
        """
        metrics = [metric for point in self.points for metric in point.metrics if metric.difference]
        by_chance = (1 - CONFIDENCE) * len(metrics)
        exceed = sum(metric.exceeds is True for metric in metrics)
        differs = any(metric.exceeds is None and metric.is_visible for metric in metrics)
        return not any(self.only) and not any(self.unsound) and not differs and exceed <= by_chance


def compare(
    names: tuple[str, str], a: Sequence[Record], b: Sequence[Record], shown: Sequence[Metric] = ()
) -> SweepComparison:
    """Compare sweep B with sweep A; raises `InputError` if they have no grid point in common."""
    sound = [[record for record in side if record.run["sound"]] for side in (a, b)]
    sides = (by_point(sound[0]), by_point(sound[1]))
    bottlenecks = Bottlenecks.of([*a, *b])
    points = [_point(place, sides[0][place], sides[1][place], bottlenecks) for place in in_both(names, sides)]
    return SweepComparison(
        (ResultSet.of(names[0], a), ResultSet.of(names[1], b)),
        points,
        in_one(sides),
        (len(a) - len(sound[0]), len(b) - len(sound[1])),
        bottlenecks,
        tuple(shown),
    )


def _point(place: PointKey, a: Sequence[Record], b: Sequence[Record], bottlenecks: Bottlenecks) -> PointDifference:
    are_sums = bottlenecks.adds_up(place.scenario)
    values = (values_by_seed(a, are_sums=are_sums), values_by_seed(b, are_sums=are_sums))
    metrics = tuple(
        MetricDifference(
            *key, estimate(left.values()), estimate(values[1][key].values()), difference(left, values[1][key])
        )
        for key, left in values[0].items()
        if key in values[1]
    )
    run = a[0].run
    are_reported = 1 < len(run["flows"]) <= MANY and are_flows_reported([*a, *b])
    flows = {f"flow {flow['flow']}": str(flow_words(flow)) for flow in run["flows"]} if are_reported else {}
    return PointDifference(place, bottlenecks.link(run)["link"], metrics, flows)
