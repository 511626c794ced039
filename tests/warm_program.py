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
import signal
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
    *("pandas", "pyarrow.parquet", "scipy.stats", "matplotlib.backends.backend_svg"),
)

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
"""Of linux/sched.h."""


class WarmProgram:
    """Starts `unbloat`, one call after the other."""

    def __init__(self, libraries: Sequence[str] = LIBRARIES) -> None:
        """Start the process that loads the libraries; it ends with this one."""
        command = [sys.executable, __file__, *libraries]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        """End that process."""
        self._server.communicate()

    def call(
        self, arguments: Sequence[str], folder: Path, timeout_s: float, *, beside: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Call the command line in a folder, with this process's environment, some of it changed, and nothing to read.

        With `beside`, in the mount and network namespaces of that process.
        """
        assert self._server.stdin is not None and self._server.stdout is not None
        with tempfile.NamedTemporaryFile("r") as output, tempfile.NamedTemporaryFile("r") as errors:
            where = {"folder": str(folder), "beside": beside, "streams": [output.name, errors.name]}
            request = {"arguments": list(arguments), "timeout_s": timeout_s, **where}
            request["environment"] = {**os.environ, **environment}
            print(json.dumps(request), file=self._server.stdin, flush=True)
            status = int(self._server.stdout.readline())
            return subprocess.CompletedProcess(["unbloat", *arguments], status, output.read(), errors.read())


def serve() -> None:
    """Carry out calls until there are no more; returns in each forked process too, which is then the program."""
    gc.disable()
    for name in sys.argv[1:]:
        importlib.import_module(name)
    gc.freeze()  # What is collected is written to, and so copied by each process.
    gc.enable()
    while line := sys.stdin.readline():
        request = json.loads(line)
        if (child := os.fork()) == 0:
            return become(request)
        print(status_of(child, request["timeout_s"]), flush=True)
    sys.exit()


def become(call: dict[str, Any]) -> None:
    """Take on what a call says of its process."""
    for stream, name in enumerate((os.devnull, *call["streams"])):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, stream)
        os.close(file)
    # What was read of the calls is not for the program.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
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
    serve()
    from unbloat.cli.entry import main

    status = main()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # To take the libraries apart in an orderly way takes longer than most calls.
