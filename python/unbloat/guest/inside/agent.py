"""The guest's first and only process: brings the machine up, waits for a task, does the run, answers.

It runs on the interpreter and the core of the host's installation, copied into the guest's memory, and without anything
beside them.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import socket
import struct
import sys
import termios
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from unbloat import _core
from unbloat.guest.inside import program
from unbloat.guest.inside.shared import READY, TASK, SharedMemory
from unbloat.guest.inside.system import end_machine, load_module, mount
from unbloat.guest.inside.translations import Touched

if TYPE_CHECKING:
    from unbloat.guest.inside.messages import Refusal, RunAnswer, RunTask, Series

ALGORITHMS = Path("/guest/algorithms")
MODULES = Path("/guest/modules")
"""Holds the kernel's modules, and their order in the file `order`."""
PCI_DEVICES = Path("/sys/bus/pci/devices")
SHARED_MEMORY_DEVICE = ("0x1af4", "0x1110")
"""Vendor and device of QEMU's `ivshmem-plain`."""
TUN = Path("/dev/net/tun")
"""The device of the emulator. Its absence tells that the modules are missing."""
FILE_SYSTEMS = (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"))

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
"""Constants of linux/sockios.h and linux/if.h."""

LOOK_S = 0.1
"""Time between two looks for a task."""
BEGIN_S = 1
"""A run begins at a whole multiple of this, so that it meets the kernel's ticks the same way each time."""


def main() -> None:
    """Run the guest; an error is printed on the console, and ends the machine."""
    try:
        live()
    except BaseException:
        traceback.print_exc()
        termios.tcdrain(sys.stderr)
    end_machine()


def live() -> None:
    """Set up, wait for a task, do it, wait for the end."""
    for kind, place in FILE_SYSTEMS:
        Path(place).mkdir(exist_ok=True)
        mount(kind, kind, Path(place))
    memory = SharedMemory(shared_memory())
    try:
        bring_up()
    except OSError as error:
        memory.give_failure(error.strerror or str(error))
        sleep_forever()
    touched = Touched()
    booted_s = time.monotonic()
    memory.state = READY
    while memory.state == READY:
        spin()
    while memory.state != TASK:
        sleep_until_multiple_of(LOOK_S)
    task = json.loads(memory.take_task())
    answer: object
    if "command" in task:
        answer = program.run(task, memory)
    else:
        touched.widen_table()
        answer = do_all(task["runs"], booted_s, lambda share: setattr(memory, "share", share))
    memory.give_answer(json.dumps(answer).encode(), lambda: time.sleep(LOOK_S))
    sleep_forever()


def sleep_forever() -> NoReturn:
    """Let time pass until the host turns the machine off."""
    while True:
        time.sleep(1)


def spin() -> None:
    """Have the processor execute a million instructions or so."""
    sum(range(100_000))


def bring_up() -> None:
    """Set up the guest: its loopback device, this process's console, and the kernel's modules."""
    bring_up_loopback()
    connect_once()
    console = os.open("/dev/console", os.O_RDWR)
    for standard in range(3):
        os.dup2(console, standard)
    for name in (MODULES / "order").read_text().split():
        with (MODULES / name).open("rb") as module:
            load_module(module)
    if not TUN.exists():
        raise OSError("it has no TUN devices; are its modules beside its image, or in /lib/modules?")
    read_kernel_types()


def bring_up_loopback() -> None:
    """Bring up the loopback device with 127.0.0.1, as every machine has it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def connect_once() -> None:
    """Make a connection: for the first one the kernel draws a table of random numbers, which takes six milliseconds."""
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())


def read_kernel_types() -> None:
    """Have the core read the kernel's types, which takes long, and which it remembers; a kernel may have none."""
    with suppress(_core.Error):
        _core.clean()


def shared_memory() -> mmap:
    """Map the memory that the host sees."""
    for device in PCI_DEVICES.iterdir():
        named = tuple((device / part).read_text().strip() for part in ("vendor", "device"))
        if named == SHARED_MEMORY_DEVICE:
            (device / "enable").write_text("1")
            with (device / "resource2").open("r+b") as resource:
                return mmap(resource.fileno(), os.fstat(resource.fileno()).st_size)
    raise OSError("the machine has no shared memory")


def sleep_until_multiple_of(step_s: float) -> None:
    """Sleep until the clock shows a whole number of steps."""
    step_ns = round(step_s * 1e9)
    time.sleep((step_ns - time.monotonic_ns() % step_ns) / 1e9)


def do_all(runs: list[RunTask], booted_s: float, progress: Callable[[float], None]) -> list[RunAnswer | Refusal]:
    """Do one run after the other; the host looks at nothing before all are done, so that it cannot disturb them."""

    def do_one(number: int, run: RunTask) -> RunAnswer | Refusal:
        return do(run, booted_s, lambda share: progress((number + share) / len(runs)))

    return [do_one(number, run) for number, run in enumerate(runs)]


def do(task: RunTask, booted_s: float, progress: Callable[[float], None]) -> RunAnswer | Refusal:
    """Do a task; return records and series, or the sentence that says why there are none."""
    for path, data in task["files"].items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(base64.b64decode(data))
    pcap = Path("/trace.pcapng") if task["pcap"] else None
    try:
        point = _core.resolved(task["point"])
        sleep_until_multiple_of(BEGIN_S)
        record, columns = point.run(
            ALGORITHMS,
            on="vm",
            series_ns=task["series_ns"],
            pcap=pcap,
            pcap_links=task["pcap_links"],
            pcap_headers_only=task["pcap_headers_only"],
            progress=progress,
            objects={source: base64.b64decode(data) for source, data in task["objects"].items()},
        )
    except _core.Error as error:
        return {"error": str(error), "wrong_input": isinstance(error, _core.InputError)}
    return {
        "record": json.dumps({**json.loads(record), "boot_s": booted_s}),
        "columns": None if columns is None else portable(columns),
        "pcap": base64.b64encode(pcap.read_bytes()).decode() if pcap else None,
    }


def portable(columns: dict[str, dict[str, tuple[str, bytes]]]) -> Series:
    """Write the columns' bytes as text."""
    return {
        table: {name: (dtype, base64.b64encode(data).decode()) for name, (dtype, data) in rows.items()}
        for table, rows in columns.items()
    }
