"""A place for tests that change the kernel: mounts, notes and defaults of their own, and names nobody else has."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import unbloat as unbloat_package
from leftovers import PATIENCE_S
from unbloat.system import systemd
from warm_program import WarmProgram

NUMBERS = itertools.count()
UNBLOAT = [sys.executable, "-m", "unbloat"]

HIDE_THE_MACHINE = """
while umount -l /sys/fs/bpf 2>/dev/null; do :; done
mount -t tmpfs -o mode=755 none /var/lib
mkdir -p /etc/systemd/system && mount -t tmpfs -o mode=755 none /etc/systemd/system && mount -t tmpfs none /run
echo ready
exec cat
"""

Done = subprocess.CompletedProcess[str]
Sandbox = Callable[..., Done]


@pytest.fixture
def holder() -> Iterator[int]:
    """Give a process whose pins, notes and units are the test's: all goes with it, however it ends.

    The kernel's list of controls is the machine's own.
    """
    unshare = ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", HIDE_THE_MACHINE]
    with subprocess.Popen(unshare, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.stdin.close()


@pytest.fixture
def sandbox(holder: int, tmp_path: Path) -> Sandbox:
    """Call commands there."""

    def call(*command: object, **environment: str) -> Done:
        enter = ["nsenter", "--target", str(holder), "--mount", "--net", f"--wd={tmp_path}"]
        words = [*enter, *map(str, command)]
        return subprocess.run(
            words, capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **environment}
        )

    return call


@pytest.fixture
def unbloat(holder: int, program: WarmProgram, tmp_path: Path) -> Sandbox:
    """Call `unbloat` there."""

    def call(*arguments: object, **environment: str) -> Done:
        words = [str(argument) for argument in arguments]
        return program.call(words, tmp_path, PATIENCE_S, beside=holder, **environment)

    return call


@pytest.fixture
def installed(sandbox: Sandbox, tmp_path: Path) -> Sandbox:
    """Call an `unbloat` that does not run from the checkout."""
    if owner := systemd.changeable(Path(sys.executable)):
        pytest.skip(f"not only root can change {owner}, so that no unit may run the Python that is there")
    package = Path(unbloat_package.__file__).parent
    there = tmp_path / "lib" / "unbloat"

    def ignored(folder: str, names: list[str]) -> set[str]:
        return {"__pycache__", *(["papers"] if Path(folder).name == "data" else [])} & set(names)

    shutil.copytree(package, there, ignore=ignored)

    def call(*arguments: object, **environment: str) -> Done:
        return sandbox(*UNBLOAT, *arguments, PYTHONPATH=str(there.parent), **environment)

    return call


@pytest.fixture
def name() -> str:
    """A name in the kernel that nobody else has."""
    return f"t{os.getpid()}_{next(NUMBERS)}"


def statuses(unbloat: Sandbox, name: str, *arguments: str) -> list[dict[str, object]]:
    controls = json.loads(unbloat("status", "--json", *arguments).stdout)["controls"]
    return [control for control in controls if control["name"] == name]


def as_nobody(*arguments: str) -> Done:
    """Call `unbloat` without rights and without programs."""
    script = (
        "import os, sys, unbloat.system.systemd, unbloat.guest.doctor\n"
        "import unbloat.report.table, unbloat.scenarios.catalogue\n"
        "from unbloat.cli.app import COMMANDS, main\n"
        "[entry.command() for entry in COMMANDS]\n"
        "os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
        "os.environ['PATH'] = ''\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=PATIENCE_S
    )
