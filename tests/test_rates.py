"""How soon flows give way, come back and get a share: made-up rates, worked out on paper, and one simulated run."""

import math

import numpy as np
import pytest
from inline_snapshot import snapshot
from made_up_runs import mean, measured_run, measurements
from sentences import refused
from unbloat.claims import series
from unbloat.claims.batches import Batch, RepeatRule, measure, simulator
from unbloat.claims.expressions import ClaimError


def rate(goodputs, sending=None):
    """One sample a second; something is in flight where there is goodput, or where `sending` says so."""
    goodputs = np.array(goodputs, dtype=float)
    in_flight = goodputs > 0 if sending is None else np.array(sending)
    return np.array([np.arange(1.0, len(goodputs) + 1), goodputs, in_flight], dtype=float)


BACKGROUND = rate([9, 9, 9, 9, 4, 0, 3, 0.2, 0.2, 0.2, 0.2, 5, 9, 9])
FOREGROUND = rate([0, 0, 0, 0, 5, 9, 6, 9, 9, 9, 9, 0, 0, 0])


def test_flows_are_active_from_their_first_packet_in_flight_to_their_last():
    assert series.active(FOREGROUND) == (5, 11)
    assert series.active(rate([0, 0, 0])) == (3, 3), "never"
    assert series.active(rate([0, 0, 5], sending=[False, True, True])) == (2, 3), "the first packet brings nothing yet"


def test_a_pause_while_losses_are_repaired_is_no_giving_way():
    assert series.yield_time(BACKGROUND, FOREGROUND, below=0.5, seconds=1) == 0, "the sample at 6 s, a second after"
    assert series.yield_time(BACKGROUND, FOREGROUND, below=0.5, seconds=2) == 2, "over two seconds only from 7 s on"
    assert series.yield_time(BACKGROUND, FOREGROUND, below=0.1, seconds=2) == math.inf


def test_who_had_nothing_has_nothing_to_give():
    assert math.isnan(series.yield_time(rate([0.1] * 14), FOREGROUND, below=0.5, seconds=2))


def test_what_happens_after_the_others_have_gone_is_no_giving_way():
    stops_later = rate([9] * 12 + [0, 0])
    assert series.yield_time(stops_later, FOREGROUND, below=0.5, seconds=2) == math.inf


def test_coming_back_is_counted_from_the_others_end():
    assert series.refill_time(BACKGROUND, FOREGROUND, above=9, seconds=1) == 1
    assert series.refill_time(BACKGROUND, FOREGROUND, above=5, seconds=1) == 0
    assert series.refill_time(BACKGROUND, FOREGROUND, above=9, seconds=3) == math.inf, "the run ends too soon to tell"
    assert series.refill_time(BACKGROUND, FOREGROUND, above=10, seconds=1) == math.inf


def test_filling_is_counted_from_the_own_start():
    assert series.fill_time(FOREGROUND, above=7, seconds=2) == 0, "5 to 7 s: 9 and 6"
    assert series.fill_time(FOREGROUND, above=9, seconds=2) == 2
    assert series.fill_time(FOREGROUND, above=9.1, seconds=2) == math.inf


def test_means_are_over_what_lies_in_the_span():
    assert series.mean_rate(BACKGROUND, (4, 7)) == pytest.approx(7 / 3)
    assert math.isnan(series.mean_rate(BACKGROUND, (20, 30)))
    both = series.sum_of([BACKGROUND, FOREGROUND[:, 4:]])
    assert both.shape == (3, 14)
    assert both[:, 3:5].tolist() == [[4, 5], [9, 9], [1, 2]], "a flow is measured_run from its start on"


def flow(number, cc, throughput):
    return {"flow": number, "cc": cc, "throughput_mbps": throughput}


def measured(rates_of=None):
    record = {"flows": [flow(0, "slow", 2.0), flow(1, "fast", 3.0), flow(2, "fast", 5.0)]}
    return measurements("r", [measured_run({"cc": "x"}, 1, record, None, rates_of)])


RATES = {0: BACKGROUND, 1: FOREGROUND, 2: rate([0] * 14)}


def test_measurements_choose_flows_and_take_the_rest_for_the_others():
    runs = measured(RATES)
    assert mean(runs, "rate", ["x"], {"flow": 1, "after": 4, "before": 7}) == pytest.approx(7 / 3)
    assert mean(runs, "share", ["x"], {"flow": 1, "after": 4, "before": 7}) == pytest.approx(100 * 7 / 27)
    assert mean(runs, "share", ["x"], {"cc": "fast"}) == pytest.approx(80), "of the whole run's throughputs"
    assert mean(runs, "yield_time", ["x"], {"flow": 1, "below": 0.5, "seconds": 2}) == 2
    assert mean(runs, "refill_time", ["x"], {"cc": "slow", "above": 9, "seconds": 1}) == 1
    assert mean(runs, "fill_time", ["x"], {"flow": 2, "above": 9, "seconds": 2}) == 2


@pytest.mark.parametrize(
    ("rates_of", "selectors", "says"),
    [
        (
            None,
            {"flow": 1, "below": 1, "seconds": 1},
            snapshot("this scenario's rates were not recorded; name it under `series` in [runs]"),
        ),
        (
            RATES,
            {"below": 1, "seconds": 1},
            snapshot("the selectors choose every flow of the run; the quantity needs at least one other flow"),
        ),
        (RATES, {"flow": 1, "below": 1}, snapshot("`seconds=` is missing, a number")),
        (RATES, {"flow": 1, "below": "half", "seconds": 1}, snapshot("`below=half` must be a number")),
        (
            RATES,
            {"flow": 1, "under": 1, "seconds": 1},
            snapshot("unknown selector `under`; valid: flow, name, cc, mesh, node, hops, below, seconds"),
        ),
    ],
)
def test_what_is_missing_is_named(rates_of, selectors, says):
    with refused(ClaimError, says):
        mean(measured(rates_of), "yield_time", ["x"], selectors)


SCENARIO = """
duration = "12s"
link.bottleneck = { rate = "10mbit", delay = "10ms", queue = { limit = "125kb" } }
flows = [{ cc = "vegas" }, { cc = "reno", start = "4s", stop = "8s" }]
sweep = { "flows.0.cc" = ["vegas", "reno"] }
"""


def test_a_simulated_vegas_gives_way_to_reno_and_comes_back(tmp_path):
    (tmp_path / "pair.toml").write_text(SCENARIO)
    batch = Batch("pair", tmp_path / "pair.toml", series="50ms")
    runs = measure([batch], RepeatRule(1), simulator(cache=False, jobs=1))["pair"]
    shared = {"below": 2, "seconds": 1}
    assert mean(runs, "yield_time", ["vegas"], {"flow": 1, **shared}) < 2
    assert mean(runs, "yield_time", ["reno"], {"flow": 1, **shared}) == math.inf, "a half is Reno's"
    assert 0 < mean(runs, "refill_time", ["vegas"], {"flow": 1, "above": 9, "seconds": 1}) < 3
    assert mean(runs, "fill_time", ["vegas"], {"flow": 1, "above": 9, "seconds": 1}) < 0.5
