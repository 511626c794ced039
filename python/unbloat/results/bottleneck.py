"""Which of several links is the bottleneck: the one that is busy and in whose queue packets wait long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from unbloat.results.metrics import Metric, Row, is_bounded, links_listed
from unbloat.results.record import Record


@dataclass(frozen=True)
class Bottlenecks:
    """The bottleneck of each scenario, the same for all of its runs, so that what is said of cells can be compared."""

    names: Mapping[str, str]
    """The link's name by that of the scenario."""
    is_one_of_several: bool
    """Whether other links have queues with a limit too, so that readers must be told which one is meant."""
    apart: frozenset[str] = frozenset()
    """Scenarios with a run in which the rates of all flows do not add up to what it carries (`add_up`)."""

    @classmethod
    def of(cls, records: Iterable[Record]) -> Bottlenecks:
        """Find the link with the longest mean wait, times its utilisation, over the sound runs; of equals, the first.

        A queue through which little passes is no bottleneck, however long that waits: acknowledgements to one Wi-Fi
        station wait behind the data to another.
        """
        waits: dict[str, dict[str, list[float]]] = {}
        bounded: dict[str, set[str]] = {}
        every = list(records)
        counted = [each for each in every if each.is_sound] or every
        for record in counted:
            scenario = record.run["scenario"]
            for link in links_listed(record.run):
                waits.setdefault(scenario, {}).setdefault(_name(link), []).append(_busy_wait(link))
                if is_bounded(link):
                    bounded.setdefault(scenario, set()).add(_name(link))
        names = {
            scenario: max(links, key=lambda name: round(fmean(links[name]), 9)) for scenario, links in waits.items()
        }
        is_one_of_several = any(found - {names[scenario]} for scenario, found in bounded.items())
        apart = frozenset(record.run["scenario"] for record in counted if not add_up(record.run))
        return cls(names, is_one_of_several, apart)

    @property
    def is_shared(self) -> bool:
        """Return whether rates of all flows add up in all scenarios."""
        return not self.apart

    def adds_up(self, scenario: str) -> bool:
        """Return whether the rates of a scenario's flows add up in all of its cells, so that these can be compared."""
        return scenario not in self.apart

    def link(self, run: Mapping[str, Any]) -> Row:
        """Return the bottleneck's row of a run."""
        links: Sequence[Row] = run["links"]
        name = self.names.get(run["scenario"])
        return next((link for link in links if _name(link) == name), links[0])

    @property
    def name(self) -> str:
        """Its name, where there are several links and it is the same in all scenarios; otherwise empty."""
        names = set(self.names.values())
        return names.pop() if self.is_one_of_several and len(names) == 1 else ""

    def heading(self, metric: Metric) -> str:
        """Return what a metric is called by itself, with the bottleneck's name where that is to be told."""
        return ", ".join(filter(None, [metric.title, self.name if metric.of == "link" else ""]))


RATES = ("goodput_mbps", "throughput_mbps")
"""Metrics that are over each flow's own lifetime."""
MORE = 1.05
"""How many times what the link has carried the flows' rates may be: flows that start within seconds count as one."""


def add_up(run: Mapping[str, Any]) -> bool:
    """Return whether the sum of the flows' rates says something: not if they run one after another, or both ways.

    Each rate is over its flow's own lifetime. Flows that share a link all of the time, in one direction, have
    throughputs that sum up to what the link has carried; those of others sum up to more. With several links it is more
    than all of them have carried. That can be told where rates are constant.
    """
    flows, links = run["flows"], [link for link in run["links"] if is_bounded(link)]
    if len(flows) < 2:
        return True
    if any(str(flow.get("name") or "").endswith(ANSWERS) for flow in flows):
        return False
    rates = [(link.get("rate_mbps"), link.get("utilisation_percent")) for link in links]
    throughputs = [flow.get("throughput_mbps") for flow in flows]
    if not links or None in throughputs or any(None in pair for pair in rates):
        return True
    carried = [rate * used / 100 for rate, used in rates]
    is_one = len({_name(link).removesuffix(".reverse") for link in links}) == 1
    return bool(sum(throughputs) <= MORE * (max(carried) if is_one else sum(carried)))


ANSWERS = ": responses"
"""How the names of flows end that carry what an application gets back."""


def _name(link: Row) -> str:
    return str(link.get("link", ""))


def _busy_wait(link: Row) -> float:
    wait, used = link.get("queue_delay_ms_mean") or 0.0, link.get("utilisation_percent")
    return float(wait if used is None else wait * used / 100)


NO_LINKS = Bottlenecks({}, is_one_of_several=False)
"""Nothing is known: the first link counts."""
