"""A report: what was found, as one value that is written as text, Markdown, HTML or JSON."""

from __future__ import annotations

import html
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbloat.report.table import Column, markdown, render, screen_width, show

PAGE = 120
"""Characters of a line that is no table."""


@dataclass(frozen=True)
class Heading:
    """The title of what follows."""

    title: str


@dataclass(frozen=True)
class Picture:
    """A picture in a file beside the page; a terminal does not show it."""

    file: str
    caption: str


@dataclass(frozen=True)
class Listing:
    """A list of sentences, maybe under a heading; a line break in an item stays one."""

    head: str
    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table, maybe with a title."""

    columns: Sequence[Column]
    title: str = ""
    write: Callable[[object], str] = show
    """Writes a cell for a page; a terminal has the digits that `show` gives."""
    narrow: Sequence[Column] = ()
    """The same in fewer columns, for a terminal that the table is too wide for."""
    is_part: bool = False
    """Stands under the heading of a larger one."""
    is_stacked: bool = False
    """Its cells are sentences: a terminal shows each row as a paragraph, the first cell on a line of its own."""


Part = str | Heading | Picture | Listing | Table


@dataclass(frozen=True)
class Report:
    """Paragraphs, lists and tables in their order, and the data behind them."""

    parts: Sequence[Part]
    data: dict[str, Any] = field(default_factory=dict)
    """What a script reads."""

    def text(self) -> str:
        """Lay it out for a terminal."""
        return "\n\n".join(filter(None, map(_text, self.parts)))

    def markdown(self) -> str:
        """Lay it out for a page."""
        return "\n\n".join(map(_markdown, self.parts))

    def html(self) -> str:
        """Lay it out as a part of an HTML page."""
        return "\n".join(map(_html, self.parts))

    def json(self) -> str:
        """Give the data behind it."""
        return json.dumps(self.data, indent=2, allow_nan=False)


def _text(part: Part) -> str:
    match part:
        case Heading():
            return part.title
        case Picture():
            return ""
        case Table(is_stacked=True):
            return "\n".join(filter(None, [part.title, *_stacked(part)]))
        case Table():
            return "\n".join(filter(None, [part.title, _fitting(part)]))
        case Listing():
            return "\n".join([*([f"{part.head}:", ""] if part.head else []), *map(_item, part.items)])
    return "\n".join(_filled(line) for line in part.split("\n"))


def _fitting(table: Table) -> str:
    width = screen_width()
    is_wide = width is not None and max(map(len, render(table.columns, sys.maxsize).split("\n"))) > width
    return render(table.narrow if is_wide and table.narrow else table.columns)


def _stacked(table: Table) -> Iterator[str]:
    """Give each row as a line and what belongs to it below."""
    for first, *rest in zip(*(column.cells for column in table.columns), strict=True):
        yield _filled(f"  {table.write(first)}", "    ")
        yield _filled(f"      {': '.join(filter(None, map(table.write, rest)))}", "      ")


def _item(item: str) -> str:
    first, *rest = item.split("\n")
    return "\n".join([_filled(f"* {first}", "  "), *(_filled(f"    {line}", "    ") for line in rest)])


def _filled(line: str, indent: str = "", width: int | None = None) -> str:
    """Break a line where the terminal ends, or a page's line would be too long."""
    width = width or min(PAGE, screen_width() or PAGE)
    return textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _markdown(part: Part) -> str:
    match part:
        case Heading():
            return f"### {part.title}"
        case Picture():
            return f"![{part.caption}]({part.file})"
        case Table():
            heading = f"**{part.title}**" if part.is_part else f"### {part.title}"
            title = [heading] if part.title else []
            return "\n\n".join([*title, markdown(part.columns, part.write)])
        case Listing():
            return "\n".join([*([f"{part.head}:", ""] if part.head else []), *map(_markdown_item, part.items)])
    return "\n".join(_filled(line, width=PAGE) if line[:1].isalpha() else line for line in part.split("\n"))


def _markdown_item(item: str) -> str:
    first, *rest = item.split("\n")
    return "\n".join([_filled(f"* {first}", "  ", PAGE), *(_filled(f"  <br>{line}", "  ", PAGE) for line in rest)])


def _html(part: Part) -> str:
    match part:
        case Heading():
            return f"<h2>{html.escape(part.title)}</h2>"
        case Picture():
            source, caption = html.escape(part.file), html.escape(part.caption)
            return f'<figure><img src="{source}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'
        case Table():
            return "\n".join(_html_table(part))
        case Listing():
            items = "".join(f"<li>{html.escape(item)}</li>".replace("\n", "<br>") for item in part.items)
            head = f"<p>{html.escape(part.head)}:</p>\n" if part.head else ""
            return f"{head}<ul>{items}</ul>"
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
