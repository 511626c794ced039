"""The card of a candidate: criteria, settings, numbers, rules and verdicts, as a report, a page, JSON and a badge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from unbloat.report.report import Part, Report, Table
from unbloat.report.table import Column, Marked
from unbloat.suites.candidate import Candidate
from unbloat.suites.judge import VERDICTS, Judged
from unbloat.suites.suite import Criterion, Suite


@dataclass(frozen=True)
class Card:
    """The verdicts of a suite on a candidate."""

    suite: Suite
    candidate: Candidate
    on: str
    """The backend that ran the scenarios, with the kernel's release."""
    rows: Sequence[Judged]

    def of(self, criterion: Criterion) -> list[Judged]:
        """Return the rows of a criterion."""
        return [row for row in self.rows if row.criterion.id == criterion.id]

    def verdict(self, criterion: Criterion) -> str:
        """Return the verdict on a criterion, "pass", "fail", "open" or "unsound": its worst setting counts."""
        found = {row.verdict for row in self.of(criterion)}
        return next(each for each in ("fail", "unsound", "open", "pass") if each in found)

    @property
    def failed(self) -> list[str]:
        """The ids of the criteria that the candidate does not meet."""
        return [each.id for each in self.suite.criteria if self.verdict(each) == "fail"]

    def counts(self) -> dict[str, int]:
        """Count the criteria by their verdicts."""
        counter = Counter(self.verdict(each) for each in self.suite.criteria)
        return {verdict: counter[verdict] for verdict in VERDICTS}

    def as_dict(self) -> dict[str, object]:
        """Return what `unbloat judge --json` prints."""
        return {
            "suite": self.suite.name,
            "candidate": self.candidate.name,
            "on": self.on,
            "criteria": [row.as_dict() for row in self.rows],
            "verdicts": {each.id: self.verdict(each) for each in self.suite.criteria},
        }

    def report(self) -> Report:
        """Lay the card out: the criteria, then every setting."""
        parts: list[Part] = [self.headline(), _criteria([self])]
        parts += [_settings(self, each) for each in self.suite.criteria]
        return Report(parts, self.as_dict())

    def headline(self) -> str:
        """Say how many criteria the candidate meets."""
        counts = self.counts()
        met = (
            f"{self.candidate.title} meets {counts['pass']} of {len(self.suite.criteria)} criteria of {self.suite.name}"
        )
        others = ", ".join(f"{number} {WORDS[each]}" for each, number in counts.items() if number and each != "pass")
        return f"{met} ({self.on}){f'; {others}' if others else ''}."


WORDS: dict[str, str] = {"fail": "not met", "open": "undecided", "unsound": "unsound"}
MARKS: dict[str, str] = {"pass": "reproduced", "fail": "not reproduced", "open": "undecided", "unsound": "unsound"}
"""The kinds of marks that pages colour."""


def _mark(verdict: str) -> Marked:
    return Marked([(verdict, MARKS[verdict])])


def _criteria(cards: Sequence[Card]) -> Table:
    """Lay out the verdict on each criterion, a column for each candidate."""
    criteria = cards[0].suite.criteria
    verdicts = [Column(_head(card, cards), "", [_summed(card, each) for each in criteria]) for card in cards]
    return Table(
        [
            Column("criterion", "", [each.id for each in criteria]),
            Column("the candidate", "", [each.title for each in criteria]),
            *verdicts,
        ]
    )


def _head(card: Card, cards: Sequence[Card]) -> str:
    return "verdict" if len(cards) == 1 else card.candidate.title


def _summed(card: Card, criterion: Criterion) -> Marked:
    """Write the verdict, and where it is not a pass the settings that miss."""
    rows, verdict = card.of(criterion), card.verdict(criterion)
    passed = sum(row.verdict == "pass" for row in rows)
    share = "" if passed == len(rows) else f" ({passed} of {len(rows)})"
    return Marked([(f"{verdict}{share}", MARKS[verdict])])


def _settings(card: Card, criterion: Criterion) -> Table:
    rows = card.of(criterion)
    return Table(
        [
            Column("setting", "", [row.where for row in rows]),
            Column("measured", "", [row.words for row in rows]),
            Column("rule", "", [row.rule.holds for row in rows]),
            Column("verdict", "", [_mark(row.verdict) for row in rows]),
        ],
        title=f"{criterion.id}: {criterion.title} ({criterion.source})",
    )


def side_by_side(cards: Sequence[Card], *, in_short: bool = False) -> Report:
    """Lay out several candidates' verdicts on one suite beside each other.

    In short, there is a row for each candidate and a column for each criterion, with no sentences.
    """
    data = {"cards": [card.as_dict() for card in cards]}
    if in_short:
        return Report([_in_short(cards)], data)
    return Report([*(card.headline() for card in cards), _criteria(cards)], data)


def _in_short(cards: Sequence[Card]) -> Table:
    """Write how many settings of each criterion a candidate misses; a pass is left empty."""
    criteria = cards[0].suite.criteria
    met = Column("met", "", [f"{card.counts()['pass']} of {len(criteria)}" for card in cards])
    names = Column("candidate", "", [f"`{card.candidate.title}`" for card in cards])
    return Table([names, met, *(Column(each.id, "", [_missed(card, each) for card in cards]) for each in criteria)])


def _missed(card: Card, criterion: Criterion) -> str:
    """Count the settings in which a candidate fails, of all; those that are undecided have a question mark."""
    rows, verdict = card.of(criterion), card.verdict(criterion)
    missed = sum(row.verdict == verdict for row in rows)
    return "" if verdict == "pass" else f"{missed} of {len(rows)}{'' if verdict == 'fail' else ' ?'}"


# ---------------------------------------------------------------- Two backends

OPPOSITE = frozenset({"pass", "fail"})
"""Verdicts of which one contradicts the other."""


def compare_backends(here: Sequence[Card], there: Sequence[Card]) -> Report:
    """Hold the cards of candidates from one place against those from another, criterion by criterion."""
    by_name = {card.candidate.name: card for card in there}
    pairs = [(card, by_name[card.candidate.name]) for card in here if card.candidate.name in by_name]
    data = {"pairs": [[one.as_dict(), other.as_dict()] for one, other in pairs]}
    parts: list[Part] = [*(_sentence_on(pair) for pair in pairs), _by_backend(pairs)]
    opposite = _opposite_settings(pairs)
    return Report([*parts, *opposite], data)


Pair = tuple[Card, Card]
"""The cards of a candidate from two places."""


def contradicted(pair: Pair) -> list[str]:
    """List the ids of criteria that a candidate passes in one of two places and fails in the other."""
    one, other = pair
    return [each.id for each in one.suite.criteria if {one.verdict(each), other.verdict(each)} == OPPOSITE]


def _sentence_on(pair: Pair) -> str:
    one, other = pair
    ids = contradicted(pair)
    alike = sum(one.verdict(each) == other.verdict(each) for each in one.suite.criteria)
    word = f"contradicted: {', '.join(ids)}" if ids else "none contradicted"
    return f"{one.candidate.title}: {alike} of {len(one.suite.criteria)} criteria have one verdict in both; {word}."


def _by_backend(pairs: Sequence[Pair]) -> Table:
    """Lay out the verdicts on each criterion from both places, and in how many settings they are alike."""
    rows = [(pair, each) for pair in pairs for each in pair[0].suite.criteria]
    places = [card.on for card in pairs[0]] if pairs else ["", ""]
    return Table(
        [
            Column("candidate", "", [one.candidate.title for (one, _), _ in rows]),
            Column("criterion", "", [each.id for _, each in rows]),
            *(
                Column(place, "", [_summed(pair[number], each) for pair, each in rows])
                for number, place in enumerate(places)
            ),
            Column("settings with one verdict", "", [_alike(pair, each) for pair, each in rows]),
            Column(f"measured: {places[1]} / {places[0]}", "", [_ratios(pair, each) for pair, each in rows]),
        ]
    )


def _alike(pair: Pair, criterion: Criterion) -> str:
    """Count the settings of a criterion that have one verdict in both places."""
    verdicts = list(zip(*([row.verdict for row in card.of(criterion)] for card in pair), strict=True))
    return f"{sum(one == other for one, other in verdicts)} of {len(verdicts)}"


def _ratios(pair: Pair, criterion: Criterion) -> str:
    """Write between which ratios the values of both places lie, over the settings in which both are above zero."""
    values = zip(*([row.measured.value for row in card.of(criterion)] for card in pair), strict=True)
    ratios = [there / here for here, there in values if here > 0 and there > 0]
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""


def _opposite_settings(pairs: Sequence[Pair]) -> list[Table]:
    """List the settings that a candidate passes in one place and fails in the other; no table without any."""
    found = [
        (one, a, b)
        for one, other in pairs
        for a, b in zip(one.rows, other.rows, strict=True)
        if {a.verdict, b.verdict} == OPPOSITE
    ]
    if not found:
        return []
    places = [card.on for card in pairs[0]]
    table = Table(
        [
            Column("candidate", "", [one.candidate.title for one, _, _ in found]),
            Column("criterion", "", [a.criterion.id for _, a, _ in found]),
            Column("setting", "", [a.where for _, a, _ in found]),
            Column("rule", "", [a.rule.holds for _, a, _ in found]),
            Column(places[0], "", [a.words for _, a, _ in found]),
            Column(places[1], "", [b.words for _, _, b in found]),
        ],
        title="Settings with opposite verdicts",
    )
    return [table]


# ---------------------------------------------------------------- Badge

HEIGHT, CHARACTER, MARGIN = 20, 7, 10
"""Pixels of a badge: its height, the width of a character, and the room beside words."""
GOOD, BAD, GREY = "#2a7d3f", "#b3261e", "#555"


def badge(card: Card) -> str:
    """Draw an SVG with the suite's name and the number of criteria that the candidate meets."""
    left = f"{card.candidate.title}: {card.suite.name}"
    right = f"{card.counts()['pass']} of {len(card.suite.criteria)}"
    colour = BAD if card.failed else GOOD
    first, second = (len(text) * CHARACTER + 2 * MARGIN for text in (left, right))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{first + second}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(left)} {right}">'
        f'<rect width="{first}" height="{HEIGHT}" fill="{GREY}"/>'
        f'<rect x="{first}" width="{second}" height="{HEIGHT}" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{first / 2}" y="14">{escape(left)}</text><text x="{first + second / 2}" y="14">{right}</text>'
        "</g></svg>\n"
    )
