"""`unbloat load --router` between two networks: packets of many segments, IPv4 and IPv6; as root."""

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kernel_sandbox import Done, Sandbox

pytest_plugins = ["kernel_sandbox"]

SEGMENTS = 10
BYTES = 4_000_000

NETWORKS = """
set -e
ip link set lo up
for end in lan far; do
    ip netns add $end
    ip link add $end type veth peer name eth0 netns $end
    ip link set $end up
    ip -n $end link set lo up
    ip -n $end link set eth0 up
done
number=1
for end in lan far; do
    ip addr add 192.0.$number.1/24 dev $end
    ip addr add fd00:$number::1/64 dev $end nodad
    ip -n $end addr add 192.0.$number.2/24 dev eth0
    ip -n $end addr add fd00:$number::2/64 dev eth0 nodad
    ip -n $end route add default via 192.0.$number.1
    ip -n $end -6 route add default via fd00:$number::1
    number=$((number + 1))
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
"""
"""A host in each of two networks, and this one between them: `lan` and `far` are its devices."""

OFFLOAD = """
import array, fcntl, socket, struct, sys
device, *settings = sys.argv[1:]
for setting in settings:
    command, value = map(int, setting.split("="))
    words = array.array("I", [command, value])
    request = struct.pack("16sP8x", device.encode(), words.buffer_info()[0])
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)  # SIOCETHTOOL
"""
JOINS = ["44=1"]
"""ETHTOOL_SGRO: the device joins the segments that come."""
SUMS = ["23=0"]
"""ETHTOOL_STXCSUM: checksums are made before a packet leaves, so the receiver checks them; long packets are cut."""

SERVER = """
import hashlib, socket, sys, threading
address, size = sys.argv[1], int(sys.argv[2])
server = socket.create_server((address, 4321), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
print("ready", flush=True)
sender = server.accept()[0]
def take():
    taken, left = hashlib.sha256(), size
    while left:
        data = sender.recv(min(1 << 16, left))
        left -= len(data)
        taken.update(data)
    print(taken.hexdigest(), flush=True)
taker = threading.Thread(target=take)
taker.start()
data = bytes(range(256)) * (size // 256)
shown = []
for at in range(0, size, size // 100):
    sender.sendall(data[at : at + size // 100])
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    shown.append(int.from_bytes(info[228:232], sys.byteorder))  # tcpi_snd_wnd
taker.join()
print(max(shown[-10:]), flush=True)
print(open("/proc/net/snmp").read(), flush=True)
"""
"""Sends and takes as much at once, so that windows stand in long packets of data, too."""

CLIENT = """
import hashlib, socket, sys, threading
address, size = sys.argv[1], int(sys.argv[2])
receiver = socket.create_connection((address, 4321))
data = bytes(reversed(range(256))) * (size // 256)
threading.Thread(target=receiver.sendall, args=(data,)).start()
taken, left = hashlib.sha256(), size
while left:
    part = receiver.recv(min(1 << 16, left))
    left -= len(part)
    taken.update(part)
print(taken.hexdigest())
"""
TRANSFER = """
nsenter --net=/run/netns/far "$1" -c "$2" "$4" "$5" >served &
until grep -q ready served; do sleep 0.01; done
nsenter --net=/run/netns/lan "$1" -c "$3" "$4" "$5" >taken
wait
"""


def ended_well(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def set_offloads(sandbox: Sandbox) -> Callable[..., None]:
    """Change what a device does for the kernel; without a network it is one of this host."""

    def change(device: str, *settings: str, network: str = "") -> None:
        enter = ["nsenter", f"--net=/run/netns/{network}"] if network else []
        ended_well(sandbox(*enter, sys.executable, "-c", OFFLOAD, device, *settings))

    return change


def sent_through(sandbox: Sandbox, device: str) -> int:
    """Count the packets that left, of which one may hold many segments."""
    (link,) = json.loads(ended_well(sandbox("ip", "-s", "-j", "link", "show", device)))
    packets: int = link["stats64"]["tx"]["packets"]
    return packets


def faulty_checksums(snmp: str) -> int:
    names, numbers = (line.split() for line in snmp.splitlines() if line.startswith("Tcp:"))
    return int(dict(zip(names, numbers, strict=True))["InCsumErrors"])


def digest_of(block: Any) -> str:
    return hashlib.sha256(bytes(block) * (BYTES // 256)).hexdigest()


@pytest.mark.parametrize("joined_by", ["the sender", "the router"])
@pytest.mark.parametrize("version", [4, 6])
def test_packets_of_many_segments_pass_with_lowered_windows(
    sandbox: Sandbox,
    unbloat: Sandbox,
    set_offloads: Callable[..., None],
    tmp_path: Path,
    version: int,
    joined_by: str,
) -> None:
    ended_well(sandbox("sh", "-c", NETWORKS))
    if joined_by == "the router":
        for device in ("far", "lan"):
            set_offloads("eth0", *SUMS, network=device)
            set_offloads(device, *JOINS)
        set_offloads("far", *SUMS)
    ended_well(unbloat("load", "static", "--dev", "far", "--router", "--param", f"most={SEGMENTS}"))
    address, headers = ("192.0.2.2", 52) if version == 4 else ("fd00:2::2", 72)
    ended_well(sandbox("sh", "-c", TRANSFER, "sh", sys.executable, SERVER, CLIENT, address, BYTES))

    _, uploaded, window, *snmp = (tmp_path / "served").read_text().splitlines()
    downloaded = (tmp_path / "taken").read_text().strip()
    assert (downloaded, uploaded) == (digest_of(range(256)), digest_of(reversed(range(256))))
    assert faulty_checksums("\n".join(snmp)) == 0
    segment = 1500 - headers
    # In the steps of its scale the window is rounded up; of what was joined each segment counts, not the whole.
    assert SEGMENTS * segment <= int(window) < SEGMENTS * segment + (1 << 14)
    (flow,) = json.loads(unbloat("status", "--json").stdout)["window_controllers"][0]["flows"]
    assert flow["window_bytes"] < flow["offered_bytes"]
    assert sent_through(sandbox, "lan") < BYTES / segment
