"""The network that this computer is in: the gateway of its default route, known by the address of its device.

The name of a Wi-Fi network does not tell networks apart, and neither does a gateway's address: both repeat.
"""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from unbloat._core import InputError, RunError

DISCARD = 9
"""The port of a datagram that makes the kernel ask for the address of the gateway's device (RFC 863)."""
ANSWER_S, POLL_S = 1.0, 0.02
"""The longest wait for the gateway's answer, and the time between two looks."""
SETTLED_S = 1.0
"""The routes of a network that comes change within this time."""
UNANSWERED = 0x01 | 0x20
"""NUD_INCOMPLETE and NUD_FAILED (linux/neighbour.h)."""
GROUPS = 0x4 | 0x40 | 0x400
"""RTMGRP_NEIGH, RTMGRP_IPV4_ROUTE and RTMGRP_IPV6_ROUTE (linux/rtnetlink.h)."""


@dataclass(frozen=True)
class Network:
    """A network as a computer in it sees it."""

    device: str
    """The device that leads to the gateway: a cure is for one device."""
    gateway: str
    link_address: str
    """The address of the gateway's device."""

    def __str__(self) -> str:
        return f"the network of {self.gateway} ({self.link_address}) at {self.device}"


def here() -> Network | None:
    """Return the network of the default route; None if it cannot be known now."""
    with suppress(InputError):
        return found()
    return None


def found() -> Network:
    """Return the network of the default route; raises `InputError` with the reason if it cannot be known."""
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        with IPRoute() as kernel:
            return _network(kernel)
    except (OSError, NetlinkError) as error:
        raise RunError(f"the kernel does not report its routes: {error}") from None


def _network(kernel: Any) -> Network:
    route = _default_route(kernel)
    if route is None:
        raise InputError("this computer has no default route, and its network is unknown")
    index = route.get_attr("RTA_OIF")
    device = socket.if_indextoname(index) if index else "several devices"
    gateway = route.get_attr("RTA_GATEWAY")
    if not index or not gateway:
        raise InputError(
            f"the default route leads through {device} without a gateway, as a VPN's does, and the network is unknown"
        )
    end = time.monotonic() + ANSWER_S
    while (address := _link_address(kernel, index, gateway)) is None and time.monotonic() < end:
        _ask(gateway, index)
        time.sleep(POLL_S)
    if address is None:
        raise InputError(f"the gateway {gateway} does not answer at {device}, and the network is unknown")
    return Network(device, gateway, address)


def _default_route(kernel: Any) -> Any:
    """Return the default route that counts: that of IPv4 if there is one."""
    for family in (socket.AF_INET, socket.AF_INET6):
        if routes := list(kernel.get_default_routes(family=family)):
            return min(routes, key=lambda route: route.get_attr("RTA_PRIORITY") or 0)
    return None


def _link_address(kernel: Any, index: int, gateway: str) -> str | None:
    for entry in kernel.get_neighbours(ifindex=index, dst=gateway):
        if address := None if entry["state"] & UNANSWERED else entry.get_attr("NDA_LLADDR"):
            return str(address)
    return None


def _ask(gateway: str, index: int) -> None:
    """Send an empty datagram, before which the kernel has to ask for the address of the gateway's device."""
    family = socket.AF_INET6 if ":" in gateway else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(b"", (gateway, DISCARD, 0, index) if family == socket.AF_INET6 else (gateway, DISCARD))


class Changes:
    """What the kernel tells about routes and neighbours."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.setblocking(False)
        self._socket.bind((0, GROUPS))

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._socket.close()

    def wait(self, ends: int, timeout_s: float | None) -> bool:
        """Wait for a change, and until it has settled; return False as soon as the descriptor `ends` is readable."""
        changed = self._socket.fileno()
        ready, _, _ = select.select([changed, ends], [], [], timeout_s)
        if changed in ready:
            ready, _, _ = select.select([ends], [], [], SETTLED_S)
        while True:
            try:
                self._socket.recv(1 << 16)
            except BlockingIOError:
                break
            except OSError:  # So many changes that some were lost.
                continue
        return ends not in ready
