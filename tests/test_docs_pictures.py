"""Every picture of the documentation in a real browser: it loads, and its words are within it and not on one another."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path as File

import matplotlib
import numpy as np
import pytest
from browser import Browser, browser
from matplotlib.path import Path

ROOT = File(__file__).parents[1]
PICTURES = sorted(file for folder in ("docs", "papers") for file in (ROOT / folder).rglob("*.svg"))
FONT = File(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
SPARE = 1.0
"""As many dots may be missing at an edge."""
AIR = 0.2
"""The share of a line's height, above and below, in which most letters have nothing."""

LINES = """[...document.querySelectorAll('svg g[id^=text_]')].flatMap((group, number) => {
  const written = [...group.querySelectorAll('text')];
  // Letters with a halo are curves, behind a comment that has the words.
  const words = [...group.childNodes].find(each => each.nodeType === Node.COMMENT_NODE);
  const lines = words && !written.length ? [group] : written.filter(each => each.textContent.trim());
  return lines.map(line => {
    const {x, y, width, height} = line.getBBox();
    const air = AIR * height;
    const corners = [[x, y + air], [x + width, y + air], [x + width, y + height - air], [x, y + height - air]];
    const turn = line.getScreenCTM();
    const at = corners.map(([x, y]) => new DOMPoint(x, y).matrixTransform(turn)).map(point => [point.x, point.y]);
    return {text: number, words: (line === group ? words.data : line.textContent).trim(), corners: at};
  });
})""".replace("AIR", str(AIR))
VIEW = """(() => {
  const {x, y, width, height} = document.querySelector('svg').getBoundingClientRect();
  return [x, y, x + width, y + height];
})()"""
LOADED = """Promise.all([...document.images].map(async each => {
  await each.decode().catch(() => null);
  return [each.getAttribute('src'), each.naturalWidth];
}))"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def page_with(picture: str, folder: File) -> File:
    """Write a page that has a picture in it, with the letters for which the picture was laid out."""
    page = folder / "page.html"
    letters = f"@font-face {{ font-family: 'DejaVu Sans'; src: url(data:font/ttf;base64,{font()}); }}"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{letters}</style>{picture[picture.index('<svg') :]}")
    return page


@cache
def font() -> str:
    return base64.b64encode(FONT.read_bytes()).decode()


def faults(tab: Browser, picture: str, folder: File) -> list[str]:
    """List the words that lie on others, and those that are cut off."""
    tab.open(page_with(picture, folder), width=1280)
    tab.evaluate("document.fonts.load(\"12px 'DejaVu Sans'\").then(() => document.fonts.ready.then(() => 0))")
    left, top, right, bottom = tab.evaluate(VIEW)
    lines = tab.evaluate(LINES)
    corners = {number: np.array(line["corners"]) for number, line in enumerate(lines)}
    outlines = {number: Path([*at, at[0]], closed=True) for number, at in corners.items()}
    cut = [
        f"{line['words']!r} is cut off"
        for line, (low, high) in zip(lines, ((at.min(axis=0), at.max(axis=0)) for at in corners.values()), strict=True)
        if min(low[0] - left, low[1] - top, right - high[0], bottom - high[1]) < -SPARE
    ]
    over = [
        f"{lines[one]['words']!r} lies on {lines[other]['words']!r}"
        for one, other in combinations(outlines, 2)
        if lines[one]["text"] != lines[other]["text"]
        and outlines[one].get_extents().overlaps(outlines[other].get_extents())
        and outlines[one].intersects_path(outlines[other], filled=True)
    ]
    return [*cut, *over]


@pytest.mark.parametrize("file", PICTURES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_picture_loads_and_can_be_read(tab: Browser, file: File, tmp_path: File) -> None:
    assert not faults(tab, file.read_text(), tmp_path)
    shown = tmp_path / "shown.html"
    shown.write_text(f"<!doctype html><img src='{file.as_uri()}'>")
    tab.open(shown, width=1280)
    ((_, width),) = tab.evaluate(LOADED)
    assert width > 0 and not tab.complaints()


def test_words_on_words_and_words_cut_off_are_found(tab: Browser, tmp_path: File) -> None:
    def text(number: int, words: str, turn: str) -> str:
        return f"<g id='text_{number}'><text transform='{turn}' style='font: 10px DejaVu Sans'>{words}</text></g>"

    words = [
        text(1, "one", "translate(20 20)"),
        text(2, "two", "translate(30 22)"),
        text(3, "aside", "translate(90 50)"),
        text(4, "turned", "translate(20 80) rotate(-30)"),
        text(5, "beside", "translate(32 84) rotate(-30)"),
    ]
    picture = f"<svg viewBox='0 0 100 100' width='100' height='100'>{''.join(words)}</svg>"
    assert faults(tab, picture, tmp_path) == ["'aside' is cut off", "'one' lies on 'two'"]


TOO_WIDE = """[...document.querySelectorAll('[class*=language-] pre > code')]
  .filter(each => !each.closest('.language-text') && each.scrollWidth > each.clientWidth + 1)
  .map(each => each.textContent.trim().slice(0, 60))"""
"""Code whose lines go on beyond its block; what commands print may."""


DRAWN = """new Promise(resolve => {
  const look = () => document.querySelector('pre.mermaid') ? setTimeout(look, 50) : resolve(
    [...document.querySelectorAll('.mermaid')].map(each => each.offsetHeight));
  look();
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> File:
    folder = tmp_path_factory.mktemp("site")
    program = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(program, cwd=ROOT, check=True)
    return folder


def test_every_picture_of_the_site_loads_and_no_code_is_hidden(tab: Browser, site: File) -> None:
    shown: dict[str, int] = {}
    hidden = []
    for page in site.rglob("*.html"):
        tab.open(page, width=1280)
        place = page.relative_to(site)
        shown |= {f"{place}: {source}": width for source, width in tab.evaluate(LOADED)}
        hidden += [f"{place}: {code}" for code in tab.evaluate(TOO_WIDE)]
    assert len(shown) > len(PICTURES) and [source for source, width in shown.items() if not width] == []
    assert not hidden


def test_every_diagram_of_the_site_is_drawn_without_the_network(tab: Browser, site: File) -> None:
    pages = [file for file in site.rglob("*.html") if 'class="mermaid"' in file.read_text()]
    heights = {}
    for page in pages:
        tab.open(page, width=1280)
        heights[page.stem] = tab.evaluate(DRAWN)
        asked = [
            event["params"]["request"]["url"] for event in tab.events if event["method"] == "Network.requestWillBeSent"
        ]
        assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert "architecture" in heights and all(height > 50 for each in heights.values() for height in each), heights
