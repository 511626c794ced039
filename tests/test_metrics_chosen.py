"""What tables and comparisons show: flows with names or an end one by one, and the metrics that are asked for."""

import unbloat as ub
from inline_snapshot import snapshot
from made_up_runs import CC, in_turn, run
from sentences import refused
from unbloat.api.results import Results
from unbloat.report.figures.sweeps import missing_along
from unbloat.report.results_tables import text_of_runs
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Record


def swept(cc: str, *ends: float | None, first: float = 7.0) -> Results:
    """Repeats of a sweep with a download that ends at these times."""
    records = [in_turn(cc, first, end, seed) for seed, end in enumerate(ends)]
    return Results([Record({}, record.run | {"repeat": record.run["seed"] + 1}) for record in records])


def test_a_comparison_of_sweeps_tells_of_named_flows() -> None:
    text = ub.compare(swept("cubic", 9.5, 9.7), swept("cubic", 8.5, 8.6, first=6.0)).report().text()
    lines = [line.split() for line in text.splitlines()]
    assert ["made", "up", "1", "download", "completion", "s", "9.6", "±", "1.3"] in [line[:9] for line in lines]
    assert any(line[2:5] == ["0", "backup", "goodput"] for line in lines)


def test_the_metrics_of_a_comparison_can_be_chosen() -> None:
    a, b = swept("cubic", 9.5, 9.7), swept("cubic", 8.5, 8.6, first=6.0)
    text = ub.compare(a, b, metrics=["completion"]).report().text()
    assert "completion s" in text and "goodput" not in text
    within = ub.compare(a, b, tolerance={"rtt": "5%"}, metrics=["goodput"])
    assert set(within.table["metric"]) == {"goodput_mbps"}
    with refused(ub.InputError, snapshot("metrics: completion has no tolerance here: give one, such as completion=5%")):
        ub.compare(a, b, tolerance={"rtt": "5%"}, metrics=["completion"])


def test_the_metrics_of_a_run_can_be_chosen() -> None:
    text = text_of_runs(Results([in_turn("cubic", 7.0, 9.5)]), ["completion", "queue_delay_p95", "jain"])
    heads = [line.split() for line in text.splitlines() if "completion" in line or "p95" in line or "Jain" in line]
    assert heads == [["cc", "flow", "completion"], ["cc", "link", "queueing", "delay", "p95"], ["cc", "Jain", "index"]]


def test_pictures_mark_where_means_are_over_some_runs_only() -> None:
    ends = {"cubic": [9.5, None, 9.7], "vegas": [8.5, 8.6, 8.7], "reno": [None, None, None]}
    runs = [in_turn(cc, 7.0, end, seed) for cc, each in ends.items() for seed, end in enumerate(each)]
    assert missing_along(runs, BY_KEY["completion"], CC) == {"cubic": (2, 3), "reno": (0, 3)}
    assert missing_along(runs, BY_KEY["goodput"], CC) == {}
    assert len(Results(runs).plot("bars", metrics=["completion"], x="cc").axes[0].texts) >= 2


def test_flows_without_a_name_or_an_end_stay_together() -> None:
    flows = [{"flow": n, "cc": "cubic", "goodput_mbps": 4.0, "throughput_mbps": 4.0} for n in range(2)]
    assert missing_along([run({CC: "cubic"}, 5.0, *flows)], BY_KEY["completion"], CC) == {}
