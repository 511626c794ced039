"""The answer: for each setting the best, by how much, the worst, at what cost; and what is left open."""

import random
import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import pytest
import unbloat as ub
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from made_up_runs import CC, flow, in_turn, run
from unbloat.api.results import Results
from unbloat.report import results_tables
from unbloat.report.advice import advice_of
from unbloat.report.figures.grid import points, quantity
from unbloat.report.report import Facts, Fold, Heading, Table
from unbloat.report.results_page import page_of
from unbloat.report.results_tables import points_columns
from unbloat.report.verdicts import Verdict, experiments_of
from unbloat.results.bottleneck import Bottlenecks, add_up
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Failure, Outcome, Record
from unbloat.results.statistics import NEAR

LIMIT = "link.bottleneck.queue.limit"
QUEUE = "queue"
GOODPUT, DELAY = "goodput", "queueing delay"


def repeats(cc: str, goodputs: Iterable[float], delays: Iterable[float], **more: str) -> list[Record]:
    pairs = enumerate(zip(goodputs, delays, strict=True))
    return [run({CC: cc, **more}, delay, flow(0, cc, goodput), seed=n) for n, (goodput, delay) in pairs]


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    return [verdict for each in experiments_of(Results(outcomes)) for verdict in each.verdicts]


def verdict(outcomes: Sequence[Outcome], title: str, *setting: str) -> Verdict:
    (found,) = [v for v in verdicts(outcomes) if v.measure.title == title and v.setting == setting]
    return found


def labels(sides: Iterable[Any]) -> list[str]:
    return [side.label for side in sides]


def certainty(outcomes: Sequence[Outcome]) -> object:
    *_, last = advice_of(Results(outcomes))
    return last


def rows(outcomes: Sequence[Outcome], *, folded: bool = False) -> list[dict[str, object]]:
    """The rows of the table, by the heads of its columns."""
    parts = advice_of(Results(outcomes))
    found = [part.parts[0] for part in parts if isinstance(part, Fold)] if folded else parts
    (table,) = [part for part in found if isinstance(part, Table)]
    heads = [column.head for column in table.columns]
    return [dict(zip(heads, row, strict=True)) for row in zip(*(each.cells for each in table.columns), strict=True)]


def row_of(outcomes: Sequence[Outcome], metric: str) -> dict[str, object]:
    (found,) = [row for row in rows(outcomes) if row["metric"] == metric]
    return found


# ---------------------------------------------------------------- What is said


def test_the_best_is_told_with_its_lead_and_its_cost() -> None:
    sides = [*repeats("cubic", [9.0, 9.2, 9.1], [80, 90, 85]), *repeats("vegas", [8.5, 8.7, 8.6], [8, 9, 8.5])]
    # 85 ± 12: Student's t of two degrees of freedom is 4.303, and 4.303 * 5 / sqrt(3) is 12.4. Pairs by seed: 72, 81
    # and 76.5 ms lie between the two.
    assert rows(sides) == snapshot(
        [
            {
                "metric": "queueing delay (ms)",
                "best cc": "vegas: 8.5 ± 1.2",
                "lead over the next": "cubic: 76 ± 11 (10.0 times)",
                "worst cc": "cubic: 85 ± 12",
                "what the best costs": "goodput 8.60 ± 0.25, with cubic 9.10 ± 0.25 Mbit/s",
            },
            {
                "metric": "goodput (Mbit/s)",
                "best cc": "cubic: 9.10 ± 0.25",
                "lead over the next": "vegas: 0.500 (5.81 %)",
                "worst cc": "vegas: 8.60 ± 0.25",
                "what the best costs": "queueing delay 85 ± 12, with vegas 8.5 ± 1.2 ms",
            },
        ]
    )
    assert certainty(sides) == snapshot("± is the 95 % confidence interval of a mean over 3 runs; all runs are sound.")


def test_a_lead_whose_interval_holds_zero_is_none() -> None:
    sides = [*repeats("cubic", [9.0, 8.0, 9.1], [80, 90, 85]), *repeats("vegas", [8.8, 9.9, 9.9], [80, 90, 85])]
    found = verdict(sides, GOODPUT)
    assert (labels(found.best), labels(found.undecided), found.behind) == (["vegas"], ["cubic"], [])
    assert not found.is_decided
    assert row_of(sides, "goodput (Mbit/s)")["lead over the next"] == snapshot("undecided: cubic 0.8 ± 2.6")
    assert certainty(sides) == snapshot(
        "± is the 95 % confidence interval of a mean over 3 runs; undecided, because the interval of the lead holds 0: 1 of 2 rows; all runs are sound."
    )


def test_differences_below_the_tolerance_of_compare_are_none() -> None:
    # Decided to the last digit, and nothing that anybody notices.
    sides = [*repeats("reno", [9.0, 9.0], [50.0, 50.0]), *repeats("vegas", [9.2, 9.2], [53.0, 53.0])]
    for title in (GOODPUT, DELAY):
        assert sorted(labels(verdict(sides, title).best)) == ["reno", "vegas"]
    assert [(row["best cc"], row["lead over the next"]) for row in rows(sides)] == snapshot(
        [("all: 9.00 to 9.20", "alike"), ("all: 50.0 to 53.0", "alike")]
    )
    assert NEAR["goodput"].share == 0.03 and NEAR["queue_delay"].share == 0.10


def test_unsound_and_failed_runs_do_not_count_and_are_counted() -> None:
    outcomes: list[Outcome] = [*repeats("cubic", [9.0, 9.2], [80, 90]), *repeats("vegas", [8.8, 9.0], [8, 9])]
    wrong = run({CC: "vegas"}, 4000.0, flow(0, "vegas", 0.01), seed=7, sound=False)
    more = [*outcomes, wrong, Failure({CC: "vegas"}, 4, 8, "it crashed", "line", "simulator")]
    assert rows(more) == rows(outcomes)
    assert certainty(more) == snapshot(
        "± is the 95 % confidence interval of a mean over 2 runs; unsound and not counted: 1 of 6 runs; failed: 1 of 6 runs."
    )


def test_without_any_sound_run_there_is_no_answer() -> None:
    outcomes = [run({}, 1.0, flow(0, "cubic", 1.0), sound=False)]
    assert advice_of(Results(outcomes)) == snapshot(["No run is sound; unsound and not counted: 1 of 1 runs."])


def test_each_setting_is_told_by_itself_the_worst_first() -> None:
    outcomes = [
        *repeats("cubic", [9.5], [4.0], **{LIMIT: "5kb"}),
        *repeats("vegas", [8.5], [4.3], **{LIMIT: "5kb"}),
        *repeats("cubic", [9.0], [50.0], **{LIMIT: "50kb"}),
        *repeats("vegas", [8.0], [5.0], **{LIMIT: "50kb"}),
    ]
    assert [(row["queue limit"], row["metric"], row["best cc"]) for row in rows(outcomes)] == [
        ("50kb", "queueing delay (ms)", "vegas: 5.00"),
        ("50kb", "goodput (Mbit/s)", "cubic: 9.00"),
        ("5kb", "goodput (Mbit/s)", "cubic: 9.50"),
    ]
    assert [(row["queue limit"], row["best cc"]) for row in rows(outcomes, folded=True)] == [
        ("5kb", "all: 4.00 to 4.30")
    ]
    # Single runs leave every lead open.
    assert rows(outcomes)[0]["lead over the next"] == snapshot("cubic: 45.0 (10.0 times) ?")
    assert certainty(outcomes) == snapshot(
        "Every grid point ran once, so leads are open (?): --repeat 5 says how far another run lies off; all runs are sound."
    )


def test_unlike_paths_are_not_pooled() -> None:
    """Fibre hides a satellite in means over paths: 13 against 0.4 Mbit/s is nothing beside 965."""
    paths = {
        "fibre": {"cubic": (965.0, 13.8), "bbr": (951.0, 1.7), "reno": (965.0, 6.0)},
        "satellite": {"cubic": (0.77, 0.24), "bbr": (13.2, 174.0), "reno": (0.4, 0.08)},
    }
    outcomes: list[Outcome] = []
    for path, sides in paths.items():
        for cc, (goodput, delay) in sides.items():
            luck = [(goodput * (1 + n / 1000), delay * (1 + n / 1000)) for n in range(3)]
            outcomes += repeats(cc, *zip(*luck, strict=True), path=path)
    for record in outcomes:
        assert isinstance(record, Record)
        record.run["packet_ms"] = 0.67 if record.axes["path"] == "satellite" else 0.012
        record.run["flows"][0]["base_rtt_ms"] = 580.0 if record.axes["path"] == "satellite" else 20.0
    satellite = {str(row["metric"]): row for row in rows(outcomes) if row["path"] == "satellite"}
    goodput = satellite["goodput (Mbit/s)"]
    assert str(goodput["best cc"]).startswith("bbr: 13.2") and str(goodput["worst cc"]).startswith("reno: 0.400")
    # Reno's queue is shortest there because it sends next to nothing, and the page says at once what that costs.
    cost = str(satellite["queueing delay (ms)"]["what the best costs"])
    assert re.sub(r"[\d.]+ ± [\d.]+|[\d.]+", "#", cost) == snapshot("reno: goodput #, with bbr # Mbit/s")
    assert sorted(labels(verdict(outcomes, DELAY, "satellite").best)) == ["cubic", "reno"]  # A packet takes longer.
    assert verdict(outcomes, GOODPUT, "fibre").is_decided is False


def test_more_rows_than_thirty_are_folded() -> None:
    outcomes = [
        *(
            each
            for n in range(20)
            for each in (
                *repeats("cubic", [9.0], [50.0 + n], **{LIMIT: f"{n + 1}p"}),
                *repeats("vegas", [8.0], [5.0], **{LIMIT: f"{n + 1}p"}),
            )
        )
    ]
    (fold,) = [part for part in advice_of(Results(outcomes)) if isinstance(part, Fold)]
    assert (len(rows(outcomes)), fold.title) == (30, snapshot("Further cases (10 rows)"))


# ---------------------------------------------------------------- What is judged


def two_ways(label: str, up: float, down: float, seed: int = 1) -> Record:
    """A line whose upload is filled by a backup; a download fills the other way once the upload lets it."""
    flows = [
        flow(0, "cubic", 4.6) | {"name": "backup", "throughput_mbps": 4.8},
        flow(1, "cubic", 5.0 if up > 100 else 19.0) | {"name": "download", "throughput_mbps": 19.0},
    ]
    record = run({QUEUE: label}, up, *flows, seed=seed, groups=[1, 1])
    limit = {"rate_mbps": 5.0, "limit_bytes": 256000}
    back = {"link": "modem.reverse", "queue_delay_ms_mean": down, "utilisation_percent": 26.0 if up > 100 else 99.0}
    record.run["links"] = [record.run["links"][0] | limit | {"link": "modem"}, back | limit]
    return record


def test_a_remedy_more_does_not_turn_the_advice() -> None:
    sides = [two_ways("as it is", 291.0, 67.0), two_ways("CAKE", 1.7, 167.0), two_ways("fq_codel", 1.8, 168.0)]
    for part in (sides[:2], sides):
        assert Bottlenecks.of(part).name == "modem"
        found = {v.measure.title: v for v in verdicts(part)}
        assert "CAKE" in labels(found["queueing delay at modem"].best)
        assert labels(found["queueing delay at modem"].behind) == ["as it is"]
        # The other direction is shown too, with what its short queue costs.
        assert labels(found["queueing delay at modem.reverse"].best) == ["as it is"]
        cost = row_of(part, "queueing delay at modem.reverse (ms)")["what the best costs"]
        assert "5.00" in str(cost) and "19.0" in str(cost)


def test_the_table_of_a_sweep_shows_both_directions_too() -> None:
    sides = [two_ways("as it is", 291.0, 67.0), two_ways("CAKE", 1.7, 167.0), two_ways("fq_codel", 1.8, 168.0)]
    table = {column.head: column.cells for column in points_columns(Results(sides))}
    all_flows = [n for n, of in enumerate(table["flow"]) if of == "all"]
    assert [table["queueing delay, modem"][n] for n in all_flows] == ["291", "1.70", "1.80"]
    assert [table["queueing delay, modem.reverse"][n] for n in all_flows] == ["67.0", "167", "168"]


def test_applications_are_told_by_what_people_wait_for() -> None:
    runs = [
        run({QUEUE: queue}, 5.0, flow(0, "none", 0.1) | {"rating": rating, "name": "call"},
            flow(1, "cubic", 1.0) | {"page_load_s_mean": page, "name": "web"}, groups=[1, 1])
        for queue, rating, page in (("fifo", 31.4, 2.0), ("cake", 92.0, 1.95))
    ]  # fmt: skip
    (row,), (alike, *_) = rows(runs), rows(runs, folded=True)
    assert (row["metric"], row["best queue"], row["worst queue"]) == ("R of call (of 93.2)", "cake: 92.0", "fifo: 31.4")
    assert (alike["metric"], alike["best queue"]) == ("page load mean of web (s)", "all: 1.95 to 2.00")
    assert {"R", "MOS", "page load mean"} & {column.head for column in points_columns(Results(runs))} >= {"R"}


def test_unlike_applications_are_not_pooled() -> None:
    runs = [
        run({QUEUE: queue}, 5.0, flow(0, "cubic", 4.0) | {"response_ms_mean": upload, "name": "photos"},
            flow(1, "cubic", 0.1) | {"response_ms_mean": game, "name": "game"}, groups=[1, 1])
        for queue, upload, game in (("fifo", 7000.0, 1300.0), ("cake", 7100.0, 32.0))
    ]  # fmt: skip
    assert labels(verdict(runs, "response mean of game").behind) == ["fifo"]
    assert verdict(runs, "response mean of photos").is_decided is False


def test_what_never_ends_is_worst() -> None:
    ends = {"cubic": [9.5, 9.6, 9.7], "reno": [None, None, None]}
    runs = [in_turn(cc, 7.0, end, seed) for cc, each in ends.items() for seed, end in enumerate(each)]
    found = verdict(runs, "completion of download")
    assert (labels(found.best), found.without) == (["cubic"], ["reno"])
    assert (rows(runs)[0]["best cc"], rows(runs)[0]["worst cc"]) == snapshot(
        ("cubic: 9.60 ± 0.25", "reno: no value in any run")
    )


def test_a_setting_in_which_nobody_ends_has_a_row() -> None:
    ends = {"5kb": {"cubic": None, "reno": None}, "50kb": {"cubic": 9.5, "reno": 9.6}}
    runs = [in_turn(cc, 7.0, end) for each in ends.values() for cc, end in each.items()]
    for record, limit in zip(runs, ["5kb", "5kb", "50kb", "50kb"], strict=True):
        record.axes[LIMIT] = limit
    row = row_of(runs, "completion of download (s)")
    assert (row["queue limit"], row["best cc"], row["worst cc"]) == snapshot(
        ("5kb", "none", "cubic, reno: no value in any run")
    )


def test_means_over_survivors_are_marked_and_nobody_is_ahead_by_them() -> None:
    ends = {"cubic": [9.5, None, 9.7], "vegas": [8.5, 8.6, 8.7], "reno": [None, None, None]}
    runs = [in_turn(cc, 7.0, end, seed) for cc, each in ends.items() for seed, end in enumerate(each)]
    results = Results(runs)
    table = {column.head: column.cells for column in points_columns(results)}
    downloads = [cell for cell, of in zip(table["completion"], table["flow"], strict=True) if of == "1 download"]
    assert [str(each).partition("(")[2] for each in downloads] == snapshot(["2 of 3)", "", "0 of 3)"])
    found = verdict(runs, "completion of download")
    assert found.partly == {"cubic": (2, 3)} and not found.is_decided
    row = row_of(runs, "completion of download (s)")
    assert (row["best cc"], row["lead over the next"], row["worst cc"]) == snapshot(
        ("open", "cubic: a value in 2 of 3 runs", "reno: no value in any run")
    )


def test_an_axis_about_one_group_tells_of_the_others_too() -> None:
    sides = [
        run({CC: cc}, 5.0, flow(0, cc, own), flow(1, cc, own), flow(2, "cubic", 90.0 - 2 * own), groups=[2, 1])
        for cc, own in (("reno", 1.0), ("vegas", 0.5))
    ]
    assert [v.measure.title for v in verdicts(sides) if v.measure.kind == "rate"] == [
        *("goodput of flows 0 to 1", "goodput of flow 2")
    ]


def test_rates_of_different_times_are_not_added_up() -> None:
    results = Results([in_turn("cubic", 7.0, 9.5), in_turn("vegas", 6.0, 8.0)])
    found = {v.measure.title: v for v in verdicts(results.records)}
    assert labels(found["completion of download"].best) == ["vegas"]
    assert labels(found["goodput of backup"].best) == ["cubic"]
    stats = results.stats.set_index(["of", "metric"])["mean"]
    assert stats["all flows", "goodput_mbps"].isna().all() and stats["flow 1", "goodput_mbps"].tolist() == [8.0, 8.0]
    table = {column.head: column.cells for column in points_columns(results)}
    assert table["flow"] == 2 * ["all", "0 backup", "1 download"]
    assert table["goodput"] == ["-", "7.00", "8.00", "-", "6.00", "8.00"]
    goodput = BY_KEY["goodput"]
    assert [point.values for point in points(results.records, goodput)] == [(7.5,), (7.0,)]
    assert quantity(goodput, Bottlenecks.of(results.records)) == snapshot("goodput of a flow (Mbit/s)")


@pytest.mark.parametrize(
    ("throughputs", "back", "adds_up"),
    [
        ([6.0, 3.8], 0.0, True),
        ([6.0, 4.5], 0.0, False),  # one after the other
        ([9.0, 3.0], 40.0, False),  # both ways
        ([9.8], 0.0, True),
        ([9.8, None], 0.0, True),  # an earlier version's records do not say it
    ],
)
def test_rates_add_up_where_flows_share_a_link_all_of_the_time(
    throughputs: list[float | None], back: float, adds_up: bool
) -> None:
    record = in_turn("cubic", 1.0, None)
    record.run["flows"] = [flow(n, "cubic", 1.0) | {"throughput_mbps": each} for n, each in enumerate(throughputs)]
    reverse = {"link": "bottleneck.reverse", "rate_mbps": 20.0, "utilisation_percent": back / 4, "limit_bytes": 64000}
    record.run["links"].append(reverse)
    assert add_up(record.run) is adds_up


# ---------------------------------------------------------------- One grid point


def facts_of(outcomes: Sequence[Outcome]) -> dict[str, str]:
    (facts,) = [part for part in advice_of(Results(outcomes)) if isinstance(part, Facts)]
    return dict(facts.items)


def test_the_flows_of_one_grid_point_are_held_against_each_other() -> None:
    runs = [run({}, 50.0 + n, flow(0, "cubic", 6.0 + n / 10), flow(1, "vegas", 3.0 - n / 10), seed=n) for n in range(3)]
    assert facts_of(runs) == snapshot(
        {
            "Goodput": "9.00 Mbit/s",
            "Queueing delay": "51.0 ± 2.5 ms",
            "Goodput of all flows with cubic": "6.10 ± 0.25 Mbit/s",
            "Goodput of all flows with vegas": "2.90 ± 0.25 Mbit/s",
            "cubic more than vegas": "3.20 ± 0.50 Mbit/s",
        }
    )
    alike = [run({}, 5.0, flow(0, "cubic", 6.0), flow(1, "vegas", 5.9), seed=n) for n in range(3)]
    assert facts_of(alike) == snapshot(
        {
            "Goodput": "11.9 Mbit/s",
            "Queueing delay": "5.00 ms",
            "Goodput of all flows with cubic": "6.00 Mbit/s",
            "Goodput of all flows with vegas": "5.90 Mbit/s",
            "cubic more than vegas": "alike",
        }
    )
    luck = [run({}, 5.0, flow(0, "cubic", 6.0 + n), flow(1, "vegas", 6.0 - n), seed=n) for n in range(-1, 3)]
    assert facts_of(luck) == snapshot(
        {
            "Goodput": "12.0 Mbit/s",
            "Queueing delay": "5.00 ms",
            "Goodput of all flows with cubic": "6.5 ± 2.1 Mbit/s",
            "Goodput of all flows with vegas": "5.5 ± 2.1 Mbit/s",
            "cubic more than vegas": "undecided: 1.0 ± 4.1 Mbit/s",
        }
    )


def test_a_lone_control_is_told_with_its_link() -> None:
    told = facts_of([run({}, 50.0, flow(0, "cubic", 6.0), flow(1, "cubic", 3.0))])
    assert told == snapshot({"Goodput": "9.00 Mbit/s", "Queueing delay": "50.0 ms"})


# ---------------------------------------------------------------- Several sets of results


def test_sweeps_over_other_axes_are_told_one_by_one() -> None:
    outcomes = [
        *repeats("cubic", [9.0], [50.0], **{LIMIT: "50kb"}),
        *repeats("vegas", [8.0], [5.0], **{LIMIT: "50kb"}),
        *[run({"flows.*.cc": cc}, 5.0, flow(0, cc, rate)) for cc, rate in (("bbr", 9.0), ("reno", 5.0))],
        run({}, 5.0, flow(0, "cubic", 3.0)),
    ]
    parts = advice_of(Results(outcomes))
    assert [part.title for part in parts if isinstance(part, Heading)] == snapshot(
        [
            "made up, over flows.0.cc and link.bottleneck.queue.limit",
            "made up, over flows.*.cc",
            "made up, without a sweep",
        ]
    )
    assert len([part for part in parts if isinstance(part, Table)]) == 2


# ---------------------------------------------------------------- Real runs

MODEM = """
duration = "12s"
warmup   = "2s"
[link.modem]
rate  = "5mbit"
delay = "12ms"
queue = { limit = "256kb" }
[link.modem.reverse]
rate  = "20mbit"
queue = { limit = "256kb" }
[[flows]]
name = "backup"
cc   = "cubic"
app  = { kind = "upload", chunk = "500kb" }
[[flows]]
name  = "call"
app   = "voice"
[[flows]]
name    = "download"
cc      = "cubic"
reverse = true
"""
REMEDIES = [
    {"label": "as it is"},
    {"label": "CAKE 4.75", "link.modem.queue": {"kind": "cake", "bandwidth": "4.75mbit"}},
    {"label": "fq_codel", "link.modem.queue": {"kind": "fq_codel"}},
]


@pytest.mark.parametrize("number", [2, 3])
def test_the_modem_is_not_called_best_for_its_queue(number: int) -> None:
    results = ub.scenario(MODEM, {"sweep.queue": REMEDIES[:number]}).run()
    remedies = {each["label"] for each in REMEDIES[1:number]}
    found = {v.measure.title: v for v in verdicts(results.records)}
    for title in ("queueing delay at modem", "R of call", "goodput of download"):
        assert set(labels(found[title].best)) <= remedies and labels(found[title].behind) == ["as it is"], title
    # The backup pays for it, which the page says in the row of what gets better.
    row = rows(results.records)[0]
    assert "R of call" in str(row["metric"]) and "backup" in str(row["what the best costs"])


def test_the_table_of_a_sweep_with_applications_has_a_row_for_each_flow() -> None:
    results = ub.scenario(MODEM, {"sweep.queue": REMEDIES[:2]}).run()
    table = {column.head: column for column in points_columns(results)}
    assert table["flow"].cells[:5] == ["all", "0 backup", "1 backup: responses", "2 call", "3 download"]
    call, download = 3, 4
    assert float(str(table["goodput"].cells[download])) > 0 and table["MOS"].cells[download] == "-"
    assert table["MOS"].cells[call] == table["MOS"].cells[0] and float(str(table["MOS"].cells[call])) < 4.5
    assert (table["MOS"].unit, table["R"].unit) == ("of 4.5", "of 93.2")


def test_a_family_s_evening_is_told_from_its_worst_side() -> None:
    results = ub.scenario("family-evening", {"duration": "40s"}).run().only(queue=["fifo", "fq_codel"])
    told = rows(results.records)
    assert {row["small_queues"] for row in told} == {"off"}
    assert "fq_codel" in str(told[0]["best queue"]) and "fifo" in str(told[0]["worst queue"])
    found = {v.measure.title: v for v in verdicts(results.records) if v.setting == ("off",)}
    for title in ("R of call", "page load mean of web", "response mean of game", "queueing delay at line"):
        assert labels(found[title].behind) == ["fifo"], title


def test_what_is_swept_is_not_told_as_one_value() -> None:
    results = ub.scenario(MODEM, {"sweep.duration": ["3s", "4s"], "sweep.link.modem.delay": ["5ms", "50ms"]}).run()
    head, path = results_tables.headline(results).split("\n")
    assert head == snapshot("<text> · 4 runs of 3.00 to 4.00 s · seed 1 · simulator") and path == snapshot(
        "modem: 5 Mbit/s, buffer 256 kB · RTT swept"
    )
    (asked,) = [dict(part.items) for part in page_of(results).asked if isinstance(part, Facts)]
    assert (asked["The link modem"], asked["Runs"]) == snapshot(
        (
            "rate 5mbit, delay varied (5ms, 50ms), queue limit 256kb, reverse rate 20mbit, reverse queue limit 256kb",
            "4, one of each grid point, 3.00 to 4.00 s each, simulated",
        )
    )


@pytest.mark.parametrize(("cells", "is_open"), [(30, True), (31, False)])
def test_tables_of_grid_points_are_open_up_to_thirty_rows(cells: int, is_open: bool) -> None:
    results = Results([run({LIMIT: f"{n + 1}p"}, 5.0, flow(0, "cubic", 9.0)) for n in range(cells)])
    (numbers,) = [section for section in page_of(results).sections if section.title == "Numbers"]
    assert isinstance(numbers.parts[0], Table if is_open else Fold)


# ---------------------------------------------------------------- What never happens


def drawn(dice: random.Random, names: Sequence[str], seeds: int) -> list[Record]:
    """Draw runs whose means are close enough that ties, doubts and leads all come about."""
    outcomes = []
    for cc in names:
        goodput, delay = dice.choice([5.0, 5.1, 6.0, 9.0]), dice.choice([1.0, 5.0, 50.0])
        spread = dice.choice([0.0, 0.02, 0.3])
        luck = [dice.uniform(-spread, spread) for _ in range(seeds)]
        outcomes += repeats(cc, [goodput * (1 + x) for x in luck], [delay * (1 - x) for x in luck])
    return outcomes


def pairs(outcomes: Sequence[Outcome]) -> dict[tuple[str, str, str], int]:
    """Say of each measure and pair of labels whether the second is said to be behind the first (1), or before (-1)."""
    found = {}
    for v in verdicts(outcomes):
        for a, b in combinations(sorted([*labels(v.best), *labels(v.undecided), *labels(v.behind)]), 2):
            found[v.measure.title, a, b] = (b in labels(v.behind) and a in labels(v.best)) - (
                a in labels(v.behind) and b in labels(v.best)
            )
    return found


DRAWS = range(30)


@given(draw=st.integers(0, 10**6))
def test_the_order_of_labels_and_runs_changes_nothing(draw: int) -> None:
    dice = random.Random(draw)
    outcomes = drawn(dice, ["a", "b", "c", "d"], seeds=dice.choice([1, 2, 4]))
    shuffled = dice.sample(outcomes, len(outcomes))
    before = {v.measure.title: (set(labels(v.behind)), set(labels(v.best))) for v in verdicts(outcomes)}
    after = {v.measure.title: (set(labels(v.behind)), set(labels(v.best))) for v in verdicts(shuffled)}
    assert before == after and len(before) == 2


@given(draw=st.integers(0, 10**6))
def test_a_label_more_never_turns_a_verdict(draw: int) -> None:
    dice = random.Random(draw)
    names = ["a", "b", "c", "d"]
    outcomes = drawn(dice, names, seeds=dice.choice([1, 2, 4]))
    before = pairs([each for each in outcomes if each.axes[CC] != "d"])
    after = pairs(outcomes)
    assert before and all(before[pair] * after.get(pair, 0) >= 0 for pair in before)


@given(draw=st.integers(0, 10**6))
def test_the_same_runs_again_never_turn_a_verdict(draw: int) -> None:
    dice = random.Random(draw)
    outcomes = drawn(dice, ["a", "b", "c"], seeds=dice.choice([2, 3, 4]))
    again = [Record(each.axes, {**each.run, "seed": each.run["seed"] + 100}) for each in outcomes]
    before, after = pairs(outcomes), pairs([*outcomes, *again])
    assert all(before[pair] in (0, after[pair]) for pair in before)


@given(draw=st.integers(0, 10**6))
def test_no_lead_is_without_a_decided_difference_above_the_tolerance(draw: int) -> None:
    dice = random.Random(draw)
    outcomes = drawn(dice, ["a", "b", "c"], seeds=4)
    for v in verdicts(outcomes):
        for side in v.behind:
            assert side.behind is not None and side.behind.is_clear
            assert not NEAR[v.measure.metric.key].are_alike(v.best[0].mean, side.mean, 0.0)
            assert (v.best[0].mean < side.mean) == v.measure.is_less_better
        assert all(side.behind is not None and not side.behind.is_clear for side in v.undecided)


def test_the_draws_have_leads_ties_and_doubts() -> None:
    found = [v for draw in DRAWS for v in verdicts(drawn(random.Random(draw), ["a", "b", "c"], seeds=4))]
    assert all(any(kind(v) for v in found) for kind in (lambda v: v.behind, lambda v: v.undecided))
    assert any(len(v.best) > 1 for v in found)


def test_it_agrees_with_the_statistics_of_the_results(sweep: Any) -> None:
    results = ub.scenario(sweep, {"link.bottleneck.loss": "1%"}).run(only=lambda axes: axes[LIMIT] == "60kb", repeat=4)
    stats = results.stats.set_index(["cc", "of", "metric"])
    for each in experiments_of(results)[0].verdicts:
        for side in [*each.best, *each.undecided, *each.behind]:
            of = "all flows" if each.measure.kind == "rate" else "bottleneck"
            row = stats.loc[(side.label, of, each.measure.metric.name)]
            assert side.mean == pytest.approx(row["mean"])
            assert side.value.half_width == pytest.approx(row["ci95_high"] - row["mean"])
