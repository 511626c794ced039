"""What becomes of a machine that does not start, ends, or does not do as it is told; QEMU is a small program here."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from leftovers import is_alive, wait_until
from made_up_kernels import write
from sentences import plain, refused
from unbloat import RunError
from unbloat.guest import qemu
from unbloat.guest.inside import shared

STARTS = """
import json, os, sys
sys.stderr.write("warning: as usual\\n")
open(os.environ["STARTED"], "w").write(str(os.getpid()))
"""
BOOTS = (
    STARTS
    + """
def say(what):
    print(json.dumps(what), flush=True)

say({"QMP": {}})
for line in sys.stdin:
    command = json.loads(line)["execute"]
    if command == "qmp_capabilities":
        say({"return": {}})
    elif command == "query-status":
        say({"event": "SOMETHING"})
        say({"return": {"status": "paused"}})
    else:
        say({"error": {"class": "GenericError", "desc": "not now"}})
"""
)
"""It obeys one command of QMP."""
RESUMES = (
    STARTS
    + """
def say(*lines):
    print(*lines, "(qemu) ", sep="\\r\\n", end="", flush=True)

say("QEMU 7.2 monitor")
for line in sys.stdin:
    if line == "cont\\n":
        os._exit(0)
    elif line == "info status\\n":
        say("i\\33[K\\33[Dinfo status", "VM status: paused")
    else:
        say(line.rstrip(), "Error: not now")
"""
)
"""It obeys one command of the monitor for people."""
ENDS = 'import sys\nsys.exit("first line\\nqemu: cannot set up guest memory: Cannot allocate memory")\n'
ENDS_SILENTLY = "import sys\nsys.exit(3)\n"

BOOTED, RESUMED = (qemu.BootedMachine, BOOTS), (qemu.ResumedMachine, RESUMES)
Start = Callable[[type[qemu.Machine], str], Any]


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """Where the machine's process leaves its number."""
    return tmp_path / "started"


@pytest.fixture
def start(tmp_path: Path, started: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a machine whose QEMU is that program."""

    def start(kind: type[qemu.Machine], program: str) -> qemu.Machine:
        file = tmp_path / "bin" / qemu.QEMU
        write(file, f"#!{sys.executable}\n{program}".encode())
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}:{os.environ['PATH']}")
        monkeypatch.setenv("STARTED", str(started))
        return kind(qemu.CLOCK)

    return start


@pytest.mark.parametrize(("missing", "package"), qemu.PACKAGES.items())
def test_a_missing_program_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, missing: str, package: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else f"/usr/bin/{name}")
    with pytest.raises(RunError) as refusal:
        qemu.require_qemu()
    assert str(refusal.value).replace(missing, "PROGRAM").replace(package, "PACKAGE") == snapshot(
        "guests (on = vm) need PROGRAM, which is not installed: apt-get install PACKAGE"
    )


@pytest.mark.parametrize("kind", [qemu.BootedMachine, qemu.ResumedMachine])
@pytest.mark.parametrize(
    ("program", "why"),
    [(ENDS, "qemu: cannot set up guest memory: Cannot allocate memory"), (ENDS_SILENTLY, "status 3")],
)
def test_a_machine_that_does_not_start_says_why(start: Start, kind: type[qemu.Machine], program: str, why: str) -> None:
    with pytest.raises(RunError) as refusal:
        start(kind, program)
    assert str(refusal.value).removesuffix(why) == snapshot("qemu-system-x86_64 has ended: ")


@pytest.mark.parametrize(("kind", "program"), [BOOTED, RESUMED])
def test_a_machine_is_gone_with_its_context(
    start: Start, started: Path, kind: type[qemu.Machine], program: str
) -> None:
    with pytest.raises(ZeroDivisionError), start(kind, program) as machine:
        process = int(started.read_text())
        assert machine.memory.state == shared.BOOTING and is_alive(process)
        raise ZeroDivisionError
    assert not is_alive(process)


@pytest.mark.parametrize(("kind", "program"), [BOOTED, RESUMED])
def test_an_interrupt_while_it_starts_ends_it(
    start: Start, started: Path, monkeypatch: pytest.MonkeyPatch, kind: type[qemu.Machine], program: str
) -> None:
    def interrupted(_: object) -> None:
        wait_until(lambda: started.exists() and started.read_text())
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_greet", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(kind, program)
    assert not is_alive(int(started.read_text()))


def test_answers_are_told_from_events(start: Start) -> None:
    with start(*BOOTED) as machine:
        assert machine.ask("query-status") == {"status": "paused"}


def test_answers_are_told_from_what_is_typed(start: Start) -> None:
    with start(*RESUMED) as machine:
        assert machine.order("info status") == "VM status: paused"


def test_a_refused_command_is_a_sentence(start: Start) -> None:
    with start(*BOOTED) as machine, refused(RunError, snapshot("the emulated machine refuses migrate: not now")):
        machine.ask("migrate", uri="exec:cat")
    with (
        start(*RESUMED) as machine,
        refused(RunError, snapshot("the emulated machine refuses device_add: not now")),
    ):
        machine.order("device_add")


def test_a_machine_that_ends_by_itself_is_noticed(start: Start) -> None:
    with start(*RESUMED) as machine:
        with refused(RunError, snapshot("qemu-system-x86_64 has ended: warning: as usual")):
            machine.begin(b"task")
        with refused(RunError, snapshot("the guest stopped unexpectedly; its last output:\n")):
            machine.pause()


def test_a_task_without_room_is_a_sentence(start: Start) -> None:
    with start(*RESUMED) as machine:
        with refused(
            RunError,
            snapshot(
                "the scenario with its files is too large for the guest: 33554432 bytes, of which 33554368 have room"
            ),
        ) as refusal:
            machine.begin(bytes(shared.SIZE))
        assert plain(refusal.value) == snapshot(
            "the scenario with its files is too large for the guest: 33554432 bytes, of which 33554368 have room"
        )
