"""docs/gallery.md: each shipped scenario has its picture and its lesson, and some come out again as they stand there."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools/gallery"))
PAGE, PICTURES, LESSONS = TOOL["PAGE"], TOOL["PICTURES"], TOOL["LESSONS"]
MOST_BYTES = 1_000_000
WORDS = re.compile(r"<text [^>]*>([^<]*)</text>")


def test_each_shipped_scenario_has_an_entry_and_a_picture() -> None:
    TOOL["check"]()
    assert [*TOOL["entries_of"](PAGE)] == [*LESSONS]
    assert {file.stem for file in PICTURES.iterdir()} == {*LESSONS}
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < MOST_BYTES


@pytest.mark.parametrize("name", LESSONS)
def test_an_entry_is_that_of_its_lesson(name: str) -> None:
    """Without a run: commands and words stand there as in gallery.toml, and there is a number for each blank."""
    entry = TOOL["entries_of"](PAGE)[name]
    commands = TOOL["commands"](name, f"results/{name}", f"{name}.svg")
    assert "\n".join(TOOL["shlex"].join(["unbloat", *each]) for each in commands) in entry
    words = (re.escape(each) for each in TOOL["NUMBER"].split(LESSONS[name]["lesson"])[::2])
    assert re.search(r"[\d.]+( \S+| of 4\.5)?".join(words), entry.replace("\n", " "))


@pytest.mark.usefixtures("shared_runs")
@pytest.mark.parametrize("name", ["home-dsl", "home-cake", "lte-download", "mobile-lte", "wireless-bursts"])
def test_an_entry_and_its_picture_come_out_again(name: str, tmp_path: Path) -> None:
    results = TOOL["drawn"](name, tmp_path / "results", tmp_path / "picture.svg")
    assert TOOL["entry"](name, results) == TOOL["entries_of"](PAGE)[name]
    made, tracked = ((file).read_text() for file in (tmp_path / "picture.svg", PICTURES / f"{name}.svg"))
    assert WORDS.findall(made) == WORDS.findall(tracked), f"tools/gallery {name} draws it again"
