"""Reads and checks the TOML files of a paper's folder."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from unbloat.claims.claim import TAKES_OF_NUMBERS, TAKES_OF_STATEMENTS, Claim
from unbloat.claims.expressions import ClaimError, calls
from unbloat.claims.verdicts import Bounds, is_number
from unbloat.papers.paper import (
    Answer,
    Apart,
    Figure,
    Paper,
    PaperError,
    Perturbation,
    Reading,
    Reason,
    Statements,
    Table,
)
from unbloat.system.toml_file import Keys, shortened, toml_file

Repeats = Annotated[int, Meta(ge=1, le=100_000)]
"""More repeats than this are taken for a typing error."""


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """The paper's name, title, authors and place."""

    name: str
    title: str
    authors: str
    where: str


class Runs(Struct, frozen=True, forbid_unknown_fields=True):
    """The seeds and the series of its scenarios."""

    seeds: Repeats
    series: dict[str, str]
    full: Repeats | None = None


class PublishedFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    paper: Head
    bounds: Bounds
    runs: Runs
    tables: list[Table] = []
    statements: list[Statements] = []
    figures: list[Figure] = []
    reasons: list[Reason] = []
    perturbations: list[Perturbation] = []
    readings: list[Reading] = []
    apart: list[Apart] = []
    answer: Answer | None = None


def load(folder: Path) -> Paper:
    """Read `published.toml` of a paper's folder; raises `PaperError`."""
    file = toml_file(folder / "published.toml", "a paper's folder holds its published values there", PaperError)
    paper = _paper(file.convert(PublishedFile), folder)
    for keys, sentence in _mistakes(paper):
        raise file.wrong(keys, sentence)
    return paper


def _paper(read: PublishedFile, folder: Path) -> Paper:
    return Paper(
        name=read.paper.name,
        title=read.paper.title,
        authors=read.paper.authors,
        where=read.paper.where,
        folder=folder,
        bounds=read.bounds,
        seeds=read.runs.seeds,
        full=read.runs.full or read.runs.seeds,
        series=read.runs.series,
        tables=read.tables,
        statements=read.statements,
        figures=read.figures,
        reasons=read.reasons,
        perturbations=read.perturbations,
        readings=read.readings,
        apart=read.apart,
        answer=read.answer,
    )


# ---------------------------------------------------------------- What a well-formed paper obeys

Mistakes = Iterator[tuple[Keys, str]]
"""Places of mistakes, each with a sentence."""


def _mistakes(paper: Paper) -> Mistakes:
    for keys, scenario in _scenarios(paper):
        if not is_scenario(paper.folder, scenario):
            yield keys, f"no file {shortened(scenario)}.toml beside it"
    parts: list[tuple[str, Sequence[Reading | Perturbation]]] = [
        ("readings", paper.readings),
        ("perturbations", paper.perturbations),
    ]
    for part, entries in parts:
        for number, entry in enumerate(entries):
            for place, scenario in enumerate(entry.scenarios):
                if scenario not in paper.scenarios():
                    known = ", ".join(paper.scenarios())
                    yield (part, number, "scenarios", place), f"unknown scenario `{scenario}`; valid: {known}"
    for number, apart in enumerate(paper.apart):
        for place, pattern in enumerate(apart.claims):
            if not fnmatch.filter(paper.ids(), pattern):
                yield ("apart", number, "claims", place), f"no number or statement matches {shortened(pattern)}"
    if paper.answer:
        figures = [figure.id for figure in paper.figures]
        for place, name in enumerate(paper.answer.figures):
            if name not in figures:
                yield ("answer", "figures", place), f"unknown figure {shortened(name)}; valid: {', '.join(figures)}"
    for number, table in enumerate(paper.tables):
        yield from _mistakes_of_a_table(("tables", number), table)
    seen: set[str] = set()
    for group, statements in enumerate(paper.statements):
        for number, claim in enumerate(statements.claims):
            keys = ("statements", group, "claims", number)
            if claim.id in seen:
                yield (*keys, "id"), f"another claim has the id {shortened(claim.id)} already"
            seen.add(claim.id)
            yield from _mistakes_of_a_claim(keys, claim)
    for number, figure in enumerate(paper.figures):
        yield from _mistakes_of_a_figure(("figures", number), figure)


def _scenarios(paper: Paper) -> Iterator[tuple[Keys, str]]:
    for number, table in enumerate(paper.tables):
        for entry, group in enumerate(table.groups):
            yield ("tables", number, "groups", entry, "scenario"), group.scenario
    for number, statements in enumerate(paper.statements):
        yield ("statements", number, "scenario"), statements.scenario
    for number, figure in enumerate(paper.figures):
        for scenario, _ in figure.places():
            yield ("figures", number), scenario


def is_scenario(folder: Path, name: str) -> bool:
    """Return whether a scenario's file is in a folder."""
    try:
        return (folder / f"{name}.toml").is_file()
    except (OSError, ValueError):  # No file can have such a name.
        return False


def _mistakes_of_a_table(keys: Keys, table: Table) -> Mistakes:
    for entry, group in enumerate(table.groups):
        for number, row in enumerate(group.rows):
            if len(row.published) != len(table.columns):
                place = (*keys, "groups", entry, "rows", number, "published")
                yield place, f"{len(row.published)} values for {len(table.columns)} columns"


def _mistakes_of_a_figure(keys: Keys, figure: Figure) -> Mistakes:
    """Refuse published heights that do not fit what is drawn."""
    groups = len(figure.groups)
    if figure.published is not None and len(figure.published) != groups:
        yield (*keys, "published"), f"{len(figure.published)} values for {groups} groups"
    drawn = len(figure.bars or figure.lines)
    for number, panel in enumerate(figure.panels):
        heights = panel.published
        if heights is not None and [len(each) for each in heights] != [groups] * drawn:
            place = (*keys, "panels", number, "published")
            yield place, f"it needs {drawn} lists, one for each bar or line, of {groups} values, one for each group"


def _mistakes_of_a_claim(keys: Keys, claim: Claim) -> Mistakes:
    kinds = [kind for kind in (claim.holds, claim.quantity, claim.reduction) if kind is not None]
    if len(kinds) != 1:
        yield keys, f"claim {shortened(claim.id)} needs one of holds, quantity, reduction"
    if claim.holds is None and not is_number(claim.published):
        name = f"claim {shortened(claim.id)}"
        yield keys, f"{name}: `published` must be a number in quotes, as the paper prints it"
    takes = TAKES_OF_NUMBERS if claim.holds is None else TAKES_OF_STATEMENTS
    if claim.over and claim.take not in takes:
        yield keys, f"`take` must be one of {', '.join(takes)}, for the claim goes over a grid"
    if (claim.take or claim.without) and not claim.over:
        yield keys, "`take` and `without` need `over`, the axes of the grid"
    for name, expression in claim.expressions():
        try:
            calls(expression)
        except ClaimError as error:
            yield (*keys, name), str(error)
