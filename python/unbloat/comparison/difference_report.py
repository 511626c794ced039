"""A comparison of two sweeps, laid out: the differences and their intervals."""

from __future__ import annotations

from collections.abc import Iterator

from unbloat.comparison.difference import CellDifference, MetricDifference, SweepComparison
from unbloat.comparison.tolerance_report import cell_columns, sides_named
from unbloat.report.parts import Listing, Part, Table
from unbloat.report.report import Report
from unbloat.report.sweep_table import FELT_SHOWN, SHOWN, written
from unbloat.report.table import Column
from unbloat.results.metrics import ALL, METRICS
from unbloat.results.statistics import CONFIDENCE
from unbloat.system.legible import count_of

MARKS = {True: "*", False: "", None: "?"}
"""What stands behind a difference: it exceeds its interval, it does not, single runs leave that open."""
OF_EACH_FLOW = ("goodput_mbps", "completion_s")
"""What is shown of flows one by one, where they have names or an end."""
FIXED = "="
"""It is between repeats that are all alike."""


def report_of(comparison: SweepComparison) -> Report:
    """Lay it out."""
    return Report([_heading(comparison), Table(_columns(comparison)), *_remarks(comparison)])


def _heading(comparison: SweepComparison) -> str:
    return (
        f"{sides_named(comparison.sides)}. Means ± half of the 95 % confidence interval; "
        f"* behind a difference: it exceeds its interval, ? a single run leaves that open. {_how(comparison)}"
    )


def _how(comparison: SweepComparison) -> str:
    pairs = {metric.difference.is_paired for _, metric in _all(comparison) if metric.difference}
    if pairs == {True}:
        return "The intervals are those of pairs: both sides have the same seeds."
    if pairs == {False}:
        return "The intervals are Welch's: the sides have other seeds."
    return "The intervals are those of pairs where both sides have the same seeds, otherwise Welch's."


def _all(comparison: SweepComparison) -> Iterator[tuple[CellDifference, MetricDifference]]:
    return ((cell, metric) for cell in comparison.cells for metric in cell.metrics)


def _shown(cell: CellDifference, comparison: SweepComparison) -> Iterator[MetricDifference]:
    """Yield the metrics that are wanted, by default those which a table of repeats shows, whose means differ."""
    wanted = comparison.shown
    metrics = {(metric.of, metric.name): metric for metric in cell.metrics}
    if not (wanted or comparison.bottlenecks.is_shared):
        metrics.pop((ALL, "jain_index"), None)  # It is of goodputs at different times.
    names = [metric.name for metric in wanted] or list(dict.fromkeys([*FELT_SHOWN, *SHOWN]))
    links = (cell.link, *comparison.bottlenecks.others)
    places = [(of, name) for name in names for of in (links if METRICS[name].of == "link" else (ALL,))]
    of_flows = [name for name in names if METRICS[name].of == "flow" and (wanted or name in OF_EACH_FLOW)]
    places += [(flow, name) for flow in cell.flows for name in of_flows]
    for place in places:
        metric = metrics.get(place)
        if metric and metric.difference and metric.difference.mean:
            yield metric


def _columns(comparison: SweepComparison) -> list[Column]:
    rows = [(cell, metric) for cell in comparison.cells for metric in _shown(cell, comparison)]
    columns = cell_columns([cell.place for cell, _ in rows]) if rows else []
    metrics = [metric for _, metric in rows]
    flows = [cell.flows.get(metric.of, "") for cell, metric in rows]
    if any(flows):
        columns.append(Column("flow", "", [flow or "all" for flow in flows]))
    described = [METRICS[metric.name] for metric in metrics]
    heading = comparison.bottlenecks.heading
    heads = [
        f"{each.title}, {metric.of}" if metric.of in comparison.bottlenecks.others else heading(each)
        for metric, each in zip(metrics, described, strict=True)
    ]
    columns.append(
        Column("metric", "", [f"{head} {each.unit}".strip() for head, each in zip(heads, described, strict=True)])
    )
    columns.append(Column("A", "", [written(metric.a) for metric in metrics], True))
    columns.append(Column("B", "", [written(metric.b) for metric in metrics], True))
    columns.append(Column("B - A", "", [_difference(each) for each in metrics], True))
    columns.append(Column("change", "%", [_percent(metric) for metric in metrics], True))
    return columns


def _difference(metric: MetricDifference) -> str:
    mark = FIXED if metric.is_fixed else MARKS[metric.exceeds]
    return f"{written(metric.difference, has_interval=not metric.is_fixed)} {mark:1}"


def _percent(metric: MetricDifference) -> str:
    return "-" if metric.change_percent is None else f"{metric.change_percent:+.1f}"


def _remarks(comparison: SweepComparison) -> list[Part]:
    """List what cannot be compared, and the counts."""
    parts: list[Part] = []
    for side, number in zip("AB", comparison.unsound, strict=True):
        if number:
            parts.append(f"Unsound, and left out: {count_of(number, 'run')} of {side}.")
    for side, places in zip("AB", comparison.only, strict=True):
        if places:
            parts.append(Listing(f"Only in {side}", [f"({place})" for place in places]))
    if any(metric.is_fixed for cell in comparison.cells for metric in _shown(cell, comparison)):
        parts.append(
            f"{FIXED} marks a difference between repeats that are all alike: hardly anything in the scenario is "
            "random, so the difference is exact, and statistics have nothing to add."
        )
    return [*parts, _counted(comparison)]


def _fixed(number: int) -> str:
    return f", {number} have no interval" if number else ""


def _counted(comparison: SweepComparison) -> str:
    counts = comparison.counts()
    judged = counts["exceed"] + counts["within"]
    by_chance = f" (about {judged * (1 - CONFIDENCE):.0f} would by chance if nothing differed)" if judged else ""
    return (
        f"{count_of(len(comparison.cells), 'cell')}, {counts['metrics']} metrics in all (--json has every one): "
        f"{counts['exceed']} exceed their intervals{by_chance}, {counts['within']} do not, "
        f"{counts['open']} stay open{_fixed(counts['fixed'])}."
    )
