"""Results that were saved: the same again when read, and readable without unbloat."""

import hashlib
import json
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from pandas.testing import assert_frame_equal
from sentences import refused
from unbloat.report.results_tables import text_of_points
from unbloat.results import files
from unbloat.scenarios.identity import code_hash
from unbloat.system.paths import ALGORITHMS

pytestmark = pytest.mark.usefixtures("shared_runs")

LOSSY = {"link.bottleneck.loss": "1%"}
GRID = {
    "sweep.flows.0.cc": ["reno", "cubic"],
    "sweep.link.bottleneck.queue.limit": ["100kb", "15kb"],
    "sweep.duration": ["2s", "1500ms"],
}


def same(a: ub.Results, b: ub.Results) -> None:
    assert a.as_dict() == b.as_dict() and a.about == b.about and a.axes == b.axes and repr(a) == repr(b)
    for table in ("runs", "flows", "links"):
        assert_frame_equal(getattr(a, table), getattr(b, table))
    assert_frame_equal(a.stats, b.stats)


def test_what_was_saved_is_read_back_the_same(small: Path, tmp_path: Path) -> None:
    results = ub.scenario(small, GRID).run(series="100ms")
    results.save(tmp_path / "out")
    back = ub.read(tmp_path / "out")
    same(results, back)
    for kind in ("flows", "links", "rtt", "queue_delay"):
        assert_frame_equal(results.series(kind), back.series(kind))
    back.save(tmp_path / "again")
    same(results, ub.read(tmp_path / "again"))
    assert back.plot("cwnd").axes[0].lines


def test_a_sweep_with_failures_is_read_back_too(small: Path, tmp_path: Path) -> None:
    swept = ub.scenario(small, LOSSY).run(cc=["reno", "kernel:reno"], repeat=3)
    assert len(swept.failures) == 3 and len(swept) == 3
    assert list(swept.runs["sound"]) == [True] * 3 + [False] * 3
    swept.save(tmp_path / "out")
    back = ub.read(tmp_path / "out")
    same(swept, back)
    assert back.failures == swept.failures and back.about.repeat == 3
    assert len(swept.series("flows")["run"].unique()) == 3, "of those that did not fail"


def test_every_file_says_how_it_was_made(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/home/me/study.py", "-n", "3"])
    mine = tmp_path / "mine.bpf.c"
    shutil.copy(ALGORITHMS / "congestion" / "reno.bpf.c", mine)
    results = ub.scenario(small, {**LOSSY, "sweep.flows.0.cc": ["vegas", str(mine)]}).run()
    for file in results.save(tmp_path / "out"):
        about = json.loads(pq.read_schema(file).metadata[b"unbloat"])
        assert about["scenario"] == small.read_text() and about["source"] == str(small)
        assert about["overrides"]["link.bottleneck.loss"] == "1%"
        assert about["code"] == code_hash() and about["version"] == ub.__version__
        assert about["controls"][str(mine)] == hashlib.sha256(mine.read_bytes()).hexdigest()
        assert set(about["controls"]) == {"vegas", str(mine)}
        assert about["host"]["name"] and about["command"] == "python study.py -n 3" and about["time"].endswith("+00:00")
        assert (about["on"], about["kernel"], about["axes"]) == ("simulator", [], ["flows.0.cc"])


def test_what_is_saved_is_enough_to_run_it_again(sweep: Path, tmp_path: Path) -> None:
    results = ub.scenario(sweep, LOSSY).run()
    results.save(tmp_path / "out")
    about = ub.read(tmp_path / "out").about
    assert ub.scenario(about.scenario, about.overrides).run(on=about.on, cache=False).as_dict() == results.as_dict()


def test_columns_say_their_units_and_meanings(small: Path, tmp_path: Path) -> None:
    ub.scenario(small).run().save(tmp_path / "out")
    schema = pq.read_schema(tmp_path / "out" / "flows.parquet")
    assert schema.field("goodput_mbps").metadata[b"unit"] == b"Mbit/s"
    assert b"active time" in schema.field("goodput_mbps").metadata[b"definition"]
    assert str(schema.field("completion_s").type) == "double", "although no flow has one"


def test_a_shorter_set_leaves_nothing_of_a_longer_one(small: Path, tmp_path: Path) -> None:
    ub.scenario(small).run(series=True).save(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    files = ub.scenario(small).run().save(tmp_path / "out")
    assert sorted((tmp_path / "out").iterdir()) == sorted([*files, tmp_path / "out" / "notes.txt"])


def test_a_run_that_is_there_twice_counts_once(small: Path, tmp_path: Path) -> None:
    """`--json` printed into the folder that `-o` wrote to."""
    results = ub.scenario(small, LOSSY).run(repeat=3)
    results.save(tmp_path / "out" / "tables")
    (tmp_path / "out" / "x.json").write_text(json.dumps(results.as_dict()))
    assert len(ub.read(tmp_path / "out")) == len(files.read(tmp_path / "out")) == 3
    other = ub.scenario(small, LOSSY).run(repeat=3, seed=2)
    (tmp_path / "out" / "y.json").write_text(json.dumps(other.as_dict()))
    assert len(ub.read(tmp_path / "out")) == 6


def test_files_of_other_programs_in_the_folder_are_passed_over(small: Path, tmp_path: Path) -> None:
    ub.scenario(small).run().save(tmp_path / "out")
    for name, text in {"a": "{}", "b": "[1]", "c": "no JSON", "d": '{"runs": [1]}'}.items():
        (tmp_path / "out" / f"{name}.json").write_text(text)
    assert len(ub.read(tmp_path / "out")) == 1
    with refused(
        ub.InputError,
        snapshot(
            "TMP/out/a.json: is not a file that `unbloat run` wrote with -o or printed with --json: it has no runs"
        ),
    ):
        ub.read(tmp_path / "out" / "a.json")


def test_series_that_were_not_saved_are_a_sentence(small: Path, tmp_path: Path) -> None:
    ub.scenario(small).run().save(tmp_path / "out")
    with refused(
        ub.InputError,
        snapshot(
            "no time series recorded: run again with series, such as 100ms; figures without series: lines, bars, heatmap, delay_throughput, box, ecdf"
        ),
    ):
        ub.read(tmp_path / "out").series()


def test_axes_that_are_called_like_columns_harm_neither(small: Path, tmp_path: Path) -> None:
    text = small.read_text() + '\n[sweep]\ncase = [{ label = "b" }, { label = "a", "flows.0.cc" = "cubic" }]\n'
    results = ub.scenario(text.replace("case =", "on ="), {"sweep.duration": ["2s", "3s"]}).run()
    assert results.axes == ["on", "duration"]
    assert list(results.runs["axis.on"]) == ["b", "b", "a", "a"] and set(results.runs["on"]) == {"simulator"}
    assert list(results.runs["duration_s"]) == [2, 3, 2, 3]
    results.save(tmp_path / "out")
    same(results, ub.read(tmp_path / "out"))


def test_files_with_the_whole_names_of_axes_are_still_read(sweep: Path, tmp_path: Path) -> None:
    """Before axes were called by their last parts, files had these names."""
    results = ub.scenario(sweep, {"sweep.on": [{"label": "a"}, {"label": "b"}]}).run(series="100ms")
    limit = "link.bottleneck.queue.limit"
    whole = {"cc": "flows.0.cc", "limit": limit, "limit_bytes": f"{limit}_bytes", "on": "axis.on"}
    own = {"runs": ["on"], "flows": ["cc"], "links": ["limit_bytes"]}
    for file in results.save(tmp_path):
        table = pq.read_table(file)
        kept = own.get(file.stem, [])
        older = table.rename_columns([name if name in kept else whole.get(name, name) for name in table.column_names])
        if file.stem == "flows":
            older = older.append_column("flows.0.cc", table["cc"])
        metadata = {key: value for key, value in table.schema.metadata.items() if key != b"pandas"}
        pq.write_table(older.replace_schema_metadata(metadata), file)
    again = ub.read(tmp_path)
    same(results, again)
    assert list(again.flows) == list(results.flows) and again.flows.equals(results.flows)
    assert list(again.series("links")) == list(results.series("links"))
    assert again.axes == ["flows.0.cc", "link.bottleneck.queue.limit", "on"]


def test_pandas_reads_ordered_labels(sweep: Path, tmp_path: Path) -> None:
    ub.scenario(sweep, {"sweep.link.bottleneck.queue.limit": ["100kb", "15kb"]}).run().save(tmp_path / "out")
    flows = pd.read_parquet(tmp_path / "out" / "flows.parquet")
    limit = flows["limit"]
    assert limit.cat.ordered and list(limit.cat.categories) == ["15kb", "100kb"]
    assert limit.max() == "100kb" and flows["limit_bytes"].max() == 100_000


def test_several_experiments_in_a_folder_stay_apart(small: Path, sweep: Path, tmp_path: Path) -> None:
    ub.scenario(small, {"name": "one"}).run().save(tmp_path / "out" / "1")
    ub.scenario(small, {"name": "two"}).run().save(tmp_path / "out" / "2")
    ub.scenario(sweep, {"name": "three"}).run().save(tmp_path / "out" / "3")
    results = ub.read(tmp_path / "out")
    assert len(results) == 6 and [len(cell.records) for cell in results.points] == [1] * 6
    goodput = results.stats.query("metric == 'goodput_mbps' and of == 'all flows'")
    assert list(goodput["scenario"]) == ["one", "two", *["three"] * 4] and list(goodput["n"]) == [1] * 6
    assert list(goodput["cc"].isna()) == [True, True, *[False] * 4]
    assert list(results.pooled(by="cc").query("metric == 'goodput_mbps'")["n"]) == [1, 1, 2, 2]
    rows = [line.split() for line in text_of_points(results).splitlines()[6:12]]
    assert [row[:3] for row in rows[1:3]] == [["two", *rows[1][1:3]], ["three", "reno", "15kb"]]


# ---------------------------------------------------------------- A folder above several sets


def several(folder: Path, small: Path) -> None:
    """Three sets: a sweep, the same one over a faster line, and one over another axis."""
    controls = {"sweep.flows.0.cc": ["reno", "vegas"]}
    ub.scenario(small, controls).run().save(folder / "a")
    ub.scenario(small, {**controls, "link.bottleneck.rate": "8mbit"}).run().save(folder / "b")
    ub.scenario(small, {"sweep.link.bottleneck.queue.limit": ["10kb", "60kb"]}).run().save(folder / "c")


def test_runs_of_a_changed_scenario_are_no_repeats(tmp_path: Path, small: Path) -> None:
    several(tmp_path / "sets", small)
    results = ub.read(tmp_path / "sets")
    assert [record.axes["results"] for record in results] == ["a", "a", "b", "b", "c", "c"]
    assert [len(cell.records) for cell in results.points] == 6 * [1]
    results.save(tmp_path / "again")
    assert [record.axes for record in ub.read(tmp_path / "again")] == [record.axes for record in results]


def test_sets_whose_runs_have_other_seeds_are_repeats(tmp_path: Path, small: Path) -> None:
    for seed in (1, 2):
        ub.scenario(small, {"seed": seed, "link.bottleneck.loss": "1%"}).run().save(tmp_path / str(seed))
    ub.read(tmp_path / "1").save(tmp_path / "copy")
    (cell,) = ub.read(tmp_path).points
    assert cell.axes == {} and len(cell.sound) == 2


def test_every_command_takes_a_folder_above_several_sweeps(tmp_path: Path, small: Path, cli: Cli) -> None:
    several(tmp_path / "sets", small)
    assert cli("report", "sets").returncode == 0
    page = (tmp_path / "sets" / "report.html").read_text()
    assert "small, over flows.0.cc and results" in page and "small, over link.bottleneck.queue.limit" in page
    for words in (
        *("plot sets -o p.svg", "plot sets bars -o p.svg", "plot sets lines -o p.svg", "plot sets heatmap -o p.svg"),
        *("plot sets delay_throughput -o p.svg", "plot sets ecdf -o p.svg", "export sets --csv", "export sets --latex"),
        *("compare sets sets", "compare sets --between cc=reno,vegas", "compare sets/a sets/b"),
        "report sets --only results=a -o q.html",
    ):
        done = cli(*words.split())
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr
        assert done.returncode == 0 or done.stderr.count("\n") == 1, done.stderr
