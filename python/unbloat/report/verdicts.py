"""Measures that grid points are judged by, and verdicts: who is best, alike or behind, and what stays undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from statistics import fmean
from typing import Literal

from unbloat.report.figures.grid import ordered
from unbloat.results.bottleneck import Bottlenecks, directions
from unbloat.results.grid_points import Repeats
from unbloat.results.metrics import MANY, METRICS, NO_CONTROL, Metric, number
from unbloat.results.record import flows_by_group
from unbloat.results.rows import Flow, Run
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import NEAR, Difference, Estimate, difference, estimate

Kind = Literal["perceived", "wait", "rate"]
USER_PERCEIVED: Sequence[Sequence[str]] = (
    ("rating",),
    ("page_load_s_mean",),
    ("startup_s", "stalled_percent"),
    ("response_ms_mean",),
)
"""Metrics that a person feels, by application: the first of these that its flows have."""
BEST_RATING = 93.2
"""The rating of a call that nothing impairs (ITU-T G.107)."""
GOODPUT = METRICS["goodput_mbps"]
MORE_IS_BETTER = ("rating", "goodput_mbps")
FEW = 4
"""The largest number of groups of flows without an application whose goodputs are reported one by one."""


@dataclass(frozen=True)
class Measure:
    """A number of each run by which grid points are compared."""

    title: str
    kind: Kind
    metric: Metric
    take: Callable[[Run], float | None]

    @property
    def is_less_better(self) -> bool:
        """Return whether the least is the best."""
        return self.metric.name not in MORE_IS_BETTER

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return self.metric.unit

    def by_seed(self, point: Repeats) -> dict[int, float | None]:
        """Return the values of a grid point's sound runs by their seeds."""
        return {record.run["seed"]: self.take(record.run) for record in point.sound}

    def estimate(self, point: Repeats) -> Estimate:
        """Estimate the mean over a grid point's sound runs."""
        return estimate(self.by_seed(point).values())

    def are_alike(self, a: float, b: float, points: Sequence[Repeats]) -> bool:
        """Return whether the values of two grid points differ by less than the tolerance."""
        packets = [run.get("packet_ms") or 0.0 for point in points for run in point.runs]
        return NEAR[self.metric.key].are_alike(a, b, max(packets))

    def gap(self, a: float, b: float, points: Sequence[Repeats]) -> float:
        """Return how many times the greater of two values is the less; a packet that waits has the path's RTT too."""
        offset = NEAR[self.metric.key].units
        if self.metric.name == "rating":  # What counts is how far a call is from the best that it can be.
            a, b = BEST_RATING - a, BEST_RATING - b
        if self.metric.of == "link":
            flows = [flow for point in points for run in point.runs for flow in run["flows"]]
            rtts = [flow["base_rtt_ms"] for flow in flows if flow.get("base_rtt_ms") is not None]
            offset = fmean(rtts) if rtts else 0.0
        low, high = sorted((a + offset, b + offset))
        return high / low if low > 0 else float("inf")


@dataclass(frozen=True)
class Group:
    """Flows of a scenario that are judged together."""

    place: int
    name: str
    """Empty for all flows."""

    def flows(self, run: Run) -> Sequence[Flow]:
        """Return its flows in a run."""
        groups = _split(run) if self.name else [run["flows"]]
        return groups[self.place] if self.place < len(groups) else []

    def title(self, what: str) -> str:
        """Name a quantity of the group."""
        return f"{what} of {self.name}" if self.name else what


def _split(run: Run) -> list[list[Flow]]:
    return flows_by_group(run) if sum(run.get("groups") or []) == len(run["flows"]) else [run["flows"]]


def _groups(runs: Sequence[Run]) -> list[Group]:
    """List the groups of the scenario's flows; one group needs no name, many are taken together."""
    most = max(runs, key=lambda run: len(_split(run)))
    names: dict[int, str] = {}
    for place, flows in enumerate(_split(most)):
        if flows:
            first, last = flows[0]["flow"], flows[-1]["flow"]
            numbers = f"flow {first}" if first == last else f"flows {first} to {last}"
            name = str(flows[0].get("name") or "").partition(": ")[0] or numbers
            names[place] = name if name not in names.values() else f"{name} ({numbers})"
    are_apart = 1 < len(names) <= MANY
    return [Group(*each) for each in names.items()] if are_apart else [EVERY]


EVERY = Group(0, "")
"""All flows."""


# ---------------------------------------------------------------- Measures


def measures_of(points: Sequence[Repeats], bottlenecks: Bottlenecks) -> list[Measure]:
    """List the measures of grid points with sound runs, all of one scenario."""
    runs = [run for point in points for run in point.runs]
    perceived = {group: list(_perceived(runs, group)) for group in _groups(runs)}
    bulk = [group for group, measures in perceived.items() if not measures]
    return [*chain(*perceived.values()), *_rates(runs, bulk, bottlenecks), *_waits(runs, bottlenecks)]


def _perceived(runs: Sequence[Run], group: Group) -> Iterator[Measure]:
    """Yield what the application of a group, or the size of its flows, makes a person wait for."""
    flows = [flow for run in runs for flow in group.flows(run)]
    found = next(
        (each for each in USER_PERCEIVED if any(flow.get(own) is not None for flow in flows for own in each)), ()
    )
    for column in found:
        metric = METRICS[column]
        yield Measure(group.title(metric.title), "perceived", metric, partial(_folded, metric, group))
    ended = {
        place for run in runs for place, flow in enumerate(group.flows(run)) if flow.get("completion_s") is not None
    }
    if ended and not found:
        metric = METRICS["completion_s"]
        yield Measure(group.title(metric.title), "perceived", metric, partial(_last, ended, group))


def _folded(metric: Metric, group: Group, run: Run) -> float | None:
    return metric.fold.of(group.flows(run), metric.name) if metric.fold else None


def _last(ended: set[int], group: Group, run: Run) -> float | None:
    """Return when the last of the flows that can end has ended; None if one has not."""
    flows = group.flows(run)
    times = [flows[place].get("completion_s") if place < len(flows) else None for place in ended]
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) else None


def _rates(runs: Sequence[Run], groups: Sequence[Group], bottlenecks: Bottlenecks) -> Iterator[Measure]:
    """Yield the goodput of each of a few groups, or of all flows."""
    adds_up = bottlenecks.adds_up(runs[0]["scenario"])
    several = any(len(group.flows(run)) > 1 for run in runs for group in groups)
    if groups and (len(groups) <= FEW or not adds_up):
        what = "goodput" if adds_up or not several else "goodput of a flow"
        for group in groups:
            yield Measure(group.title(what), "rate", GOODPUT, partial(_rate, adds_up, group))
    elif groups:
        yield Measure("goodput of all flows", "rate", GOODPUT, partial(_rate, adds_up, EVERY))


def _rate(adds_up: bool, group: Group, run: Run) -> float | None:
    """Return the sum of goodputs in the direction that has more; their mean where they do not add up."""
    ways = directions(group.flows(run))
    rates = [[rate for flow in way if (rate := number(flow, GOODPUT.name)) is not None] for way in ways]
    return max((float((sum if adds_up else fmean)(way)) for way in rates if way), default=None)


def shares_of(point: Repeats, bottlenecks: Bottlenecks) -> dict[str, Measure]:
    """Return the goodputs of a few congestion controls in a grid point; none where goodputs do not add up."""
    controls = dict.fromkeys(flow["cc"] for run in point.runs for flow in run["flows"] if flow["cc"] != NO_CONTROL)
    if not (1 < len(controls) <= FEW and bottlenecks.adds_up(point.scenario)):
        return {}
    return {cc: Measure(f"goodput of all flows with {cc}", "rate", GOODPUT, partial(_share, cc)) for cc in controls}


def _share(cc: str, run: Run) -> float:
    return sum(flow["goodput_mbps"] for flow in run["flows"] if flow["cc"] == cc)


def _waits(runs: Sequence[Run], bottlenecks: Bottlenecks) -> Iterator[Measure]:
    """Yield the mean queueing delay of each link that is judged; in a mesh, where nodes have the queues, the RTT."""
    if runs[0].get("nodes"):
        metric = METRICS["rtt_ms_mean"]
        yield Measure(metric.title, "wait", metric, partial(_folded, metric, EVERY))
        return
    metric = METRICS["queue_delay_ms_mean"]
    links = bottlenecks.judged.get(runs[0]["scenario"], ())
    is_named = len(links) > 1 or bottlenecks.is_one_of_several
    for name in links:
        title = f"{metric.title} at {name}" if is_named else metric.title
        yield Measure(title, "wait", metric, partial(_of_link, name, metric.name))


def _of_link(name: str, column: str, run: Run) -> float | None:
    return next((number(link, column) for link in run["links"] if link.get("link") == name), None)


# ---------------------------------------------------------------- Verdicts


@dataclass(frozen=True)
class Side:
    """A label of the compared axis in one setting, and its mean."""

    label: str
    point: Repeats
    value: Estimate
    mean: float
    behind: Difference | None
    """The difference from the best."""


@dataclass(frozen=True)
class Verdict:
    """One measure in one setting."""

    measure: Measure
    setting: tuple[str, ...]
    """The labels of the other axes."""
    best: Sequence[Side]
    """The best, and those that differ from it by less than the tolerance; nobody where no side has a value."""
    undecided: Sequence[Side]
    """Sides whose difference from the best has an interval that holds 0."""
    behind: Sequence[Side]
    """The others, the nearest first: no lead is without a difference above the tolerance that is decided."""
    without: Sequence[str]
    """Sides without a value in any run, such as a flow that never ends."""
    partly: Mapping[str, tuple[int, int]]
    """Sides with a value in only some of their runs, which may be the lucky ones: this measure has no winner."""

    @property
    def is_decided(self) -> bool:
        """Return whether somebody is behind the best, or has no value at all."""
        return bool(self.best) and bool(self.behind or self.without) and not self.partly

    @property
    def is_alike(self) -> bool:
        """Return whether no two sides differ by more than the tolerance."""
        return not (self.behind or self.undecided or self.without or self.partly)

    @property
    def gap(self) -> float:
        """The ratio of the worst to the best; 1 where nothing is decided."""
        if not self.is_decided:
            return 1.0
        if self.without:
            return math.inf
        first, last = self.best[0], self.behind[-1]
        return self.measure.gap(first.mean, last.mean, (first.point, last.point))


@dataclass(frozen=True)
class Experiment:
    """Grid points that can be compared: of one scenario, on one backend, over the same axes."""

    results: RunSet

    @cached_property
    def points(self) -> list[Repeats]:
        """The grid points with sound runs."""
        return [point for point in self.results.points if point.sound]

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """The links that are judged."""
        return Bottlenecks.of(self.results.records)

    @cached_property
    def measures(self) -> list[Measure]:
        """The measures that its grid points are judged by."""
        return measures_of(self.points, self.bottlenecks)

    @cached_property
    def axes(self) -> list[str]:
        """The axes with several labels, the compared one first."""
        return ordered([record for point in self.points for record in point.sound])

    @cached_property
    def settings(self) -> dict[tuple[str, ...], dict[str, Repeats]]:
        """The grid points of each setting, by their labels on the compared axis."""
        found: dict[tuple[str, ...], dict[str, Repeats]] = {}
        if self.axes:
            axis, *others = self.axes
            for point in self.points:
                found.setdefault(tuple(point.axes[each] for each in others), {})[point.axes[axis]] = point
        return found

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Judge every setting by every measure, the worst case for a person first; settings stay together."""
        of_settings = []
        for setting, points in self.settings.items():
            if len(points) > 1:
                found = [verdict_of(measure, setting, points) for measure in self.measures]
                of_settings.append(sorted(found, key=_urgency))
        of_settings.sort(key=lambda found: min(map(_urgency, found), default=(1, 0.0)))
        return [verdict for found in of_settings for verdict in found]


def experiments_of(results: RunSet) -> list[Experiment]:
    """Part results into sets that can be compared."""
    found: dict[object, list[int]] = {}
    for place, record in results.by_number.items():
        run = record.run
        kind = (run["scenario"], run["on"], run.get("kernel"), tuple(record.point_axes))
        found.setdefault(kind, []).append(place)
    if len(found) < 2:
        return [Experiment(results)]
    return [Experiment(results.part(numbers)) for numbers in found.values()]


def verdict_of(measure: Measure, setting: tuple[str, ...], points: Mapping[str, Repeats]) -> Verdict:
    """Hold the sides of a setting against the best of them."""
    values = {label: measure.estimate(point) for label, point in points.items()}
    partly = {
        label: (value.n, len(points[label].sound))
        for label, value in values.items()
        if 0 < value.n < len(points[label].sound)
    }
    means = {label: float(value.mean) for label, value in values.items() if value.mean is not None}
    ranked = sorted(means, key=means.__getitem__, reverse=not measure.is_less_better)
    first = ranked[0] if ranked else ""
    best, undecided, behind = [], [], []
    for label in ranked:
        by = None if label == first else difference(*(measure.by_seed(points[each]) for each in (label, first)))
        side = Side(label, points[label], values[label], means[label], by)
        if measure.are_alike(means[first], means[label], (points[first], points[label])):
            best.append(side)
        elif by is not None and by.is_clear is False:
            undecided.append(side)
        else:
            behind.append(side)
    without = [label for label in points if label not in means]
    return Verdict(measure, setting, best, undecided, behind, without, partly)


def _urgency(verdict: Verdict) -> tuple[int, float]:
    """Return its place: first metrics that people perceive, then by how many times the worst is worse than the best."""
    return (0 if verdict.measure.kind == "perceived" and verdict.is_decided else 1, -verdict.gap)


def cost_of(verdict: Verdict, others: Sequence[Verdict]) -> list[Verdict]:
    """List the verdicts of the same setting in which the best of this one is behind, the dearest first.

    Rate is paid for in what people wait for, and in how long packets do; these in rate, or in another's waiting.
    """
    best = verdict.best[0].label
    kinds = ("perceived", "wait") if verdict.measure.kind == "rate" else ("perceived", "rate")
    found = [
        each
        for each in others
        if each.setting == verdict.setting
        and each is not verdict
        and each.measure.kind in kinds
        and each.is_decided
        and any(side.label == best for side in each.behind)
    ]
    return sorted(found, key=lambda each: -each.gap)
