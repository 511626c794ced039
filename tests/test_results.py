"""What `import unbloat` gives: data frames, Parquet files, errors as exceptions."""

from pathlib import Path

import pandas as pd
import pytest
import unbloat as ub


def test_summary_has_a_row_for_each_flow(small: Path) -> None:
    results = ub.run(small, {"flows.0.count": 3})
    assert list(results.summary["flow"]) == [0, 1, 2]
    assert results.summary["goodput_mbps"].sum() < 4
    assert list(results.links["link"]) == ["bottleneck", "bottleneck.reverse"]
    assert len(results.runs) == 1


def test_the_axes_of_a_sweep_are_columns_everywhere(sweep: Path) -> None:
    results = ub.run(sweep, series="100ms")
    axes = ["flows.0.cc", "link.bottleneck.queue.limit"]
    for table in (results.runs, results.summary, results.links, results.series, results.link_series):
        assert list(table.columns[:4]) == ["run", *axes, "seed"]
        assert len(table.groupby(axes)) == 4
    assert set(results.summary["cc"]) == {"reno", "cubic"}


def test_series_cover_the_run_at_the_step_asked_for(small: Path) -> None:
    series = ub.run(small, series="100ms").series
    assert len(series) == pytest.approx(20, abs=1)
    steps = series["time_s"].diff().dropna()
    assert steps.to_numpy() == pytest.approx(0.1)
    assert (series["cwnd_packets"] >= 1).all()


def test_series_that_were_not_asked_for_come_when_looked_at(small: Path) -> None:
    results = ub.run(small)
    assert len(results.series) == pytest.approx(1000, abs=2)
    assert set(results.link_series["link"]) == {"bottleneck", "bottleneck.reverse"}


def test_distributions_count_what_the_summary_averages(small: Path) -> None:
    results = ub.run(small, series=True)
    delays = results.queue_delay_distribution.query("link == 'bottleneck'")
    mean = (delays["upper_ms"] * delays["count"]).sum() / delays["count"].sum()
    told = results.links["queue_delay_ms_mean"][0]
    assert mean == pytest.approx(told, rel=0.1)


def test_a_text_is_a_scenario_too(small: Path) -> None:
    assert ub.run(small.read_text()).as_dict()["runs"][0]["flows"] == ub.run(small).as_dict()["runs"][0]["flows"]


def test_the_cases_of_an_axis_can_be_set_from_python(sweep: Path) -> None:
    cases = [{"label": "short", "link.bottleneck.queue.limit": "5p"}, {"label": "long", "duration": "3s"}]
    results = ub.run(sweep, {"sweep.case": cases})
    assert list(results.runs.groupby("case", sort=False)["duration_s"].first().items()) == [
        ("short", 2.0),
        ("long", 3.0),
    ]


def test_the_number_of_processes_changes_nothing(sweep: Path) -> None:
    one = ub.run(sweep, cache=False, jobs=1)
    four = ub.run(sweep, cache=False, jobs=4)
    assert one.as_dict() == four.as_dict()


def test_parquet_has_units_in_its_columns(sweep: Path, tmp_path: Path) -> None:
    files = ub.run(sweep).save(tmp_path / "out")
    tables = {file.stem: pd.read_parquet(file) for file in files}
    assert set(tables) == {
        *("runs", "flows", "links", "flow_series", "link_series"),
        *("rtt_distribution", "queue_delay_distribution"),
    }
    assert {"scenario", "on", "seed", "version", "duration_s", "flows.0.cc"} <= set(tables["runs"])
    assert {"goodput_mbps", "rtt_ms_mean", "link.bottleneck.queue.limit"} <= set(tables["flows"])
    assert {"queue_delay_ms_p95", "utilisation_percent"} <= set(tables["links"])
    assert {"time_s", "cwnd_packets", "rtt_ms"} <= set(tables["flow_series"])
    assert {"time_s", "queue_bytes"} <= set(tables["link_series"])


def test_wrong_input_raises_with_the_key(small: Path) -> None:
    with pytest.raises(ub.InputError, match=r"flows\.0\.count"):
        ub.run(small, {"flows.0.count": 0})


def test_every_error_is_one_class(small: Path) -> None:
    assert issubclass(ub.InputError, ub.Error) and issubclass(ub.RunError, ub.Error)


def test_pcap_gives_each_run_its_file(sweep: Path, tmp_path: Path) -> None:
    ub.run(sweep, pcap=tmp_path / "trace.pcapng")
    traces = sorted(tmp_path.glob("trace-*.pcapng"))
    assert [trace.name for trace in traces] == [f"trace-{n}.pcapng" for n in range(4)]
    assert all(trace.read_bytes()[:4] == b"\n\r\r\n" for trace in traces)


def test_a_result_shows_itself(small: Path) -> None:
    results = ub.run(small)
    assert repr(results) == "<unbloat results of 'small': 1 runs, 1 flows>"
    assert "goodput_mbps" in results._repr_html_()
