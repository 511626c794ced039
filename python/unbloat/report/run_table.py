"""What `unbloat run` prints: a line about the experiment, a table of its flows, a table of its links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from unbloat.report import names, sweep_table
from unbloat.report.names import path_of
from unbloat.report.table import Column, fits, render
from unbloat.results.bottleneck import RATES, directions
from unbloat.results.metrics import (
    AHEAD,
    FLOW_METRICS,
    MANY,
    METRICS,
    NO_CONTROL,
    Metric,
    Row,
    is_ahead,
    metric_named,
    number,
)
from unbloat.results.record import Record, flows_by_group, where_ran, why_unsound
from unbloat.results.rows import Flow, Link, Run
from unbloat.results.run_set import RunSet
from unbloat.system.legible import count_of

FLOW_COLUMNS = (
    *("goodput_mbps", "rtt_ms_mean", "rtt_ms_p95", "rtt_ms_max", "loss_percent", "retransmitted_packets"),
    *("cwnd_packets_mean", "completion_s"),
)
BESIDE_APPLICATIONS = ("goodput_mbps", "rtt_ms_mean", "loss_percent", "completion_s")
"""What is shown of flows beside what their applications wait for."""
LINK_COLUMNS = (
    *("utilisation_percent", "queue_percent_mean", "queue_delay_ms_mean", "queue_delay_ms_p95", "queue_delay_ms_max"),
    *("drops", "wire_losses"),
)
APP_COLUMNS = (
    *("response_ms_mean", "response_ms_p95", "page_load_s_mean", "page_load_s_p95", "startup_s", "stalled_percent"),
    *("bitrate_mbps_mean", "delay_ms_mean", "delay_ms_p95", "opinion_score", "unfinished", "skipped"),
)
"""What a person waits for, where a flow has it."""
RARE = ("wire_losses", "unfinished", "skipped", "retransmitted_packets")
"""Columns that are left out where all of them are 0."""
HELD_UP_MS = 1.0
"""From this 95th percentile of the queueing delay on a queue holds packets up; acknowledgements that meet do not."""
REAL_COLUMNS = ("lateness_us_p99", "cpu_idle_percent")
"""How well the machine kept up with a run in real time."""


def text_of(results: RunSet, metrics: Sequence[str] = ()) -> str:
    """Format runs for a terminal: title, path, the table of flows, the table of links.

    `metrics` replace the usual ones, by their short names or their columns.
    """
    doubts = [f"warning: {doubt}" for doubt in results.doubts]
    notes = [AHEAD] if any(is_ahead(record.run) for record in results) else []
    parts = [
        headline(results),
        *_tables(results, [metric_named(name) for name in metrics]),
        *notes,
        *doubts,
        *(f"warning: {sentence}" for sentence in results.unconnected()),
        *warnings(results.records),
    ]
    return "\n\n".join(part for part in parts if part)


def _tables(results: RunSet, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield the tables; where they are long and too wide for the screen, those of each cell by themselves."""
    if metrics:
        yield from _chosen(results, metrics)
        return
    tables = [flows_columns(results), links_columns(results)]
    if all(map(fits, tables)) or len(tables[0][0].cells) <= MANY or not results.axes:
        yield from map(render, tables)
        return
    if sweep_table.felt_of(results):  # Applications have many flows each.
        yield render(sweep_table.columns_of(results))
        yield "The flows and links of each cell stand in what -o DIR writes, and in --json."
        return
    for record in results.records:
        alone = RunSet([Record({}, record.run)])
        yield ", ".join(f"{axis.rpartition('.')[2]} {label}" for axis, label in record.axes.items())
        yield from (render(columns) for columns in (flows_columns(alone), links_columns(alone)))


def _chosen(results: RunSet, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield a table of flows, of links and of runs, each with those of the metrics that it has."""
    parts: dict[str, tuple[str, Callable[[Row], object], Callable[[Run], Sequence[Row]]]] = {
        "flow": ("flow", names.flow_words, flow_rows),
        "link": ("link", lambda link: link["link"], lambda run: run["links"]),
        "run": ("", lambda _: "", lambda run: [run]),
    }
    for of, (head, called, rows_of) in parts.items():
        own = [metric for metric in metrics if metric.of == of]
        rows = [
            (record, row)
            for record in results.records
            for row in rows_of(record.run)
            if any(row.get(metric.name) is not None for metric in own)
        ]
        if rows:
            columns = axis_columns(results, [record for record, _ in rows])
            columns.append(Column(head, "", [called(row) for _, row in rows]))
            columns += [Column(each.title, each.unit, [row.get(each.name) for _, row in rows]) for each in own]
            yield render([*columns, soundness(record for record, _ in rows)])


def headline(results: RunSet) -> str:
    """Describe what ran, and below it over which path, as far as it is the same for all runs."""
    run = results.records[0].run
    seeds = sorted({record.run["seed"] for record in results.records})
    parts = [
        sweep_table.common(results, lambda run: str(run["scenario"])),
        f"{count_of(len(results), 'run')} of {sweep_table.duration(results)}"
        if results.axes
        else sweep_table.duration(results),
        f"seed {', '.join(map(str, seeds))}",
        sweep_table.common(results, where_ran),
    ]
    if not results.axes and len(run["flows"]) > 1 and run["jain_index"] is not None:
        parts.append(f"Jain index {run['jain_index']:.3f}")
    return "\n".join(filter(None, [" · ".join(parts), path_of(results.records)]))


def flows_columns(results: RunSet, *, titled: bool = False) -> list[Column]:
    """Lay out the table of flows; `titled` spells out the headings of percentiles, for use without their mean."""
    rows = [(record, row) for record in results.records for row in flow_rows(record.run)]
    columns = axis_columns(results, [record for record, _ in rows])
    columns.append(Column("flow", "", [names.flow_words(row) for _, row in rows]))
    controls = [row["cc"] for _, row in rows]
    if not says_cc(results, rows):
        columns.append(Column("cc", "", controls))
    of_applications = [key for key in APP_COLUMNS if any(row.get(key) is not None for _, row in rows)]
    shown = FLOW_COLUMNS if titled or not of_applications else BESIDE_APPLICATIONS
    columns += value_columns((*shown, *of_applications), [row for _, row in rows], titled)
    return [*columns, soundness(record for record, _ in rows)]


def says_cc(results: RunSet, rows: Sequence[tuple[Record, Row]]) -> bool:
    """Return whether an axis has said already which congestion control each flow has; of applications it is none."""
    return any(
        all(record.axes.get(axis) == row["cc"] for record, row in rows if row["cc"] != NO_CONTROL)
        for axis in results.axes
    )


def soundness(records: Iterable[Record]) -> Column:
    """Mark unsound runs; empty where all runs are sound."""
    return Column("", "", ["" if record.is_sound else "unsound" for record in records])


def flow_rows(run: Run) -> Sequence[Row]:
    """Make a row for each flow; where there are many, for each group; then for each congestion control."""
    flows, sizes = run["flows"], run.get("groups", [])
    if len(flows) <= MANY:
        return flows
    if 0 < sum(map(bool, sizes)) <= MANY:
        groups = [group for group in flows_by_group(run) if group]
    else:
        controls = dict.fromkeys(flow["cc"] for flow in flows)
        groups = [[flow for flow in flows if flow["cc"] == cc] for cc in controls]
    return [group[0] if len(group) == 1 else mean_of(group) for group in groups]


def mean_of(flows: Sequence[Flow]) -> Row:
    """Fold flows of one congestion control into one row of means; it says how many did not come to their end.

    Those that came to it in the warm-up count by how long they took only: nothing else of theirs was measured.
    """
    unfinished = sum(flow["completion_s"] is None for flow in flows)
    measured = [flow for flow in flows if flow["completion_s"] is None or flow.get("throughput_mbps") != 0]
    early = len(flows) - len(measured)
    counts = ((unfinished, "unfinished"), (early, "ended in the warm-up"))
    remark = "".join(f", {count} {what}" for count, what in counts if 0 < count < len(flows))
    # An application's flows are called by its name, and what they carry.
    names = {name.partition(": ")[0] if (name := flow.get("name")) else None for flow in flows}
    name = names.pop() if len(names) == 1 else None
    row: dict[str, object] = {"flow": f"mean of {len(flows)}{remark}", "cc": flows[0]["cc"], "name": name}
    for key in [metric.name for metric in FLOW_METRICS if any(metric.name in flow for flow in flows)]:
        of = flows if key == "completion_s" else measured or flows
        known = [
            [value for flow in part if (value := number(flow, key)) is not None]
            for part in (directions(of) if key in RATES else [of])
        ]
        row[key] = max((fmean(each) for each in known if each), default=None)
    return row


def links_columns(results: RunSet, *, titled: bool = False) -> list[Column]:
    """Lay out the table of links: the first one, and all others where something happens or could."""
    links = ((record, place, link) for record in results.records for place, link in enumerate(record.run["links"]))
    rows = [(record, link) for record, place, link in links if place == 0 or matters(link)]
    columns = axis_columns(results, [record for record, _ in rows])
    columns.append(Column("link", "", [link["link"] for _, link in rows]))
    marks = ("marks",) if any(link.get("marks") for _, link in rows) else ()
    columns += value_columns((*LINK_COLUMNS, *marks), [link for _, link in rows], titled)
    columns += [
        Column(METRICS[key].heading, METRICS[key].unit, [own(*row, key) for row in rows]) for key in REAL_COLUMNS
    ]
    return [*columns, soundness(record for record, _ in rows)]


def own(record: Record, link: Link, key: str) -> float | None:
    """Return a value of the run as a whole in the row of the first of its links, otherwise None."""
    return number(record.run, key) if link is record.run["links"][0] else None


def matters(link: Link) -> bool:
    """Return whether a link is a bottleneck, and not a reverse direction or an access link where nothing happens.

    A limit or a discipline is there for a reason, and what was dropped, marked, lost or held up counts.
    """
    is_plain = link.get("queue_kind") in (None, "droptail") and link["queue_percent_mean"] is None
    happened = (
        link["drops"] or link.get("marks") or link["wire_losses"] or (link["queue_delay_ms_p95"] or 0) >= HELD_UP_MS
    )
    return not is_plain or bool(happened)


def axis_columns(results: RunSet, records: Sequence[Record]) -> list[Column]:
    """Return a column for each axis of the sweep, under the last part of its name."""
    return [
        Column(axis.rpartition(".")[2], "", [record.axes.get(axis, "") for record in records]) for axis in results.axes
    ]


def value_columns(names: Iterable[str], rows: Sequence[Row], titled: bool) -> list[Column]:
    """Return a column for each of these metrics."""
    metrics = [METRICS[name] for name in names]
    return [
        Column(metric.title if titled else metric.heading, metric.unit, [row.get(metric.name) for row in rows])
        for metric in metrics
        if metric.name not in RARE or any(row.get(metric.name) for row in rows)
    ]


def warnings(records: Iterable[Record]) -> list[str]:
    """List the runs that are unsound."""
    return [
        f"warning: {called(record, n)} is unsound: {why_unsound(record.run)}"
        for n, record in enumerate(records)
        if not record.is_sound
    ]


def called(record: Record, number: int) -> str:
    """Name a run: by its labels, or its number."""
    return f"run {number} ({', '.join(record.axes.values())})" if record.axes else "the run"
