"""Axes as columns: numbers in base units, labels in their order."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unbloat import _core
from unbloat.results.axes import axis_named, base_values, columns_of, is_of_axis, names_of, quantity
from unbloat.scenarios.controls import short_labels


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("10mbit", ("bps", 1e7)),
        ("1.5gbit", ("bps", 1.5e9)),
        ("1mibit", ("bps", 2**20)),
        ("20mbps", ("bps", 1.6e8)),
        ("10ms", ("s", 0.01)),
        ("3us", ("s", 3e-6)),
        ("60kb", ("bytes", 60_000)),
        ("64kib", ("bytes", 65_536)),
        ("5k", ("bytes", 5_000)),
        ("300p", ("packets", 300)),
        ("0.5bdp", ("bdp", 0.5)),
        ("0.001%", ("percent", 0.001)),
        ("10/s", ("per_s", 10)),
        ("-20ppm", ("ppm", -20)),
        ("30", ("value", 30)),
        ("cubic", None),
        ("mobile lte", None),
        ("5 Mbit/s, 20 ms", None),
        ("1e3ms", None),
        ("", None),
    ],
)
def test_labels_are_read_as_the_scenario_reads_them(label: str, value: tuple[str, float] | None) -> None:
    assert quantity(label) == value


@given(st.integers(0, 10**9), st.integers(0, 999), st.sampled_from(["s", "ms", "us", "msecs"]), st.booleans())
def test_times_are_read_as_the_scenario_reads_them(whole: int, thousandths: int, unit: str, has_blank: bool) -> None:
    text = f"{whole}.{thousandths:03}{unit}"
    seconds = Fraction(_core.duration_ns(text), 10**9)
    assert quantity(text.replace(unit, f" {unit}") if has_blank else text) == ("s", float(seconds))


def test_labels_of_several_kinds_have_no_numbers() -> None:
    assert base_values(["15kb", "10p"]) is None and base_values(["15kb", "none"]) is None
    assert base_values(["1000ms", "1s"]) == ("s", {"1000ms": 1.0, "1s": 1.0})


def test_an_axis_is_ordered_by_its_numbers_or_as_the_grid_has_it() -> None:
    runs = [{"cc": "reno", "rate": rate, "seed": "1"} for rate in ("100mbit", "9mbit")] + [
        {"cc": "bbr", "rate": "1gbit"}
    ]
    columns = columns_of(runs, {"cc"})
    assert list(columns) == ["axis.cc", "rate", "rate_bps"], "a seed is a number of its own"
    assert list(columns["rate"].cat.categories) == ["9mbit", "100mbit", "1gbit"]
    assert list(columns["axis.cc"].cat.categories) == ["reno", "bbr"]
    assert list(columns["rate_bps"]) == [1e8, 9e6, 1e9]


@pytest.mark.parametrize(
    ("axes", "taken", "names"),
    [
        (["flows.*.cc", "rtt", "link.a.queue.limit"], {"goodput_mbps"}, ["cc", "rtt", "limit"]),
        (["flows.*.cc", "link.a.loss", "flows.0.start"], {"cc", "loss_percent", "start_s"}, []),
        (["link.a.rate", "link.b.rate", "rate"], {"run"}, []),
        (["on", "link.a.on"], {"on"}, ["axis.on", "link.a.on"]),
        (["flows.0.maps.rates.1", "link.a.access-rate"], {"run"}, []),
        (["seed", "flows.0.cc"], {"seed"}, ["cc"]),
    ],
)
def test_a_column_has_the_last_part_of_its_axis_where_that_is_clear(
    axes: list[str], taken: set[str], names: list[str]
) -> None:
    assert list(names_of(axes, taken).values()) == (names or axes)


def test_columns_of_axes_are_told_from_others() -> None:
    axes = ["link.bottleneck.rate", "queue", "duration", "on"]
    taken = {"duration_s", "on", "queue_bytes", "queue_delay_ms_mean"}
    belong = ["link.bottleneck.rate", "link.bottleneck.rate_bps", "rate", "rate_bps", "queue_s", "axis.on", "duration"]
    assert all(is_of_axis(name, axes, taken) for name in belong)
    assert not any(is_of_axis(name, axes, taken) for name in (*taken, "queue_bytes_", "rates"))


def test_an_axis_may_be_named_by_its_last_part() -> None:
    axes = ["flows.0.cc", "link.bottleneck.rate"]
    assert axis_named("cc", axes) == axis_named("flows.0.cc", axes) == "flows.0.cc"


def test_files_are_called_by_their_names() -> None:
    """A path tells nobody anything, unless two files have one name, or a control that comes along has it."""
    assert short_labels("flows.0.cc", ["cubic", "./sonar.bpf.c"]) == {"cubic": "cubic", "./sonar.bpf.c": "sonar"}
    assert short_labels("flows.*.window_controller", ["a/b/slow.bpf.c#fast"]) == {"a/b/slow.bpf.c#fast": "slow#fast"}
    assert short_labels("link.line.trace", ["traces/lte.down"]) == {"traces/lte.down": "lte.down"}
    for twins in (["new/sonar.bpf.c", "old/sonar.bpf.c"], ["reno", "./reno.bpf.c"]):
        assert short_labels("flows.0.cc", twins) == {label: label for label in twins}
    for axis, label in (("flows.0.arrivals.rate", "10/s"), ("cc", "up/down")):
        assert short_labels(axis, [label]) == {label: label}, "a quantity, or a word of the scenario's own"
