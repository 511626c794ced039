"""Results go through pickle, as joblib, multiprocessing and caches of one's own need it."""

import pickle
from pathlib import Path
from typing import TypeVar

import pandas as pd
import unbloat as ub
from inline_snapshot import snapshot
from made_up_paper import write_paper
from sentences import refused
from unbloat.results.metrics import BY_KEY, METRICS
from unbloat.results.run_set import KINDS

GRID = {"sweep.flows.0.cc": ["reno", "vegas"]}
T = TypeVar("T")


def again(value: T) -> T:
    copy: T = pickle.loads(pickle.dumps(value))
    return copy


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    pd.testing.assert_frame_equal(one, other)
    return len(one) > 0


def test_a_run_with_its_recorded_series(small: Path) -> None:
    results = ub.scenario(small, GRID).run(series="100ms")
    copy = again(results)
    assert copy.as_dict() == results.as_dict() and copy.about == results.about
    assert same(copy.flows, results.flows) and same(copy.runs, results.runs) and same(copy.links, results.links)
    for kind in KINDS:
        assert same(copy.series(kind), results.series(kind))
    assert same(again(copy.only(cc="vegas")).series("links"), results.only(cc="vegas").series("links"))


def test_series_that_were_not_recorded_do_not_come_along(small: Path) -> None:
    copy = again(ub.scenario(small).run())
    assert len(copy.flows) == 1
    with refused(
        ub.InputError,
        snapshot(
            "no time series recorded: run again with series, such as 100ms; figures without series: lines, bars, heatmap, delay_throughput, box, ecdf"
        ),
    ):
        copy.series()


def test_a_sweep_and_its_comparison(small: Path) -> None:
    results = ub.scenario(small, {**GRID, "link.bottleneck.loss": "1%"}).run(repeat=2)
    copy = again(results)
    assert same(copy.stats, results.stats)
    difference = results.compare(between="cc")
    assert same(again(difference).table, difference.table) and same(copy.compare(between="cc").table, difference.table)


def test_a_comparison_within_tolerances(small: Path) -> None:
    results = ub.scenario(small).run()
    compared = ub.compare(results, results, tolerance={"goodput": "5%"})
    copy = again(compared)
    assert copy.is_within and copy.as_dict() == compared.as_dict() and same(copy.table, compared.table)


def test_a_failure_and_an_error_say_why(small: Path) -> None:
    results = ub.scenario(small, {"sweep.flows.0.cc": ["reno", "vegas"], "flows.0.params.alpha": 1}).run(repeat=1)
    assert [each.reason for each in again(results).failures] == [each.reason for each in results.failures]
    assert len(results.failures) == 1
    assert str(again(ub.InputError("why not"))) == "why not"


def test_a_reproduction(tmp_path: Path) -> None:
    found = ub.paper(write_paper(tmp_path, {})).reproduce()
    copy = again(found)
    assert copy.as_dict() == found.as_dict() and str(copy) == str(found)
    assert len(copy.draw(tmp_path / "figures")) == len(found.draw(tmp_path / "others")) > 0


def test_every_metric_is_the_register_s_own() -> None:
    assert all(again(metric) is metric for metric in (*BY_KEY.values(), *METRICS.values()))


def test_a_scenario_and_a_paper(small: Path, tmp_path: Path) -> None:
    scenario = ub.scenario(small, cc="vegas")
    assert again(scenario) == scenario and again(scenario).run().as_dict() == scenario.run().as_dict()
    paper = ub.paper(write_paper(tmp_path, {}))
    assert again(paper).ids == paper.ids
