"""Queue disciplines of devices, over netlink (rtnetlink(7)): read as the kernel has them, and put back to the byte."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from unbloat._core import RunError

RESTORABLE = ("noqueue", "pfifo", "bfifo", "pfifo_fast", "codel", "fq_codel", "fq", "pie", "fq_pie", "cake")
"""Disciplines without classes: the options that the kernel reports are those that it accepts."""

NEW, DELETE, GET = 36, 37, 38
"""RTM_NEWQDISC and its neighbours (linux/rtnetlink.h)."""
REQUEST, ACK, DUMP, CREATE_OR_REPLACE = 0x1, 0x4, 0x300, 0x500
ERROR, DONE = 2, 3
"""NLMSG_ERROR and NLMSG_DONE."""
ROOT, CLSACT = 0xFFFFFFFF, 0xFFFFFFF1
"""Parents of a device's own discipline, and of filters of all packets."""
KIND, OPTIONS = 1, 2
"""TCA_KIND and TCA_OPTIONS."""
NUMBER = 0x3FFF
"""The number of an attribute without its flags: some disciplines accept their options only with that of a nest."""
CODEL_TIMES = {"codel": (1, 3, 5), "fq_codel": (1, 3, 7)}
"""Attributes with a target, an interval and a threshold in microseconds, which CoDel rounds down to 1024 ns."""
HEADER, TCMSG, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxiIII"), struct.Struct("=HH")
MOST_BYTES = 1 << 18


@dataclass(frozen=True)
class Qdisc:
    """The discipline of a device."""

    kind: str
    handle: int
    """Zero if the kernel chose it."""
    options: str
    """The attribute with the options as the kernel has it, in hexadecimal digits."""


def of_devices() -> dict[int, Qdisc]:
    """Return each device's own discipline, by the number of the device."""
    return {index: qdisc for index, parent, qdisc in _dump() if parent == ROOT}


def with_clsact() -> set[int]:
    """Return the numbers of the devices that have `clsact` or `ingress`."""
    return {index for index, parent, _ in _dump() if parent == CLSACT}


def put_back(index: int, qdisc: Qdisc) -> None:
    """Give a device the discipline that it had; raises `RunError` if the kernel refuses it.

    A discipline of the kernel's own choice comes back by itself, if the kernel would choose it again.
    """
    now = of_devices().get(index, qdisc)
    # The kernel chooses for a device without one; none takes the place of another kind that has its number.
    if now.handle and (not qdisc.handle or now.handle == qdisc.handle):
        _ask(DELETE, REQUEST | ACK, index, ROOT)
        now = of_devices().get(index, qdisc)
    if qdisc.handle or now.kind != qdisc.kind:
        attributes = _attribute(KIND, qdisc.kind.encode() + b"\0")
        attributes += _options(qdisc)
        _ask(NEW, REQUEST | ACK | CREATE_OR_REPLACE, index, ROOT, qdisc.handle, attributes)


def _options(qdisc: Qdisc) -> bytes:
    """Return the options such that the kernel then reports those of `qdisc`."""
    whole = bytes.fromhex(qdisc.options)
    if not whole or qdisc.kind not in CODEL_TIMES:
        return whole
    options = b""
    for kind, value in _attributes(whole[ATTRIBUTE.size :]):
        # One more is rounded to what was there; the same number would be rounded down once more.
        is_time = kind & NUMBER in CODEL_TIMES[qdisc.kind]
        options += _attribute(kind, struct.pack("=I", struct.unpack("=I", value)[0] + 1) if is_time else value)
    return _attribute(ATTRIBUTE.unpack_from(whole)[1], options)


def remove_clsact(index: int) -> None:
    """Take `clsact` and all of its filters from a device."""
    _ask(DELETE, REQUEST | ACK, index, CLSACT)


def _dump() -> list[tuple[int, int, Qdisc]]:
    """List all disciplines, each with its device and its parent."""
    found = []
    for body in _ask(GET, REQUEST | DUMP, 0, 0):
        _, index, handle, parent, _ = TCMSG.unpack_from(body)
        attributes = {kind & NUMBER: (kind, value) for kind, value in _attributes(body[TCMSG.size :])}
        kind = attributes[KIND][1].rstrip(b"\0").decode(errors="replace")
        options = _attribute(*attributes[OPTIONS]) if OPTIONS in attributes else b""
        found.append((index, parent, Qdisc(kind, handle, options.hex())))
    return found


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= ATTRIBUTE.size:
        length, kind = ATTRIBUTE.unpack_from(data)
        if length < ATTRIBUTE.size:
            return
        yield kind, data[ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def _attribute(kind: int, value: bytes) -> bytes:
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def _ask(kind: int, flags: int, index: int, parent: int, handle: int = 0, attributes: bytes = b"") -> list[bytes]:
    """Send a request, and return the bodies of the answers; raises `RunError` for the kernel's error."""
    body = TCMSG.pack(socket.AF_UNSPEC, index, handle, parent, 0) + attributes
    answers: list[bytes] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(HEADER.pack(HEADER.size + len(body), kind, flags, 1, 0) + body)
        while True:
            for answered, answer in _messages(netlink.recv(MOST_BYTES)):
                if answered == ERROR and (code := struct.unpack_from("=i", answer)[0]):
                    raise RunError(f"the kernel refuses to change a queue discipline: {os.strerror(-code).lower()}")
                if answered in (ERROR, DONE):
                    return answers
                answers.append(answer)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= HEADER.size:
        length, kind, *_ = HEADER.unpack_from(data)
        yield kind, data[HEADER.size : length]
        data = data[(length + 3) & ~3 :]
