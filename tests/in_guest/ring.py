"""The init program of a guest whose network device has a ring: uploads, and what of them is in the host over time.

The device sends a packet every so often, whatever it is given, over a wire to a second one in a namespace of its own,
where a sink reads, 50 ms away. Parameters come on the kernel's command line, the answer goes to the console.
"""

import ctypes
import json
import os
import selectors
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, "/guest")
from unbloat.guest.inside.system import end_machine, load_module, mount

CLONE_NEWNET = 0x40000000
SO_MEMINFO, SK_MEMINFO_SNDBUF, SK_MEMINFO_WMEM_QUEUED = 55, 3, 5
TCPI_SND_CWND = 80
"""Where it stands in `struct tcp_info`."""
RTM_GETQDISC, NLM_F_REQUEST, NLM_F_ECHO = 38, 1, 8
TC_H_ROOT, TCA_STATS2, TCA_STATS_QUEUE = 0xFFFFFFFF, 7, 3
NO_LIMIT = 1_000_000_000
SAMPLE_S = 0.043
"""No divisor of a buffer's period."""
ADDRESSES = {"near": "10.0.0.1", "far": "10.0.0.2"}
SINK = (ADDRESSES["far"].encode(), 5000)
"""Bytes, for a text would need an encoding that the guest lacks."""
PHASES = json.loads(Path("/guest/phases.json").read_text())
"""Of each: uploads, the most segments of a buffer, whether bytes in the ring are limited, seconds before and in it, and
whether TCP has small queues."""
MOST_MEMORY = {True: 400_000, False: 4_000_000}
"""Of a send buffer, with small queues and without."""


def say(*words: str) -> str:
    """Run a program, and give what it says."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def has(device: str) -> bool:
    """Return whether this namespace has the device."""
    return device in [name for _, name in socket.if_nameindex()]


def main() -> None:
    """Set both ends up, and go through the phases."""
    for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")):
        mount(kind, kind, Path(place))
    console = os.open("/dev/console", os.O_RDWR)
    for number in range(3):
        os.dup2(console, number)
    for name in Path("/guest/modules/order").read_text().split():
        try:
            with (Path("/guest/modules") / name).open("rb") as module:
                load_module(module)
        except OSError as error:
            print(name, error)
    near, far = sorted(path.name for path in Path("/sys/class/net").iterdir() if (path / "device").exists())
    sink = os.fork()
    if sink == 0:
        ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET)
        take_all(far)
    time.sleep(0.2)
    say("ip", "link", "set", far, "netns", str(sink))
    say("ip", "address", "add", f"{ADDRESSES['near']}/24", "dev", near)
    say("ip", "link", "set", near, "up")
    Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1")
    Path("/sys/module/tcp_cubic/parameters/hystart").write_text("0")
    time.sleep(0.5)
    for phase in PHASES:
        print("MEANS", json.dumps(means(near, **phase)), flush=True)


def take_all(device: str) -> None:
    """Accept connections and read what comes."""
    while not has(device):
        time.sleep(0.02)
    say("ip", "address", "add", f"{ADDRESSES['far']}/24", "dev", device)
    say("ip", "link", "set", device, "up")
    say("tc", "qdisc", "replace", "dev", device, "root", "netem", "delay", "50ms", "limit", "100000")
    listener = socket.socket()
    listener.bind(SINK)
    listener.listen()
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            else:
                try:
                    key.fileobj.recv(1 << 20)
                except ConnectionResetError:
                    ready.unregister(key.fileobj)


def means(
    device: str,
    uploads: int,
    segments: int,
    limited: bool,
    before_s: float,
    for_s: float,
    small_queues: bool = True,
) -> dict[str, float]:
    """Upload for a while, and give means over time, bytes; windows in packets.

    A `netem` with a delay takes packets off the accounts of their sockets, so that no small queue holds TCP back.
    """
    kind = ["pfifo"] if small_queues else ["netem", "delay", "1us"]
    say("tc", "qdisc", "replace", "dev", device, "root", *kind, "limit", "1000")
    Path("/proc/sys/net/ipv4/tcp_wmem").write_text(f"4096 16384 {MOST_MEMORY[small_queues]}")
    limits = Path(f"/sys/class/net/{device}/queues/tx-0/byte_queue_limits")
    (limits / "limit_min").write_text("0" if limited else str(NO_LIMIT))
    # Else it stays where a phase without limits has left it.
    (limits / "limit").write_text("0")
    say("ip", "link", "set", device, "gso_max_segs", str(segments))
    sockets = [socket.socket() for _ in range(uploads)]
    for s in sockets:
        s.connect(SINK)
    stopped = threading.Event()
    pump = threading.Thread(target=write_all, args=(sockets, stopped))
    pump.start()
    kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    start, samples = time.monotonic(), []
    while (now := time.monotonic() - start) < before_s + for_s:
        if now >= before_s:
            memory = [struct.unpack("9I", s.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36)) for s in sockets]
            samples.append(
                {
                    "queued": sum(of[SK_MEMINFO_WMEM_QUEUED] for of in memory),
                    "sndbuf": sum(of[SK_MEMINFO_SNDBUF] for of in memory),
                    "queue": backlog(kernel, device),
                    "ring": int((limits / "inflight").read_text()),
                    "cwnd": sum(window(s) for s in sockets),
                }
            )
        time.sleep(SAMPLE_S)
    stopped.set()
    pump.join()
    for s in sockets:
        # Without a word: nothing is left for the next phase.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    time.sleep(0.3)
    return {name: sum(sample[name] for sample in samples) / len(samples) for name in samples[0]}


def window(of: socket.socket) -> int:
    """Ask for a socket's congestion window."""
    info = of.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCPI_SND_CWND + 4)
    return int.from_bytes(info[TCPI_SND_CWND:], "little")


def backlog(kernel: socket.socket, device: str) -> int:
    """Ask for the bytes in the device's root queue, without the processor time of a program."""
    # struct tcmsg: family, index, handle, parent, info; struct nlmsghdr before it.
    body = struct.pack("=BxxxiIII", socket.AF_UNSPEC, socket.if_nametoindex(device), 0, TC_H_ROOT, 0)
    kernel.send(struct.pack("=IHHII", 16 + len(body), RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, 1, 0) + body)
    answer = kernel.recv(65_536)
    statistics = attributes(attributes(answer[16 + len(body) :])[TCA_STATS2])
    _, waiting = struct.unpack_from("=II", statistics[TCA_STATS_QUEUE])
    return int(waiting)


def attributes(data: bytes) -> dict[int, bytes]:
    """Take attributes of netlink apart."""
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found


def write_all(sockets: list[socket.socket], stopped: threading.Event) -> None:
    """Write wherever there is room."""
    ready, data = selectors.DefaultSelector(), bytes(16_384)
    for s in sockets:
        s.setblocking(False)
        ready.register(s, selectors.EVENT_WRITE)
    while not stopped.is_set():
        for key, _ in ready.select(0.1):
            try:
                while True:
                    key.fileobj.send(data)
            except BlockingIOError:
                pass


try:
    main()
except BaseException:
    traceback.print_exc()
finally:
    time.sleep(0.2)
    end_machine()
