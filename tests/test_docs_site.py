"""The pages that are made from the code have all that the code has; the lesson runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import matplotlib.pyplot as plt
import nbformat
import pytest
import unbloat as ub
from leftovers import PATIENCE_S
from markdown import markdown
from nbclient import NotebookClient
from traitlets.config import Config
from unbloat import _core
from unbloat.results.metrics import METRICS
from unbloat.system import core_types
from unbloat.system.paths import ALGORITHMS

ROOT = Path(__file__).parents[1]
LESSON = ROOT / "docs/tutorials/bufferbloat.ipynb"
NOTEBOOKS = sorted((ROOT / "docs").glob("*/*.ipynb"))


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")


def test_every_key_has_a_row_under_its_section() -> None:
    from site_reference import KINDS, scenario_keys

    page = scenario_keys()
    keys = _core.scenario_keys()
    assert len(re.findall(r"^\| `", page, re.MULTILINE)) == len(keys)
    for key in keys:
        assert f"| `{key['name']}` |" in page and key["meaning"].replace("|", "\\|") in page
    assert {key["kind"] for key in keys if isinstance(key["kind"], str)} == set(KINDS)
    assert '| `delay` | a time: `"10ms"`, 0s to 3600s | required | propagation delay, one way |' in page


def test_every_metric_has_a_row() -> None:
    from site_reference import metrics

    assert set(METRICS) <= set(re.findall(r"^\| `(\w+)` \|", metrics(), re.MULTILINE))


@pytest.mark.parametrize(
    ("page_of", "described"),
    [
        ("controls", _core.mechanisms),
        ("window_controllers", _core.window_controllers),
        ("classifiers", _core.classifiers),
    ],
)
def test_every_mechanism_has_its_text_and_every_parameter_a_row(page_of, described) -> None:
    import site_reference

    page = getattr(site_reference, page_of)()
    for control in described(ALGORITHMS):
        part = page.partition(f"\n## {control['name']}\n")[2].partition("\n## ")[0]
        assert control["prose"].strip() in part
        names = [parameter["name"] for parameter in control.get("parameters", [])]
        assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == names


def test_descriptions_of_mechanisms_wrap() -> None:
    """Their lines are longer than the space that a page has."""
    from site_reference import controls

    extensions = ["pymdownx.superfences", "pymdownx.highlight", "attr_list"]
    shown = markdown(controls(), extensions=extensions)
    blocks = re.findall(r'<div class="([^"]*)">\s*<pre', shown)
    assert len(blocks) == len(_core.mechanisms(ALGORITHMS))
    assert all("described" in block.split() for block in blocks)
    rule = re.search(r"\.described pre > code \{([^}]*)\}", (ROOT / "docs/site.css").read_text())
    assert rule and "white-space: pre-wrap" in rule[1]


def test_links_of_the_checkout_become_those_of_the_site() -> None:
    from site_pages import LINK, turned

    known = {"reference/metrics.md", "papers/README.md", "tutorials/bufferbloat.md", "agreement/README.md"}

    def on_site(link: str, here: str) -> str:
        found = LINK.fullmatch(link)
        assert found
        return turned(found, here, known)

    assert on_site("[a](../../papers/README.md#b)", "how-to/paper.md") == "[a](../papers/README.md#b)"
    assert on_site("[a](../docs/reference/metrics.md)", "papers/README.md") == "[a](../reference/metrics.md)"
    assert on_site("[a](../docs/agreement)", "papers/README.md") == "[a](../agreement/README.md)"
    assert on_site("[a](bufferbloat.ipynb)", "tutorials/first-run.md") == "[a](bufferbloat.md)"
    assert on_site("[the build](../../Makefile)", "how-to/paper.md") == "the build"
    assert on_site("[a](nothing.md)", "how-to/paper.md") == "[a](nothing.md)", "the strict build names it"
    assert on_site("[a](https://example.net/)", "how-to/paper.md") == "[a](https://example.net/)"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_and_draws(file: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are made, not kept"
    sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{tmp_path}/kernel"}})
    resources = {"metadata": {"path": tmp_path}}
    NotebookClient(notebook, timeout=PATIENCE_S, resources=resources, config=sockets).execute()
    for cell in notebook.cells:
        if ".plot(" in cell.source:
            kinds = {kind for output in cell.outputs for kind in output.get("data", {})}
            assert kinds & {"image/svg+xml", "image/png"}, cell.source


def test_recipes_are_numbered_in_order() -> None:
    notebook = nbformat.read(ROOT / "docs/how-to/recipes.ipynb", as_version=4)
    numbers = re.findall(r"^\*\*(\d+)\. ", "\n".join(cell.source for cell in notebook.cells), re.MULTILINE)
    assert [int(number) for number in numbers] == list(range(1, 24))


def test_the_lesson_has_a_slider_where_there_are_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """It calls what the slider is for with both ends of it."""
    notebook = nbformat.read(LESSON, as_version=4)
    (cell,) = (cell.source for cell in notebook.cells if "interact(" in cell.source)
    calls: list[int] = []

    def interact(called: Callable[..., object], *, buffer_kb: tuple[int, int], control: list[str]) -> None:
        for size in buffer_kb:
            called(buffer_kb=size, control=control[-1])
            calls.append(size)

    def slider(_: int, **ends: int) -> tuple[int, int]:
        return ends["min"], ends["max"]

    monkeypatch.setitem(sys.modules, "ipywidgets", SimpleNamespace(IntSlider=slider, interact=interact))
    shown: list[object] = []
    exec(
        compile(cell, "lesson", "exec"),
        {"line": ub.scenario("home-dsl"), "names": ["cubic", "vegas"], "display": shown.append},
    )
    assert calls == [4, 256] and len(shown) == 2
    plt.close("all")


def test_the_page_on_status_has_every_field() -> None:
    page = (ROOT / "docs/reference/status.md").read_text()
    named = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in page.splitlines() if "| `" in line)))
    types = [
        core_types.ControlStatus,
        core_types.Calls,
        core_types.WindowStatus,
        core_types.WindowFlow,
        core_types.ClassifierStatus,
        core_types.BandCount,
        core_types.ClassifiedFlow,
    ]
    fields = {field for each in types for field in get_type_hints(each)}
    held_by = set(get_args(get_type_hints(core_types.ControlStatus)["held_by"]))
    of_line_cures = {"name", "command", "is_loaded", "lasts", "network"}
    assert named == fields | held_by | of_line_cures
