"""The tables that `unbloat run` prints, of runs and of repeated grid points, each below a line about the experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from unbloat.report import names
from unbloat.report.table import Column, fits, render, show
from unbloat.results.bottleneck import RATES, Bottlenecks, directions
from unbloat.results.grid_points import MetricOf, Repeats, estimates
from unbloat.results.metrics import (
    AHEAD,
    ALL,
    FLOW_METRICS,
    MANY,
    MEAN,
    METRICS,
    NO_CONTROL,
    Metric,
    Row,
    is_ahead,
    is_there,
    metric_named,
    number,
)
from unbloat.results.record import SEED, Record, flows_by_group, place, where_ran, why_unsound
from unbloat.results.rows import Flow, Link, Run
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Difference, Estimate, estimate
from unbloat.system.legible import count_of, with_interval

FLOW_COLUMNS = (
    *("goodput_mbps", "rtt_ms_mean", "rtt_ms_p95", "rtt_ms_max", "loss_percent", "retransmitted_packets"),
    *("cwnd_packets_mean", "completion_s"),
)
BESIDE_APPLICATIONS = ("goodput_mbps", "rtt_ms_mean", "loss_percent", "completion_s")
"""Columns of flows beside those of their applications."""
APP_COLUMNS = (
    *("response_ms_mean", "response_ms_p95", "page_load_s_mean", "page_load_s_p95", "startup_s", "stalled_percent"),
    *("bitrate_mbps_mean", "delay_ms_mean", "delay_ms_p95", "opinion_score", "unfinished", "skipped"),
)
"""Columns of applications, where a flow has them: a person waits for these."""
LINK_COLUMNS = (
    *("utilisation_percent", "queue_percent_mean", "queue_delay_ms_mean", "queue_delay_ms_p95", "queue_delay_ms_max"),
    *("drops", "wire_losses"),
)
REAL_COLUMNS = ("lateness_us_p99", "cpu_idle_percent")
"""Columns that say how well the machine kept up with a run in real time."""
RARE = ("wire_losses", "unfinished", "skipped", "retransmitted_packets")
"""Columns that are left out where all of them are 0."""
HELD_UP_MS = 1.0
"""From this 95th percentile of the queueing delay on a queue holds packets up; acknowledgements that meet do not."""

OF_LINKS = ("utilisation_percent", "queue_delay_ms_mean")
POINT_COLUMNS = (
    *("goodput_mbps", "rtt_ms_mean", "loss_percent", "retransmitted_packets", "completion_s", "jain_index"),
    *OF_LINKS,
)
"""Columns of a grid point: of its flows together, and of its bottleneck."""
OF_APPLICATIONS = ("opinion_score", "rating", "page_load_s_mean", "startup_s", "stalled_percent", "response_ms_mean")
USER_PERCEIVED_COLUMNS = (*OF_APPLICATIONS, "goodput_mbps")
"""Columns of a grid point with applications, in place of the other metrics of flows."""
LISTED = 20
"""Failed or unsound runs that are listed one by one, at most."""


# ---------------------------------------------------------------- What ran


def headline(results: RunSet, *, of_points: bool = False) -> str:
    """Describe what ran, or which grid points did, and below it the path, as far as all runs share it."""
    parts = _of_points(results) if of_points else _of_runs(results)
    return "\n".join(filter(None, [" · ".join(parts), names.path_of(results.records)]))


def _of_runs(results: RunSet) -> Iterator[str]:
    first = results.records[0].run
    yield _common(results, lambda run: run["scenario"])
    yield f"{count_of(len(results), 'run')} of {duration(results)}" if results.axes else duration(results)
    yield f"seed {', '.join(map(str, sorted({record.seed for record in results.records})))}"
    yield _common(results, where_ran)
    if not results.axes and len(first["flows"]) > 1 and first["jain_index"] is not None:
        yield f"Jain index {first['jain_index']:.3f}"


def _of_points(results: RunSet) -> Iterator[str]:
    repeats = max(len(point.records) + len(point.failures) for point in results.points)
    if results.records:
        yield _common(results, lambda run: run["scenario"])
    yield f"{count_of(len(results.points), 'grid point')}, {f'{repeats} runs' if repeats > 1 else 'one run'} each"
    if results.records:
        yield _common(results, where_ran)
    if repeats > 1:
        yield "mean ± half of the 95 % confidence interval"


def _common(results: RunSet, take: Callable[[Run], str]) -> str:
    """List what the runs have, such as their scenario: that of the first may not be that of all."""
    return ", ".join(dict.fromkeys(take(record.run) for record in results.records))


def duration(results: RunSet) -> str:
    """Write how long the runs are; from the shortest to the longest where that is swept."""
    times = sorted({float(record.run["duration_s"]) for record in results.records})
    return f"{' to '.join(dict.fromkeys((show(times[0]), show(times[-1]))))} s"


def _axis_columns(axes: Iterable[str], labels: Sequence[Mapping[str, str]]) -> list[Column]:
    """Return a column for each axis of the sweep, under the last part of its name."""
    return [Column(axis.rpartition(".")[2], "", [each.get(axis, "") for each in labels]) for axis in axes]


# ---------------------------------------------------------------- Runs


def text_of_runs(results: RunSet, metrics: Sequence[str] = ()) -> str:
    """Format runs for a terminal: title, path, the table of flows, the table of links.

    `metrics` replace the usual ones, by their short names or their columns.
    """
    unsound = [
        f"{_called(record, n)} is unsound: {why_unsound(record.run)}"
        for n, record in enumerate(results.records)
        if not record.is_sound
    ]
    parts = [
        headline(results),
        *_tables_of_runs(results, [metric_named(name) for name in metrics]),
        *([AHEAD] if any(is_ahead(record.run) for record in results) else []),
        *(f"warning: {sentence}" for sentence in [*results.doubts, *results.unconnected(), *unsound]),
    ]
    return "\n\n".join(part for part in parts if part)


def _called(record: Record, number: int) -> str:
    """Name a run: by its labels, or its number."""
    return f"run {number} ({', '.join(record.axes.values())})" if record.axes else "the run"


def _tables_of_runs(results: RunSet, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield the tables; where they are long and too wide for the screen, those of each grid point by themselves."""
    if metrics:
        yield from _chosen(results, metrics)
        return
    tables = [flows_columns(results), links_columns(results)]
    if all(map(fits, tables)) or len(tables[0][0].cells) <= MANY or not results.axes:
        yield from map(render, tables)
        return
    if perceived_of(results):  # Applications have many flows each.
        yield render(points_columns(results))
        yield "The flows and links of each grid point stand in what -o DIR writes, and in --json."
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
            columns = _axis_columns(results.axes, [record.axes for record, _ in rows])
            columns.append(Column(head, "", [called(row) for _, row in rows]))
            columns += [Column(each.title, each.unit, [row.get(each.name) for _, row in rows]) for each in own]
            yield render([*columns, _soundness(record for record, _ in rows)])


def flows_columns(results: RunSet, *, titled: bool = False) -> list[Column]:
    """Lay out the table of flows; `titled` spells out the headings of percentiles, for use without their mean."""
    rows = [(record, row) for record in results.records for row in flow_rows(record.run)]
    columns = _axis_columns(results.axes, [record.axes for record, _ in rows])
    columns.append(Column("flow", "", [names.flow_words(row) for _, row in rows]))
    if not _is_an_axis(results.axes, [(record.axes, str(row["cc"])) for record, row in rows]):
        columns.append(Column("cc", "", [row["cc"] for _, row in rows]))
    of_applications = [key for key in APP_COLUMNS if any(row.get(key) is not None for _, row in rows)]
    shown = FLOW_COLUMNS if titled or not of_applications else BESIDE_APPLICATIONS
    columns += _value_columns((*shown, *of_applications), [row for _, row in rows], titled)
    return [*columns, _soundness(record for record, _ in rows)]


def _is_an_axis(axes: Iterable[str], controls: Sequence[tuple[Mapping[str, str], str]]) -> bool:
    """Return whether the labels of an axis are the congestion controls of all rows that have one."""
    return any(all(labels.get(axis) == cc for labels, cc in controls if cc not in ("", NO_CONTROL)) for axis in axes)


def _soundness(records: Iterable[Record]) -> Column:
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
    return [group[0] if len(group) == 1 else _mean_row(group) for group in groups]


def _mean_row(flows: Sequence[Flow]) -> Row:
    """Fold flows of one congestion control into one row of means; it says how many did not come to their end.

    Those that came to it in the warm-up count by how long they took only: nothing else of theirs was measured.
    """
    unfinished = sum(flow["completion_s"] is None for flow in flows)
    measured = [flow for flow in flows if flow["completion_s"] is None or flow.get("throughput_mbps") != 0]
    early = len(flows) - len(measured)
    counts = ((unfinished, "unfinished"), (early, "ended in the warm-up"))
    remark = "".join(f", {count} {what}" for count, what in counts if 0 < count < len(flows))
    # An application's flows are called by its name, and what they carry.
    called = {name.partition(": ")[0] if (name := flow.get("name")) else None for flow in flows}
    row: dict[str, object] = {
        "flow": f"mean of {len(flows)}{remark}",
        "cc": flows[0]["cc"],
        "name": called.pop() if len(called) == 1 else None,
    }
    for metric in FLOW_METRICS:
        if is_there(flows, metric):
            row[metric.name] = _mean(flows if metric.key == "completion" else measured or flows, metric.name)
    return row


def _mean(flows: Sequence[Flow], name: str) -> float | None:
    """Return the mean over flows; of rates that of the direction that has more."""
    ways = directions(flows) if name in RATES else [flows]
    return max((mean for way in ways if (mean := MEAN.of(way, name)) is not None), default=None)


def links_columns(results: RunSet, *, titled: bool = False) -> list[Column]:
    """Lay out the table of links: the first one, and all others where something happens or could."""
    links = ((record, place, link) for record in results.records for place, link in enumerate(record.run["links"]))
    rows = [(record, place, link) for record, place, link in links if place == 0 or _matters(link)]
    columns = _axis_columns(results.axes, [record.axes for record, *_ in rows])
    columns.append(Column("link", "", [link["link"] for *_, link in rows]))
    marks = ("marks",) if any(link.get("marks") for *_, link in rows) else ()
    columns += _value_columns((*LINK_COLUMNS, *marks), [link for *_, link in rows], titled)
    for key in REAL_COLUMNS:  # What is the run's stands beside the first of its links.
        values = [number(record.run, key) if place == 0 else None for record, place, _ in rows]
        columns.append(Column(METRICS[key].heading, METRICS[key].unit, values))
    return [*columns, _soundness(record for record, *_ in rows)]


def _matters(link: Link) -> bool:
    """Return whether a link is a bottleneck, and not a reverse direction or an access link where nothing happens.

    A limit or a discipline is there for a reason, and what was dropped, marked, lost or held up counts.
    """
    is_plain = link.get("queue_kind") in (None, "droptail") and link["queue_percent_mean"] is None
    happened = (
        link["drops"] or link.get("marks") or link["wire_losses"] or (link["queue_delay_ms_p95"] or 0) >= HELD_UP_MS
    )
    return not is_plain or bool(happened)


def _value_columns(columns: Iterable[str], rows: Sequence[Row], titled: bool) -> list[Column]:
    """Return a column for each of these metrics."""
    metrics = [METRICS[name] for name in columns]
    return [
        Column(metric.title if titled else metric.heading, metric.unit, [row.get(metric.name) for row in rows])
        for metric in metrics
        if metric.name not in RARE or any(row.get(metric.name) for row in rows)
    ]


# ---------------------------------------------------------------- Grid points


def text_of_points(results: RunSet, metrics: Sequence[str] = ()) -> str:
    """Format repeated grid points for a terminal; `metrics` replace the usual ones, by short names or columns."""
    failed = [f"{place(each.axes)}repeat {each.repeat}: {each.reason}" for each in results.failures]
    unsound = [
        f"{place(each.axes)}repeat {each.run['repeat']}: {why_unsound(each.run)}"
        for each in results.records
        if not each.is_sound
    ]
    lists = {
        f"{len(failed)} of {count_of(len(results) + len(failed), 'run')} failed:": failed,
        f"unsound, and not in the table: {count_of(len(unsound), 'run')}": unsound,
    }
    parts = [
        headline(results, of_points=True),
        render(points_columns(results, [metric_named(name) for name in metrics])),
        *(f"warning: {remark}" for remark in results.remarks()),
        *("\n".join([head, *(f"* {line}" for line in shortened(lines))]) for head, lines in lists.items() if lines),
    ]
    return "\n\n".join(part for part in parts if part)


def shortened(lines: Sequence[str]) -> list[str]:
    """Return the first of many lines, and a line that says how many more there are."""
    more = [f"and {len(lines) - LISTED} more"] if len(lines) > LISTED else []
    return [*lines[:LISTED], *more]


@dataclass(frozen=True)
class PointRow:
    """A row of the table: a grid point, with all of its flows, one of them, or the mean of some."""

    point: Repeats
    estimates: Mapping[MetricOf, Estimate]
    of: str
    """The object of the estimates that are its own."""
    flow: str
    """The name of its flows."""
    cc: str
    link: str
    """The grid point's bottleneck."""
    has_end: bool
    """True if its flows have an end, which may lie behind that of the run."""
    is_alike: bool
    """True if its runs are as good as the same, so that they give no interval."""

    def value(self, metric: Metric, link: str = "") -> str:
        """Write a metric, of another link if need be; where only some runs have a value, how many do."""
        if metric.of != "flow" and self.flow != ALL:
            return ""
        found = self.estimates.get(((link or self.link) if metric.of == "link" else self.of, metric.name))
        total = len(self.point.sound)
        is_missed = found is not None and (found.n or (self.has_end and metric.name == "completion_s"))
        counted = f" ({found.n} of {total})" if found is not None and is_missed and found.n < total else ""
        return written(found, has_interval=not self.is_alike) + counted


def written(value: Estimate | Difference | None, *, has_interval: bool = True) -> str:
    """Write a mean with its interval, where there is one."""
    return with_interval(value.mean if value else None, value.half_width if value and has_interval else None)


def _point_rows(results: RunSet) -> Iterator[PointRow]:
    """Yield for each grid point a row of all its flows, and rows of the flows with something to report."""
    bottlenecks = Bottlenecks.of(results.records)
    every = [flow for record in results.records for flow in record.run["flows"]]
    ends = {names.flow_group(flow) for flow in every if flow.get("completion_s") is not None}
    are_reported = names.are_flows_reported(results.records) or not bottlenecks.is_shared
    for point in results.points:
        found, is_alike = estimates(point.sound, are_sums=bottlenecks.adds_up(point.scenario)), point.are_alike
        flows = point.records[0].run["flows"] if point.records else []
        link = bottlenecks.link(point.records[0].run)["link"] if point.records else ""
        have_ends = all(names.flow_group(flow) in ends for flow in flows)
        of_nobody = {(ALL, name) for name in _of_nobody(flows, bottlenecks)}
        of_all = {key: value for key, value in found.items() if key not in of_nobody}
        yield PointRow(point, of_all, ALL, ALL, "", link, have_ends, is_alike)
        if are_reported and 1 < len(flows) <= MANY:
            for flow in flows:
                of, called = f"flow {flow['flow']}", str(names.flow_words(flow))
                yield PointRow(point, found, of, called, flow["cc"], link, names.flow_group(flow) in ends, is_alike)
        elif are_reported and len(flows) > MANY:
            for group, members in _groups(point).items():
                size = max(map(len, members))
                called = group if size == 1 else f"mean of {size} {group}"
                controls = {flow["cc"] for flows in members for flow in flows}
                cc = controls.pop() if len(controls) == 1 else ""
                yield PointRow(point, _means(group, members), group, called, cc, link, group in ends, is_alike)


def _of_nobody(flows: Sequence[Flow], bottlenecks: Bottlenecks) -> list[str]:
    """List metrics that say nothing of all flows together.

    A mean over a call's rating and another's, or over a game's responses and an upload's, describes neither. Fairness
    needs flows at the same time.
    """
    has = {name: {_group(flow) for flow in flows if flow.get(name) is not None} for name in OF_APPLICATIONS}
    mixed = [name for name, groups in has.items() if len(groups) > 1]
    return mixed if bottlenecks.is_shared else [*mixed, *RATES, "jain_index"]


def _groups(point: Repeats) -> dict[str, list[list[Flow]]]:
    """Sort many flows by their groups, those of each sound run; none where there are as many groups, or only one."""
    groups = dict.fromkeys(_group(flow) for run in point.runs for flow in run["flows"])
    if not 1 < len(groups) <= MANY:
        return {}
    return {group: [[flow for flow in run["flows"] if _group(flow) == group] for run in point.runs] for group in groups}


def _group(flow: Flow) -> str:
    """Name a flow's group; what an application sends and what comes back are one."""
    return names.flow_group(flow).partition(": ")[0]


def _means(group: str, members: Sequence[Sequence[Flow]]) -> dict[MetricOf, Estimate]:
    """Estimate the metrics of a group by the means over its flows in each run."""
    known = [metric.name for metric in FLOW_METRICS if any(is_there(flows, metric) for flows in members)]
    return {(group, name): estimate(_mean(flows, name) for flows in members) for name in known}


def usual(results: RunSet) -> list[Metric]:
    """Return the metrics that are shown: with applications what a person waits for, in place of rates and fairness."""
    perceived = perceived_of(results)
    return [METRICS[name] for name in ((*perceived, *OF_LINKS) if perceived else POINT_COLUMNS)]


def perceived_of(results: RunSet) -> list[str]:
    """List what to report of applications, and of other flows beside them."""
    flows = [flow for record in results for flow in record.run["flows"]]
    found = [name for name in USER_PERCEIVED_COLUMNS if any(flow.get(name) is not None for flow in flows)]
    return found if any(name in OF_APPLICATIONS for name in found) else []


def points_columns(results: RunSet, metrics: Sequence[Metric] = ()) -> list[Column]:
    """Lay out the table of grid points; without `metrics` with the usual ones."""
    rows = list(_point_rows(results))
    axes = [axis for axis in results.axes if axis != SEED]
    columns = []
    if len({row.point.scenario for row in rows}) > 1:
        columns.append(Column("scenario", "", [row.point.scenario for row in rows]))
    columns += _axis_columns(axes, [row.point.axes for row in rows])
    if any(row.flow != ALL for row in rows):
        columns.append(Column("flow", "", [row.flow.removesuffix(" flows") for row in rows]))
        is_an_axis = _is_an_axis(axes, [(row.point.axes, row.cc) for row in rows])
        if not is_an_axis and len({row.cc for row in rows} - {""}) > 1:
            columns.append(Column("cc", "", [row.cc for row in rows]))
    if any(len(point.records) + len(point.failures) > 1 for point in results.points):
        columns.append(Column("runs", "", [len(row.point.sound) if row.flow == ALL else "" for row in rows], True))
    bottlenecks = Bottlenecks.of(results.records)
    for metric in metrics or usual(results):
        columns.append(Column(bottlenecks.heading(metric), metric.unit, [row.value(metric) for row in rows], True))
        for link in bottlenecks.others if metric.of == "link" else ():
            head = f"{metric.title}, {link}"
            columns.append(Column(head, metric.unit, [row.value(metric, link) for row in rows], True))
    columns.append(Column("", "", [_missing(row.point) if row.flow == ALL else "" for row in rows]))
    return [column for column in columns if any(cell not in ("-", "") for cell in column.cells)]


def _missing(point: Repeats) -> str:
    """Write how many runs of a grid point are missing."""
    counts = [(len(point.failures), "failed"), (len(point.records) - len(point.sound), "unsound")]
    return ", ".join(f"{number} {what}" for number, what in counts if number)
