"""Means, intervals and differences: held against SciPy's own, and against a printed table."""

import math
from statistics import fmean
from types import ModuleType

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from unbloat.results.statistics import Estimate, difference, estimate

VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=2, max_size=40)


def by_seed(values: list[float], first: int = 1) -> dict[int, float | None]:
    return dict(enumerate(values, first))


def test_the_factor_is_that_of_the_printed_tables() -> None:
    """Student's t for 95 %, two-sided: 12.706 at one degree of freedom, 4.303 at two, 2.045 at 29."""
    assert estimate([0.0, 2.0]).half_width == pytest.approx(12.706, abs=5e-4)
    assert estimate([-1.0, 0.0, 1.0]).half_width == pytest.approx(4.303 / math.sqrt(3), abs=5e-4)
    thirty = estimate([float(i % 2) for i in range(30)])
    assert thirty.deviation is not None
    assert thirty.half_width == pytest.approx(2.045 * thirty.deviation / math.sqrt(30), rel=1e-3)


def test_one_run_has_no_interval() -> None:
    assert estimate([5.0]) == Estimate(1, 5.0, None, None)
    assert estimate([5.0, None, math.nan]) == Estimate(1, 5.0, None, None)
    assert estimate([5.0]).low is None and estimate([5.0]).high is None


def test_no_run_has_no_mean() -> None:
    assert estimate([None]) == Estimate(0, None, None, None)


def test_an_infinite_value_leaves_no_interval() -> None:
    assert estimate([1.0, math.inf, 2.0]) == Estimate(3, math.inf, None, None)
    assert difference({1: 1.0, 2: math.inf}, {1: 1.0, 2: 1.0}) is None


@given(value=st.floats(-1e9, 1e9), n=st.integers(2, 60))
def test_repeats_that_draw_nothing_have_an_interval_of_zero(value: float, n: int) -> None:
    assert estimate([value] * n) == Estimate(n, value, 0.0, 0.0)


@pytest.fixture(scope="module")
def stats() -> ModuleType:
    """Load it where it is used: it takes as long as all tests here, and each worker looks at each file."""
    from scipy import stats

    return stats


@given(values=VALUES)
def test_the_interval_is_scipy_s(stats: ModuleType, values: list[float]) -> None:
    assume(len(set(values)) > 1)
    ours = estimate(values)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    scale = max(map(abs, values))
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9 * scale)


@given(a=VALUES, b=VALUES)
def test_welch_s_interval_is_scipy_s(stats: ModuleType, a: list[float], b: list[float]) -> None:
    assume(len(set(a)) > 1 and len(set(b)) > 1)
    ours = difference(by_seed(a), by_seed(b, first=1000))
    theirs = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert ours is not None and ours.half_width is not None and not ours.is_paired
    scale = max(map(abs, a + b))
    ends = (ours.mean - ours.half_width, ours.mean + ours.half_width)
    assert ends == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9 * scale)


@given(pairs=st.lists(st.tuples(st.integers(-9999, 9999), st.integers(-9999, 9999)), min_size=2, max_size=40))
def test_the_paired_interval_is_scipy_s(stats: ModuleType, pairs: list[tuple[int, int]]) -> None:
    assume(len({b - a for a, b in pairs}) > 1)
    a, b = ([float(value) for value in side] for side in zip(*pairs, strict=True))
    ours = difference(by_seed(a), by_seed(b))
    theirs = stats.ttest_rel(b, a).confidence_interval(0.95)
    assert ours is not None and ours.half_width is not None and ours.is_paired
    ends = (ours.mean - ours.half_width, ours.mean + ours.half_width)
    assert ends == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-6)


def test_common_luck_drops_out_of_pairs() -> None:
    """B is one better in every run; what the runs share hides that from Welch's interval only."""
    luck = [10.0, 60.0, 35.0, 20.0, 80.0]
    better = [value + 1 + 0.1 * (-1) ** i for i, value in enumerate(luck)]
    paired = difference(by_seed(luck), by_seed(better))
    alone = difference(by_seed(luck), by_seed(better, first=100))
    assert paired is not None and alone is not None
    assert paired.mean == pytest.approx(alone.mean) == pytest.approx(fmean(better) - fmean(luck))
    assert paired.is_clear is True and alone.is_clear is False


def test_a_side_with_one_run_leaves_the_question_open() -> None:
    for first in (1, 100):
        one = difference({1: 1.0}, by_seed([9.0], first))
        assert one is not None and one.mean == 8.0 and one.half_width is None and one.is_clear is None
    assert difference({1: 1.0}, {1: None}) is None


def test_sides_that_draw_nothing_differ_by_exactly_that() -> None:
    apart = difference(by_seed([2.0, 2.0]), by_seed([3.0, 3.0], first=100))
    assert apart is not None and (apart.mean, apart.half_width, apart.is_clear) == (1.0, 0.0, True)
    same = difference(by_seed([2.0, 2.0]), by_seed([2.0, 2.0]))
    assert same is not None and same.is_clear is False
