"""What a reader of a figure cannot read: texts on one another, struck through or cut off, markers cut at an edge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox

SPARE = 1.5
"""As many pixels may be missing at an edge."""
AIR = 0.12
"""The share of a line's height, above and below, in which most letters have nothing."""

CAPS = ("|", "_")
"""Markers of an interval's ends, which may lie beyond the panel."""


def faults(figure: Figure) -> list[str]:
    """List what cannot be read."""
    texts = drawn_texts(figure)
    words = [Words.of(text) for text in texts]
    return [
        *(f"{a.said!r} lies on {b.said!r}" for a, b in combinations(words, 2) if a.meets(b)),
        *(f"{each.said!r} is cut off" for each in words if not _is_within(each.box, figure.bbox)),
        *(fault for axes in figure.axes for fault in _on_panel(axes, words)),
        *(fault for axes in figure.axes for fault in _cut_markers(axes, figure.dpi)),
    ]


def drawn_texts(figure: Figure) -> list[Text]:
    """List the texts that are drawn: ticks beyond an axis have labels too, which are not."""
    found: dict[Text, None] = {}
    draw = Text.draw

    def recorded(text: Text, renderer: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            found[text] = None
        draw(text, renderer)

    with patch.object(Text, "draw", recorded):
        figure.draw_without_rendering()
    return list(found)


@dataclass(frozen=True)
class Words:
    """A text, and what it takes of the picture, in pixels."""

    text: Text
    outline: Path
    box: Bbox

    @classmethod
    def of(cls, text: Text) -> "Words":
        """Outline a text as it is turned, without the air around it and the empty lines that it ends in."""
        around = Text.get_window_extent(text)
        angle = text.get_rotation()
        text.set_rotation(0)
        upright = Text.get_window_extent(text)
        text.set_rotation(angle)
        lines = text.get_text().split("\n")
        empty = len(lines) - len("\n".join(lines).rstrip().split("\n"))
        line = upright.height / len(lines)
        left, right = -upright.width / 2, upright.width / 2
        low, high = -upright.height / 2 + line * (empty + AIR), upright.height / 2 - line * AIR
        corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
        turned = Affine2D().rotate_deg(angle).translate((around.x0 + around.x1) / 2, (around.y0 + around.y1) / 2)
        outline = turned.transform_path(Path(corners, closed=True))
        return cls(text, outline, outline.get_extents())

    @property
    def said(self) -> str:
        """The text itself."""
        return self.text.get_text().strip()

    @property
    def is_set_off(self) -> bool:
        """Whether it may stand among data: there is a white edge around it, or a box behind."""
        return bool(self.text.get_path_effects() or self.text.get_bbox_patch())

    def meets(self, other: "Words") -> bool:
        """Tell whether two texts overlap."""
        return bool(self.box.overlaps(other.box) and self.outline.intersects_path(other.outline, filled=True))


def _is_within(box: Bbox, room: Bbox) -> bool:
    ends = (box.x0 - room.x0, box.y0 - room.y0, room.x1 - box.x1, room.y1 - box.y1)
    return min(ends) > -SPARE


def _on_panel(axes: Axes, words: Sequence[Words]) -> Iterator[str]:
    """Find texts that a panel's lines go through, and those that lie on it though they belong elsewhere."""
    lines = [(line, _segments(line)) for line in axes.get_lines() if line.get_linestyle() not in ("None", "")]
    for each in words:
        overlap = Bbox.intersection(each.box, axes.bbox)
        if overlap is None or min(overlap.width, overlap.height) <= SPARE:
            continue
        legend = axes.get_legend()
        if each.text not in [*axes.texts, *(legend.get_texts() if legend else [])]:
            yield f"{each.said!r} lies on a panel"
        for line, segments in lines if not each.is_set_off else []:
            if _crosses(segments, overlap):
                yield f"{each.said!r} is struck through by {line.get_label()}"


def _segments(line: Line2D) -> np.ndarray:
    """Return what a line is made of: pairs of points, in pixels."""
    points = line.get_transform().transform_path(line.get_path()).vertices
    segments = np.stack([points[:-1], points[1:]], axis=1)
    return segments[np.isfinite(segments).all(axis=(1, 2))]


def _crosses(segments: np.ndarray, box: Bbox) -> bool:
    """Tell whether some segments touch a box: few lie near it, and these are looked at closely."""
    low, high = segments.min(axis=1), segments.max(axis=1)
    near = segments[((low <= box.max) & (high >= box.min)).all(axis=1)]
    return any(Path(segment).intersects_bbox(box, filled=False) for segment in near)


def _cut_markers(axes: Axes, dpi: float) -> Iterator[str]:
    room = axes.bbox
    for line in axes.get_lines():
        if line.get_marker() in ("None", None, "", *CAPS) or not line.get_clip_on():
            continue
        radius = line.get_markersize() / 2 * dpi / 72 - SPARE
        for x, y in line.get_transform().transform(line.get_xydata()):
            if np.isfinite([x, y]).all() and min(x - room.x0, room.x1 - x, y - room.y0, room.y1 - y) < radius:
                yield f"a marker at ({x:.0f}, {y:.0f}) of {line.get_label()} is cut by the edge of its panel"
