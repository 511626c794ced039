"""Classifiers at a device of the oldest stock kernel, which has `prio`, in a guest."""

import os
import subprocess
import sys
from pathlib import Path

import guests

BIN = Path(sys.executable).parent
COMMANDS = """
set -eu
unbloat load sorpc --dev lo
tc qdisc show dev lo
unbloat unload sorpc
tc qdisc show dev lo
tc qdisc replace dev lo root handle 9: fq_codel limit 333 target 7ms
unbloat load sorpc --dev lo
unbloat unload sorpc
tc qdisc show dev lo
"""


def test_two_bands_of_prio_come_and_what_was_there_comes_back(tmp_path: Path, cache: Path) -> None:
    kernel = guests.booted(cache)
    script = tmp_path / "as-root.sh"
    script.write_text(COMMANDS)
    words = [BIN / "unbloat", "shell", "home-dsl", "--on", "vm", "--kernel", kernel, "--", "sh", script]
    known = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(list(map(str, words)), env=known, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines[0] == "sorpc sorts the packets that leave lo"
    assert lines[1] == "qdisc prio 4247: root refcnt 2 bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
    assert lines[2] == "qdisc clsact ffff: parent ffff:fff1"
    assert lines[3:5] == ["lo no longer has sorpc", "qdisc noqueue 0: root refcnt 2"]
    assert lines[5:7] == [
        "sorpc sorts the packets that leave lo; fq_codel comes back when it goes",
        "lo no longer has sorpc",
    ]
    assert len(lines) == 8 and "fq_codel" in lines[7] and "limit 333p" in lines[7] and "target 7ms" in lines[7]
