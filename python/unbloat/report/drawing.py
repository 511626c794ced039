"""Figures as a part of a page: SVG without ids that meet, in the page's own colours."""

from __future__ import annotations

import io
import re
from html import escape

from matplotlib.figure import Figure

from unbloat.report.figures.style import COLOURS, GREY, GRID, METADATA, PALE, SHADE, legible, look

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
    """Draw a figure as an SVG element; `number` keeps its ids apart from those of the page's other figures."""
    buffer = io.StringIO()
    with look():
        legible(figure).savefig(buffer, format="svg", metadata=METADATA["svg"])
    return element(buffer.getvalue(), alt, number)


def element(svg: str, alt: str, number: int) -> str:
    """Turn an SVG file into an element of a page."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    body = re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: OF_THE_PAGE.get(found[0].upper(), found[0]), body)
    width, _ = size(body)
    look = f'style="--width: {width:.0f}" viewBox="{_attribute(body, "viewBox")}"'
    head = f'<svg role="img" aria-label="{escape(alt)}" {look}>'
    return head + _own_ids(body[body.index(">") + 1 :], f"f{number}-")


def size(svg: str) -> tuple[float, float]:
    """Read width and height, in points."""
    _, _, width, height = map(float, _attribute(svg, "viewBox").split())
    return width, height


def _attribute(svg: str, name: str) -> str:
    found = re.search(rf'{name}="([^"]*)"', svg)
    assert found, f"matplotlib writes {name}"
    return found[1]


def _own_ids(body: str, before: str) -> str:
    """Put `before` before every id that something refers to, and leave the others out."""
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', body))
    body = re.sub(r' id="([^"]+)"', lambda found: f' id="{before}{found[1]}"' if found[1] in used else "", body)
    return re.sub(r'(url\(|href=")#', rf"\g<1>#{before}", body)
