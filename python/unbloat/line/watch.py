"""Which connection fills the queue now, and which program: figures of the kernel about all its TCP connections.

Rate times added delay is what a connection has in queues on its way, in bytes (Little's law). For an upload the RTT is
the sender's own estimate. For a download it is the receiver's (`tcpi_rcv_rtt`), which the kernel updates only while
full segments arrive.
"""

from __future__ import annotations

import pwd
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from unbloat._core import RunError

Direction = Literal["down", "up"]
PROC = Path("/proc")
UNKNOWN_US = 2**32 - 1
"""The least RTT of a connection that has measured none."""
CONTROL_DATA = 0.02
"""The least share of the other direction's data; a direction with less carries requests and window updates."""
FULL_SEGMENTS = 10
"""The least number of segments in an interval after which the receiver's RTT counts as measured."""
LOOKS = 5
"""Snapshots in an interval, at most."""
TICK_US = 1000
"""The tick of the clock in TCP's timestamps, with which a receiver measures."""
NOTICED_MS = 10.0
"""Added delay that is worth a word."""
ALIKE = 2.0
"""Delays of both directions that differ by at most this factor may come from one queue."""
LOOPBACK = ("127.", "[::1]")
"""Addresses of this computer begin like these."""
ESTABLISHED = " 01 "
"""A connection's state in /proc/net/tcp."""


@dataclass(frozen=True)
class Connection:
    """A TCP connection at a moment, as the kernel reports it (`struct inet_diag_msg`, `struct tcp_info`)."""

    far: str
    """The far end's address."""
    port: int
    """The far end's port."""
    inode: int
    """The number by which descriptors of programs name the socket; 0 if no program has it open."""
    user: int
    control: str
    """The congestion control of this end."""
    acked: int
    """Bytes that the far end has acknowledged."""
    received: int
    unread: int
    """Bytes that the program has not read yet."""
    unsent: int
    resent: int
    """Segments that this end has sent again."""
    segment: int
    """Bytes of the far end's segments, as this end estimates them."""
    rtt_us: int
    least_rtt_us: int
    receiver_rtt_us: int


@dataclass(frozen=True)
class Snapshot:
    """All TCP connections of this network namespace at a moment, and what its devices have carried."""

    time_s: float
    connections: Mapping[int, Connection]
    """Connections by their cookie, which the kernel uses once."""
    devices: Mapping[str, Carried] = field(default_factory=dict)
    """The devices of the default routes."""


class Carried(NamedTuple):
    """Bytes that a device has received and sent."""

    down: int
    up: int


class Program(NamedTuple):
    """A process."""

    pid: int
    name: str


@dataclass(frozen=True)
class Row:
    """A direction of a connection during an interval."""

    program: str | None
    """None for a program of another user, which only root sees, and if the program has closed the connection."""
    pid: int | None
    user: str | None
    """None if the program has closed the connection, whose data the kernel still sends."""
    far: str
    """The far end's address and port."""
    direction: Direction
    rate_mbps: float
    rtt_ms: float | None
    """None for a download that paused, or whose program reads too slowly, so that it is not measured."""
    least_rtt_ms: float | None
    """The least RTT to this address, over all connections and at most five minutes."""
    added_ms: float | None
    queued_bytes: int | None
    """Bytes of this connection that wait on their way, by Little's law."""
    unsent_bytes: int | None
    """Bytes that wait in this computer's send buffer; None for a download."""
    retransmits: int | None
    """Segments that were sent again during the interval; None for a download."""
    congestion_control: str | None
    """None for a download: the far end's is unknown."""


@dataclass(frozen=True)
class Seen:
    """An interval: its connections, and what the devices of the default routes carried."""

    time_s: float
    """Seconds since the first snapshot."""
    interval_s: float
    rows: list[Row]
    devices: dict[str, dict[Direction, float]]
    """Mbit/s."""

    @property
    def carried_mbps(self) -> dict[Direction, float]:
        """What the connections to other computers carried, each way; the devices carry headers and UDP too."""
        sums: dict[Direction, float] = {"down": 0.0, "up": 0.0}
        for row in self.rows:
            if not row.far.startswith(LOOPBACK):
                sums[row.direction] += row.rate_mbps
        return sums

    @property
    def is_direction_sure(self) -> bool:
        """Whether the longest delay belongs to one direction; an RTT includes the queues of both."""
        longest = {"down": 0.0, "up": 0.0}
        for row in self.rows:
            longest[row.direction] = max(longest[row.direction], row.added_ms or 0.0)
        less, more = sorted(longest.values())
        return more < NOTICED_MS or less < more / ALIKE


def watch(interval_s: float = 1.0) -> Iterator[Seen]:
    """Yield what happened in each interval, without end."""
    latest = began = snapshot()
    programs: dict[int, Program] = {}
    while True:
        looks = [latest]
        while latest.time_s < looks[0].time_s + interval_s:
            took = time.monotonic() - latest.time_s
            time.sleep(max(interval_s / LOOKS - took, took))  # It must not keep a processor busy.
            looks.append(latest := snapshot())
        active = {connection.inode for _, connection, _, _ in _active(looks[0], latest)} - {0}
        programs = {inode: programs[inode] for inode in active & programs.keys()}
        programs |= programs_of(active - programs.keys())
        seconds = latest.time_s - looks[0].time_s
        yield Seen(latest.time_s - began.time_s, seconds, rows(looks, programs), device_rates(looks[0], latest))


# ---------------------------------------------------------------- From snapshots to rows


def rows(looks: Sequence[Snapshot], programs: Mapping[int, Program]) -> list[Row]:
    """Compare the first and the last of at least two snapshots; those between show which downloads paused.

    There is a row for each direction that carried data. Those come first that have most data in a queue.
    """
    first, last = looks[0], looks[-1]
    least = _least_by_address(last)
    found = []
    for cookie, connection, direction, moved in _active(first, last):
        is_up = direction == "up"
        rtt_us = connection.rtt_us if is_up else _receiver_rtt_us([look.connections.get(cookie) for look in looks])
        earlier = first.connections.get(cookie)
        found.append(
            _row(
                direction,
                moved / (last.time_s - first.time_s),
                connection,
                rtt_us,
                least.get(connection.far),
                connection.resent - (earlier.resent if earlier else 0),
                programs.get(connection.inode),
            )
        )
    return sorted(found, key=lambda row: (-(row.queued_bytes or 0), -row.rate_mbps, row.far, row.direction))


def _active(first: Snapshot, last: Snapshot) -> Iterator[tuple[int, Connection, Direction, int]]:
    """Yield each direction that carried data: the connection's cookie, the connection, the direction, the bytes."""
    for cookie, connection in last.connections.items():
        earlier = first.connections.get(cookie)
        down = connection.received - (earlier.received if earlier else 0)
        up = connection.acked - (earlier.acked if earlier else 0)
        if down > CONTROL_DATA * up:
            yield cookie, connection, "down", down
        if up > CONTROL_DATA * down:
            yield cookie, connection, "up", up


def _row(
    direction: Direction,
    bytes_per_s: float,
    connection: Connection,
    rtt_us: int | None,
    least_us: int | None,
    resent: int,
    program: Program | None,
) -> Row:
    is_up = direction == "up"
    added_us = _added_us(rtt_us, least_us, is_up)
    return Row(
        program=program.name if program else None,
        pid=program.pid if program else None,
        user=user_name(connection.user) if connection.inode else None,
        far=f"[{connection.far}]:{connection.port}" if ":" in connection.far else f"{connection.far}:{connection.port}",
        direction=direction,
        rate_mbps=bytes_per_s * 8 / 1e6,
        rtt_ms=rtt_us / 1e3 if rtt_us else None,
        least_rtt_ms=least_us / 1e3 if least_us else None,
        added_ms=None if added_us is None else added_us / 1e3,
        queued_bytes=None if added_us is None else round(bytes_per_s * added_us / 1e6),
        unsent_bytes=connection.unsent if is_up else None,
        retransmits=resent if is_up else None,
        congestion_control=connection.control if is_up else None,
    )


def _added_us(rtt_us: int | None, least_us: int | None, is_up: bool) -> int | None:
    """Return how much longer the RTT is than the least one; a receiver cannot see less than a tick of its clock."""
    if not rtt_us or not least_us:
        return None
    added_us = max(0, rtt_us - least_us)
    return added_us if is_up or added_us > TICK_US else 0


def _receiver_rtt_us(looks: Sequence[Connection | None]) -> int | None:
    """Return the RTT that a receiver measures; None if data did not arrive all the time, or waited for the program.

    The kernel measures from an acknowledgement to the next data. So pauses of the sender count as RTT.
    """
    if (first := looks[0]) is None or (last := looks[-1]) is None:
        return None
    is_steady = all(then and now and then.received < now.received for then, now in pairwise(looks))
    moved = last.received - first.received
    is_measured = is_steady and moved >= FULL_SEGMENTS * last.segment and last.unread <= moved / FULL_SEGMENTS
    return last.receiver_rtt_us or None if is_measured else None


def _least_by_address(now: Snapshot) -> dict[str, int]:
    """Return the least RTT to each address: of its connections, some began before the queue was full."""
    least: dict[str, int] = {}
    for connection in now.connections.values():
        if 0 < connection.least_rtt_us < UNKNOWN_US:
            least[connection.far] = min(connection.least_rtt_us, least.get(connection.far, UNKNOWN_US))
    return least


def device_rates(before: Snapshot, now: Snapshot) -> dict[str, dict[Direction, float]]:
    """Return what each device carried between two snapshots, in Mbit/s."""
    to_mbps = 8 / 1e6 / (now.time_s - before.time_s)
    return {
        device: {"down": (carried.down - then.down) * to_mbps, "up": (carried.up - then.up) * to_mbps}
        for device, carried in now.devices.items()
        if (then := before.devices.get(device)) and carried.down >= then.down and carried.up >= then.up
    }


# ---------------------------------------------------------------- What the kernel reports


def snapshot() -> Snapshot:
    """Ask the kernel for all TCP connections.

    Raises
    ------
    RunError
        The kernel does not report them.

    """
    from pyroute2.netlink.diag import SS_CONN, DiagSocket
    from pyroute2.netlink.exceptions import NetlinkError

    wanted = (1 << INET_DIAG_INFO - 1) | (1 << INET_DIAG_CONG - 1)
    connections: dict[int, Connection] = {}
    try:
        with DiagSocket() as kernel:
            kernel.bind()
            now = time.monotonic()
            for family in (socket.AF_INET, socket.AF_INET6):
                for message in kernel.get_sock_stats(family=family, states=SS_CONN, extensions=wanted):
                    if info := message.get_attr("INET_DIAG_INFO"):
                        connections[message["idiag_cookie"]] = connection_of(message, info)
    except (OSError, NetlinkError) as error:
        raise RunError(f"the kernel does not report its TCP connections: {error}") from None
    if not connections and _has_connections():
        raise RunError("the kernel does not report its TCP connections: load the module tcp_diag (modprobe tcp_diag)")
    return Snapshot(now, connections, carried())


INET_DIAG_INFO, INET_DIAG_CONG = 2, 4
"""Numbers of the parts that a message may have (linux/inet_diag.h)."""


def connection_of(message: Any, info: Mapping[str, int]) -> Connection:
    """Read a message of `sock_diag`."""
    far = ip_address(message["idiag_dst"])
    mapped = far.ipv4_mapped if isinstance(far, IPv6Address) else None
    return Connection(
        far=str(mapped or far),
        port=message["idiag_dport"],
        inode=message["idiag_inode"],
        user=message["idiag_uid"],
        control=message.get_attr("INET_DIAG_CONG") or "",
        acked=info["tcpi_bytes_acked"],
        received=info["tcpi_bytes_received"],
        unread=message["idiag_rqueue"],
        unsent=info["tcpi_notsent_bytes"],
        resent=info["tcpi_total_retrans"],
        segment=info["tcpi_rcv_mss"],
        rtt_us=info["tcpi_rtt"],
        least_rtt_us=info["tcpi_min_rtt"],
        receiver_rtt_us=info["tcpi_rcv_rtt"],
    )


def _has_connections() -> bool:
    """Return whether the kernel's older list has connections."""
    tables = (Path(PROC / "net" / name) for name in ("tcp", "tcp6"))
    return any(ESTABLISHED in table.read_text() for table in tables if table.exists())


def carried() -> dict[str, Carried]:
    """Read what the devices of the default routes have carried since they came up."""
    routes = [line.split() for line in _lines("route")[1:]]
    routes6 = [line.split() for line in _lines("ipv6_route")]
    devices = {words[0] for words in routes if words[1] == words[7] == "00000000"}
    devices |= {words[-1] for words in routes6 if words[0] == "0" * 32 and words[1] == "00" and words[-1] != "lo"}
    counters = (line.partition(":") for line in _lines("dev")[2:])
    found = {name.strip(): list(map(int, counts.split())) for name, _, counts in counters}
    return {device: Carried(found[device][0], found[device][8]) for device in sorted(devices & found.keys())}


def _lines(table: str) -> list[str]:
    """Read a table of /proc/net; empty if this kernel lacks it."""
    try:
        return (PROC / "net" / table).read_text().splitlines()
    except FileNotFoundError:
        return []


def programs_of(inodes: Collection[int], proc: Path = PROC) -> dict[int, Program]:
    """Find the programs that have sockets open; without root only those of this user. Of several, the oldest counts."""
    links = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, Program] = {}
    if not links:
        return found
    for process in sorted(proc.glob("[0-9]*"), key=lambda process: int(process.name)):
        with suppress(OSError):  # It may have ended, or belong to somebody else.
            for descriptor in (process / "fd").iterdir():
                inode = links.get(_target(descriptor))
                if inode is not None and inode not in found:
                    found[inode] = Program(int(process.name), (process / "comm").read_text(errors="replace").strip())
    return found


def _target(link: Path) -> str:
    """Return where a link leads; nowhere if it has just gone."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def user_name(number: int) -> str:
    """Return a user's name, or the number of a user without one."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
