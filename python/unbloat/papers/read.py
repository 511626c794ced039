"""Reads what a paper prints, `papers/<name>/published.toml`, and checks it."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from unbloat.papers.expressions import ClaimError, calls
from unbloat.papers.paper import (
    FIGURE_KINDS,
    TAKES_OF_NUMBERS,
    TAKES_OF_STATEMENTS,
    Bar,
    Claim,
    Figure,
    Group,
    Panel,
    Paper,
    PaperError,
    Reading,
    Reason,
    Row,
    Statements,
    Table,
)
from unbloat.papers.verdicts import Bounds, is_number

MOST_REPEATS = 100_000
"""More than this are a slip of the pen."""


def load(folder: Path) -> Paper:
    """Read `published.toml` of a paper's folder; raises `PaperError`."""
    path = folder / "published.toml"
    data = read_toml(path, "a paper's folder holds its published values there")
    try:
        paper = _paper(data, folder)
        _check(paper)
    except (PaperError, ClaimError) as error:
        raise PaperError(f"{path}: {error}") from None
    return paper


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a file; raises `PaperError` if it is not there, saying what it is, or is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PaperError(f"{path}: no such file; {what}") from None
    except (OSError, ValueError, RecursionError) as error:  # A `ValueError` says that it is no TOML, or no UTF-8.
        raise PaperError(f"{path}: {error}") from None


def _paper(data: dict[str, Any], folder: Path) -> Paper:
    _only(data, ["paper", "bounds", "runs", "tables", "statements", "figures", "reasons", "readings"], "the file")
    head = _section(data, "paper", {"name": str, "title": str, "authors": str, "where": str})
    bounds = _section(data, "bounds", {"relative": float, "index": float})
    runs = _section(data, "runs", {"seeds": int, "series": dict[str, str]}, optional={"full": int})
    for repeats in ("seeds", "full"):
        if not 1 <= runs.get(repeats, 1) <= MOST_REPEATS:
            raise PaperError(f"[runs]: `{repeats}` must be 1 to {MOST_REPEATS}, not {shortened(str(runs[repeats]))}")
    return Paper(
        **head,
        folder=folder,
        bounds=Bounds(**bounds),
        seeds=runs["seeds"],
        full=runs.get("full", runs["seeds"]),
        series=runs["series"],
        tables=[_table(entry) for entry in tables_in(data, "tables", "the file")],
        statements=[_statements(entry) for entry in tables_in(data, "statements", "the file")],
        figures=[_figure(entry) for entry in tables_in(data, "figures", "the file")],
        reasons=_reasons(data, "the file"),
        readings=[_reading(entry) for entry in tables_in(data, "readings", "the file")],
    )


def _section(
    data: dict[str, Any], name: str, keys: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    section, optional = data.get(name), optional or {}
    if not isinstance(section, dict) or section.keys() - optional.keys() != keys.keys():
        raise PaperError(f"[{name}] must hold {', '.join(keys)}")
    for key, value in section.items():
        _require(value, {**keys, **optional}[key], f"[{name}]: `{key}`")
    return section


def tables_in(entry: Mapping[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    """Give a list of tables; empty if there is none."""
    tables: list[dict[str, Any]] = entry.get(name, [])
    _require(tables, list[dict[str, object]], f"{where}: `{name}`")
    return tables


def _table(entry: dict[str, Any]) -> Table:
    where = f"table {entry.get('id', '?')}"
    groups = []
    for group in tables_in(entry, "groups", where):
        place = f"{where}, {group.get('name', '?')}"
        rows = [build(Row, row, f"{place}, {row.get('name', '?')}") for row in tables_in(group, "rows", place)]
        groups.append(build(Group, {**group, "rows": rows}, place))
    return build(Table, {**entry, "groups": groups}, where)


def _statements(entry: dict[str, Any]) -> Statements:
    where = f"statements of {entry.get('where', '?')}"
    claims = [build(Claim, claim, f"claim {claim.get('id', '?')}") for claim in tables_in(entry, "claims", where)]
    return build(Statements, {**entry, "claims": claims}, where)


def _figure(entry: dict[str, Any]) -> Figure:
    where = f"figure {entry.get('id', '?')}"
    bars = [build(Bar, bar, where) for bar in tables_in(entry, "bars", where)]
    panels = [build(Panel, panel, where) for panel in tables_in(entry, "panels", where)]
    return build(Figure, {**entry, "bars": bars, "panels": panels}, where)


def _reasons(entry: dict[str, Any], where: str) -> list[Reason]:
    return [build(Reason, reason, "[[reasons]]") for reason in tables_in(entry, "reasons", where)]


def _reading(entry: dict[str, Any]) -> Reading:
    where = f"reading {entry.get('id', '?')}"
    return build(Reading, {**entry, "reasons": _reasons(entry, where)}, where)


T = TypeVar("T")


def build(kind: type[T], entry: Mapping[str, Any], where: str) -> T:
    """Make a record of a TOML table whose keys are the record's fields."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    types = get_type_hints(kind)
    _only(entry, [item.name for item in fields], where)
    for item in fields:
        optional = item.default is not dataclasses.MISSING or item.default_factory is not dataclasses.MISSING
        if not optional and item.name not in entry:
            raise PaperError(f"{where}: `{item.name}` is missing")
        if item.name in entry:
            _require(entry[item.name], types[item.name], f"{where}: `{item.name}`")
    return kind(**entry)


def _require(value: object, kind: Any, what: str) -> None:
    """Refuse what is not of this type."""
    if not _is_a(value, kind):
        raise PaperError(f"{what} must be {_in_words(kind)}, not {shortened(repr(value))}")


def _is_a(value: object, kind: Any) -> bool:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_is_a(value, each) for each in arguments)
    if origin is list:
        return isinstance(value, list) and all(_is_a(each, arguments[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(_is_a(each, arguments[1]) for each in value.values())
    if kind is float:
        return type(value) in (int, float)
    return kind is object or origin is not None or type(value) is kind


def _in_words(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(_in_words(each) for each in arguments if each is not type(None))
    if origin is list:
        return f"a list, each of it {_in_words(arguments[0])}"
    words = {str: "a text in quotes", int: "a whole number", float: "a number", dict: "a table"}
    return words.get(origin or kind, "a table")


LONGEST = 80


def shortened(text: str) -> str:
    """Quote the beginning of what is long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _only(entry: Mapping[str, Any], known: list[str], where: str) -> None:
    for key in entry:
        if key not in known:
            raise PaperError(f"{where}: no key `{key}`; there are {', '.join(known)}")


# ---------------------------------------------------------------- What a well-formed paper obeys


def _check(paper: Paper) -> None:
    for scenario in paper.scenarios():
        if not is_scenario(paper.folder, scenario):
            raise PaperError(f"no file {shortened(scenario)}.toml beside it, which a table, claim or figure names")
    for reading in paper.readings:
        _check_reading(paper, reading)
    for table in paper.tables:
        for group in table.groups:
            for row in group.rows:
                _check_row(table, group, row)
    ids = [claim.id for statements in paper.statements for claim in statements.claims]
    for claim_id in ids:
        if ids.count(claim_id) > 1:
            raise PaperError(f"claim {claim_id} stands there {ids.count(claim_id)} times")
    for statements in paper.statements:
        for claim in statements.claims:
            _check_claim(claim)
    for figure in paper.figures:
        if figure.kind not in FIGURE_KINDS:
            raise PaperError(f"figure {figure.id}: no kind `{figure.kind}`; there are {', '.join(FIGURE_KINDS)}")


def is_scenario(folder: Path, name: str) -> bool:
    """Tell whether a scenario's file is in a folder."""
    try:
        return (folder / f"{name}.toml").is_file()
    except (OSError, ValueError):  # No file can have such a name.
        return False


def _check_reading(paper: Paper, reading: Reading) -> None:
    for scenario in reading.scenarios:
        if scenario not in paper.scenarios():
            raise PaperError(
                f"reading {reading.id}: no scenario `{scenario}`; there are {', '.join(paper.scenarios())}"
            )


def _check_row(table: Table, group: Group, row: Row) -> None:
    if len(row.published) != len(table.columns):
        raise PaperError(
            f"table {table.id}, {group.name}, {row.name}: {len(row.published)} values for {len(table.columns)} columns"
        )


def _check_claim(claim: Claim) -> None:
    kinds = [kind for kind in (claim.holds, claim.quantity, claim.reduction) if kind is not None]
    if len(kinds) != 1:
        raise PaperError(f"claim {claim.id}: needs one of holds, quantity, reduction")
    if claim.holds is None and not is_number(claim.published):
        raise PaperError(f"claim {claim.id}: `published` must be a number in quotes, as the paper prints it")
    takes = TAKES_OF_NUMBERS if claim.holds is None else TAKES_OF_STATEMENTS
    if claim.over and claim.take not in takes:
        raise PaperError(f"claim {claim.id}: `take` must be one of {', '.join(takes)}, for it goes over a grid")
    if (claim.take or claim.without) and not claim.over:
        raise PaperError(f"claim {claim.id}: `take` and `without` need `over`, the axes of the grid")
    for expression in claim.expressions():
        calls(expression)
