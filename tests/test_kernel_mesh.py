"""Ten and thirty hosts of the running kernel, joined by the emulated radio in real time; needs root.

What they send is held against the simulator in a guest (test_vm_mesh.py), whose clock no busy machine disturbs.
"""

import json
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from leftovers import Holdings, holdings, wait_until, wait_until_gone

DTPA = Path(__file__).parents[1] / "papers/dtpa"
SETTINGS = {runs["scenario"]: runs["set"] for runs in tomllib.loads((DTPA / "kernel.toml").read_text())["runs"]}
SHORT = {"duration": "8s", "flows.0.start": "0s..1s", "sweep.flows.0.cc": ["dtpa"]}


def written(value: object) -> str:
    """Write a value as `--set` takes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {written(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize(("scenario", "nodes"), [("ten", 10), ("thirty", 30)])
def test_hosts_send_over_the_radio_and_leave_nothing(scenario: str, nodes: int) -> None:
    settings = {**SETTINGS[scenario], **SHORT, "warmup": "0s"}
    changes = [part for key, value in settings.items() for part in ("--set", f"{key}={written(value)}")]
    command = [sys.executable, "-m", "unbloat", "run", DTPA / f"{scenario}.toml", "--on", "kernel", "--json", *changes]
    held = Holdings()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def has_hosts() -> bool:
            nonlocal held
            with suppress(FileNotFoundError, ProcessLookupError):  # One of its processes has just ended.
                held = holdings(process.pid)
            return len(held.namespaces) > nodes or process.poll() is not None

        wait_until(has_hosts)
        said, complaints = process.communicate()
    assert process.returncode == 0, complaints
    (run,) = json.loads(said)["runs"]
    assert len(run["flows"]) == nodes and len(run["nodes"]) == nodes + 1
    assert sum(flow["goodput_mbps"] for flow in run["flows"]) > 0
    assert {flow["mesh"] for flow in run["flows"]} == {"office"}
    for node in run["nodes"]:
        assert node["transmit_s"] + node["listen_s"] == pytest.approx(8.0)
    assert len(held.namespaces) > nodes
    wait_until_gone(held)
