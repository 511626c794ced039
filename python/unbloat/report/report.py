"""A report: paragraphs, lists, tables and pictures, and how each is written as text, Markdown and HTML."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from unbloat._core import InputError
from unbloat.report.table import Column, Marked, filled, markdown, render, show
from unbloat.system.files import write_text
from unbloat.system.legible import screen_width

PAGE = 120
"""The width of lines outside tables, in characters."""
SHORT = 80
"""Characters of a report's first line in its `repr`."""


# ---------------------------------------------------------------- Parts


@dataclass(frozen=True)
class Heading:
    """The title of what follows."""

    title: str


@dataclass(frozen=True)
class Picture:
    """A picture in a file beside the page; a terminal does not show it."""

    file: str
    caption: str
    svg: str = ""
    """The picture itself, which an HTML page holds in place of a link to the file."""
    is_wide: bool = False
    """Needs the width of the page, where others are side by side."""


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
    """Writes a cell of the table for a page; a terminal has the digits that `show` gives."""
    narrow: Sequence[Column] = ()
    """Fewer columns, for a terminal that the table is too wide for."""
    is_part: bool = False
    """Belongs under the heading of a larger part."""
    is_stacked: bool = False
    """The table's cells are sentences: a terminal shows a row as a paragraph, its first cell on a line of its own."""


@dataclass(frozen=True)
class Facts:
    """Terms, and what is said of each."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """Lines that a reader may copy: commands, a file."""

    text: str


@dataclass(frozen=True)
class Fold:
    """Parts that an HTML page hides under a title until a reader asks for them."""

    title: str
    parts: Sequence[Part]


Part = str | Heading | Picture | Listing | Table | Facts | Code | Fold


@dataclass(frozen=True, repr=False)
class Report:
    """Paragraphs, lists and tables in their order, and the data behind them."""

    parts: Sequence[Part]
    data: dict[str, Any] = field(default_factory=dict)
    """The values that a script reads."""

    def text(self) -> str:
        """Lay it out for a terminal."""
        return "\n\n".join(filter(None, map(_text, self.parts)))

    def markdown(self) -> str:
        """Lay it out for a page."""
        return "\n\n".join(map(_markdown, self.parts))

    def html(self) -> str:
        """Lay it out as a part of an HTML page."""
        return html_of(self.parts)

    def json(self) -> str:
        """Format the data behind the report as JSON."""
        return json.dumps(self.data, indent=2, allow_nan=False)

    def __repr__(self) -> str:
        first = next((line for line in self.text().splitlines() if line.strip()), "")
        return f"<unbloat.Report: {textwrap.shorten(first, SHORT, placeholder='...')}>"

    def __str__(self) -> str:
        return self.text()


# ---------------------------------------------------------------- Text


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
        case Facts():
            return "\n".join(_filled(f"{term}: {said}", "  ") for term, said in part.items)
        case Code():
            return textwrap.indent(part.text, "    ")
        case Fold():
            return "\n\n".join(filter(None, [part.title, *map(_text, part.parts)]))
    return "\n".join(_filled(line) for line in part.split("\n"))


def _fitting(table: Table) -> str:
    width = screen_width()
    is_wide = width is not None and max(map(len, render(table.columns, sys.maxsize).split("\n"))) > width
    return render(table.narrow if is_wide and table.narrow else table.columns)


def _stacked(table: Table) -> Iterator[str]:
    """Write each row as a line, with its details below."""
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


# ---------------------------------------------------------------- Markdown


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
        case Facts():
            return "\n".join(map(_markdown_fact, part.items))
        case Code():
            return f"```\n{part.text}\n```"
        case Fold():
            # The attribute has the site's renderer read what is inside; others leave it out.
            summary = f'<details markdown="1"><summary>{part.title}</summary>'
            return "\n\n".join([summary, *map(_markdown, part.parts), "</details>"])
    return "\n".join(_filled(line, width=PAGE) if _is_prose(line) else line for line in part.split("\n"))


def _markdown_fact(fact: tuple[str, str]) -> str:
    term, said = fact
    return _filled(f"* **{term}**: {said}", "  ", PAGE)


def _is_prose(line: str) -> bool:
    """Return whether a line of a paragraph may be broken, in Markdown too: a list's would need an indent."""
    return line[:1].isalnum() or line[:1] in ("[", "`")


def _markdown_item(item: str) -> str:
    first, *rest = item.split("\n")
    return "\n".join([_filled(f"* {first}", "  ", PAGE), *(_filled(f"  <br>{line}", "  ", PAGE) for line in rest)])


def write_parts(page: Path, parts: Mapping[str, str]) -> None:
    """Replace parts of a page, which are between `<!-- begin NAME ... -->` and `<!-- end NAME -->`.

    Raises `InputError` if the page has no such part.
    """
    text = page.read_text(encoding="utf-8")
    for name, content in parts.items():
        text = _with_part(page, text, name, content)
    write_text(page, text)


def part_of(text: str, name: str) -> str | None:
    """Return a part of a page's text; None if the page has no such part."""
    found = _marks(name).search(text)
    return found[2] if found else None


def require_part(page: Path, name: str) -> None:
    """Refuse a page without such a part before long runs are made for it; raises `InputError`."""
    if not page.is_file():
        raise InputError(f"{page}: no such page to write to")
    _with_part(page, page.read_text(encoding="utf-8"), name, "")


def _with_part(page: Path, text: str, name: str, content: str) -> str:
    marks = _marks(name)
    if not marks.search(text):
        raise InputError(f"{page}: has no part marked `<!-- begin {name} -->` to `<!-- end {name} -->`")
    return marks.sub(lambda found: f"{found[1]}\n{content}\n{found[3]}", text)


def _marks(name: str) -> re.Pattern[str]:
    """Match a part with its marks: the first mark, the text between, the last mark."""
    return re.compile(
        rf"(<!-- begin {re.escape(name)}(?=[: ])[^>]*-->\n)(.*?)(<!-- end {re.escape(name)} -->)", re.DOTALL
    )


# ---------------------------------------------------------------- HTML


def html_of(parts: Sequence[Part]) -> str:
    """Lay parts out one after another; pictures that follow each other share a frame, side by side if they fit."""
    blocks = []
    for is_picture, members in groupby(parts, lambda part: isinstance(part, Picture)):
        block = "\n".join(map(_html, members))
        blocks.append(f'<div class="pictures">\n{block}\n</div>' if is_picture else block)
    return "\n".join(blocks)


def _html(part: Part) -> str:
    match part:
        case Heading():
            return f'<h3 id="{anchor(part.title)}">{_words(part.title)}</h3>'
        case Picture():
            shown = part.svg or f'<img src="{escape(part.file)}" alt="{escape(part.caption)}">'
            kind = ' class="wide" tabindex="0"' if part.is_wide else ""
            return f"<figure{kind}>{shown}<figcaption>{_words(part.caption)}</figcaption></figure>"
        case Table(is_stacked=True):
            return "\n".join(_statements(part))
        case Table():
            return "\n".join(_table(part))
        case Listing():
            items = "\n".join(f"<li>{_words(item)}</li>".replace("\n", "<br>") for item in part.items)
            return f"{f'<p>{_words(part.head)}:</p>' if part.head else ''}\n<ul>{items}</ul>"
        case Facts():
            rows = (f"<div><dt>{_words(term)}</dt><dd>{_words(said)}</dd></div>" for term, said in part.items)
            return '<dl class="facts">\n' + "\n".join(rows) + "\n</dl>"
        case Code():
            return f'<pre tabindex="0"><code>{escape(part.text)}</code></pre>'
        case Fold():
            return f"<details>\n<summary>{_words(part.title)}</summary>\n{html_of(part.parts)}\n</details>"
    return f"<p>{_words(part)}</p>"


def _words(text: str) -> str:
    """Write a sentence, in which backticks mark what is typed."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def anchor(title: str) -> str:
    """Return the id of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _table(table: Table) -> Iterator[str]:
    """Write a table in a frame of its own: on a narrow screen the frame scrolls, not the page."""
    columns = filled(table.columns)
    kinds = [' class="number"' if column.is_number() else "" for column in columns]
    yield f'<div class="table" role="region" aria-label="{escape(table.title or "Table")}" tabindex="0"><table>'
    if table.title:
        yield f"<caption>{_words(table.title)}</caption>"
    yield f"<thead><tr>{''.join(map(_head, columns, kinds))}</tr></thead>"
    yield "<tbody>"
    for row in zip(*(column.cells for column in columns), strict=True):
        first, *others = (f"{kind}>{_content(table, cell)}" for kind, cell in zip(kinds, row, strict=True))
        yield f'<tr><th scope="row"{first}</th>{"".join(f"<td{cell}</td>" for cell in others)}</tr>'
    yield "</tbody></table></div>"


def _head(column: Column, kind: str) -> str:
    unit = f' <span class="unit">{escape(column.unit)}</span>' if column.unit else ""
    # A column of remarks needs no visible head, but screen readers need one.
    head = escape(column.head) or ('<span class="heard">' + ("" if unit else "remark") + "</span>")
    return f'<th scope="col"{kind}>{head}{unit}</th>'


def _content(table: Table, cell: object) -> str:
    if not isinstance(cell, Marked):
        return _words(table.write(cell))
    return escape(cell.between).join(
        f'<span class="{anchor(kind)} mark" title="{escape(kind)}">{_words(word)}</span>' if kind else _words(word)
        for word, kind in cell.words
    )


def _statements(table: Table) -> Iterator[str]:
    """Write each row as a sentence, and below it what the other columns say of it."""
    first, *others = table.columns
    yield '<ul class="statements">'
    for place, sentence in enumerate(first.cells):
        said = (
            f'<span><span class="label">{escape(column.head)}</span> {_content(table, column.cells[place])}</span>'
            for column in others
            if column.cells[place] not in (None, "")
        )
        yield f"<li><p>{_content(table, sentence)}</p><p class='said'>{' '.join(said)}</p></li>"
    yield "</ul>"
