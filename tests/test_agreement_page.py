"""docs/agreement: the one page says what the data behind it say, and the data have the reasons of their files."""

import re
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs/agreement"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (\d+) of (\d+) \| .* \[.*\]\((.+)\) \|$", PAGE, re.MULTILINE)


def test_the_page_is_one_page_and_its_three_numbers_are_in_the_table() -> None:
    assert len(PAGE.split()) <= 700
    counts = {(int(agree), int(every)) for _, agree, every, _ in ROWS}
    assert {(800, 805), (183, 192), (120, 120)} <= counts
    assert f"{100 * 800 / 805:.1f} %" in PAGE and f"{100 * 183 / 192:.1f} %" in PAGE
    assert len(ROWS) == sum(line.startswith("| ") for line in PAGE.splitlines()) - 1


@pytest.mark.parametrize(("what", "agree", "every", "data"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_has_the_numbers_of_its_data(what: str, agree: str, every: str, data: str) -> None:
    text = (FOLDER / data).read_text(encoding="utf-8")
    together = rf"^\| together \| {every} \|.* {agree} (?:\| \d+ )?\|$"
    assert f"{agree} of {every} " in " ".join(text.split()) or re.search(together, text, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("congestion-controls.md", "reasons.toml"),
        ("qdiscs.md", "qdiscs-reasons.toml"),
        ("on-kernel.md", "on-kernel-reasons.toml"),
        ("real-time.md", "real-time-reasons.toml"),
    ],
)
def test_a_page_has_the_reasons_of_its_file(page: str, file: str) -> None:
    reasons = tomllib.loads((FOLDER / file).read_text(encoding="utf-8"))["reasons"]
    notes = re.findall(
        r"^\[\d+\] (.+?)(?=\n\n|\n<!--)", (FOLDER / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert {" ".join(note.split()) for note in notes} == {" ".join(reason["text"].split()) for reason in reasons}
