"""A process that holds a cure for another: whatever ends that other process, this one restores the state from before.

It reads a line of JSON for each request and answers with another. The pipe closes with the other process; its file
descriptor for that process tells it too, if children of that process keep the pipe open.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from unbloat._core import Error, InputError
from unbloat.line.commands import Commands
from unbloat.line.held import Held
from unbloat.line.network import Network

MOST_BYTES = 1 << 16


def main() -> None:
    """Hold a cure until the other side closes, or asks to keep it."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # The terminal, or whoever interrupts, means the other process.
    requests = _requests(int(sys.argv[1]))
    held: Held | None = None
    try:
        for request in requests:
            answer: dict[str, Any] = {"number": request["number"], "error": None}
            try:
                if request["do"] == "hold":
                    held = Held(Commands(**request["cure"]))
                elif held and request["do"] == "switch":
                    held.switch(request["is_on"])
                elif held and request["do"] == "keep":
                    network = Network(**request["network"]) if request["network"] else None
                    answer["unit"] = held.keep(request["persists"], network)
                    held = None
            except Error as error:
                answer |= {"error": str(error), "is_input": isinstance(error, InputError)}
            with suppress(OSError):
                os.write(1, json.dumps(answer).encode() + b"\n")
    finally:
        if held:
            with suppress(Error):  # The journal stays, and whoever comes next tries it again.
                held.close()


def _requests(parent: int) -> Iterator[Any]:
    """Yield requests until the other process closes the pipe or ends, or this one is to end."""
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        other = os.pidfd_open(parent)
    except ProcessLookupError:
        return
    ready = selectors.DefaultSelector()
    for file in (0, other, told):
        ready.register(file, selectors.EVENT_READ)
    rest = b""
    while True:
        files = {key.fd for key, _ in ready.select()}
        if files & {other, told}:
            return
        data = os.read(0, MOST_BYTES)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main()
