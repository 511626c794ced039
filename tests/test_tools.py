"""The programs in tools/ and benches/, which the documentation calls by their path."""

import os
import re
import runpy
import subprocess
from pathlib import Path

import pytest
from unbloat import _core

ROOT = Path(__file__).parent.parent
PROGRAMS = [path for folder in ("tools", "benches") for path in (ROOT / folder).iterdir() if path.is_file()]


@pytest.mark.parametrize("path", sorted(PROGRAMS), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_names_its_interpreter_can_be_called(path: Path) -> None:
    with path.open("rb") as file:
        assert os.access(path, os.X_OK) == (file.read(2) == b"#!")


def test_the_period_of_dtpa_fits_a_microcontroller() -> None:
    """A sensor's TCP includes the header as it stands: no more is missing than divisions and shifts of 64 bits."""
    done = subprocess.run([ROOT / "tools/footprint"], capture_output=True, text=True, check=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    assert len(rows) == 8
    for control, target, flash, ram, library in rows:
        assert 0 < int(flash) < 1024, (control, target)
        assert int(ram) == {"`dtpa`": 16, "`dtpa_auto`": 12}[control]
        missing = re.findall(r"`(\w+)`", library)
        arithmetic = r"__(aeabi_(llsl|llsr|lmul|uldivmod)|mspabi_(divull|mpyll)|ashldi3|lshrdi3|muldi3|udivdi3)"
        assert all(re.fullmatch(arithmetic, each) for each in missing), (target, missing)


@pytest.mark.parametrize("name", ["disciplines", "modes"])
def test_every_discipline_of_ours_has_the_kernel_s_of_the_same_parameters_beside_it(name: str) -> None:
    tool = runpy.run_path(str(ROOT / "tools/qdisc-agreement"))
    table = tool["TABLES"][name]
    ours = _core.load(table.scenario, [])
    kernels = _core.load(table.scenario, [("sweep.discipline", tool["kernels_disciplines"](table))])
    for axis, cases in table.perturbations().items():
        assert len(_core.load(table.scenario, [(axis, cases)])) == 8 * len(ours)
    places, others = ([table.place(dict(cell.axes)) for cell in cells] for cells in (ours, kernels))
    assert sorted(places) == sorted(others)
    assert {discipline for discipline, *_ in places} == set(table.labels("discipline"))
