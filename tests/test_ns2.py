"""`tools/ns2`: what it asks ns-2 for, and what it makes of the answer. ns-2 itself is made up here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from sentences import stderr_of

TOOL = Path(__file__).parents[1] / "tools/ns2"
SCENARIO = """\
duration = "5s"
profile = "ns2-linux"
[link.bottleneck]
rate = "8mbit"
delay = "10ms"
queue = { limit = "50p" }
loss = "0.1%"
[[flows]]
cc = "cubic"
count = 2
stagger = "1s"
packet = "1050b"
access = { rate = "100mbit", delay = "1ms", queue = { limit = "20p" } }
[sweep]
cc = [{ label = "cubic", "flows.0.cc" = "cubic" }, { label = "elastic", "flows.0.cc" = "elastic" }]
"""
NS = """\
#!/bin/sh
shift
echo "$@" >asked
echo "TCP-LP: 00013|flow 1 1 1 1"
exec >&2
echo "flow 3000 10 2900 20.5"
echo "flow 2000 10 1900 10.5"
echo "network 40 10"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    program = tmp_path / "ns"
    program.write_text(NS)
    program.chmod(0o755)
    file = tmp_path / "dumbbell.toml"
    file.write_text(SCENARIO)
    return file


def ns2(*words: object, path: str = "", cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PATH": path or f"{cwd}:/usr/bin:/bin", "COLUMNS": "200"}
    # A copy, which finds no ns-2 that somebody built for the original.
    copy = shutil.copy(TOOL, cwd.parent / "ns2")
    command = [sys.executable, copy, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment)


def test_a_grid_point_is_a_dumbbell_there_and_its_figures_are_held_against_ours(scenario: Path) -> None:
    done = ns2(scenario, cwd=scenario.parent)
    assert done.returncode == 0, done.stderr
    asked = (scenario.parent / "asked").read_text().split()
    assert asked[:6] == ["5.0", "8000000", "0.01", "50", "0.001", "1"]
    flow = "cubic,{},1050,100000000,0.001,20"
    assert asked[6:] == [flow.format("0.0"), flow.format("1.0")]
    (row,) = (line.split() for line in done.stdout.splitlines() if line.startswith("cubic"))
    # 50 of 5000 lost; 4800 packets of 1000 bytes in 5 s; the mean of both windows.
    assert (row[1], row[4], row[7]) == ("1", "7.68", "15.5")
    assert "elastic" not in done.stdout, "ns-2 does not have it"


def test_the_page_gets_the_table_and_its_command(scenario: Path) -> None:
    page = scenario.with_name("page.md")
    page.write_text("before\n<!-- begin ns2 -->\n<!-- end ns2 -->\nafter\n")
    assert ns2(scenario.name, "cc=cubic", "--page", page.name, cwd=scenario.parent).returncode == 0
    text = page.read_text()
    assert re.sub(r"-?\d[\d.]*", "#", text) == snapshot("""\
before
<!-- begin ns# -->

    tools/ns# dumbbell.toml cc=cubic --page page.md

Of # grid points within # %: loss #, payload #, mean window #

| cc | loss ns# % | here % | apart % | payload ns# Mbit/s | here Mbit/s | apart % | mean window ns# packets | here packets | apart % |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| cubic | # | # | # | # | # | # | # | # | +# |
<!-- end ns# -->
after
""")


def test_a_key_is_set_in_both_and_a_page_has_several_parts(scenario: Path) -> None:
    page = scenario.with_name("page.md")
    page.write_text("<!-- begin fast -->\n<!-- end fast -->\n")
    words = ["--set", "link.bottleneck.rate=16mbit", "--in-ns2", "Agent/TCP,tcpTick_,0.1", "--part", "fast"]
    assert ns2(scenario.name, *words, "--page", page.name, cwd=scenario.parent).returncode == 0
    asked = (scenario.parent / "asked").read_text().split()
    assert (asked[1], asked[6]) == ("16000000", "Agent/TCP,tcpTick_,0.1")
    assert page.read_text().count("\n") > 2


def test_a_flow_that_ns_2_says_nothing_of_is_a_failure(scenario: Path) -> None:
    program = scenario.parent / "ns"
    program.write_text(program.read_text().replace('echo "flow 2000', 'echo "a flow 2000'))
    done = ns2(scenario, "cc=cubic", cwd=scenario.parent)
    assert (done.returncode, done.stderr) == (1, snapshot("ns2: ns-2 has failed: network 40 10\n"))


@pytest.mark.parametrize(
    ("change", "words", "told"),
    [
        (
            (),
            ["cc=elastic"],
            snapshot(
                "ns2: TMP/dumbbell.toml: no grid point was picked that ns-2 can run; it has cubic, compound_ns2, reno, vegas, veno, westwood, tcp_lp"
            ),
        ),
        (
            ('limit = "50p" }\nloss', 'limit = "50kb" }\nloss'),
            [],
            snapshot(
                "ns2: TMP/dumbbell.toml: tools/ns2 runs one link with a rate, a uniform loss and a drop-tail queue with a limit in packets, and this is something else"
            ),
        ),
        (
            (),
            ["cc"],
            snapshot("ns2: error: argument AXIS=LABEL,...: cc: must be AXIS=LABEL,..."),
        ),
        (
            (),
            ["--set", "seed"],
            snapshot("ns2: error: argument --set: seed: must be KEY=VALUE"),
        ),
    ],
)
def test_what_it_cannot_run_is_a_sentence(scenario: Path, change: tuple[str, str], words: list[str], told: str) -> None:
    if change:
        scenario.write_text(SCENARIO.replace(*change))
    done = ns2(scenario, *words, cwd=scenario.parent)
    assert done.returncode == 2
    assert stderr_of(done).splitlines()[-1] == told


def test_without_ns_2_it_says_what_to_install(scenario: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = ns2(scenario, path=str(empty), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        snapshot("ns2: ns-2 is missing: tools/build-ns2 builds it, or apt-get install ns2\n"),
    )


def test_a_failure_of_ns_2_is_told(scenario: Path) -> None:
    (scenario.parent / "ns").write_text("#!/bin/sh\necho 'can not read' >&2\nexit 1\n")
    done = ns2(scenario, "cc=cubic", cwd=scenario.parent)
    assert (done.returncode, done.stderr) == (1, snapshot("ns2: ns-2 has failed: can not read\n"))


def test_a_python_without_the_package_is_told_in_a_sentence(tmp_path: Path) -> None:
    """Isolated and without site-packages, as a distribution's own Python is."""
    done = subprocess.run([sys.executable, "-I", "-S", str(TOOL)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.sub(r": \S+ has", ": PYTHON has", stderr_of(done)) == snapshot(
        "tools/ns2: PYTHON has no unbloat: run `make`, then .venv/bin/python tools/ns2"
    )
