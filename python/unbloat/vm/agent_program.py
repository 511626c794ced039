"""Inside a guest: a program of the host, among the host's files.

The host's files are there to read (9p); what a program writes lies over them, in the guest's memory, and goes with it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios
import time
from pathlib import Path
from typing import Any

from unbloat.vm.system import mount

TAG = "host"
"""What the machine calls the file system it exports."""
CHANNELS = Path("/sys/bus/virtio/drivers/9pnet_virtio")
FILES, CHANGES, ROOT = Path("/host/files"), Path("/host/changes"), Path("/host/root")
OVER_ROOT = (("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev"), ("devpts", "dev/pts"), ("tmpfs", "dev/shm"))
"""The guest's own file systems, which cover those of the host."""
TERMINAL = Path("/dev/ttyS0")
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def run(task: dict[str, Any]) -> int:
    """Run `command` in `folder` with `environment`; give its status as a shell does.

    `terminal` holds rows and columns of the terminal that the program is to have; without, it has no input, and its
    output comes byte by byte.
    """
    bring_up_loopback()
    mount_root()
    child = os.fork()
    if child == 0:
        become(task)
    status = wait_for(child)
    with TERMINAL.open("wb", buffering=0) as terminal:
        termios.tcdrain(terminal)
    return status


def bring_up_loopback() -> None:
    """Give programs 127.0.0.1, as every machine has it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


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


def become(task: dict[str, Any]) -> None:
    """Turn this process into the program; does not return."""
    try:
        os.setsid()
        os.chroot(ROOT)
        take_terminal(task["terminal"])
        os.chdir(task["folder"])
        os.execvpe(task["command"][0], task["command"], task["environment"])
    except OSError as error:
        print(f"{task['command'][0]}: {error}", flush=True)
    finally:
        os._exit(127)


def take_terminal(size: list[int] | None) -> None:
    """Make the serial line this session's terminal."""
    line = os.open(TERMINAL, os.O_RDWR)
    if size is None:
        attributes = termios.tcgetattr(line)
        attributes[1] &= ~termios.OPOST
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(line, termios.TCSANOW, attributes)
    else:
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("4H", *size, 0, 0))
    os.dup2(line if size else os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(line, 1)
    os.dup2(line, 2)
    os.closerange(3, line + 2)


def wait_for(child: int) -> int:
    """Wait for a process, as the first process also for those that nobody else waits for."""
    while True:
        process, status = os.wait()
        if process == child:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
