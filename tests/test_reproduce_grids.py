"""Papers about grids: claims over many grid points, windows over time, lines with intervals, all the paper's repeats."""

import dataclasses
import math

import matplotlib as mpl
import numpy as np
import pytest
from inline_snapshot import snapshot
from made_up_runs import mean, measured_run, measurements
from msgspec.structs import replace
from sentences import refused
from unbloat.claims import series
from unbloat.claims.batches import simulator
from unbloat.claims.claim import Claim, judge_claim
from unbloat.claims.expressions import ClaimError
from unbloat.claims.quantities import lines_of
from unbloat.claims.verdicts import Bounds
from unbloat.papers import figures as paper_figures
from unbloat.papers.batches import batches_of
from unbloat.papers.forecast import sampled
from unbloat.papers.judge import JudgedPaper
from unbloat.papers.paper import Bar, Figure, Panel, Paper, PaperError
from unbloat.report.figures.style import COLOURS, LOOK
from unbloat.results.statistics import estimate

BOUNDS = Bounds(relative=0.1, index=0.03)
USED = {("10", "a"): 50, ("10", "b"): 20, ("20", "a"): 90, ("20", "b"): 60, ("40", "a"): 70, ("40", "b"): 95}


def grid(repeats=2):
    """Use of a link by two controls and three buffers; the second seed gives two points more."""
    runs = [
        measured_run(
            {"buffer": buffer, "cc": cc},
            seed,
            {"links": [{"utilisation_percent": float(used + 2 * seed)}], "flows": []},
        )
        for (buffer, cc), used in USED.items()
        for seed in range(repeats)
    ]
    return measurements("grid", runs)


def judged(**fields):
    claim = Claim(id="c", says="s", over=["buffer"], **fields)
    outcome = judge_claim(claim, [], grid(1), BOUNDS)
    measured = outcome.measured
    return measured if isinstance(measured, str) else measured.value, outcome.verdict


A_ABOVE_B = "utilisation(a) > utilisation(b)"


@pytest.mark.parametrize(
    ("take", "holds", "measured", "verdict"),
    [
        ("every", A_ABOVE_B, "in 2 of 3 grid points, not at 40", "direction only"),
        ("most", A_ABOVE_B, "in 2 of 3 grid points, not at 40", "reproduced"),
        ("some", "utilisation(b) > utilisation(a)", "in 1 of 3 grid points, only at 40", "reproduced"),
        ("every", "utilisation(b) > utilisation(a)", "in 1 of 3 grid points, only at 40", "not reproduced"),
        ("every", "utilisation(a) >= 50", "in 3 of 3 grid points", "reproduced"),
        ("some", "utilisation(a) > 99", "in 0 of 3 grid points", "not reproduced"),
    ],
)
def test_a_statement_about_a_grid_counts_its_grid_points(take, holds, measured, verdict):
    assert judged(take=take, holds=holds) == (measured, verdict)


def test_labels_that_a_claim_is_not_about_are_left_out():
    assert judged(take="every", holds=A_ABOVE_B, without=["40"]) == ("in 2 of 2 grid points", "reproduced")
    assert judged(take="smallest", quantity="utilisation(a)", published="70", without=["10"])[0] == 70


@pytest.mark.parametrize(
    ("take", "published", "direction", "measured", "verdict"),
    [
        ("largest", "31", None, 30, "reproduced"),
        ("largest", "60", A_ABOVE_B, 30, "direction only"),
        ("smallest", "-40", A_ABOVE_B, -25, "not reproduced"),
        ("mean", "11.7", None, 35 / 3, "reproduced"),
        ("mean", "20", A_ABOVE_B, 35 / 3, "not reproduced"),
    ],
)
def test_a_number_of_a_grid_is_judged_where_it_comes_from(take, published, direction, measured, verdict):
    quantity = "utilisation(a) - utilisation(b)"
    outcome = judged(take=take, quantity=quantity, published=published, unit="%", direction=direction)
    assert outcome == (pytest.approx(measured), verdict)


def test_grid_points_are_listed_within_their_setting():
    assert grid().labels(["buffer"], []) == [("10",), ("20",), ("40",)]
    assert grid().labels(["buffer", "cc"], ["20"]) == [("20", "a"), ("20", "b")]
    assert grid().labels([], ["20"]) == [()]
    with refused(Exception, snapshot("grid: unknown axis `size`; valid: buffer, cc")):
        grid().labels(["size"], [])


# ---------------------------------------------------------------- Windows


def window(sizes, lost_at=()):
    """One sample a second; something is sent again in the second before each of `lost_at`."""
    times = np.arange(len(sizes), dtype=float)
    return np.array([times, sizes, np.searchsorted(sorted(lost_at), times, side="right")], dtype=float)


OVERSHOOT = window([10, 40, 80, 60, 20, 21, 30, 25], lost_at=[4])


def test_slow_start_ends_when_the_first_loss_is_repaired():
    assert series.after_slow_start(OVERSHOOT)[1].tolist() == [20, 21, 30, 25]
    assert series.after_slow_start(window([1, 2, 4]))[1].tolist() == [1, 2, 4]
    runs = measurements("w", [measured_run({"cc": "x"}, 1, {}, {0: OVERSHOOT})])
    assert mean(runs, "window_peak", ["x"], {}) == 30
    assert mean(runs, "window_reaches", ["x"], {"packets": 21}) == 5
    assert mean(runs, "window_reaches", ["x"], {"packets": 31}) == math.inf


def test_flows_begin_to_meet_when_the_largest_window_gives_way():
    late = window([0, 0, 10, 20, 20, 38, 40, 41])
    early = window([90, 80, 70, 69, 68, 42, 40, 41])
    assert series.turning([early, late]) == 1
    assert series.turning([early, late[:, 2:]]) == 5, "not before the last flow is there"
    assert series.turning([early[:, :4], late[:, 2:]]) == math.inf
    runs = measurements("w", [measured_run({"cc": "x"}, 1, {}, {0: early, 1: late[:, 2:]})])
    assert mean(runs, "window_turning", ["x"], {}) == 5


def test_the_mean_window_is_that_of_the_flows_that_are_there():
    times, sizes = series.mean_window([window([4, 6, 8]), window([0, 2, 4, 6])[:, 1:]])
    assert times.tolist() == [0, 1, 2, 3]
    assert sizes.tolist() == [4, 4, 6, 6]


def test_the_systems_throughput_is_all_data_over_the_time_of_all():
    """One flow takes 4 s for 40 Mb, the other is cut off after 10 s with 30 Mb."""
    flows = [{"flow": 0, "goodput_mbps": 10, "completion_s": 4}, {"flow": 1, "goodput_mbps": 3, "completion_s": None}]
    runs = measurements("w", [measured_run({"cc": "x"}, 1, {"flows": flows, "duration_s": 10})])
    assert mean(runs, "system_throughput", ["x"], {}) == 7
    assert mean(runs, "system_throughput", ["x"], {"flow": 1}) == 10


def test_code_lines_leave_out_comments_and_empty_lines(tmp_path, monkeypatch):
    folder = tmp_path / "congestion"
    folder.mkdir()
    (folder / "mine.bpf.c").write_text("/* one\n * two */\n#include <x.h>\n\nint a; // three\n\t// four\nint b;\n")
    monkeypatch.setattr("unbloat.claims.quantities.ALGORITHMS", tmp_path)
    assert lines_of("mine") == 3


# ---------------------------------------------------------------- Figures and repeats


def test_lines_have_an_interval_at_every_point(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "matplotlib.axes.Axes.errorbar", lambda _, x, y, widths, **look: drawn.append((list(x), y, widths))
    )
    figure = Figure(
        "figure1",
        "Use",
        "lines",
        ["10", "20", "40"],
        quantity="utilisation",
        unit="%",
        lines=["a", "b"],
        panels=[Panel("all", "grid")],
    )
    files = paper_figures.draw(undrawn([figure]), {"grid": grid()}, tmp_path)
    assert [file.name for file in files] == ["figure1.svg"]
    interval = 12.706204736432095  # Student, one degree of freedom; the standard error of 0 and 2 is 1.
    places, means, (down, up) = drawn[0]
    assert places == pytest.approx([-0.04, 0.96, 1.96]) and means == [51, 91, 71]
    assert list(down) == pytest.approx([interval] * 3)
    assert list(up) == pytest.approx([interval, 9, interval]), "no link is used by more than 100 %"


def test_what_is_published_is_drawn_over_lines_and_windows():
    panel = Panel("all", "grid", [], [[50.0, math.nan, 70.0], [20.0, 60.0, math.nan]])
    groups = ["10", "20", "40"]
    figure = Figure("f", "Use", "lines", groups, quantity="utilisation", unit="%", lines=["a", "b"], panels=[panel])
    (axes,) = paper_figures.figure_of(figure, {"grid": grid()}).axes
    dashes = [line for line in axes.lines if line.get_marker() == "_" and line.get_markersize() > 10]
    assert [list(line.get_ydata()) for line in dashes] == [
        pytest.approx(heights, nan_ok=True) for heights in panel.published
    ]
    runs = [measured_run({"cc": cc}, 1, {"flows": [{"cc": cc}]}, {0: OVERSHOOT}) for cc in ("a", "b")]
    figure = Figure("f", "Windows", "window", ["a", "b"], "grid", published=[31.0, 26.0])
    panels = paper_figures.figure_of(figure, {"grid": measurements("grid", runs)}).axes
    assert [[line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"] for axes in panels] == [
        [31.0],
        [26.0],
    ]


def test_a_curve_has_one_quantity_against_the_other(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "matplotlib.axes.Axes.errorbar", lambda _, x, y, up, across, **look: drawn.append((x, y, up[0], across[0]))
    )
    figure = Figure(
        "figure1",
        "Use against itself",
        "curve",
        ["10", "20", "40"],
        quantity="utilisation",
        unit="%",
        against="utilisation",
        against_unit="%",
        axis="buffer",
        lines=["a", "b"],
        panels=[Panel("all", "grid")],
    )
    (axes,) = paper_figures.figure_of(figure, {"grid": grid()}).axes
    assert drawn[0][:2] == ([51, 91, 71], [51, 91, 71]) and drawn[1][1] == [21, 61, 96]
    assert list(drawn[0][2]) == list(drawn[0][3])
    assert [text.get_text() for text in axes.texts] == ["buffer = 10", "buffer = 40"] * 2


def test_mean_windows_have_a_line_for_each_control(tmp_path):
    runs = [measured_run({"cc": cc}, 1, {}, {0: OVERSHOOT, 1: OVERSHOOT}) for cc in ("a", "b")]
    figure = Figure("figure1", "Windows", "mean_window", ["a", "b"], panels=[Panel("all", "grid")])
    (file,) = paper_figures.draw(undrawn([figure]), {"grid": measurements("grid", runs)}, tmp_path)
    assert "mean cwnd (packets)" in file.read_text()


def test_distributions_are_over_the_flows_of_a_group_in_all_repeats():
    def run(cc, seed, *completions):
        names = ("page", "film", "page")
        flows = [
            {"flow": number, "name": name, "completion_s": value}
            for number, (name, value) in enumerate(zip(names, completions, strict=True))
        ]
        return measured_run({"cc": cc}, seed, {"flows": flows, "sound": True})

    runs = measurements("grid", [run("a", 1, 2.0, 9.0, 1.0), run("a", 2, 3.0, 9.0, None), run("b", 1, 0.1, 0.1, 0.1)])
    figure = Figure("figure1", "Waits", "ecdf", ["page"], quantity="completion", unit="s", lines=["a", "b"],
                    panels=[Panel("all", "grid")])  # fmt: skip
    (axes,) = paper_figures.figure_of(figure, {"grid": runs}).axes
    x, y = axes.lines[0].get_data()
    assert list(x) == [1, 1, 2, 3] and list(y) == [0, 0.25, 0.5, 0.75], "one of four pages never came"
    assert axes.get_xlabel() == "completion (s)" and axes.get_ylabel() == "share of flows"


def test_distributions_are_over_the_packets_by_percentiles_and_have_the_published_values_across():
    def run(seed, *percentiles):
        sent = {f"sndbuf_percent_p{name}": value for name, value in zip((10, 90), percentiles, strict=True)}
        return measured_run(
            {"app": "a"}, seed, {"flows": [sent | {"flow": 0}, dict.fromkeys(sent) | {"flow": 1}], "sound": True}
        )

    figure = Figure("figure1", "Full", "ecdf", [], quantity="sndbuf", unit="%", lines=["a"], published=[50.0],
                    percentiles=[10, 90], panels=[Panel("all", "grid")])  # fmt: skip
    runs = measurements("grid", [run(1, 40.0, 80.0), run(2, 60.0, 90.0)])
    (axes,) = paper_figures.figure_of(figure, {"grid": runs}).axes
    published, line = axes.lines
    assert list(line.get_xdata()) == [50, 85] and list(line.get_ydata()) == [0.1, 0.9]
    assert set(published.get_xdata()) == {50} and axes.get_ylabel() == "share of packets"


def test_small_rates_have_a_unit_that_suits_them():
    panel = Panel("p", "grid")
    runs = [measured_run({"cc": cc}, 1, {"flows": [{"goodput_mbps": rate}], "sound": True})
            for cc, rate in (("a", 0.002), ("b", 0.003))]  # fmt: skip
    figure = Figure("figure1", "Goodput", "bars", ["a", "b"], quantity="goodput", unit="Mb/s", bars=[Bar("all")],
                    panels=[panel, panel])  # fmt: skip
    left, right = paper_figures.figure_of(figure, {"grid": measurements("grid", runs)}).axes
    assert left.get_ylabel() == "goodput (kb/s)" and right.get_ylabel() == ""
    assert right.yaxis.get_major_formatter()(0.002, 0) == "2"


def test_windows_and_rates_show_the_flows_asked_for_and_name_controls(tmp_path):
    flows = dict.fromkeys(range(20), OVERSHOOT)
    record = {"flows": [{"cc": "background"}, *({"cc": "burst"} for _ in range(19))]}
    runs = {"grid": measurements("grid", [measured_run({"cc": "a"}, 1, record, flows, flows)])}
    figures = [Figure(f"figure{kind}", "Over time", kind, ["a"], "grid", flows=2) for kind in ("window", "rates")]
    for file, quantity in zip(paper_figures.draw(undrawn(figures), runs, tmp_path), ("cwnd", "goodput"), strict=True):
        drawn = file.read_text()
        assert f"a: {quantity} (" in drawn and "background" in drawn and "burst" in drawn
        assert COLOURS[1].lower() in drawn and COLOURS[2].lower() not in drawn


def paper_with(figures, seeds=3, full=30, folder=None):
    return Paper("p", "t", "a", "w", folder, BOUNDS, seeds, full, {}, [], [], figures, [])


def undrawn(figures):
    return JudgedPaper(paper_with(figures), [], [])


def test_all_repeats_are_those_of_the_paper():
    assert paper_with([]).with_all_repeats().seeds == 30
    with refused(PaperError, snapshot("p always makes all its repeats, 3")):
        paper_with([], full=3).with_all_repeats()


SCENARIO = """
duration = "1s"
link.bottleneck = { rate = "1mbit", delay = "10ms", queue = { limit = "10p" } }
flows = [{ cc = "reno" }]
sweep = { "flows.0.cc" = ["reno", "cubic", "vegas"] }
"""


def test_the_forecast_takes_grid_points_from_all_over_the_grid(tmp_path, monkeypatch):
    """12 million packets a grid point, 24 million in 24 s: 3 grid points take 36 s for each repeat."""
    (tmp_path / "grid.toml").write_text(SCENARIO)
    figure = Figure("figure1", "Use", "lines", ["10"], lines=["a"], panels=[Panel("all", "grid")])
    paper = paper_with([figure], full=40, folder=tmp_path).with_all_repeats()
    used = iter((4.0, 28.0))
    asked = []

    def simulate(_, seeds, only):
        cells = [cc for cc in ("reno", "cubic", "vegas") if only({"flows.0.cc": cc})]
        asked.append((list(seeds), cells))
        return [measured_run({"flows.0.cc": cc}, 1, {"flows": [{"sent_packets": 6e6}] * 2}) for cc in cells]

    monkeypatch.setattr("unbloat.papers.forecast._processor_s", lambda: next(used))
    monkeypatch.setenv("UNBLOAT_CACHE", str(tmp_path / "cache"))
    told = sampled([paper], simulate, 2)
    assert told.words == snapshot(
        "3 grid points, 3 to 40 times each where they draw anything: 0.0 to 0.4 processor hours, 0:54 to 12:00 on 2 idle processors"
    )
    assert told.durations_s == [1.0] * 9, "three repeats of three grid points at least"
    assert asked == [([1], ["reno", "vegas"])]


def test_the_forecast_leaves_out_what_is_kept_and_remembers_the_pace(tmp_path, monkeypatch):
    """A first start learns 1 million packets a second and is killed after all first and second repeats."""
    (tmp_path / "grid.toml").write_text(SCENARIO)
    figure = Figure("figure1", "Use", "lines", ["10"], lines=["a"], panels=[Panel("all", "grid")])
    paper = paper_with([figure], full=40, folder=tmp_path).with_all_repeats()
    monkeypatch.setenv("UNBLOAT_CACHE", str(tmp_path / "cache"))
    really = simulator(cache=None, jobs=1)

    def simulate(*what):
        counted = {"flows": [{"sent_packets": 12e6}]}
        return [dataclasses.replace(run, run=counted) for run in really(*what)]

    used = iter((4.0, 28.0, 28.0, 28.001))
    monkeypatch.setattr("unbloat.papers.forecast._processor_s", lambda: next(used))
    told = sampled([paper], simulate, 2).words
    assert told == snapshot(
        "3 grid points, 3 to 40 times each where they draw anything, 2 of at most 120 runs kept: 0.0 to 0.4 processor hours, 0:42 to 11:48 on 2 idle processors"
    )
    (batch,) = batches_of(paper)
    really(batch, (1, 2), batch.wants)
    told = sampled([paper], simulate, 2).words
    assert told == snapshot(
        "3 grid points, 3 to 40 times each where they draw anything, 6 of at most 120 runs kept: 0.0 to 0.4 processor hours, 0:18 to 11:24 on 2 idle processors"
    )


def test_no_interval_reaches_beyond_what_there_can_be():
    three = [estimate(values) for values in ([0.9, 0.95, 1.0], [0.0, 0.01, 0.05], [0.5, 0.5, 0.5])]
    down, up = paper_figures.reaches(three, "jain")
    assert up == pytest.approx([0.05, three[1].half_width, 0]) and three[0].half_width > 0.1
    assert down == pytest.approx([three[0].half_width, 0.02, 0])
    assert paper_figures.reaches(three, "rtt")[1] == pytest.approx([three[0].half_width, three[1].half_width, 0])


def bars(published):
    panel = Panel("all", "grid", [], [published])
    figure = Figure("figure1", "Use of the link by two controls: " + "and so on " * 12, "bars", ["10", "20", "40"])
    return replace(figure, quantity="utilisation", unit="%", bars=[Bar("first", ["a"])], panels=[panel])


LINES = Figure("figure1", "Use", "lines", ["10"], "", [], "utilisation", "%", "buffer", ["a"], [], [Panel("p", "grid")])


TWO_LINES = replace(LINES, lines=["a", "b"])


@pytest.mark.parametrize("figure", [bars([50.0, 90.0, 117.0]), TWO_LINES], ids=["bars", "lines"])
def test_names_cover_nothing_that_is_drawn_and_the_title_is_whole(figure):
    with mpl.rc_context(LOOK):
        canvas = paper_figures.figure_of(figure, {"grid": grid()})
        canvas.draw_without_rendering()
    (legend,) = canvas.legends
    assert not any(legend.get_window_extent().overlaps(axes.get_window_extent()) for axes in canvas.axes)
    (title,) = canvas.texts
    assert canvas.bbox.contains(*title.get_window_extent().max) and title.get_window_extent().x0 >= 0


def test_bars_stand_over_hops_and_each_may_have_its_quantity():
    flows = [
        {"hops": hops, "goodput_mbps": goodput, "rtt_ms_mean": 10.0 * hops}
        for hops, goodput in ((1, 4.0), (1, 2.0), (2, 1.0))
    ]
    runs = {"tree": measurements("tree", [measured_run({"cc": "a"}, 1, {"flows": flows})])}
    fields = {"groups": ["1", "2"], "by": "hops", "axis": "hops", "panels": [Panel("p", "tree")]}
    both = [Bar("goodput", ["a"]), Bar("RTT", ["a"], quantity="rtt")]
    figure = Figure("f", "Over hops", "bars", quantity="goodput_mean", bars=both, **fields)
    (axes,) = paper_figures.figure_of(figure, runs).axes
    assert [[bar.get_height() for bar in bars] for bars in axes.containers] == [[3.0, 1.0], [10.0, 20.0]]
    assert (axes.get_xlabel(), [label.get_text() for label in axes.get_xticklabels()]) == ("hops", ["1", "2"])
    nobody = replace(figure, groups=["1", "3"])
    with refused(ClaimError, snapshot("no flow of the run has hops=3")):
        paper_figures.figure_of(nobody, runs)


def test_a_lone_line_needs_no_name():
    assert not paper_figures.figure_of(LINES, {"grid": grid()}).legends


def test_the_points_of_several_lines_do_not_stand_on_each_other():
    figure = replace(TWO_LINES, groups=["10", "20"])
    canvas = paper_figures.figure_of(figure, {"grid": grid()})
    drawn = [container[0].get_xdata() for container in canvas.axes[0].containers]
    assert len(drawn) == 2 and set(drawn[0]).isdisjoint(drawn[1])


def test_flows_of_several_controls_are_named_beside_their_panel():
    record = {"flows": [{"cc": "a"}, {"cc": "b"}]}
    runs = {"grid": measurements("grid", [measured_run({"cc": "a"}, 1, record, {0: OVERSHOOT, 1: OVERSHOOT})])}
    canvas = paper_figures.figure_of(Figure("f", "Over time", "window", ["a"], "grid"), runs)
    canvas.draw_without_rendering()
    axes = canvas.axes[0]
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1 - 1


def test_a_control_has_one_colour_in_all_panels_and_figures():
    """Two flows of CLPC beside CLPC and Reno: the second of them must not look like Reno."""
    records = [{"flows": [{"cc": "clpc"}, {"cc": other}]} for other in ("reno", "clpc")]
    flows = {0: OVERSHOOT, 1: OVERSHOOT}
    runs = [measured_run({"p": p}, 1, record, flows) for p, record in zip("xy", records, strict=True)]
    canvas = paper_figures.figure_of(
        Figure("f", "", "window", ["x", "y"], "grid"), {"grid": measurements("grid", runs)}
    )
    legends = [axes.get_legend() for axes in canvas.axes]
    shown = [
        {
            text.get_text(): (line.get_color(), line.get_linestyle())
            for text, line in zip(each.get_texts(), each.get_lines(), strict=True)
        }
        for each in legends
    ]
    assert [list(names) for names in shown] == [["clpc", "reno"], ["clpc #0", "clpc #1"]]
    (clpc, solid), (reno, _), (first, _), (second, dashed) = (look for names in shown for look in names.values())
    assert clpc == first == second != reno and solid != dashed
    many = [["clpc", "reno"], ["reno", "ledbat"], [str(number) for number in range(8)]]
    hues = paper_figures.hues_of(many)
    assert hues[0]["reno"] == hues[1]["reno"] != hues[1]["ledbat"] and len(set(hues[2].values())) == 8


def test_a_number_of_what_was_not_measured_is_not_reproduced():
    runs = measurements(
        "grid", [measured_run({"cc": "a"}, seed, {"flows": [{"rtt_ms_mean": None}]}) for seed in (1, 2)]
    )
    claim = Claim(id="c", says="s", quantity="rtt(a)", published="5", unit="ms", direction="rtt(a) > 0")
    assert judge_claim(claim, [], runs, BOUNDS).verdict == "not reproduced"
