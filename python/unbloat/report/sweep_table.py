"""What `unbloat sweep` prints: a line about the sweep, a table of its cells, what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unbloat.report.figures.names import path_of
from unbloat.report.table import Column, render, with_interval
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import ALL, MANY, METRICS, Metric, metric_named
from unbloat.results.record import SEED, where_ran, why_unsound
from unbloat.results.repeats import MetricOf, Repeats, estimates
from unbloat.results.results import Results
from unbloat.results.statistics import Difference, Estimate
from unbloat.scenario.checks import count_of

SHOWN = (
    *("goodput_mbps", "rtt_ms_mean", "loss_percent", "retransmitted_packets", "completion_s", "jain_index"),
    *("utilisation_percent", "queue_delay_ms_mean"),
)
"""What is shown of a cell's flows together, and of its bottleneck."""
LISTED = 20
"""Not more lines than this are listed."""
USUAL = [METRICS[name] for name in SHOWN]


def text_of(sweep: Results, metrics: Sequence[str] | None = None) -> str:
    """Format a sweep for a terminal; `metrics` replace the usual ones, by their short names or their columns."""
    remarks = [f"warning: {remark}" for remark in sweep.remarks()]
    shown = USUAL if metrics is None else [metric_named(name) for name in metrics]
    parts = [headline(sweep), render(columns_of(sweep, shown)), *remarks, *failures(sweep), *warnings(sweep)]
    return "\n\n".join(part for part in parts if part)


def headline(sweep: Results) -> str:
    """Describe what ran, and below it over which path, as far as it is the same for all runs."""
    cells = sweep.cells
    repeats = max(len(cell.records) + len(cell.failures) for cell in cells)
    number = count_of(len(cells), "cell")
    parts = [f"{number}, {repeats} runs each" if repeats > 1 else f"{number}, one run each"]
    if sweep.records:
        run = sweep.records[0].run
        parts = [run["scenario"], *parts, where_ran(run)]
    if repeats > 1:
        parts.append("mean ± half of the 95 % confidence interval")
    return "\n".join(filter(None, [" · ".join(parts), path_of(sweep.records)]))


@dataclass(frozen=True)
class Row:
    """A row of the table: a cell, with all of its flows or one of them."""

    cell: Repeats
    estimates: dict[MetricOf, Estimate]
    flow: str
    """What it is of."""
    cc: str

    def value(self, metric: Metric, bottlenecks: Bottlenecks) -> str:
        """Write a metric of these flows; of the bottleneck and the run where the row is of all flows."""
        if metric.of != "flow" and self.flow != ALL:
            return ""
        link = bottlenecks.link(self.cell.records[0].run)["link"] if self.cell.records else ""
        return written(self.estimates.get((link if metric.of == "link" else self.flow, metric.name)))


def rows_of(cell: Repeats) -> Iterator[Row]:
    """Yield a row for a cell, or one for each congestion control where its flows have several."""
    found = estimates(cell.sound)
    yield Row(cell, found, ALL, "")
    flows = cell.records[0].run["flows"] if cell.records else []
    if len(flows) <= MANY and len({flow["cc"] for flow in flows}) > 1:
        yield from (Row(cell, found, f"flow {flow['flow']}", flow["cc"]) for flow in flows)


def columns_of(sweep: Results, metrics: Sequence[Metric] = USUAL) -> list[Column]:
    """Lay out the table of cells."""
    rows = [row for cell in sweep.cells for row in rows_of(cell)]
    axes = [axis for axis in sweep.axes if axis != SEED]
    bottlenecks = Bottlenecks.of(sweep.records)
    columns = []
    if len({row.cell.scenario for row in rows}) > 1:
        columns.append(Column("scenario", "", [row.cell.scenario for row in rows]))
    columns += [Column(axis.rpartition(".")[2], "", [row.cell.axes.get(axis, "") for row in rows]) for axis in axes]
    columns.append(Column("runs", "", [len(row.cell.sound) if row.flow == ALL else "" for row in rows], True))
    if any(row.cc for row in rows):
        columns.append(Column("flow", "", [row.flow.removeprefix("flow ").removesuffix(" flows") for row in rows]))
        columns.append(Column("cc", "", [row.cc for row in rows]))
    columns += [
        Column(bottlenecks.heading(metric), metric.unit, [row.value(metric, bottlenecks) for row in rows], True)
        for metric in metrics
    ]
    columns.append(Column("", "", [note(row.cell) if row.flow == ALL else "" for row in rows]))
    return [column for column in columns if any(cell not in ("-", "") for cell in column.cells)]


def written(value: Estimate | Difference | None) -> str:
    """Write a mean with its interval, where there is one."""
    if value is None or value.mean is None:
        return "-"
    return with_interval(float(value.mean), value.half_width)


def note(cell: Repeats) -> str:
    """Format how many runs of a cell are missing."""
    unsound = len(cell.records) - len(cell.sound)
    counts = [(len(cell.failures), "failed"), (unsound, "unsound")]
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def failures(sweep: Results) -> list[str]:
    """List the runs that failed."""
    lines = [f"{place(failure.axes)}repeat {failure.repeat}: {failure.reason}" for failure in sweep.failures]
    return [_listed(f"{len(lines)} of {count_of(len(sweep) + len(lines), 'run')} failed:", lines)] if lines else []


def warnings(sweep: Results) -> list[str]:
    """List the runs that are not to be believed."""
    unsound = [record for record in sweep.records if not record.is_sound]
    lines = [f"{place(each.axes)}repeat {each.run['repeat']}: {why_unsound(each.run)}" for each in unsound]
    return [_listed(f"unsound, and not in the table: {count_of(len(lines), 'run')}", lines)] if lines else []


def place(axes: dict[str, str]) -> str:
    """Name a cell."""
    return f"({', '.join(axes.values())}) " if axes else ""


def _listed(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"* {line}" for line in shortened(lines))])


def shortened(lines: Sequence[str]) -> list[str]:
    """Return the first of many lines, and a line that says how many more there are."""
    more = [f"and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return [*lines[:LISTED], *more]
