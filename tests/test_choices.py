"""Tables beyond a paper: how they are laid out, what their measurements are told, what is wrong with a file."""

from types import SimpleNamespace

import numpy as np
import pytest
from inline_snapshot import snapshot
from made_up_runs import measured_run, measurements
from sentences import refused
from unbloat.papers import extra_tables
from unbloat.papers.paper import PaperError

FILE = """
[[tables]]
id = "soon"
title = "How soon"
text = "Words."
seeds = 1
series = "1s"
a_table_for = "quantity"
settings = [
    { name = "slow link", scenario = "pair", at = ["1mbit"], select = { above = 1 } },
    { name = "fast link", scenario = "pair", at = ["9mbit"], select = { above = 9 } },
]
columns = [
    { name = "fills", quantity = "fill_time", unit = "s", flow = 1, select = { seconds = 1 } },
    { name = "share", quantity = "share", unit = "%", flow = 1, select = { after = 0, before = 3 } },
]
rows = [{ name = "Reno", at = ["reno"] }, { name = "Vegas", at = ["vegas"], set = { "flows.0.packet" = "500b" } }]
"""
GOODPUT = {"1mbit": [0.5, 1, 1], "9mbit": [3, 6, 8]}


def read(tmp_path, text=FILE):
    (tmp_path / "choices.toml").write_text(text)
    return extra_tables.load(tmp_path)


def pair(rate, cc):
    """One flow, measured_run every second."""
    record = {"flows": [{"flow": 0, "cc": cc}]}
    samples = np.array([[1, 2, 3], GOODPUT[rate], [1, 1, 1]], dtype=float)
    return measurements("pair", [measured_run({"rate": rate, "cc": cc}, 1, record, None, {0: samples})])


@pytest.fixture
def table(tmp_path):
    return read(tmp_path)[0]


def paper(folder):
    """What a table asks of its paper."""
    sets = {"pair": [{}, {"flows.0.start": "1ms"}]}
    return SimpleNamespace(folder=folder, perturbed=sets.get)


def measured(table, tmp_path):
    return {batch.name: pair(*batch.labels) for batch in extra_tables.batches(table, paper(tmp_path))}


def test_every_row_runs_in_every_setting_with_its_series(table, tmp_path):
    batches = extra_tables.batches(table, paper(tmp_path))
    assert [batch.labels for batch in batches] == [(r, c) for c in ("reno", "vegas") for r in ("1mbit", "9mbit")]
    assert {batch.series for batch in batches} == {"1s"}
    assert [dict(batch.overrides) for batch in batches[1:3]] == [{}, {"flows.0.packet": "500b"}]


def test_repeats_differ_in_their_seeds_or_as_those_of_the_paper(table, tmp_path):
    (perturbed,) = read(tmp_path, FILE.replace("seeds = 1\n", "seeds = 2\nperturbed = true\n"))
    batches = [extra_tables.batches(each, paper(tmp_path))[0] for each in (table, perturbed)]
    repeats = [[set(repeat) for repeat in batch.repeated([1, 2])["sweep.repeat"]] for batch in batches]
    assert repeats == [[{"label", "seed"}] * 2, [{"label", "seed"}, {"label", "seed", "flows.0.start"}]]


def test_settings_stand_side_by_side_in_a_table_for_every_quantity(table, tmp_path):
    page = f"{extra_tables.report_of(table, extra_tables.lay_out(table, measured(table, tmp_path))).markdown()}\n"
    head = "|  | slow link | fast link |\n| --- | ---: | ---: |\n"
    assert f"**fills (s)**\n\n{head}| Reno | 0 | never |\n| Vegas | 0 | never |\n" in page
    assert f"**share (%)**\n\n{head}| Reno | 100 | 100 |\n" in page


def test_quantities_stand_side_by_side_in_a_table_for_every_setting(tmp_path):
    (table,) = read(tmp_path, FILE.replace('a_table_for = "quantity"\n', ""))
    words = extra_tables.report_of(table, extra_tables.lay_out(table, measured(table, tmp_path))).text()
    assert words.startswith("How soon\n\nWords.\n\nslow link\n       fills  share\n")
    assert "fast link" in words and "never" in words


def test_a_mean_has_its_interval_and_a_time_that_comes_only_with_some_seeds_is_told():
    summed = extra_tables._summed_up
    assert summed([1.0, 2.0, 3.0], with_interval=False) == 2
    # Student's t for two degrees of freedom is 4.303, the standard error one over the root of three.
    assert summed([1.0, 2.0, 3.0], with_interval=True) == "2.0 ± 2.5"
    assert summed([80.01, 80.02, 80.03], with_interval=True) == "80.020 ± 0.025"
    assert summed([100.0, 200.0, 300.0], with_interval=True) == "200 ± 248"
    assert summed([2.0, 2.0], with_interval=True) == 2, "these draw nothing"
    assert summed([1.0, np.inf, 2.0], with_interval=True) == snapshot("never in 1 of 3")
    assert summed([np.inf, np.inf], with_interval=True) == "never"
    assert summed([np.nan, 4.0], with_interval=True) == snapshot("none in 1 of 2")
    assert summed([np.nan, np.nan], with_interval=True) == "none"


def test_a_layout_that_is_not_there_is_named(tmp_path):
    with refused(
        PaperError, snapshot("TMP/choices.toml:8: tables.0.a_table_for: must be one of quantity, setting, not row")
    ):
        read(tmp_path, FILE.replace('"quantity"\nsettings', '"row"\nsettings'))
