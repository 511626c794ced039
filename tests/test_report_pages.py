"""The HTML pages in a real browser: what they ask for, how they fit, whether they can be read.

Screenshots and the printed page are kept in results/pages, for people to look at.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import unbloat as ub
from browser import Browser, browser, pixels
from inline_snapshot import snapshot
from kept import lend
from made_up_paper import ANSWER, PUBLISHED, READING, write_paper
from unbloat.api.results import Results
from unbloat.cli.app import main
from unbloat.papers.reproduce import Reproduction
from unbloat.report.results_page import page_of
from unbloat.results.record import Failure, Record

KEPT = Path(__file__).parent.parent / "results" / "pages"
WIDTHS = (400, 820, 1280)
PAPER = 688
"""Dots of a page of A4 between its margins."""
NAMES = ("run", "sweep", "paper")
LINE = """\
# A slow line: one upload spoils it for everybody.
name     = "slow line"
duration = "6s"
warmup   = "1s"

[link.bottleneck]
rate  = "2mbit"
delay = "15ms"
queue = { limit = "64kb" }

[[flows]]
name = "backup"
cc   = "cubic"

[[flows]]
name  = "photo"
cc    = "cubic"
start = "2s"
size  = "100kb"
"""


def paper_in(parent: Path) -> Path:
    """Write the paper, with a main claim and a page."""
    main_claim = PUBLISHED.replace('id = "delay"', 'id = "delay", main = true')
    page = "<!-- begin main -->\n<!-- end main -->\n"
    return write_paper(parent, {"published.toml": main_claim + READING + ANSWER, "README.md": page})


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of a run, one of a sweep of which not all went well, one of a paper with every verdict."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        (folder / "cache").mkdir(mode=0o700)
        lend(folder / "cache", "mechanisms")
        patch.setenv("UNBLOAT_CACHE", str(folder / "cache"))
        files = {name: folder / f"{name}.html" for name in NAMES}
        controls = {"sweep.flows.0.cc": ["cubic", "vegas", "cubic_plus"]}
        ub.scenario(LINE, controls).run(series="50ms").to_html(files["run"])
        page_of(troubled(ub.scenario(LINE, {**controls, "link.bottleneck.loss": "0.2%"}).run(repeat=3))).write(
            files["sweep"]
        )
        found = ub.paper(paper_in(folder)).reproduce()
        judged = with_every_verdict(found)
        assert judged.to_html(files["paper"]) is None
        assert without_time(judged.to_html()) == without_time(files["paper"].read_text())
    return files


def without_time(page: str) -> str:
    """Leave out when it was made, which may have been a minute later."""
    less, count = re.subn(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page)
    assert count
    return less


def troubled(results: Results) -> Results:
    """Have one run unsound and one failed."""
    first, second, *others = results.records
    unsound = Record(first.axes, {**first.run, "sound": False, "unsound_because": "stood still for <22.7> ms"})
    failed = Failure(second.axes, 2, second.run["seed"], "`cubic`: it divides by zero", "line", "simulator")
    return Results([unsound, failed, *others], results.about)


def with_every_verdict(found: Reproduction) -> Reproduction:
    """Have one number of each kind."""
    judged = found.judged[0]
    verdicts = iter(["undecided", "unsound", "not reproduced", "reproduced"])
    statements = [
        (
            group,
            [(claim, dataclasses.replace(each, verdict=next(verdicts), reason="so it is")) for claim, each in claims],
        )
        for group, claims in judged.statements
    ]
    changed = dataclasses.replace(judged, statements=statements)
    return dataclasses.replace(found, judged=[changed, *found.judged[1:]])


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"


# ---------------------------------------------------------------- What a page asks for


def test_the_browser_tells_of_what_a_page_must_not_do(tab: Browser, tmp_path: Path) -> None:
    file = tmp_path / "wrong.html"
    file.write_text("<img src='picture.png'><script>console.error('wrong')</script><p style='width: 3000px'>wide")
    tab.open(file, width=400)
    assert [url.rpartition("/")[2] for url in tab.requests()] == ["picture.png"]
    assert any("wrong" in each for each in tab.complaints())
    assert tab.evaluate(OVERFLOW) > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_page_needs_nothing_and_the_browser_finds_nothing_wrong(
    tab: Browser, pages: dict[str, Path], name: str
) -> None:
    tab.open(pages[name], width=1280)
    assert tab.evaluate("document.querySelectorAll('h1').length") == 1
    assert tab.requests() == []
    assert tab.complaints() == []


# ---------------------------------------------------------------- How it looks

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_makes_the_page_scroll_sideways(tab: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    for is_dark in (False, True):
        tab.open(pages[name], width=width, dark=is_dark)
        keep(f"{name}-{width}{'-dark' if is_dark else ''}.png", tab.screenshot())
        assert tab.evaluate(OVERFLOW) <= 0
    tab.evaluate(UNFOLD)
    assert tab.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    keep(f"{name}-{width}-unfolded.png", tab.screenshot())
    assert tab.evaluate(OVERFLOW) <= 0


BOXES = """[...document.querySelectorAll('figure svg')].map(each => {
  const box = each.getBoundingClientRect();
  return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height};
})"""


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_not_blank_and_have_the_pages_colour(
    tab: Browser, pages: dict[str, Path], name: str, is_dark: bool
) -> None:
    tab.open(pages[name], width=1280, dark=is_dark)
    boxes = tab.evaluate(BOXES)
    assert len(boxes) >= 3
    for box in boxes:
        assert box["width"] > 200 and box["height"] > 80
        dots = pixels(tab.screenshot(box))
        background = np.median(dots, axis=0)
        assert (background.mean() < 0.2) == is_dark
        is_drawn = np.abs(dots - background).max(axis=1) > 0.3
        assert 0.005 < is_drawn.mean() < 0.8
        assert len(np.unique((dots[is_drawn] * 8).astype(int), axis=0)) > 3


CONTRASTS = """(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = each => {
    for (; each; each = each.parentElement) {
      const back = rgb(getComputedStyle(each).backgroundColor);
      if (back.length < 4 || back[3] > 0) return back;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || holder.closest('svg')) continue;
    const [a, b] = [light(rgb(getComputedStyle(holder).color)), light(behind(holder))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
})()"""


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_every_word_stands_out_from_what_is_behind_it(
    tab: Browser, pages: dict[str, Path], name: str, is_dark: bool
) -> None:
    """WCAG 2 asks for a contrast of 4.5."""
    tab.open(pages[name], width=820, dark=is_dark)
    tab.evaluate(UNFOLD)
    contrasts = tab.evaluate(CONTRASTS)
    assert len(contrasts) > 50
    assert [each for each in contrasts if each[0] < 4.5] == []


@pytest.mark.parametrize("name", NAMES)
def test_on_paper_everything_is_unfolded_and_fits(tab: Browser, pages: dict[str, Path], name: str) -> None:
    tab.open(pages[name], width=PAPER)
    hidden = "[...document.querySelectorAll('details > *:not(summary)')].filter(each => !each.checkVisibility()).length"
    assert tab.evaluate(hidden) > 0
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.evaluate(hidden) == 0
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.call("Emulation.setEmulatedMedia", media="")
    printed = tab.pdf()
    keep(f"{name}.pdf", printed)
    assert printed.startswith(b"%PDF")


# ---------------------------------------------------------------- Whether everybody can read it

FAULTS = """(() => {
  const all = selector => [...document.querySelectorAll(selector)];
  const ids = all('[id]').map(each => each.id);
  const levels = all('h1, h2, h3').map(each => Number(each.tagName[1]));
  return [
    document.documentElement.lang === 'en' ? '' : 'no language',
    ...all('figure svg').map(each => each.role === 'img' && each.ariaLabel ? '' : 'a picture without words'),
    ...all('table').map(each => each.querySelector('tbody th[scope=row]') ? '' : 'a table without heads of rows'),
    ...all('thead th').map(each => each.scope === 'col' && each.textContent.trim() ? '' : 'a column without a head'),
    ...all('details').map(each => each.firstElementChild.tagName === 'SUMMARY' ? '' : 'a fold without a title'),
    ...all('a[href^="#"]').map(each => document.querySelector(each.hash) ? '' : `${each.hash} is nowhere`),
    ...all('section').map(each => each.ariaLabelledByElements.length ? '' : 'a section without a name'),
    ...all('use').map(each => document.getElementById(each.getAttribute('xlink:href').slice(1)) ? '' : 'a lost mark'),
    ...ids.map((id, n) => ids.indexOf(id) === n ? '' : `${id} twice`),
    ...levels.map((level, n) => level <= (levels[n - 1] || 0) + 1 ? '' : 'a heading left out'),
  ].filter(Boolean);
})()"""


@pytest.mark.parametrize("name", NAMES)
def test_those_who_do_not_see_it_are_told_what_is_what(tab: Browser, pages: dict[str, Path], name: str) -> None:
    tab.open(pages[name], width=1280)
    assert tab.evaluate(FAULTS) == []


# ---------------------------------------------------------------- What it says


def sections_of(tab: Browser, file: Path) -> dict[str, str]:
    """Give the words of each section by its heading."""
    tab.open(file, width=1280)
    tab.evaluate(UNFOLD)
    sections = tab.evaluate(
        "[...document.querySelectorAll('section')].map(each => [each.querySelector('h2').innerText, each.innerText])"
    )
    return {heading: words.removeprefix(heading).strip() for heading, words in sections}


def seedless(words: str) -> str:
    """Leave seeds out, which are a hash of the scenario."""
    return re.sub(r"seed \d+", "seed N", words)


def test_a_run_says_what_was_asked_and_the_answer(tab: Browser, pages: dict[str, Path]) -> None:
    sections = sections_of(tab, pages["run"])
    assert [*sections] == snapshot(["The answer", "Pictures", "Numbers", "Unsound or failed", "Run it again"])
    assert sections["Unsound or failed"] == snapshot("Every run finished and is sound.")
    said = tab.evaluate("document.body.innerText")
    assert "flows.0.cc: cubic, vegas, cubic_plus" in said and 'limit = "64kb"' in said, "the scenario is there"
    rows = tab.evaluate("[...document.querySelector('table').rows].map(row => row.cells[0].innerText)")
    assert rows == snapshot(["metric", "completion of photo (s)", "queueing delay (ms)"])


def test_a_sweep_says_what_is_unsound_and_what_failed(tab: Browser, pages: dict[str, Path]) -> None:
    assert seedless(sections_of(tab, pages["sweep"])["Unsound or failed"]) == snapshot("""\
Unsound, and not counted:

(cubic) seed N: stood still for <22.7> ms

Failed:

(cubic) seed N: cubic: it divides by zero\
""")


def test_a_paper_shows_every_verdict_in_its_colour(tab: Browser, pages: dict[str, Path]) -> None:
    sections = sections_of(tab, pages["paper"])
    assert [*sections] == snapshot(
        [
            "The answer",
            "Main claims",
            "Counts",
            "Every number in one picture",
            "Figures",
            "Published beside measured",
            "What did not come out as published, and why",
            "Unsound or undecided",
            "A slow link",
            "Run it again",
        ]
    )
    assert [line for lines in sections.values() for line in lines.splitlines() if "claim" in line] == snapshot(
        [
            "1 main claim: 0 reproduced, 0 direction only, 0 not reproduced, 1 undecided.",
            "Main claims: green is what the paper says, dots are what was measured",
            "1 main claim: 0 reproduced, 0 direction only, 0 not reproduced, 1 undecided.",
            "counted apart\tpublished\tdecided\treproduced\tmain claims reproduced",
            "1 main claim: 1 reproduced, 0 direction only, 0 not reproduced, 0 undecided.",
            "Main claims: green is what the paper says, dots are what was measured",
        ]
    )
    colours = tab.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.mark')]"
        ".map(each => [each.title, getComputedStyle(each).backgroundColor]))"
    )
    assert {"reproduced", "undecided", "unsound"} <= set(colours)
    assert len(set(colours.values())) == len(colours)


# ---------------------------------------------------------------- The command


def test_the_command_writes_a_page_beside_the_results(tmp_path: Path, small: Path) -> None:
    folder = tmp_path / "out"
    assert main(["run", str(small), "-o", str(folder)]) == 0
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert "<h1>small</h1>" in page and "<svg" in page


def test_the_command_reads_what_json_printed(tmp_path: Path, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(small), "--json"]) == 0
    (tmp_path / "small.json").write_text(capsys.readouterr().out)
    assert main(["report", str(tmp_path / "small.json"), "-o", str(tmp_path / "new" / "page.html")]) == 0
    page = (tmp_path / "new" / "page.html").read_text()
    assert "<dt>Goodput</dt>" in page and "<dt>Queueing delay</dt>" in page


def test_reproducing_a_paper_with_its_page_makes_the_report_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paper = paper_in(tmp_path)
    assert main(["reproduce", str(paper), "--page"]) == 0
    page = (tmp_path / "results/tiny/report.html").read_text()
    assert "<h1>Two congestion controls on a line</h1>" in page and "A slow link" in page
    assert main(["report", str(paper), "-o", "other.html"]) == 0
    assert (tmp_path / "other.html").read_text().partition("<footer>")[0] == page.partition("<footer>")[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["report", "nowhere"],
            snapshot(
                "unbloat: report: nowhere is neither results (a file or folder) nor a paper; papers: bbr3, clpc, copa, cubic-plus, dtpa, elastic-tcp, hystartpp, illinois, ledbat-pp, rledbat, rtac, search, sorpc\n"
            ),
        ),
        (["report", "clpc", "-o", "page.pdf"], snapshot("unbloat: report: -o page.pdf: a page's name ends in .html\n")),
    ],
)
def test_what_cannot_be_reported_is_said_before_anything_runs(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == told


def keep(name: str, content: bytes) -> None:
    """Keep a picture of a page for people to look at."""
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / name).write_bytes(content)
