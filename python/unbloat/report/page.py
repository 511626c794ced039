"""A report as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from unbloat.report import html
from unbloat.report.parts import Part
from unbloat.system.files import write_text
from unbloat.system.legible import plain

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Section:
    """A part of the page under a heading, which the page's contents name."""

    title: str
    parts: Sequence[Part]

    @property
    def id(self) -> str:
        """Its place on the page."""
        return html.anchor(self.title)

    @property
    def body(self) -> Markup:
        """What stands under the heading."""
        return Markup(html.of(self.parts))


@dataclass(frozen=True)
class Page:
    """What was asked, what the answer is, and what it rests on."""

    kind: str
    """What it is a report of, in a word or two."""
    title: str
    asked: Sequence[Part]
    answer: Sequence[Part]
    sections: Sequence[Section]
    made: str
    """What made the page."""

    def html(self) -> str:
        """Write it."""
        style = Markup((TEMPLATES / "page.css").read_text(encoding="utf-8"))
        sections = [each for each in self.sections if each.parts]
        asked = Markup(html.of(self.asked))
        answer = Markup(html.of(self.answer))
        return plain(_template().render(page=self, style=style, asked=asked, answer=answer, sections=sections))

    def write(self, file: Path) -> None:
        """Write it to a file, in a folder that is made if it is missing."""
        write_text(file, self.html())


@cache
def _template() -> Template:
    loader = FileSystemLoader(TEMPLATES)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True).get_template(
        "page.html"
    )
