"""Figures: written in every format, the same each time, readable: names beside what they name, none on another."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from sentences import refused
from unbloat import _core
from unbloat.report.figures.draw import panels_of
from unbloat.report.figures.kinds import OF_SOCKETS, OVER_TIME, WITHIN_RUNS, Width
from unbloat.report.figures.lines import Line, band_of, smooth, spaced
from unbloat.report.figures.series import delay_ms
from unbloat.report.figures.style import save
from unbloat.report.names import facts_of

pytestmark = pytest.mark.usefixtures("shared_runs")

OF_ALL = [kind for kind in OVER_TIME if kind not in OF_SOCKETS]
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
WIDTHS: list[Width] = ["page", "slide", "column"]
UNITS = {"cwnd": "packets", "queue": "kB", "goodput": "Mbit/s", "throughput": "Mbit/s"}


def line(x: object, y: object) -> Line:
    return Line("", (), 0, 0, np.array(x, dtype=float), np.array(y, dtype=float))


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def extents(figure: Figure) -> list[tuple[str, Bbox]]:
    """Where every text of a figure stands once it is laid out, in pixels."""
    figure.draw_without_rendering()
    found = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    shown = [text for text in found if text.get_visible() and text.get_text().strip()]
    # The extent of an annotation has its leader in it.
    return [(text.get_text(), Text.get_window_extent(text)) for text in shown]


def is_whole(figure: Figure) -> bool:
    """Tell whether all that is drawn lies in the picture."""
    figure.draw_without_rendering()
    drawn, room = figure.get_tightbbox(), figure.bbox_inches
    spare = 0.02
    return bool(drawn.x0 > -spare and drawn.y0 > -spare and drawn.x1 < room.x1 + spare and drawn.y1 < room.y1 + spare)


# ---------------------------------------------------------------- Files


@pytest.mark.parametrize("kind", MAGIC)
def test_every_format_is_written(cli: Cli, small: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"out.{kind}"
    assert cli("run", small, "--figure", file, "--plot", "cwnd,rtt,queue,goodput,cdf").returncode == 0
    assert file.read_bytes().startswith(MAGIC[kind])
    assert file.stat().st_size > 5000


def test_the_same_figure_is_the_same_bytes(small: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        save(ub.scenario(small).run().plot("queue"), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"Matplotlib" not in files[0].read_bytes(), "another version of Matplotlib is no other figure"


def test_a_kind_that_there_is_not_is_refused(small: Path) -> None:
    with refused(
        ub.InputError,
        snapshot(
            "plot: unknown value pie; valid: cwnd, rtt, queue, queue_delay, goodput, throughput, send_queue, send_buffer, rtt_cdf, rtt_ccdf, rtt_box, queue_delay_cdf, queue_delay_ccdf, queue_delay_box, lines, bars, heatmap, delay_throughput, box, ecdf, eccdf, mesh, comparison, cdf, ccdf"
        ),
    ):
        ub.scenario(small).run().plot("pie")
    with refused(ub.InputError, snapshot("width: unknown value poster; valid: page, slide, column")):
        ub.scenario(small).run().plot("cwnd", width="poster")  # type: ignore[arg-type]


# ---------------------------------------------------------------- What can be read


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off(width: Width, sweep: Path) -> None:
    results = ub.scenario(
        sweep, {"flows.0.count": 2, "flows.0.stagger": "300ms", "name": "a rather long name " * 4}
    ).run()
    for kinds in [list(OF_ALL), list(WITHIN_RUNS), ["box", "bars", "lines"], ["ecdf", "delay_throughput"]]:
        assert is_whole(results.plot(*kinds, width=width)), kinds
    assert is_whole(results.plot("heatmap", width=width))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_name_of_a_line_lies_on_another(width: Width, sweep: Path) -> None:
    figure = (
        ub.scenario(sweep, {"flows.0.count": 2, "flows.0.stagger": "300ms"})
        .run()
        .plot("cwnd", "queue_delay", width=width)
    )
    boxes = [(text, box) for text, box in extents(figure) if any(text in texts(axes) for axes in figure.axes)]
    assert len(boxes) > 8
    for (a, first), (b, second) in combinations(boxes, 2):
        overlap = Bbox.intersection(first, second)
        assert overlap is None or overlap.height < 0.25 * min(first.height, second.height), (a, b)


def test_type_is_as_large_as_the_place_asks_for(small: Path) -> None:
    results = ub.scenario(small).run()
    sizes = {}
    for width in WIDTHS:
        figure = results.plot(width=width)
        sizes[width] = figure.get_size_inches()[0]
        smallest = min(text.get_fontsize() for text in figure.findobj(Text) if isinstance(text, Text))
        assert smallest >= {"page": 7.5, "slide": 15, "column": 6}[width]
    assert sizes["slide"] == pytest.approx(13.33) and sizes["column"] < 3.5
    slide = results.plot("cwnd", width="slide").get_size_inches()
    assert slide[0] / slide[1] == pytest.approx(16 / 9, rel=0.01)


def test_logarithms_are_no_formulas(small: Path) -> None:
    figure = ub.scenario(small).run().plot("queue_delay_ccdf")
    assert not [text for text, _ in extents(figure) if "$" in text]


def test_the_title_says_what_the_path_is() -> None:
    run = ub.scenario("home-dsl", {"duration": "5s", "warmup": "1s", "flows.1.start": "1s"}).run()
    assert facts_of(run.records) == snapshot("1 Mbit/s · RTT 32 ms · buffer 256 kB (64 BDP) · cubic")
    figure = run.plot("cwnd")
    assert {"home DSL", facts_of(run.records)} <= {text.strip() for text, _ in extents(figure)}
    swept = ub.scenario("home-dsl", {"duration": "5s", "warmup": "1s", "sweep.link.bottleneck.rate": ["1mbit", "2mbit"],
                                "flows.1.start": "1s"}).run()  # fmt: skip
    assert facts_of(swept.records) == snapshot("RTT 32 ms · buffer 256 kB · rate swept · cubic")


# ---------------------------------------------------------------- Time series


@pytest.mark.parametrize("kind", [*OF_ALL, *WITHIN_RUNS])
def test_every_kind_has_a_line_and_units(small: Path, kind: str) -> None:
    (panel,) = ub.scenario(small, {"flows.0.count": 2}).run().plot(kind).axes
    assert panel.lines
    assert f"({UNITS.get(kind, 'ms')})" in panel.get_xlabel() + panel.get_ylabel()


def test_sockets_of_hosts_have_buffers(small: Path) -> None:
    with refused(
        ub.InputError,
        snapshot(
            "nothing to draw: no flow has a send buffer; only flows of a host ([host.NAME]) in the simulator and flows of a kernel have one"
        ),
    ):
        ub.scenario(small).run().plot("send_buffer")
    text = SMALL.replace("[link.", "[host.pc]\n[link.", 1).replace("[[flows]]", '[[flows]]\nhost = "pc"')
    figure = ub.scenario(text).run().plot(*OF_SOCKETS)
    queue, buffer = (panel.lines[0].get_ydata() for panel in figure.axes)
    assert [panel.get_ylabel() for panel in figure.axes] == ["send queue (kB)", "send buffer (kB)"]
    assert 0 < np.nanmax(queue) <= np.nanmax(buffer) + 3, "the kernel takes one more segment than fits"


def test_goodput_above_the_link_rate_is_explained(small: Path) -> None:
    """What waits behind a lost segment is delivered in one step, at more than the link carries."""
    results = ub.scenario(small, {"link.bottleneck.loss": "1%"}).run(series="10ms")
    (panel,) = results.plot("goodput").axes
    assert max(np.nanmax(line.get_ydata()) for line in panel.lines) > 4.4
    figure = results.plot("goodput", width="column")
    assert " ".join(figure.get_supxlabel().split()) == snapshot(
        "above the link rate: what waited behind a lost segment is delivered at once"
    ) and is_whole(figure)
    figure = results.plot("throughput")
    (panel,) = figure.axes
    assert max(np.nanmax(line.get_ydata()) for line in panel.lines) <= 4.4 and not figure.get_supxlabel()


def test_usually_the_queue_is_in_milliseconds() -> None:
    assert "queue_delay" in panels_of([]) and "queue" not in panels_of([])


def test_a_queue_in_milliseconds_is_its_bytes_over_the_rate(small: Path) -> None:
    """A link of 4 Mbit/s that is busy sends 500 bytes a millisecond."""
    link = ub.scenario(small).run(series="10ms").series("links")
    link = link[(link["link"] == "bottleneck") & link["time_s"].between(1, 1.5)]
    assert (link["queue_bytes"] > 5000).all()
    assert delay_ms(link)[:-10] == pytest.approx(link["queue_bytes"].to_numpy()[:-10] / 500, abs=3.1)


def test_a_queue_waits_for_a_link_that_is_down() -> None:
    """8 kbit/s are 1000 bytes a second; nothing is sent from the 3rd to the 5th second."""
    sent = [0.008, 0.008, 0.008, 0, 0, 0.008, 0.008]
    queue = [500, 0, 1500, 1500, 1500, 500, 100]
    link = pd.DataFrame({"time_s": np.arange(1.0, 8.0), "throughput_mbps": sent, "queue_bytes": queue})
    assert delay_ms(link) == pytest.approx([500, 0, 3500, 2500, 1500, 500, np.nan], nan_ok=True)


def test_what_bounds_a_series_is_drawn(small: Path) -> None:
    """4 Mbit/s, 20 ms there and back and 30 kB: a full buffer takes 60 ms; 20 ms hold 10 000 bytes."""
    marks = {"queue_delay": ("full buffer", 60), "queue": ("buffer", 30), "rtt": ("empty path", 20)}
    marks |= {"goodput": ("link rate", 4), "cwnd": ("bandwidth-delay product", 10_000 / 1500)}
    figure = ub.scenario(small).run().plot(*marks)
    for panel, (name, height) in zip(figure.axes, marks.values(), strict=True):
        levels = [line.get_ydata()[0] for line in panel.lines if len(set(line.get_ydata())) == 1]
        assert levels == [pytest.approx(height)] and name in texts(panel)


def test_a_bound_far_above_the_data_does_not_squeeze_them(small: Path) -> None:
    (panel,) = ub.scenario(small, {"link.bottleneck.queue.limit": "30mb", "duration": "1s"}).run().plot("queue").axes
    highest = max(panel.lines[0].get_ydata())
    assert panel.get_ylim()[1] < 2 * highest
    assert [text for text in texts(panel) if "30 MB" in text] == snapshot(["buffer at 30 MB, far above"])


def test_the_warm_up_is_shaded(small: Path) -> None:
    panels = ub.scenario(small, {"warmup": "500ms"}).run().plot("cwnd", "rtt").axes
    for panel in panels:
        (shade,) = panel.patches
        assert shade.get_extents().transformed(panel.transData.inverted()).intervalx == pytest.approx([0, 0.5])
    assert not ub.scenario(small).run().plot("cwnd").axes[0].patches


def test_a_recorded_link_shows_what_it_could_carry() -> None:
    results = ub.scenario("mobile-lte", {"duration": "10s", "warmup": "1s"}).run(series="100ms")
    link = results.series("links").query("link == 'bottleneck'")
    assert (link["throughput_mbps"] <= link["capacity_mbps"] + 1e-9).all()
    used = link["throughput_mbps"].sum() / link["capacity_mbps"].sum()
    assert used == pytest.approx(results.links["utilisation_percent"][0] / 100, abs=0.1)
    figure = results.plot("goodput")
    assert figure.axes[0].collections and figure.get_supxlabel() == snapshot("shaded: what the link could carry")


def test_names_stand_where_lines_end(tmp_path: Path) -> None:
    """A flow that stops in the middle has its name there, one that goes on beside the panel."""
    file = tmp_path / "named.toml"
    file.write_text(SMALL + 'name = "backup"\n[[flows]]\nname = "photo"\ncc = "cubic"\nstop = "1s"\n')
    results = ub.scenario(file).run(series="10ms")
    (panel,) = results.plot("cwnd").axes
    ends = {text.get_text(): text.xy[0] for text in panel.texts if isinstance(text, Annotation)}
    # What it has on its way when it stops is acknowledged later.
    last = results.series().query("flow == 1 and in_flight_packets > 0")["time_s"].max()
    assert last >= 1 and ends["photo"] == pytest.approx(last, abs=0.02)
    assert ends["backup"] == pytest.approx(2, abs=0.05)


def test_lines_are_named_in_their_colour_and_dashes(sweep: Path) -> None:
    (panel,) = ub.scenario(sweep).run().plot("cwnd").axes
    named = {text.get_text(): text for text in panel.texts if isinstance(text, Annotation)}
    assert named.keys() >= {"reno 15kb", "cubic 60kb"}
    colours = {line.get_color() for line in panel.lines}
    assert {text.get_color() for text in named.values()} <= colours
    looks = {name: (named[name].get_color(), named[name].arrow_patch.get_linestyle())
             for name in ("reno 15kb", "reno 60kb", "cubic 15kb", "cubic 60kb")}  # fmt: skip
    (reno, solid), (_, dashed) = looks["reno 15kb"], looks["reno 60kb"]
    (cubic, _) = looks["cubic 15kb"]
    assert reno != cubic and solid != dashed
    assert looks == {f"{cc} {limit}": (hue, dash) for cc, hue in (("reno", reno), ("cubic", cubic))
                     for limit, dash in (("15kb", solid), ("60kb", dashed))}, "colours are controls"  # fmt: skip


def test_repeats_are_one_line_with_a_band(small: Path) -> None:
    results = ub.scenario(small, {"link.bottleneck.loss": "0.5%", "sweep.seed": [1, 2, 3]}).run()
    (panel,) = results.plot("cwnd", over="time").axes
    (line,) = [line for line in panel.lines if len(line.get_xdata()) > 10]
    series = results.series("flows").pivot(index="time_s", columns="run", values="cwnd_packets").mean(axis=1)
    drawn = pd.Series(line.get_ydata(), index=line.get_xdata()).loc[0.5:1.5]
    assert len(drawn) > 10 and np.allclose(drawn, series[drawn.index])
    assert len(panel.collections) == 1
    assert [text.get_text() for text in panel.figure.texts if "3 runs" in text.get_text()] == snapshot(
        ["line and band: mean of 3 runs, and one standard deviation"]
    )


def test_metrics_are_drawn_over_an_axis(sweep: Path) -> None:
    results = ub.scenario(sweep).run()
    panels = results.plot("goodput", "rtt_p95", over="limit").axes
    assert [panel.get_ylabel() for panel in panels] == ["goodput (Mbit/s)", "RTT p95 (ms)"]
    with refused(
        ub.InputError,
        snapshot(
            "over time: unknown value bars; valid: cwnd, rtt, queue, queue_delay, goodput, throughput, send_queue, send_buffer"
        ),
    ):
        results.plot("bars", over="time")
    with refused(ub.InputError, snapshot("unknown axis rate; valid: flows.0.cc, link.bottleneck.queue.limit")):
        results.plot("goodput", over="rate")


def test_both_directions_are_drawn_where_both_have_a_queue() -> None:
    results = ub.scenario("home-dsl-both-ways", {"duration": "10s", "flows.0.start": "3s"}).run()
    (panel,) = results.plot("queue_delay").axes
    assert {"forward", "reverse", "full buffer (forward)"} <= set(texts(panel))
    (panel,) = results.plot("goodput").axes
    assert {"link rate (forward)", "link rate (reverse)"} <= {text.replace("\n", " ") for text in texts(panel)}
    (panel,) = (
        ub.scenario("home-dsl", {"duration": "5s", "warmup": "1s", "flows.1.start": "1s"})
        .run()
        .plot("queue_delay")
        .axes
    )
    assert "reverse" not in texts(panel)


def test_many_flows_are_bands(small: Path) -> None:
    overrides = {"flows.0.name": "pages", "flows.0.arrivals": {"rate": "30/s"}, "flows.0.size": "5kb"}
    (panel,) = ub.scenario(small, overrides).run().plot("cwnd").axes
    flows = [line for line in panel.lines if len(set(line.get_ydata())) > 1]
    assert len(flows) == 1 and len(panel.collections) == 1
    (name,) = [text for text in texts(panel) if text.startswith("pages")]
    assert int(name.removeprefix("pages (").removesuffix(")")) > 12


def test_flows_that_look_the_same_are_not_named_each(small: Path) -> None:
    """There are fewer colours than flows, though few enough flows to be named."""
    (panel,) = ub.scenario(small, {"flows.0.count": 10}).run().plot("cwnd").axes
    names = texts(panel)
    assert "reno (10)" in names and not any("#" in name for name in names)


def test_many_lines_have_a_panel_for_what_is_compared(sweep: Path) -> None:
    results = ub.scenario(sweep, {"flows.0.count": 4, "duration": "1s"}).run()
    for compared, titles in (
        (results, ["reno, 15kb", "reno, 60kb", "cubic, 15kb", "cubic, 60kb"]),
        (results.only(limit="15kb"), [""]),
    ):
        panels = compared.plot("cwnd").axes
        assert [panel.get_title("left") for panel in panels] == titles
        assert len({panel.get_ylim() for panel in panels}) == 1, "on one scale"


def test_a_band_ends_where_most_of_its_lines_do() -> None:
    """The last that is left is not the median of all."""
    lines = [line([0, 10], [level, level]) for level in range(9)] + [line([0, 20], [100, 100])]
    x, _, middle, _ = band_of(lines)
    assert middle[x < 9.5] == pytest.approx(4.5) and np.isnan(middle[x > 10.5]).all()


def test_a_band_is_of_the_lines_that_there_are() -> None:
    lines = [line([0, 10], [level, level]) for level in range(11)]
    lines.append(line([5, 10], [100, 100]))
    x, low, middle, high = band_of(lines)
    before, behind = x < 4, x > 6
    assert low[before] == pytest.approx(1) and middle[before] == pytest.approx(5) and high[before] == pytest.approx(9)
    assert middle[behind] == pytest.approx(5.5)
    gap = band_of([line([0, 1], [1, 1]), line([9, 10], [3, 3])])
    assert np.isnan(gap[2][(gap[0] > 2) & (gap[0] < 8)]).all()


def test_short_and_long_lines_are_averaged_over_the_same_time() -> None:
    long, short = smooth([line(np.arange(600), np.arange(600) % 2), line(np.arange(60), np.arange(60) % 2)])
    assert np.diff(long.x) == pytest.approx(10) and np.diff(short.x) == pytest.approx(10)
    assert short.y == pytest.approx(0.5)


def test_names_keep_their_distance() -> None:
    assert spaced([0.5, 0.5, 0.52], [0.1, 0.1, 0.1]) == pytest.approx([0.5, 0.6, 0.7])
    assert spaced([0.95, 0.97], [0.1, 0.1]) == pytest.approx([0.85, 0.95])
    assert spaced([0.0, 0.5], [0.2, 0.1]) == pytest.approx([0.1, 0.5])
    crowded = spaced([0.5] * 20, [0.1] * 20)
    assert crowded[0] > 0 and crowded[-1] < 1 and np.diff(crowded) == pytest.approx(0.05)


# ---------------------------------------------------------------- Distributions


def test_a_distribution_begins_where_its_values_do(small: Path) -> None:
    results = ub.scenario(small, {"link.bottleneck.delay": "500ms", "duration": "10s"}).run()
    (panel,) = results.plot("rtt_cdf").axes
    assert panel.get_xlim()[0] > 900
    share = panel.lines[0].get_ydata()
    assert share[0] == 0 and share[-1] == 1 and (np.diff(share) >= 0).all()


def test_a_tail_is_what_is_above(small: Path) -> None:
    results = ub.scenario(small).run()
    whole, tail = (results.plot(kind).axes[0] for kind in ("rtt_cdf", "rtt_ccdf"))
    assert tail.get_yscale() == "log"
    known = np.isfinite(tail.lines[0].get_ydata())
    sums = whole.lines[0].get_ydata()[known] + tail.lines[0].get_ydata()[known]
    assert sums == pytest.approx(1)


def test_distributions_of_many_flows_are_put_together(small: Path) -> None:
    overrides = {"flows.0.name": "pages", "flows.0.arrivals": {"rate": "30/s"}, "flows.0.size": "5kb"}
    results = ub.scenario(small, overrides).run()
    (panel,) = results.plot("rtt_cdf").axes
    assert len(panel.lines) == 1
    box = results.plot("rtt_box").axes[0]
    assert [label.get_text() for label in box.get_yticklabels()] == ["pages"]


# ---------------------------------------------------------------- Names in scenarios


def test_a_name_is_in_the_records_and_changes_nothing_else(small: Path) -> None:
    plain, named = (
        ub.scenario(small, overrides).run().records[0].run for overrides in ({}, {"flows.0.name": "backup"})
    )
    assert named["flows"][0].pop("name") == "backup" and plain == named
    cells = [_core.load(small, overrides)[0] for overrides in ([], [("flows.0.name", "backup")])]
    assert cells[0].settings() == cells[1].settings(), "a name does not change the seeds of a sweep"
    assert (
        '"name":"backup"' in cells[1].json() and cells[0].json().count('"name"') == cells[1].json().count('"name"') - 1
    )


def test_names_and_paths_are_read_back(small: Path, tmp_path: Path) -> None:
    results = ub.scenario(small, {"flows.0.name": "backup"}).run(series=True)
    results.save(tmp_path / "saved")
    back = ub.read(tmp_path / "saved")
    assert back.records[0].run["flows"][0]["name"] == "backup"
    assert facts_of(back.records) == facts_of(results.records) == "4 Mbit/s · RTT 20 ms · buffer 30 kB (3 BDP) · reno"
    assert "full buffer" in texts(back.plot("queue_delay").axes[0])
