"""Classifiers at a device of the oldest stock kernel, which has `prio`, in a guest."""

import os
import subprocess
import sys
from pathlib import Path

import guests
from inline_snapshot import snapshot
from leftovers import PATIENCE_S

BIN = Path(sys.executable).parent
KNOWN = {
    "fq_codel": "limit 333 target 7ms",
    "fq": "limit 77 flow_limit 7",
    "fq_pie": "limit 77 flows 64",
    "codel": "limit 77 target 7ms",
    "pie": "limit 77 target 7ms ecn",
    "cake": "bandwidth 7Mbit rtt 70ms",
}
# One process, for a guest emulates what Python does before the first line of a program.
COMMANDS = f"""
import subprocess
from unbloat.cli.app import main

def tc(words):
    print(subprocess.run(["tc", "qdisc", *words.split()], check=True, capture_output=True, text=True).stdout, end="")

def unbloat(words):
    assert main(words.split()) == 0, words

unbloat("load sorpc --dev lo")
tc("show dev lo")
unbloat("unload sorpc")
tc("show dev lo")
for kind, parameters in {KNOWN}.items():
    tc(f"replace dev lo root handle 9: {{kind}} {{parameters}}")
    tc("show dev lo")
    unbloat("load sorpc --dev lo")
    unbloat("unload sorpc")
    tc("show dev lo")
    tc("del dev lo root")
"""


def test_bands_of_prio_come_and_what_was_there_comes_back(tmp_path: Path, cache: Path) -> None:
    kernel = guests.booted(cache)
    script = tmp_path / "as-root.py"
    script.write_text(COMMANDS)
    words = [BIN / "unbloat", "shell", "home-dsl", "--on", "vm", "--kernel", kernel, "--", sys.executable, "-u", script]
    known = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(list(map(str, words)), env=known, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    warning, *lines = (line.rstrip() for line in done.stdout.splitlines())
    assert warning == snapshot(
        "unbloat: warning: lo sends every packet at once (it had noqueue), so packets never wait here: unload it, and set --rate a little below the line's"
    )
    assert lines[0] == snapshot("sorpc sorts the packets that leave lo")
    assert lines[1] == "qdisc prio 4247: root refcnt 2 bands 3 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
    assert lines[2] == "qdisc clsact ffff: parent ffff:fff1"
    assert lines[3:5] == ["lo no longer has sorpc", "qdisc noqueue 0: root refcnt 2"]
    assert len(lines) == 5 + 4 * len(KNOWN)
    for known, at in zip(KNOWN, range(5, len(lines), 4), strict=True):
        before, loaded, unloaded, after = lines[at : at + 4]
        assert loaded.replace(f" {known} ", " KNOWN ") == snapshot(
            "sorpc sorts the packets that leave lo; KNOWN comes back when it goes"
        )
        assert unloaded == snapshot("lo no longer has sorpc")
        assert before.startswith(f"qdisc {known} 9:") and after.split()[3:] == before.split()[3:]
