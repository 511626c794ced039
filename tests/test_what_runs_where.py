"""docs/reference/what-runs-where.md: what it says is what the code refuses, and no refusal is left out."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import unbloat as ub
import what_runs_where
from unbloat._core import InputError
from unbloat.report.report import part_of, write_parts

ROOT = Path(__file__).parents[1]
REFUSALS = ROOT / "crates/model/src/only.rs"
SWITCHES = ROOT / "crates/testbed/src/host/stack.rs"
VARIANTS = [
    pytest.param(row, settings, id=f"{row.feature}: {label}")
    for rows in what_runs_where.tables().values()
    for row in rows
    for label, settings in row.variants.items()
]


def test_the_page_says_what_the_code_refuses() -> None:
    found = what_runs_where.matrix()
    if os.environ.get("REGENERATE"):
        write_parts(what_runs_where.PAGE, {"matrix": found})
    shown = part_of(what_runs_where.PAGE.read_text(), "matrix")
    assert shown == f"\n{found}\n", "tools/what_runs_where.py writes the page"


@pytest.mark.parametrize(("row", "settings"), VARIANTS)
def test_guest_and_kernel_refuse_alike(row, settings) -> None:
    """They differ only in the version of Linux, which the page says."""
    refused = [what_runs_where.refuses(on, settings) for on in ("vm", "kernel")]
    assert refused[0] == refused[1] or row.since


@pytest.mark.parametrize(("row", "settings"), VARIANTS)
def test_a_row_runs_somewhere_and_says_why_not_elsewhere(row, settings) -> None:
    refused = [what_runs_where.refuses(on, settings) for on in ("simulator", "vm")]
    assert not all(refused), "a scenario that nothing runs says nothing about a place"
    assert row.why or not any(refused)


def test_every_refusal_has_a_row() -> None:
    """Look for what each of the code's sentences has without its values."""
    shown = "\n".join(sentence(settings) for settings in (variant.values[1] for variant in VARIANTS))
    literals = re.findall(r'write!\(\s*f,\s*"((?:[^"\\]|\\.)*)"', REFUSALS.read_text(), re.DOTALL)
    sentences = [re.sub(r"\\\n\s*", "", each).replace('\\"', '"') for each in literals]
    parts = [max(re.split(r"\{.*?\}", each), key=len) for each in sentences]
    assert len(parts) > 10
    assert not [part for part in parts if part not in shown]
    switches = re.findall(r'^\s*(?:\()?"(\w+)",$|^        \("(\w+)", ', SWITCHES.read_text(), re.MULTILINE)
    names = {one or other for one, other in switches}
    assert len(names) > 5
    assert not [name for name in names - {"tcp_usec_ts"} if f"profile.{name} " not in shown]


def sentence(settings) -> str:
    """Give the sentences with which the simulator and a guest refuse a scenario."""
    found = ""
    for on in ("simulator", "vm"):
        try:
            ub.scenario(what_runs_where.LINE, settings).check(on=on)
        except InputError as error:
            found += f"{error}\n"
    return found
