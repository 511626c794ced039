"""What `tools/differential` prints and writes into a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from unbloat.report.table import Column, markdown, render

NO_DIFFERENCE = "none"


class Verdict(Protocol):
    """What a scenario came to."""

    number: int
    flows: int
    data_packets: int
    agrees: bool
    agreed_packets: int
    kind: str | None
    reason: str | None
    at_ms: float | None
    controls: tuple[str, ...]
    family: str


@dataclass(frozen=True)
class Count:
    """How many scenarios agree in every data packet."""

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


@dataclass(frozen=True)
class ClassSummary:
    """Scenarios by the class of their first difference, and how many of those with one flow agree."""

    verdicts: Sequence[Verdict]
    judged = "one-flow scenarios"

    @property
    def percent(self) -> float:
        """The share of the one-flow scenarios that agree to the end."""
        return Count.of([each for each in self.verdicts if each.flows == 1]).percent

    def text(self) -> str:
        """Lay it out for a terminal."""
        return f"{render(class_table(self.verdicts))}\n\n{self._headline()}"

    def markdown(self) -> str:
        """Lay it out for a page."""
        return f"{self._headline()}\n\n{markdown(class_table(self.verdicts))}"

    def _headline(self) -> str:
        counts = []
        for flows, words in ((1, " with one flow"), (2, " with two flows")):
            if found := [each for each in self.verdicts if each.flows == flows]:
                counts.append(Count.of(found).words(words))
        return f"{' and '.join(counts)} {agreement_words(self.verdicts)}"


@dataclass(frozen=True)
class FamilySummary:
    """Scenarios by family and by congestion control, and how many of all agree."""

    verdicts: Sequence[Verdict]
    judged = "scenarios"

    @property
    def percent(self) -> float:
        """The share of all scenarios that agree to the end."""
        return Count.of(self.verdicts).percent

    def text(self) -> str:
        """Lay it out for a terminal."""
        return "\n\n".join([*map(render, self._tables()), self._headline()])

    def markdown(self) -> str:
        """Lay it out for a page."""
        return "\n\n".join([self._headline(), *map(markdown, self._tables())])

    def _headline(self) -> str:
        rest = [each for each in self.verdicts if not any("bbr" in name for name in each.controls)]
        without = Count.of(rest).words(" without BBR")
        return f"{Count.of(self.verdicts).words('')}, {without}, {agreement_words(self.verdicts)}"

    def _tables(self) -> list[list[Column]]:
        families = grouped((each.family, each) for each in self.verdicts)
        controls = grouped((name, each) for each in self.verdicts for name in sorted(set(each.controls)))
        return [
            share_table("family", families),
            share_table("control in the guest", dict(sorted(controls.items()))),
            class_table(self.verdicts),
        ]


def grouped(pairs: Iterable[tuple[str, Verdict]]) -> dict[str, list[Verdict]]:
    """Collect the verdicts of each name."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for name, each in pairs:
        groups[name].append(each)
    return groups


def share_table(heading: str, groups: dict[str, list[Verdict]]) -> list[Column]:
    """Lay out the share of each group."""
    counts = [Count.of(found) for found in groups.values()]
    whole = [sum(each.kind is None for each in found) for found in groups.values()]
    return [
        Column(heading, "", list(groups)),
        Column("scenarios", "", [each.all for each in counts]),
        Column("data agrees", "", [each.same for each in counts]),
        Column("data agrees", "%", [round(each.percent) for each in counts]),
        Column("every packet agrees", "", whole),
    ]


def agreement_words(verdicts: Sequence[Verdict]) -> str:
    """End the sentence about the scenarios that agree with the share of the data packets that do."""
    packets = sum(each.data_packets for each in verdicts)
    agreed = sum(each.agreed_packets for each in verdicts)
    return (
        f"agree in every data packet's sequence number to the end; of all {packets} data packets "
        f"{100 * agreed / max(1, packets):.1f} % come before any such difference."
    )


def part_ms(verdict: Verdict) -> float:
    """Give when its first difference is; one without comes last."""
    return float("inf") if verdict.at_ms is None else verdict.at_ms


def classes(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Sort by the kind of the first difference, those first whose data differs most often."""
    kinds = grouped((each.kind or NO_DIFFERENCE, each) for each in verdicts)
    return sorted(kinds.items(), key=lambda kind: (-disagreeing(kind[1]), -len(kind[1]), kind[0]))


def disagreeing(verdicts: Sequence[Verdict]) -> int:
    """Count those whose data packets differ."""
    return sum(not each.agrees for each in verdicts)


def class_table(verdicts: Sequence[Verdict]) -> list[Column]:
    """Lay the classes out, of scenarios with one flow and with more."""
    rows = classes(verdicts)
    columns = [Column("first difference", "", [kind for kind, _ in rows])]
    most = max((each.flows for each in verdicts), default=1)
    for flows, words in (((1,), "one flow"), (range(2, most + 1), "two flows" if most == 2 else "more flows")):
        of = [[each for each in found if each.flows in flows] for _, found in rows]
        if any(of):
            columns.append(Column(words, "scenarios", [len(found) for found in of]))
            columns.append(Column(f"{words}, data differs", "scenarios", [disagreeing(found) for found in of]))
    columns.append(Column("for example", "number", [example(found) for _, found in rows]))
    return columns


def example(verdicts: Sequence[Verdict]) -> int:
    """Give the number of a scenario whose data differs as early as any, or of any."""
    return min(verdicts, key=lambda each: (each.agrees, part_ms(each))).number
