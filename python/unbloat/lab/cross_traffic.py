"""Traffic of others on a line, as programs at both ends of an emulated link.

    python -m unbloat.lab.cross_traffic far PORT                   beside `unbloat serve`
    python -m unbloat.lab.cross_traffic near PORT HOST CROSS       beside `unbloat line`

CROSS is a list of `unbloat.lab.lines.Cross` as JSON. The near end asks for each with a line of JSON. A connection that
carries data down sends bytes without end, or as many as were asked for. Both programs run until they are killed.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

CHUNK = bytes(1 << 16)
DATAGRAM = bytes(1472)
"""The payload of a datagram of 1500 bytes."""
LEAST_PAUSE_S = 0.002
"""The shortest sleep between datagrams; faster rates send several at once."""
SHAPE = 1.2
"""The exponent of the Pareto distribution of sizes, as in scenarios."""
MOST = 100
"""The largest download, in mean sizes."""


def far(port: int) -> None:
    """Serve what near ends ask for."""
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("", port))
    _start(_swallow_datagrams, sink)
    with socket.create_server(("", port)) as server:
        while True:
            connection, _ = server.accept()
            _start(_serve, connection)


def near(port: int, host: str, cross: list[dict[str, Any]]) -> None:
    """Ask the far end for this traffic, or send it."""
    for number, each in enumerate(cross):
        match each["kind"], each["is_down"]:
            case "bulk", True:
                _start(_fetch, host, port, {"do": "send"})
            case "bulk", False:
                _start(_push, host, port, None)
            case "steady", True:
                _start(_receive_datagrams, host, port, each["rate_mbps"])
            case "steady", False:
                _start(_send_datagrams, (host, port), each["rate_mbps"])
            case "bursts", is_down:
                _start(_bursts, host, port, each, is_down, number)
    threading.Event().wait()


def _start(work: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=_quietly, args=(work, arguments), daemon=True).start()


def _quietly(work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    """Do some work, until the other end closes the connection."""
    try:
        work(*arguments)
    except OSError:
        return


def _serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as lines:
        wish = json.loads(lines.readline())
        match wish["do"]:
            case "send":
                _send(connection, wish.get("bytes"))
            case "datagrams":
                _send_datagrams((connection.getpeername()[0], wish["port"]), wish["rate_mbps"])
            case _:
                while lines.read(1 << 16):
                    pass


def _send(connection: socket.socket, size: int | None) -> None:
    left = size
    while left is None or left > 0:
        part = CHUNK if left is None else CHUNK[:left]
        connection.sendall(part)
        left = None if left is None else left - len(part)


def _asked(host: str, port: int, wish: dict[str, object]) -> socket.socket:
    while True:
        try:
            connection = socket.create_connection((host, port))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    connection.sendall(json.dumps(wish).encode() + b"\n")
    return connection


def _fetch(host: str, port: int, wish: dict[str, object]) -> None:
    with _asked(host, port, wish) as connection:
        while connection.recv(1 << 16):
            pass


def _push(host: str, port: int, size: int | None) -> None:
    with _asked(host, port, {"do": "swallow"}) as connection:
        _send(connection, size)


def _receive_datagrams(host: str, port: int, rate_mbps: float) -> None:
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("", 0))
    _start(_fetch, host, port, {"do": "datagrams", "port": sink.getsockname()[1], "rate_mbps": rate_mbps})
    _swallow_datagrams(sink)


def _swallow_datagrams(sink: socket.socket) -> None:
    while True:
        sink.recv(2048)


def _send_datagrams(to: tuple[str, int], rate_mbps: float) -> None:
    each_s = (len(DATAGRAM) + 28) * 8e-6 / rate_mbps
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        due = time.monotonic()
        while True:
            while due <= time.monotonic():
                out.sendto(DATAGRAM, to)
                due += each_s
            time.sleep(max(LEAST_PAUSE_S, due - time.monotonic()))


def _bursts(host: str, port: int, cross: dict[str, Any], is_down: bool, number: int) -> None:
    """Begin transfers at random, whose sizes have a bounded Pareto distribution."""
    draw = random.Random(number)
    mean = float(cross["mean_bytes"])
    while True:
        time.sleep(draw.expovariate(cross["rate_mbps"] * 1e6 / 8 / mean))
        size = round(min(draw.paretovariate(SHAPE) * mean * (SHAPE - 1) / SHAPE, MOST * mean))
        if is_down:
            _start(_fetch, host, port, {"do": "send", "bytes": size})
        else:
            _start(_push, host, port, size)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["far", port]:
            far(int(port))
        case ["near", port, host, cross]:
            near(int(port), host, json.loads(cross))
        case _:
            sys.exit(__doc__)
