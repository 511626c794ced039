"""One picture for a whole paper: every published number as a dot, at what was measured over what is published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from unbloat.claims.verdicts import Verdict
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import Paper

COLOURS: Mapping[Verdict, str] = {
    "reproduced": "#009E73",
    "direction only": "#E69F00",
    "not reproduced": "#D55E00",
    "undecided": "#0072B2",
    "unsound": "#999999",
}
"""Distinct for colour-blind eyes (after Okabe and Ito)."""
SHAPES: Mapping[Verdict, str] = {
    "reproduced": "o",
    "direction only": "^",
    "not reproduced": "X",
    "undecided": "D",
    "unsound": "s",
}
TITLE = "Every published number: what was measured, over what is published"
MOST = 100.0
"""Ratios further away than this, and those of unfinished flows, lie at the edge."""


def file_of(paper: Paper) -> str:
    """Name the figure's file, apart for each reading."""
    return f"ratios-{paper.reading.id}.svg" if paper.reading else "ratios.svg"


def numbers_of(judged: JudgedPaper) -> list[Judged]:
    """List what has a ratio: a published number other than 0, and something that was measured."""
    numbers = (each for each in judged.claims() if isinstance(each.published, float) and each.published != 0)
    return [each for each in numbers if not math.isnan(ratio_of(each))]


def ratio_of(judged: Judged) -> float:
    """Return measured over published, cut to what the picture shows; NaN if nothing was timed."""
    if not isinstance(judged.measured, float):
        return MOST if judged.measured == "unfinished" else math.nan
    assert isinstance(judged.published, float)
    ratio = judged.measured / judged.published
    return cut(ratio)


def group_of(judged: Judged) -> str:
    """Name the row of the picture: the table or figure that the id begins with."""
    return judged.id.partition(".")[0]


def is_drawn(judged: JudgedPaper) -> bool:
    """Return whether there is such a picture; a paper without numbers has none, nor has one number alone."""
    return bool(numbers_of(judged)) and not judged.paper.exactly


def draw(judged: JudgedPaper) -> Canvas | None:
    """Draw the picture, if there is one."""
    numbers = numbers_of(judged)
    if not is_drawn(judged):
        return None
    groups = list(dict.fromkeys(map(group_of, numbers)))
    heights = heights_of(numbers, groups)
    canvas = Canvas(figsize=(7.5, 1.5 + 0.42 * len(groups)), layout="constrained")
    axes = canvas.subplots()
    bound = judged.paper.bounds.relative
    axes.axvspan(1 - bound, 1 + bound, color="#009E73", alpha=0.15, linewidth=0)
    axes.axvline(1, color="black", linewidth=0.8)
    for verdict in COLOURS:
        chosen = [place for place in zip(numbers, heights, strict=True) if place[0].verdict == verdict]
        if chosen:
            _dots(axes, verdict, *zip(*chosen, strict=True))
    _axes(axes, groups, numbers)
    left_out = sum(isinstance(each.published, float) for each in judged.claims()) - len(numbers)
    zeros = f" ({left_out} more, mostly published zeros, have none)" if left_out else ""
    axes.set_xlabel(f"measured / published{zeros}")
    title = f"{judged.paper.name}: measured over published, {len(numbers)} numbers (the band is ±{100 * bound:g} %)"
    canvas.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return canvas


def heights_of(numbers: Sequence[Judged], groups: Sequence[str]) -> list[float]:
    """Assign each dot its height: within the row of its table or figure, one below the other in the paper's order."""
    members = {group: [each.id for each in numbers if group_of(each) == group] for group in groups}
    places = {name: (row, place) for row, group in enumerate(groups) for place, name in enumerate(members[group])}
    return [
        places[each.id][0] + 0.7 * ((places[each.id][1] + 0.5) / len(members[group_of(each)]) - 0.5) for each in numbers
    ]


def _dots(axes: Axes, verdict: Verdict, numbers: Sequence[Judged], heights: Sequence[float]) -> None:
    ratios = [ratio_of(each) for each in numbers]
    label = f"{verdict} ({len(numbers)})"
    look = {"s": 22, "alpha": 0.8, "linewidths": 0}
    axes.scatter(ratios, heights, c=COLOURS[verdict], marker=SHAPES[verdict], label=label, **look)  # type: ignore[arg-type]
    for each, ratio, height in zip(numbers, ratios, heights, strict=True):
        if each.half_width and isinstance(each.measured, float) and isinstance(each.published, float):
            ends = sorted((each.measured + side * each.half_width) / each.published for side in (-1, 1))
            reach = [*map(cut, ends)]
            axes.plot(reach, [height, height], color=COLOURS[verdict], linewidth=0.8, alpha=0.6)
        if ratio in (MOST, 1 / MOST):
            axes.annotate("→" if ratio == MOST else "←", (ratio, height), fontsize=7, va="center", ha="center")


def set_ratio_axis(axes: Axes, ratios: Sequence[float]) -> None:
    """Give a picture a logarithmic axis on which these ratios fit, with 1 between its ends."""
    axes.set_xscale("log")
    axes.set_xlim(min([0.45, *(each / 1.15 for each in ratios)]), max([2.2, *(each * 1.15 for each in ratios)]))
    ticks = [1 / 100, 1 / 10, 1 / 5, 1 / 2, 1, 2, 5, 10, 100]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def cut(ratio: float) -> float:
    """Cut a ratio to what a picture shows."""
    return min(max(ratio, 1 / MOST), MOST)


def _axes(axes: Axes, groups: Sequence[str], numbers: Sequence[Judged]) -> None:
    set_ratio_axis(axes, [ratio_of(each) for each in numbers])
    axes.set_yticks(range(len(groups)), groups, fontsize=8)
    axes.set_ylim(len(groups) - 0.5, -0.5)
