"""One picture of a paper's main claims: how far each measurement lies on the published side."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Canvas

from unbloat.claims.claim import Claim, places
from unbloat.claims.expressions import margins
from unbloat.claims.measurements import Measurements
from unbloat.claims.verdicts import Bounds, Printed, Uncertain
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import Paper, Statements
from unbloat.papers.ratios import COLOURS, MOST, SHAPES, cut, set_ratio_axis

TITLE = "Main claims: green is what the paper says, dots are what was measured"
WIDTH = 60
"""Characters of a claim on a line."""
ROW = 0.5
"""Height of a claim, in inches."""


@dataclass(frozen=True)
class Drawn:
    """A main claim with its dots: measured over published, or the published side of a comparison over the other."""

    says: str
    judged: Judged
    dots: list[Uncertain]
    reach: tuple[float, float]
    """Dots in this range are as published."""


def file_of(paper: Paper) -> str:
    """Name the picture's file, apart for each reading."""
    return f"claims-{paper.reading.id}.svg" if paper.reading else "claims.svg"


def draw(judged: JudgedPaper, measurements: Mapping[str, Measurements]) -> Canvas | None:
    """Draw a row for each main claim; None if the paper has none."""
    rows = list(_rows(judged, measurements))
    if not rows or judged.paper.asked:
        return None
    canvas = Canvas(figsize=(7.5, 1.0 + ROW * len(rows)), layout="constrained")
    axes = canvas.subplots()
    for height, row in enumerate(rows):
        low, high = map(cut, row.reach)
        axes.fill_between([low, high], height - 0.4, height + 0.4, color="#009E73", alpha=0.15, linewidth=0)
        places_of_dots = height + np.linspace(-0.25, 0.25, len(row.dots) + 2)[1:-1]
        colour, shape = COLOURS[row.judged.verdict], SHAPES[row.judged.verdict]
        for dot, place in zip(row.dots, places_of_dots, strict=True):
            value, least, most = map(cut, (dot.value, dot.low, dot.high))
            axes.plot([least, most], [place, place], color=colour, linewidth=0.9, alpha=0.7)
            axes.scatter([value], [place], c=colour, marker=shape, s=24, linewidths=0)
    axes.axvline(1, color="black", linewidth=0.8)
    set_ratio_axis(axes, [cut(dot.value) for row in rows for dot in row.dots])
    axes.set_yticks(range(len(rows)), [textwrap.fill(row.says, WIDTH) for row in rows], fontsize=7.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("measured / published number, or larger / smaller side of a comparison")
    right = axes.secondary_yaxis("right")
    right.set_yticks(range(len(rows)), [row.judged.verdict for row in rows], fontsize=7.5)
    right.tick_params(length=0)
    return canvas


def _rows(judged: JudgedPaper, measurements: Mapping[str, Measurements]) -> Iterator[Drawn]:
    bounds = judged.paper.bounds
    for group, claims in judged.statements:
        for claim, verdict in claims:
            if claim.main:
                dots = list(_dots(group, claim, verdict, measurements[group.scenario], bounds))
                yield Drawn(claim.says, verdict, dots, _reach(claim, bounds))


def _dots(group: Statements, claim: Claim, verdict: Judged, runs: Measurements, bounds: Bounds) -> Iterator[Uncertain]:
    """Place a statement's comparisons, in each grid point of its grid, or a number over the published one."""
    if claim.holds is not None:
        for place in places(claim, group.at, runs, bounds):
            yield from margins(claim.holds, place.measure, runs.confidence)
    elif isinstance(verdict.measured, float):
        published = Printed.parse(claim.published).value
        yield Uncertain(verdict.measured / published, (verdict.half_width or 0.0) / abs(published))


def _reach(claim: Claim, bounds: Bounds) -> tuple[float, float]:
    if claim.holds is not None:
        return 1.0, MOST
    printed = Printed.parse(claim.published)
    far = bounds.index if claim.unit == "index" else max(bounds.relative, printed.half_unit / abs(printed.value))
    return 1 - far, 1 + far
