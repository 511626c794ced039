"""`unbloat serve`: what its clients get, how it ends, and what it refuses."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from sentences import stderr_of

Serve = Callable[..., tuple[subprocess.Popen[str], int, int]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server on a free port of this computer; give its process, and the ports of HTTPS and plain TCP."""
    processes = []

    def start(*words: str, address: str = "127.0.0.1") -> tuple[subprocess.Popen[str], int, int]:
        ready = tmp_path / "ready"
        command = [sys.executable, "-m", "unbloat", "serve", "--address", address, "--port", "0"]
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        until = time.monotonic() + PATIENCE_S
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.02)
        https, transfer = map(int, ready.read_text().split())
        return process, https, transfer

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def get(port: int, path: str) -> tuple[int, bytes]:
    """Fetch a page whose certificate nobody has signed."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=PATIENCE_S, context=ssl._create_unverified_context()
    )
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.status, answer.read()
    connection.close()
    return body


def test_clients_of_the_draft_find_their_urls(serve: Serve) -> None:
    _, port, _ = serve()
    status, body = get(port, "/.well-known/nq")
    assert status == 200
    urls = json.loads(body)["urls"]
    assert urls["small_download_url"] == f"https://127.0.0.1:{port}/small"
    assert get(port, "/small") == (200, b"0")


def test_it_speaks_http_2(serve: Serve) -> None:
    _, port, _ = serve()
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as tls:
        assert tls.selected_alpn_protocol() == "h2"


def test_clients_learn_of_echo_and_transfers(serve: Serve) -> None:
    _, port, transfer = serve("--cc", "reno,cubic")
    told = json.loads(get(port, "/unbloat")[1])
    assert (told["echo_port"], told["transfer_port"]) == (port, transfer)
    assert told["congestion_controls"] == ["reno", "cubic"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_status_0(serve: Serve, end: signal.Signals) -> None:
    process, https, transfer = serve()
    process.send_signal(end)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert out == f"listens on port {https} (HTTPS over TCP, probes over UDP) and port {transfer} (plain TCP)\n"


def test_both_families_reach_the_unspecified_address(serve: Serve) -> None:
    _, port, _ = serve(address="::")
    for address in ("127.0.0.1", "::1"):
        socket.create_connection((address, port)).close()


def test_a_unit_runs_the_same_command(cli: Cli) -> None:
    done = cli("serve", "--port", "443", "--cc", "cubic", "--unit")
    assert done.returncode == 0
    (start,) = (line for line in done.stdout.splitlines() if line.startswith("ExecStart=/"))
    assert start.endswith(" serve --port 443 --cc cubic")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--client-bytes", "2apples"],
            snapshot('unbloat: --client-bytes 2apples is not a size such as "500mb" or "2gb"'),
        ),
        (["--all-bytes", "0"], snapshot('unbloat: --all-bytes 0 is not a size such as "500mb" or "2gb"')),
        (
            ["--address", "localhost"],
            snapshot("unbloat: --address localhost is not an IP address such as 0.0.0.0 or ::"),
        ),
        (["--certificate", "own.pem"], snapshot("unbloat: --key is missing: a certificate needs its key")),
        (
            ["--certificate", "own.pem", "--key", "own.key"],
            snapshot("unbloat: own.pem: I/O error: No such file or directory (os error 2)"),
        ),
        (
            ["--client-connections", "0"],
            snapshot("unbloat: --client-connections: 0 is not in the range x>=1; see `unbloat serve --help`"),
        ),
        (
            ["--port", "70000"],
            snapshot("unbloat: --port: 70000 is not in the range 0<=x<=65535; see `unbloat serve --help`"),
        ),
    ],
)
def test_wrong_words_are_refused(cli: Cli, words: list[str], sentence: str) -> None:
    done = cli("serve", *words)
    assert done.returncode == 2
    assert stderr_of(done) == sentence


def test_a_port_that_is_taken_is_a_sentence(cli: Cli, serve: Serve) -> None:
    _, port, _ = serve()
    done = cli("serve", "--address", "127.0.0.1", "--port", port)
    assert done.returncode == 2
    assert stderr_of(done).replace(str(port), "PORT") == snapshot("unbloat: Address already in use (os error 98)")
