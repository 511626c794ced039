"""The answer in three sentences: who has what, who is ahead by how much, and how sure that is."""

from collections.abc import Iterable
from typing import Any

import pytest
import unbloat as ub
from made_up_runs import CC, flow, in_turn, run
from unbloat.report.answer import amount, answer_of
from unbloat.report.figures.values import points, quantity
from unbloat.report.sweep_table import columns_of
from unbloat.results.bottleneck import Bottlenecks, add_up
from unbloat.results.metrics import BY_KEY
from unbloat.results.record import Failure, Outcome, Record
from unbloat.results.results import Results

LIMIT = "link.bottleneck.queue.limit"
QUEUE = "queue"


def repeats(cc: str, goodputs: Iterable[float], delays: Iterable[float], **more: str) -> list[Record]:
    pairs = enumerate(zip(goodputs, delays, strict=True))
    return [run({CC: cc, **more}, delay, flow(0, cc, goodput), seed=n) for n, (goodput, delay) in pairs]


def answer(outcomes: list[Outcome]) -> list[str]:
    return answer_of(Results(outcomes)).sentences


def test_sides_are_told_by_their_delay_and_the_first_by_how_far_it_is_ahead() -> None:
    sides = [*repeats("cubic", [9.0, 9.2, 9.1], [80, 90, 85]), *repeats("vegas", [8.8, 9.0, 8.9], [8, 9, 8.5])]
    first, second, third = answer(sides)
    # 85 ± 12.4: Student's t of two degrees of freedom is 4.303, and 4.303 * 5 / sqrt(3) is 12.4.
    assert first == (
        "The flow has 8.90 ± 0.25 Mbit/s of goodput with vegas, at 8.5 ± 1.2 ms of mean queueing delay; "
        "with cubic 9.10 ± 0.25 Mbit/s at 85 ± 12 ms."
    )
    # Pairs by seed: 72, 81 and 76.5 ms lie between them.
    assert second == (
        "Goodput is highest with cubic: 0.200 Mbit/s (2.25 %) more than with vegas, the next; "
        "queueing delay is lowest with vegas: 76 ± 11 ms (90.0 %) less than with cubic, the next."
    )
    assert third == "± is the 95 % confidence interval of a mean over 3 runs; all 6 runs are sound."


def test_a_lead_whose_interval_holds_zero_is_undecided() -> None:
    sides = [*repeats("cubic", [9.0, 8.0, 9.1], [80, 90, 85]), *repeats("vegas", [8.8, 9.0, 8.9], [8, 9, 8.5])]
    found = answer_of(Results(sides))
    assert "than with cubic, the next, which the runs leave undecided;" in found.sentences[1]
    assert "1 comparison is undecided, because the interval of the lead holds 0" in found.sentences[2]
    assert [each.partition(" by ")[0] for each in found.undecided] == ["goodput: vegas leads cubic"]


def test_unsound_and_failed_runs_do_not_count_and_are_counted() -> None:
    outcomes: list[Outcome] = [*repeats("cubic", [9.0, 9.2], [80, 90]), *repeats("vegas", [8.8, 9.0], [8, 9])]
    without = answer(outcomes)
    wrong = run({CC: "vegas"}, 4000.0, flow(0, "vegas", 0.01), seed=7, sound=False)
    found = answer([*outcomes, wrong, Failure({CC: "vegas"}, 4, 8, "it crashed", "line", "simulator")])
    assert found[:2] == without[:2]
    assert "1 of 6 runs is unsound and not counted; 1 of 6 runs failed." in found[2]


def test_without_any_sound_run_there_is_no_answer() -> None:
    assert answer([run({}, 1.0, flow(0, "cubic", 1.0), sound=False)]) == [
        "There is none: 1 of 1 runs is unsound and not counted."
    ]


def test_over_settings_it_is_counted_who_is_ahead_in_how_many() -> None:
    outcomes = [
        *repeats("cubic", [9.0], [50.0], **{LIMIT: "50kb"}),
        *repeats("vegas", [8.0], [5.0], **{LIMIT: "50kb"}),
        *repeats("cubic", [9.5], [4.0], **{LIMIT: "5kb"}),
        *repeats("vegas", [8.5], [4.5], **{LIMIT: "5kb"}),
    ]
    first, second, third = answer(outcomes)
    assert first == (
        "Over 2 settings of limit, the flow has 8.00 to 8.50 Mbit/s of goodput with vegas, at 4.50 to 5.00 ms of mean "
        "queueing delay; with cubic 9.00 to 9.50 Mbit/s at 4.00 to 50.0 ms."
    )
    assert second == (
        "Goodput is highest with cubic in 2 of 2 settings (1.00 Mbit/s more than the next); "
        "queueing delay is lowest with vegas in 1 of 2 settings (45.0 ms less than the next), with cubic in 1 "
        "(0.500 ms)."
    )
    assert third.startswith("Every cell ran once, which does not say how far another run would lie from it;")


def test_an_axis_about_one_group_tells_of_that_groups_flows() -> None:
    flows = [flow(0, "reno", 1.0), flow(1, "reno", 1.5), flow(2, "cubic", 90.0)]
    sides = [run({CC: cc}, 5.0, *flows, groups=[2, 1]) for cc in ("reno", "vegas")]
    assert answer(sides)[0].startswith("Flows 0 to 1 together have 2.50 Mbit/s of goodput with reno")


def test_the_flows_of_one_cell_are_held_against_each_other() -> None:
    runs = [run({}, 50.0 + n, flow(0, "cubic", 6.0 + n / 10), flow(1, "vegas", 3.0 - n / 10), seed=n) for n in range(3)]
    first, second, _ = answer(runs)
    assert first.startswith("cubic has 6.10 ± 0.25 Mbit/s of goodput; vegas has 2.90 ± 0.25 Mbit/s; packets wait 51.0 ")
    assert second == "cubic has 3.20 ± 0.50 Mbit/s more than vegas."


def test_a_lone_control_is_told_with_its_link() -> None:
    first, second, _ = answer([run({}, 50.0, flow(0, "cubic", 6.0), flow(1, "cubic", 3.0))])
    assert first == (
        "The 2 flows of cubic have 9.00 Mbit/s of goodput and 50.0 ms of mean queueing delay; "
        "98.0 % of the link is used."
    )
    assert second == "95 % of the packets wait 100 ms or less in the queue, and 2.00 % of them are lost."


def test_equal_sides_are_said_to_be_equal() -> None:
    sides = [run({CC: cc}, 5.0, flow(0, cc, 9.0 + more)) for cc, more in (("reno", 0.0), ("vegas", 0.0001))]
    # A lead that does not show at three digits is none.
    assert answer(sides)[1].startswith("Goodput is highest with vegas and with reno alike; queueing delay is lowest")


def test_rates_of_different_times_are_not_added_up() -> None:
    results = Results([in_turn("cubic", 7.0, 9.5), in_turn("vegas", 6.0, 8.5)])
    first, second, _ = answer_of(results).sentences
    assert first == (
        "Flow “download” takes 9.50 s, the flow “backup” has 7.00 Mbit/s of goodput with cubic, at 5.00 ms of mean "
        "queueing delay; with vegas 8.50 s, 6.00 Mbit/s at 5.00 ms."
    )
    assert second.startswith("The completion time is least with vegas: 1.00 s (10.5 %) less than with cubic, the next;")
    stats = results.stats().set_index(["of", "metric"])["mean"]
    assert stats["all flows", "goodput_mbps"].isna().all() and stats["flow 1", "goodput_mbps"].tolist() == [8.0, 8.0]
    table = {column.head: column.cells for column in columns_of(results)}
    assert table["flow"] == 2 * ["all", "0 backup", "1 download"]
    assert table["goodput"] == ["-", "7.00", "8.00", "-", "6.00", "8.00"]
    goodput = BY_KEY["goodput"]
    assert [point.values for point in points(results.records, goodput)] == [(7.5,), (7.0,)]
    assert quantity(goodput, Bottlenecks.of(results.records)) == "goodput of a flow (Mbit/s)"


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


def test_means_over_survivors_are_marked_and_nobody_is_ahead_by_them() -> None:
    ends = {"cubic": [9.5, None, 9.7], "vegas": [8.5, 8.6, 8.7], "reno": [None, None, None]}
    runs = [in_turn(cc, 7.0, end, seed) for cc, each in ends.items() for seed, end in enumerate(each)]
    results = Results(runs)
    table = {column.head: column.cells for column in columns_of(results)}
    downloads = [cell for cell, of in zip(table["completion"], table["flow"], strict=True) if of == "1 download"]
    assert [each.partition("(")[2] for each in downloads] == ["2 of 3)", "", "0 of 3)"]
    found = answer_of(results)
    assert "takes 9.6 ± 1.3 s (2 of 3 runs)" in found.sentences[0] and "completion" not in found.sentences[1]
    assert found.unfinished == [
        *("completion (cubic): 2 of 3 runs have a value", "completion (reno): 0 of 3 runs have a value")
    ]


def test_applications_are_told_by_what_people_wait_for() -> None:
    runs = [run({QUEUE: queue}, 5.0, flow(0, "cubic", 1.0) | {"rating": rating, "page_load_s_mean": 2.0})
            for queue, rating in (("fifo", 31.4), ("cake", 92.0))]  # fmt: skip
    first, second, _ = answer(runs)
    assert first.startswith("A call is rated 31.4, a page loads in 2.00 s, the flow has 1.00 Mbit/s of goodput with ")
    assert second.startswith("Calls are rated best with queue cake: 60.6 (193 %) more than with queue fifo, the next;")
    heads = [column.head for column in columns_of(Results(runs))]
    assert {"R", "page load mean"} <= set(heads) and "Jain index" not in heads


@pytest.mark.parametrize(
    ("mean", "half_width", "words"),
    [
        (85.31, 3.2, "85.3 ± 3.2 ms"),
        (1772.4, 119.0, "1772 ± 119 ms"),
        (19.3, None, "19.3 ms"),
        (19.3, 0.0001, "19.3 ms"),
        (None, None, "no value"),
    ],
)
def test_amounts_have_the_digits_that_their_intervals_leave(
    mean: float | None, half_width: float | None, words: str
) -> None:
    assert amount(mean, half_width, "ms") == words


def test_it_agrees_with_the_statistics_of_the_results(sweep: Any) -> None:
    results = ub.sweep(sweep, {"link.bottleneck.loss": "1%"}, only=lambda axes: axes[LIMIT] == "60kb", repeat=4)
    rows = results.stats().set_index(["flows.0.cc", "of", "metric"])
    row = rows.loc[("reno", "all flows", "goodput_mbps")]
    told = amount(row["mean"], row["ci95_high"] - row["mean"], "Mbit/s")
    assert told in answer_of(results).sentences[0]
