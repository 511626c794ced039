"""Guests: booted once for a kernel and a version of unbloat, started from that state for every run."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unbloat import _core
from unbloat._core import InputError, RunError
from unbloat.guest import initramfs, modules, qemu
from unbloat.guest.inside import shared
from unbloat.guest.inside.messages import Refusal, RunAnswer, Series
from unbloat.guest.kernels import ASIDE, Kernel, find_kernel, last_use, made
from unbloat.guest.payload import payload
from unbloat.scenarios.identity import code_hash, hash_files
from unbloat.scenarios.portable import Columns, Recording, located
from unbloat.system.paths import cache_folder
from unbloat.system.scratch import remove_from

KEPT = 4
"""Number of guests in the cache; the least recently used one goes first."""
PART_BYTES = 1 << 18
"""Bytes of a file to read at once, as many as a processor's cache holds."""

Outcome = tuple[str, Columns | None]
"""The records as JSON, and the series if they were asked for."""


@dataclass(frozen=True)
class Guest:
    """A machine that waits for a run, in a file."""

    folder: Path

    @property
    def state(self) -> Path:
        """The file."""
        return self.folder / "state"

    @property
    def seal(self) -> Path:
        """The file with the state's checksum."""
        return self.folder / "crc32"

    def is_whole(self) -> bool:
        """Return whether the state is there, byte for byte as it was stored."""
        try:
            return self.seal.read_text(encoding="ascii") == checksum(self.state)
        except (OSError, ValueError):
            return False

    def use(self) -> None:
        """Note that it is in use, so that it stays in the cache."""
        try:
            os.utime(self.folder)
        except FileNotFoundError:
            raise RunError("the guest was removed from the cache meanwhile; run again") from None


def identity(kernel: Kernel) -> str:
    """Hash what a guest is made of: with the same parts, every run gives the same results."""
    parts = [code_hash(), hash_files([kernel.image, *sorted(initramfs.HERE.rglob("*.py"))]), kernel.release]
    parts += [f"{file.name} {file.stat().st_size}" for file in modules.files(kernel.modules)]
    parts += [qemu.version(), " ".join(qemu.MACHINE), qemu.RECORDING, qemu.KERNEL_ARGUMENTS, sys.version]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def kernel_named(wanted: str | None) -> Kernel:
    """Find a kernel, and remember it; raises an error that names all that this machine lacks for a guest."""
    try:
        return find_kernel(wanted)
    except (InputError, RunError) as error:
        if missing := qemu.missing_programs():
            programs = " and ".join(missing)
            raise type(error)(f"{error}; {programs} {'is' if len(missing) == 1 else 'are'} missing too") from None
        raise


def prepare(wanted: str | None, say: Callable[[str], None]) -> Guest:
    """Return the guest with that kernel, and boot it first if necessary; `say` gets each step meanwhile.

    Raises `InputError` if there is no such kernel, `RunError` if there is no QEMU or the guest does not come up.
    """
    qemu.require_qemu()
    kernel = kernel_named(wanted)
    guests = cache_folder("guests")
    guest = Guest(guests / identity(kernel))
    if not guest.is_whole():
        remove_from(guests, guest.folder.name)  # A damaged one would not come up, or worse, would.
        make(kernel, guest, lambda: say(f"boots a guest with Linux {kernel.release}, once for this version of unbloat"))
    guest.use()
    forget_old(guests)
    return guest


def make(kernel: Kernel, guest: Guest, going_on: Callable[[], None]) -> None:
    """Boot a guest up to where it waits for a run, and keep its state; `going_on` is called while that lasts."""
    going_on()
    with made(guest.folder) as folder:
        image, archive = folder.parent / "vmlinux", folder.parent / "initramfs"
        image.write_bytes(initramfs.bootable(kernel.image.read_bytes()))
        archive.write_bytes(initramfs.build(kernel))
        with qemu.boot(image, archive) as machine:
            while machine.memory.state != shared.READY or not machine.has_countable_past():
                if failure := machine.memory.failure():
                    raise RunError(f"Linux {kernel.release} cannot be a guest's kernel: {failure}")
                machine.pause()
                going_on()
            machine.memory.state = shared.HELD
            machine.save(folder / guest.state.name)
        (folder / guest.seal.name).write_text(checksum(folder / guest.state.name), encoding="ascii")


def checksum(file: Path) -> str:
    """Return the CRC-32 of a file: it shows damage, and takes half the time of a hash."""
    value = 0
    with file.open("rb") as content:
        while part := content.read(PART_BYTES):
            value = zlib.crc32(part, value)
    return f"{value:08x}"


def forget_old(guests: Path) -> None:
    """Remove the guests that were not used for longest."""
    finished = [path for path in guests.iterdir() if not path.name.startswith(ASIDE)]
    for folder in sorted(finished, key=last_use)[:-KEPT]:
        remove_from(guests, folder.name)


def run(guest: Guest, point: _core.GridPoint, recording: Recording, progress: Callable[[float], None]) -> Outcome:
    """Run a grid point in a guest of its own."""
    return run_all(guest, [(point, recording)], progress)[0]


def run_all(
    guest: Guest, runs: Sequence[tuple[_core.GridPoint, Recording]], progress: Callable[[float], None]
) -> list[Outcome]:
    """Run grid points one after the other in one guest: all but the first find a kernel that has done the like before.

    Earlier work of a guest changes by some microseconds how late its kernel is. So the same runs in the same order give
    the same packets, and a run alone may give others.
    """
    guest.use()
    with qemu.resume(guest.state) as machine:
        machine.begin(payload(runs))

        def wait() -> None:
            machine.pause()
            progress(machine.memory.share)

        answers: list[RunAnswer | Refusal] = json.loads(machine.memory.take_answer(wait))
    return [outcome(point, recording, answer) for (point, recording), answer in zip(runs, answers, strict=True)]


def outcome(point: _core.GridPoint, recording: Recording, answer: RunAnswer | Refusal) -> Outcome:
    """Read what the agent says of a run, and write its packets to their file."""
    if "error" in answer:
        raise (InputError if answer["wrong_input"] else RunError)(located(answer["error"], point))
    if recording.pcap and answer["pcap"]:
        Path(recording.pcap).write_bytes(base64.b64decode(answer["pcap"]))
    return answer["record"], columns_of(answer["columns"]) if answer["columns"] else None


def columns_of(tables: Series) -> Columns:
    """Read the columns that the agent has written as text."""
    return {
        table: {name: (dtype, base64.b64decode(data)) for name, (dtype, data) in rows.items()}
        for table, rows in tables.items()
    }
