"""What a run in a guest is said to cost, before it is made."""

from pathlib import Path

import pytest
from unbloat.runs.costs import MEASURED, guest_processor_s, per_guest_second
from unbloat.scenarios.source import source_of

LTE = Path(__file__).parents[1] / "scenarios/traces/lte-small.down"


@pytest.mark.parametrize(
    ("rate", "cost"), [(1e6, 0.03), (2e6, 0.06), (11e6, 0.24), (60e6, 1.315), (100e6, 2.21), (1e9, 2.21)]
)
def test_between_the_measured_rates_on_a_straight_line(rate: float, cost: float) -> None:
    assert per_guest_second(rate) == pytest.approx(cost)


def test_what_was_measured_is_what_the_documentation_says() -> None:
    page = (Path(__file__).parents[1] / "docs/explanation/guest.md").read_text()
    for rate, cost in MEASURED[1:]:
        assert f"| {rate / 1e6:.0f} Mbit/s | {cost:.2f} |" in page


def test_a_grid_point_costs_by_its_length_and_its_rate(small: Path) -> None:
    """4 Mbit/s for 2 s; a recorded link is taken for a slow one."""
    (cell,) = source_of(small, {}).points()
    assert guest_processor_s(cell) == pytest.approx(2 * (0.06 + (0.42 - 0.06) * 2 / 18))
    small.write_text(small.read_text().replace('rate  = "4mbit"', f'trace = "{LTE}"'))
    (recorded,) = source_of(small, {}).points()
    assert guest_processor_s(recorded) == pytest.approx(2 * 0.06)
