"""The page in a paper's folder: its marked parts hold the tables that the package makes."""

from __future__ import annotations

from unbloat.papers import extra_tables, tables
from unbloat.papers.paper import Paper
from unbloat.papers.reproduction import Reproduction
from unbloat.report.report import require_part, write_parts

NAME = "README.md"


def write(found: Reproduction) -> None:
    """Replace the marked parts of the folder's page, and draw its figures beside it."""
    folder = found.paper.folder
    itself, *readings = found.judged
    reports = {"main": tables.answer_of(itself), "verdicts": tables.details_of(itself)}
    reports |= {part_of(judged.paper): tables.reading_of(judged) for judged in readings}
    reports |= {table.id: extra_tables.folded(table, laid) for table, laid in found.extra_tables}
    write_parts(folder / NAME, {part: f"{report.markdown()}\n" for part, report in reports.items()})
    found.draw(folder / "figures")


def require_parts(paper: Paper) -> None:
    """Refuse a page that lacks a part before long runs are made for it; raises `InputError`."""
    papers = [paper, *paper.other_readings()]
    for part in ["main", *map(part_of, papers), *(table.id for table in extra_tables.load(paper.folder))]:
        require_part(paper.folder / NAME, part)


def part_of(paper: Paper) -> str:
    """Name the part of the page that holds every verdict of a reading."""
    return paper.reading.id if paper.reading else "verdicts"
