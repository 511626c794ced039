"""Which of several links delay is told of: on the screen, in answers, in statistics, in comparisons."""

from typing import Any

import pytest
import unbloat as ub
from inline_snapshot import snapshot
from unbloat.api.results import Results
from unbloat.comparison import tolerance
from unbloat.report import results_tables
from unbloat.report.advice import advice_of
from unbloat.report.figures.grid import points, quantity
from unbloat.report.names import path_of
from unbloat.report.report import Table
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Record

STANDARD = "wifi.home.standard"


def link(name: str, delay: float, used: float, room: int | None = 1000) -> dict[str, Any]:
    wait = {"queue_delay_ms_mean": delay, "queue_delay_ms_p95": 2 * delay}
    setup = {"rate_mbps": None, "rate_mbps_mean": 60.0, "queue_kind": "droptail", "limit_bytes": None}
    return {"link": name, **wait, "utilisation_percent": used, **setup, "limit_packets": room}


def run(standard: str, near: float, *, sound: bool = True) -> Record:
    flow = {"flow": 0, "cc": "cubic", "goodput_mbps": 9.0, "rtt_ms_mean": 20.0 + near, "base_rtt_ms": 20.0}
    counts = {"sent_packets": 100, "lost_packets": 0, "retransmitted_packets": 0, "completion_s": None}
    # The server's link never fills; acknowledgements to the far station wait behind the data to the near one.
    links = [link("internet", 0.1, 17.0), link("near", near, 60.0), link("far", 2 * near, 1.0), link("air", 0, 0, None)]
    facts = {"scenario": "made up", "on": "simulator", "seed": 1, "sound": sound, "duration_s": 10.0}
    return Record({STANDARD: standard}, {**facts, "groups": [1], "flows": [{**flow, **counts}], "links": links})


RUNS = [run("802.11n", 200.0), run("802.11g", 400.0)]


def test_it_is_the_busy_link_with_the_long_queue_in_all_grid_points_alike() -> None:
    found = Bottlenecks.of([*RUNS, run("802.11n", 0.0)])
    assert found.name == "near"
    assert [found.link(each.run)["queue_delay_ms_mean"] for each in RUNS] == [200.0, 400.0]


def test_a_lone_link_with_a_limit_is_not_named() -> None:
    lone = Record({}, {**RUNS[0].run, "links": [link("bottleneck", 5.0, 99.0), link("back", 0.0, 2.0, None)]})
    assert Bottlenecks.of([lone]).name == "" and Bottlenecks.of([lone]).heading(BY_KEY["drops"]) == "drops"


def test_unsound_runs_have_no_say() -> None:
    waits_elsewhere = run("802.11n", 200.0, sound=False)
    waits_elsewhere.run["links"][0] = link("internet", 9000.0, 100.0)
    assert Bottlenecks.of([*RUNS, waits_elsewhere]).name == "near"


def test_screen_answer_and_pictures_tell_of_it_by_name() -> None:
    results = Results(RUNS)
    columns = {column.head: column.cells for column in results_tables.points_columns(results)}
    assert columns["queueing delay, near"] == ["200", "400"]
    table = next(part for part in advice_of(results) if isinstance(part, Table))
    assert table.columns[0].cells == ["queueing delay at near (ms)"]
    assert path_of(RUNS) == snapshot("RTT 20 ms · near: 60 Mbit/s in the mean, buffer 1000 packets")
    delay = BY_KEY["queue_delay"]
    assert [point.values for point in points(RUNS, delay)] == [(200.0,), (400.0,)]
    assert quantity(delay, Bottlenecks.of(RUNS)) == snapshot("queueing delay, near (ms)")


def test_statistics_have_every_link() -> None:
    stats = Results(RUNS).stats.query("metric == 'queue_delay_ms_mean'")
    assert stats["of"].tolist() == 2 * ["internet", "near", "far", "air"]
    assert stats["mean"].tolist() == [0.1, 200.0, 400.0, 0.0, 0.1, 400.0, 800.0, 0.0]


@pytest.mark.parametrize("repeats", [{}, {"repeat": 1}])
def test_comparisons_take_the_same_link_of_both_sides(repeats: dict[str, int]) -> None:
    a, b = (Results([Record({}, {**run("", near).run, **repeats})]) for near in (200.0, 400.0))
    text = ub.compare(a, b).report().text()
    assert "queueing delay, near" in text and "+100.0" in text


def test_of_three_sets_too() -> None:
    found = tolerance.compare(("A", "B"), [run("", 200.0)], [run("", 210.0)])
    assert found.points[0].link == "near"


def test_home_wifi_waits_in_the_air_and_not_on_the_internet() -> None:
    results = ub.scenario("home-wifi", {"duration": 8, "warmup": 1, "flows.1.start": 4}).run()
    assert Bottlenecks.of(results.records).name == "near"
    assert "near:" in path_of(results.records)
