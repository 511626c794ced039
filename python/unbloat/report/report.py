"""A report: what was found, as one value that is written as text, Markdown, HTML or JSON."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from unbloat.report import html
from unbloat.report.parts import Code, Facts, Fold, Heading, Listing, Part, Picture, Table
from unbloat.report.table import markdown, render
from unbloat.system.legible import screen_width

PAGE = 120
"""Characters of a line that is no table."""
SHORT = 80
"""Characters of a report's first line in its `repr`."""


@dataclass(frozen=True, repr=False)
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
        return html.of(self.parts)

    def json(self) -> str:
        """Format the data behind the report as JSON."""
        return json.dumps(self.data, indent=2, allow_nan=False)

    def __repr__(self) -> str:
        first = next((line for line in self.text().splitlines() if line.strip()), "")
        return f"<unbloat.Report: {textwrap.shorten(first, SHORT, placeholder='...')}>"

    def __str__(self) -> str:
        return self.text()


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
            return "\n".join(f"* **{term}**: {said}" for term, said in part.items)
        case Code():
            return f"```\n{part.text}\n```"
        case Fold():
            # The attribute has the site's renderer read what is inside; others leave it out.
            summary = f'<details markdown="1"><summary>{part.title}</summary>'
            return "\n\n".join([summary, *map(_markdown, part.parts), "</details>"])
    return "\n".join(_filled(line, width=PAGE) if _is_prose(line) else line for line in part.split("\n"))


def _is_prose(line: str) -> bool:
    """Return whether a line of a paragraph may be broken, in Markdown too: a list's would need an indent."""
    return line[:1].isalnum() or line[:1] in ("[", "`")


def _markdown_item(item: str) -> str:
    first, *rest = item.split("\n")
    return "\n".join([_filled(f"* {first}", "  ", PAGE), *(_filled(f"  <br>{line}", "  ", PAGE) for line in rest)])
