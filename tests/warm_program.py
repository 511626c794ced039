"""The command line in processes that are forked from one which has loaded the libraries.

Python needs most of a second of a processor to start with what a run needs, and hundreds of tests start the program. In
all else such a process is as a user's: its folder, environment, standard streams and exit status are its own.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

LIBRARIES = (
    *("unbloat.cli.app", "unbloat.runs", "unbloat.comparison", "unbloat.papers.reproduce", "unbloat.report"),
    *("pandas", "pyarrow.parquet", "scipy.special", "matplotlib.backends.backend_svg"),
)

COLD = ("unbloat.cli.app",)
"""What every call needs, for a slow machine that does few tests."""

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
"""Of linux/sched.h."""


class Loaded:
    """The process that has loaded the libraries, and for each connection to it forks one that starts the program."""

    def __init__(self, libraries: Sequence[str]) -> None:
        """Start it; it ends with this process."""
        self._folder = tempfile.TemporaryDirectory(prefix="warm-program-")
        self.address = f"{self._folder.name}/socket"
        with socket.create_server(self.address, family=socket.AF_UNIX, backlog=100) as listening:
            command = [sys.executable, __file__, str(listening.fileno()), *libraries]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listening.fileno()])

    def wait(self) -> None:
        """Wait until it has loaded them: who imports the like meanwhile compiles it too, where nobody has before."""
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(self.address)
            asking.shutdown(socket.SHUT_WR)
            asking.recv(1)

    def close(self) -> None:
        """End it."""
        self._process.communicate()
        self._folder.cleanup()


class WarmProgram:
    """Starts `unbloat`, one call after the other."""

    def __init__(self, address: str) -> None:
        """Connect to the process that has loaded the libraries."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(address)
        self._lines = self._socket.makefile("rw")

    def close(self) -> None:
        """End the process that starts the program."""
        self._lines.close()
        self._socket.close()

    def call(
        self, arguments: Sequence[str], folder: Path, timeout_s: float, *, beside: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Call the command line in a folder, with this process's environment, some of it changed, and nothing to read.

        With `beside`, in the mount and network namespaces of that process.
        """
        with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
            where = {"folder": str(folder), "beside": beside, "streams": [output.name, errors.name]}
            request = {"arguments": list(arguments), "timeout_s": timeout_s, **where}
            request["environment"] = {**os.environ, **environment}
            print(json.dumps(request), file=self._lines, flush=True)
            status = int(self._lines.readline())
            return subprocess.CompletedProcess(["unbloat", *arguments], status, output.read(), errors.read())


def serve(listening: socket.socket, libraries: Sequence[str]) -> None:
    """Serve connections until standard input closes; returns in each process that is the program."""
    gc.disable()
    for name in libraries:
        importlib.import_module(name)
    if "unbloat.runs" in libraries:  # What a process has hashed of the code, it keeps.
        importlib.import_module("unbloat.scenarios.identity").code_hash()
    gc.freeze()  # What is collected is written to, and so copied by each process.
    gc.enable()
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            return carry_out(connection)
        connection.close()
    sys.exit()


def carry_out(connection: socket.socket) -> None:
    """Carry out calls until there are no more; returns in each forked process, which is then the program."""
    with connection, connection.makefile("rw") as lines:
        while line := lines.readline():
            request = json.loads(line)
            if (child := os.fork()) == 0:
                return become(request)
            print(status_of(child, request["timeout_s"]), file=lines, flush=True)
    os._exit(0)


def become(call: dict[str, Any]) -> None:
    """Take on what a call says of its process."""
    for stream, name in enumerate((os.devnull, *call["streams"])):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, stream)
        os.close(file)
    if call["beside"]:
        join_namespaces(call["beside"])
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    sys.argv = ["unbloat", *call["arguments"]]


def join_namespaces(process: int) -> None:
    """Move this process into another one's network and mount namespaces: setns(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    kinds = {"net": CLONE_NEWNET, "mnt": CLONE_NEWNS}
    with ExitStack() as opened:
        files = {kind: opened.enter_context(Path(f"/proc/{process}/ns/{kind}").open()) for kind in kinds}
        for kind, file in files.items():
            if libc.setns(file.fileno(), kinds[kind]) != 0:
                raise OSError(ctypes.get_errno(), f"setns {kind}")


def status_of(child: int, timeout_s: float) -> int:
    """Wait for a process, which is killed after so many seconds; negative is the signal that has ended it."""
    killer = threading.Timer(timeout_s, os.kill, (child, signal.SIGKILL))
    killer.start()
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        killer.cancel()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    from unbloat.cli.entry import main

    status = main()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # To take the libraries apart in an orderly way takes longer than most calls.
