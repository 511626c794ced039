"""What `import unbloat` gives: data frames, Parquet files, errors as exceptions."""

import os
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import unbloat as ub
from inline_snapshot import snapshot
from made_up_runs import in_turn
from sentences import refused
from unbloat.api.results import Results
from unbloat.report.results_tables import points_columns, text_of_points
from unbloat.results.bottleneck import add_up
from unbloat.runs.experiment import command
from unbloat.scenarios.source import as_toml, source_of
from unbloat.system import machine
from unbloat.system.paths import ALGORITHMS

pytestmark = pytest.mark.usefixtures("shared_runs")


def test_summary_has_a_row_for_each_flow(small: Path) -> None:
    results = ub.scenario(small, {"flows.0.count": 3}).run()
    assert list(results.flows["flow"]) == [0, 1, 2]
    assert results.flows["goodput_mbps"].sum() < 4
    assert list(results.links["link"]) == ["bottleneck", "bottleneck.reverse"]
    assert len(results.runs) == 1


def test_the_axes_of_a_sweep_are_columns_everywhere(sweep: Path) -> None:
    results = ub.scenario(sweep).run(series="100ms")
    axes = ["cc", "limit"]
    for table in (results.runs, *(results.series(kind) for kind in ("flows", "links", "rtt", "queue_delay"))):
        assert list(table.columns[:6]) == ["run", *axes, "limit_bytes", "seed", "sound"]
        assert len(table.groupby(axes, observed=True)) == 4
    # Each link has a limit of its own.
    whole = "link.bottleneck.queue.limit"
    assert list(results.links.columns[:6]) == ["run", "cc", whole, f"{whole}_bytes", "seed", "sound"]
    assert "limit_bytes" in results.links
    assert set(results.stats.columns[:3]) == {*axes, "limit_bytes"}
    assert results.axes == ["flows.0.cc", "link.bottleneck.queue.limit"]


def test_flows_leave_an_axis_out_that_their_own_column_tells(sweep: Path, small: Path, tmp_path: Path) -> None:
    swept = ub.scenario(sweep).run()
    assert list(swept.flows)[:7] == ["run", "limit", "limit_bytes", "seed", "sound", "flow", "cc"]
    assert len(swept.flows.query("cc == 'reno' and limit_bytes > 1e4")) == 2
    text = small.read_text() + '[[flows]]\ncc = "vegas"\n'
    beside = ub.scenario(text, {"sweep.flows.0.cc": ["reno", "cubic"]}).run()
    assert list(beside.flows["flows.0.cc"]) == ["reno", "reno", "cubic", "cubic"]
    assert list(beside.flows["cc"]) == ["reno", "vegas", "cubic", "vegas"] and list(beside.runs["cc"]) == [
        "reno",
        "cubic",
    ]
    for number, results in enumerate((swept, beside)):
        results.save(tmp_path / str(number))
        again = ub.read(tmp_path / str(number))
        assert again.as_dict() == results.as_dict() and again.flows.equals(results.flows)


def test_axes_are_chosen_by_their_names_or_the_last_parts(sweep: Path) -> None:
    results = ub.scenario(sweep).run()
    whole, last = results.only({"flows.0.cc": "reno"}), results.only(cc="reno")
    assert whole.as_dict() == last.as_dict() and len(last) == 2
    assert results.pooled(by="flows.0.cc").equals(results.pooled(by="cc"))
    for over in ("limit", "link.bottleneck.queue.limit"):
        results.plot("goodput", over=over)


def test_series_cover_the_run_at_the_step_asked_for(small: Path) -> None:
    series = ub.scenario(small).run(series="100ms").series()
    assert len(series) == pytest.approx(20, abs=1)
    steps = series["time_s"].diff().dropna()
    assert steps.to_numpy() == pytest.approx(0.1)
    assert (series["cwnd_packets"] >= 1).all()


def test_series_that_were_not_asked_for_come_when_looked_at(small: Path) -> None:
    results = ub.scenario(small).run()
    assert len(results.series()) == pytest.approx(1000, abs=2)
    assert set(results.series("links")["link"]) == {"bottleneck", "bottleneck.reverse"}


def test_distributions_count_what_the_summary_averages(small: Path) -> None:
    results = ub.scenario(small).run(series=True)
    delays = results.series("queue_delay").query("link == 'bottleneck'")
    mean = (delays["upper_ms"] * delays["count"]).sum() / delays["count"].sum()
    told = results.links["queue_delay_ms_mean"][0]
    assert mean == pytest.approx(told, rel=0.1)


def test_a_text_is_a_scenario_too(small: Path) -> None:
    assert (
        ub.scenario(small.read_text()).run().as_dict()["runs"][0]["flows"]
        == ub.scenario(small).run().as_dict()["runs"][0]["flows"]
    )


def test_the_cases_of_an_axis_can_be_set_from_python(sweep: Path) -> None:
    cases = [{"label": "short", "link.bottleneck.queue.limit": "5p"}, {"label": "long", "duration": "3s"}]
    results = ub.scenario(sweep, {"sweep.case": cases}).run()
    assert list(results.runs.groupby("case", sort=False)["duration_s"].first().items()) == [
        ("short", 2.0),
        ("long", 3.0),
    ]


def test_the_number_of_processes_changes_nothing(sweep: Path) -> None:
    one = ub.scenario(sweep).run(cache=False, jobs=1)
    four = ub.scenario(sweep).run(cache=False, jobs=4)
    assert one.as_dict() == four.as_dict()


def test_parquet_has_units_in_its_columns(sweep: Path, tmp_path: Path) -> None:
    files = ub.scenario(sweep).run(series=True).save(tmp_path / "out")
    tables = {file.stem: pd.read_parquet(file) for file in files}
    assert set(tables) == {
        *("runs", "flows", "links", "stats", "flow_series", "link_series"),
        *("rtt_distribution", "queue_delay_distribution"),
    }
    assert {"scenario", "on", "seed", "version", "duration_s", "cc"} <= set(tables["runs"])
    assert {"goodput_mbps", "rtt_ms_mean", "limit"} <= set(tables["flows"])
    assert {"queue_delay_ms_p95", "utilisation_percent"} <= set(tables["links"])
    assert {"time_s", "cwnd_packets", "rtt_ms"} <= set(tables["flow_series"])
    assert {"time_s", "queue_bytes"} <= set(tables["link_series"])


def test_wrong_input_raises_with_the_key(small: Path) -> None:
    with refused(ub.InputError, snapshot("flows.0.count: 0 is out of range; valid: 1 to 1000000")):
        ub.scenario(small, {"flows.0.count": 0}).run()


def test_every_error_is_one_class(small: Path) -> None:
    assert issubclass(ub.InputError, ub.Error) and issubclass(ub.RunError, ub.Error)


def test_pcap_gives_each_run_its_file(sweep: Path, tmp_path: Path) -> None:
    ub.scenario(sweep).run(pcap=tmp_path / "trace.pcapng")
    traces = sorted(tmp_path.glob("trace-*.pcapng"))
    assert [trace.name for trace in traces] == [f"trace-{n}.pcapng" for n in range(4)]
    assert all(trace.read_bytes()[:4] == b"\n\r\r\n" for trace in traces)


def test_a_result_shows_itself(small: Path) -> None:
    results = ub.scenario(small).run()
    assert repr(results) == snapshot("<unbloat.Results of 'small': 1 grid point, 1 run>")
    assert "goodput_mbps" in results._repr_html_()


def unsound(results: ub.Results, number: int) -> ub.Results:
    """The same with one run that the machine could not keep up with."""
    outcomes = list(results)
    late = outcomes[number].run | {"sound": False, "unsound_because": "packets left late"}
    outcomes[number] = ub.Record(outcomes[number].axes, late)
    return ub.Results(outcomes, results.about)


def test_unsound_runs_are_marked_in_every_table_and_warned_of(sweep: Path) -> None:
    results = unsound(ub.scenario(sweep).run(), 1)
    for table in ("flows", "links"):
        with pytest.warns(ub.UnsoundRun, match="1 of 4"):
            rows = getattr(results, table)
        assert list(rows.groupby("run")["sound"].all()) == [True, False, True, True]
    assert list(results.runs["sound"]) == [True, False, True, True]
    with pytest.warns(ub.UnsoundRun, match="1 of 4"):
        counts = results.stats.query("metric == 'goodput_mbps' and of == 'all flows'")
    assert len(counts) == 3


def test_axes_are_numbers_too(small: Path) -> None:
    limits = {"sweep.link.bottleneck.queue.limit": ["100kb", "15kb"], "sweep.link.bottleneck.delay": ["5ms", "10ms"]}
    flows = ub.scenario(small, limits).run().flows
    assert list(flows["limit_bytes"]) == [1e5, 1e5, 15e3, 15e3]
    assert list(flows["delay_s"]) == [0.005, 0.01] * 2
    assert list(flows.sort_values("limit")["limit"])[-1] == "100kb"


def test_statistics_can_pool_grid_points(sweep: Path) -> None:
    results = ub.scenario(sweep).run()
    pooled = results.pooled(by="cc").query("metric == 'goodput_mbps' and of == 'all flows'")
    # The limits were chosen: how far their goodputs lie apart is no interval of chance.
    assert pooled["ci95_low"].isna().all() and pooled["deviation"].max() > 0
    assert list(pooled["n"]) == [2, 2] and list(pooled["cc"]) == ["reno", "cubic"]
    means = results.flows.groupby("cc", sort=False)["goodput_mbps"].mean()
    assert list(pooled["mean"]) == pytest.approx(list(means))
    with refused(ub.InputError, snapshot("unknown axis rtt; valid: flows.0.cc, link.bottleneck.queue.limit")):
        results.pooled(by="rtt")


def test_results_are_a_sequence_of_runs(sweep: Path) -> None:
    results = ub.scenario(sweep).run()
    assert len(results) == 4 and results[0].axes == next(iter(results)).axes
    assert [record.run["seed"] for record in results] == [1, 1, 1, 1]
    assert results.flows is results.flows, "made once"


def test_a_scenario_may_be_a_dictionary(small: Path) -> None:
    scenario = {
        "name": "small",
        "duration": 2,
        "link": {"bottleneck": {"rate": 4e6, "delay": 0.01, "queue": {"limit": 30_000}}},
        "flows": [{"cc": "reno"}],
    }
    assert ub.scenario(scenario).run().as_dict() == ub.scenario(small).run().as_dict()
    longer = ub.scenario(scenario, {"duration": 2.5, "sweep.link.bottleneck.rate": [1e6, 2_000_000]}).run()
    assert list(longer.runs["duration_s"]) == [2.5, 2.5]
    assert list(longer.runs["rate_bps"]) == [1e6, 2e6]
    assert list(longer.runs["rate"]) == ["1mbit", "2mbit"]
    del scenario["name"]
    assert source_of(scenario).points()[0].name == "scenario"
    with refused(
        ub.InputError,
        snapshot(
            "duraton: unknown key (did you mean duration?); valid keys: name, duration, warmup, seed, emulator, profile, compile, wifi, link, lte, host, mesh, flows, expect, sweep"
        ),
    ):
        ub.scenario({**scenario, "duraton": 1}).run()
    with refused(
        ub.InputError,
        snapshot(
            'flows.0.cc: unknown congestion control "renno" (did you mean reno?); valid: agile_sd, bbr, bbr3, clpc, compound, compound_ns2, copa, cubic, cubic_hystartpp, cubic_plus, cubic_search, dctcp, dtpa, dtpa_auto, elastic, elastic_plus, htcp, illinois, ledbat, ledbat_pp, reno, reno_plus, tcp_lp, vegas, vegas_plus, veno, westwood, or the path of a .bpf.c file'
        ),
    ):
        ub.scenario({**scenario, "flows": [{"cc": "renno"}]}).run()
    with pytest.raises(ub.InputError, match=r"^link\.bottleneck\.rate: "):
        ub.scenario(scenario, {"link.bottleneck.rate": object()}).run()


@pytest.mark.parametrize(
    "rates",
    [
        np.array([1e6, 2e6]),
        [np.float64(1e6), np.int64(2_000_000)],
        pd.Series([1e6, 2e6]),
        range(1_000_000, 3_000_000, 1_000_000),
        (Decimal(1_000_000), 2e6),
    ],
)
def test_numbers_of_numpy_and_pandas_are_numbers(rates: object) -> None:
    assert as_toml(rates, "sweep.link.bottleneck.rate") == '["1mbit", "2mbit"]'


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("duration", 0.0015, "1.5ms"),
        ("duration", 90, "90s"),
        ("duration", 0.012345678, "12.345678ms"),
        ("link.bottleneck.rate", 1_234_567, "1234567bit"),
        ("link.bottleneck.queue.limit", 1500, "1.5kb"),
        ("link.bottleneck.loss", np.float64(0.5), "0.5%"),
    ],
)
def test_numbers_get_the_units_that_read_best(key: str, value: object, text: str) -> None:
    assert as_toml(value, key) == text


def test_names_are_completed_before_they_are_loaded() -> None:
    assert {"Results", "evaluate", "scenario"} <= {*dir(ub)}


def test_round_trips_and_durations_are_arguments_beside_controls(small: Path) -> None:
    results = ub.scenario(small).run(cc="reno, cubic", rtt=["20ms", 0.04], duration=0.5)
    assert results.axes == ["flows.*.cc", "rtt"] and list(results.runs["rtt"]) == ["20ms", "40ms"] * 2
    assert set(results.runs["duration_s"]) == {0.5}
    assert [
        flow["base_rtt_ms"] for flow in ub.scenario(small).run(rtt="30ms", duration="500ms", repeat=1)[0].run["flows"]
    ] == [30]
    with refused(ub.InputError, snapshot('rtt: "soon" is not a time; write a number and its unit, such as "10ms"')):
        ub.scenario(small).run(rtt="soon")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/usr/lib/unbloat/__main__.py", "run", "my line"], "unbloat run 'my line'"),
        (["work/api.py", "1"], "python api.py 1"),
        (["/usr/bin/pytest"], "pytest"),
        (["-c"], ""),
        (["/lib/ipykernel_launcher.py", "-f", "kernel.json"], ""),
    ],
)
def test_commands_are_told_as_they_are_typed(monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    monkeypatch.setattr("sys.argv", words)
    assert command() == said


def test_a_page_in_a_file_is_not_given_too(small: Path, tmp_path: Path) -> None:
    results = ub.scenario(small).run(duration="100ms")
    assert results.to_html(tmp_path / "x.html") is None
    assert results.to_html() == (tmp_path / "x.html").read_text()


def test_one_line_is_a_scenario_too() -> None:
    with refused(
        ub.InputError,
        snapshot("""\
<text>: flows: is missing; write tables: the flow groups, one [[flows]] each
<text>: link: is missing; write a table: the links\
"""),
    ):
        ub.scenario('duration = "2s"').run()


def test_several_controls_are_an_axis(small: Path, tmp_path: Path) -> None:
    results = ub.scenario(small).run(
        cc=["reno", tmp_path / "mine.bpf.c"], only=lambda axes: axes["flows.*.cc"] == "reno"
    )
    assert results.axes == ["flows.*.cc"] and list(results.flows["cc"]) == ["reno"]


def test_a_control_of_ones_own_is_an_axis_by_its_name(small: Path, tmp_path: Path) -> None:
    mine = tmp_path / "sonar.bpf.c"
    mine.write_text((ALGORITHMS / "congestion" / "vegas.bpf.c").read_text())
    results = ub.scenario(small).run(cc=["reno", mine])
    assert [record.axes["flows.*.cc"] for record in results] == ["reno", "sonar"]
    page, table = results.to_html(), results._repr_html_()
    assert page and ">sonar<" in page and "sonar" in table and str(mine) not in table
    assert len(results.only(cc="sonar")) == len(results.only(cc=mine)) == 1
    (one,) = ub.scenario(small).run(cc=["reno", mine], only={"cc": mine})
    assert one.axes == {"flows.*.cc": "sonar"}, "as in the whole grid"
    twin = tmp_path / "reno.bpf.c"
    twin.write_text(mine.read_text())
    assert [each.axes["flows.*.cc"] for each in ub.scenario(small).run(cc=["reno", twin])] == ["reno", str(twin)]


def test_a_choice_that_leaves_no_grid_point_is_a_sentence(sweep: Path) -> None:
    for repeat in (None, 2):
        with pytest.raises(ub.InputError, match=r"^only: .*flows\.0\.cc=reno"):
            ub.scenario(sweep).run(only=lambda axes: False, repeat=repeat)


def test_a_file_of_ones_own_is_called_by_its_own_name(small: Path, tmp_path: Path) -> None:
    """The README's first step: a copy of a control that still calls itself by the other's name."""
    mine = tmp_path / "mine.bpf.c"
    mine.write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    text = small.read_text() + f'\n[[flows]]\ncc = "{mine}"\ncount = 2\n'
    assert list(ub.scenario(text).run().flows["cc"]) == ["reno", "mine", "mine"]
    twin = tmp_path / "reno.bpf.c"
    twin.write_text(mine.read_text())
    assert list(ub.scenario(small.read_text() + f'\n[[flows]]\ncc = "{twin}"\n').run().flows["cc"]) == [
        "reno",
        str(twin),
    ]


def test_systems_that_tell_no_processors_of_a_process_have_some(monkeypatch: pytest.MonkeyPatch, small: Path) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert machine.processors() == os.cpu_count()
    assert len(ub.scenario(small).run(cache=False)) == 1


def test_repeats_that_are_all_the_same_are_warned_of(small: Path) -> None:
    with pytest.warns(ub.IdenticalRepeats):
        swept = ub.scenario(small).run(repeat=3)
    assert text_of_points(swept).count("warning: the repeats differ by less than 0.01 %") == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ub.scenario(small, {"link.bottleneck.loss": "1%"}).run(repeat=3)
        ub.scenario(small).run(repeat=1)


def test_no_results_show_themselves_too() -> None:
    assert repr(ub.Results([])) == snapshot("<unbloat.Results of 'no scenario': 0 grid points, 0 runs>")
    assert ub.Results([]).axes == [] and len(ub.Results([]).runs) == len(ub.Results([]).flows) == 0
    assert "0 runs" in ub.Results([])._repr_html_()


@pytest.mark.filterwarnings("ignore::unbloat.IdenticalRepeats")
def test_statistics_are_numbers_whether_there_are_intervals_or_not(small: Path) -> None:
    for repeat in (1, 2):
        types = ub.scenario(small).run(repeat=repeat).stats.dtypes
        assert [str(types[name]) for name in ("mean", "deviation", "ci95_low", "ci95_high")] == 4 * ["float64"]


def test_rates_of_all_flows_are_sums_in_all_grid_points_or_in_none() -> None:
    # In the grid points of Vegas the flows share the link all of the time, in those of CUBIC one runs after the other.
    results = Results([in_turn("cubic", 7.0, 9.5), in_turn("vegas", 2.0, 8.5)])
    assert [add_up(record.run) for record in results] == [False, True]
    goodputs = results.stats.query("of == 'all flows' and metric == 'goodput_mbps'")["mean"]
    assert len(goodputs) == 2 and goodputs.isna().all()
    table = {column.head: column.cells for column in points_columns(results)}
    assert [cell for cell, of in zip(table["goodput"], table["flow"], strict=True) if of == "all"] == ["-", "-"]
    alone = Results([in_turn("vegas", 2.0, 8.5)]).stats.query("of == 'all flows' and metric == 'goodput_mbps'")
    assert alone["mean"].tolist() == [10.0]


def test_types_of_columns_do_not_depend_on_values(small: Path) -> None:
    """Nothing completes in the first, nothing is complete in the second, and in the third a run fails."""
    scenario = ub.scenario(small)
    sets = (
        scenario.run(),
        scenario.run({"flows.0.size": "100kb", "flows.0.name": "photo", "link.bottleneck.loss": "1%"}, repeat=2),
        scenario.run({"flows.0.params.alpha": 1}, cc=["reno", "vegas"], repeat=1),
    )
    for table in ("runs", "flows", "links", "stats"):
        first, *others = (getattr(each, table).dtypes for each in sets)
        for other in others:
            common = [name for name in first.index if name in other.index]
            assert len(common) > 4 and first[common].equals(other[common]), table
    assert str(sets[0].flows["completion_s"].dtype) == "float64" == str(sets[0].stats["ci95_low"].dtype)
