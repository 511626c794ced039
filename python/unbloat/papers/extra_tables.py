"""Tables beyond what a paper printed, from `papers/<name>/choices.toml`: what open choices change, what comes next.

A table has settings (grid points of scenario files), quantities, and rows that differ in a label or in parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal

from msgspec import Struct

from unbloat.claims.batches import Batch
from unbloat.claims.expressions import Selector
from unbloat.claims.measurements import Measurements
from unbloat.claims.verdicts import Uncertain, written
from unbloat.papers.paper import Paper, PaperError, flowing, in_brackets
from unbloat.papers.read import Repeats
from unbloat.papers.tables import five_digits
from unbloat.report.report import Heading, Report, Table
from unbloat.report.table import Column
from unbloat.results.statistics import estimate
from unbloat.system.toml_file import toml_file


class Setting(Struct, frozen=True, forbid_unknown_fields=True):
    """A grid point that every row is measured in."""

    name: str
    scenario: str
    at: list[str] = []
    columns: list[str] = []
    """The names of the columns that make sense here; all without."""
    select: dict[str, Selector] = {}
    """Keys and values for the measurements here, such as how much of this link is a twentieth."""


class Measurement(Struct, frozen=True, forbid_unknown_fields=True):
    """A quantity that is measured in every setting."""

    name: str
    quantity: str
    unit: str
    flow: int | None = None
    select: dict[str, Selector] = {}
    """Keys and values for this measurement in every setting; a setting's own win."""


class Variant(Struct, frozen=True, forbid_unknown_fields=True):
    """One row: labels and parameters that it differs in."""

    name: str
    at: list[str] = []
    set: dict[str, object] = {}


class ExtraTable(Struct, frozen=True, forbid_unknown_fields=True):
    """One table."""

    id: str
    title: str
    text: str
    seeds: Repeats
    settings: list[Setting]
    columns: list[Measurement]
    rows: list[Variant]
    a_table_for: Literal["setting", "quantity"] = "setting"
    """A table for every `setting` with the quantities side by side, or for every `quantity` with the settings so."""
    series: str = ""
    """The step of the recorded series, for measurements of windows and rates."""
    perturbed: bool = False
    """True if repeats differ as in the paper's own tables (`[[perturbations]]`), not in their seeds alone."""
    intervals: bool = False
    """A mean is followed by how far its 95 % confidence interval reaches to either side."""


class ChoicesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    tables: list[ExtraTable] = []


def load(folder: Path) -> list[ExtraTable]:
    """Read `choices.toml` of a paper's folder; no file, no tables. Raises `PaperError`."""
    path = folder / "choices.toml"
    if not path.exists():
        return []
    return toml_file(path, "it holds tables beyond the paper", PaperError).convert(ChoicesFile).tables


def batches(table: ExtraTable, paper: Paper) -> list[Batch]:
    """List the runs that a table of a paper needs."""
    return [
        Batch(
            _name(row, setting),
            paper.folder / f"{setting.scenario}.toml",
            (*setting.at, *row.at),
            row.set,
            table.series,
            perturbations=paper.perturbed(setting.scenario) if table.perturbed else (),
        )
        for row in table.rows
        for setting in table.settings
    ]


def _name(row: Variant, setting: Setting) -> str:
    return f"{setting.name}, {row.name}"


Measured = tuple[ExtraTable, list[Table]]
"""A table, and what it came to: a part for each setting or each quantity."""


def lay_out(table: ExtraTable, measurements: Mapping[str, Measurements]) -> list[Table]:
    """Lay out a table for every setting, or for every quantity."""
    names = Column("", "", [row.name for row in table.rows])

    def measured(head: str, unit: str, setting: Setting, column: Measurement) -> Column:
        repeats = (_take(measurements[_name(row, setting)], setting, column, row) for row in table.rows)
        cells = [_summed_up(values, with_interval=table.intervals) for values in repeats]
        return Column(head, unit, cells, is_right=True)

    if table.a_table_for == "quantity":
        return [
            _part(
                f"{column.name}{in_brackets(column.unit)}",
                [names, *(measured(each.name, "", each, column) for each in table.settings)],
            )
            for column in table.columns
        ]
    return [
        _part(setting.name, [names, *(measured(each.name, _unit(each), setting, each) for each in _of(table, setting))])
        for setting in table.settings
    ]


def _part(title: str, columns: Sequence[Column]) -> Table:
    return Table(columns, title, five_digits, is_part=True)


def _of(table: ExtraTable, setting: Setting) -> list[Measurement]:
    return [column for column in table.columns if not setting.columns or column.name in setting.columns]


def _unit(column: Measurement) -> str:
    return "" if column.unit == "index" else column.unit


def _take(runs: Measurements, setting: Setting, column: Measurement, row: Variant) -> list[float]:
    """Measure one grid point with each of its seeds."""
    flow: dict[str, Selector] = {} if column.flow is None else {"flow": column.flow}
    selectors = {**flow, **column.select, **setting.select}
    return runs.values(column.quantity, [*setting.at, *row.at], selectors, column.unit)


def _summed_up(repeats: Sequence[float], *, with_interval: bool) -> float | str:
    """Return the mean; as text if it has an interval, if a time never comes, or if there is nothing to time."""
    for word, is_so in (("never", math.isinf), ("none", math.isnan)):
        if times := sum(map(is_so, repeats)):
            return word if times == len(repeats) else f"{word} in {times} of {len(repeats)}"
    estimated = estimate(repeats)
    if with_interval and estimated.half_width:
        return written(Uncertain(fmean(repeats), estimated.half_width))
    return fmean(repeats)


def report_of(table: ExtraTable, laid: Sequence[Table]) -> Report:
    """Make a report of a table."""
    return Report([Heading(table.title), flowing(table.text), *laid])
