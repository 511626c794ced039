"""The whole report on a repeated paper, as an HTML page."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from statistics import median, quantiles

from unbloat._core import __version__
from unbloat.claims.verdicts import VERDICTS
from unbloat.papers import claims_figure, extra_tables, figures, ratios, tables
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import flowing
from unbloat.papers.reproduce import Reproduction
from unbloat.report.page import Page, Section, inline
from unbloat.report.report import Code, Facts, Fold, Heading, Listing, Part, Picture, Table
from unbloat.scenarios.identity import code_hash
from unbloat.system.legible import count_of

KEPT = 12
"""Letters of a hash that a page shows."""
APART = ("direction only", "not reproduced")
"""Verdicts that want a reason."""
FEWEST = 10
"""Fewer ratios than this are not summed up."""


def page_of(found: Reproduction, *, now: datetime | None = None) -> Page:
    """Lay a paper out; `now` is when the page is made."""
    itself, *readings = found.judged
    drawn, *beyond = _pictures(found)
    main = [picture for picture in drawn if picture.file == claims_figure.file_of(found.paper)]
    every = [picture for picture in drawn if picture.file == ratios.file_of(found.paper)]
    sections = [
        Section("Main claims", [*main, *tables.main_claims(itself)]),
        Section("Counts", [tables.kinds_table(itself)]),
        Section("Every number in one picture", every),
        Section("Figures", [picture for picture in drawn if picture not in (*main, *every)]),
        Section("Published beside measured", list(tables.folded_tables(itself))),
        Section("What did not come out as published, and why", tables.folded_reasons(itself)),
        Section("What counts apart, and why", tables.folded_apart(itself)),
        Section("Unsound or undecided", _open(found.judged)),
        *(_reading(judged, pictures) for judged, pictures in zip(readings, beyond, strict=True)),
        Section("Beyond the paper", [_beyond(*table) for table in found.extra_tables]),
        Section("Run it again", list(_again(found))),
    ]
    made = f"Made by unbloat {__version__}, {(now or datetime.now(UTC)):%Y-%m-%d %H:%M} UTC"
    paper = found.paper
    return Page("unbloat · a paper repeated", paper.title, _asked(found), answer_of(itself), sections, made)


# ---------------------------------------------------------------- Question and answer


def _asked(found: Reproduction) -> list[Part]:
    paper = found.paper
    changed = ", ".join(f"`{key} = {value}`" for key, value in paper.changed.items())
    facts = [
        ("The paper", f"{paper.authors}: {paper.title}. {paper.where}"),
        ("The question", "Do its numbers and its statements come out when its experiments are run again?"),
        ("Asked for", f"only `{paper.asked}`" if paper.asked else ""),
        ("Changed", changed),
        (
            "Runs",
            f"{count_of(len(paper.scenarios()), 'scenario')}, each grid point with {count_of(paper.seeds, 'seed')}",
        ),
        ("Reproduced is", _bounds(found)),
    ]
    return [Facts([(term, said) for term, said in facts if said])]


def _bounds(found: Reproduction) -> str:
    bounds = found.paper.bounds
    return (
        f"a number within {100 * bounds.relative:g} % of the published one, or within its rounding (an index within "
        f"{bounds.index:g}), and a statement that holds as it is written; published.toml says when these rules were set"
    )


def answer_of(judged: JudgedPaper) -> list[str]:
    """Write the answer: the main claims, the mechanism's own numbers, how near they are, and what has no reason."""
    own = judged.by_kind().get("own", [])
    sentences = [tables.main_count(judged)] if judged.main() else []
    sentences.append(f"Of {len(own)} published numbers and statements of the mechanism's own, {_counted(own)}.")
    return [*sentences, _nearness(judged)]


def _counted(claims: Sequence[Judged]) -> str:
    """Say how many of them have each verdict."""
    words = {"reproduced": "reproduced", "direction only": "right in direction only", "unsound": "from unsound runs"}
    parts = []
    for verdict in [*VERDICTS, "unsound"]:
        number = sum(claim.verdict == verdict for claim in claims)
        if number or verdict == "reproduced":
            parts.append(f"{number or 'none'} {'is' if number < 2 else 'are'} {words.get(verdict, verdict)}")
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]


def _nearness(judged: JudgedPaper) -> str:
    """Say how near the numbers are, and what has no reason."""
    numbers = [ratios.ratio_of(each) for each in ratios.numbers_of(judged) if each.kind == "own"]
    parts = []
    if len(numbers) >= FEWEST:
        low, _, high = quantiles(numbers, n=4)
        middle = f"the middle half of all between {low:.2f} and {high:.2f} times"
        parts.append(
            f"The median of the mechanism's own numbers is {median(numbers):.2f} times the published one, {middle}"
        )
    apart = [each for each in judged.claims() if each.verdict in APART]
    if apart:
        explained = sum(bool(each.reason) for each in apart)
        found = {0: "none of", len(apart): "all of"}.get(explained, f"{explained} of")
        parts.append(f"a reason is known for {found} the {len(apart)} that came out otherwise")
    sentence = "; ".join(parts) or "nothing came out otherwise"
    return f"{sentence[0].upper()}{sentence[1:]}."


# ---------------------------------------------------------------- Sections


def _pictures(found: Reproduction) -> list[list[Picture]]:
    """Draw the pictures of the paper, then those of each reading."""
    numbers = count()
    pairs = zip(found.judged, found.measurements, strict=True)
    return [[_picture(each, next(numbers)) for each in figures.drawn(*pair)] for pair in pairs]


def _picture(drawn: figures.Drawn, number: int) -> Picture:
    drawn.canvas.suptitle("")  # On a page the title stands below.
    return Picture(drawn.name, drawn.title, inline(drawn.canvas, drawn.title, number), is_wide=True)


def _open(papers: Sequence[JudgedPaper]) -> list[Part]:
    claims = [each for judged in papers for each in judged.claims()]
    undecided = [f"`{each.id}`" for each in claims if each.verdict == "undecided"]
    unsound = [f"`{each.id}`: {each.reason}" for each in claims if each.verdict == "unsound"]
    parts: list[Part] = []
    if undecided:
        parts.append(
            "Undecided is where the interval of what was measured crosses a bound; more seeds would decide it."
        )
        parts.append(Fold(f"{len(undecided)} undecided", [", ".join(undecided)]))
    if unsound:
        parts.append(Listing("From unsound runs, and not judged", unsound))
    return parts or ["Nothing: every run is sound, and no interval crosses a bound."]


def _reading(judged: JudgedPaper, pictures: Sequence[Part]) -> Section:
    """Lay another reading of the paper out."""
    reading = judged.paper.reading
    assert reading
    parts: list[Part] = [flowing(reading.text), *answer_of(judged), *pictures, *tables.folded_tables(judged)]
    return Section(reading.title, [*parts, *tables.folded_reasons(judged)])


def _beyond(table: extra_tables.ExtraTable, laid: list[Table]) -> Fold:
    parts = [part for part in extra_tables.report_of(table, laid).parts if not isinstance(part, Heading)]
    return Fold(table.title, parts)


def _again(found: Reproduction) -> Iterator[Part]:
    paper = found.paper
    options = [f"--table {paper.asked}" if not paper.exactly else f"--claim {paper.asked}"] if paper.asked else []
    options += [f"--set {key}={value}" for key, value in paper.changed.items()]
    yield Code(" ".join(["unbloat", "reproduce", paper.name, *options, "--page"]))
    host = f"{platform.system()} {platform.release()}, {platform.machine()}, Python {platform.python_version()}"
    yield Facts([("unbloat", __version__), ("Hash of its code", code_hash()[:KEPT]), ("Machine", host)])
