"""The reference page of results, made from the register of metrics."""

from __future__ import annotations

from collections.abc import Iterable

from unbloat.results.metrics import COLUMNS, METRICS_OF, Metric
from unbloat.system.legible import markdown_table

ABOUT = {
    "every table": "Columns of every table",
    "runs": "`runs`: one row per run",
    "flows": "`flows`: one row per flow of every run",
    "nodes": "`nodes`: one row per node of every mesh; absent without a mesh",
    "links": "`links`: one row per direction of every link",
    "stats": "`stats`, `stats.parquet`: one row per cell and metric",
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
