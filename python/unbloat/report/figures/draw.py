"""Draws results: a panel for each kind of picture, one below another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.report import names
from unbloat.report.figures import delay_throughput, distributions, mesh, series, sweeps
from unbloat.report.figures.grid import (
    Shown,
    View,
    groups_of_all,
    metrics_named,
    ordered,
    panel_axes,
    parts,
    repeated,
    values_of,
)
from unbloat.report.figures.kinds import (
    DEFAULT,
    DEFAULT_OF_NODES,
    KINDS,
    OF_LINKS,
    OF_NODES,
    OF_TWO,
    OVER_TIME,
    SHORT,
    WITHIN_RUNS,
    Width,
)
from unbloat.report.figures.layout import BARE, broken, canvas, columns_of, finish, height_of_rows, widen
from unbloat.report.figures.style import SIZES, Size, drawing, format_of, size_named, suit
from unbloat.results.axes import axis_named, base_values
from unbloat.results.metrics import MANY, Metric
from unbloat.results.record import Record
from unbloat.results.run_set import RunSet
from unbloat.scenarios.checks import one_of


@dataclass(frozen=True)
class Choice:
    """The contents of a picture, and how it looks.

    Attributes
    ----------
    width : str
        Where it is looked at: `page`, `slide` (16:9) or `column` (of a paper). Size and type go by it.
    metrics : sequence of str
        What `bars`, `lines`, `heatmap`, `box`, `ecdf`, `eccdf` and `comparison` draw, a panel each: short names such as
        `goodput`, or names of columns. By default goodput and mean queueing delay.
    x, y : str, optional
        The axes of the sweep that run across, and up in a heat map; by default the first that fit.
    title : str, optional
        In place of the scenario's name; empty for none.
    sides : pair of str
        What a comparison calls its two sets.

    """

    width: Width = "page"
    metrics: Sequence[str] = ()
    x: str | None = None
    y: str | None = None
    title: str | None = None
    sides: tuple[str, str] = ("A", "B")

    @property
    def size(self) -> Size:
        """The measures of the picture."""
        return SIZES[self.width]


USUALLY = Choice()
MOST_POINTS = 6
"""More grid points than this share panels over time, if they have the same label on the axis that is compared."""
PART = 0.8
"""Height of a panel that is one of several over time."""
TITLE = 1.5
"""Height of a panel's title, in lines of its type."""
SHARED = ("lines", "bars", "delay_throughput")
"""Kinds whose parts have the same scales."""


@dataclass(frozen=True)
class Panel:
    """One panel: its kind, the runs that it shows, and what draws them."""

    kind: str
    part: RunSet
    draw: Callable[[View], None]
    height: float = 1.0
    """In panels of the usual height."""
    title: str = ""
    of: int = 0
    """The panels of one number show the same of several parts, on the same scale."""


def draw(results: RunSet, kinds: Sequence[str] = (), choice: Choice = USUALLY) -> Figure:
    """Draw a panel for each kind, and each metric where a kind draws these; raises `InputError` if that cannot be."""
    check(kinds, choice)
    if not results.records:
        raise InputError("nothing to draw: no run has a result")
    size, whole = choice.size, results.records
    kinds = panels_of(kinds or usual_kinds(results))
    lines = _lines_over_time(kinds, results)
    quantities = [panels for kind in kinds for panels in _panels(kind, results, choice, lines)]
    quantities = [[replace(panel, of=number) for panel in panels] for number, panels in enumerate(quantities)]
    most = max(map(len, quantities))
    count = sum(map(len, quantities))
    is_over_time = any(panel.kind in OVER_TIME for panels in quantities for panel in panels)
    across = size.columns(count) if most == 1 else min(most, size.multiples - is_over_time or 1)
    # The parts of a quantity stand beside each other, and those of the next one below them.
    panels = [panel for each in quantities for panel in [*each, *([None] * (-len(each) % across if most > 1 else 0))]]
    rows = -(-len(panels) // across)
    title = names.title_of(whole) if choice.title is None else choice.title
    with drawing(size):
        heights = [panel.height if panel else 0.0 for panel in panels]
        figure, places = canvas(size, heights, title, names.facts_of(whole), across)
        drawn = [(place, panel) for place, panel in zip(places, panels, strict=True) if panel]
        for place in {*places} - {place for place, _ in drawn}:
            place.remove()
        for place, panel in drawn:
            if len(quantities[panel.of]) == 1 < most:
                widen(place)
            if most > 1 and panel.kind in OVER_TIME:
                place.set_ylim(0, _top(quantities[panel.of], whole, size, rows, columns_of(place)))
            if panel.title:
                title = broken(panel.title, BARE * size.width / columns_of(place), size)
                place.set_title(title, loc="left" if panel.kind in OVER_TIME else "right", fontsize=size.font)
            panel.draw(View(whole, panel.part, place, _size_of(panel, size), rows))
        axes = [place for place, _ in drawn]
        if most > 1:
            _share_scales(drawn)
        for place in axes:
            suit(place)
        if most > 1:
            _say_once(axes)
        _share_time(drawn)
        finish(figure, axes, size)
    return figure


def meant(results: RunSet, kinds: Sequence[str], choice: Choice, over: str | None) -> tuple[Sequence[str], Choice]:
    """Return the kinds and the choice that `over` stands for: kinds over time, or metrics over an axis."""
    if over is None:
        return kinds, choice
    if over == "time":
        for kind in kinds:
            one_of("over time", kind, OVER_TIME)
        return kinds, choice
    axis = axis_named(over, results.axes)
    if choice.x is not None:
        raise InputError("over: sets the horizontal axis, as x does: leave one out")
    labels = dict.fromkeys(record.axes[axis] for record in results.records if axis in record.axes)
    across = "lines" if base_values(labels) else "bars"
    return [across], replace(choice, metrics=[*kinds, *choice.metrics], x=axis)


def usual_kinds(results: RunSet) -> Sequence[str]:
    """Return what is drawn of results where nobody says what: what they are about, and have."""
    if any(record.run.get("nodes") for record in results.records):
        return DEFAULT_OF_NODES
    # To record the series of many runs takes as long as the runs did.
    is_quick = results.has_series or (results.can_have_series and len(results.records) <= MANY)
    if is_quick or not ordered(results.records):
        return DEFAULT
    return ["lines" if sweeps.has_numbers(results.records) else "bars"]


def check(kinds: Sequence[str], choice: Choice = USUALLY, *, file: Path | None = None, is_two: bool = False) -> None:
    """Raise `InputError` for what cannot be drawn or written, whatever the results are."""
    wanted = panels_of(kinds)
    size_named(choice.width)
    metrics_named(choice.metrics)
    if file is not None:
        format_of(file)
    of_two = [kind for kind in wanted if kind in OF_TWO]
    if of_two and not is_two:
        raise InputError(f"{of_two[0]}: compares two sets of results; name the other one")
    if is_two and len(of_two) < len(wanted):
        others = ", ".join(kind for kind in wanted if kind not in OF_TWO)
        raise InputError(f"{others}: draws one set of results; for two, choose {' or '.join(OF_TWO)}")


def panels_of(kinds: Sequence[str]) -> list[str]:
    """List the panels that these kinds stand for; the default panels if there are no kinds."""
    wanted = [kind for name in kinds or DEFAULT for kind in SHORT.get(name, [name])]
    return [one_of("plot", kind, [*KINDS, *SHORT]) for kind in wanted]


# ---------------------------------------------------------------- Panels


def _panels(kind: str, results: RunSet, choice: Choice, lines: int) -> list[list[Panel]]:
    """Return the panels of a kind: those of each quantity that it shows, a panel for each part.

    `lines` is the largest number of lines over time that one panel would have.
    """
    size, records = choice.size, results.records
    if kind in OVER_TIME:
        return [_over_time(kind, results, lines)]
    if kind in WITHIN_RUNS:
        return [_within_runs(kind, results, size)]
    if kind == "delay_throughput":
        axes = panel_axes(records, delay_throughput.groups_in(records))
        height = 1.0 if size.least > 2 * size.panel or axes else 1.6
        return [[Panel(kind, part, delay_throughput.draw, height, title) for title, part in parts(kind, results, axes)]]
    if kind in OF_NODES:
        mesh.check(records)
        return [
            [Panel(kind, RunSet(runs), partial(mesh.draw, name, where), mesh.height(runs[0], name, size))]
            for where, runs in repeated(records)
            for name in mesh.names_of(runs[0])
        ]
    return [_of_metric(kind, metric, results, choice) for metric in metrics_named(choice.metrics)]


def _lines_over_time(kinds: Sequence[str], results: RunSet) -> int:
    """Return how many lines a panel over time would have: all panels of a picture are parted alike."""
    if {*kinds} & {*OVER_TIME} <= {*OF_LINKS}:
        return len(results.records) * len(series.busy_links(results.records))
    return sum(len(record.run["flows"]) for record in results.records)


def _over_time(kind: str, results: RunSet, lines: int) -> list[Panel]:
    """Return a panel, or where there are too many lines one for each grid point, or each label that is compared."""
    records = results.records
    axes = ordered(records)
    if lines <= MANY:
        axes = []
    elif len({tuple(record.point_axes.items()) for record in records}) > MOST_POINTS:
        axes = axes[:1]
    height = PART if axes else 1.0
    return [Panel(kind, part, partial(series.draw, kind), height, title) for title, part in parts(kind, results, axes)]


def _within_runs(kind: str, results: RunSet, size: Size) -> list[Panel]:
    of, _, how = kind.rpartition("_")
    if how == "box":
        labels = [each.label for each in distributions.within_runs(of, Shown(results.records, results))[0]]
        return [Panel(kind, results, partial(distributions.boxes, of), height_of_rows(labels, size))]
    flows = [flow for record in results.records for flow in record.run["flows"]] if of == "rtt" else []
    groups = list({names.flow_group(flow) for flow in flows} or {""})
    drawn = partial(distributions.cumulative, of, is_tail=how == "ccdf")
    axes = panel_axes(results.records, groups)
    return [Panel(kind, part, drawn, title=title) for title, part in parts(kind, results, axes)]


def _of_metric(kind: str, metric: Metric, results: RunSet, choice: Choice) -> list[Panel]:
    size, records = choice.size, results.records
    if kind == "heatmap":
        return [
            Panel(kind, part, drawn, title=title)
            for title, part, drawn in sweeps.heat_maps(metric, results, choice.x, choice.y)
        ]
    groups = groups_of_all(records, metrics_named(choice.metrics))
    if kind == "box":
        height = height_of_rows([each.label for each in values_of(records, metric) if len(each.values)], size)
        return [Panel(kind, results, partial(distributions.boxes_of_metric, metric, groups), height)]
    x = sweeps.across(kind, records, choice.x) if kind in OVER_AN_AXIS else ""
    if kind in OVER_AN_AXIS:
        drawn = partial(OVER_AN_AXIS[kind], metric, groups, x)
    else:
        drawn = partial(distributions.of_metric, metric, groups, is_tail=kind == "eccdf")
    axes = panel_axes(records, groups, without=[x])
    return [Panel(kind, part, drawn, title=title) for title, part in parts(kind, results, axes)]


OVER_AN_AXIS = {"bars": sweeps.bars, "lines": sweeps.lines}


# ---------------------------------------------------------------- Panels that share something


def _size_of(panel: Panel, size: Size) -> Size:
    """Return the measures of a panel: one over time that is a part is less high, and has its title above."""
    if panel.kind not in OVER_TIME or not panel.title:
        return size
    return replace(size, panel=size.panel * panel.height - TITLE * size.font / 72)


def _top(panels: Sequence[Panel], whole: Sequence[Record], size: Size, rows: int, across: int) -> float:
    """Return the upper end of a scale that is enough for all parts of a quantity, which are drawn for it."""
    tops = []
    for panel in panels:
        scratch = Figure().subplots(1, across, squeeze=False)[0][0]
        panel.draw(View(whole, panel.part, scratch, _size_of(panel, size), rows))
        tops.append(float(scratch.get_ylim()[1]))
    return max(tops)


def _say_once(axes: Sequence[Axes]) -> None:
    """Name what runs up at the left panels alone."""
    for axis in axes:
        place = axis.get_subplotspec()
        if place is not None and place.colspan.start and axis.get_yscale() == "linear":
            axis.set_ylabel("")


def _share_scales(drawn: Sequence[tuple[Axes, Panel]]) -> None:
    """Give the parts of each quantity over a sweep the same scales."""
    for number in {panel.of for _, panel in drawn}:
        places = [place for place, panel in drawn if panel.of == number and panel.kind in SHARED]
        for axis in "xy" if places else "":
            ends = [getattr(place, f"get_{axis}lim")() for place in places]
            is_falling = ends[0][0] > ends[0][1]
            low, high = min(min(each) for each in ends), max(max(each) for each in ends)
            for place in places:
                getattr(place, f"set_{axis}lim")((high, low) if is_falling else (low, high))


def _share_time(drawn: Sequence[tuple[Axes, Panel]]) -> None:
    """Name the time axis once where panels over time follow one below another."""
    places = [(place, axes, panel.kind) for axes, panel in drawn if (place := axes.get_subplotspec()) is not None]
    for number, (place, axes, kind) in enumerate(places):
        lower = places[number + 1 :]
        under = [each for each in lower if each[0].rowspan.start > place.rowspan.start]
        below = [other for where, _, other in under if {*where.colspan} & {*place.colspan}]
        if kind in OVER_TIME and below and below[0] in OVER_TIME:
            axes.set_xlabel("")
            axes.tick_params(labelbottom=False)
