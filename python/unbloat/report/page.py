"""A report as one HTML page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from matplotlib.figure import Figure

from unbloat.report.figures.style import COLOURS, GREY, GRID, METADATA, PALE, SHADE, legible, look
from unbloat.report.report import Part, anchor, html_of
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
        """The section's id on the page."""
        return anchor(self.title)

    @property
    def body(self) -> Markup:
        """The parts under the heading."""
        return Markup(html_of(self.parts))


@dataclass(frozen=True)
class Page:
    """A question, its answer, and the sections that the answer rests on."""

    kind: str
    """The subject of the report, in a word or two."""
    title: str
    asked: Sequence[Part]
    answer: Sequence[Part]
    sections: Sequence[Section]
    made: str
    """The program that made the page, and when."""

    def html(self) -> str:
        """Write it."""
        style = Markup((TEMPLATES / "page.css").read_text(encoding="utf-8"))
        sections = [each for each in self.sections if each.parts]
        asked, answer = Markup(html_of(self.asked)), Markup(html_of(self.answer))
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


# ---------------------------------------------------------------- Figures


OF_THE_PAGE = {
    "#FFFFFF": "var(--paper)",
    "#000000": "var(--ink)",
    GRID: "var(--grid)",
    PALE: "var(--panel)",
    SHADE: "var(--line)",
    GREY: "var(--muted)",
    COLOURS[0]: "var(--blue)",
}
"""Colours of a figure that the page sets, since it is dark where the reader wants it so."""


def inline(figure: Figure, alt: str, number: int) -> str:
    """Draw a figure as an SVG element in the page's colours; `number` keeps its ids apart from other figures'."""
    buffer = io.StringIO()
    with look():
        legible(figure).savefig(buffer, format="svg", metadata=METADATA["svg"])
    svg = buffer.getvalue()
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    body = re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: OF_THE_PAGE.get(found[0].upper(), found[0]), body)
    view = re.search(r'viewBox="([^"]*)"', body)
    assert view, "matplotlib writes a viewBox"
    width = float(view[1].split()[2])
    head = f'<svg role="img" aria-label="{escape(alt)}" style="--width: {width:.0f}" viewBox="{view[1]}">'
    return head + _own_ids(body[body.index(">") + 1 :], f"f{number}-")


def _own_ids(body: str, before: str) -> str:
    """Put `before` before every id that something refers to, and leave the others out."""
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda found: f' id="{before}{found[1]}"' if found[1] in used else "", body)
    return re.sub(r'(url\(|href=")#', rf"\g<1>#{before}", body)
