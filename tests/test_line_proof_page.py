"""A proof in words and as a page."""

import json
import math
import random
from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot
from unbloat.line.commands import Commands
from unbloat.line.proof_page import page_of, report_of, sentences_of, span
from unbloat.line.prove import Budget, Proof, Turn, prove
from unbloat.line.switchback import Change, Quantity, Side, Verdict

CURE = Commands("cubic_plus", "sudo unbloat load cubic_plus --default", "sudo unbloat unload cubic_plus")
RTT = Quantity("loaded RTT", "ms", "less")
RATE = Quantity("rate", "Mbit/s", "more")
LOSS = Quantity("loss", "%", "less", smallest=0.5, scale="difference")


def proof_of(before: float, after: float, turns: int = 40) -> Proof:
    random_one = random.Random(1)
    values = {"before": before, "after": after}
    now = 0.0

    def measure(side: Side, allowance: Budget) -> Turn:
        nonlocal now
        now += 3
        noise = random_one.gauss(1, 0.05)
        return Turn({"loaded RTT": values[side] * noise, "rate": 19 * noise, "loss": 0.1 * noise}, 2_400_000)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    budget = Budget(turns=turns)
    return prove(measure, lambda _: None, [RTT, RATE, LOSS], budget, seed=1, clock=lambda: now, sleep=sleep)


def test_a_cure_that_helps() -> None:
    report = report_of(proof_of(205, 43), CURE, "cubic_plus is loaded until the next boot.")
    assert report.text() == snapshot("""\
cubic_plus helps. Loaded RTT: 213 ms before, 42.2 ms after, 80 % less (50 % to 92 % less).

Rate: 19.7 Mbit/s before, 18.7 Mbit/s after, 4.1 % less (between 59 % less and 138 % more).

Loss: 0.104 % before, 0.0982 % after, 0.00415 % less (between 4.47 % less and 4.47 % more).

The proof took 6 turns (2 before, 4 with the cure), 30 s and 14 MB, and ended because the result is clear. cubic_plus is
loaded until the next boot.

quantity         before        after      change  interval from       to  verdict
──────────  ───────────  ───────────  ──────────  ─────────────  ───────  ─────────
loaded RTT       213 ms      42.2 ms       -80 %          -92 %    -50 %  better
rate        19.7 Mbit/s  18.7 Mbit/s      -4.1 %          -59 %   +138 %  not clear
loss            0.104 %     0.0982 %  -0.00415 %        -4.47 %  +4.47 %  not clear\
""")
    assert json.loads(report.json())["verdict"] == "better"


@pytest.mark.parametrize("before, after, turns", [(43, 205, 40), (40, 40, 40), (40, 40, 2), (40, 39, 9)])
def test_other_answers(before: float, after: float, turns: int) -> None:
    answers = sentences_of(proof_of(before, after, turns), "cubic_plus")
    assert [answers[0], answers[-1]] == {
        (43, 40): snapshot(
            [
                "cubic_plus makes the line worse. Loaded RTT: 44.6 ms before, 201 ms after, 357 % more (98 % to 1034 % more).",
                "The proof took 6 turns (2 before, 4 with the cure), 30 s and 14 MB, and ended because the result is clear.",
            ]
        ),
        (40, 40): snapshot(
            [
                "cubic_plus does not change the loaded RTT by as much as 10 %. Loaded RTT: 40.9 ms before, 40.1 ms after, 1.8 % less (between 8.7 % less and 6.6 % more).",
                "The proof took 38 turns (19 before, 19 with the cure), 190 s and 91 MB, and ended because the result is clear.",
            ]
        ),
        (40, 2): snapshot(
            [
                "The turns do not show whether cubic_plus helps. Loaded RTT: 42.9 ms before, 42.6 ms after, 0.75 % less (too few turns for an interval).",
                "The proof took 2 turns (1 before, 1 with the cure), 10 s and 5 MB, and ended because the budget has no turn left.",
            ]
        ),
        (40, 9): snapshot(
            [
                "The turns do not show whether cubic_plus helps. Loaded RTT: 39 ms before, 39.1 ms after, 1.9 % less (between 29 % less and 33 % more).",
                "The proof took 9 turns (4 before, 5 with the cure), 45 s and 22 MB, and ended because the budget has no turn left.",
            ]
        ),
    }[(before, turns)]


def test_the_page_needs_nothing_else() -> None:
    now = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
    page = page_of(proof_of(205, 43), CURE, "far.example", now=now).html()
    assert "<svg" in page and "<script" not in page and "src=" not in page.replace("-src", "")
    for text in (
        "cubic_plus helps.",
        "the line to far.example",
        "sudo unbloat unload cubic_plus",
        "2026-11-29 12:00 UTC",
    ):
        assert text in page
    assert page_of(proof_of(40, 40, turns=1), CURE, "far.example").html().count("<svg") == 1


@pytest.mark.parametrize(
    "low, high, words",
    [
        (-1.0, math.inf, "too few turns for an interval"),
        (-0.93, -0.51, "51 % to 93 % less"),
        (0.02, 0.3, "2 % to 30 % more"),
        (-0.3, 0.051, "between 30 % less and 5.1 % more"),
        (-1.0, -0.4, "at least 40 % less"),
        (-1.0, 0.4, "at most 40 % more"),
        (0.4, math.inf, "at least 40 % more"),
        (-0.4, math.inf, "at most 40 % less"),
    ],
)
def test_intervals_in_words(low: float, high: float, words: str) -> None:
    verdict: Verdict = "unclear"
    sides: dict[Side, float | None] = {"before": 1.0, "after": 1.0}
    assert span(Change(RTT, {"before": 1, "after": 1}, sides, 0.0, low, high, verdict)) == words
