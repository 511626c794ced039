"""A card as an HTML page, and the cards of several candidates side by side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from unbloat import _core
from unbloat.report.page import Page, Section
from unbloat.suites.card import Card, side_by_side


def page_of(cards: Sequence[Card]) -> Page:
    """Lay out the page."""
    suite = cards[0].suite.content.suite
    names = ", ".join(card.candidate.title for card in cards)
    text = [paragraph for paragraph in suite.text.strip().split("\n\n") if paragraph]
    return Page(
        kind=f"suite {suite.name}",
        title=f"{names}: {suite.title}",
        asked=[*text, f"Source: {suite.source}"],
        answer=side_by_side(cards).parts,
        sections=[Section(card.candidate.title, card.report().parts) for card in cards],
        made=f"unbloat {_core.__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )
