"""The picture of a paper: every number as a dot at what was measured over what is published."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import pytest
from inline_snapshot import snapshot
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from unbloat.claims.verdicts import Bounds, Verdict
from unbloat.papers import ratios
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import Paper
from unbloat.report.figures.style import LOOK

PAPER = Paper("p", "t", "a", "w", Path(), Bounds(0.1, 0.03), 3, 3, {}, [], [], [], [])


@dataclass(frozen=True)
class OfNumbers(JudgedPaper):
    """A paper of these numbers."""

    numbers: Sequence[Judged] = field(default=())

    def claims(self) -> list[Judged]:
        return list(self.numbers)


def number(
    name: str,
    published: float | str,
    measured: float | str,
    verdict: Verdict = "reproduced",
    half_width: float | None = None,
) -> Judged:
    return Judged(name, "", published, measured, verdict, "", half_width)


def drawn(*numbers: Judged) -> Figure:
    with mpl.rc_context(LOOK):
        canvas = ratios.draw(OfNumbers(PAPER, [], [], numbers))
        assert canvas
        canvas.draw_without_rendering()
    return canvas


def dots(canvas: Figure) -> dict[str, list[tuple[float, float]]]:
    """The dots by their verdict's colour."""
    collections = [each for each in canvas.axes[0].collections if isinstance(each, PathCollection)]
    names = {colour.lower(): verdict for verdict, colour in ratios.COLOURS.items()}
    return {
        names[to_hex(each.get_facecolor()[0])]: [(float(x), float(y)) for x, y in each.get_offsets()]  # type: ignore[index]
        for each in collections
    }


def test_every_number_is_a_dot_of_its_verdict_s_colour() -> None:
    canvas = drawn(
        number("table1.a", 2.0, 2.1),
        number("table1.b", 2.0, 4.0, "direction only"),
        number("fig2.c", 10.0, 1.0, "not reproduced"),
        number("fig2.d", 1.0, 1.1, "undecided", 0.3),
        number("fig2.e", "a statement", "1 < 2"),
        number("fig2.f", 0.0, 0.1, "not reproduced"),
    )
    found = dots(canvas)
    assert [round(x, 3) for x, _ in found["reproduced"] + found["direction only"]] == [1.05, 2]
    assert [round(x, 3) for x, _ in found["not reproduced"] + found["undecided"]] == [0.1, 1.1]
    assert [label.get_text() for label in canvas.axes[0].get_yticklabels()] == ["table1", "fig2"]
    assert canvas.texts[0].get_text() == snapshot("p: measured over published, 4 numbers (the band is ±10 %)")
    assert canvas.axes[0].get_xlabel() == snapshot("measured / published (1 more, mostly published zeros, have none)")
    (interval,) = [line for line in canvas.axes[0].get_lines() if line.get_color() == ratios.COLOURS["undecided"]]
    assert list(interval.get_xdata()) == pytest.approx([0.8, 1.4])


def test_dots_of_a_table_stand_below_each_other_within_its_row() -> None:
    numbers = [number(f"table1.{place}", 1.0, 1.0) for place in range(48)] + [number("table2.x", 1.0, 1.0)]
    heights = ratios.heights_of(numbers, ["table1", "table2"])
    assert len(set(heights)) == 49 and sorted(heights) == heights
    assert heights[0] > -0.5 and heights[47] < 0.5 and heights[48] == 1


def test_what_is_far_away_or_never_ended_stands_at_the_edge() -> None:
    found = dots(drawn(number("t.a", 1.0, 1e6, "not reproduced"), number("t.b", 1.0, "unfinished", "not reproduced")))
    assert [x for x, _ in found["not reproduced"]] == [ratios.MOST] * 2
    assert dots(drawn(number("t.a", 1.0, 0.0, "not reproduced")))["not reproduced"][0][0] == 1 / ratios.MOST


def test_the_names_stand_beside_the_picture_and_a_paper_of_words_has_none() -> None:
    canvas = drawn(number("t.a", 1.0, 1.0))
    (legend,) = canvas.legends
    assert not legend.get_window_extent().overlaps(canvas.axes[0].get_window_extent())
    assert ratios.draw(OfNumbers(PAPER, [], [], [number("t.a", "words", "1 < 2")])) is None
    assert ratios.draw(OfNumbers(PAPER, [], [], [number("t.a", 1.0, "none", "not reproduced")])) is None
