"""`unbloat serve`: what its clients get, how it ends, and what it refuses."""

from __future__ import annotations

import errno
import http.client
import json
import os
import re
import shutil
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
from sentences import refused, stderr_of
from unbloat import InputError
from unbloat.cli.serve import check_port, offered, print_unit

Serve = Callable[..., tuple[subprocess.Popen[str], int]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server on a free port of this computer; give its process and its port."""
    processes = []

    def start(*words: str, address: str = "127.0.0.1") -> tuple[subprocess.Popen[str], int]:
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
        return process, int(ready.read_text())

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
    _, port = serve()
    status, body = get(port, "/.well-known/nq")
    assert status == 200
    urls = json.loads(body)["urls"]
    assert urls["small_download_url"] == f"https://127.0.0.1:{port}/small"
    assert get(port, "/small") == (200, b"0")


def test_it_speaks_http_2(serve: Serve) -> None:
    _, port = serve()
    context = ssl._create_unverified_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as tls:
        assert tls.selected_alpn_protocol() == "h2"


def test_clients_learn_of_echo_and_transfers(serve: Serve) -> None:
    _, port = serve("--cc", "reno,cubic")
    told = json.loads(get(port, "/unbloat")[1])
    assert (told["echo_port"], told["transfer_port"]) == (port, port)
    assert told["congestion_controls"] == ["reno", "cubic"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_status_0(serve: Serve, end: signal.Signals) -> None:
    process, port = serve()
    process.send_signal(end)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert out == f"listens on port {port}: HTTPS and plain transfers over TCP, probes over UDP\n"


def test_both_families_reach_the_unspecified_address(serve: Serve) -> None:
    _, port = serve(address="::")
    for address in ("127.0.0.1", "::1"):
        socket.create_connection((address, port)).close()


def unit(cli: Cli, *words: str) -> str:
    done = cli("serve", *words, "--unit")
    assert done.returncode == 0
    return str(done.stdout)


def test_a_unit_runs_the_same_command(cli: Cli) -> None:
    told = unit(cli, "--port", "443", "--cc", "cubic", "--name", "a b,50%")
    (start,) = re.findall(r"^ExecStart=(/.*)", told, re.MULTILINE)
    assert start.endswith(' -m unbloat serve --port 443 --cc cubic --name "a b,50%%"')
    assert "LoadCredential" not in told


def test_a_unit_gets_the_key_which_root_alone_may_read(cli: Cli) -> None:
    told = unit(cli, "--certificate", "/etc/far end/full.pem", "--key=/etc/far end/50%.pem", "--port", "443")
    assert re.findall(r"serve .*|^LoadCredential.*", told, re.MULTILINE) == [
        "serve --port 443 --certificate %d/certificate --key %d/key",
        "LoadCredential=certificate:/etc/far end/full.pem",
        "LoadCredential=key:/etc/far end/50%%.pem",
    ]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_a_unit(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "unbloat-serve.service"
    file.write_text(unit(cli, "--certificate", "/etc/full.pem", "--key", "/etc/key.pem"))
    done = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True)
    # It also says what is wrong with units of others.
    own = [line for line in (done.stdout + done.stderr).splitlines() if "unbloat-serve" in line]
    assert (done.returncode, own) == (0, [])


def test_a_program_that_its_service_cannot_read_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/home/me/venv/bin/python")
    print_unit(["serve"], None, None)
    assert capsys.readouterr().err == snapshot("""\
unbloat: warning: the service may not read /home/me/venv/bin/python; install unbloat as root (`sudo make install`) and print the unit with /usr/local/bin/unbloat
""")


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
    _, port = serve()
    done = cli("serve", "--address", "127.0.0.1", "--port", port)
    assert done.returncode == 2
    assert stderr_of(done).replace(str(port), "4043") == snapshot(
        "unbloat: --port 4043: another program listens on TCP port 4043 of 127.0.0.1; choose another port, or 0 for a free one"
    )


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            errno.EADDRINUSE,
            snapshot(
                "--port 443: another program listens on UDP port 443 of ::; choose another port, or 0 for a free one"
            ),
        ),
        (
            errno.EACCES,
            snapshot("--port 443: needs root or the capability CAP_NET_BIND_SERVICE; ports from 1024 on need neither"),
        ),
        (errno.EADDRNOTAVAIL, snapshot("--address :: is not an address of this computer")),
        (
            errno.EAFNOSUPPORT,
            snapshot("--address :: needs IPv6, which this computer lacks; --address 0.0.0.0 listens on IPv4"),
        ),
        (errno.ENOBUFS, snapshot("--address :: --port 443: no buffer space available")),
    ],
)
def test_the_system_may_refuse_a_port(monkeypatch: pytest.MonkeyPatch, error: int, sentence: str) -> None:
    def bind(own: socket.socket, _: object) -> None:
        if own.type == socket.SOCK_DGRAM:
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr(socket.socket, "bind", bind)
    with refused(InputError, sentence):
        check_port(socket.AF_INET6, "::", 443)


def test_an_unknown_congestion_control_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert offered(["reno", "nosuch"]) == ["reno", "nosuch"]
    assert "--cc nosuch: this kernel does not offer it now (it has reno" in capsys.readouterr().err
    assert "reno" in offered([])
