"""The page of a paper's folder, one screen long, and the paper's entry in the list of papers."""

from __future__ import annotations

import re
import subprocess
from functools import partial
from pathlib import Path

from unbloat._core import __version__
from unbloat.claims.claim import Claim
from unbloat.papers import claims_figure, figures
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import KINDS, Answer, Paper, PaperError, flowing
from unbloat.papers.reproduce import Reproduction
from unbloat.papers.tables import entries_of, kinds_table, main_count, measured_number
from unbloat.report.report import Facts, Part, Picture, Report, Table, part_of, require_part, write_parts
from unbloat.report.table import Column

NAME = "README.md"
PART = "main"
"""The part of the page that is written here."""
KERNEL_PAGE = "kernel.md"
KERNEL_PARTS = ("vm", "kernel")
"""The parts of the kernel's page, written by `--on vm --page` and `--on kernel --page`."""
NO_EVIDENCE = "not run"


def require(paper: Paper) -> Answer:
    """Refuse a folder whose page cannot be written before long runs are made for it; raises `InputError`."""
    require_part(paper.folder / NAME, PART)
    if not paper.answer:
        raise PaperError(f"{paper.folder / 'published.toml'}: a page needs the table [answer]")
    return paper.answer


def write(found: Reproduction) -> None:
    """Write the page's part, its figures, and the entry in the list of papers where the folder above has one."""
    paper, answer = found.paper, require(found.paper)
    write_parts(paper.folder / NAME, {PART: f"{report_of(found).markdown()}\n"})
    names = [claims_figure.file_of(paper), *(f"{name}.svg" for name in answer.figures)]
    figures.draw(found.judged[0], found.measurements[0], paper.folder / "figures", names)
    index = paper.folder.parent / NAME
    if index.is_file() and part_of(index.read_text(encoding="utf-8"), paper.name) is not None:
        write_parts(index, {paper.name: f"{entry_of(found.judged[0], answer).markdown()}\n"})


def report_of(found: Reproduction) -> Report:
    """Lay the page's part out: the answer, the counts, the main claims and their picture."""
    judged, answer = found.judged[0], require(found.paper)
    parts: list[Part] = [_answer(found.paper, answer)]
    if judged.main():
        parts += [main_count(judged), Picture(f"figures/{claims_figure.file_of(found.paper)}", claims_figure.TITLE)]
        parts.append(_claims(judged))
    parts.append(kinds_table(judged))
    shown = [each for each in found.paper.figures if each.id in answer.figures]
    parts += [Picture(f"figures/{each.id}.svg", each.title) for each in shown]
    return Report([*parts, f"Made by `unbloat reproduce {found.paper.name} --page`, {made_by()}."])


def entry_of(judged: JudgedPaper, answer: Answer) -> Report:
    """Write the paper's entry in the list of papers."""
    return Report([flowing(answer.mechanism), Facts([*answer.said().items()]), main_count(judged)])


def made_by() -> str:
    """Name the version, and the commit where the package runs from its own checkout."""
    here = Path(__file__)
    git = partial(subprocess.run, cwd=here.parent, capture_output=True, text=True, check=True)
    try:
        git(["git", "ls-files", "--error-unmatch", here.name])
        commit = git(["git", "rev-parse", "--short=12", "HEAD"]).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"unbloat {__version__}"
    return f"unbloat {__version__}, commit {commit}"


def _answer(paper: Paper, answer: Answer) -> Table:
    said = {**answer.said(), "Evidence in guest and kernel": evidence(paper.folder / KERNEL_PAGE)}
    return Table([Column("question", "", [*said]), Column("answer", "", [*said.values()])])


def evidence(page: Path) -> str:
    """Quote the first sentence of each part of the kernel's page."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    parts = [(part_of(text, name) or "").strip().partition("\n\n")[0] for name in KERNEL_PARTS]
    return " ".join(" ".join(part.split()) for part in parts if part) or NO_EVIDENCE


# ---------------------------------------------------------------- The table of main claims


def _claims(judged: JudgedPaper) -> Table:
    """Lay the main claims out; those that differ in their setting alone share a row."""
    rows: dict[str, list[tuple[str, Claim, Judged]]] = {}
    for group, claim, verdict in entries_of(judged):
        if claim.main:
            said, setting = _parted(claim.says)
            rows.setdefault(said, []).append((setting or group.where, claim, verdict))
    points = [(_said(said, row), *_beside(row), _verdicts(row)) for said, row in rows.items()]
    heads = ("main claim", "published", "measured", "verdict")
    return Table([Column(head, "", each) for head, each in zip(heads, zip(*points, strict=True), strict=True)])


def _parted(says: str) -> tuple[str, str]:
    """Part a claim from the setting in brackets at its end; without one, its place in the paper tells it apart."""
    found = re.fullmatch(r"(.*) \(([^()]*)\)", says)
    return (found[1], found[2]) if found else (says, "")


Row = list[tuple[str, Claim, Judged]]


def _said(said: str, row: Row) -> str:
    """Write the claim; one that is alone keeps its setting."""
    return row[0][1].says if len(row) == 1 else said


def _beside(row: Row) -> tuple[str, str]:
    """Write what is published and what was measured, in each setting."""
    published = [_published(claim) for _, claim, _ in row]
    measured = [" ".join(filter(None, [_brief(measured_number(each)), claim.unit])) for _, claim, each in row]
    if len(row) == 1:
        return published[0], measured[0]
    settings = [setting for setting, _, _ in row]
    printed = "; ".join(f"{setting}: {each}" for setting, each in zip(settings, published, strict=True) if each)
    return printed, "; ".join(f"{setting}: {each}" for setting, each in zip(settings, measured, strict=True))


def _brief(measured: str) -> str:
    """Shorten measured numbers to three digits, without the intervals that the picture shows."""
    alone = re.sub(r" ± [0-9.e+-]+", "", measured)
    return re.sub(r"(?<![\w.])[0-9]+\.[0-9]+(e[+-]?[0-9]+)?", lambda found: _three_digits(float(found[0])), alone)


def _three_digits(number: float) -> str:
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _published(claim: Claim) -> str:
    return " ".join(filter(None, [claim.published, claim.unit])) if claim.holds is None else ""


def _verdicts(row: Row) -> str:
    """Write the verdict that all settings share, or each; what counts apart says so."""
    verdicts = [_verdict(each) for _, _, each in row]
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return "; ".join(f"{setting}: {verdict}" for (setting, _, _), verdict in zip(row, verdicts, strict=True))


def _verdict(judged: Judged) -> str:
    factor = f" ({judged.factor:.2g} times)" if judged.factor else ""
    return f"{judged.verdict}{factor}" + ("" if judged.kind == "own" else f", {KINDS[judged.kind]}")
