"""How many packets in a row a line loses, told by the times at which segments were resent."""

import numpy as np
import pytest
from unbloat.line.loss_bursts import loss_burst
from unbloat.line.model import Line, Side, scenario
from unbloat.line.phase import Phase
from unbloat.scenarios.source import source_of, written


def seen(resent: np.ndarray) -> Phase:
    """Make a phase of 10 seconds with these segments resent in each tenth of a second."""
    times = np.arange(len(resent)) / 10
    none = np.zeros(len(times))
    return Phase("up", 10.0, times, none, times, times * 1e6, none, np.cumsum(resent), 0.01, 0.0, 0.03)


@pytest.mark.parametrize("events", [10, 60, 200])
@pytest.mark.parametrize("burst", [1, 4, 8])
def test_bursts_are_told_from_losses_one_by_one(events: int, burst: int) -> None:
    draw = np.random.default_rng(events)
    resent = np.bincount(draw.integers(0, 100, events), minlength=100) * float(burst)
    if resent.max() <= 30:
        assert loss_burst(seen(resent)) == pytest.approx(burst, rel=0.35)


def test_an_overflow_and_few_losses_are_no_bursts() -> None:
    resent = np.zeros(100)
    resent[[10, 50]] = 5
    assert loss_burst(seen(resent)) == 1
    resent[20] = 400
    assert loss_burst(seen(resent)) == 1


def test_a_line_with_bursts_is_a_valid_scenario() -> None:
    line = Line(Side(2e6, 60e3, loss_percent=0.5, loss_burst=4.0), Side(8e6, 100e3, loss_percent=0.5), 0.03)
    loss = line.link()["loss"]
    assert loss == {"kind": "gemodel", "p": "0.125628%", "r": "25.0000%"}
    assert source_of(written(scenario(line))).points()
