"""Which of several links is the bottleneck: the one that is busy and in whose queue packets wait long."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TypeVar

from unbloat.results.metrics import Metric, Row, is_bounded, links_listed, number
from unbloat.results.record import Record
from unbloat.results.rows import Flow, Link, Run


@dataclass(frozen=True)
class Bottlenecks:
    """The bottleneck of each scenario, the same for all of its runs, so that grid points can be compared."""

    names: Mapping[str, str]
    """The link's name by that of the scenario."""
    is_one_of_several: bool
    """True if other links have queues with a limit too, so that the text has to name the link."""
    judged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The links, the bottleneck first, whose queues tell one grid point from another: by the name of the scenario."""
    apart: frozenset[str] = frozenset()
    """Scenarios with a run in which the rates of all flows do not add up to what it carries (`add_up`)."""

    @classmethod
    def of(cls, records: Iterable[Record]) -> Bottlenecks:
        """Find the link with the longest mean wait of any grid point, times its utilisation; of equals, the first.

        Unsound runs have no say where there are sound ones. A queue through which little passes does not count, however
        long packets wait: acknowledgements to one Wi-Fi station wait behind the data to another. The worst
        grid point decides, so that one more remedy changes nothing.
        """
        every = list(records)
        counted = [each for each in every if each.is_sound] or every
        waits = _worst_waits(counted)
        bounded: dict[str, set[str]] = {}
        for record in counted:
            names_of = {_name(link) for link in links_listed(record.run) if is_bounded(link)}
            bounded.setdefault(record.run["scenario"], set()).update(names_of)
        judged = {scenario: _judged(links, bounded[scenario]) for scenario, links in waits.items()}
        names = {scenario: links[0] for scenario, links in judged.items()}
        is_one_of_several = any(found - {names[scenario]} for scenario, found in bounded.items() if found)
        apart = frozenset(record.run["scenario"] for record in counted if not add_up(record.run))
        return cls(names, is_one_of_several, judged, apart)

    @property
    def is_shared(self) -> bool:
        """Return whether rates of all flows add up in all scenarios."""
        return not self.apart

    def adds_up(self, scenario: str) -> bool:
        """Return whether the rates of flows add up in all grid points of a scenario, so that they can be compared."""
        return scenario not in self.apart

    def link(self, run: Run) -> Link:
        """Return the bottleneck's row of a run."""
        links = run["links"]
        name = self.names.get(run["scenario"])
        return next((link for link in links if _name(link) == name), links[0])

    def take(self, run: Run, metric: Metric, flows: Sequence[Row]) -> float | None:
        """Take a metric of a run: of some of its flows together, of the bottleneck, or of the run itself."""
        if metric.fold:
            return metric.fold.of(flows, metric.name)
        return number(run if metric.of == "run" else self.link(run), metric.name)

    @property
    def name(self) -> str:
        """The bottleneck's name, where there are several links and it is the same in all scenarios; otherwise empty."""
        names = set(self.names.values())
        return names.pop() if self.is_one_of_several and len(names) == 1 else ""

    @property
    def others(self) -> tuple[str, ...]:
        """The other links that are judged; none where results are of several scenarios."""
        return next(iter(self.judged.values()))[1:] if len(self.judged) == 1 else ()

    def heading(self, metric: Metric) -> str:
        """Return the name of a metric by itself, with the bottleneck's name where several links have a queue."""
        return ", ".join(filter(None, [metric.title, self.name if metric.of == "link" else ""]))


def _worst_waits(records: Iterable[Record]) -> dict[str, dict[str, float]]:
    """Return for each scenario and link the longest mean of its busy waits in any grid point."""
    waits: dict[tuple[str, str], dict[Hashable, list[float]]] = {}
    for record in records:
        point = (record.run["on"], record.run.get("kernel"), tuple(record.point_axes.items()))
        for link in links_listed(record.run):
            own = waits.setdefault((record.run["scenario"], _name(link)), {})
            own.setdefault(point, []).append(busy_wait(link))
    worst: dict[str, dict[str, float]] = {}
    for (scenario, name), points in waits.items():
        worst.setdefault(scenario, {})[name] = max(round(fmean(own), 9) for own in points.values())
    return worst


def _judged(waits: Mapping[str, float], bounded: Collection[str]) -> tuple[str, ...]:
    """Return the links that are judged: the bottleneck, and those with a limit where packets wait comparably long."""
    longest = max(waits.values())
    first = next(name for name, wait in waits.items() if wait == longest)
    others = [name for name, wait in waits.items() if name != first and name in bounded]
    held_up = [name for name in others if waits[name] >= max(HELD_UP_MS, COMPARABLE * longest)]
    return first, *sorted(held_up, key=lambda name: -waits[name])[: MOST_JUDGED - 1]


HELD_UP_MS = 1.0
"""The mean delay from which a queue holds packets up."""
COMPARABLE = 0.05
"""The least share of the bottleneck's wait from which on a queue is reported."""
MOST_JUDGED = 4
RATES = ("goodput_mbps", "throughput_mbps")
"""Metrics that are over each flow's own lifetime."""
MORE = 1.05
"""Largest ratio of the flows' summed rates to the rate that the link carried, for rates that still add up."""


def add_up(run: Run) -> bool:
    """Return whether the sum of the flows' rates says something: not if they run one after another, or both ways.

    Each rate is over its flow's own lifetime. Throughputs of flows that share a link all the time, in one direction,
    add up to the link's own. Those of others add up to more. With several links it is more than all of them have
    carried. The result is known where rates are constant.
    """
    flows, links = run["flows"], [link for link in run["links"] if is_bounded(link)]
    if len(flows) < 2:
        return True
    if any(str(flow.get("name") or "").endswith(ANSWERS) for flow in flows):
        return False
    carried = [
        rate * used / 100
        for link in links
        if (rate := number(link, "rate_mbps")) is not None and (used := number(link, "utilisation_percent")) is not None
    ]
    throughputs = [rate for flow in flows if (rate := number(flow, "throughput_mbps")) is not None]
    if not links or len(carried) < len(links) or len(throughputs) < len(flows):
        return True
    is_one = len({_name(link).removesuffix(".reverse") for link in links}) == 1
    return bool(sum(throughputs) <= MORE * (max(carried) if is_one else sum(carried)))


AnyFlow = TypeVar("AnyFlow", Flow, Row)
ANSWERS = ": responses"
"""Suffix of the names of flows that carry an application's responses."""


def directions(flows: Sequence[AnyFlow]) -> tuple[list[AnyFlow], list[AnyFlow]]:
    """Split an application's flows by their direction: rates of both ways do not add up."""
    answers = [flow for flow in flows if str(flow.get("name") or "").endswith(ANSWERS)]
    return [flow for flow in flows if flow not in answers], answers


def _name(link: Row) -> str:
    return str(link.get("link", ""))


def busy_wait(link: Row) -> float:
    """Return how long packets wait in a link's queue in the mean, times how busy the link is."""
    wait, used = number(link, "queue_delay_ms_mean") or 0.0, number(link, "utilisation_percent")
    return wait if used is None else wait * used / 100


NO_LINKS = Bottlenecks({}, is_one_of_several=False)
"""Nothing is known: the first link counts."""
