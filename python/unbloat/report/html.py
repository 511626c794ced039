"""The parts of a report in HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from unbloat.report.parts import Code, Facts, Fold, Heading, Listing, Part, Picture, Table
from unbloat.report.table import Column, Marked, filled


def of(parts: Sequence[Part]) -> str:
    """Lay parts out one after another; pictures that follow each other stand in one frame, side by side if they fit."""
    return "\n".join(_blocks(parts))


def _blocks(parts: Sequence[Part]) -> Iterator[str]:
    pictures: list[str] = []
    for part in parts:
        if isinstance(part, Picture):
            pictures.append(_picture(part))
            continue
        yield from _framed(pictures)
        pictures = []
        yield _block(part)
    yield from _framed(pictures)


def _framed(pictures: Sequence[str]) -> Iterator[str]:
    if pictures:
        yield '<div class="pictures">\n' + "\n".join(pictures) + "\n</div>"


def _block(part: Part) -> str:
    match part:
        case Heading():
            return f'<h3 id="{anchor(part.title)}">{words(part.title)}</h3>'
        case Picture():
            return _picture(part)
        case Table(is_stacked=True):
            return "\n".join(_statements(part))
        case Table():
            return "\n".join(_table(part))
        case Listing():
            items = "\n".join(f"<li>{words(item)}</li>".replace("\n", "<br>") for item in part.items)
            return f"{f'<p>{words(part.head)}:</p>' if part.head else ''}\n<ul>{items}</ul>"
        case Facts():
            rows = (f"<div><dt>{words(term)}</dt><dd>{words(said)}</dd></div>" for term, said in part.items)
            return '<dl class="facts">\n' + "\n".join(rows) + "\n</dl>"
        case Code():
            return f'<pre tabindex="0"><code>{escape(part.text)}</code></pre>'
        case Fold():
            return f"<details>\n<summary>{words(part.title)}</summary>\n{of(part.parts)}\n</details>"
    return f"<p>{words(part)}</p>"


def words(text: str) -> str:
    """Write a sentence, in which backticks mark what is typed."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def anchor(title: str) -> str:
    """Name a heading's place on the page."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _picture(picture: Picture) -> str:
    caption = words(picture.caption)
    shown = picture.svg or f'<img src="{escape(picture.file)}" alt="{escape(picture.alt or picture.caption)}">'
    kind = ' class="wide" tabindex="0"' if picture.is_wide else ""
    return f"<figure{kind}>{shown}<figcaption>{caption}</figcaption></figure>"


# ---------------------------------------------------------------- Tables


def _table(table: Table) -> Iterator[str]:
    """Write a table in a frame of its own: on a narrow screen the frame scrolls, not the page."""
    columns = filled(table.columns)
    name = escape(table.title or "Table")
    yield f'<div class="table" role="region" aria-label="{name}" tabindex="0"><table>'
    if table.title:
        yield f"<caption>{words(table.title)}</caption>"
    yield f"<thead><tr>{''.join(map(_head, columns))}</tr></thead>"
    yield "<tbody>"
    for row in zip(*(column.cells for column in columns), strict=True):
        first, *others = zip(columns, row, strict=True)
        cells = [_cell(table, *first, 'th scope="row"'), *(_cell(table, *each, "td") for each in others)]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _head(column: Column) -> str:
    kind = ' class="number"' if column.is_number() else ""
    unit = f' <span class="unit">{escape(column.unit)}</span>' if column.unit else ""
    # A column of remarks needs no visible head, but screen readers need one.
    head = escape(column.head) or ('<span class="heard">' + ("" if unit else "remark") + "</span>")
    return f'<th scope="col"{kind}>{head}{unit}</th>'


def _cell(table: Table, column: Column, cell: object, tag: str) -> str:
    kind = ' class="number"' if column.is_number() else ""
    return f"<{tag}{kind}>{_content(table, cell)}</{tag.partition(' ')[0]}>"


def _content(table: Table, cell: object) -> str:
    if isinstance(cell, Marked):
        return escape(cell.between).join(_word(*each) for each in cell.words)
    return words(table.write(cell))


def _word(word: str, kind: str) -> str:
    return f'<span class="{anchor(kind)} mark" title="{escape(kind)}">{words(word)}</span>' if kind else words(word)


def _statements(table: Table) -> Iterator[str]:
    """Write each row as a sentence, and below it what the other columns say of it."""
    first, *others = table.columns
    yield '<ul class="statements">'
    for place, sentence in enumerate(first.cells):
        said = (
            f"<span>{_label(column)}{_content(table, column.cells[place])}</span>"
            for column in others
            if column.cells[place] not in (None, "")
        )
        yield f"<li><p>{_content(table, sentence)}</p><p class='said'>{' '.join(said)}</p></li>"
    yield "</ul>"


def _label(column: Column) -> str:
    return f'<span class="label">{escape(column.head)}</span> '
