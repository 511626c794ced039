"""docs/which-control.md: its tables have what its scenario has, and a cell comes out again."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import unbloat as ub
from unbloat import _core
from unbloat.system.paths import ALGORITHMS

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools/which-control"))
PAGE, SCENARIO = TOOL["PAGE"], TOOL["SCENARIO"]


def block(name: str) -> list[list[str]]:
    """Give the cells of a table of the page, its head first."""
    text = re.search(rf"<!-- begin {name}:.*?-->\n(.*?)<!-- end {name} -->", PAGE.read_text(), re.DOTALL)[1]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in row] for row in rows if "---" not in row[0]]


def test_the_scenario_has_every_mechanism_or_the_page_says_that_it_is_left_out() -> None:
    cases = tomllib.loads(SCENARIO.read_text())["sweep"]["control"]
    taken = {case.get("flows.0.window_controller") or case.get("flows.0.cc", "cubic") for case in cases}
    left_out = re.search(r"mechanisms are left out\.(.*?)(\n\*|$)", PAGE.read_text(), re.DOTALL)[1]
    there = {each["name"] for each in [*_core.mechanisms(ALGORITHMS), *_core.window_controllers(ALGORITHMS)]}
    assert there - taken == set(re.findall(r"`(\w+)`", left_out)) and taken <= there


@pytest.mark.parametrize("name", TOOL["TABLES"])
def test_a_table_has_the_mechanisms_and_paths_of_the_scenario(name: str) -> None:
    axes = ub.scenario(SCENARIO).axes
    (_, *paths), *rows = block(name)
    assert paths == axes["path"]
    assert [control for control, *_ in rows] == axes["control"]
    assert all(all(row) for row in rows)


def test_the_grid_points_in_a_guest_are_cells_of_the_scenario_and_stand_in_the_page() -> None:
    axes = ub.scenario(SCENARIO).axes
    for control, path, beside in TOOL["IN_GUEST"]:
        assert control in axes["control"] and path in axes["path"] and beside in axes["beside"]
    assert list(dict.fromkeys(tuple(row[:3]) for row in block("guest")[1:])) == list(TOOL["IN_GUEST"])


@pytest.mark.parametrize(
    ("name", "control", "path"), [("beside-cubic", "clpc", "CoDel"), ("alone", "rtac", "FIFO 8 BDP")]
)
def test_a_grid_point_comes_out_again(name: str, control: str, path: str) -> None:
    beside, figures = TOOL["TABLES"][name]
    (runs,) = TOOL["cells_of"](lambda cell: cell == (control, path, beside), jobs=1).values()
    head, *rows = block(name)
    (row,) = [row for row in rows if row[0] == control]
    assert TOOL["cell_text"](runs, figures) == row[head.index(path)]


def test_every_number_of_the_findings_stands_in_a_table_or_in_the_scenario() -> None:
    text = PAGE.read_text()
    tables = {number for line in text.splitlines() if line.startswith("|") for number in numbers(line)}
    findings = re.sub(r"`[^`]*`|p95|[18] BDP", "", text.partition("## Findings")[2].partition("## The paths")[0])
    known = tables | numbers(SCENARIO.read_text()) | {"100"}  # LEDBAT's default target.
    assert numbers(findings) <= known


def numbers(text: str) -> set[str]:
    """Give the numbers of a text as they are written, whatever their units."""
    return set(re.findall(r"(?<![\d.])\d+(?:\.\d+)?", text))
