"""The crates and their arrows, which CONTRIBUTING.md draws."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "unbloat-"


def drawn() -> dict[str, list[str]]:
    """Return what each crate uses, as the list says, in its order."""
    block = re.search(r"<!-- crates -->\n```text\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    assert block
    arrows = [line.split(" ->") for line in block[1].splitlines()]
    return {crate: [name for name in used.strip().split(", ") if name] for crate, used in arrows}


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


def test_the_list_is_what_cargo_builds() -> None:
    assert {crate: set(used) for crate, used in drawn().items()} == built()


def test_no_arrow_points_up() -> None:
    order = list(drawn())
    assert order
    for crate, used in drawn().items():
        assert all(order.index(crate) < order.index(name) for name in used), crate
