"""The numbers of a measured line."""

import math

import pandas as pd
import pytest
from unbloat.line.measurement import About, Measurement, measurement_of
from unbloat.line.summary import median_over_time, summary

LEAST_MS, OTHERS_MS, LOADED_MS = 20.0, 30.0, 100.0


def measured(requests: dict[str, list[object]] | None = None) -> Measurement:
    """Make an idle phase in which others use the line most of the time, and a download."""
    idle = [LEAST_MS, *[LEAST_MS + OTHERS_MS] * 9]
    rtts = [*idle, *[LOADED_MS] * 10]
    probes: dict[str, list[object]] = {
        "phase": [*["idle"] * 10, *["down"] * 10],
        "sent_s": [number / 10 for number in range(20)],
        "rtt_ms": [*rtts],
        "up_ms": [rtt / 2 for rtt in rtts],
        "down_ms": [rtt / 2 for rtt in rtts],
    }
    phases: dict[str, list[object]] = {"phase": ["idle", "down"], "start_s": [0.0, 1.0], "stop_s": [0.99, 2.5]}
    return measurement_of(About("far.example"), {"phases": phases, "probes": probes, "requests": requests or {}})


def test_what_others_add_to_the_idle_line_counts_as_added() -> None:
    found = summary(measured())
    assert found.idle_rtt_ms == LEAST_MS + OTHERS_MS
    assert found.loads["down", "down"].added_ms == LOADED_MS - LEAST_MS


def test_parts_of_requests_count_that_began_under_load() -> None:
    new = ("down", "foreign")
    rows: list[tuple[object, ...]] = [
        (*new, 1.2, 900.0, 1.0, 1.0),  # The TCP handshake began in the warm-up, the others did not.
        (*new, 2.0, 100.0, 100.0, 100.0),
        (*new, 2.45, 100.0, 900.0, 900.0),  # The TLS handshake began when the load had ended.
        ("down", "self", 2.0, math.nan, math.nan, 300.0),
        ("down", "self", 2.6, math.nan, math.nan, 900.0),
    ]
    names = ("phase", "kind", "sent_s", "tcp_ms", "tls_ms", "http_ms")
    rpm = summary(measured({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}))
    # The TLS and HTTP parts of the first and the second one count, and the TCP handshakes of the second and third.
    assert rpm.loads["down", "down"].rpm == pytest.approx(60_000 / ((100 + 50.5 + 50.5) / 6 + 300 / 2))


def test_a_median_over_time_counts_rare_probes_for_longer() -> None:
    # Ten probes in the first second, and three in the next two, while the queue was long.
    probes = pd.DataFrame({"sent_s": [*[each / 10 for each in range(10)], 1.0, 1.7, 2.4]})
    probes["rtt_ms"] = [*[20.0] * 10, *[500.0] * 3]
    assert probes["rtt_ms"].median() == 20
    assert median_over_time(probes) == pytest.approx(500)


def test_a_median_over_time_of_even_probes_is_the_plain_one() -> None:
    probes = pd.DataFrame({"sent_s": [0.0, 0.1, 0.2, 0.3], "rtt_ms": [40.0, 10.0, 20.0, 30.0]})
    assert median_over_time(probes) == pytest.approx(probes["rtt_ms"].median())
    assert median_over_time(probes.head(1)) == 40
    assert median_over_time(probes.assign(rtt_ms=math.nan)) is None
