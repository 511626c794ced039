"""Sends a train of UDP packets, or says when each packet of one arrived; knows nothing of unbloat.

    train.py send SIGNAL HOST COUNT BYTES GAP_US    as soon as the file SIGNAL is there
    train.py receive SIGNAL QUIET_MS                until nothing has come for so long

Sizes are those of IP packets. The receiver prints a line for each packet, in the order of arrival: its number, when it
was sent, when it arrived (by the kernel's own time stamp), in nanoseconds of both ends' one clock, and its size.
"""

import ctypes
import os
import socket
import struct
import sys
import time

PORT = 5000
HEADERS = 20 + 8  # of IP and UDP
STAMP = struct.Struct("!IQ")
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
AMPLE = 1 << 28
PATIENCE = 1e6
WARM_UP = 2**32 - 1
"""Number of a packet before the train, which opens the way for it."""
MCL_CURRENT, MCL_FUTURE = 1, 2


def send(signal: str, host: str, count: str, size: str, gap_us: str) -> None:
    # The shell does not wait any longer once somebody listens here.
    with socket.create_server(("", PORT)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outlet:
        outlet.connect((host, PORT))
        rest = bytes(int(size) - HEADERS - STAMP.size)
        # Before all ordinary programs: the train has no gaps but those asked for.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        while not os.path.exists(signal):  # noqa: PTH110 - pathlib costs a guest a tenth of a second
            time.sleep(0.002)
        outlet.send(STAMP.pack(WARM_UP, 0) + rest)
        time.sleep(0.1)
        start = time.time_ns()
        for number in range(int(count)):
            wait = start + number * int(gap_us) * 1000 - time.time_ns()
            if wait > 0:
                time.sleep(wait / 1e9)
            outlet.send(STAMP.pack(number, time.time_ns()) + rest)
        time.sleep(PATIENCE)


def receive(signal: str, quiet_ms: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inlet:
        inlet.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, AMPLE)
        inlet.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        inlet.bind(("", PORT))
        inlet.settimeout(PATIENCE)
        os.close(os.open(signal, os.O_CREAT))
        lines = []
        while (packet := next_packet(inlet)) is not None:
            data, arrived = packet
            number, sent = STAMP.unpack_from(data)
            if number != WARM_UP:
                lines.append(f"{number} {sent} {arrived} {len(data) + HEADERS}")
            inlet.settimeout(int(quiet_ms) / 1000)
    print("\n".join(lines))


def next_packet(inlet: socket.socket) -> tuple[bytes, int] | None:
    try:
        data, [(_, _, stamp)], _, _ = inlet.recvmsg(65536, 64)
    except TimeoutError:
        return None
    seconds, nanoseconds = struct.unpack("qq", stamp)
    return data, seconds * 10**9 + nanoseconds


if __name__ == "__main__":
    # What the program needs comes from the disk now, not when it is in a hurry.
    if ctypes.CDLL(None).mlockall(MCL_CURRENT | MCL_FUTURE):
        sys.exit("mlockall failed")
    {"send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
