"""Proofs by turns in time: their level whatever the line does, their power, and flows side by side, which mislead."""

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
import unbloat as ub
from sentences import refused
from unbloat.line.prove import Budget, Proof, Turn, prove
from unbloat.line.switchback import (
    MOST_AHEAD,
    Change,
    Draw,
    Floats,
    Order,
    Quantity,
    Side,
    Stakes,
    Switchback,
    sum_up,
)

RTT = Quantity("loaded RTT", "ms", "less")
RATE = Quantity("rate", "Mbit/s", "more")
ADDED = Quantity("added", "ms", "less", smallest=5.0, scale="difference")
TURNS, STREAMS = 40, 1500


# ---------------------------------------------------------------- The order


def test_no_side_leads_by_more_than_a_few_turns_and_chances_are_as_the_coin_says() -> None:
    draws = [draws_of(seed, 60) for seed in range(300)]
    leads = [np.cumsum([1 if draw.side == "after" else -1 for draw in each]) for each in draws]
    assert max(np.abs(each).max() for each in leads) == MOST_AHEAD
    fair = [draw.side == "after" for each in draws for draw in each if draw.chance == 0.5]
    assert abs(np.mean(fair) - 0.5) < 4 * 0.5 / math.sqrt(len(fair))
    forced = {draw for each in draws for draw in each if draw.chance != 0.5}
    assert forced == {Draw("after", 1.0), Draw("before", 0.0)}
    assert draws_of(7, 60) == draws[7] != draws[8]


# ---------------------------------------------------------------- The level


def heavy(rng: np.random.Generator) -> Floats:
    """Give a logarithm of delays for each turn of each stream, as each of these lines does."""
    return 0.5 * rng.standard_t(1.5, (TURNS, STREAMS))


def drifting(rng: np.random.Generator) -> Floats:
    slope = rng.normal(0, 0.2, STREAMS)
    return slope * np.arange(TURNS)[:, None] + 0.1 * rng.standard_normal((TURNS, STREAMS))


def dependent(rng: np.random.Generator) -> Floats:
    return np.cumsum(0.3 * rng.standard_t(3, (TURNS, STREAMS)), axis=0)


def alternating(rng: np.random.Generator) -> Floats:
    """Someone else's load that comes and goes with the turns."""
    phase = rng.integers(0, 2, STREAMS)
    return 1.6 * ((np.arange(TURNS)[:, None] + phase) % 2) + 0.05 * rng.exponential(1, (TURNS, STREAMS))


def jumping(rng: np.random.Generator) -> Floats:
    when = rng.integers(1, TURNS, STREAMS)
    return 1.6 * (np.arange(TURNS)[:, None] < when) + 0.05 * rng.standard_normal((TURNS, STREAMS))


@pytest.mark.parametrize("line", [heavy, drifting, dependent, alternating, jumping])
def test_a_line_that_nothing_changes_has_a_winner_in_one_of_twenty_proofs_at_most(
    line: Callable[[np.random.Generator], Floats],
) -> None:
    highest = highest_stakes(line(np.random.default_rng(1)), RTT.smallest_position)
    # Each proof stops when it is most certain. 0.05 and three standard deviations of what 1500 proofs show.
    assert np.mean(highest >= math.log(20)) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / STREAMS)
    # The mean stake stays at or below 1 at any time, so high stakes are as rare as the confidence requires.
    assert np.mean(highest >= math.log(100)) < 0.01 + 3 * math.sqrt(0.01 * 0.99 / STREAMS)


def test_the_interval_holds_the_change_although_the_sides_scatter_differently() -> None:
    rng = np.random.default_rng(2)
    sides = sides_of_streams()
    noise = np.where(sides, 0.05, 0.3) * rng.standard_t(3, (TURNS, STREAMS))
    highest = highest_stakes(noise, RTT.smallest_position)
    # Here nothing is exact any more; the interval leaves the change out little more often than it says.
    assert np.mean(highest >= math.log(20)) < 0.07


def test_whole_proofs_of_nothing_call_no_winner() -> None:
    rng = np.random.default_rng(3)
    verdicts = []
    for seed in range(100):
        values = 100 * np.exp(np.cumsum(0.1 * rng.standard_t(2.5, 25)))
        verdicts.append(turns_until_clear(seed, lambda side, i, values=values: values[i], 25)[1].verdict)
    assert sum(verdict in ("better", "worse") for verdict in verdicts) <= 5


# ---------------------------------------------------------------- The power


def test_a_queue_that_shrinks_from_200_to_40_ms_is_seen_in_few_turns() -> None:
    rng = np.random.default_rng(4)
    found = [
        turns_until_clear(seed, lambda side, _: noisy(rng, 40 if side == "after" else 200, 0.25), TURNS)
        for seed in range(60)
    ]
    assert {change.verdict for _, change in found} == {"better"}
    counts = [count for count, _ in found]
    assert median(counts) <= 8 and max(counts) <= 16
    assert all(change.low < -0.8 < change.high < 0 for _, change in found)


def test_a_quarter_less_beside_drift_is_seen() -> None:
    rng = np.random.default_rng(5)
    found = [
        turns_until_clear(
            seed, lambda side, i: noisy(rng, (75 if side == "after" else 100) * math.exp(0.04 * i), 0.08), TURNS
        )
        for seed in range(30)
    ]
    assert sum(change.verdict == "better" for _, change in found) >= 29
    assert median(count for count, _ in found) <= 20
    estimates = [change.estimate for _, change in found if change.estimate is not None]
    assert abs(median(estimates) + 0.25) < 0.03


def test_no_change_of_interest_is_a_result_too() -> None:
    rng = np.random.default_rng(6)
    found = [turns_until_clear(seed, lambda *_: noisy(rng, 40, 0.03), TURNS)[1] for seed in range(10)]
    assert {change.verdict for change in found} == {"alike"}


# ---------------------------------------------------------------- One quantity


def test_more_is_better_or_worse_as_the_quantity_says() -> None:
    draws = draws_of(1, 16)
    values = [30.0 if draw.side == "after" else 10.0 + i / 10 for i, draw in enumerate(draws)]
    assert sum_up(RATE, draws, values).verdict == "better"
    assert sum_up(RTT, draws, values).verdict == "worse"


def test_differences_may_be_of_values_that_are_zero() -> None:
    draws = draws_of(2, 16)
    change = sum_up(ADDED, draws, [0.0 if draw.side == "after" else 150.0 + i for i, draw in enumerate(draws)])
    assert change.verdict == "better" and change.low < -155 < change.high < 0
    assert change.median["after"] == 0 and change.estimate == pytest.approx(-157, abs=8)


def test_one_turn_shows_nothing_and_neither_does_one_side() -> None:
    change = sum_up(RTT, draws_of(0, 1), [100.0])
    assert (change.verdict, change.estimate, change.low, change.high) == ("unclear", None, -1.0, math.inf)
    assert change.to_dict()["high"] is None
    change = sum_up(RTT, [Draw("after", 0.5)] * 3, [100.0, 1.0, 10000.0])
    assert change.verdict == "unclear" and change.median["before"] is None


def test_values_that_are_missing_are_bets_that_are_not_made() -> None:
    draws = draws_of(3, 20)
    values = [None if i % 4 == 0 else math.nan if i % 4 == 1 else 50.0 for i in range(20)]
    change = sum_up(RTT, draws, values)
    assert sum(change.turns.values()) == 10
    kept = [(draw, value) for draw, value in zip(draws, values, strict=True) if value == 50]
    alone = sum_up(RTT, [draw for draw, _ in kept], [value for _, value in kept])
    assert (alone.low, alone.high) == (change.low, change.high)


def test_intervals_only_shrink_and_always_hold_the_estimate() -> None:
    rng = np.random.default_rng(7)
    order, switchback, before = Order(4), Switchback(RTT), (-1.0, math.inf)
    for _ in range(TURNS):
        draw = order.draw()
        # The change varies, so that no single one explains all turns.
        switchback.add(draw, noisy(rng, 100, 0.02) * (math.exp(rng.normal(-1, 1)) if draw.side == "after" else 1))
        change = switchback.change
        assert before[0] <= change.low <= change.high <= before[1]
        assert change.estimate is None or change.low <= change.estimate <= change.high
        before = change.low, change.high


@pytest.mark.parametrize("value", [0.0, -3.0, 1e-300, 1e300])
def test_extreme_values_end_nothing(value: float) -> None:
    draws = draws_of(5, 12)
    change = sum_up(RTT, draws, [value if i % 3 else 20.0 for i in range(12)])
    assert not math.isnan(change.low) and not math.isnan(change.high)


# ---------------------------------------------------------------- The loop


class Line:
    """A line in a time of its own: each turn takes two seconds and half a megabyte, and switching a second."""

    def __init__(self, before: float = 200.0, after: float = 40.0) -> None:
        self.now, self.state, self.values = 100.0, "before", {"before": before, "after": after}
        self.allowances: list[Budget] = []
        self.starts: list[float] = []
        self.pause = 1.0
        """How long switching takes, in seconds."""

    def measure(self, side: Side, allowance: Budget) -> Turn:
        assert self.state == side
        self.allowances.append(allowance)
        self.starts.append(self.now)
        self.now += 2
        return Turn({"loaded RTT": self.values[side] + len(self.starts)}, 500_000)

    def switch(self, side: Side) -> None:
        self.now += self.pause if side != self.state else 0
        self.state = side

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def prove(self, budget: Budget, **options: object) -> Proof:
        return prove(self.measure, self.switch, [RTT], budget, clock=lambda: self.now, sleep=self.sleep, **options)  # type: ignore[arg-type]


def test_a_proof_ends_when_it_is_clear_and_undoes_the_cure() -> None:
    line, seen = Line(), list[Proof]()
    proof = line.prove(Budget(), seed=1, watch=seen.append)
    assert (proof.verdict, proof.ending, line.state) == ("better", "clear", "before")
    assert len(proof.turns) == len(seen) <= 10
    assert [each.verdict for each in seen[:-1]] == ["unclear"] * (len(seen) - 1)
    # Pauses are equally long, whether the side changes or not.
    assert {b - a for a, b in pairwise(line.starts)} == {4.0}
    assert proof.to_dict()["turns"][0]["side"] == proof.turns[0].side
    assert Line().prove(Budget(), seed=1).turns == proof.turns


def test_pauses_are_as_long_as_the_slowest_switching() -> None:
    line = Line(before=50, after=50)
    line.pause = 5.0
    assert line.prove(Budget(turns=12), seed=1).ending == "turns"
    assert {b - a for a, b in pairwise(line.starts)} == {7.0}


def test_a_cure_that_cannot_be_loaded_is_found_out_first() -> None:
    line = Line()

    def switch(side: Side) -> None:
        if side == "after":
            raise ub.RunError("the kernel refuses it")

    with refused(ub.RunError, "the kernel refuses it"):
        prove(line.measure, switch, [RTT], Budget())
    assert not line.starts


@pytest.mark.parametrize(
    "budget, ending",
    [(Budget(turns=7), "turns"), (Budget(seconds=30), "seconds"), (Budget(bytes=3_200_000), "bytes")],
)
def test_no_budget_is_exceeded(budget: Budget, ending: str) -> None:
    line = Line(before=50, after=50)
    proof = line.prove(budget, seed=2)
    assert (proof.verdict, proof.ending, line.state) == ("unclear", ending, "before")
    assert len(proof.turns) <= budget.turns and proof.bytes <= budget.bytes and proof.seconds <= budget.seconds
    assert len(proof.turns) >= 5
    assert all(one.seconds > other.seconds or other.seconds == math.inf for one, other in pairwise(line.allowances))
    assert line.allowances[1].bytes == budget.bytes - 500_000


def test_a_line_that_gives_no_values_ends_the_proof() -> None:
    line = Line()
    line.measure = lambda side, allowance: Turn({})  # type: ignore[method-assign]
    proof = line.prove(Budget(), seed=3)
    assert (proof.ending, len(proof.turns), line.state) == ("silence", 3, "before")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ub.RunError])
def test_whatever_ends_a_proof_the_cure_is_undone(error: type[BaseException]) -> None:
    line = Line()
    measured = line.measure

    def measure(side: Side, allowance: Budget) -> Turn:
        turn = measured(side, allowance)
        if side == "after":
            raise error
        return turn

    line.measure = measure  # type: ignore[method-assign]
    with pytest.raises(error):
        line.prove(Budget(), seed=4)
    assert line.state == "before"


def test_nothing_to_compare() -> None:
    with refused(ub.InputError, "a proof needs a quantity to compare, and a budget of one turn at least"):
        Line().prove(Budget(turns=0))


def test_costs_are_what_clearly_becomes_worse() -> None:
    line = Line()
    rates = {"before": 20.0, "after": 8.0}
    measured = line.measure

    def measure(side: Side, allowance: Budget) -> Turn:
        turn = measured(side, allowance)
        return Turn({**turn.values, "rate": rates[side], "loss": 1.0}, turn.bytes)

    loss = Quantity("loss", "%", "less", smallest=0.5, scale="difference")
    proof = prove(measure, line.switch, [RTT, RATE, loss], Budget(), seed=1, clock=lambda: line.now, sleep=line.sleep)
    assert proof.verdict == "better" and [change.quantity.name for change in proof.costs] == ["rate"]


# ---------------------------------------------------------------- Flows side by side


def test_flows_side_by_side_have_the_wrong_sign_and_turns_the_right_one() -> None:
    """The cure is BBR on a FIFO of three times the bandwidth-delay product, in one flow of two or in both."""
    line = {
        "duration": "12s",
        "warmup": "4s",
        "link": {"line": {"rate": "20mbit", "delay": "20ms", "queue": {"limit": "300kb"}}},
        "flows": [{"cc": "cubic", "start": "0s..1s"}, {"cc": "cubic", "start": "0s..1s"}],
    }

    # Half of the flows get the cure, as an A/B test has it.
    shared = ub.scenario(line).set({"flows.1.cc": "bbr"}).run(repeat=5, progress=False).flows
    before, after = (shared[shared["cc"] == cc].reset_index() for cc in ("cubic", "bbr"))
    assert (after["rtt_ms_mean"] - before["rtt_ms_mean"]).median() > 0
    assert after["goodput_mbps"].median() < 0.5 * before["goodput_mbps"].median()

    # The whole line gets it, turn by turn.
    draws = draws_of(1, 12)
    controls = {"before": "cubic", "after": "bbr"}
    keys = [{"flows.0.cc": controls[draw.side], "flows.1.cc": controls[draw.side]} for draw in draws]
    turns = ub.evaluate(line, [{"seed": seed, **key} for seed, key in enumerate(keys)], progress=False)
    delay = sum_up(RTT, draws, list(turns["rtt_ms_mean"]))
    assert delay.verdict == "better" and delay.estimate is not None and delay.estimate < -0.2
    rate = sum_up(RATE, draws, list(turns["goodput_mbps"]))
    assert rate.verdict != "worse" and rate.estimate is not None and abs(rate.estimate) < 0.1


# ---------------------------------------------------------------- Helpers


def draws_of(seed: int, count: int) -> list[Draw]:
    order = Order(seed)
    return [order.draw() for _ in range(count)]


def noisy(rng: np.random.Generator, value: float, deviation: float) -> float:
    return float(value * math.exp(deviation * rng.standard_normal()))


def turns_until_clear(seed: int, value: Callable[[Side, int], float], most: int) -> tuple[int, Change]:
    order, switchback, count = Order(seed), Switchback(RTT), 0
    while switchback.verdict == "unclear" and count < most:
        draw = order.draw()
        switchback.add(draw, float(value(draw.side, count)))
        count += 1
    return count, switchback.change


def streams() -> list[list[Draw]]:
    return [draws_of(seed, TURNS) for seed in range(STREAMS)]


def sides_of_streams() -> np.ndarray:
    return np.array([[draw.side == "after" for draw in draws] for draws in streams()]).T


def highest_stakes(positions: Floats, smallest: float) -> Floats:
    """Bet on the sides of streams that the cure does not change; return the logarithm of the highest stake of each."""
    chances = np.array([[draw.chance for draw in draws] for draws in streams()]).T
    stakes = Stakes(STREAMS, smallest)
    bets = [stakes.bet(*turn) for turn in zip(positions, sides_of_streams(), chances, strict=True)]
    highest: Floats = np.max(bets, axis=0)
    return highest
