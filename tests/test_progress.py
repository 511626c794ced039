"""The line that tells how far the runs are, and what is said about the wait before them."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from types import ModuleType

import pytest
from inline_snapshot import snapshot
from unbloat.runs import progress
from unbloat.runs.progress import Progress, StagedProgress, Waiting
from unbloat.system.legible import clock, in_words


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("simulator", "50%  1/2 runs, 5 simulated s/s, 0:04 left"),
        ("vm", "50%  1/2 runs, guest 20.0 s of 40.0 s, 5 guest s/s, 0:04 left"),
        ("kernel", "50%  1/2 runs, 0:04 left"),
    ],
)
def test_progress_tells_share_runs_pace_and_time_left(capsys: pytest.CaptureFixture[str], on: str, words: str) -> None:
    bar = Progress([10, 30], shown=True, on=on)
    bar.update(0, 1)
    bar.update(1, 1 / 3)
    assert bar.words(elapsed_s=4).strip() == words
    bar.close()
    assert capsys.readouterr().err == "", "nothing is drawn in the first two seconds"


def test_stages_have_one_line() -> None:
    whole = StagedProgress(shown=False)
    samples = whole.stage([5, 5])
    samples.update(0, 1)
    samples.update(1, 1)
    samples.close()
    whole.expect([10, 20])
    assert whole.words(elapsed_s=1).strip() == snapshot("25%  2/4 runs, 10 simulated s/s, 0:03 left")
    whole.stage([10, 20]).update(0, 1)
    assert whole.words(elapsed_s=2).strip() == snapshot("50%  3/4 runs, 10 simulated s/s, 0:02 left")
    whole.stage([40]).update(0, 1)
    assert whole.words(elapsed_s=3).strip() == snapshot("75%  4/5 runs, 20 simulated s/s, 0:01 left"), (
        "more than was expected"
    )


def test_no_pace_is_a_power_of_ten() -> None:
    bar = Progress([10_000.0], shown=True)
    bar.update(0, 0.5)
    assert bar.words(elapsed_s=1).strip() == snapshot("50%  5000 simulated s/s, 0:01 left")
    assert [in_words(number) for number in (0.01234, 5.5, 99.94, 123.4, 5380, 8.1234e6)] == [
        *("0.0123", "5.5", "99.9", "123", "5380", "8.12 million")
    ]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_bar_stays_on_its_line(width: int) -> None:
    """Before, it was wider than 80 columns, and each update scrolled."""
    script = """
import os, sys
from unbloat.runs import progress
progress.PATIENCE_S = progress.BETWEEN_S = 0
bar = progress.SweepProgress([60.0] * 1600, True)
for run in range(1600):
    bar.finish(run, 4_290_000)
bar.close()
"""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment["TERM"] = "xterm"
    with subprocess.Popen([sys.executable, "-c", script], stdout=there, stderr=there, stdin=there, env=environment):
        os.close(there)
        said = b"".join(iter(lambda: part_of(here), b"")).decode()  # A part may end within a character.
    os.close(here)
    assert "1600/1600" in said or width < 80
    drawn = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", said)]
    assert len([line for line in drawn if "%" in line]) > 100
    assert max(map(len, drawn)) <= width
    assert said.count("\n") <= 2


def part_of(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # The other end is closed.
        return b""


def test_times_left_are_clocks() -> None:
    assert [clock(s) for s in (5, 65, 3700, float("inf"))] == ["0:05", "1:05", "1:01:40", "?"]


def test_a_wait_is_logged_once_where_nobody_watches(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "unbloat")
    say = Waiting(shown=False)
    for what in ("fetches", "boots", "boots"):
        say(what)
    say.close()
    assert caplog.messages == ["fetches", "boots"]


def test_a_terminal_sees_for_how_long(capsys: pytest.CaptureFixture[str]) -> None:
    say = Waiting(shown=True)
    for what in ("fetches", "boots", "boots"):
        say(what)
    say.close()
    lines = capsys.readouterr().err.split("\n")
    assert [re.sub(r"\r\x1b\[K", "", line) for line in lines] == ["unbloat: fetches: 0:00", "unbloat: boots: 0:00", ""]


def test_a_notebook_has_a_bar_though_it_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Shell:
        kernel = "a Jupyter kernel's"

    ipython = ModuleType("IPython")
    ipython.__dict__["get_ipython"] = Shell
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    silent = Progress([10, 30])
    silent.update(0, 1)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    off = Progress([10, 30], shown=False)
    off.update(0, 1)
    assert capsys.readouterr().err == ""
    shown = Progress([10, 30])
    shown.update(0, 1)
    assert "1/2" in capsys.readouterr().err
    shown.close()
