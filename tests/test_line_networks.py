"""`unbloat line` in networks that are in its way: a sentence each, and nothing on the computer changes. Needs root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import UNBLOAT, Sandbox
from leftovers import wait_until
from unbloat.cli.app import main
from unbloat.line.state import SETTINGS

pytest_plugins = ["kernel_sandbox"]

FAR = """
ip link set lo up
ip netns add far
ip link add v0 type veth peer name v1 netns far
ip address add 10.0.9.1/24 dev v0
ip -6 address add fd09::1/64 dev v0 nodad
ip link set v0 up
ip -n far address add 10.0.9.2/24 dev v1
ip -n far -6 address add fd09::2/64 dev v1 nodad
ip -n far link set v1 up
ip -n far link set lo up
tc qdisc replace dev v0 root tbf rate 20mbit burst 20kb latency 50ms
tc -n far qdisc replace dev v1 root tbf rate 20mbit burst 20kb latency 50ms
"""
STATE = "ip -brief address; ip route; ip rule; tc qdisc; ls /run /var/lib; sysctl " + " ".join(SETTINGS)
PORTAL = """
import http.server, ssl, sys
class Login(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302)
        self.send_header("Location", "http://login.example/")
        self.end_headers()
server = http.server.ThreadingHTTPServer(("", 4043), Login)
if sys.argv[1:]:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("certificate.pem", "key.pem")
    server.socket = tls.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
"""

Start = Callable[..., "subprocess.Popen[str]"]
Serve = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(holder: int, sandbox: Sandbox, tmp_path: Path) -> Iterator[Start]:
    """Start a program at the far end, or here, of a line between two network namespaces."""
    assert sandbox("sh", "-c", FAR).returncode == 0
    processes = []

    def call(*words: object, is_far: bool = True) -> subprocess.Popen[str]:
        enter = ["nsenter", "--target", str(holder), "--mount", "--net", f"--wd={tmp_path}"]
        place = [*enter, *(["ip", "netns", "exec", "far"] if is_far else [])]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([*place, *map(str, words)], text=True, **pipes)
        processes.append(process)
        return process

    yield call
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def serve(start: Start, tmp_path: Path) -> Serve:
    """Start a far end there."""

    def call(*words: str) -> subprocess.Popen[str]:
        process = start(*UNBLOAT, "serve", "--ready-file", "ready", *words)
        wait_until((tmp_path / "ready").exists)
        return process

    return call


def state(sandbox: Sandbox) -> str:
    return sandbox("sh", "-c", STATE).stdout


def said(text: str) -> list[str]:
    """Return the sentences on stderr, without the progress."""
    return [line for line in text.splitlines() if "measures: " not in line]


def test_ipv6_alone_suffices(serve: Serve, sandbox: Sandbox) -> None:
    serve()
    sandbox("ip", "address", "del", "10.0.9.1/24", "dev", "v0")
    before = state(sandbox)
    words = (*UNBLOAT, "line", "--no-fit", "--budget", "2mb", "--duration", "20s", "--server")
    done = sandbox(*words, "[fd09::2]")
    assert done.returncode == 0 and "[fd09::2]:4043) over v0" in done.stdout
    assert said(done.stderr) == snapshot(
        ["unbloat: note: the far end's certificate is not one that this computer trusts"]
    )
    done = sandbox(*words, "10.0.9.2")
    assert (done.returncode, done.stdout, said(done.stderr)) == snapshot(
        (1, "", ["unbloat: 10.0.9.2:4043: no connection: Network is unreachable (os error 101)"])
    )
    assert state(sandbox) == before


def test_a_server_that_stops_leaves_what_was_measured(serve: Serve, start: Start, sandbox: Sandbox) -> None:
    server = serve()
    before = state(sandbox)
    client = start(*UNBLOAT, "line", "--no-fit", "--server", "10.0.9.2", is_far=False)
    assert client.stderr
    while "measures: down" not in client.stderr.readline():
        pass
    server.send_signal(signal.SIGKILL)
    shown, told = client.communicate()
    assert (client.returncode, said(told)) == snapshot(
        (
            0,
            [
                "unbloat: note: the far end ended all connections: its limits, or the network, cut the measurement",
                "unbloat: note: the far end's certificate is not one that this computer trusts",
            ],
        )
    )
    assert shown.startswith("10.0.9.2 (10.0.9.2:4043) over v0")
    assert state(sandbox) == before


@pytest.mark.parametrize(
    "how, sentence",
    [
        (
            "tls",
            snapshot(
                "unbloat: 10.0.9.2:4043: the server does not speak HTTP/2, which measurements need; if your network asks for a login in the browser, log in first\n"
            ),
        ),
        (
            "",
            snapshot(
                "unbloat: 10.0.9.2:4043: the TLS handshake failed: received corrupt message of type InvalidContentType; if your network asks for a login in the browser, log in first\n"
            ),
        ),
    ],
)
def test_a_captive_portal_is_named(how: str, sentence: str, start: Start, sandbox: Sandbox, tmp_path: Path) -> None:
    make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -subj /CN=portal"
    if how:
        assert sandbox(*make.split()).returncode == 0
    portal = start(sys.executable, "-c", PORTAL, *filter(None, [how]))
    assert portal.stdout and portal.stdout.readline() == "ready\n"
    before = state(sandbox)
    done = sandbox(*UNBLOAT, "line", "--server", "10.0.9.2")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", sentence)
    assert state(sandbox) == before
    assert not [*tmp_path.glob("line*.toml")]


TUNNEL = """
import fcntl, select, socket, struct, sys
device = open("/dev/net/tun", "r+b", buffering=0)
fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", b"tun0", 0x1001))  # TUNSETIFF; IFF_TUN | IFF_NO_PI
near, far = sys.argv[1:]
outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
outside.bind((near, 5000))
outside.connect((far, 5000))
print("ready", flush=True)
while True:
    for end in select.select([device, outside], [], [])[0]:
        try:
            outside.send(device.read(2000)) if end is device else device.write(outside.recv(2000))
        except OSError:  # The other end does not listen yet.
            pass
"""
THROUGH_TUNNEL = """
mount -t sysfs none /sys
ip link set tun0 up mtu 1400
ip address add 10.8.0.1/32 dev tun0
ip route add default dev tun0
ip -n far link set tun0 up mtu 1400
ip -n far address add 192.0.2.1/32 dev tun0
ip -n far route add 10.8.0.1 dev tun0
"""


def test_a_vpn_as_the_default_route_is_named(serve: Serve, start: Start, sandbox: Sandbox) -> None:
    for near, far, is_far in (("10.0.9.1", "10.0.9.2", False), ("10.0.9.2", "10.0.9.1", True)):
        end = start(sys.executable, "-c", TUNNEL, near, far, is_far=is_far)
        assert end.stdout and end.stdout.readline() == "ready\n"
    assert sandbox("sh", "-ec", THROUGH_TUNNEL).returncode == 0
    serve()
    before = state(sandbox)
    words = (*UNBLOAT, "line", "--no-fit", "--budget", "2mb", "--duration", "20s", "--server")
    done = sandbox(*words, "192.0.2.1")
    assert done.returncode == 0 and "(192.0.2.1:4043) over tun0" in done.stdout
    assert said(done.stderr) == snapshot(
        [
            "unbloat: note: the far end's certificate is not one that this computer trusts",
            "unbloat: note: tun0 is a tunnel, such as a VPN's, and this is the line through it",
        ]
    )
    assert state(sandbox) == before


HOLD = """
import socket, ssl, sys
tls = ssl.create_default_context()
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
held = tls.wrap_socket(socket.create_connection(("10.0.9.2", 4043)))
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_full_far_end_says_so(serve: Serve, start: Start, sandbox: Sandbox) -> None:
    serve("--client-connections", "1")
    other = start(sys.executable, "-c", HOLD, is_far=False)
    assert other.stdout and other.stdout.readline() == "ready\n"
    done = sandbox(*UNBLOAT, "line", "--server", "10.0.9.2", "--no-fit")
    assert (done.returncode, done.stdout, done.stderr) == snapshot(
        (
            1,
            "",
            "unbloat: 10.0.9.2:4043: the far end refuses more connections, from this address or from all: try again later, or raise --client-connections there\n",
        )
    )


@pytest.mark.parametrize("option", ["--apply", "--prove"])
def test_without_rights_nothing_is_measured(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["line", "--server", "192.0.2.1", option]) == 1
    assert capsys.readouterr().err == snapshot(
        "unbloat: loading a cure, and undoing it, needs root's rights: run it with sudo\n"
    )
