"""What `tools/differential` prints, and the page that it writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from unbloat.report.pages import write_parts
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


def agreement(verdicts: Sequence[Verdict]) -> float:
    """Give the share of one-flow scenarios that agree to the end, in percent."""
    single = [each for each in verdicts if each.flows == 1]
    return 100 * sum(each.agrees for each in single) / max(1, len(single))


def part_ms(verdict: Verdict) -> float:
    """Give when its first difference is; one without comes last."""
    return float("inf") if verdict.at_ms is None else verdict.at_ms


def classes(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Sort by the kind of the first difference, those first whose data differs most often."""
    kinds: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        kinds[each.kind or NO_DIFFERENCE].append(each)
    return sorted(kinds.items(), key=lambda kind: (-disagreeing(kind[1]), -len(kind[1]), kind[0]))


def disagreeing(verdicts: Sequence[Verdict]) -> int:
    """Count those whose data packets differ."""
    return sum(not each.agrees for each in verdicts)


def table(verdicts: Sequence[Verdict]) -> list[Column]:
    """Lay the classes out, of scenarios with one flow and with two."""
    rows = classes(verdicts)
    of = {flows: [[each for each in found if each.flows == flows] for _, found in rows] for flows in (1, 2)}
    columns = [Column("first difference", "", [kind for kind, _ in rows])]
    for flows, words in ((1, "one flow"), (2, "two flows")):
        if any(of[flows]):
            columns.append(Column(words, "scenarios", [len(found) for found in of[flows]]))
            columns.append(Column(f"{words}, data differs", "scenarios", [disagreeing(found) for found in of[flows]]))
    columns.append(Column("for example", "number", [example(found) for _, found in rows]))
    return columns


def example(verdicts: Sequence[Verdict]) -> int:
    """Give the number of a scenario whose data differs as early as any, or of any."""
    return min(verdicts, key=lambda each: (each.agrees, part_ms(each))).number


def headline(verdicts: Sequence[Verdict]) -> str:
    """Say how many agree."""
    sentences = []
    for flows, words in ((1, "one flow"), (2, "two flows")):
        found = [each for each in verdicts if each.flows == flows]
        if found:
            same = len(found) - disagreeing(found)
            share = 100 * same / len(found)
            sentences.append(f"{same} of {len(found)} scenarios with {words} ({share:.1f} %)")
    packets = sum(each.data_packets for each in verdicts)
    agreed = sum(each.agreed_packets for each in verdicts)
    return (
        f"{' and '.join(sentences)} agree in every data packet's sequence number to the end; of all {packets} data "
        f"packets {100 * agreed / max(1, packets):.1f} % come before any such difference."
    )


def summary(verdicts: Sequence[Verdict]) -> str:
    """Say the same on a terminal."""
    return f"{render(table(verdicts))}\n\n{headline(verdicts)}"


def write(page: Path, part: str, verdicts: Sequence[Verdict], command: str) -> None:
    """Write the table into a marked part of a page."""
    write_parts(page, {part: f"\n    {command}\n\n{headline(verdicts)}\n\n{markdown(table(verdicts))}\n"})
