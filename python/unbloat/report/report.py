"""A report: what was found, as one value that is written as text, Markdown, HTML or JSON."""

from __future__ import annotations

import html
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbloat.report.table import Column, markdown, render, screen_width, show

WIDTH = 120
"""Characters of a line of text that is no table."""


@dataclass(frozen=True)
class Listing:
    """A list of sentences under a heading."""

    head: str
    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table, maybe with a title."""

    columns: Sequence[Column]
    title: str = ""
    write: Callable[[object], str] = show
    """Writes a cell for a page; a terminal has the digits that `show` gives."""


Part = str | Listing | Table


@dataclass(frozen=True)
class Report:
    """Paragraphs, lists and tables in their order, and the data behind them."""

    parts: Sequence[Part]
    data: dict[str, Any] = field(default_factory=dict)
    """What a script reads."""

    def text(self) -> str:
        """Lay it out for a terminal."""
        return "\n\n".join(map(_text, self.parts))

    def markdown(self) -> str:
        """Lay it out for a page."""
        return "\n\n".join(map(_markdown, self.parts))

    def html(self) -> str:
        """Lay it out as a part of an HTML page."""
        return "\n".join(map(_html, self.parts))

    def json(self) -> str:
        """Give the data behind it."""
        return json.dumps(self.data, indent=2)


def _text(part: Part) -> str:
    match part:
        case Table():
            return "\n".join(filter(None, [part.title, render(part.columns)]))
        case Listing():
            return "\n".join([f"{part.head}:", "", *(_filled(f"* {item}", "  ") for item in part.items)])
    return "\n".join(_filled(line) for line in part.split("\n"))


def _filled(line: str, indent: str = "") -> str:
    return textwrap.fill(line, min(WIDTH, screen_width() or WIDTH), subsequent_indent=indent)


def _markdown(part: Part) -> str:
    match part:
        case Table():
            title = [f"### {part.title}"] if part.title else []
            return "\n\n".join([*title, markdown(part.columns, part.write)])
        case Listing():
            return "\n".join([f"{part.head}:", "", *(f"* {item}" for item in part.items)])
    return part


def _html(part: Part) -> str:
    match part:
        case Table():
            return "\n".join(_html_table(part))
        case Listing():
            items = "".join(f"<li>{html.escape(item)}</li>" for item in part.items)
            return f"<p>{html.escape(part.head)}:</p>\n<ul>{items}</ul>"
    return f"<p>{html.escape(part)}</p>"


def _html_table(table: Table) -> Iterator[str]:
    yield "<table>"
    if table.title:
        yield f"<caption>{html.escape(table.title)}</caption>"
    heads = (html.escape(f"{column.head} {column.unit}".strip()) for column in table.columns)
    yield f"<thead><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead>"
    yield "<tbody>"
    styles = [' style="text-align: right"' if column.is_number() else "" for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        cells = zip(styles, map(table.write, row), strict=True)
        yield f"<tr>{''.join(f'<td{style}>{html.escape(cell)}</td>' for style, cell in cells)}</tr>"
    yield "</tbody></table>"
