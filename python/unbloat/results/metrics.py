"""The register of everything that results have columns for, as the core declares it beside the records.

Tables on the screen, sweeps, comparisons, the claims of papers and the reference page take their words from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from unbloat._core import InputError, folds, record_columns, series_columns
from unbloat.results.rows import Link, Run
from unbloat.scenarios.checks import did_you_mean
from unbloat.system.legible import markdown_table

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, object]
"""A flow, a link or a run of the records."""
Metrics = dict[str, float | None]
Of = Literal["flow", "link", "run", "node"]
Kind = Literal["text", "flag", "integer", "number", "integers"]

ALL = "all flows"
NO_CONTROL = "none"
"""The `cc` of datagrams."""
MANY = 12
"""More flows, runs or lines than this are not shown one by one."""


DECLARED = record_columns()
"""The columns of runs, flows, links and nodes."""


def number(row: Row, column: str) -> float | None:
    """Return the number in a column; None where the row has none."""
    value = row.get(column)
    return value if isinstance(value, int | float) else None


@dataclass(frozen=True)
class Fold:
    """A function that folds the values of several flows into one."""

    words: str
    of: Callable[[Sequence[Row], str], float | None]


def _folded_by(of_values: Callable[[list[float]], float]) -> Callable[[Sequence[Row], str], float | None]:
    """Fold the values of those flows that have one."""

    def of(flows: Sequence[Row], name: str) -> float | None:
        known = [value for flow in flows if (value := number(flow, name)) is not None]
        return of_values(known) if known else None

    return of


_sum, _max = _folded_by(sum), _folded_by(max)


def _loss(flows: Sequence[Row], _: str) -> float | None:
    sent, lost = (_sum(flows, name) for name in ("sent_packets", "lost_packets"))
    return 100 * lost / sent if sent and lost is not None else None


def _last(flows: Sequence[Row], name: str) -> float | None:
    return None if any(flow.get(name) is None for flow in flows) else _max(flows, name)


def _mean_or_zero(flows: Sequence[Row], name: str) -> float | None:
    return fmean(number(flow, name) or 0 for flow in flows) if flows else None


_WAYS: dict[str, Callable[[Sequence[Row], str], float | None]] = {
    "sum": _sum,
    "mean": _folded_by(fmean),
    "mean_or_zero": _mean_or_zero,
    "min": _folded_by(min),
    "max": _max,
    "last": _last,
    "loss": _loss,
}
FOLDS = {name: Fold(words, _WAYS[name]) for name, words in folds().items()}
MEAN = FOLDS["mean"]


@dataclass(frozen=True)
class Metric:
    """A number of a flow, a link or a run."""

    key: str
    """Short name, in claims, tolerances and plots."""
    name: str
    """Column in data frames, Parquet files and JSON, which ends in the unit."""
    heading: str
    """Heading in tables, where a percentile or a maximum follows the mean of its metric."""
    unit: str
    of: Of
    definition: str
    fold: Fold | None = None
    """Fold over flows; None for a metric of links, nodes or runs."""
    most: float | None = None
    """No value is above this."""
    on: Literal["all", "simulator", "real_tcp"] = "all"
    """The backends that count it."""

    def __reduce__(self) -> tuple[Callable[[str], Metric], tuple[str]]:
        """Pickle the name alone: who reads it has the register."""
        return metric_named, (self.name,)

    @property
    def title(self) -> str:
        """Heading without the mean beside it: `RTT p95`."""
        mean = BY_KEY.get(self.key.rpartition("_")[0])
        return f"{mean.heading.removesuffix(' mean')} {self.heading}" if mean else self.heading


def _metrics(table: str, of: Of) -> tuple[Metric, ...]:
    """Return the metrics of a table; those that a row may lack come last."""
    found = []
    for column in sorted(DECLARED[table], key=lambda column: column["is_rare"]):
        if own := column["metric"]:
            fold = FOLDS[own["fold"]] if own["fold"] else None
            names = own["key"], column["name"], own["heading"]
            found.append(Metric(*names, own["unit"], of, column["definition"], fold, own["most"], own["on"]))
    return tuple(found)


FLOW_METRICS = _metrics("flows", "flow")
LINK_METRICS = _metrics("links", "link")
RUN_METRICS = _metrics("runs", "run")
NODE_METRICS = _metrics("nodes", "node")
USER_PERCEIVED = {each["name"] for each in DECLARED["flows"] if each["is_rare"] and each["metric"]}
"""Metrics of applications, of senders on hosts and of flows from meshes, absent where there is none."""
METRICS = {metric.name: metric for metric in (*FLOW_METRICS, *LINK_METRICS, *RUN_METRICS, *NODE_METRICS)}
"""Every metric by the name of its column."""
KINDS: dict[str, Kind] = {
    **{each["name"]: each["kind"] for table in DECLARED.values() for each in table},
    **{"of": "text", "metric": "text", "failed": "text", "n": "integer"},
    **dict.fromkeys(("mean", "deviation", "ci95_low", "ci95_high"), "number"),
}
"""Definitions of the columns of runs, flows, links, nodes and statistics."""
BY_KEY = {metric.key: metric for metric in METRICS.values() if metric.of != "node"}
"""Every metric of flows, links and runs by its short name."""


@dataclass(frozen=True)
class Column:
    """A column that identifies a row or holds a sample of a time series, and is not a metric."""

    name: str
    definition: str


def _others(table: str) -> tuple[Column, ...]:
    """Return a table's columns that are neither metrics nor in every table."""
    return tuple(
        Column(each["name"], each["definition"])
        for each in DECLARED[table]
        if not each["metric"] and each["name"] not in ("seed", "sound")
    )


_SERIES = dict(series_columns())
COLUMNS: dict[str, tuple[Column, ...]] = {
    "every table": (
        Column("run", "Number of the run, from 0."),
        Column(
            "AXIS",
            "Label of the run on an axis of the sweep, ordered (categorical). The column has the last part of the "
            "axis's name, `cc` for `flows.*.cc`; the whole name where another axis ends in that part, or where the "
            "table has a column called so, with a unit or without (`axis.` stands before a whole name that a column "
            "has). Flows, links and nodes leave an axis out whose labels their own column of that name has in every "
            "row.",
        ),
        Column(
            "AXIS_UNIT",
            "Where every label of an axis is a number with a unit: that number in base units, the unit at the end of "
            "the name: `_bps` (bit/s), `_s`, `_bytes`, `_packets`, `_bdp`, `_percent`, `_per_s`, `_ppm`, `_dbm`, "
            "`_db`, `_value` for numbers without a unit.",
        ),
        Column("repeat", "Number of the repeat of its grid point, from 1; with `--repeat` or `repeat=` only."),
        Column("seed", "Seed of the run's random draws."),
        Column("sound", "False for a run that the machine could not keep up with, or that has no result."),
    ),
    "runs": (*_others("runs"), Column("failed", "Why the run has no result; empty otherwise.")),
    "flows": _others("flows"),
    "nodes": _others("nodes"),
    "links": _others("links"),
    "stats": (
        Column("scenario", "Name of the scenario; where results have several."),
        Column("on", "Backend; where results have several."),
        Column("kernel", "Release of the kernel; where results have several."),
        Column(
            "of",
            "What the metric is of: `all flows`, `flow N` (up to 12 flows), or a link (of more than 12, those whose "
            "queues have a limit).",
        ),
        Column("metric", "Name of the metric's column."),
        Column("n", "Sound runs that have a value."),
        Column("mean", "Their mean."),
        Column("deviation", "Standard deviation of one run (n - 1 in the denominator); empty with fewer than two."),
        Column(
            "ci95_low",
            "Lower end of the 95 % confidence interval of the mean (Student's t); empty likewise, and where several "
            "settings are pooled.",
        ),
        Column("ci95_high", "Upper end."),
    ),
    "flow_series": tuple(Column(*each) for each in _SERIES["flows"]),
    "link_series": (
        *(Column(*each) for each in _SERIES["links"]),
        Column("capacity_mbps", "What the link could have transmitted in that step; empty for an access link."),
    ),
    "rtt_distribution": (
        Column("flow", "Number of the flow."),
        Column("upper_ms", "Upper edge of a bin of the histogram."),
        Column("count", "RTT samples after the warm-up above the bin before and at most `upper_ms`."),
    ),
    "queue_delay_distribution": (
        Column("link", "Name of the link."),
        Column("upper_ms", "Upper edge of a bin of the histogram."),
        Column("count", "Packets after the warm-up whose queueing delay lies in the bin, likewise."),
    ),
}  # fmt: skip
"""The other columns of each table."""
METRICS_OF = {"runs": RUN_METRICS, "flows": FLOW_METRICS, "links": LINK_METRICS, "nodes": NODE_METRICS}
"""The metrics of each table that has some."""
NAMES = {
    table: {each.name for each in (*COLUMNS["every table"], *own)} | {each.name for each in METRICS_OF.get(table, ())}
    for table, own in COLUMNS.items()
}
"""The names of each table's columns, without those of axes."""


def metric_named(name: str) -> Metric:
    """Return a metric by its short name or its column; raises `InputError` that lists what there is."""
    by_heading = {re.sub(r"\W+", "_", metric.heading.lower()): key for key, metric in BY_KEY.items()}
    metric = BY_KEY.get(name) or METRICS.get(name) or BY_KEY.get(by_heading.get(name.lower(), ""))
    if metric is None:
        hint = did_you_mean(name, BY_KEY)
        raise InputError(f"unknown metric {name}{hint}; the metrics are {', '.join(sorted(BY_KEY))}")
    return metric


def metrics_of(run: Run) -> Iterator[tuple[str, Metrics]]:
    """Yield a run's metrics by what they are of: all flows, each flow where there are a few, each link."""
    flows = run["flows"]
    together = folded(flows)
    if len(flows) > 1:
        together["jain_index"] = run["jain_index"]
    yield ALL, together
    if 1 < len(flows) <= MANY:
        yield from ((f"flow {flow['flow']}", folded([flow])) for flow in flows)
    for link in links_listed(run):
        yield link["link"], {metric.name: number(link, metric.name) for metric in LINK_METRICS if metric.name in link}


def links_listed(run: Run) -> Sequence[Link]:
    """Return the links that statistics report: all, or where there are many those whose queues have a limit."""
    links = run["links"]
    bounded = [link for link in links if is_bounded(link)]
    return links if len(links) <= MANY else bounded or links[:1]


def is_bounded(link: Row) -> bool:
    """Return whether a link's queue has a limit, which that of an access link has not unless it is given one."""
    return any(link.get(name) is not None for name in ("queue_percent_mean", "limit_bytes", "limit_packets"))


AHEAD = (
    "A goodput is above its throughput, and may be above the link's rate: data that had arrived behind a gap before "
    "the measured interval was delivered in it."
)
"""Note for results where `is_ahead`."""


def is_ahead(run: Run) -> bool:
    """Return whether a flow delivered more in the interval that is measured than arrived in it."""
    pairs = ((flow["goodput_mbps"], flow.get("throughput_mbps")) for flow in run["flows"])
    return any(throughput is not None and goodput > throughput for goodput, throughput in pairs)


def is_there(flows: Sequence[Row], metric: Metric) -> bool:
    """Return whether any flow has this metric, be it empty."""
    return any(metric.name in flow for flow in flows)


def folded(flows: Sequence[Row]) -> Metrics:
    """Fold flows into one."""
    return {
        metric.name: metric.fold.of(flows, metric.name)
        for metric in FLOW_METRICS
        if metric.fold and (metric.name not in USER_PERCEIVED or is_there(flows, metric))
    }


def meaning(table: str, column: str) -> dict[str, str]:
    """Return the definition of a table's column, with the unit of a metric; nothing for an axis."""
    own = {each.name: each.definition for each in (*COLUMNS["every table"], *COLUMNS[table])}
    if column in own:
        return {"definition": own[column]}
    metric = METRICS.get(column)
    return {"definition": metric.definition, "unit": metric.unit} if metric else {}


def with_meanings(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Put the meaning of each column into `frame.attrs["columns"]`; return the frame."""
    meanings = {str(column): meaning(table, str(column)) for column in frame}
    frame.attrs["columns"] = {column: words for column, words in meanings.items() if words}
    return frame


def of_frame(column: str) -> Any:
    """Return the type of a data frame's column; None for one that is not known, whose values say it."""
    import pandas as pd

    kind = KINDS.get(column)
    if kind == "text":
        return pd.Series(["text"]).dtype  # Of pandas 3 its own, of pandas 2 that of objects.
    return {"flag": "boolean", "integer": "Int64", "number": "float64"}.get(kind or "")


ABOUT = {
    "every table": "Columns of every table",
    "runs": "`runs`: one row per run",
    "flows": "`flows`: one row per flow of every run",
    "nodes": "`nodes`: one row per node of every mesh; absent without a mesh",
    "links": "`links`: one row per direction of every link",
    "stats": "`stats`, `stats.parquet`: one row per grid point and metric",
    "flow_series": '`series("flows")`, `flow_series.parquet`: one row per flow and step',
    "link_series": '`series("links")`, `link_series.parquet`: one row per link and step',
    "rtt_distribution": '`series("rtt")`, `rtt_distribution.parquet`: one row per flow and bin',
    "queue_delay_distribution": '`series("queue_delay")`, `queue_delay_distribution.parquet`: one row per link and bin',
}


def markdown() -> str:
    """Write every table of results with its columns, units and definitions, as a part of a Markdown page.

    Returns
    -------
    str
        Sections with one table each, without a title.

    """
    return "\n\n".join("\n\n".join(_section(table)) for table in COLUMNS)


def _section(table: str) -> Iterable[str]:
    yield f"## {ABOUT[table]}"
    yield markdown_table(["column", "definition"], [[f"`{each.name}`", each.definition] for each in COLUMNS[table]])
    if metrics := METRICS_OF.get(table):
        heads = ["column", "short name", "on the screen", "unit", "definition"]
        folds = table == "flows"
        yield markdown_table(
            [*heads, *(["over several flows"] if folds else [])], [_row(metric, folds) for metric in metrics]
        )


def _row(metric: Metric, folds: bool) -> list[str]:
    cells = [f"`{metric.name}`", f"`{metric.key}`", metric.heading, metric.unit, metric.definition]
    return [*cells, metric.fold.words if metric.fold else ""] if folds else cells
