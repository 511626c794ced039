"""A program behind a link in a guest whose clock never waits for real time.

    python -m unbloat.lab.at_once SCENARIO QUEUES FAR NEAR

`unbloat shell --on vm` lets the clock of an idle guest follow real time, because somebody may be typing. On a busy
computer its programs then wake up late. Here the clock jumps ahead as in a run. So it also jumps while the guest waits
for a file of this computer, and a program should run once before its delays count. `awake` stops the jumps meanwhile.
"""

from __future__ import annotations

import sys
from pathlib import Path

from unbloat.guest.program import Link, run
from unbloat.runs.progress import prepared
from unbloat.scenarios.chosen import chosen_source
from unbloat.system.paths import ALGORITHMS

AWAKE = """\
chrt -i 0 sh -c 'while :; do :; done' & busy=$!
rest() { sleep 1; kill $busy; }
bash -c 'until : </dev/tcp/receiver/PORT; do sleep 1; done' 2>/dev/null
"""


def awake(port: int) -> str:
    """Return what a shell at the near end does first: it waits until a program at the far end listens on this port.

    A process that never rests stops the jumps of the clock until the shell calls `rest`.
    """
    return AWAKE.replace("PORT", str(port))


def command(scenario: Path, queues: Path, far: str, near: str) -> list[str]:
    """Return the command that runs this module as a program."""
    return [sys.executable, "-m", "unbloat.lab.at_once", str(scenario), str(queues), far, near]


def main(scenario: str, queues: str, far: str, near: str) -> int:
    """Run a shell command at each end of the link, and write its queues; return the status of the near one."""
    (point,) = chosen_source(scenario, {}, None, rtt=None).points()
    point.check_shell("vm")
    point.objects(ALGORITHMS)
    beyond, program = (["/bin/sh", "-c", command] for command in (far, near))
    return run(prepared(None), program, link=Link(point, "sender", beyond, Path(queues)), at_once=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
