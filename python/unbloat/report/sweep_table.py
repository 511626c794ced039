"""What a run with repeats prints: a line about the sweep, a table of its cells, what failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from unbloat.report import names
from unbloat.report.names import path_of
from unbloat.report.table import Column, render, show
from unbloat.results.bottleneck import RATES, Bottlenecks, directions
from unbloat.results.metrics import ALL, FLOW_METRICS, MANY, MEAN, METRICS, Metric, metric_named
from unbloat.results.record import SEED, Record, place, where_ran, why_unsound
from unbloat.results.repeats import Repeats, estimates
from unbloat.results.rows import Flow, Run
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Difference, Estimate, estimate
from unbloat.system.legible import count_of, with_interval

OF_LINKS = ("utilisation_percent", "queue_delay_ms_mean")
SHOWN = (
    *("goodput_mbps", "rtt_ms_mean", "loss_percent", "retransmitted_packets", "completion_s", "jain_index"),
    *OF_LINKS,
)
"""What is shown of a cell's flows together, and of its bottleneck."""
OF_APPLICATIONS = ("opinion_score", "rating", "page_load_s_mean", "startup_s", "stalled_percent", "response_ms_mean")
FELT_SHOWN = (*OF_APPLICATIONS, "goodput_mbps")
"""What is shown where there are applications, in place of the other metrics of flows."""
LISTED = 20
"""Not more lines than this are listed."""


def text_of(sweep: RunSet, metrics: Sequence[str] | None = None) -> str:
    """Format a sweep for a terminal; `metrics` replace the usual ones, by their short names or their columns."""
    remarks = [f"warning: {remark}" for remark in sweep.remarks()]
    shown = None if metrics is None else [metric_named(name) for name in metrics]
    parts = [headline(sweep), render(columns_of(sweep, shown)), *remarks, *failures(sweep), *warnings(sweep)]
    return "\n\n".join(part for part in parts if part)


def headline(sweep: RunSet) -> str:
    """Describe what ran, and below it over which path, as far as it is the same for all runs."""
    cells = sweep.cells
    repeats = max(len(cell.records) + len(cell.failures) for cell in cells)
    number = count_of(len(cells), "cell")
    parts = [f"{number}, {repeats} runs each" if repeats > 1 else f"{number}, one run each"]
    if sweep.records:
        scenario, where = (common(sweep, take) for take in (lambda run: str(run["scenario"]), where_ran))
        parts = [scenario, *parts, where]
    if repeats > 1:
        parts.append("mean ± half of the 95 % confidence interval")
    return "\n".join(filter(None, [" · ".join(parts), path_of(sweep.records)]))


def common(results: RunSet, take: Callable[[Run], str]) -> str:
    """List what the runs have, such as their scenario: that of the first may not be that of all."""
    return ", ".join(dict.fromkeys(take(record.run) for record in results.records))


def duration(results: RunSet) -> str:
    """Write how long the runs are; from the shortest to the longest where that is swept."""
    times = sorted({float(record.run["duration_s"]) for record in results.records})
    return f"{' to '.join(dict.fromkeys((show(times[0]), show(times[-1]))))} s"


@dataclass(frozen=True)
class Row:
    """A row of the table: a cell, with all of its flows, one of them, or the mean of some."""

    cell: Repeats
    estimates: Mapping[str, Estimate]
    """By the columns of the metrics."""
    links: Mapping[str, Mapping[str, Estimate]]
    """Those of the other links that are judged, by their names."""
    flow: str
    """What it is of."""
    cc: str
    has_end: bool
    """Whether its flows have an end, which may lie behind that of the run."""
    is_alike: bool
    """Whether its runs are as good as the same, so that they give no interval."""

    def value(self, metric: Metric, link: str = "") -> str:
        """Write a metric, of another link if need be; where only some runs have a value, how many do."""
        if metric.of != "flow" and self.flow != ALL:
            return ""
        found = (self.links.get(link, {}) if link else self.estimates).get(metric.name)
        total = len(self.cell.sound)
        is_missed = found is not None and (found.n or (self.has_end and metric.name == "completion_s"))
        counted = f" ({found.n} of {total})" if found is not None and is_missed and found.n < total else ""
        return written(found, has_interval=not self.is_alike) + counted


def rows_of(sweep: RunSet) -> Iterator[Row]:
    """Yield for each cell a row of all of its flows, and rows of the flows that there is something to tell of."""
    bottlenecks = Bottlenecks.of(sweep.records)
    others = bottlenecks.others
    ends = {
        names.flow_group(flow)
        for record in sweep.records
        for flow in record.run["flows"]
        if flow.get("completion_s") is not None
    }
    are_told = are_flows_told(sweep.records) or not bottlenecks.is_shared
    for cell in sweep.cells:
        found = estimates(cell.sound, are_sums=bottlenecks.adds_up(cell.scenario))
        is_alike = cell.are_alike
        flows = cell.records[0].run["flows"] if cell.records else []
        link = bottlenecks.link(cell.records[0].run)["link"] if cell.records else ""
        of_all = {name: value for (of, name), value in found.items() if of in (ALL, link)}
        if not bottlenecks.is_shared:
            # Nor is it fair or unfair what flows have at different times.
            of_all = {name: value for name, value in of_all.items() if name not in (*RATES, "jain_index")}
        # The mean of a call's rating and another's, or of a game's responses and an upload's, is of nobody.
        of_all = {
            name: value
            for name, value in of_all.items()
            if name not in OF_APPLICATIONS or len(_who_has(name, flows)) < 2
        }
        links = {other: {name: value for (of, name), value in found.items() if of == other} for other in others}
        yield Row(cell, of_all, links, ALL, "", all(names.flow_group(flow) in ends for flow in flows), is_alike)
        if are_told and 1 < len(flows) <= MANY:
            for flow in flows:
                own = {name: value for (of, name), value in found.items() if of == f"flow {flow['flow']}"}
                has_end = names.flow_group(flow) in ends
                yield Row(cell, own, {}, str(names.flow_words(flow)), flow["cc"], has_end, is_alike)
        elif are_told and len(flows) > MANY:
            yield from _rows_of_groups(cell, ends, is_alike)


def are_flows_told(records: Sequence[Record]) -> bool:
    """Return whether flows have names, other controls or an end, so that each is of interest."""
    return any(
        len({flow["cc"] for flow in record.run["flows"]}) > 1
        or any(flow.get("name") or flow.get("completion_s") is not None for flow in record.run["flows"])
        for record in records
    )


def _rows_of_groups(cell: Repeats, ends: Collection[str], is_alike: bool) -> Iterator[Row]:
    """Yield a row of means for each group of many flows, unless there are as many groups."""
    groups = list(dict.fromkeys(_group(flow) for run in cell.runs for flow in run["flows"]))
    if not 1 < len(groups) <= MANY:
        return
    for group in groups:
        members = [[flow for flow in run["flows"] if _group(flow) == group] for run in cell.runs]
        number = max(map(len, members))
        known = {
            metric.name for metric in FLOW_METRICS if any(metric.name in flow for each in members for flow in each)
        }
        own = {name: estimate(_mean(flows, name) for flows in members) for name in known}
        said = group if number == 1 else f"mean of {number} {group}"
        controls = {flow["cc"] for flows in members for flow in flows}
        yield Row(cell, own, {}, said, controls.pop() if len(controls) == 1 else "", group in ends, is_alike)


def _group(flow: Flow) -> str:
    """Name a flow's group; what an application sends and what comes back are one."""
    return names.flow_group(flow).partition(": ")[0]


def _mean(flows: Sequence[Flow], name: str) -> float | None:
    """Return the mean over flows; of rates that of the direction that has more."""
    ways = directions(flows) if name in RATES else [flows]
    return max((mean for way in ways if (mean := MEAN.of(way, name)) is not None), default=None)


def _who_has(name: str, flows: Sequence[Flow]) -> set[str]:
    return {_group(flow) for flow in flows if flow.get(name) is not None}


def usual(sweep: RunSet) -> list[Metric]:
    """Return the metrics that are shown: with applications what a person waits for, in place of rates and fairness."""
    felt = felt_of(sweep)
    return [METRICS[name] for name in ((*felt, *OF_LINKS) if felt else SHOWN)]


def felt_of(sweep: RunSet) -> list[str]:
    """List what there is to be told of applications, and of other flows beside them."""
    flows = [flow for record in sweep for flow in record.run["flows"]]
    found = [name for name in FELT_SHOWN if any(flow.get(name) is not None for flow in flows)]
    return found if any(name in OF_APPLICATIONS for name in found) else []


def columns_of(sweep: RunSet, metrics: Sequence[Metric] | None = None) -> list[Column]:
    """Lay out the table of cells; without `metrics` with the usual ones."""
    rows = list(rows_of(sweep))
    axes = [axis for axis in sweep.axes if axis != SEED]
    columns = []
    if len({row.cell.scenario for row in rows}) > 1:
        columns.append(Column("scenario", "", [row.cell.scenario for row in rows]))
    columns += [Column(axis.rpartition(".")[2], "", [row.cell.axes.get(axis, "") for row in rows]) for axis in axes]
    if any(row.flow != ALL for row in rows):
        columns.append(Column("flow", "", [row.flow.removesuffix(" flows") for row in rows]))
        if not any(_says_cc(axis, rows) for axis in axes) and len({row.cc for row in rows} - {""}) > 1:
            columns.append(Column("cc", "", [row.cc for row in rows]))
    if any(len(cell.records) + len(cell.failures) > 1 for cell in sweep.cells):
        columns.append(Column("runs", "", [len(row.cell.sound) if row.flow == ALL else "" for row in rows], True))
    bottlenecks = Bottlenecks.of(sweep.records)
    for metric in usual(sweep) if metrics is None else metrics:
        columns.append(Column(bottlenecks.heading(metric), metric.unit, [row.value(metric) for row in rows], True))
        for link in bottlenecks.others if metric.of == "link" else ():
            columns.append(
                Column(f"{metric.title}, {link}", metric.unit, [row.value(metric, link) for row in rows], True)
            )
    columns.append(Column("", "", [note(row.cell) if row.flow == ALL else "" for row in rows]))
    return [column for column in columns if any(cell not in ("-", "") for cell in column.cells)]


def _says_cc(axis: str, rows: Sequence[Row]) -> bool:
    """Return whether the labels of an axis are the controls of all flows."""
    return all(row.cell.axes.get(axis) == row.cc for row in rows if row.cc)


def written(value: Estimate | Difference | None, *, has_interval: bool = True) -> str:
    """Write a mean with its interval, where there is one."""
    return with_interval(value.mean if value else None, value.half_width if value and has_interval else None)


def note(cell: Repeats) -> str:
    """Format how many runs of a cell are missing."""
    unsound = len(cell.records) - len(cell.sound)
    counts = [(len(cell.failures), "failed"), (unsound, "unsound")]
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def failures(sweep: RunSet) -> list[str]:
    """List the runs that failed."""
    lines = [f"{place(failure.axes)}repeat {failure.repeat}: {failure.reason}" for failure in sweep.failures]
    return [_listed(f"{len(lines)} of {count_of(len(sweep) + len(lines), 'run')} failed:", lines)] if lines else []


def warnings(sweep: RunSet) -> list[str]:
    """List the runs that are not to be believed."""
    unsound = [record for record in sweep.records if not record.is_sound]
    lines = [f"{place(each.axes)}repeat {each.run['repeat']}: {why_unsound(each.run)}" for each in unsound]
    return [_listed(f"unsound, and not in the table: {count_of(len(lines), 'run')}", lines)] if lines else []


def _listed(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"* {line}" for line in shortened(lines))])


def shortened(lines: Sequence[str]) -> list[str]:
    """Return the first of many lines, and a line that says how many more there are."""
    more = [f"and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return [*lines[:LISTED], *more]
