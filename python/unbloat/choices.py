"""Tables beyond what a paper printed, from `papers/<name>/choices.toml`: what open choices change, what comes next.

A table has settings (cells of scenario files), quantities, and rows that differ in a label or in parameters.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unbloat import table as screen
from unbloat.claims import Selector
from unbloat.measured import Measurements
from unbloat.paper_runs import Batch
from unbloat.paper_tables import markdown_table
from unbloat.published import PaperError, build


@dataclass(frozen=True)
class Setting:
    """A cell that every row is measured in."""

    name: str
    scenario: str
    at: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    """The names of the columns that make sense here; all without."""


@dataclass(frozen=True)
class Column:
    """What is measured in every setting."""

    name: str
    quantity: str
    unit: str
    flow: int | None = None


@dataclass(frozen=True)
class Variant:
    """One row: labels and parameters that it differs in."""

    name: str
    at: list[str] = field(default_factory=list)
    set: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Choices:
    """One table."""

    id: str
    title: str
    text: str
    seeds: int
    settings: list[Setting]
    columns: list[Column]
    rows: list[Variant]


def load(folder: Path) -> list[Choices]:
    """Read `choices.toml` of a paper's folder; no file, no tables. Raises `PaperError`."""
    path = folder / "choices.toml"
    if not path.exists():
        return []
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_table(entry) for entry in data.get("tables", [])]
    except (tomllib.TOMLDecodeError, PaperError) as error:
        raise PaperError(f"{path}: {error}") from None


def _table(entry: dict[str, Any]) -> Choices:
    where = f"table {entry.get('id', '?')}"
    parts = {
        "settings": [build(Setting, item, where) for item in entry.get("settings", [])],
        "columns": [build(Column, item, where) for item in entry.get("columns", [])],
        "rows": [build(Variant, item, where) for item in entry.get("rows", [])],
    }
    return build(Choices, {**entry, **parts}, where)


def batches(table: Choices, folder: Path) -> list[Batch]:
    """List the runs that a table needs."""
    return [
        Batch(_name(row, setting), folder / f"{setting.scenario}.toml", (*setting.at, *row.at), row.set)
        for row in table.rows
        for setting in table.settings
    ]


def _name(row: Variant, setting: Setting) -> str:
    return f"{setting.name}, {row.name}"


Laid = tuple[str, list[screen.Column]]
"""A setting's name and its columns."""


def lay_out(table: Choices, measurements: Mapping[str, Measurements]) -> list[Laid]:
    """Give a table for every setting."""
    return [_lay_out_setting(table, setting, measurements) for setting in table.settings]


def _lay_out_setting(table: Choices, setting: Setting, measurements: Mapping[str, Measurements]) -> Laid:
    columns = [column for column in table.columns if not setting.columns or column.name in setting.columns]
    laid = [screen.Column("", "", [row.name for row in table.rows])]
    for column in columns:
        values = [_take(measurements[_name(row, setting)], column, [*setting.at, *row.at]) for row in table.rows]
        laid.append(screen.Column(column.name, "" if column.unit == "index" else column.unit, values))
    return setting.name, laid


def _take(runs: Measurements, column: Column, labels: list[str]) -> float:
    selectors: dict[str, Selector] = {} if column.flow is None else {"flow": column.flow}
    return runs.take(column.quantity, labels, selectors, column.unit)


def text_of(table: Choices, laid: Sequence[Laid]) -> str:
    """Write a table for a terminal."""
    return f"{table.title}\n\n" + "\n\n".join(f"{name}\n{screen.render(columns)}" for name, columns in laid)


def markdown_of(table: Choices, laid: Sequence[Laid]) -> str:
    """Write a table for the page in the paper's folder."""
    parts = [f"### {table.title}", table.text.strip()]
    parts += [f"**{name}**\n\n{markdown_table(columns)}" for name, columns in laid]
    return "\n\n".join(parts) + "\n"
