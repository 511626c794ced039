"""What reports consist of: headings, paragraphs, lists, tables, pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unbloat.report.table import Column, show


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
    alt: str = ""
    """What the picture shows, for those who do not see it; the caption without."""
    is_wide: bool = False
    """Needs the width of the page, where others stand side by side."""


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
    is_part: bool = False
    """Stands under the heading of a larger one."""
    is_stacked: bool = False
    """Its cells are sentences: a terminal shows each row as a paragraph, the first cell on a line of its own."""


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
    """What an HTML page hides under its title until a reader asks for it."""

    title: str
    parts: Sequence[Part]


Part = str | Heading | Picture | Listing | Table | Facts | Code | Fold
