"""Figures can be read: no text on another or beyond the picture, no marker cut, looks that mean the same everywhere."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
from conftest import SMALL
from inline_snapshot import snapshot
from legible import faults
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from unbloat.papers.figures import hues_of
from unbloat.report.figures.kinds import OF_SOCKETS, OVER_A_SWEEP, OVER_RUNS, WITHIN_RUNS, Width
from unbloat.report.figures.style import COLOURS
from unbloat.report.names import path_of, point_label

pytestmark = pytest.mark.usefixtures("shared_runs")

WIDTHS: list[Width] = ["page", "slide", "column"]
LINE = """\
name     = "our line"
duration = "4s"
warmup   = "500ms"

[link.modem]
rate  = "5mbit"
delay = "12ms"
queue = { limit = "64kb" }

[link.modem.reverse]
rate  = "20mbit"
queue = { limit = "256kb" }

[[flows]]
name = "backup"
cc   = "cubic"
app  = { kind = "upload", chunk = "500kb" }

[[flows]]
name    = "download"
cc      = "cubic"
reverse = true
start   = "500ms"
"""
"""A line that is full both ways."""
CONTROLS = ["cubic", "clpc", "reno", "vegas", "cubic_plus"]


def of_cells(
    record: ub.Record, axes: dict[str, list[str]], change: Callable[[dict[str, Any], int], None]
) -> ub.Results:
    """Make runs that nobody did: for each grid point that of a record, changed by its number."""
    runs = []
    for number, labels in enumerate(product(*axes.values())):
        run = deepcopy(record.run)
        change(run, number)
        runs.append(ub.Record(dict(zip(axes, labels, strict=True)), run))
    return ub.Results(runs, ub.About(axes=[*axes]))


@pytest.fixture
def four_paths(small: Path) -> ub.Results:
    """Four kinds of path in one file, as one draws them up who has to choose: goodputs and delays span decades."""

    def change(run: dict[str, Any], number: int) -> None:
        goodputs, delays = (965.0, 38.6, 0.4, 86.0), (14.0, 77.0, 0.08, 73.0)
        path, control = number % 4, number // 4
        run["flows"][0] |= {"cc": "cubic", "goodput_mbps": goodputs[path] * (1 + 20 * (path == 2 and control == 1))}
        run["links"][0]["queue_delay_ms_mean"] = delays[path] * (1 + control) if number else 0.0

    (record,) = ub.scenario(small, {"duration": "100ms"}).run()
    paths = ["fibre", "LTE", "satellite, 1 % loss", "Wi-Fi"]
    return of_cells(record, {"flows.0.cc": CONTROLS, "path": paths}, change)


@pytest.fixture
def grid(small: Path) -> ub.Results:
    """A grid of three axes whose labels are long, of two groups of flows over two links."""
    text = SMALL + 'name = "backup to the cloud"\n[[flows]]\nname = "video"\ncc = "cubic"\n'
    (record,) = ub.scenario(text, {"duration": "200ms", "link.bottleneck.reverse": {"queue": {"limit": "30kb"}}}).run()

    def change(run: dict[str, Any], number: int) -> None:
        for flow in run["flows"]:
            flow["goodput_mbps"] = 1.7 + 0.01 * number
        run["links"][1]["queue_delay_ms_mean"] = 3.0 * number

    labels = {
        "flows.0.cc": ["cubic", "the_newest_of_mine", "bbr"],
        "link.bottleneck.delay": ["10ms", "30ms", "100ms"],
        "link.bottleneck.queue.limit": ["0.5bdp", "2bdp", "8bdp"],
    }
    return of_cells(record, labels, change)


# ---------------------------------------------------------------- Nothing on anything else


@pytest.mark.parametrize("width", WIDTHS)
def test_a_sweep_over_a_line_that_is_full_both_ways(width: Width) -> None:
    results = ub.scenario(LINE, {"sweep.flows.0.cc": CONTROLS}).run(series="100ms")
    assert not faults(results.plot("queue_delay", "goodput", width=width))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [*OVER_A_SWEEP, *OVER_RUNS])
def test_a_sweep_over_paths_that_are_unlike(four_paths: ub.Results, kind: str, width: Width) -> None:
    assert not faults(four_paths.plot(kind, width=width))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [*OVER_A_SWEEP, "ecdf", "box"])
def test_a_grid_of_three_axes(grid: ub.Results, kind: str, width: Width) -> None:
    assert not faults(grid.plot(kind, width=width))


@pytest.mark.parametrize("kinds", [("cwnd", "rtt", "goodput", "throughput"), ("queue", "queue_delay"), WITHIN_RUNS])
def test_many_flows_of_a_loss_in_columns(kinds: Sequence[str]) -> None:
    """Bands, and goodputs above the rate of the link, in panels beside each other whose titles are long."""
    flows = {"flows.1.count": 20, "link.modem.loss": "1%", "link.modem.reverse.loss": "1%"}
    queues = [
        {"label": label, "link.modem.queue.limit": size} for label, size in (("modem as it is", "64kb"), ("FQ", "32kb"))
    ]
    results = ub.scenario(LINE, {**flows, "sweep.queue": queues}).run(series="50ms")
    assert not faults(results.plot(*kinds))


@pytest.mark.parametrize("width", ["page", "slide"])
def test_a_mesh_above_panels_of_each_grid_point(width: Width) -> None:
    """What has one panel only takes the whole width, so that the names of nodes have room."""
    results = ub.scenario("sensors-in-a-building", {"duration": "100s", "warmup": "10s"}).run()
    assert not faults(results.plot(width=width))


def test_a_link_whose_rate_varies() -> None:
    results = ub.scenario("mobile-lte", {"duration": "5s", "warmup": "2s"}).run(series="100ms")
    assert not faults(results.plot("goodput", "throughput", "queue_delay", width="column"))


def test_sockets_and_bounds_far_above() -> None:
    text = SMALL.replace("[link.", "[host.pc]\n[link.", 1).replace("[[flows]]", '[[flows]]\nhost = "pc"')
    results = ub.scenario(text, {"link.bottleneck.queue.limit": "30mb", "warmup": "500ms"}).run(series="20ms")
    figure = results.plot(*OF_SOCKETS, "queue_delay", "queue", "goodput", width="column")
    assert not faults(figure)
    assert any("far above" in text.get_text() for axes in figure.axes for text in axes.texts)


@pytest.mark.parametrize("width", WIDTHS)
def test_two_sets(small: Path, width: Width) -> None:
    axes = {"sweep.link.bottleneck.queue.limit": ["60kb", "15kb"], "sweep.flows.0.cc": CONTROLS[:3]}
    a, b = (ub.scenario(small, {**axes, "link.bottleneck.rate": rate}).run() for rate in ("4mbit", "2mbit"))
    assert not faults(a.plot("comparison", other=b, width=width))
    assert not faults(a.compare(b).plot(width=width))


# ---------------------------------------------------------------- Looks


def looks_of(axes: Axes) -> dict[str, str]:
    """The colour of each name at the end of a line."""
    names = [text for text in axes.texts if isinstance(text, Annotation)]
    return {text.get_text(): str(text.get_color()) for text in names}


def test_a_direction_has_one_colour_in_all_panels_and_its_name() -> None:
    """Behind Vegas the upload's queue is empty: what is left must not look like the others' upload."""
    controls = ["cubic", "vegas", "cubic_plus"]
    results = ub.scenario(LINE, {"sweep.flows.0.cc": controls, "flows.1.count": 3}).run(series="100ms")
    figure = results.plot("queue_delay", "goodput")
    panels = [axes for axes in figure.axes if {"forward", "reverse"} & looks_of(axes).keys()]
    assert len(panels) == len(controls)
    for direction in ("forward", "reverse"):
        assert len({looks_of(axes)[direction] for axes in panels}) == 1
    flows = {line for axes in figure.axes if axes not in panels for line in looks_of(axes).values()}
    assert not {looks_of(panels[0])[each] for each in ("forward", "reverse")} & (flows - {"#6E6E6E"})


def drawn(figure: Figure) -> list[tuple[str, str, str]]:
    """The colour, marker and dashes of each curve."""
    curves = [each.lines[0] for axes in figure.axes for each in axes.containers if isinstance(each, ErrorbarContainer)]
    return [(str(line.get_color()), str(line.get_marker()), str(line.get_linestyle())) for line in curves]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_legend_has_the_markers_that_are_drawn(grid: ub.Results, width: Width) -> None:
    figure = grid.plot("lines", metrics=["queue_delay"], width=width)
    (legend,) = [axes.get_legend() for axes in figure.axes] if not figure.legends else figure.legends
    assert legend is not None
    shown = [(str(line.get_color()), str(line.get_marker()), str(line.get_linestyle())) for line in legend.get_lines()]
    hues, kinds = shown[:3], shown[3:]
    assert [text.get_text() for text in legend.get_texts()][3:] == ["0.5bdp", "2bdp", "8bdp"]
    assert drawn(figure) == [(hue[0], kind[1], kind[2]) for hue in hues for kind in kinds]
    assert len({kind[1] for kind in kinds}) == 3


def test_what_is_of_no_group_looks_like_none(grid: ub.Results) -> None:
    """A queue's delay is neither of the two groups', which have their looks in the panel above."""
    figure = grid.only(limit="2bdp", cc="bbr").plot("lines", metrics=["goodput", "queue_delay"])
    above, below = ([each.lines[0].get_color() for each in axes.containers] for axes in figure.axes)
    assert len(set(above)) == 2 and len(below) == 1 and below[0] not in above


# ---------------------------------------------------------------- Decades


def test_what_spans_decades_stands_on_a_logarithmic_axis(four_paths: ub.Results) -> None:
    for kind in ("lines", "bars", "delay_throughput"):
        panel = four_paths.plot(kind, metrics=["goodput"]).axes[0]
        assert panel.get_yscale() == "log" and panel.get_ylim() == (pytest.approx(0.1), pytest.approx(965 * 1.6))
    assert panel.get_xscale() == "log" and panel.get_xlim()[0] > panel.get_xlim()[1] > 0
    one = four_paths.only(path="Wi-Fi").plot("bars", metrics=["goodput"]).axes[0]
    assert one.get_yscale() == "linear" and one.get_ylim()[0] == 0
    colours = four_paths.plot("heatmap", metrics=["goodput"], x="cc", y="path").axes[0].images[0]
    low, middle, high = (float(colours.norm(value)) for value in (0.4, (0.4 * 965) ** 0.5, 965))
    assert (low, middle, high) == pytest.approx((0, 0.5, 1))


def test_what_a_sweep_sets_is_said_to_be_swept(small: Path) -> None:
    results = ub.scenario(small, {"duration": "100ms", "sweep.link.bottleneck.delay": ["10ms", "30ms"]}).run()
    assert path_of(results.records) == snapshot("4 Mbit/s · buffer 30 kB · RTT swept")
    other = ub.scenario(small, {"duration": "100ms", "link.bottleneck.rate": "2mbit"}).run()
    both = [*ub.scenario(small).run(duration="100ms").records, *other.records]
    assert "swept" not in path_of(both), "two sets are no sweep"


# ---------------------------------------------------------------- What differs looks different, and what does not alike


def test_a_node_of_equal_goodput_is_as_large_in_each_panel_of_a_mesh() -> None:
    results = ub.scenario("sensors-in-a-building", {"duration": "100s", "warmup": "10s"}).run()
    sizes: dict[str, float] = {}
    for axes in results.plot("mesh").axes:
        circles = {
            tuple(line.get_xydata()[0]): line.get_markersize() for line in axes.lines if line.get_marker() == "o"
        }
        for text in (each for each in axes.texts if isinstance(each, Annotation)):
            goodput = text.get_text().split(",")[0].split()[-1]
            size = circles[tuple(text.xy)]
            assert sizes.setdefault(goodput, size) == pytest.approx(size, rel=0.02)
    assert len(sizes) > 5


def test_links_share_a_panel_however_many_flows_there_are() -> None:
    queues = [
        {"label": label, "link.modem.queue.limit": size} for label, size in (("deep", "64kb"), ("shallow", "16kb"))
    ]
    results = ub.scenario(LINE, {"flows.1.count": 9, "sweep.queue": queues}).run(series="100ms")
    assert len(results.plot("queue_delay").axes) == 1
    assert len(results.plot("queue_delay", "goodput").axes) == 4, "each flow has a line of its own"


def test_a_switch_and_a_bare_number_are_named_with_their_axis() -> None:
    axes = {"host.phone.small_queues": "off", "queue": "sorpc", "flows.0.count": "3", "link.bottleneck.delay": "10ms"}
    assert point_label(axes) == "small_queues off sorpc count 3 10ms"


def test_what_a_metric_says_nothing_of_takes_no_look(small: Path) -> None:
    """A call is rated, and the upload beside it is not: the call's bars need no hatch."""
    flows = [{"name": "photos", "cc": "cubic"}, {"name": "call", "app": "voice"}]
    scenario = ub.scenario(small, {"flows": flows, "duration": "2s", "link.bottleneck.rate": "1mbit"})
    results = scenario.run({"sweep.link.bottleneck.queue.limit": ["15kb", "60kb"]})
    bars = [patch for axes in results.plot("bars", metrics=["opinion"]).axes for patch in axes.patches]
    assert len(bars) == 2 and not any(bar.get_hatch() for bar in bars)


def test_goodputs_that_hardly_differ_look_alike(four_paths: ub.Results) -> None:
    """Where all controls fill the link, an axis of a hundredth of it would make one look far worse."""
    figure = four_paths.only(path="Wi-Fi").plot("delay_throughput")
    low, high = figure.axes[0].get_ylim()
    assert high - low >= 0.099 * high and low < 86 < high


def test_what_a_paper_prints_is_not_hidden_by_black_bars() -> None:
    hues = hues_of([[str(number) for number in range(len(COLOURS) - 1)]])
    assert "#000000" not in hues[0].values()


# ---------------------------------------------------------------- Found by drawing every kind of each shipped scenario


@pytest.mark.parametrize("width", WIDTHS)
def test_an_interval_that_reaches_below_a_logarithmic_axis(four_paths: ub.Results, width: Width) -> None:
    """Its lower end has no place on the axis, and took the whole layout with it."""
    again = [ub.Record({**each.axes, "seed": seed}, deepcopy(each.run)) for each in four_paths.records for seed in "12"]
    for record in again[::2]:
        record.run["flows"][0]["goodput_mbps"] *= 0.1
    assert not faults(ub.Results(again, four_paths.about).plot("lines", width=width))


def test_labels_of_numbers_that_stand_close_together_are_turned() -> None:
    results = ub.scenario("lte-download", {"duration": "2s", "warmup": "500ms"}).run()
    assert not faults(results.plot("lines", width="column"))


def test_a_varying_rate_beside_the_warm_up_and_a_long_name() -> None:
    queues = [{"label": "256 KB of drop-tail"}, {"label": "CAKE", "link.bottleneck.queue": {"kind": "cake"}}]
    results = ub.scenario("mobile-lte", {"duration": "5s", "warmup": "2s", "sweep.queue": queues}).run(series="100ms")
    assert not faults(results.plot("throughput", width="column"))


@pytest.mark.parametrize("width", ["page", "column"])
def test_names_of_bands_beside_a_bound_in_panels_of_parts(width: Width) -> None:
    results = ub.scenario("web-beside-a-download", {"duration": "15s", "warmup": "5s"}).run()
    assert not faults(results.plot("cwnd", width=width))
