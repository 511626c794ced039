"""The contents of a paper, and how they are judged.

Tables hold numbers, statements hold claims in the language of `expressions`, figures say what to draw. Nothing here
knows any one paper.
"""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from unbloat._core import InputError
from unbloat.claims.batches import RepeatRule
from unbloat.claims.claim import Claim
from unbloat.claims.verdicts import Bounds, Printed


class PaperError(InputError):
    """A paper's folder that cannot be used: file, line, key and what is allowed, in one sentence."""


def flowing(text: str) -> str:
    """Join the lines of each paragraph; a file breaks them where it likes, a page and a terminal elsewhere."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def in_brackets(unit: str) -> str:
    """Write a unit behind a name; an index has none."""
    return "" if unit in ("", "index") else f" ({unit})"


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """One quantity in one setting: a published value per column, or one per flow where a column has equal flows."""

    name: str
    quantity: str
    unit: str
    published: list[str | list[str]]
    at: list[str] = []
    flow: int | None = None

    def printed(self) -> list[list[Printed | None]]:
        """Read its numbers, a list per column: one value, or one per flow; None for what is illegible."""
        columns = [value if isinstance(value, list) else [value] for value in self.published]
        flat = iter(Printed.row([text for column in columns for text in column]))
        return [[next(flat) for _ in column] for column in columns]


class Group(Struct, frozen=True, forbid_unknown_fields=True):
    """The rows that share a setting."""

    name: str
    scenario: str
    rows: list[Row]
    at: list[str] = []


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the paper; its columns are labels of a sweep's axis."""

    id: str
    title: str
    columns: list[str]
    groups: list[Group]

    def labels(self, group: Group, row: Row) -> list[list[str]]:
        """Return the labels of a row of the table, for each column."""
        return [[*group.at, *row.at, column] for column in self.columns]


@dataclass(frozen=True)
class PrintedCell:
    """One published number of a table: a column's value, or that of one of its equal flows."""

    table: Table
    group: Group
    row: Row
    column: int
    flow: int

    @property
    def id(self) -> str:
        """Name it: `table2.I.500-KB.loss.cubic`, with `.1` and `.2` for the flows of a pair."""
        parts = (self.table.id, self.group.name, self.row.name, self.table.columns[self.column])
        name = ".".join(part.replace(", ", ".").replace(" ", "-") for part in parts)
        return f"{name}.{self.flow + 1}" if self._of_pair else name

    @property
    def where(self) -> str:
        """Name its place in the paper."""
        which = f" (flow {self.flow + 1})" if self._of_pair else ""
        place = f"{self.table.title.partition('.')[0]}, {self.group.name}: {self.row.name} in {self.row.unit}"
        return f"{place}, {self.table.columns[self.column]}{which}"

    @property
    def _of_pair(self) -> bool:
        return isinstance(self.row.published[self.column], list)


def cells_of(table: Table, group: Group, row: Row) -> list[list[PrintedCell]]:
    """Return a row of the table, a list per column."""
    return [
        [PrintedCell(table, group, row, column, flow) for flow in range(len(values))]
        for column, values in enumerate(row.printed())
    ]


class Statements(Struct, frozen=True, forbid_unknown_fields=True):
    """The claims that share a place in the paper and a setting."""

    where: str
    scenario: str
    claims: list[Claim]
    at: list[str] = []


class Bar(Struct, frozen=True, forbid_unknown_fields=True):
    """One bar of every group: which flow, which runs, and what of them if not the figure's quantity."""

    name: str
    at: list[str] = []
    flow: int | None = None
    quantity: str = ""
    """Another one than the figure's, of the same unit, such as a percentile beside the mean."""


class Panel(Struct, frozen=True, forbid_unknown_fields=True):
    """One part of bars or lines, with the published heights per bar or line and group: `nan` where it prints none."""

    name: str
    scenario: str
    at: list[str] = []
    published: list[list[float]] | None = None


FigureKind = Literal["bars", "window", "lines", "curve", "mean_window", "rates", "ecdf"]


class Figure(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure, by its kind.

    - `bars`: a panel per setting and a group per label, or per value of a selector
    - `window`: cwnd over time, a panel per label
    - `lines`: a quantity over the labels of an axis
    - `curve`: one quantity against another, with the labels of an axis along it
    - `mean_window`: cwnd over time, averaged over the flows, a line per label
    - `rates`: goodput over time, a panel per label
    - `ecdf`: the distribution of a quantity over the flows of all repeats, a panel per setting and a line per label

    The groups of `ecdf` name the flows that count; without groups every flow counts. With `percentiles` it is the
    distribution over the packets, through these percentiles of the quantity.
    """

    id: str
    title: str
    kind: FigureKind
    groups: list[str]
    scenario: str = ""
    at: list[str] = []
    quantity: str = ""
    unit: str = ""
    axis: str = ""
    """The quantity of which the groups of `lines` and of a `curve` are values; for `bars` a caption."""
    lines: list[str] = []
    bars: list[Bar] = []
    panels: list[Panel] = []
    flows: int | None = None
    """The number of flows to draw, the first ones of the run; all without it."""
    published: list[float] | None = None
    """The published height of a `window` for each of the groups; values across an `ecdf`."""
    percentiles: list[int] = []
    """Percentiles for an `ecdf`, such as 10 where there is a quantity of the name and `_p10`."""
    against: str = ""
    """The quantity across, of a `curve`."""
    against_unit: str = ""
    by: Literal["", "flow", "hops", "node"] = ""
    """The selector whose values the groups of `bars` are; without, they are labels."""

    def places(self) -> list[tuple[str, list[str]]]:
        """Name the scenarios that it shows, each with the setting."""
        return [(self.scenario, self.at)] if self.scenario else [(each.scenario, each.at) for each in self.panels]


class Reason(Struct, frozen=True, forbid_unknown_fields=True):
    """A reason why the claims whose ids match do not come out as published."""

    claims: list[str]
    text: str
    command: str = ""
    """Commands that show what `text` says, one to a line."""

    def is_about(self, claim: str) -> bool:
        """Return whether a claim's id matches."""
        return any(fnmatch.fnmatchcase(claim, pattern) for pattern in self.claims)


Kind = Literal["own", "baseline", "setting", "construction", "contradicted"]
KINDS: dict[Kind, str] = {
    "own": "the mechanism's own",
    "baseline": "other controls alone",
    "setting": "chose the setting",
    "construction": "true by construction",
    "contradicted": "contradicted by another printed number",
}
"""Kinds of numbers and statements, which a page counts apart, with their names in tables."""


class Apart(Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers and statements that count apart from the mechanism's own, whatever was measured."""

    kind: Literal["baseline", "setting", "construction", "contradicted"] = msgspec.field(name="as")
    claims: list[str]
    text: str

    def is_about(self, claim: str) -> bool:
        """Return whether a claim's id matches."""
        return any(fnmatch.fnmatchcase(claim, pattern) for pattern in self.claims)


class Answer(Struct, frozen=True, forbid_unknown_fields=True):
    """The paper in a few sentences, for an engineer who chooses a congestion control."""

    mechanism: str
    """One sentence: what the congestion control does."""
    works: str
    """Whether it works as published: begins with Yes, No or Partly."""
    use_for: str
    avoid_for: str
    depends_on: str
    """Conditions that turn the answer."""
    figures: list[str] = []
    """Figures of the paper that its page shows besides the main claims."""

    def said(self) -> dict[str, str]:
        """Return the answer as questions and sentences."""
        return {
            "Works as published": flowing(self.works),
            "Use it for": flowing(self.use_for),
            "Do not use it for": flowing(self.avoid_for),
            "Depends on": flowing(self.depends_on),
        }


class Perturbation(Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that the paper leaves open and that should not matter, such as the time between starts of flows."""

    scenarios: list[str]
    """The scenarios that it is about."""
    sets: list[dict[str, object]]
    """Keys set anew: the first repeat has the first of these, and so on; after the last the first again."""


class Reading(Struct, frozen=True, forbid_unknown_fields=True):
    """Another way to read what the paper says of its setting: the same scenarios with keys set anew, judged again."""

    id: str
    title: str
    text: str
    """Describes the other reading."""
    scenarios: list[str]
    """The scenarios that it is about."""
    set: dict[str, object]
    reasons: list[Reason] = []
    """In place of the paper's."""


@dataclass(frozen=True)
class Paper:
    """Everything that a paper prints, and how it is judged."""

    name: str
    title: str
    authors: str
    where: str
    folder: Path
    bounds: Bounds
    seeds: int
    full: int
    """The number of repeats that the authors made, if larger; otherwise the same as `seeds`."""
    series: dict[str, str]
    tables: list[Table]
    statements: list[Statements]
    figures: list[Figure]
    reasons: list[Reason]
    perturbations: list[Perturbation] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    """Other ones than that of its scenario files."""
    apart: list[Apart] = field(default_factory=list)
    """Numbers and statements that are not the mechanism's own."""
    answer: Answer | None = None
    """The paper in a few sentences; its page needs it."""
    reading: Reading | None = None
    """The one that this is judged in; without, that of its scenario files."""
    changed: Mapping[str, object] = field(default_factory=dict)
    """Keys of the scenarios that a reader has set anew."""
    few: int | None = None
    """The number of repeats at first, where the paper makes all of its repeats only if verdicts need them."""
    asked: str = ""
    """The beginning of the ids that are asked for."""
    exactly: bool = False
    """The id that is asked for is just this one."""

    def asks_for(self, name: str) -> bool:
        """Return whether a number or statement is asked for."""
        return name == self.asked if self.exactly else name.startswith(self.asked)

    def scenarios(self) -> list[str]:
        """Name every scenario file (without `.toml`) that a table, claim or figure needs, in the order of first use."""
        names = [group.scenario for table in self.tables for group in table.groups]
        names += [statements.scenario for statements in self.statements]
        names += [scenario for figure in self.figures for scenario, _ in figure.places()]
        return list(dict.fromkeys(names))

    def entry_apart(self, claim: str) -> Apart | None:
        """Return the entry under which a claim counts apart: the first kind, from the end of `KINDS`, that names it."""
        found = [each for each in self.apart if each.is_about(claim)]
        return max(found, key=lambda each: [*KINDS].index(each.kind), default=None)

    def kind(self, claim: str) -> Kind:
        """Return the kind under which a number or statement counts."""
        entry = self.entry_apart(claim)
        return entry.kind if entry else "own"

    def perturbed(self, scenario: str) -> list[dict[str, object]]:
        """Return the overrides of one repeat after the other; empty if only their seeds differ."""
        return next((each.sets for each in self.perturbations if scenario in each.scenarios), [])

    def other_readings(self) -> list[Paper]:
        """Return the paper once for each of its alternative readings, reduced to the claims that it affects."""
        papers = [self._read(reading) for reading in self.readings]
        return [paper for paper in papers if paper.scenarios()]

    def _read(self, reading: Reading) -> Paper:
        part = self.part(lambda scenario, _: scenario in reading.scenarios)
        figures = [
            replace(figure, id=f"{figure.id}-{reading.id}", title=f"{figure.title}: {reading.title}")
            for figure in part.figures
        ]
        return dataclasses.replace(part, figures=figures, reasons=reading.reasons, readings=[], reading=reading)

    def part(self, covers: Callable[[str, Sequence[str]], bool]) -> Paper:
        """Return the part of the paper about the scenarios and settings that `covers` accepts."""
        tables = [
            replace(table, groups=[each for each in table.groups if covers(each.scenario, each.at)])
            for table in self.tables
        ]
        return dataclasses.replace(
            self,
            tables=[table for table in tables if table.groups],
            statements=[each for each in self.statements if covers(each.scenario, each.at)],
            figures=[each for each in self.figures if all(covers(*place) for place in each.places())],
        )

    def without(self, names: Collection[str]) -> Paper:
        """Leave out the tables and the statements with these ids."""
        groups = [
            replace(group, claims=[claim for claim in group.claims if claim.id not in names])
            for group in self.statements
        ]
        tables = [table for table in self.tables if table.id not in names]
        return dataclasses.replace(self, tables=tables, statements=[group for group in groups if group.claims])

    def only(self, prefix: str) -> Paper:
        """Return the part of the paper whose ids begin with `prefix`; raises `PaperError` if there is none."""
        part = dataclasses.replace(self, asked=prefix)._part_asked_for()
        if not part.scenarios():
            raise PaperError(
                f"nothing of {self.name} begins with `{prefix}`; valid beginnings: {', '.join(self.starts())}"
            )
        return part

    def starts(self) -> list[str]:
        """List what ids begin with: tables, figures, and what statements are about."""
        starts = [table.id for table in self.tables] + [figure.id for figure in self.figures]
        return list(dict.fromkeys([*starts, *(name.partition(".")[0] for name in self.ids())]))

    def claim(self, name: str) -> Paper:
        """Return the part of the paper that is one number or statement; raises `PaperError` if there is none."""
        part = dataclasses.replace(self, asked=name, exactly=True)._part_asked_for()
        if not part.scenarios():
            alike = get_close_matches(name, self.ids(), cutoff=0.7)
            hint = f"; did you mean {' or '.join(alike)}?" if alike else f"; `unbloat show {self.name}` lists them"
            raise PaperError(f"{self.name} has no number or statement `{name}`{hint}")
        return part

    def ids(self) -> list[str]:
        """List the ids of all numbers and statements."""
        rows = [(table, group, row) for table in self.tables for group in table.groups for row in group.rows]
        numbers = [cell.id for place in rows for column in cells_of(*place) for cell in column]
        return numbers + self.statement_ids()

    def statement_ids(self) -> list[str]:
        """List the ids of all statements."""
        return [claim.id for group in self.statements for claim in group.claims]

    def _part_asked_for(self) -> Paper:
        tables = [
            replace(table, groups=[part for group in table.groups if (part := self._rows_asked_for(table, group)).rows])
            for table in self.tables
        ]
        statements = [
            replace(group, claims=[claim for claim in group.claims if self.asks_for(claim.id)])
            for group in self.statements
        ]
        return dataclasses.replace(
            self,
            tables=[table for table in tables if table.groups],
            statements=[group for group in statements if group.claims],
            figures=[figure for figure in self.figures if self.asks_for(figure.id)],
        )

    def _rows_asked_for(self, table: Table, group: Group) -> Group:
        cells = ((row, cell) for row in group.rows for column in cells_of(table, group, row) for cell in column)
        wanted = {id(row) for row, cell in cells if self.asks_for(cell.id)}
        return replace(group, rows=[row for row in group.rows if id(row) in wanted])

    def with_set(self, overrides: Mapping[str, object]) -> Paper:
        """Return the paper with these keys set in its scenarios, without reasons: they are about its own setting."""
        readings = [replace(reading, reasons=[]) for reading in self.readings]
        return dataclasses.replace(self, changed=overrides, reasons=[], readings=readings)

    def reason(self, claim: str) -> Reason | None:
        """Return the reason written down for a claim; None when none has been found."""
        return next((reason for reason in self.reasons if reason.is_about(claim)), None)

    def with_all_repeats(self) -> Paper:
        """Return the paper with as many repeats as the authors had; raises `PaperError` if it never has more."""
        if self.full <= self.seeds:
            raise PaperError(f"{self.name} always makes all its repeats, {self.seeds}")
        return dataclasses.replace(self, seeds=self.full, few=self.seeds)

    @property
    def repeats(self) -> RepeatRule:
        """The number of runs of a grid point."""
        return RepeatRule(self.seeds, self.few)
