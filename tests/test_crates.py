"""The drawings of docs/explanation/architecture.md: the crates and the folders of Python, and which uses which."""

import json
import re
import subprocess
import tomllib
from collections.abc import Mapping
from itertools import pairwise, product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
PREFIX = "unbloat-"


def drawn(name: str) -> set[tuple[str, str]]:
    """Return the arrows of a drawing."""
    block = re.search(rf"<!-- {name} -->\n```mermaid\nflowchart TD\n(.*?)```\n", PAGE, re.DOTALL)
    assert block
    arrows = [line.split(" --> ") for line in block[1].splitlines()]
    return {(above.strip(), below) for above, below in arrows}


def described(heading: str) -> set[str]:
    """Return the names in the table that begins with this heading."""
    table = PAGE.partition(f"| {heading} | ")[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def built() -> dict[str, set[str]]:
    """Return what each crate uses, as Cargo says; tests may use more."""
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)["packages"]
    return {
        package["name"].removeprefix(PREFIX): {
            used["name"].removeprefix(PREFIX)
            for used in package["dependencies"]
            if used["kind"] is None and used["name"].startswith(PREFIX)
        }
        for package in packages
    }


def beyond(crate: str, uses: Mapping[str, set[str]]) -> set[str]:
    """Return the crates that those which a crate uses reach, over any number of arrows."""
    return {name for used in uses[crate] for name in uses[used] | beyond(used, uses)}


def test_the_drawing_has_the_arrows_of_cargo_but_for_those_that_follow_from_others() -> None:
    uses = built()
    assert drawn("crates") == {(crate, used) for crate in uses for used in uses[crate] - beyond(crate, uses)}


def test_the_drawing_of_folders_has_the_layers_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    levels = [layer.split(" | ") for layer in layers]
    assert drawn("layers") == {arrow for above, below in pairwise(levels) for arrow in product(above, below)}
    assert described("folder") == {folder for level in levels for folder in level}


def test_every_crate_has_its_line() -> None:
    assert described("crate") == set(built())


def test_the_files_to_start_with_are_there() -> None:
    table = PAGE.partition("## Where to start reading")[2].partition("## A run")[0]
    files = re.findall(r"`((?:algorithms|crates|python)/[^`]+)`", table)
    assert files
    assert all((ROOT / file).exists() for file in files)
