"""A mesh of sensors as a user meets it: the table of nodes, its files and picture, and where it cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from made_up_runs import measured_run
from pandas.testing import assert_frame_equal
from sentences import refused, stderr_of
from unbloat.claims.expressions import ClaimError
from unbloat.claims.quantities import quantity_named, taken
from unbloat.results.metrics import COLUMNS, NODE_METRICS

SHORT = {"duration": "60s", "warmup": "10s"}


@pytest.fixture(scope="module")
def results() -> ub.Results:
    return ub.scenario("sensors-in-a-building", SHORT).run()


def test_each_node_has_a_row(results: ub.Results) -> None:
    nodes = results.nodes
    assert len(nodes) == 2 * 11
    assert nodes.query("parent.isna()")["node"].tolist() == ["gateway"] * 2
    assert nodes.query("node == 'roof'")["hops"].tolist() == [6, 6]
    seconds = nodes[["transmit_s", "listen_s", "sleep_s"]].sum(axis="columns")
    assert seconds.tolist() == pytest.approx([50.0] * 22)
    assert results.flows["node"].tolist()[:2] == ["hall", "lab1"]
    defined = {column.name for table in ("every table", "nodes") for column in COLUMNS[table]}
    assert set(nodes) - {"cc"} <= defined | {metric.name for metric in NODE_METRICS}


def test_nodes_are_saved_and_read_back(results: ub.Results, tmp_path: Path) -> None:
    files = results.save(tmp_path)
    assert tmp_path / "nodes.parquet" in files
    assert_frame_equal(ub.read(tmp_path).nodes, results.nodes)
    printed = tmp_path / "printed.json"
    printed.write_text(json.dumps({"runs": [{"axes": each.axes, **each.run} for each in results.records]}))
    assert len(ub.read(printed).nodes) == 22


def test_without_a_mesh_there_is_no_table(small: Path, tmp_path: Path) -> None:
    plain = ub.scenario(small).run()
    assert tmp_path / "nodes.parquet" not in plain.save(tmp_path)
    assert ub.read(tmp_path).nodes.empty
    with refused(
        ub.InputError, snapshot("mesh: no run of these results has a mesh; a scenario has one with [mesh.NAME]")
    ):
        plain.plot("mesh")


def test_a_mesh_is_drawn_as_its_tree(results: ub.Results) -> None:
    panels = results.plot("mesh").axes
    assert [axes.get_title(loc="left") for axes in panels] == ["reno", "dtpa"]
    for axes in panels:
        told = [text.get_text() for text in axes.texts]
        assert len(told) == 11
        assert told[0] == "gateway"
        assert all(text.split()[1].strip(",").replace(".", "").isdigit() for text in told[1:])


TWO = """
duration = "60s"
profile = "lln"

[mesh.cellar]
border_router = "gateway"
path_loss = 3.5
nodes = { gateway = { x = 0 }, near = { x = 25 }, far = { x = 50 } }

[mesh.attic]
border_router = "gateway"
path_loss = 3.5
nodes = { gateway = { x = 0 }, near = { x = 25 } }

[link.wire]
rate = "1mbit"
delay = "5ms"
queue = { limit = "15p" }

[[flows]]
cc = "reno"
mesh = "cellar"
path = ["wire"]
write_rate = "1024bit"

[[flows]]
cc = "reno"
mesh = "attic"
path = ["wire"]
write_rate = "512bit"
"""


def test_two_meshes_may_have_nodes_of_one_name(tmp_path: Path) -> None:
    (file := tmp_path / "two.toml").write_text(TWO)
    results = ub.scenario(file).run()
    flows = results.flows[["mesh", "node", "hops"]].to_numpy().tolist()
    assert flows == [["cellar", "near", 1], ["cellar", "far", 2], ["attic", "near", 1]]
    assert results.nodes["mesh"].tolist() == ["cellar"] * 3 + ["attic"] * 2
    panels = results.plot("mesh").axes
    assert [axes.get_title(loc="left") for axes in panels] == ["cellar", "attic"]
    told = [[text.get_text().split()[0].strip(",") for text in axes.texts] for axes in panels]
    assert told == [["gateway", "near", "far"], ["gateway", "near"]]
    kbps = [float(axes.texts[1].get_text().split()[1].strip(",")) for axes in panels]
    assert kbps == pytest.approx([1e3 * results.flows["goodput_mbps"][place] for place in (0, 2)], abs=0.006)
    run = measured_run({}, 1, dict(results.records[0].run))
    near = taken(quantity_named("goodput_mean"), run, {"mesh": "attic", "node": "near"})
    assert near == results.flows["goodput_mbps"][2]
    assert taken(quantity_named("overflows"), run, {"mesh": "cellar", "hops": 2}) == 0
    with refused(ClaimError, snapshot("nodes of meshes: none matches mesh=attic, node=far")):
        taken(quantity_named("overflows"), run, {"mesh": "attic", "node": "far"})


def test_the_energy_of_a_byte_is_that_of_the_sensors(results: ub.Results) -> None:
    run = dict(results.records[0].run)
    sensors = [node["energy_mj"] for node in run["nodes"] if node["node"] != "gateway"]
    delivered = sum(flow["goodput_mbps"] for flow in run["flows"]) * 1e6 / 8 * 50
    assert taken(quantity_named("energy_per_byte"), measured_run({}, 1, run), {}) == pytest.approx(
        1e3 * sum(sensors) / delivered
    )


def test_the_usual_picture_of_a_mesh_begins_with_its_tree(results: ub.Results) -> None:
    panels = results.plot().axes
    assert [axes.get_title(loc="left") for axes in panels[:2]] == ["reno", "dtpa"]
    assert [axes.get_ylabel() for axes in panels[2:]] == ["RTT (ms)", "", "goodput (kbit/s)", ""]


WHY = "dtpa_auto runs in the simulator only: no kernel tells a sender what the other nodes of its mesh send"


def test_what_asks_for_a_mesh_is_not_loaded(cli: Cli) -> None:
    done = cli("load", "dtpa_auto")
    assert (done.returncode, done.stderr) == (2, f"unbloat: {WHY}\n")


def test_what_asks_for_a_mesh_does_not_run_on_a_kernel(cli: Cli, tmp_path: Path) -> None:
    text = (
        'duration = "2s"\n[link.wire]\nrate = "1mbit"\ndelay = "5ms"\n'
        'queue = { limit = "15p" }\n[[flows]]\ncc = "dtpa_auto"\n'
    )
    (file := tmp_path / "plain.toml").write_text(text)
    done = cli("run", file, "--on", "kernel")
    assert (done.returncode, stderr_of(done)) == (
        2,
        snapshot(
            "unbloat: TMP/plain.toml:7: flows.0.cc: dtpa_auto runs in the simulator only: no kernel tells a sender what the other nodes of its mesh send"
        ),
    )


def test_a_node_waits_where_the_border_router_announces_the_rate() -> None:
    changes = {"flows.0.cc": "dtpa_auto", "duration": "300s", "warmup": "100s"}
    flows = ub.scenario("sensors-in-a-building", {**changes, "mesh.building.announces_rate": "true"}).run().flows
    assert (flows["wait_ms_mean"] > 0).any()
    silent = ub.scenario("sensors-in-a-building", changes).run().flows
    leaves = ~silent["node"].isin(ub.scenario("sensors-in-a-building", SHORT).run().nodes["parent"])
    assert (silent.loc[leaves, "wait_ms_mean"].fillna(0) == 0).all()
