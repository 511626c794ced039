"""Inside a guest: a program of the host, among the host's files; behind an emulated link, if there is to be one.

The host's files are there to read (9p); what a program writes lies over them, in the guest's memory, and goes with it.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import struct
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

from unbloat import _core
from unbloat.guest.inside.queues import STEP_NS, Queues
from unbloat.guest.inside.shared import SharedMemory
from unbloat.guest.inside.system import mount, move_mount

if TYPE_CHECKING:
    from unbloat.guest.inside.messages import Ended, LinkTask, ProgramTask, Refusal

TAG = "host"
"""The name of the file system that the machine exports."""
CHANNELS = Path("/sys/bus/virtio/drivers/9pnet_virtio")
FILES, CHANGES, ROOT = Path("/host/files"), Path("/host/changes"), Path("/host/root")
OVER_ROOT = (("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm"))
"""The guest's own file systems, which cover those of the host."""
TERMINAL = Path("/dev/ttyS0")
IN_CONTROL = ("setsid", "--ctty")
"""Starts a program in a session with the terminal that it has."""
OUT_OF_THE_WAY = 64
"""The lowest number for files of ours: a program starts with those below."""
LOOK_S = 0.05
"""Time between two looks at the program's state and the terminal's size."""


def run(task: ProgramTask, memory: SharedMemory) -> Ended | Refusal:
    """Run `command` in `folder` with `environment`; return its status as a shell does, or the error.

    With `terminal` the program has one, with the size that the shared memory holds. Without, it has no input, and its
    output comes byte by byte. With `link` it is behind that link.
    """
    try:
        mount_root()
    except OSError as error:
        return {"error": f"the guest cannot have this machine's files: {error.strerror}", "wrong_input": False}
    reading, writing = os.pipe()
    queues = fcntl.fcntl(os.memfd_create("queues"), fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    child = os.fork()
    if child == 0:
        become(task, fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY), queues)
    os.close(writing)
    status = wait_for(child, memory if task["terminal"] else None)
    with os.fdopen(reading, "rb") as failure:
        said = failure.read()
    with TERMINAL.open("wb", buffering=0) as terminal:
        termios.tcdrain(terminal)
    if said:
        refusal: Refusal = json.loads(said)
        return refusal
    with os.fdopen(queues) as lines:
        lines.seek(0)
        return {"status": status, "queues": lines.read()}


def mount_root() -> None:
    """Make the host's files a root that can be written to."""
    while not any((channel / "mount_tag").exists() for channel in CHANNELS.glob("virtio*")):
        time.sleep(0.01)  # The machine has just been given the device.
    for place in (FILES, CHANGES, ROOT):
        place.mkdir(parents=True)
    mount("9p", TAG, FILES, read_only=True, options="trans=virtio,version=9p2000.L,cache=loose,msize=512000")
    mount("tmpfs", "changes", CHANGES)
    upper, work = CHANGES / "upper", CHANGES / "work"
    upper.mkdir()
    work.mkdir()
    mount("overlay", "overlay", ROOT, options=f"lowerdir={FILES},upperdir={upper},workdir={work}")
    for kind, name in OVER_ROOT:
        (ROOT / name).mkdir(exist_ok=True)
        mount(kind, kind, ROOT / name)


def become(task: ProgramTask, failure: int, queues: int) -> None:
    """Replace this process by the program, or by what runs it behind a link; does not return."""
    try:
        os.setsid()
        os.chdir(ROOT)
        move_mount(ROOT, Path("/"))  # So that it is also what the program's own mount namespaces begin with.
        os.chroot(".")
        take_terminal(task["terminal"], to_control=task["link"] is None)
        os.chdir(task["folder"])
        if task["link"] is None:
            os.execvpe(task["command"][0], task["command"], task["environment"])
        os._exit(behind_link(task, task["link"], queues))
    except OSError as error:
        tell(failure, f"{task['command'][0]}: {error.strerror}", wrong_input=False)
    except _core.Error as error:
        tell(failure, str(error), wrong_input=isinstance(error, _core.InputError))
    finally:
        os._exit(127)


def tell(failure: int, sentence: str, *, wrong_input: bool) -> None:
    """Report why the program failed to start."""
    os.write(failure, json.dumps({"error": sentence, "wrong_input": wrong_input}).encode())


def behind_link(task: ProgramTask, link: LinkTask, queues: int) -> int:
    """Run the program at one end of a link, and write the queues if they are asked for; return its status."""
    os.environ.clear()
    os.environ.update(task["environment"])
    point = _core.resolved(link["point"])
    # The program gets a process namespace of its own, in which a shell expects to control the terminal.
    program = [*(IN_CONTROL if task["terminal"] else []), *task["command"]]
    objects = {name: base64.b64decode(data) for name, data in link["objects"].items()}
    with os.fdopen(queues, "w") as lines:
        status, _ = point.shell(
            link["algorithms"],
            on="vm",
            at=link["at"],
            program=program,
            far=link["far"],
            objects=objects,
            series_ns=STEP_NS if link["queues"] else None,
            steps=Queues(lines).tell if link["queues"] else None,
        )
    return status


def take_terminal(is_wanted: bool, *, to_control: bool) -> None:
    """Make the serial line the terminal of this session or of a later one; or only the way out for what is printed."""
    line = os.open(TERMINAL, os.O_RDWR | (0 if to_control else os.O_NOCTTY))
    if not is_wanted:
        attributes = termios.tcgetattr(line)
        attributes[1] &= ~termios.OPOST
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(line, termios.TCSANOW, attributes)
    os.dup2(line if is_wanted else os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(line, 1)
    os.dup2(line, 2)
    os.closerange(3, OUT_OF_THE_WAY)


def wait_for(child: int, memory: SharedMemory | None) -> int:
    """Wait for a process, as the first process also for those that nobody else waits for.

    With a shared memory, the terminal meanwhile gets the size that it holds.
    """
    size = None
    while True:
        if memory and size != memory.terminal_size:
            size = memory.terminal_size
            set_size(*size)
        process, status = os.waitpid(-1, os.WNOHANG if memory else 0)
        if process == child:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if process == 0:
            time.sleep(LOOK_S)


def set_size(lines: int, columns: int) -> None:
    """Set the size of the terminal; it notifies the programs."""
    with TERMINAL.open("rb", buffering=0) as line:
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
