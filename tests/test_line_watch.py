"""`unbloat line --watch`: which connection and which program fills the queue."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from unbloat import RunError
from unbloat.cli.watch import Connections, as_json
from unbloat.line import watch
from unbloat.line.watch import Carried, Connection, Program, Row, Seen, Snapshot, programs_of, rows

# ---------------------------------------------------------------- From snapshots to rows

# Recorded behind an emulated line of 16 and 1 Mbit/s with a least RTT of 32.6 ms, one second apart.
DOWN = Connection(
    far="192.0.2.1",
    port=443,
    inode=11,
    user=1000,
    control="cubic",
    acked=1200,
    received=8_000_000,
    unread=0,
    unsent=0,
    resent=0,
    segment=1448,
    rtt_us=32_900,
    least_rtt_us=32_600,
    receiver_rtt_us=190_000,
)
UP = replace(
    DOWN, far="2001:db8::1", inode=12, acked=500_000, received=2000, unsent=54_600, rtt_us=479_000, least_rtt_us=32_700
)
PROGRAMS = {11: Program(7, "curl"), 12: Program(9, "rsync")}


def later(connection: Connection, *, down: int = 0, up: int = 0, **changes: Any) -> Connection:
    return replace(connection, received=connection.received + down, acked=connection.acked + up, **changes)


def looks(*moments: tuple[Connection, ...]) -> list[Snapshot]:
    """Snapshots at equal distances within a second."""
    return [Snapshot(n / (len(moments) - 1), dict(enumerate(moment))) for n, moment in enumerate(moments)]


def test_what_fills_the_queue_most_comes_first() -> None:
    end = later(UP, up=120_500, resent=3), later(DOWN, down=1_925_000)
    download, upload = rows(looks((UP, DOWN), end), PROGRAMS)
    assert download == Row(
        program="curl",
        pid=7,
        user=watch.user_name(1000),
        far="192.0.2.1:443",
        direction="down",
        rate_mbps=15.4,
        rtt_ms=190.0,
        least_rtt_ms=32.6,
        added_ms=157.4,
        queued_bytes=302_995,
        unsent_bytes=None,
        retransmits=None,
        congestion_control=None,
    )
    assert upload == Row(
        program="rsync",
        pid=9,
        user=watch.user_name(1000),
        far="[2001:db8::1]:443",
        direction="up",
        rate_mbps=0.964,
        rtt_ms=479.0,
        least_rtt_ms=32.7,
        added_ms=446.3,
        queued_bytes=53_779,
        unsent_bytes=54_600,
        retransmits=3,
        congestion_control="cubic",
    )


def test_who_carries_nothing_has_no_row_and_requests_count_as_none() -> None:
    assert rows(looks((UP, DOWN), (UP, DOWN)), {}) == []
    (row,) = rows(looks((DOWN,), (later(DOWN, down=1_000_000, up=15_000),)), {})
    assert row.direction == "down"
    both = rows(looks((DOWN,), (later(DOWN, down=1_000_000, up=500_000),)), {})
    assert [row.direction for row in both] == ["down", "up"]


def test_a_new_connection_counts_from_its_beginning() -> None:
    first, last = looks((), (replace(UP, resent=2),))
    (row,) = rows([first, last], {})
    assert (row.rate_mbps, row.retransmits) == (4.0, 2)


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param([DOWN, later(DOWN, down=9 * 1448)], id="too little"),
        pytest.param([DOWN, later(DOWN, down=1_000_000, unread=200_000)], id="a slow reader"),
        pytest.param([DOWN, later(DOWN, down=1_000_000), later(DOWN, down=1_000_000)], id="a pause"),
        pytest.param([DOWN, later(DOWN, down=1_000_000, receiver_rtt_us=0)], id="not measured"),
    ],
)
def test_a_receiver_that_measures_something_else_has_no_rtt(moments: list[Connection]) -> None:
    (row,) = rows(looks(*((moment,) for moment in moments)), {})
    assert row.rate_mbps > 0
    assert (row.rtt_ms, row.added_ms, row.queued_bytes) == (None, None, None)


def test_a_receiver_cannot_see_less_than_a_tick() -> None:
    (row,) = rows(looks((DOWN,), (later(DOWN, down=1_000_000, receiver_rtt_us=33_500),)), {})
    assert (row.rtt_ms, row.added_ms, row.queued_bytes) == (33.5, 0.0, 0)


def test_the_least_rtt_is_that_of_all_connections_to_an_address() -> None:
    """A connection that began while the queue was full never saw the empty path."""
    late = replace(UP, least_rtt_us=400_000)
    other = replace(UP, port=22, least_rtt_us=30_000)
    elsewhere = replace(UP, far="2001:db8::2", least_rtt_us=10)
    (row,) = rows(looks((late, other, elsewhere), (later(late, up=1000), other, elsewhere)), {})
    assert row.least_rtt_ms == 30.0
    (row,) = rows(looks((late,), (later(late, up=1000, least_rtt_us=watch.UNKNOWN_US),)), {})
    assert (row.rtt_ms, row.least_rtt_ms, row.added_ms) == (479.0, None, None)


def test_a_closed_connection_that_the_kernel_still_empties_has_no_user() -> None:
    (row,) = rows(looks((UP,), (later(UP, up=1000, inode=0, user=0),)), PROGRAMS)
    assert (row.program, row.user) == (None, None)


def test_delays_that_are_alike_do_not_tell_the_direction() -> None:
    down, up = rows(looks((UP, DOWN), (later(UP, up=120_500), later(DOWN, down=1_925_000))), {})
    assert Seen(1, 1, [down, up], {}).is_direction_sure
    assert not Seen(1, 1, [replace(down, added_ms=300.0), up], {}).is_direction_sure
    assert Seen(1, 1, [replace(down, added_ms=3.0), replace(up, added_ms=4.0)], {}).is_direction_sure


# ---------------------------------------------------------------- What the kernel reports


class Message(dict[str, Any]):
    """A message as pyroute2 reads it."""

    def get_attr(self, name: str) -> Any:
        return {"INET_DIAG_CONG": "bbr"}.get(name)


def test_an_address_of_ipv4_in_a_socket_of_ipv6_is_written_as_ipv4() -> None:
    info = dict.fromkeys(
        ["bytes_acked", "bytes_received", "notsent_bytes", "total_retrans", "rcv_mss", "rtt", "min_rtt", "rcv_rtt"], 1
    )
    message = Message(idiag_dst="::ffff:192.0.2.1", idiag_dport=443, idiag_inode=5, idiag_uid=0, idiag_rqueue=0)
    connection = watch.connection_of(message, {f"tcpi_{name}": value for name, value in info.items()})
    assert (connection.far, connection.control) == ("192.0.2.1", "bbr")


def processes(proc: Path, sockets: dict[int, tuple[str, list[int]]]) -> Path:
    for pid, (name, inodes) in sockets.items():
        (proc / str(pid) / "fd").mkdir(parents=True)
        (proc / str(pid) / "comm").write_text(f"{name}\n")
        for descriptor, inode in enumerate(inodes):
            (proc / str(pid) / "fd" / str(descriptor)).symlink_to(f"socket:[{inode}]")
    (proc / "20").mkdir()  # It has just ended.
    (proc / "self").mkdir()
    return proc


def test_of_several_programs_with_a_socket_the_oldest_counts(tmp_path: Path) -> None:
    proc = processes(tmp_path, {9: ("sshd", [1, 2]), 10: ("shell", [2, 3]), 100: ("other", [4])})
    assert programs_of([2, 3, 77], proc) == {2: Program(9, "sshd"), 3: Program(10, "shell")}


def test_devices_of_default_routes_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PROC", tmp_path)
    assert watch.carried() == {}
    net = tmp_path / "net"
    net.mkdir()
    (net / "route").write_text(
        "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
        "ppp0 00000000 00000000 0001 0 0 0 00000000 0 0 0\n"
        "eth1 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    )
    zeros = "0" * 32
    (net / "ipv6_route").write_text(
        f"{zeros} 00 {zeros} 00 fe800000000000000000000000000001 00000400 00000003 00000000 00000003 wlan0\n"
        f"{zeros} 00 {zeros} 00 {zeros} ffffffff 00000001 00000000 00200200 lo\n"
    )
    counts = "0 0 0 0 0 0 0"
    (net / "dev").write_text(
        "head\nhead\n" + "".join(f"{name}: 5 {counts} 6 {counts}\n" for name in ("ppp0", "wlan0", "eth1"))
    )
    assert watch.carried() == {"ppp0": Carried(5, 6), "wlan0": Carried(5, 6)}


def test_rates_of_devices_are_left_out_where_a_counter_began_anew() -> None:
    before = Snapshot(0, {}, {"eth0": Carried(0, 500), "wlan0": Carried(9, 9)})
    now = Snapshot(2, {}, {"eth0": Carried(1_000_000, 500), "wlan0": Carried(0, 0), "ppp0": Carried(1, 1)})
    assert watch.device_rates(before, now) == {"eth0": {"down": 4.0, "up": 0.0}}


def test_a_kernel_that_reports_nothing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyroute2.netlink.diag import DiagSocket

    monkeypatch.setattr(DiagSocket, "get_sock_stats", lambda *_, **__: ())
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.create_connection(server.getsockname())),
        pytest.raises(RunError) as refusal,
    ):
        watch.snapshot()
    assert str(refusal.value) == snapshot(
        "the kernel does not report its TCP connections: load the module tcp_diag (modprobe tcp_diag)"
    )


# ---------------------------------------------------------------- How it looks


def seen() -> Seen:
    end = later(UP, up=120_500, resent=3), later(DOWN, down=1_925_000)
    found = rows(looks((UP, DOWN), end), PROGRAMS)
    closed = replace(found[1], program=None, pid=None, user=None, queued_bytes=None, added_ms=None, rtt_ms=None)
    bad = replace(closed, program="a\x1b[2Jb\n", pid=3, far="127.0.0.1:80")
    return Seen(12.0, 1.0, [*found, closed, bad], {"eth0": {"down": 16.0, "up": 4.0}})


def test_a_picture_has_what_there_is_room_for() -> None:
    view = Connections()
    assert view.frame(80, 24) == ""
    assert view.add(seen())
    assert view.frame(120, 24) == snapshot("""\
4 connections with data in the last 1.0 s

program              far end              rate  queued  added  RTT  unsent  resent  control  least RTT
                                        Mbit/s      kB     ms   ms      kB                          ms
─────────────  ────  ─────────────────  ──────  ──────  ─────  ───  ──────  ──────  ───────  ─────────
curl 7         down  192.0.2.1:443        15.4     303    157  190       -       -  -             32.6
rsync 9        up    [2001:db8::1]:443   0.964    53.8    446  479    54.6       3  cubic         32.7
(closed)       up    [2001:db8::1]:443   0.964       -      -    -    54.6       3  cubic         32.7
a\\x1b[2Jb\\n 3  up    127.0.0.1:80        0.964       -      -    -    54.6       3  cubic         32.7

eth0: 16 Mbit/s down, 4 up; of these, TCP: 15.4 and 1.93\
""")
    assert view.frame(60, 10) == snapshot("""\
4 connections with data in the last 1.0 s

program        far end          rate  queued  added  RTT
                              Mbit/s      kB     ms   ms
───────  ────  ─────────────  ──────  ──────  ─────  ───
curl 7   down  192.0.2.1:443    15.4     303    157  190

eth0: 16 Mbit/s down, 4 up; of these, TCP: 15.4 and 1.93\
""")
    view.add(Seen(13.0, 1.0, [], {}))
    assert view.frame(60, 10) == snapshot("""\
0 connections with data in the last 1.0 s

-
""")


def test_a_line_has_those_that_fill_the_queue_most() -> None:
    view = Connections()
    view.add(seen())
    assert view.line().split("; ") == snapshot(
        [
            "12.0 s",
            "curl 7 down 192.0.2.1:443: 15.4 Mbit/s, RTT 190 ms, 157 added, 303 kB queued",
            "rsync 9 up [2001:db8::1]:443: 0.964 Mbit/s, RTT 479 ms, 446 added, 53.8 kB queued",
            "(closed) up [2001:db8::1]:443: 0.964 Mbit/s, RTT unknown",
            "and 1 more connection",
        ]
    )
    view.add(Seen(13.0, 1.0, [], {}))
    assert view.line() == snapshot("13.0 s; no connection carries data")


def test_scripts_get_an_object() -> None:
    answer = as_json(seen())
    assert answer["devices"] == {"eth0": {"down_mbps": 16.0, "up_mbps": 4.0}}
    assert json.loads(json.dumps(answer)) == answer


# ---------------------------------------------------------------- On this machine

LOAD = """
import os, socket, threading
with open("/proc/self/comm", "w") as name:
    name.write("bulky")
server = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(server.getsockname())
receiver, _ = server.accept()
threading.Thread(target=lambda: [None for _ in iter(lambda: receiver.recv(1 << 16), b"")], daemon=True).start()
print(receiver.getpeername()[1], flush=True)
while os.getppid() != 1:
    sender.sendall(bytes(1 << 16))
"""
WATCH = "import sys; from unbloat.cli.watch import watch_command; sys.exit(watch_command(json={}, interval_s=0.3))"


@pytest.fixture
def load() -> Iterator[tuple[int, int]]:
    """A program that sends itself data over the loopback device; its pid, and the port of its sending end."""
    with subprocess.Popen([sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.pid, int(process.stdout.readline())
        process.kill()


def test_a_transfer_has_its_program_and_both_ends(load: tuple[int, int]) -> None:
    pid, port = load
    command = [sys.executable, "-c", WATCH.format(True)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    own = [row for row in json.loads(done.stdout)["connections"] if row["pid"] == pid]
    assert sorted(row["direction"] for row in own) == ["down", "up"]
    for row in own:
        assert row["program"] == "bulky" and row["user"] == watch.user_name(os.getuid())
        assert row["far"].startswith("127.0.0.1:")
        assert row["rate_mbps"] > 1
        if row["direction"] == "up":
            assert row["rtt_ms"] >= row["least_rtt_ms"] > 0 and row["congestion_control"]
            assert row["added_ms"] == pytest.approx(row["rtt_ms"] - row["least_rtt_ms"])
        else:
            assert row["far"].endswith(f":{port}")


def test_where_no_terminal_is_there_are_lines_until_an_interrupt(load: tuple[int, int]) -> None:
    with subprocess.Popen([sys.executable, "-c", WATCH.format(False)], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout
        lines = [watching.stdout.readline() for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE_S) == 0
    assert all(re.match(r"\d\.\d s; .*bulky \d+ (up|down) 127\.0\.0\.1:\d+: ", line) for line in lines), lines


def test_a_terminal_has_a_table(load: tuple[int, int]) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "30"}
    with subprocess.Popen([sys.executable, "-c", WATCH.format(False)], stdout=theirs, env=environment) as watching:
        os.close(theirs)
        text = ""
        while text.count("with data in the last") < 2:
            text += os.read(ours, 4096).decode()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE_S) == 0
    os.close(ours)
    assert "bulky" in text and "congestion" not in text
