"""Agreement of the simulator's packets with a stock kernel's: a verdict for each scenario, and pages of many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from unbloat.comparison.trace import Trace, data_packets
from unbloat.lab.compare import FlowComparison, compare
from unbloat.lab.random_scenarios import Scenario
from unbloat.report.report import Report, Table
from unbloat.report.table import Column

NO_DIFFERENCE = "none"
ALL_BUT_WINDOW = ("seq", "ack", "sack", "flags")
"""Fields in which packets are compared.

Microseconds decide how much of its buffer a kernel's receiver has not read when it offers a window, so the window may
differ. Where that matters, the data differs as well.
"""


@dataclass(frozen=True)
class Verdict:
    """The two traces of a scenario, held against each other."""

    number: int
    flows: int
    data_packets: int
    """In the guest."""
    agrees: bool
    """True if every data packet's sequence number and length is the same to the end, in every flow."""
    agreed_packets: int
    """Data packets before the first that is not."""
    kind: str | None
    """The class of the first difference in any field but the window."""
    reason: str | None
    at_ms: float | None
    scenario: str
    controls: tuple[str, ...]
    """The congestion controls of the guest's flows."""
    family: str

    @classmethod
    def of(cls, scenario: Scenario, simulated: Trace, in_guest: Trace) -> Verdict:
        """Judge a scenario by its traces."""
        parted = [(flow.difference, flow.a.until_ms) for flow in compare(simulated, in_guest, ALL_BUT_WINDOW).flows]
        # Each is timed from its own flow's first packet, and the trace ends for all flows at once.
        before_end = {found.at_ms - until_ms: found for found, until_ms in reversed(parted) if found}
        first = before_end[min(before_end)] if before_end else None
        data = compare(simulated, in_guest, ("seq",))
        return cls(
            number=scenario.number,
            flows=scenario.flows,
            data_packets=sum(1 for flow in in_guest.flows for _ in data_packets(flow)),
            agrees=data.is_same,
            agreed_packets=sum(_agreed_packets(flow) for flow in data.flows),
            kind=first.reason.kind if first else None,
            reason=first.reason.text if first else None,
            at_ms=first.at_ms if first else None,
            scenario=scenario.text,
            controls=scenario.in_guest,
            family=scenario.family,
        )


def _agreed_packets(of: FlowComparison) -> int:
    """Count the data packets in the guest before the first that differs."""
    agreed = of.difference.split.b.before if of.difference else of.b.packets
    return sum(packet.forward and packet.payload > 0 for packet in agreed)


@dataclass(frozen=True)
class Count:
    """Scenarios, and those that agree in every data packet."""

    same: int
    all: int

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> Count:
        """Count them."""
        return cls(sum(each.agrees for each in verdicts), len(verdicts))

    @property
    def percent(self) -> float:
        """The share that agrees."""
        return 100 * self.same / max(1, self.all)

    def words(self, of: str) -> str:
        """Say it in a sentence about these scenarios."""
        return f"{self.same} of {self.all} scenarios{of} ({self.percent:.1f} %)"


# ---------------------------------------------------------------- Pages


def by_class(verdicts: Sequence[Verdict]) -> Report:
    """Lay scenarios out by the class of their first difference, and count those with one flow and with two."""
    counts = [
        Count.of(found).words(words)
        for flows, words in ((1, " with one flow"), (2, " with two flows"))
        if (found := [each for each in verdicts if each.flows == flows])
    ]
    return Report([f"{' and '.join(counts)} {_agreement(verdicts)}", Table(_classes(verdicts))])


def by_family(verdicts: Sequence[Verdict]) -> Report:
    """Lay scenarios out by family, by congestion control, and by the class of their first difference."""
    rest = [each for each in verdicts if not any("bbr" in name for name in each.controls)]
    counts = f"{Count.of(verdicts).words('')}, {Count.of(rest).words(' without BBR')}"
    families = _grouped((each.family, each) for each in verdicts)
    controls = _grouped((name, each) for each in verdicts for name in sorted(set(each.controls)))
    return Report(
        [
            f"{counts}, {_agreement(verdicts)}",
            Table(_shares("family", families)),
            Table(_shares("control in the guest", dict(sorted(controls.items())))),
            Table(_classes(verdicts)),
        ]
    )


def _agreement(verdicts: Sequence[Verdict]) -> str:
    """End the sentence about the scenarios that agree with the share of the data packets that do."""
    packets = sum(each.data_packets for each in verdicts)
    agreed = sum(each.agreed_packets for each in verdicts)
    return (
        f"agree in every data packet's sequence number to the end; of all {packets} data packets "
        f"{100 * agreed / max(1, packets):.1f} % come before any such difference."
    )


def _grouped(pairs: Iterable[tuple[str, Verdict]]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for name, each in pairs:
        groups[name].append(each)
    return groups


def _shares(heading: str, groups: dict[str, list[Verdict]]) -> list[Column]:
    """Lay out the share of each group."""
    counts = [Count.of(found) for found in groups.values()]
    return [
        Column(heading, "", list(groups)),
        Column("scenarios", "", [each.all for each in counts]),
        Column("data agrees", "", [each.same for each in counts]),
        Column("data agrees", "%", [round(each.percent) for each in counts]),
        Column("every packet agrees", "", [sum(each.kind is None for each in found) for found in groups.values()]),
    ]


def _classes(verdicts: Sequence[Verdict]) -> list[Column]:
    """Lay the classes out, of scenarios with one flow and with more, those first whose data differs most often."""
    kinds = _grouped((each.kind or NO_DIFFERENCE, each) for each in verdicts)
    rows = sorted(kinds.items(), key=lambda kind: (-_disagreeing(kind[1]), -len(kind[1]), kind[0]))
    columns = [Column("first difference", "", [kind for kind, _ in rows])]
    most = max((each.flows for each in verdicts), default=1)
    for flows, words in (((1,), "one flow"), (range(2, most + 1), "two flows" if most == 2 else "more flows")):
        of = [[each for each in found if each.flows in flows] for _, found in rows]
        if any(of):
            columns.append(Column(words, "scenarios", [len(found) for found in of]))
            columns.append(Column(f"{words}, data differs", "scenarios", [_disagreeing(found) for found in of]))
    columns.append(Column("for example", "number", [_example(found) for _, found in rows]))
    return columns


def _disagreeing(verdicts: Sequence[Verdict]) -> int:
    return sum(not each.agrees for each in verdicts)


def _example(verdicts: Sequence[Verdict]) -> int:
    """Return the number of a scenario whose data differs as early as any, or of any."""
    return min(verdicts, key=lambda each: (each.agrees, float("inf") if each.at_ms is None else each.at_ms)).number
