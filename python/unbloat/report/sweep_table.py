"""What `unbloat sweep` prints: a line about the sweep, a table of its cells, what failed."""

from __future__ import annotations

from collections.abc import Sequence

from unbloat.report.table import Column, render, with_interval
from unbloat.results.metrics import ALL, METRICS
from unbloat.results.record import why_unsound
from unbloat.results.repeats import Repeats, estimates
from unbloat.results.results import Results
from unbloat.results.statistics import Difference, Estimate

FLOW_COLUMNS = ("goodput_mbps", "rtt_ms_mean", "loss_percent", "retransmitted_packets", "completion_s", "jain_index")
LINK_COLUMNS = ("utilisation_percent", "queue_delay_ms_mean")
"""What is shown of all flows and of the bottleneck."""
LISTED = 20
"""Not more failures than this are listed."""


def text_of(sweep: Results) -> str:
    """Give all of it."""
    remarks = [f"warning: {remark}" for remark in sweep.remarks()]
    parts = [headline(sweep), table(sweep), *remarks, *failures(sweep), *warnings(sweep)]
    return "\n\n".join(part for part in parts if part)


def headline(sweep: Results) -> str:
    """Say what ran."""
    cells = sweep.cells
    repeats = max(len(cell.records) + len(cell.failures) for cell in cells)
    parts = [f"{len(cells)} cells, {repeats} runs each" if repeats > 1 else f"{len(cells)} cells, one run each"]
    if sweep.records:
        run = sweep.records[0].run
        parts = [run["scenario"], *parts, " ".join(filter(None, (run["on"], run.get("kernel"))))]
    if repeats > 1:
        parts.append("mean ± half of the 95 % confidence interval")
    return " · ".join(parts)


def table(sweep: Results) -> str:
    """Draw the cells."""
    cells = sweep.cells
    sums = [estimates(cell.sound) for cell in cells]
    columns = [Column(axis.rpartition(".")[2], "", [cell.axes[axis] for cell in cells]) for axis in sweep.axes]
    columns.append(Column("runs", "", [len(cell.sound) for cell in cells]))
    link = next((record.run["links"][0]["link"] for record in sweep.records), "")
    for of, wanted in ((ALL, FLOW_COLUMNS), (link, LINK_COLUMNS)):
        columns += [
            Column(METRICS[key].heading, METRICS[key].unit, [written(each.get((of, key))) for each in sums], True)
            for key in wanted
        ]
    columns.append(Column("", "", [note(cell) for cell in cells]))
    return render([column for column in columns if any(cell not in ("-", "") for cell in column.cells)])


def written(value: Estimate | Difference | None) -> str:
    """Write a mean with its interval, where there is one."""
    if value is None or value.mean is None:
        return "-"
    return with_interval(float(value.mean), value.half_width)


def note(cell: Repeats) -> str:
    """Say how many runs of a cell are missing."""
    unsound = len(cell.records) - len(cell.sound)
    counts = [(len(cell.failures), "failed"), (unsound, "unsound")]
    return ", ".join(f"{number} {what}" for number, what in counts if number)


def failures(sweep: Results) -> list[str]:
    """List the runs that failed."""
    lines = [f"{place(failure.axes)}repeat {failure.repeat}: {failure.reason}" for failure in sweep.failures]
    return [_listed(f"{len(lines)} of {len(sweep.runs)} runs failed:", lines)] if lines else []


def warnings(sweep: Results) -> list[str]:
    """List the runs that are not to be believed."""
    unsound = [record for record in sweep.records if not record.run["sound"]]
    lines = [f"{place(each.axes)}repeat {each.run['repeat']}: {why_unsound(each.run)}" for each in unsound]
    return [_listed(f"{len(lines)} runs are unsound, and not in the table:", lines)] if lines else []


def place(axes: dict[str, str]) -> str:
    """Name a cell."""
    return f"({', '.join(axes.values())}) " if axes else ""


def _listed(head: str, lines: Sequence[str]) -> str:
    more = [f"* and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return "\n".join([head, *(f"* {line}" for line in lines[:LISTED]), *more])
