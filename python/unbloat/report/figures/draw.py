"""Draws results: a panel for each kind of picture, one below another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unbloat._core import InputError
from unbloat.report.figures import comparison, delay_throughput, distributions, mesh, names, series, sweeps
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
from unbloat.report.figures.style import (
    SIZES,
    Size,
    canvas,
    drawing,
    format_of,
    make_room_for_names,
    size_named,
)
from unbloat.report.figures.values import metrics_named, quantity, repeated, values_of
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import Metric
from unbloat.results.record import Record
from unbloat.scenario.checks import one_of

if TYPE_CHECKING:
    from unbloat.results.results import Results


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


@dataclass(frozen=True)
class Panel:
    """One panel: its kind, and what draws it."""

    kind: str
    draw: Callable[[Axes, int], None]
    """Told the panel and how many rows of panels the picture has."""
    height: float = 1.0
    """In panels of the usual height."""


def draw(results: Results, kinds: Sequence[str] = (), choice: Choice = USUALLY, other: Results | None = None) -> Figure:
    """Draw a panel for each kind, and each metric where a kind draws these; raises `InputError` if that cannot be."""
    check(kinds, choice, is_two=other is not None)
    if not results.records:
        raise InputError("there is nothing to draw: no run has a result")
    size = choice.size
    if not kinds and any(record.run.get("nodes") for record in results.records):
        kinds = DEFAULT_OF_NODES
    panels = [panel for kind in panels_of(kinds) for panel in _panels(kind, results, choice, other)]
    both = [*results.records, *(other.records if other else [])]
    title = names.title_of(both) if choice.title is None else choice.title
    with drawing(size):
        figure, axes = canvas(size, [panel.height for panel in panels], title, names.facts_of(both))
        rows = -(-len(panels) // size.columns(len(panels)))
        for place, panel in zip(axes, panels, strict=True):
            panel.draw(place, rows)
        _share_time(axes, panels, size)
        make_room_for_names(figure, axes, size)
    return figure


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


def _panels(kind: str, results: Results, choice: Choice, other: Results | None) -> list[Panel]:
    size, records = choice.size, results.records
    if kind in OVER_TIME:
        return [Panel(kind, lambda axes, rows: series.draw(kind, results, axes, size, rows))]
    if kind in WITHIN_RUNS:
        of, _, how = kind.rpartition("_")
        height = size.rows_of_text(len(distributions.within_runs(of, results)[0])) if how == "box" else 1.0
        return [Panel(kind, lambda axes, _: _within_runs(of, how, results, axes, size), height)]
    if kind == "delay_throughput":
        height = 1.0 if size.least > 2 * size.panel else 1.6
        return [Panel(kind, lambda axes, rows: delay_throughput.draw(records, axes, size, rows), height)]
    if kind in OF_NODES:
        mesh.check(records)
        return [
            _mesh_panel(kind, runs, name, where, size)
            for where, runs in repeated(records)
            for name in mesh.names_of(runs[0])
        ]
    return [_metric_panel(kind, metric, results, choice, other) for metric in metrics_named(choice.metrics)]


def _mesh_panel(kind: str, runs: Sequence[Record], name: str, where: str, size: Size) -> Panel:
    """Make the panel of a mesh, which is named where there are several."""
    title = where if len(mesh.names_of(runs[0])) == 1 else ": ".join(filter(None, (where, name)))

    def drawn(axes: Axes, _: int) -> None:
        mesh.draw(runs, name, axes, size)
        axes.set_title(title, loc="left", fontsize=size.font)

    leaves = 1 + max(mesh.rows_of(mesh.nodes_of(runs[0], name)).values())
    return Panel(kind, drawn, size.rows_of_text(int(2.5 * leaves)))


def _metric_panel(kind: str, metric: Metric, results: Results, choice: Choice, other: Results | None) -> Panel:
    size, records = choice.size, results.records
    if other is not None:
        found = comparison.changes(records, other.records, metric)
        what = quantity(metric, Bottlenecks.of([*records, *other.records]))
        height = size.rows_of_text(len(found))
        return Panel(kind, lambda axes, _: comparison.draw(found, what, choice.sides, axes, size), height)
    height = size.rows_of_text(len(values_of(records, metric))) if kind == "box" else 1.0
    return Panel(kind, lambda axes, _: _of_metric(kind, metric, results, axes, choice), height)


def _within_runs(of: str, how: str, results: Results, axes: Axes, size: Size) -> None:
    if how == "box":
        distributions.boxes(of, results, axes, size)
    else:
        distributions.cumulative(of, results, axes, size, is_tail=how == "ccdf")


def _of_metric(kind: str, metric: Metric, results: Results, axes: Axes, choice: Choice) -> None:
    size, records = choice.size, results.records
    match kind:
        case "bars":
            sweeps.bars(metric, records, axes, size, choice.x)
        case "lines":
            sweeps.lines(metric, records, axes, size, choice.x)
        case "heatmap":
            sweeps.heat_map(metric, records, axes, size, choice.x, choice.y)
        case "box":
            distributions.boxes_of_metric(metric, results, axes, size)
        case _:
            distributions.of_metric(metric, results, axes, size, is_tail=kind == "eccdf")


def _share_time(axes: Sequence[Axes], panels: Sequence[Panel], size: Size) -> None:
    """Name the time axis once where panels over time stand one below another."""
    if size.columns(len(panels)) > 1:
        return
    for (upper, panel), below in zip(zip(axes, panels, strict=True), panels[1:], strict=False):
        if panel.kind in OVER_TIME and below.kind in OVER_TIME:
            upper.set_xlabel("")
            upper.tick_params(labelbottom=False)
