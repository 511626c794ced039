"""Flows that come at random, and data both ways: simulated, and with real sockets in a guest."""

import re
from pathlib import Path
from typing import Any

import guests
import pytest
import unbloat as ub
from conftest import Write
from unbloat.report.results_tables import flow_rows

BOTH_WAYS = """
delay = "20ms"
rate  = "4mbit"
queue = { limit = "40p" }
reverse = { queue = { limit = "40p" } }
"""


def test_a_family_s_evening_is_as_its_file_says() -> None:
    """A mean opinion score below 2.6 is one of nearly all users dissatisfied, one above 4 of satisfied (G.107, B.1)."""
    scores = {
        tuple(record.axes.values()): record.run["flows"][2]["opinion_score"]
        for record in ub.scenario("family-evening", {"duration": "40s"}).run()
    }
    assert len(scores) == 10
    assert scores.pop(("fifo", "off")) < 2.6
    assert min(scores.values()) > 4


@pytest.fixture
def both_ways(scenario: Write) -> Path:
    """Give an upload that its receiver's window holds back, beside a download that fills its queue."""
    return scenario(
        BOTH_WAYS,
        'cc = "reno"\nreceive_window = "20kb"',
        'cc = "reno"\nreverse = true',
        top='warmup = "2s"',
        duration="8s",
    )


@pytest.fixture
def short_flows(scenario: Write) -> Path:
    """Give short flows on a link that has room for them."""
    return scenario(
        'rate = "20mbit"\ndelay = "10ms"\nqueue = { limit = "200p" }',
        """
        cc = "reno"
        start = "200ms"
        arrivals = { rate = "12/s" }
        size = { kind = "pareto", mean = "20kb", most = "200kb" }
        """,
        duration="3s",
    )


def test_an_upload_waits_for_its_acknowledgements(both_ways: Path) -> None:
    """They queue behind the data of the download: its queue is in the upload's round trips."""
    upload, download = ub.scenario(both_ways).run().as_dict()["runs"][0]["flows"]
    alone = ub.scenario(both_ways, {"flows.1.size": "1b"}).run().as_dict()["runs"][0]["flows"][0]
    assert alone["rtt_ms_mean"] < 0.6 * upload["rtt_ms_mean"]
    assert alone["goodput_mbps"] > 1.5 * upload["goodput_mbps"]
    assert upload["rtt_ms_mean"] == pytest.approx(download["rtt_ms_mean"], rel=0.1)


def both_backends(file: Path, cache: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the run that is simulated, and the one of real TCP in virtual time."""
    kernel = guests.booted(cache)
    (simulated,), (real,) = (
        ub.scenario(file).run(on=on, kernel=of).as_dict()["runs"] for on, of in (("simulator", None), ("vm", kernel))
    )
    assert real["sound"], real["unsound_because"]
    return simulated, real


def test_data_both_ways_on_a_kernel(both_ways: Path, cache: Path) -> None:
    """Real senders on both sides of the bottleneck do what simulated ones do."""
    simulated, real = both_backends(both_ways, cache)
    for expected, flow in zip(simulated["flows"], real["flows"], strict=True):
        assert flow["goodput_mbps"] == pytest.approx(expected["goodput_mbps"], rel=0.1)
        assert flow["rtt_ms_mean"] == pytest.approx(expected["rtt_ms_mean"], rel=0.15)
    for expected, link in zip(simulated["links"], real["links"], strict=True):
        assert link["link"] == expected["link"]
        assert link["utilisation_percent"] == pytest.approx(expected["utilisation_percent"], rel=0.1)
    # Only the download has ever to wait for room.
    download, back = real["flows"][1], real["links"][1]
    assert real["links"][0]["drops"] == 0 and real["flows"][0]["lost_packets"] == 0
    assert 0 < download["lost_packets"] <= back["drops"]


def test_the_same_flows_open_on_both_backends(short_flows: Path, cache: Path) -> None:
    """As many, of the same sizes, and they take as long."""
    simulated, real = (run["flows"] for run in both_backends(short_flows, cache))
    fresh = [flow["sent_packets"] - flow["retransmitted_packets"] for flow in simulated]
    assert len(fresh) > 20 and max(fresh) > 2 * min(fresh)
    assert [flow["sent_packets"] - flow["retransmitted_packets"] for flow in real] == fresh
    for expected, flow in zip(simulated, real, strict=True):
        assert flow["completion_s"] == pytest.approx(expected["completion_s"], rel=0.2, abs=0.01)


def test_the_table_folds_many_flows(short_flows: Path) -> None:
    """A row for each flow in the records, and one for them all on the screen."""
    results = ub.scenario(short_flows, {"flows.0.arrivals.rate": "300/s", "flows.0.stop": "2s"}).run()
    assert len(results.flows) > 500
    assert len(flow_rows(results.as_dict()["runs"][0])) == 1


def test_a_mean_of_flows_says_of_which_and_how_many_did_not_end(small: Path) -> None:
    web = {"name": "pages", "count": 14, "size": "10kb", "stagger": "153ms"}
    results = ub.scenario(small, {"duration": "2s", **{f"flows.0.{key}": value for key, value in web.items()}}).run()
    ended = results.flows["completion_s"].notna().sum()
    assert 0 < ended < 14
    (row,) = flow_rows(results.as_dict()["runs"][0])
    assert re.findall(r"\d+", row["flow"]) == ["14", str(14 - ended)]


def test_flows_that_ended_in_the_warm_up_are_in_no_mean_of_what_was_measured(small: Path) -> None:
    """Half of them did, and each of the others has the link for itself."""
    web = {"name": "pages", "count": 14, "size": "50kb", "stagger": "200ms"}
    changes = {f"flows.0.{key}": value for key, value in web.items()}
    results = ub.scenario(small, {"duration": "3s", "warmup": "1300ms", **changes}).run()
    early = (results.flows["throughput_mbps"] == 0).sum()
    assert 0 < early < 14
    (row,) = flow_rows(results.as_dict()["runs"][0])
    assert re.findall(r"\d+", row["flow"]) == ["14", str(early)]
    assert row["goodput_mbps"] == pytest.approx(results.flows["goodput_mbps"].sum() / (14 - early))
    assert row["completion_s"] == pytest.approx(results.flows["completion_s"].mean())
