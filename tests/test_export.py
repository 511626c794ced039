"""`unbloat export`: the numbers that were saved, for spreadsheets and for papers."""

import csv
import io
import json
from pathlib import Path

import pytest
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of
from unbloat.report.table import Column, latex


@pytest.fixture
def swept(cli: Cli, sweep: Path, tmp_path: Path) -> Path:
    done = cli("sweep", sweep, "-n", "3", "--set", "link.bottleneck.loss=0.1%", "-o", "swept")
    assert done.returncode == 0, done.stderr
    return tmp_path / "swept"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_every_flow_with_the_numbers_that_json_has(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    printed = cli("run", sweep, "--json", "-o", "ran").stdout
    found = rows(cli("export", "ran", "--csv").stdout)
    flows = [flow for run in json.loads(printed)["runs"] for flow in run["flows"]]
    assert [float(row["goodput_mbps"]) for row in found] == [flow["goodput_mbps"] for flow in flows]
    assert found[0]["cc"] == "reno" and len(found) == 4
    # What `--json` printed is results too.
    (tmp_path / "ran.json").write_text(printed)
    again = rows(cli("export", "ran.json", "--csv").stdout)
    assert [row["goodput_mbps"] for row in again] == [row["goodput_mbps"] for row in found]


def test_repeated_grid_points_are_exported_with_their_intervals(cli: Cli, swept: Path, tmp_path: Path) -> None:
    found = rows(cli("export", swept).stdout)
    goodputs = [row for row in found if row["metric"] == "goodput_mbps" and row["of"] == "all flows"]
    assert len(goodputs) == 4
    assert all(float(row["ci95_low"]) <= float(row["mean"]) <= float(row["ci95_high"]) for row in goodputs)
    for table, number in (("runs", 12), ("flows", 12), ("links", 24)):
        assert len(rows(cli("export", swept, "--csv", "--table", table).stdout)) == number
    done = cli("export", swept, "-o", "table.tex")
    assert (done.stdout, done.stderr) == ("", "unbloat: wrote table.tex\n")
    lines = (tmp_path / "table.tex").read_text().splitlines()
    assert lines[1].startswith(r"\begin{tabular}{ll") and r"\toprule" in lines and lines[-1] == r"\end{tabular}"
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == 4 and all(line.endswith(r" \\") for line in body) and r"$\pm$" in body[0]
    assert len({line.count("&") for line in lines if "&" in line}) == 1


def test_latex_s_own_characters_are_escaped() -> None:
    text = latex([Column("50_%", "ms", ["a&b", r"c\d"]), Column("x^2", "", ["{~}", "#$"])])
    assert r"50\_\% & x\textasciicircum{}2 \\" in text
    assert r"a\&b & \{\textasciitilde{}\} \\" in text and r"c\textbackslash{}d & \#\$ \\" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--csv", "--latex"],
            snapshot("unbloat: export: --csv and --latex are two formats; write one, then the other"),
        ),
        (
            ["--latex", "--table", "runs"],
            snapshot("unbloat: export --latex: runs have no table on the screen: choose flows, links or stats"),
        ),
        (
            ["--csv", "--table", "cells"],
            snapshot(
                "unbloat: --table: 'cells' is not one of 'flows', 'links', 'runs', 'stats'; see `unbloat export --help`"
            ),
        ),
    ],
)
def test_wrong_input(cli: Cli, small: Path, words: list[str], said: str) -> None:
    cli("run", small, "-o", "ran")
    done = cli("export", "ran", *words)
    assert (done.returncode, done.stdout) == (2, "") and stderr_of(done) == said
    assert cli("export", "nowhere", "--csv").returncode == 2
