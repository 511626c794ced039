"""`--live`: runs, and links of shells, that one looks at while they go on."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import leftovers
import numpy as np
import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of
from unbloat import _core
from unbloat.report.live import Display, View, sparkline
from unbloat.runs import worker
from unbloat.runs.progress import flow_names, pace_of
from unbloat.scenarios.source import source_of
from unbloat.system.core_types import Step
from unbloat.system.legible import short
from unbloat.system.paths import ALGORITHMS

MS = 1_000_000


def link(name: str = "bottleneck", **row: Any) -> dict[str, Any]:
    usual = {"queue_bytes": 0, "queue_packets": 0, "drops": 0, "throughput_mbps": 8.0, "capacity_mbps": 8.0}
    return {"link": name, **usual, **row}


def flow(number: int = 0, **row: Any) -> dict[str, Any]:
    usual = {"cwnd_packets": 10, "rtt_ms": 20.0, "goodput_mbps": 1.0}
    return {"flow": number, **usual, **row}


# ---------------------------------------------------------------- How it looks

FRAME = """\
home · simulated · 13.0 s of 60 s · 1 simulated s/s

link                 now  queue, ms: last 13 s          peak  Mbit/s   drops
bottleneck          13.5  ▂▂▂▂▃▃▃▃▄▄▄▄▅▅▅▅▆▆▆▆▇▇▇▇██    13.5       8      13
bottleneck.reverse     0  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁       0       8       0

flow              cwnd: 0-27 packets         goodput: 0-7 Mbit/s        RTT, ms
backup                27  ▄▄▄▄▅▅▅▅▆▆▆▆▇▇▇▇██      7  ██████████████████    33.5
photo                  5                 █▅▂      1                 ▂▂▂    33.5"""


def watched(names: Sequence[str] = ("backup", "photo")) -> View:
    """Two flows, one of which comes late, at a queue that grows by 1 kB, so 1 ms, a second."""
    view = View("home · simulated", names, 60.0)
    for number in range(1, 27):
        queue = {"queue_bytes": 500 * (number + 1), "drops": number // 2}
        rows = [flow(0, cwnd_packets=1 + number, goodput_mbps=7.0, rtt_ms=20 + (number + 1) / 2)]
        if number > 23:
            rows.append(flow(1, cwnd_packets=27 - 11 * (number - 24), goodput_mbps=1.0, rtt_ms=20 + (number + 1) / 2))
        view.add({"time_s": number / 2, "links": [link(**queue), link("bottleneck.reverse")], "flows": rows})
    return view


def test_a_picture_of_80_columns() -> None:
    assert watched().frame(80, 24, pace=1.0).splitlines() == FRAME.splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = watched().frame(width, 24, pace=1.0).splitlines()
    assert len(lines) == 9 and max(map(len, lines)) <= width


def test_a_line_for_where_no_terminal_is() -> None:
    assert watched().line() == (
        snapshot(
            "13.0 s; bottleneck: queue 13.5 ms, 8 Mbit/s, 13 drops; bottleneck.reverse: queue 0 ms, 8 Mbit/s, 0 drops; "
            "backup: cwnd 27, 7 Mbit/s; photo: cwnd 5, 1 Mbit/s"
        )
    )


def test_a_line_is_due_every_second_of_whoever_looks_on() -> None:
    """Sums of 0.1 are not exact, and none is too many for that."""
    for pace, expected in ((1.0, 6), (2.0, 3)):
        view = View("", ["a"], 6.0, pace)
        due = [view.add({"time_s": 0.1 * number, "links": [], "flows": []}) for number in range(1, 61)]
        assert sum(due) == expected and due[-1]


def test_of_many_flows_those_are_shown_that_get_most() -> None:
    view = View("many", [f"flow {number}" for number in range(100)])
    view.add({"time_s": 1.0, "links": [], "flows": [flow(n, goodput_mbps=n / 10) for n in range(100)]})
    *_, head, first, last, others = view.frame(80, 9).splitlines()
    assert [line.split("  ")[0] for line in (head, first, last)] == ["flow", "flow 98", "flow 99"]
    assert others == snapshot("and 98 more flows: 475 Mbit/s together")
    assert view.line().split("; ")[-2:] == snapshot(
        ["flow 99: cwnd 10, 9.9 Mbit/s", "and 92 more flows: 419 Mbit/s together"]
    )


def test_flows_that_have_gone_make_room() -> None:
    """Of flows that come at random there are thousands."""
    view = View("web", [f"flow {number}" for number in range(5000)])
    for number in range(5000):
        view.add({"time_s": number / 2, "links": [], "flows": [flow(number)]})
    assert "more" not in view.line() and "flow 4999" in view.line() and "flow 0:" not in view.line()
    assert len(view._flows) < 250


def test_of_many_links_those_are_shown_that_have_queues() -> None:
    view = View("row", [])
    rows = [link(f"hop {number}", queue_bytes=100 * number) for number in range(20)]
    view.add({"time_s": 1.0, "links": rows, "flows": []})
    assert re.findall(r"hop \d+", view.frame(80, 24)) == ["hop 16", "hop 17", "hop 18", "hop 19"]


def test_a_queue_that_nothing_leaves_has_no_delay() -> None:
    view = View("outage", [])
    for number in range(1, 5):
        rate = 8.0 if number < 3 else 0.0
        view.add({"time_s": number, "links": [link(queue_bytes=1000, capacity_mbps=rate)], "flows": []})
    assert view.line() == snapshot("4.0 s; bottleneck: queue - ms, 8 Mbit/s, 0 drops")


def test_the_gaps_of_a_recorded_link_do_not_count() -> None:
    """It sends 4 Mbit/s in the mean: a queue of 5 kB takes 10 ms, whichever step it is looked at in."""
    view = View("LTE", [])
    for number in range(1, 101):
        rate = 8.0 if number % 2 else 0.0
        view.add({"time_s": number / 10, "links": [link(queue_bytes=5000, capacity_mbps=rate)], "flows": []})
    assert view.line() == snapshot("10.0 s; bottleneck: queue 10 ms, 8 Mbit/s, 0 drops")


def test_no_name_steers_the_terminal() -> None:
    view = View("x\x1b[2J", ["\x1b]0;title\x07"])
    view.add({"time_s": 1.0, "links": [link("a\x9b1m")], "flows": [flow()]})
    assert all(text.replace("\n", "").isprintable() for text in (view.frame(80, 24), view.line()))


def test_numbers_and_blocks() -> None:
    assert [short(value) for value in (None, 0.0, 0.0004, 0.0123, 9.876, 99.9, 123.4, 54321.0)] == [
        *("-", "0", "0", "0.0123", "9.88", "99.9", "123", "54321")
    ]
    assert sparkline([0, 1, None, 7], 7) == "▁▂ █" and sparkline([0, 0], 0) == "▁▁" and sparkline([None], None) == " "


# ---------------------------------------------------------------- What it is told


def steps_and_series(cell: _core.GridPoint, on: str) -> tuple[str, list[Step], Any]:
    told: list[Step] = []
    record, tables = cell.run(ALGORITHMS, on=on, series_ns=50 * MS, steps=told.append)
    return record, told, tables


def check_steps(steps: Sequence[Step], tables: Any, links: Sequence[str]) -> None:
    """The steps, one after the other, are the series, to the last digit."""
    for table in ("flows", "links"):
        columns = {name: np.frombuffer(data, dtype) for name, (dtype, data) in tables[table].items()}
        rows: list[dict[str, Any]] = [
            {"time_s": step["time_s"], **row}
            for step in steps
            for row in (step["flows"] if table == "flows" else step["links"])
        ]
        assert rows[-1]["time_s"] == columns["time_s"][-1]
        for name, values in columns.items():
            told = [row[name] for row in rows]
            if table == "links" and name == "link":
                told = [links.index(link) for link in told]
            known = np.array([np.nan if value is None else value for value in told], dtype=float)
            assert np.array_equal(known, values.astype(float), equal_nan=True), (table, name)


def test_the_steps_that_are_told_are_the_series(small: Path) -> None:
    cell = source_of(small, {"flows.0.count": "2"}).points()[0]
    record, steps, tables = steps_and_series(cell, "simulator")
    assert len(steps) == 40 and [len(step["flows"]) for step in steps[-1:]] == [2]
    check_steps(steps, tables, ["bottleneck", "bottleneck.reverse"])
    unwatched = cell.run(ALGORITHMS, series_ns=50 * MS)
    assert unwatched == (record, tables), "looking on changes nothing"


def test_access_links_are_not_told(small: Path) -> None:
    cell = source_of(small, {"flows.0.access": {"rate": 8e6, "delay": 0.001}}).points()[0]
    _, steps, tables = steps_and_series(cell, "simulator")
    assert {row["link"] for step in steps for row in step["links"]} == {"bottleneck", "bottleneck.reverse"}
    assert set(np.frombuffer(tables["links"]["link"][1], tables["links"]["link"][0])) == {0, 1, 2}


def test_what_it_raises_ends_the_run(small: Path) -> None:
    def raises(_: str) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        source_of(small).points()[0].run(ALGORITHMS, series_ns=50 * MS, steps=raises)


def test_the_steps_of_a_real_run_are_its_series(small: Path) -> None:
    cell = source_of(small, {"flows.0.cc": "kernel:reno"}).points()[0]
    _, steps, tables = steps_and_series(cell, "kernel")
    assert len(steps) >= 39
    check_steps(steps, tables, ["bottleneck", "bottleneck.reverse"])


def test_flows_have_the_names_of_pictures(small: Path) -> None:
    (small.parent / "mine.bpf.c").write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    groups = [{"cc": "vegas"}, {"cc": "reno", "name": "backup", "count": 2}, {"cc": str(small.parent / "mine.bpf.c")}]
    text = {
        "duration": 1,
        "link": {"bottleneck": {"rate": 4e6, "delay": 0.01, "queue": {"limit": 30e3}}},
        "flows": groups,
    }
    results = ub.scenario(text).run()
    from unbloat.report.names import flow_label

    cell = source_of(text).points()[0]
    run = results.records[0].run
    assert flow_names(cell) == [flow_label(run, "", number) for number in range(4)]
    assert flow_names(cell) == ["vegas", "backup #1", "backup #2", "mine"]


def test_a_call_is_watched_too() -> None:
    """It has no congestion control."""
    (cell, *_) = source_of("family-evening").points()
    names = flow_names(cell)
    assert len(names) == sum(cell.groups) and any("call" in name for name in names)


def test_a_simulation_keeps_a_pace_that_one_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept, told = [100.0], list[float](), list[Any]()
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(worker.time, "sleep", slept.append)
    steps = worker.Steps(lambda **answer: told.append(answer), 2.0)
    steps({"time_s": 3.0, "flows": [], "links": []})
    now[0] = 102.0
    steps({"time_s": 3.5, "flows": [], "links": []})
    assert slept == [1.5, 0.0]
    assert [each["step"]["time_s"] for each in told] == [3.0, 3.5]
    worker.Steps(lambda **_: None, None)({"time_s": 9.0, "flows": [], "links": []})
    assert slept == [1.5, 0.0], "a real run has its own pace"


def test_a_long_simulation_is_shown_in_half_a_minute(small: Path) -> None:
    def pace(duration: str, on: str = "simulator") -> float:
        return pace_of(source_of(small, {"duration": duration}).points()[0], on)

    assert (pace("2s"), pace("90s"), pace("90s", "kernel")) == (1.0, 3.0, 1.0)


# ---------------------------------------------------------------- On the command line


def test_a_line_for_each_second_where_no_terminal_is(cli: Cli, small: Path) -> None:
    plain = cli("run", small)
    live = cli("run", small, "--live", "--json")
    assert live.returncode == 0 and json.loads(live.stdout) == json.loads(cli("run", small, "--json").stdout)
    first, last = live.stderr.splitlines()
    assert [re.sub(r"\d+(\.\d+)?", "#", line) for line in (first, last)] == snapshot(
        [
            "# s; bottleneck: queue # ms, # Mbit/s, # drops; bottleneck.reverse: queue # ms, # Mbit/s, # drops; reno: cwnd #, # Mbit/s",
            "# s; bottleneck: queue # ms, # Mbit/s, # drops; bottleneck.reverse: queue # ms, # Mbit/s, # drops; reno: cwnd #, # Mbit/s",
        ]
    )
    assert (first.split()[0], last.split()[0]) == ("1.0", "2.0")
    assert plain.stderr == ""


def test_what_is_watched_is_kept(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = ub.scenario(small).run(live=True)
    assert len(capsys.readouterr().err.splitlines()) == 2
    series = results.series("links")
    assert series["time_s"].iloc[-1] == 2.0 and capsys.readouterr().err == "", "it is not watched again for its series"
    again = ub.scenario(small).run()
    assert again.records == results.records
    ub.scenario(small).run(live=True)
    assert len(capsys.readouterr().err.splitlines()) == 2, "one can look on again"


def test_one_run_at_a_time_each_with_a_picture_of_its_own(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--cc", "reno,vegas", "-t", "1s", "--live")
    assert [line.split("; ")[-1].split(":")[0] for line in done.stderr.splitlines()] == ["reno", "vegas"]


@contextmanager
def terminal(columns: int) -> Iterator[tuple[int, int]]:
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    yield here, there
    os.close(here)


def said_on(here: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(here, 1 << 16)
        except OSError:  # The other end is closed.
            part = b""
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")} | {
    "TERM": "xterm",
    "PYTHONIOENCODING": "utf-8",
}


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_has_pictures_in_one_place(small: Path, columns: int) -> None:
    with terminal(columns) as (here, there):
        command = [sys.executable, "-m", "unbloat", "run", str(small), "--live"]
        environment = {**ENVIRONMENT, "UNBLOAT_CACHE": os.environ["UNBLOAT_CACHE"]}
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=there, env=environment):
            os.close(there)
            said = said_on(here)
    drawn = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", said)]
    assert max(map(len, drawn)) <= columns
    frames = [line for line in drawn if line.startswith("small · simulated")]
    assert len(frames) > 1 and frames[-1].startswith("small · simulated · 2.0 s of 2 s · ")
    last = drawn[len(drawn) - drawn[::-1].index(frames[-1]) - 1 :]
    assert [line.split()[0] for line in last if line.strip()] == [
        *("small", "link", "bottleneck", "bottleneck.reverse", "flow", "reno")
    ]
    # It goes up as many lines as it goes down, but for the last picture, which stays, and a gap.
    ups = sum(int(count or 1) for count in re.findall(r"\x1b\[(\d*)A", said))
    assert said.count("\n") - ups == 9
    assert said.endswith("\x1b[?25h\r\n"), "the cursor is there again"


def test_a_terminal_that_has_no_blocks_has_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "vt100")
    stream = Terminal(io.BytesIO(), encoding="ascii")
    display = Display(stream, View("", ["a"]))
    display.show({"time_s": 1.0, "links": [], "flows": [flow()]})
    display.close()
    assert stream.buffer.getvalue() == b"1.0 s; a: cwnd 10, 1 Mbit/s\n"


@pytest.mark.parametrize("on", ["sim", "kernel"])
def test_an_interrupt_ends_it_as_any_run(small: Path, on: str) -> None:
    command = [
        sys.executable,
        "-m",
        "unbloat",
        "run",
        str(small),
        "--live",
        "--on",
        on,
        "-t",
        "3600s",
        "--series",
        "100ms",
    ]
    command += ["--cc", "reno" if on == "sim" else "kernel:reno"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout and run.stderr
        assert "bottleneck: queue" in run.stderr.readline()
        held = leftovers.holdings(run.pid)
        assert len(held.processes) > 1
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        assert run.wait() == 130 and run.stdout.read() == ""
    assert said.splitlines()[-1] == snapshot("unbloat: interrupted; finished runs are cached")
    leftovers.wait_until_gone(held)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--on", "vm"],
            snapshot(
                "unbloat: live: a guest cannot be watched: watching would slow the run down; watch the simulator or the kernel"
            ),
        ),
        (["-j", "2"], snapshot("unbloat: live: shows one run at a time; leave jobs = 2 out")),
    ],
)
def test_what_does_not_go_with_it(cli: Cli, small: Path, options: list[str], words: str) -> None:
    done = cli("run", small, "--live", *options)
    assert done.returncode == 2 and stderr_of(done) == words and done.stderr.count("\n") == 1


# ---------------------------------------------------------------- The link of a shell


@pytest.fixture
def own(small: Path) -> Path:
    """A scenario whose name no other test's shell has: a watcher takes the shell of that name that began last."""
    small.write_text(small.read_text().replace('"small"', '"test-live"'))
    return small


def shell_command(own: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "unbloat", "shell", str(own), *words]


def test_a_shell_is_watched_from_another_terminal(own: Path) -> None:
    """The program waits until it has been seen, and with it ends the view."""
    program = ["sh", "-c", "ping -c 3 -i 0.01 receiver >/dev/null; echo here; read line; exit 7"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(shell_command(own, "--", *program), text=True, **pipes) as shell:
        assert shell.stdin and shell.stdout
        assert shell.stdout.readline() == "here\n"
        with subprocess.Popen(shell_command(own, "--live"), text=True, **pipes) as watcher:
            assert watcher.stdout and watcher.stderr
            assert re.match(
                r"\d+\.\d s; bottleneck: queue 0 ms, \S+ Mbit/s, 0 drops; bottleneck\.reverse: queue 0 ms",
                watcher.stdout.readline(),
            )
            shell.stdin.write("\n")
            shell.stdin.close()
            assert watcher.wait() == 0
            assert watcher.stderr.read() == snapshot("unbloat: the shell has ended\n")
        assert shell.wait() == 7


def test_a_watcher_that_goes_leaves_the_shell_alone(own: Path) -> None:
    program = ["sh", "-c", "echo here; read line; exit 7"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(shell_command(own, "--", *program), text=True, **pipes) as shell:
        assert shell.stdin and shell.stdout and shell.stdout.readline() == "here\n"
        for _ in range(2):
            with subprocess.Popen(shell_command(own, "--live"), text=True, **pipes) as watcher:
                assert watcher.stdout and "bottleneck: queue" in watcher.stdout.readline()
                watcher.send_signal(signal.SIGINT)
                assert watcher.wait() == 130
        shell.stdin.close()
        assert shell.wait() == 7


def test_no_shell_to_watch_is_a_sentence(cli: Cli, own: Path) -> None:
    done = cli("shell", own, "--live")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert stderr_of(done) == snapshot(
        "unbloat: shell --live: no shell with the scenario test-live runs on this machine; start one in another terminal: the same command without --live"
    )


@pytest.mark.parametrize("words", [["--", "ls"], ["--far", "ls"], ["--on", "vm"]])
def test_watching_runs_nothing(cli: Cli, small: Path, words: list[str]) -> None:
    done = cli("shell", small, "--live", *words)
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: shell --live: watches a shell in another terminal of this machine, not in a guest; start that shell with its program and without --live"
    )
