"""An emulated machine: one processor that executes an instruction in a nanosecond of its time, a memory, a console."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

from unbloat._core import RunError
from unbloat.guest.inside import shared
from unbloat.guest.kernels import require_this_machine

QEMU = "qemu-system-x86_64"
PACKAGES = {QEMU: "qemu-system-x86", "setpriv": "util-linux"}
"""The programs that start a machine, with the packages that have them."""
MEMORY_MB = 1024
PAUSE_S = 0.02
"""Time between two looks at the guest's state."""
PROCESSOR = "max,-erms,-fsrm,-smap,-rdtscp"
"""A processor without features that Linux uses often and QEMU emulates slowly. These are string instructions, the
switch that lets the kernel reach a program's memory, and the second instruction that reads the clock.
"""
MACHINE = (
    *("-no-user-config", "-nodefaults", "-machine", "pc", "-cpu", PROCESSOR, "-m", f"{MEMORY_MB}M"),
    *("-display", "none", "-vga", "none", "-no-reboot"),
    *("-rtc", "base=2026-01-01,clock=vm", "-seed", "1"),
)
CLOCK = "shift=0,sleep=off"
"""The clock counts instructions, and goes on at once when the processor has nothing to do."""
RECORDING = f"{CLOCK},rr=record,rrfile=/dev/null"
"""`CLOCK` with a record of what happens when. Nobody wants the recording: but to have one, QEMU's threads take strict
turns. Without the record, the thread that winds the clock forward while the processor is halted may look before the
last instructions are counted. On a busy computer that happens a few times a minute. The guest's clock is then some
microseconds ahead of another run's.
"""
COUNTED_MODULO, FITS = 1 << 32, (1 << 31) - (1 << 28)
"""Recording starts where the number of instructions, as a signed number of 32 bits, is not negative (QEMU 7.2)."""
CLOCK_FOR_PROGRAMS = "shift=0,sleep=on"
"""The clock counts instructions, and goes at the pace of real time when the processor has nothing to do: somebody may
be typing."""
HOST_FILES = "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"
"""All files of this machine, for programs in the guest to read."""
KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 nokaslr mitigations=off init_on_alloc=0 hardened_usercopy=off psi=0 tsc=reliable "
    "nowatchdog cryptomgr.notests transparent_hugepage=never sysctl.vm.percpu_pagelist_high_fraction=1000 "
    "rcupdate.rcu_cpu_stall_suppress=1 lsm="
)
"""Leaves out work that a guest does not need. Nobody attacks it, so no security module of `lsm` checks each call, and
nobody reads how much its tasks wait for resources (PSI). And its clock may jump: that of a guest for programs, by as
much real time as its boot took. On a busy host the kernel would take this for a stall, and say so between the program's
lines.
"""
PROMPT, REFUSAL = b"(qemu) ", "Error: "
"""The end of an answer of QEMU's human monitor, and the beginning of an error."""
CONSOLE_LINES = 12
"""Bytes of the console to show when a guest dies."""


def require_qemu() -> None:
    """Raise an error if QEMU is missing, or the program that ends it together with this process."""
    require_this_machine()
    if missing := missing_programs():
        verb = "is" if len(missing) == 1 else "are"
        packages = " ".join(PACKAGES[program] for program in missing)
        raise RunError(
            f"guests (on = vm) need {' and '.join(missing)}, which {verb} not installed: apt-get install {packages}"
        )


def missing_programs() -> list[str]:
    """List the programs that guests need and this machine lacks."""
    return [program for program in PACKAGES if shutil.which(program) is None]


@functools.cache
def version() -> str:
    """Return QEMU's version; only the version that saved a machine's state can load it."""
    require_qemu()
    return subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def incoming(state: BinaryIO) -> str:
    """Name an open file as QEMU wants it: since 9.1 as a path, which it takes since 8.2."""
    numbers = re.search(r"(\d+)\.(\d+)", version())
    takes_paths = numbers is not None and (int(numbers[1]), int(numbers[2])) >= (8, 2)
    return f"file:/proc/self/fd/{state.fileno()}" if takes_paths else f"fd:{state.fileno()}"


class Machine(ABC):
    """A QEMU process; it ends with its context, and with this process. Its monitor takes commands."""

    MONITOR: ClassVar[str]
    """The option for the monitor that it has."""

    def __init__(
        self,
        clock: str,
        *arguments: str | Path,
        state: BinaryIO | None = None,
        terminal: socket.socket | None = None,
    ) -> None:
        """Start one with the machine's own arguments, such as what to boot; or, halted, from a saved state.

        Its console is `terminal`, or a memory that is shown if the machine dies.
        """
        self._console = os.memfd_create("console")
        memory = os.memfd_create("shared")
        line = f"socket,fd={terminal.fileno()}" if terminal else f"file,path=/proc/self/fd/{self._console}"
        os.ftruncate(memory, shared.SIZE)
        self.memory = shared.SharedMemory(mmap(memory, shared.SIZE))
        wires = (
            *(self.MONITOR, "stdio"),
            *("-chardev", f"{line},id=console", "-serial", "chardev:console"),
            *("-object", f"memory-backend-file,id=shared,share=on,mem-path=/proc/self/fd/{memory},size={shared.SIZE}"),
            *("-device", "ivshmem-plain,memdev=shared,master=on"),
            *(("-S", "-incoming", incoming(state)) if state else ()),
        )
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", QEMU, *MACHINE, "-icount", clock, *wires, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(self._console, memory, *(file.fileno() for file in (state, terminal) if file)),
            process_group=0,
        )
        os.close(memory)
        try:
            self._greet()
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Switch it off."""
        self._process.kill()
        self._process.communicate()
        os.close(self._console)

    def pause(self) -> None:
        """Let a little time pass; raises if the machine has ended."""
        time.sleep(PAUSE_S)
        self.look()

    def look(self) -> None:
        """Raise if the machine has ended."""
        if self._process.poll() is not None:
            raise RunError(f"the guest stopped unexpectedly; its last output:\n{self.last_words()}")

    def last_words(self) -> str:
        """Return the last lines of the console."""
        size = os.fstat(self._console).st_size
        console = os.pread(self._console, size, 0).decode(errors="replace")
        return "\n".join(console.splitlines()[-CONSOLE_LINES:])

    @abstractmethod
    def _greet(self) -> None:
        """Wait until the monitor takes commands."""

    def _say(self, command: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise RunError(self._death()) from None

    def _hear(self, end: bytes) -> str:
        """Return what the monitor says up to that end."""
        assert self._process.stdout is not None
        heard = bytearray()
        while not heard.endswith(end):
            byte = self._process.stdout.read(1)
            if not byte:
                raise RunError(self._death())
            heard += byte
        return heard.decode()

    def _death(self) -> str:
        _, said = self._process.communicate()
        lines = said.decode(errors="replace").strip().splitlines()
        return f"{QEMU} has ended: {lines[-1] if lines else f'status {self._process.returncode}'}"


class BootedMachine(Machine):
    """A machine that boots so that the cache can store its state. It speaks the QEMU Machine Protocol."""

    MONITOR = "-qmp"

    def _greet(self) -> None:
        self._hear(b"\n")
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: str) -> dict[str, Any]:
        """Send a command and return its answer."""
        self._say(json.dumps({"execute": command, "arguments": arguments}))
        while True:
            answer: dict[str, Any] = json.loads(self._hear(b"\n"))
            if "return" in answer:
                return answer["return"]  # type: ignore[no-any-return]
            if "error" in answer:
                raise refused(command, answer["error"]["desc"])

    def has_countable_past(self) -> bool:
        """Return whether a recording may start here."""
        executed: int = self.ask("query-replay")["icount"]
        return executed % COUNTED_MODULO < FITS

    def save(self, path: Path) -> None:
        """Halt the machine and write its state to a file."""
        self.ask("stop")
        written, failed = path.with_suffix(".written"), path.with_suffix(".failed")
        file, yes, no = (shlex.quote(str(name)) for name in (path, written, failed))
        self.ask("migrate", uri=f"exec:cat > {file} && touch {yes} || touch {no}")
        # QEMU reports completion before the whole state is in the file.
        while (state := self.ask("query-migrate").get("status")) != "completed" or not written.exists():
            if state in ("failed", "cancelled") or failed.exists():
                raise RunError("cannot store the guest's state; is the disk full?")
            self.pause()
        written.unlink()


class ResumedMachine(Machine):
    """A machine that is started where another was halted.

    It has QEMU's monitor for people. The QEMU Machine Protocol costs one more thread, which QEMU wakes up in vain at
    each timer of the guest, several times a packet.
    """

    MONITOR = "-monitor"

    def _greet(self) -> None:
        self._hear(PROMPT)

    def order(self, command: str) -> str:
        """Give an order and return the answer."""
        self._say(command)
        _echo, *answer, _prompt = self._hear(PROMPT).split("\r\n")
        if answer and answer[0].startswith(REFUSAL):
            raise refused(command, answer[0].removeprefix(REFUSAL))
        return "\n".join(answer)

    def wait_until_loaded(self) -> None:
        """Wait until the state that the machine starts from is in it."""
        while "inmigrate" in self.order("info status"):
            self.pause()

    def show_host_files(self) -> None:
        """Plug in a device through which the guest can read this machine's files."""
        self.order("device_add virtio-9p-pci,fsdev=host,mount_tag=host")

    def begin(self, task: bytes) -> None:
        """Hand a task to the machine and let its time pass; `RunError` if the task has no room."""
        try:
            self.memory.give_task(task)
        except ValueError as error:
            raise RunError(f"the scenario with its files is too large for the guest: {error}") from None
        self.order("cont")


def refused(command: str, why: str) -> RunError:
    """Say that a machine does not follow its commands."""
    return RunError(f"the emulated machine refuses {command}: {why}")


def boot(kernel: Path, initramfs: Path) -> BootedMachine:
    """Switch a machine on."""
    return BootedMachine(CLOCK, "-kernel", kernel, "-initrd", initramfs, "-append", KERNEL_ARGUMENTS)


def resume(state: Path) -> ResumedMachine:
    """Start a machine where another was halted, and leave it halted."""
    with saved(state) as file:
        return loaded(ResumedMachine(RECORDING, state=file))


def resume_for_program(state: Path, terminal: socket.socket, *, at_once: bool = False) -> ResumedMachine:
    """Start a machine for a program that a user talks to: not repeatable, with a terminal and this machine's files.

    With `at_once` nobody talks to it, and its clock never waits for real time.
    """
    clock = CLOCK if at_once else CLOCK_FOR_PROGRAMS
    with saved(state) as file:
        machine = loaded(ResumedMachine(clock, "-fsdev", HOST_FILES, state=file, terminal=terminal))
    machine.show_host_files()
    return machine


def saved(state: Path) -> BinaryIO:
    """Open the saved state of a machine; raises `RunError` if the file is absent or empty."""
    with suppress(FileNotFoundError):
        if state.stat().st_size:
            return state.open("rb")
    raise RunError(f"the guest's state in {state.parent} is gone; run again to boot it anew")


def loaded(machine: ResumedMachine) -> ResumedMachine:
    """Wait until a machine's state is in it; a machine that cannot have it is ended."""
    try:
        machine.wait_until_loaded()
    except RunError as error:
        machine.end()
        raise RunError(f"the guest's state cannot be used; run again to boot it anew: {error}") from None
    except BaseException:
        machine.end()
        raise
    return machine
