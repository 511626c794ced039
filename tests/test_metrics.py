"""The register of metrics: everything that results hold is in it, and everybody uses its words."""

import math
import os
from pathlib import Path

import pytest
import record_types
import unbloat as ub
from inline_snapshot import snapshot
from made_up_runs import measured_run
from sentences import refused
from unbloat.claims.quantities import QUANTITIES, taken
from unbloat.comparison.tolerance import criteria_of
from unbloat.report.results_tables import text_of_points, text_of_runs
from unbloat.results import rows
from unbloat.results.metrics import BY_KEY, COLUMNS, METRICS, USER_PERCEIVED, folded, markdown

pytestmark = pytest.mark.usefixtures("shared_runs")

TWO = '\n[[flows]]\ncc = "cubic"\nsize = "300kb"\n'


def described(table: str) -> set[str]:
    metrics = {"runs": "run", "flows": "flow", "links": "link"}
    own = {name for name, metric in METRICS.items() if metric.of == metrics.get(table)}
    return own | {column.name for each in ("every table", table) for column in COLUMNS[each]}


def test_every_column_is_defined(small: Path) -> None:
    lossy = {"flows.0.name": "first", "link.bottleneck.loss": "1%", "link.bottleneck.duplicate": "1%"}
    swept = ub.scenario(small.read_text() + TWO, lossy).run(repeat=2)
    tables = {
        **{"runs": swept.runs, "flows": swept.flows, "links": swept.links, "stats": swept.stats},
        **{"flow_series": swept.series("flows"), "link_series": swept.series("links")},
        **{"rtt_distribution": swept.series("rtt"), "queue_delay_distribution": swept.series("queue_delay")},
    }
    assert tables.keys() | {"every table", "nodes"} == COLUMNS.keys()  # Nodes: tests/test_mesh.py
    for name, table in tables.items():
        assert set(table) <= described(name), name
        absent = {
            "AXIS",
            "AXIS_UNIT",
            "on",
            "kernel",
            "run",
            "repeat",
            "seed",
            "sound",
            "scenario",
            "retries",
            "mesh",
            "node",
            "hops",
        }
        assert described(name) - set(table) <= absent | USER_PERCEIVED, name


def test_the_reference_has_every_column_with_its_unit_and_its_words() -> None:
    page = markdown()
    for metric in METRICS.values():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{metric.name}` | `{metric.key}` |"))
        assert f"| {metric.heading} | {metric.unit} |" in line and metric.definition in line
        assert metric.definition.endswith(".") and (metric.of != "flow") == (metric.fold is None)
    for columns in COLUMNS.values():
        for column in columns:
            assert f"| `{column.name}` | {column.definition} |" in page
    assert all(line.count("|") in (0, 3, 6, 7) for line in page.replace("\\|", "").splitlines())


def test_units_end_the_names() -> None:
    endings = {
        "Mbit/s": "mbps",
        "packets": "packets",
        "%": "percent",
        "ms": "ms",
        "us": "us",
        "s": "s",
        "B": "bytes",
        "mJ": "mj",
    }
    counts = {"timeouts", "jain_index", "drops", "wire_losses", "duplicates", "marks", "retries"}
    counts |= {
        "rating",
        "rating_out",
        "rating_in",
        "opinion_score",
        "stalls",
        "quality_switches",
        "unfinished",
        "skipped",
    }
    counts |= {name for name in USER_PERCEIVED if name.startswith("buffered_windows")}
    counts |= {"loss_events", "overflows", "frames", "frame_retries", "channel_failures", "unacknowledged"}
    for metric in METRICS.values():
        assert metric.name in counts or endings[metric.unit] in metric.name.split("_"), metric.name


def test_goodput_above_the_link_rate_is_explained(small: Path) -> None:
    results = ub.scenario(small).run()
    (record,) = results
    whole = "above its throughput"
    assert whole not in text_of_runs(results) + str(ub.compare(results, results))
    flow = record.run["flows"][0]
    ahead = ub.Results([ub.Record({}, record.run | {"flows": [flow | {"goodput_mbps": 4.02, "throughput_mbps": 4.0}]})])
    for said in (text_of_runs(ahead), str(ub.compare(results, ahead))):
        assert whole in " ".join(said.split())


def test_papers_and_comparisons_measure_what_the_register_says(small: Path) -> None:
    run = ub.scenario(small.read_text() + TWO).run()[0].run
    measured = measured_run({}, 1, run)
    values = {key: taken(QUANTITIES[key], measured, {}) for key in BY_KEY}
    known = {key for key, value in values.items() if math.isfinite(value)}
    assert {"goodput", "throughput", "loss", "retransmissions", "rtt", "queue_delay", "jain"} <= known
    for key in known:
        (criterion,) = (each for each in criteria_of({key: "1%"}) if each.name == key)
        assert criterion.take(run) == pytest.approx(values[key]), key


def test_flows_fold_as_the_register_says() -> None:
    flows = [
        {"goodput_mbps": 1.0, "sent_packets": 100, "lost_packets": 10, "rtt_ms_max": 30.0, "completion_s": 2.0},
        {"goodput_mbps": 2.0, "sent_packets": 300, "lost_packets": 10, "rtt_ms_max": 20.0, "completion_s": None},
    ]
    together = folded(flows)
    assert (together["goodput_mbps"], together["loss_percent"], together["rtt_ms_max"]) == (3.0, 5.0, 30.0)
    assert together["completion_s"] is None and together["rtt_ms_mean"] is None
    assert folded(flows[:1])["completion_s"] == 2.0


def test_the_screen_uses_the_words_of_the_register(small: Path) -> None:
    text = text_of_runs(ub.scenario(small).run())
    for name in ("goodput_mbps", "retransmitted_packets", "utilisation_percent", "queue_delay_ms_mean", "drops"):
        assert METRICS[name].heading in text, name
    assert "cc" in text and not any(word in text for word in ("control", "resent", "waiting", "used"))


def test_a_sweep_s_table_tells_flows_with_several_controls_apart(small: Path) -> None:
    """The question of most studies: ours against CUBIC in the same run."""
    swept = ub.scenario(small.read_text() + TWO, {"link.bottleneck.loss": "1%"}).run(repeat=2)
    lines = [line.split() for line in text_of_points(swept).splitlines()[6:9]]
    stats = swept.stats.set_index(["of", "metric"])["mean"]
    assert [line[:2] for line in lines] == [["all", "2"], ["0", "reno"], ["1", "cubic"]]
    assert float(lines[1][2]) == pytest.approx(stats["flow 0", "goodput_mbps"], rel=0.05)
    alone = text_of_points(ub.scenario(small, {"flows.0.count": 2, "link.bottleneck.loss": "1%"}).run(repeat=2))
    assert "flow" not in alone


def test_the_metrics_of_a_sweep_s_table_can_be_chosen(small: Path) -> None:
    swept = ub.scenario(small, {"link.bottleneck.loss": "1%"}).run(repeat=2)
    text = text_of_points(swept, ["rtt_p95", "queue_bytes_mean"])
    assert text_of_points(swept, ["rtt_mean"]) == text_of_points(swept, ["rtt"]), "as the table heads the column"
    assert "p95" in text and "queue" in text and "goodput" not in text
    with refused(
        ub.InputError,
        snapshot(
            "unknown metric colour; the metrics are bitrate, buffer, buffered_windows, buffered_windows_p10, buffered_windows_p25, buffered_windows_p50, buffered_windows_p75, buffered_windows_p90, completion, cpu_idle, cwnd, delay, delay_max, delay_p50, delay_p95, delay_p99, drops, duplicates, goodput, jain, lateness_p99, loss, loss_events, losses, marks, opinion, page_load, page_load_max, page_load_p50, page_load_p95, page_load_p99, queue_bytes, queue_delay, queue_delay_max, queue_delay_p50, queue_delay_p95, queue_delay_p99, rating, rating_in, rating_out, receiver_rtt, response, response_max, response_p50, response_p95, response_p99, retransmissions, retries, rtt, rtt_max, rtt_min, rtt_p50, rtt_p95, rtt_p99, sent, skipped, sndbuf, sndbuf_half_full, sndbuf_half_full_after, sndbuf_p10, sndbuf_p25, sndbuf_p50, sndbuf_p75, sndbuf_p90, stalled, stalls, startup, switches, throughput, timeouts, unfinished, utilisation, wait, wire_losses, wmem_queued"
        ),
    ):
        text_of_points(swept, ["colour"])


def test_rows_have_the_types_of_the_register() -> None:
    file = Path(rows.__file__)
    if os.environ.get("REGENERATE"):
        file.write_text(record_types.source(), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == record_types.source(), "REGENERATE=1 writes it anew"
