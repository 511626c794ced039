"""Classifiers at a device of the oldest stock kernel, which has `prio`, in a guest."""

import os
import subprocess
import sys
from pathlib import Path

import guests

BIN = Path(sys.executable).parent
COMMANDS = """
set -eu
unbloat load sorpc --dev lo 2>/dev/null
tc qdisc show dev lo
unbloat unload sorpc
tc qdisc show dev lo
for known in "fq_codel limit 333 target 7ms" "fq limit 77 flow_limit 7" "fq_pie limit 77 flows 64" \
    "codel limit 77 target 7ms" "pie limit 77 target 7ms ecn" "cake bandwidth 7Mbit rtt 70ms"
do
    tc qdisc replace dev lo root handle 9: $known
    tc qdisc show dev lo
    unbloat load sorpc --dev lo
    unbloat unload sorpc
    tc qdisc show dev lo
    tc qdisc del dev lo root
done
"""
KNOWN = ["fq_codel", "fq", "fq_pie", "codel", "pie", "cake"]


def test_bands_of_prio_come_and_what_was_there_comes_back(tmp_path: Path, cache: Path) -> None:
    kernel = guests.booted(cache)
    script = tmp_path / "as-root.sh"
    script.write_text(COMMANDS)
    words = [BIN / "unbloat", "shell", "home-dsl", "--on", "vm", "--kernel", kernel, "--", "sh", script]
    known = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(list(map(str, words)), env=known, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines[0] == "sorpc sorts the packets that leave lo"
    assert lines[1] == "qdisc prio 4247: root refcnt 2 bands 3 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
    assert lines[2] == "qdisc clsact ffff: parent ffff:fff1"
    assert lines[3:5] == ["lo no longer has sorpc", "qdisc noqueue 0: root refcnt 2"]
    assert len(lines) == 5 + 4 * len(KNOWN)
    for known, at in zip(KNOWN, range(5, len(lines), 4), strict=True):
        before, loaded, unloaded, after = lines[at : at + 4]
        assert loaded == f"sorpc sorts the packets that leave lo; {known} comes back when it goes"
        assert unloaded == "lo no longer has sorpc"
        assert before.startswith(f"qdisc {known} 9:") and after.split()[3:] == before.split()[3:]
