"""Draws results: a panel for each kind of picture, one below another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.report import names
from unbloat.report.figures import cells, delay_throughput, distributions, mesh, series, sweeps, two_sets
from unbloat.report.figures.cells import groups_of, groups_of_all, metrics_named, quantity, repeated, values_of
from unbloat.report.figures.kinds import (
    DEFAULT,
    DEFAULT_OF_NODES,
    KINDS,
    OF_NODES,
    OF_TWO,
    OVER_TIME,
    SHORT,
    WITHIN_RUNS,
    Width,
)
from unbloat.report.figures.labels import BARE, break_labels, broken, fit_ticks, row_label, write_remarks
from unbloat.report.figures.style import (
    SIZES,
    Size,
    canvas,
    drawing,
    format_of,
    legible,
    make_room_for_names,
    one_legend,
    size_named,
    suit,
)
from unbloat.results.axes import axis_named, base_values
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import MANY, Metric
from unbloat.results.record import Record
from unbloat.scenarios.checks import one_of

if TYPE_CHECKING:
    from unbloat.results.run_set import RunSet


@dataclass(frozen=True)
class Choice:
    """What a picture shows, and how.

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
MOST_CELLS = 6
"""More cells than this share panels over time, if they have the same label on the axis that is compared."""
PART = 0.8
"""Height of a panel that is one of several over time."""
SHARED = ("lines", "bars", "delay_throughput")
"""Kinds whose parts have the same scales."""


@dataclass(frozen=True)
class Panel:
    """One panel: its kind, and what draws it."""

    kind: str
    draw: Callable[[Axes, int], None]
    """Told the panel and how many rows of panels the picture has."""
    height: float = 1.0
    """In panels of the usual height."""
    title: str = ""
    of: int = 0
    """The panels of one number show the same of several parts, on the same scale."""


def draw(results: RunSet, kinds: Sequence[str] = (), choice: Choice = USUALLY, other: RunSet | None = None) -> Figure:
    """Draw a panel for each kind, and each metric where a kind draws these; raises `InputError` if that cannot be."""
    check(kinds, choice, is_two=other is not None)
    if not results.records:
        raise InputError("there is nothing to draw: no run has a result")
    size = choice.size
    kinds = kinds or usual_kinds(results)
    quantities = [panels for kind in panels_of(kinds) for panels in _panels(kind, results, choice, other)]
    quantities = [[replace(panel, of=number) for panel in panels] for number, panels in enumerate(quantities)]
    most = max(map(len, quantities))
    count = sum(map(len, quantities))
    is_over_time = any(panel.kind in OVER_TIME for panels in quantities for panel in panels)
    across = size.columns(count) if most == 1 else min(most, size.multiples - is_over_time or 1)
    # The parts of a quantity stand beside each other, and those of the next one below them.
    panels = [panel for each in quantities for panel in [*each, *([None] * (-len(each) % across if most > 1 else 0))]]
    both = [*results.records, *(other.records if other else [])]
    title = names.title_of(both) if choice.title is None else choice.title
    with drawing(size):
        heights = [panel.height if panel else 0.0 for panel in panels]
        figure, places = canvas(size, heights, title, names.facts_of(both), across)
        drawn = [(place, panel) for place, panel in zip(places, panels, strict=True) if panel]
        for place in {*places} - {place for place, _ in drawn}:
            place.remove()
        rows = -(-len(panels) // across)
        for place, panel in drawn:
            if most > 1 and panel.kind in OVER_TIME:
                place.set_ylim(0, _top(quantities[panel.of], rows, across))
            if panel.title:
                title = broken(panel.title, BARE * size.width / across, size)
                place.set_title(title, loc="left" if panel.kind in OVER_TIME else "right", fontsize=size.font)
            panel.draw(place, rows)
        axes = [place for place, _ in drawn]
        if most > 1:
            _share_scales(drawn)
        for place in axes:
            suit(place)
        if most > 1:
            _say_once(axes)
        _share_time(axes, [panel for _, panel in drawn], across)
        one_legend(figure, axes, size)
        legible(figure)
        make_room_for_names(figure, axes, size)
        write_remarks(figure, axes, size)
        break_labels(figure, axes, size)
        for place in axes:
            fit_ticks(place, size)
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
        raise InputError("over: says what runs across, and so does x: leave one out")
    labels = dict.fromkeys(record.axes[axis] for record in results.records if axis in record.axes)
    across = "lines" if base_values(labels) else "bars"
    return [across], replace(choice, metrics=[*kinds, *choice.metrics], x=axis)


def usual_kinds(results: RunSet) -> Sequence[str]:
    """Return what is drawn of results where nobody says what: what they are about, and have."""
    if any(record.run.get("nodes") for record in results.records):
        return DEFAULT_OF_NODES
    # To record the series of many runs takes as long as the runs did.
    is_quick = results.has_series or (results.can_have_series and len(results.records) <= MANY)
    if is_quick or not cells.ordered(results.records):
        return DEFAULT
    return ["lines" if sweeps.has_numbers(results.records) else "bars"]


def _top(parts: Sequence[Panel], rows: int, across: int) -> float:
    """Return the upper end of a scale that is enough for all parts of a quantity, which are drawn for it."""
    tops = []
    for panel in parts:
        scratch = Figure().subplots(1, across, squeeze=False)[0][0]
        panel.draw(scratch, rows)
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


def check(kinds: Sequence[str], choice: Choice = USUALLY, *, file: Path | None = None, is_two: bool = False) -> None:
    """Raise `InputError` for what cannot be drawn or written, whatever the results are."""
    wanted = panels_of(kinds)
    size_named(choice.width)
    metrics_named(choice.metrics)
    if file is not None:
        format_of(file)
    of_two = [kind for kind in wanted if kind in OF_TWO]
    if of_two and not is_two:
        raise InputError(f"{of_two[0]}: draws two sets of results, and there is one only")
    if is_two and len(of_two) < len(wanted):
        others = ", ".join(kind for kind in wanted if kind not in OF_TWO)
        raise InputError(f"{others}: draws one set of results, and there are two; {' and '.join(OF_TWO)} draws two")


def panels_of(kinds: Sequence[str]) -> list[str]:
    """List the panels that these kinds stand for; the default panels if there are no kinds."""
    wanted = [kind for name in kinds or DEFAULT for kind in SHORT.get(name, [name])]
    return [one_of("plot", kind, [*KINDS, *SHORT]) for kind in wanted]


def _panels(kind: str, results: RunSet, choice: Choice, other: RunSet | None) -> list[list[Panel]]:
    """Return the panels of a kind: those of each quantity that it shows, a panel for each part."""
    size, records = choice.size, results.records
    if kind in OVER_TIME:
        return [_over_time(kind, results, size)]
    if kind in WITHIN_RUNS:
        return [_within_runs(kind, results, size)]
    if kind == "delay_throughput":
        axes = cells.panel_axes(records, delay_throughput.groups_in(records))
        height = 1.0 if size.least > 2 * size.panel or axes else 1.6
        return [
            [
                Panel(kind, partial(_delay_throughput, records, part.records, size), height, title)
                for title, part in cells.parts(kind, results, axes)
            ]
        ]
    if kind in OF_NODES:
        mesh.check(records)
        return [
            [_mesh_panel(kind, runs, name, where, size)]
            for where, runs in repeated(records)
            for name in mesh.names_of(runs[0])
        ]
    return [_of_metric(kind, metric, results, choice, other) for metric in metrics_named(choice.metrics)]


def _over_time(kind: str, results: RunSet, size: Size) -> list[Panel]:
    """Return a panel, or where there are too many lines one for each cell, or each label that is compared."""
    records = results.records
    axes = cells.ordered(records)
    number = len({tuple(record.cell_axes.items()) for record in records})
    if sum(len(record.run["flows"]) for record in records) <= MANY:
        axes = []
    elif number > MOST_CELLS:
        axes = axes[:1]
    return [
        Panel(kind, partial(_series, kind, records, part, size), PART if axes else 1.0, title)
        for title, part in cells.parts(kind, results, axes)
    ]


def _series(kind: str, whole: Sequence[Record], part: RunSet, size: Size, axes: Axes, rows: int) -> None:
    series.draw(kind, whole, part, axes, size, rows)


def _delay_throughput(whole: Sequence[Record], part: Sequence[Record], size: Size, axes: Axes, rows: int) -> None:
    delay_throughput.draw(whole, part, axes, size, rows)


def _within_runs(kind: str, results: RunSet, size: Size) -> list[Panel]:
    of, _, how = kind.rpartition("_")
    records = results.records
    if how == "box":
        height = _height_of_rows([each.label for each in distributions.within_runs(of, results)[0]], size)
        return [Panel(kind, lambda axes, _: distributions.boxes(of, results, axes, size), height)]
    groups = {names.flow_group(flow) for record in records for flow in record.run["flows"]} if of == "rtt" else {""}

    def drawn(part: RunSet, axes: Axes, _: int) -> None:
        distributions.cumulative(of, records, part, axes, size, is_tail=how == "ccdf")

    parts = cells.parts(kind, results, cells.panel_axes(records, list(groups)))
    return [Panel(kind, partial(drawn, part), title=title) for title, part in parts]


def _height_of_rows(labels: Sequence[str], size: Size) -> float:
    """Return the height of a panel whose rows have labels, in panels of the usual height."""
    highest = max((1 + row_label(label, size).count("\n") for label in labels), default=1)
    return size.rows_of_text(highest * len(labels))


def _mesh_panel(kind: str, runs: Sequence[Record], name: str, where: str, size: Size) -> Panel:
    """Make the panel of a mesh, which is named where there are several."""
    title = where if len(mesh.names_of(runs[0])) == 1 else ": ".join(filter(None, (where, name)))

    def drawn(axes: Axes, _: int) -> None:
        mesh.draw(runs, name, axes, size)
        axes.set_title(title, loc="left", fontsize=size.font)

    leaves = 1 + max(mesh.rows_of(mesh.nodes_of(runs[0], name)).values())
    return Panel(kind, drawn, size.rows_of_text(int(2.5 * leaves)))


def _of_metric(kind: str, metric: Metric, results: RunSet, choice: Choice, other: RunSet | None) -> list[Panel]:
    size, records = choice.size, results.records
    if other is not None:
        found = two_sets.changes(records, other.records, metric)
        what = quantity(metric, Bottlenecks.of([*records, *other.records]))
        height = _height_of_rows([change.cell for change in found], size)
        return [Panel(kind, lambda axes, _: two_sets.draw_changes(found, what, choice.sides, axes, size), height)]
    if kind == "box":
        height = _height_of_rows([each.label for each in values_of(records, metric) if len(each.values)], size)
        groups = groups_of_all(records, metrics_named(choice.metrics))
        return [Panel(kind, lambda axes, _: distributions.boxes_of_metric(metric, records, axes, size, groups), height)]
    if kind == "heatmap":
        return _heat_maps(metric, results, choice)
    x = sweeps.across(kind, records, choice.x) if kind in ("lines", "bars") else ""
    groups = groups_of_all(records, metrics_named(choice.metrics))
    axes = cells.panel_axes(records, groups, without=[x])
    parts = cells.parts(kind, results, axes)

    def drawn(part: RunSet, axes: Axes, _: int) -> None:
        if kind in OVER_AN_AXIS:
            OVER_AN_AXIS[kind](metric, records, part.records, axes, size, x, groups)
        else:
            distributions.of_metric(metric, records, part.records, axes, size, groups, is_tail=kind == "eccdf")

    return [Panel(kind, partial(drawn, part), title=title) for title, part in parts]


OVER_AN_AXIS = {"bars": sweeps.bars, "lines": sweeps.lines}


def _heat_maps(metric: Metric, results: RunSet, choice: Choice) -> list[Panel]:
    """Return a heat map for the labels on each other axis, and each group of flows that has values."""
    records = results.records
    two = sweeps.two_axes(records, choice.x, choice.y)
    others = cells.ordered(records, without=[axis.name for axis in two])
    found = [
        (
            ", ".join(filter(None, (title, group))),
            sweeps.fields(metric, records, part.records, choice.x, choice.y, group),
        )
        for title, part in cells.parts("heatmap", results, others)
        for group in groups_of(records, metric)
    ]
    known = [(title, fields) for title, fields in found if np.isfinite(fields.values).any()]
    if not known:
        raise InputError(f"heatmap: no sound run has a value of {metric.title}")
    if len(known) > cells.MOST_PANELS:
        raise InputError(
            f"heatmap: {len(known)} panels are too many for a picture, {cells.MOST_PANELS} have room: pick some labels "
            "with --only (Results.only)"
        )
    values = np.concatenate([fields.values.flatten() for _, fields in known])
    ends = (float(np.nanmin(values)), float(np.nanmax(values)))
    return [
        Panel("heatmap", partial(_heat_map, metric, fields, ends, choice.size, fields is known[-1][1]), title=title)
        for title, fields in known
    ]


def _heat_map(
    metric: Metric, fields: sweeps.Fields, ends: tuple[float, float], size: Size, is_last: bool, axes: Axes, _: int
) -> None:
    sweeps.heat_map(metric, fields, ends, axes, size, is_last=is_last)


def _share_time(axes: Sequence[Axes], panels: Sequence[Panel], across: int) -> None:
    """Name the time axis once where panels over time stand one below another."""
    for place, (upper, panel) in enumerate(zip(axes, panels, strict=True)):
        below = panels[place + across] if place + across < len(panels) else None
        if panel.kind in OVER_TIME and below is not None and below.kind in OVER_TIME:
            upper.set_xlabel("")
            upper.tick_params(labelbottom=False)
