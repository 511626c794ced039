"""Figures of sweeps and of two sets: what stands where, with which interval, and what cannot be drawn."""

from copy import deepcopy
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from sentences import refused, stderr_of
from unbloat.comparison.figures import agreement_of, changes, edges_of
from unbloat.report.figures.delay_throughput import ellipse
from unbloat.report.figures.draw import Choice
from unbloat.report.figures.grid import metrics_named, quantity, reach
from unbloat.report.figures.kinds import Width
from unbloat.report.figures.style import SIZES, unit_for
from unbloat.report.names import short_name
from unbloat.results.bottleneck import NO_LINKS
from unbloat.results.metrics import BY_KEY
from unbloat.results.statistics import estimate

pytestmark = pytest.mark.usefixtures("shared_runs")

LOSSY = {"link.bottleneck.loss": "0.5%", "duration": "3s"}
LIMITS = {"sweep.link.bottleneck.queue.limit": ["60kb", "15kb"], "sweep.flows.0.cc": ["reno", "cubic"]}


@pytest.fixture
def grid(small: Path) -> ub.Results:
    return ub.scenario(small, {**LOSSY, **LIMITS}).run(repeat=3)


def interval(grid: ub.Results, cc: str, limit: str) -> tuple[float, float]:
    wanted = {"flows.0.cc": cc, "link.bottleneck.queue.limit": limit}
    values = [r.run["flows"][0]["goodput_mbps"] for r in grid if r.axes == wanted]
    found = estimate(values)
    assert found.mean is not None and found.half_width is not None
    return found.mean, found.half_width


def test_lines_stand_at_the_numbers_of_the_axis_with_their_intervals(grid: ub.Results) -> None:
    (panel,) = grid.plot("lines", metrics=["goodput"]).axes
    curves = [each for each in panel.containers if isinstance(each, ErrorbarContainer)]
    assert len(curves) == 2
    for curve, cc in zip(curves, ("reno", "cubic"), strict=True):
        line, _, (bars,) = curve.lines
        assert line.get_xdata().tolist() == [15_000, 60_000], "in order, whatever order the sweep has"
        for place, limit in enumerate(("15kb", "60kb")):
            mean, half_width = interval(grid, cc, limit)
            assert line.get_ydata()[place] == pytest.approx(mean)
            assert bars.get_segments()[place][:, 1] == pytest.approx([mean - half_width, mean + half_width])
    assert [label.get_text() for label in panel.get_xticklabels()] == ["15kb", "60kb"]
    assert panel.get_xlabel() == "queue limit" and panel.get_ylabel() == "goodput (Mbit/s)"
    legend = panel.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["reno", "cubic"]


def test_bars_stand_beside_each_other(grid: ub.Results) -> None:
    (panel,) = grid.plot("bars", metrics=["goodput"], x="cc").axes
    bars = [bar for each in panel.containers if isinstance(each, BarContainer) for bar in each]
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars)
    assert len(spans) == 4 and all(left[1] <= right[0] for left, right in pairwise(spans))
    assert bars[0].get_height() == pytest.approx(interval(grid, "reno", "60kb")[0])


def test_a_heat_map_has_the_means_in_its_fields(grid: ub.Results) -> None:
    figure = grid.plot("heatmap", metrics=["goodput"], x="cc")
    panel = figure.axes[0]
    means = np.array([[interval(grid, cc, limit)[0] for cc in ("reno", "cubic")] for limit in ("15kb", "60kb")])
    assert np.asarray(panel.images[0].get_array()) == pytest.approx(means)
    assert [text.get_text() for text in panel.texts] == [f"{mean:.3g}" for mean in means.flatten()]
    assert not panel.yaxis_inverted(), "numbers rise"
    panel = grid.plot("heatmap", metrics=["queue_bytes"], x="limit").axes[0]
    assert panel.yaxis_inverted(), "words stand in their order, as in the table"
    assert len(panel.texts) == 4
    assert all(len(text.get_text()) >= 4 and text.get_text().isdigit() for text in panel.texts), "no powers of ten"


def test_single_runs_have_no_interval(small: Path) -> None:
    (panel,) = ub.scenario(small, LIMITS).run().plot("lines", metrics=["goodput"]).axes
    for curve in panel.containers:
        (bars,) = curve.lines[2]
        assert all(np.ptp(segment[:, 1]) == 0 for segment in bars.get_segments())


def test_an_interval_ends_where_values_do() -> None:
    """Three of Jain's indices: 0.9 to 1.1 by Student's t, and none is above 1."""
    found = estimate([0.96, 0.98, 1.0])
    assert found.high is not None and found.high > 1
    down, up = reach([found], BY_KEY["jain"])[:, 0]
    assert up == pytest.approx(0.02) and down == pytest.approx(found.half_width)
    assert reach([estimate([0.0, 0.0, 0.3])], BY_KEY["loss"])[0, 0] == pytest.approx(0.1)


def test_groups_of_flows_are_drawn_apart_by_their_names(small: Path) -> None:
    text = small.read_text() + 'name = "backup"\n[[flows]]\nname = "video"\ncc = "cubic"\n'
    results = ub.scenario(text, {"sweep.link.bottleneck.rate": ["4mbit", "8mbit"]}).run()
    figure = results.plot("lines", metrics=["goodput", "queue_delay"])
    legends = [panel.get_legend() for panel in figure.axes]
    assert [[text.get_text() for text in legend.get_texts()] for legend in legends if legend] == [["backup", "video"]]
    flows = [[flow["goodput_mbps"] for flow in record.run["flows"]] for record in results]
    drawn = [each.lines[0].get_ydata().tolist() for each in figure.axes[0].containers]
    assert drawn == [pytest.approx(list(values)) for values in zip(*flows, strict=True)]


# ---------------------------------------------------------------- Three axes and more


THREE = {
    "link.bottleneck.rate": ["1mbit", "2mbit", "5mbit"],
    "flows.0.cc": ["reno", "cubic", "vegas"],
    "link.bottleneck.queue.limit": ["15kb", "60kb"],
}


@pytest.fixture
def made(small: Path) -> ub.Results:
    """Runs that nobody did: a number of its own in each grid point."""
    (record,) = ub.scenario(small, {"duration": "100ms"}).run()
    runs = []
    for number, labels in enumerate(product(*THREE.values())):
        run = deepcopy(record.run)
        run["flows"][0] |= {"cc": labels[1], "goodput_mbps": 0.01 * (1 + number)}
        run["links"][0]["queue_delay_ms_mean"] = 3e3 * (1 + number)
        runs.append(ub.Record(dict(zip(THREE, labels, strict=True)), run))
    return ub.Results(runs, ub.About(axes=[*THREE]))


def legend_of(figure: Figure) -> list[str]:
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_colours_are_what_is_compared_dashes_and_panels_the_others(made: ub.Results) -> None:
    figure = made.plot("lines", metrics=["goodput"], x="rate")
    curves = [each.lines[0] for each in figure.axes[0].containers]
    assert len(figure.axes) == 1 and len(curves) == 6
    assert len({line.get_color() for line in curves}) == 3 and len({line.get_linestyle() for line in curves}) == 2
    titles = ["queue limit 15kb", "queue limit 60kb"]
    for kind in ("ecdf", "delay_throughput"):
        figure = made.plot(kind, metrics=["goodput"])
        assert [panel.get_title("right") for panel in figure.axes] == titles
        assert legend_of(figure) == ["reno", "cubic", "vegas", "1mbit", "2mbit", "5mbit"], "once for all panels"


def test_colours_agree_within_a_picture(made: ub.Results) -> None:
    """Vegas has its colour in the bars beside boxes and curves, whatever the panels show."""
    figure = made.only(rate="1mbit", limit="15kb").plot("ecdf", "box", "bars", metrics=["goodput"])
    curves, boxes, bars = figure.axes
    hues = [to_hex(line.get_color()) for line in curves.lines]
    assert [to_hex(box.get_facecolor()) for box in boxes.patches] == hues
    assert [to_hex(bar.get_facecolor()) for bar in bars.patches] == hues


def test_labels_are_not_joined_by_lines(made: ub.Results) -> None:
    (panel,) = made.only(rate="1mbit").plot("lines", metrics=["goodput"], x="cc").axes
    assert {each.lines[0].get_linestyle() for each in panel.containers} == {"None"}


def test_a_third_axis_of_a_heat_map_has_panels(made: ub.Results) -> None:
    figure = made.plot("heatmap", metrics=["goodput"], x="rate", y="cc")
    panels = [panel for panel in figure.axes if panel.images]
    assert [panel.get_title("right") for panel in panels] == ["queue limit 15kb", "queue limit 60kb"]
    assert len({image.get_clim() for panel in panels for image in panel.images}) == 1
    with refused(ub.InputError, snapshot("heatmap: no sound run has a value of completion")):
        made.plot("heatmap", metrics=["completion"])
    with refused(ub.InputError, snapshot("nothing to draw: no sound run has a value of completion")):
        made.plot("bars", metrics=["completion"])


def test_units_suit_what_is_shown(made: ub.Results) -> None:
    panels = made.plot("bars").axes
    assert {panel.get_ylabel() for panel in panels} - {""} == {"goodput (kbit/s)", "queueing delay (s)"}
    assert unit_for("Mbit/s", 0) == (1, "Mbit/s") and unit_for("packets", 1e9) == (1, "packets")
    assert unit_for("ms", 9_999) == (1, "ms")


def test_too_many_panels_are_refused(made: ub.Results) -> None:
    many = ub.Results([replace(each, axes={**each.axes, "losses": str(n)}) for n in range(9) for each in made])
    with refused(
        ub.InputError,
        snapshot(
            "ecdf: link.bottleneck.queue.limit, losses would take 18 panels, and 12 have room in a picture: pick some of their labels with --only (RunSet.only)"
        ),
    ):
        many.plot("ecdf", metrics=["goodput"])


def test_kinds_and_metrics_come_in_lists_or_with_commas(made: ub.Results) -> None:
    few = made.only(limit="15kb")
    for figure in (few.plot(["lines", "bars"], metrics="goodput"), few.plot("lines,bars", metrics=["goodput"])):
        assert len(figure.axes) == 2


def test_grid_points_of_saved_results_are_picked(cli: Cli, made: ub.Results, tmp_path: Path) -> None:
    made.save(tmp_path / "made")
    done = cli("plot", "made", "--only", "cc=cubic,vegas", "--only", "limit=15kb", "-o", "x.svg")
    assert done.returncode == 0 and (tmp_path / "x.svg").exists(), done.stderr
    table = cli("export", "made", "--csv", "--only", "cc=cubic", "--only", "limit=15kb").stdout.splitlines()
    assert len(table) == 4 and all("cubic" in row for row in table[1:])
    done = cli("report", "made", "--only", "cc=qubic", "-o", "x.html")
    assert done.returncode == 2 and stderr_of(done) == snapshot(
        "unbloat: only: flows.0.cc is never qubic (did you mean cubic?); valid: reno, cubic, vegas"
    )


def test_a_sweep_is_drawn_without_naming_a_kind(made: ub.Results) -> None:
    assert made.plot().axes[0].get_xlabel() == "bottleneck rate"


def test_boxes_say_of_how_many_values_they_are(made: ub.Results, grid: ub.Results) -> None:
    assert made.plot("box", metrics=["goodput"]).axes[0].get_xlabel() == snapshot("""\
goodput (kbit/s)
one flow each\
""")
    assert grid.plot("box", metrics=["goodput"]).axes[0].get_xlabel() == snapshot("""\
goodput (Mbit/s)
box: 25-75 %, whiskers: 5-95 % of 3 flows each\
""")


def test_grid_points_are_picked_by_their_labels(made: ub.Results) -> None:
    assert len(made.only(cc="vegas", rate=["1mbit", 2e6])) == 4 and len(made.only({"limit": "60kb"})) == 9
    assert [each.axes["flows.0.cc"] for each in made.only(lambda axes: axes["flows.0.cc"] == "reno")] == ["reno"] * 6
    with refused(
        ub.InputError, snapshot("only: flows.0.cc is never vegass (did you mean vegas?); valid: reno, cubic, vegas")
    ):
        made.only(cc="vegass")
    with refused(
        ub.InputError,
        snapshot("unknown axis delay; valid: link.bottleneck.rate, flows.0.cc, link.bottleneck.queue.limit"),
    ):
        made.only(delay="1ms")


def test_delay_falls_to_the_right_and_goodput_rises(grid: ub.Results) -> None:
    (panel,) = grid.plot("delay_throughput").axes
    left, right = panel.get_xlim()
    assert left > right >= 0 and len(panel.patches) == 4
    middles = {text.get_text(): text for text in panel.texts}
    assert middles.keys() >= {"15kb reno", "60kb cubic"}


def test_an_ellipse_is_one_standard_deviation() -> None:
    rng = np.random.default_rng(1)
    cloud = rng.normal(size=(4000, 2)) * [3, 1] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    shape = ellipse(cloud)
    assert shape is not None
    assert shape[:2] == pytest.approx((6, 2), rel=0.05)
    assert shape[2] % 180 == pytest.approx(np.degrees(np.arctan2(0.6, 0.8)), abs=2)
    assert ellipse(np.ones((5, 2))) is None, "repeats that are the same do not scatter"


def test_boxes_and_distributions_of_a_metric(grid: ub.Results) -> None:
    box, curve = grid.plot("box", "ecdf", metrics=["goodput"]).axes
    labels = [label.get_text() for label in box.get_yticklabels()]
    assert labels == ["60kb reno", "60kb cubic", "15kb reno", "15kb cubic"]
    medians = [np.median([r.run["flows"][0]["goodput_mbps"] for r in grid if list(r.axes.values()) == label.split()])
               for label in labels]  # fmt: skip
    drawn = [line.get_xdata()[0] for line in box.lines if line.get_color() == "black" and line.get_linewidth() > 1.3]
    assert drawn == pytest.approx(medians)
    assert [len(line.get_xdata()) for line in curve.lines] == [4] * 4, "three runs, and where the least begins"


@pytest.mark.parametrize(
    ("kinds", "how", "sentence"),
    [
        (
            ["lines"],
            {"metrics": ["speed"]},
            snapshot(
                "unknown metric speed (did you mean skipped?); the metrics are bitrate, buffer, buffered_windows, buffered_windows_p10, buffered_windows_p25, buffered_windows_p50, buffered_windows_p75, buffered_windows_p90, completion, cpu_idle, cwnd, delay, delay_max, delay_p50, delay_p95, delay_p99, drops, duplicates, goodput, jain, lateness_p99, loss, loss_events, losses, marks, opinion, page_load, page_load_max, page_load_p50, page_load_p95, page_load_p99, queue_bytes, queue_delay, queue_delay_max, queue_delay_p50, queue_delay_p95, queue_delay_p99, rating, rating_in, rating_out, receiver_rtt, response, response_max, response_p50, response_p95, response_p99, retransmissions, retries, rtt, rtt_max, rtt_min, rtt_p50, rtt_p95, rtt_p99, sent, skipped, sndbuf, sndbuf_half_full, sndbuf_half_full_after, sndbuf_p10, sndbuf_p25, sndbuf_p50, sndbuf_p75, sndbuf_p90, stalled, stalls, startup, switches, throughput, timeouts, unfinished, utilisation, wait, wire_losses, wmem_queued"
            ),
        ),
        (
            ["lines"],
            {"x": "rate"},
            snapshot("unknown axis rate; valid: link.bottleneck.queue.limit, flows.0.cc"),
        ),
        (["comparison"], {}, snapshot("comparison: compares two sets of results; name the other one")),
    ],
)
def test_what_cannot_be_drawn_is_said(grid: ub.Results, kinds: list[str], how: dict[str, str], sentence: str) -> None:
    with refused(ub.InputError, sentence):
        grid.plot(*kinds, **how)  # type: ignore[arg-type]


def test_a_run_without_a_sweep_has_no_axis(small: Path) -> None:
    with refused(
        ub.InputError, snapshot("these results have no sweep, or too few axes with several labels, for this picture")
    ):
        ub.scenario(small).run().plot("lines")
    with refused(
        ub.InputError, snapshot("these results have no sweep, or too few axes with several labels, for this picture")
    ):
        ub.scenario(small, {"sweep.flows.0.cc": ["reno", "cubic"]}).run().plot("heatmap")


def test_quantities_and_axes_have_words_and_units() -> None:
    words = [
        quantity(metric, NO_LINKS)
        for metric in metrics_named(["rtt", "rtt_p95", "queue_delay_max", "jain", "loss_percent"])
    ]
    assert words == ["RTT (ms)", "RTT p95 (ms)", "queueing delay max (ms)", "Jain index", "loss (%)"]
    assert [short_name(axis) for axis in ("flows.0.cc", "link.bottleneck.queue.limit", "losses", "flows.*.cc")] == [
        *("cc", "queue limit", "losses", "cc")
    ]


# ---------------------------------------------------------------- Two sets


def test_a_comparison_is_the_change_with_its_interval(small: Path) -> None:
    a, b = (
        ub.scenario(small, {**LOSSY, "link.bottleneck.rate": rate, **LIMITS}).run(repeat=3)
        for rate in ("4mbit", "2mbit")
    )
    found = changes(a.records, b.records, BY_KEY["goodput"])
    percents = [change.change_percent or 0.0 for _, change in found]
    assert len(found) == 4 and all(-80 < percent < -20 for percent in percents)
    assert all(change.exceeds for _, change in found)
    (panel,) = a.plot("comparison", other=b, metrics=["goodput"]).axes
    points = [each.lines[0].get_xdata()[0] for each in panel.containers]
    assert points == pytest.approx(percents)
    assert [label.get_text() for label in panel.get_yticklabels()] == [cell for cell, _ in found]
    again = a.compare(b).plot(metrics=["goodput"]).axes[0]
    assert [each.lines[0].get_xdata()[0] for each in again.containers] == pytest.approx(points)


@pytest.mark.parametrize("width", ["page", "slide", "column"])
def test_a_long_legend_lies_on_nothing(small: Path, width: Width) -> None:
    limits = [f"{limit}kb" for limit in range(10, 100, 5)]
    results = ub.scenario(small, {"duration": "1s", "sweep.link.bottleneck.queue.limit": limits}).run()
    figure = results.plot("ecdf", width=width)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    legends = [legend for panel in figure.axes if (legend := panel.get_legend())]
    assert [len(legend.get_texts()) for legend in legends] == [len(limits)], "said once for both panels"
    taken = [legend.get_window_extent(renderer) for legend in legends]
    taken += [panel.get_window_extent(renderer) for panel in figure.axes]
    taken += [text.get_window_extent(renderer) for text in figure.texts]
    assert all(one.shrunk(0.98, 0.98).count_overlaps([other]) == 0 for one, other in combinations(taken, 2))
    height = figure.get_window_extent().height
    assert max(each.y1 for each in taken) <= height and min(each.y0 for each in taken) >= 0
    panels = [panel.get_window_extent(renderer).height / figure.dpi for panel in figure.axes]
    assert min(panels) > 0.4 * SIZES[width].panel, "there is room left for the curves"


def test_a_tail_of_few_values_has_a_scale(small: Path) -> None:
    results = ub.scenario(small, {"duration": "1s", "flows.0.count": 5}).run()
    figure = results.plot("eccdf", metrics=["goodput"])
    FigureCanvasAgg(figure).draw()
    (panel,) = figure.axes
    labels = [text.get_text() for text in panel.get_yticklabels(which="both")]
    assert {"100 %", "50 %", "20 %"} <= set(labels)


def test_agreement_tells_near_from_far(small: Path) -> None:
    a = ub.scenario(small, LIMITS).run()
    b = ub.scenario(small, {**LIMITS, "link.bottleneck.rate": "2mbit"}).run()
    same, other = (agreement_of(a, each, Choice(metrics=["goodput"], sides=("a", "b"))).axes[0] for each in (a, b))
    for panel, words in ((same, ["within: 4"]), (other, ["outside: 4"])):
        legend = panel.get_legend()
        assert legend is not None and [text.get_text() for text in legend.get_texts()] == words
        assert panel.figure is not None and isinstance(panel.figure, Figure)
        FigureCanvasAgg(panel.figure).draw()
        numbers = [text.get_text() for text in panel.get_xticklabels(which="both") if text.get_text()]
        assert len(numbers) >= 2, "the axis has a scale, however short it is"
    assert a.compare(b).plot().axes, "runs are compared within tolerances"


def test_the_edges_of_a_tolerance_are_found() -> None:
    low, high = edges_of(100.0, lambda a, b: abs(b - a) <= 0.1 * a, 1.0, 1000.0)
    assert (low, high) == pytest.approx((90, 110))
    assert edges_of(100.0, lambda a, b: True, 1.0, 1000.0) == (1.0, 1000.0)


# ---------------------------------------------------------------- The command


def test_saved_results_are_drawn(cli: Cli, small: Path, tmp_path: Path) -> None:
    assert cli("run", small, "--set", 'sweep.flows.0.cc=["reno", "cubic"]', "-o", tmp_path / "a").returncode == 0
    for kinds in (["queue_delay", "goodput"], ["rtt,cwnd"], ["bars"], ["ccdf"]):
        file = tmp_path / f"{kinds[0]}.svg"
        done = cli("plot", tmp_path / "a", *kinds, "-o", file, "--width", "column")
        assert done.returncode == 0 and f"wrote {file}" in done.stderr
        assert file.stat().st_size > 5000
    two = cli("plot", tmp_path / "a", "agreement", "--against", tmp_path / "a", "-o", tmp_path / "two.pdf")
    assert two.returncode == 0 and (tmp_path / "two.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["pie", "-o", "x.svg"],
            snapshot(
                "unbloat: plot: unknown value pie; valid: cwnd, rtt, queue, queue_delay, goodput, throughput, send_queue, send_buffer, rtt_cdf, rtt_ccdf, rtt_box, queue_delay_cdf, queue_delay_ccdf, queue_delay_box, lines, bars, heatmap, delay_throughput, box, ecdf, eccdf, mesh, comparison, cdf, ccdf, agreement"
            ),
        ),
        (["cwnd", "-o", "x.gif"], snapshot("unbloat: x.gif: the ending: unknown value gif; valid: svg, png, pdf")),
        (
            ["cwnd", "-o", "x.svg", "--width", "wall"],
            snapshot("unbloat: --width: 'wall' is not one of 'page', 'slide', 'column'; see `unbloat plot --help`"),
        ),
        (
            ["lines", "-o", "x.svg", "--metric", "speed"],
            snapshot(
                "unbloat: unknown metric speed (did you mean skipped?); the metrics are bitrate, buffer, buffered_windows, buffered_windows_p10, buffered_windows_p25, buffered_windows_p50, buffered_windows_p75, buffered_windows_p90, completion, cpu_idle, cwnd, delay, delay_max, delay_p50, delay_p95, delay_p99, drops, duplicates, goodput, jain, lateness_p99, loss, loss_events, losses, marks, opinion, page_load, page_load_max, page_load_p50, page_load_p95, page_load_p99, queue_bytes, queue_delay, queue_delay_max, queue_delay_p50, queue_delay_p95, queue_delay_p99, rating, rating_in, rating_out, receiver_rtt, response, response_max, response_p50, response_p95, response_p99, retransmissions, retries, rtt, rtt_max, rtt_min, rtt_p50, rtt_p95, rtt_p99, sent, skipped, sndbuf, sndbuf_half_full, sndbuf_half_full_after, sndbuf_p10, sndbuf_p25, sndbuf_p50, sndbuf_p75, sndbuf_p90, stalled, stalls, startup, switches, throughput, timeouts, unfinished, utilisation, wait, wire_losses, wmem_queued"
            ),
        ),
        (
            ["agreement", "-o", "x.svg"],
            snapshot(
                "unbloat: agreement: compares two sets of results and is drawn alone: name the other set with --against"
            ),
        ),
    ],
)
def test_what_is_asked_for_wrongly_is_refused_before_anything_is_read(
    cli: Cli, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    done = cli("plot", tmp_path / "none", *arguments)
    assert done.returncode == 2 and stderr_of(done) == sentence
