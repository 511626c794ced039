"""What the cells of an experiment are judged by: what people wait for, how long packets wait, how much passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Literal

from unbloat.results.bottleneck import Bottlenecks, directions
from unbloat.results.metrics import MANY, METRICS, Metric, Row, number
from unbloat.results.nearness import NEAR
from unbloat.results.record import flows_by_group
from unbloat.results.repeats import Repeats
from unbloat.results.rows import Flow, Run
from unbloat.results.statistics import Estimate, estimate

Kind = Literal["felt", "wait", "rate"]
FELT: Sequence[Sequence[str]] = (
    ("rating",),
    ("page_load_s_mean",),
    ("startup_s", "stalled_percent"),
    ("response_ms_mean",),
)
"""What a person waits for or hears, by application: the first of these that its flows have."""
BEST_RATING = 93.2
"""The rating of a call that nothing impairs (ITU-T G.107)."""
MORE_IS_BETTER = ("rating", "goodput_mbps")
FEW = 4
"""Groups of flows without an application whose goodputs are told one by one."""


@dataclass(frozen=True)
class Measure:
    """A number of each run by which cells are held against each other."""

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

    def by_seed(self, cell: Repeats) -> dict[int, float | None]:
        """Return the values of a cell's sound runs by their seeds."""
        return {record.run["seed"]: self.take(record.run) for record in cell.sound}

    def estimate(self, cell: Repeats) -> Estimate:
        """Estimate the mean over a cell's sound runs."""
        return estimate(self.by_seed(cell).values())

    def are_alike(self, a: float, b: float, cells: Sequence[Repeats]) -> bool:
        """Return whether the values of two cells differ by less than the tolerance."""
        packets = [run.get("packet_ms") or 0.0 for cell in cells for run in cell.runs]
        return NEAR[self.metric.key].are_alike(a, b, max(packets))

    def gap(self, a: float, b: float, cells: Sequence[Repeats]) -> float:
        """Return how many times the greater of two values is the less; a packet that waits has the path's RTT too."""
        offset = NEAR[self.metric.key].units
        if self.metric.name == "rating":  # What counts is how far a call is from the best that it can be.
            a, b = BEST_RATING - a, BEST_RATING - b
        if self.metric.of == "link":
            flows = [flow for cell in cells for run in cell.runs for flow in run["flows"]]
            rtts = [flow["base_rtt_ms"] for flow in flows if flow.get("base_rtt_ms") is not None]
            offset = fmean(rtts) if rtts else 0.0
        low, high = sorted((a + offset, b + offset))
        return high / low if low > 0 else float("inf")


def measures_of(cells: Sequence[Repeats], bottlenecks: Bottlenecks) -> list[Measure]:
    """List the measures of cells with sound runs, all of one scenario."""
    runs = [run for cell in cells for run in cell.runs]
    groups = _groups(runs)
    felt = [measure for place in groups for measure in _felt(runs, place, groups[place])]
    told = {measure.title.partition(" of ")[2] for measure in felt}
    bulk = {place: name for place, name in groups.items() if name not in told}
    return [*felt, *_rates(runs, bulk, bottlenecks), *_waits(runs, bottlenecks)]


# ---------------------------------------------------------------- Groups of flows


def _groups(runs: Sequence[Run]) -> dict[int, str]:
    """Name the groups of the scenario's flows by their places; one group needs no name, many are taken together."""
    most = max(runs, key=lambda run: len(_split(run)))
    names: dict[int, str] = {}
    for place, flows in enumerate(_split(most)):
        if flows:
            name = str(flows[0].get("name") or "").partition(": ")[0] or _numbers(flows)
            names[place] = name if name not in names.values() else f"{name} ({_numbers(flows)})"
    return {0: ""} if len(names) == 1 or len(names) > MANY else names


def _numbers(flows: Sequence[Row]) -> str:
    first, last = flows[0]["flow"], flows[-1]["flow"]
    return f"flow {first}" if first == last else f"flows {first} to {last}"


def _split(run: Run) -> list[list[Flow]]:
    return flows_by_group(run) if sum(run.get("groups") or []) == len(run["flows"]) else [run["flows"]]


def flows_at(run: Run, place: int, is_all: bool) -> Sequence[Flow]:
    """Return the flows of a group; all flows where groups are taken together."""
    groups = [run["flows"]] if is_all else _split(run)
    return groups[place] if place < len(groups) else []


# ---------------------------------------------------------------- Measures


def _felt(runs: Sequence[Run], place: int, name: str) -> Iterator[Measure]:
    """Yield what the application of a group, or the size of its flows, makes a person wait for."""
    flows = [flow for run in runs for flow in flows_at(run, place, not name)]
    found = next((each for each in FELT if any(flow.get(own) is not None for flow in flows for own in each)), ())
    for column in found:
        metric = METRICS[column]
        yield Measure(_of(metric.title, name), "felt", metric, partial(_mean, metric, place, name))
    if found:
        return
    ended = {
        number
        for run in runs
        for number, flow in enumerate(flows_at(run, place, not name))
        if flow.get("completion_s") is not None
    }
    if ended:
        metric = METRICS["completion_s"]
        yield Measure(_of(metric.title, name), "felt", metric, partial(_last, ended, place, name))


def _mean(metric: Metric, place: int, name: str, run: Run) -> float | None:
    return metric.fold.of(flows_at(run, place, not name), metric.name) if metric.fold else None


def _last(ended: set[int], place: int, name: str, run: Run) -> float | None:
    """Return when the last of the flows that can end has ended; None if one has not."""
    flows = flows_at(run, place, not name)
    times = [flows[number].get("completion_s") if number < len(flows) else None for number in ended]
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) else None


def _rates(runs: Sequence[Run], groups: Mapping[int, str], bottlenecks: Bottlenecks) -> Iterator[Measure]:
    """Yield the goodput of each of a few groups, or of all flows."""
    metric, adds_up = METRICS["goodput_mbps"], bottlenecks.adds_up(runs[0]["scenario"])
    several = any(len(flows_at(run, place, not name)) > 1 for run in runs for place, name in groups.items())
    if groups and (len(groups) <= FEW or not adds_up):
        for place, name in groups.items():
            title = _of("goodput" if adds_up or not several else "goodput of a flow", name)
            yield Measure(title, "rate", metric, partial(_rate, adds_up, place, name))
    elif groups:
        yield Measure("goodput of all flows", "rate", metric, partial(_rate, adds_up, 0, ""))


def _rate(adds_up: bool, place: int, name: str, run: Run) -> float | None:
    """Return the sum of goodputs in the direction that has more; their mean where they do not add up."""
    ways = directions(flows_at(run, place, not name))
    rates = [[rate for flow in way if (rate := number(flow, "goodput_mbps")) is not None] for way in ways]
    return max((float((sum if adds_up else fmean)(way)) for way in rates if way), default=None)


def _waits(runs: Sequence[Run], bottlenecks: Bottlenecks) -> Iterator[Measure]:
    """Yield the mean queueing delay of each link that is judged; in a mesh, where nodes have the queues, the RTT."""
    if runs[0].get("nodes"):
        metric = METRICS["rtt_ms_mean"]
        yield Measure(metric.title, "wait", metric, partial(_mean, metric, 0, ""))
        return
    metric = METRICS["queue_delay_ms_mean"]
    links = bottlenecks.judged.get(runs[0]["scenario"], ())
    is_named = len(links) > 1 or bottlenecks.is_one_of_several
    for name in links:
        title = f"{metric.title} at {name}" if is_named else metric.title
        yield Measure(title, "wait", metric, partial(_of_link, name, metric.name))


def _of_link(name: str, column: str, run: Run) -> float | None:
    return next((number(link, column) for link in run["links"] if link.get("link") == name), None)


def _of(title: str, name: str) -> str:
    return f"{title} of {name}" if name else title
