"""What lies about, what is left over and what names contain does no harm."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
import xml.etree.ElementTree
from pathlib import Path

import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S, wait_until
from sentences import refused, stderr_of
from unbloat.cli import terminal
from unbloat.guest import kernels
from unbloat.report.figures.style import save
from unbloat.runs.store import Store
from unbloat.system import scratch, systemd

PROGRAM = [sys.executable, "-P", "-m", "unbloat"]
"""As the installed command starts: without the current folder among those that modules come from."""


# ---------------------------------------------------------------- The current folder


@pytest.mark.parametrize("name", ["numpy", "json", "selectors", "random", "unbloat", "matplotlib"])
def test_nothing_is_imported_from_the_current_folder(small: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('a stranger runs here')\n")
    done = subprocess.run([*PROGRAM, "run", str(small)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""


def test_an_empty_part_of_the_module_path_is_not_the_current_folder(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "selectors.py").write_text("raise SystemExit('a stranger runs here')\n")
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}/nowhere{os.pathsep}")
    monkeypatch.chdir(tmp_path)
    assert ub.scenario(small).run().records


# ---------------------------------------------------------------- What killed processes leave


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_the_folder_of_a_killed_run_goes_with_the_next(small: Path, temporary: Path) -> None:
    endless = [*PROGRAM, "run", str(small), "--no-cache", "--set", "duration=1000000s"]
    killed = subprocess.Popen(endless, process_group=0)
    living = subprocess.Popen(endless, process_group=0)
    wait_until(lambda: len(list(temporary.iterdir())) == 2)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    try:
        assert len(list(temporary.iterdir())) == 2
        assert ub.scenario(small).run(cache=False).records
        wait_until(lambda: scratch.sweep() == [] and len(list(temporary.iterdir())) == 1)
        assert living.poll() is None
    finally:
        living.send_signal(signal.SIGINT)
        living.wait(timeout=PATIENCE_S)
    assert not list(temporary.iterdir())


def test_only_folders_of_ours_that_nobody_holds_are_removed(temporary: Path) -> None:
    held, left = Store(None), temporary / f"{scratch.PREFIX}left"
    left.mkdir()
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (temporary / f"{scratch.PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{scratch.PREFIX}file").touch()
    (left / "deep").mkdir()
    (left / "deep" / "link").symlink_to(elsewhere)
    (elsewhere / "precious").touch()
    assert scratch.sweep() == [left]
    assert held.folder.is_dir() and (elsewhere / "precious").exists()
    held.put("key", "{}", None, None)
    assert held.has("key", None)


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp
    swept: list[list[Path]] = []

    def made(prefix: str, dir: Path | None) -> str:  # noqa: A002
        folder = make(prefix=prefix, dir=dir)
        if not swept:
            swept.append(scratch.sweep())
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    store = Store(None)
    assert len(swept[0]) == 1 and store.folder not in swept[0] and store.folder.is_dir()


def test_clean_tells_what_it_removes(cli: Cli, temporary: Path) -> None:
    left = temporary / f"{scratch.PREFIX}left"
    left.mkdir()
    done = cli("clean")
    assert done.returncode == 0 and str(left) in done.stdout
    lock = os.open(temporary, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # Nobody minds.
    os.close(lock)


# ---------------------------------------------------------------- Names


def test_names_do_not_steer_the_terminal(cli: Cli, small: Path) -> None:
    small.write_text(SMALL.replace('"small"', r'"a\u001b[2Jb\u009bc\u202ed"'))
    done = cli("run", small)
    assert r"a\x1b[2Jb\x9bc\u202ed · 2.00 s" in done.stdout
    wrong = cli("run", small, "--set", "link.bottleneck.rate=\x1b]0;title\x07")
    assert r"\x1b]0;title\x07" in wrong.stderr and "\x1b" not in done.stdout + wrong.stderr


def test_a_line_of_an_error_is_as_long_as_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.complain(f"{'x' * 10**6}\nsecond line")
    first, second = capsys.readouterr().err.splitlines()
    assert len(first) < 5000 and second == "second line"


@pytest.mark.parametrize("name", ["/tmp/a\nExecStartPre=/bin/touch /tmp/b", "a\x07b", "tab\there"])
def test_a_path_cannot_add_a_line_to_a_unit(name: str) -> None:
    with pytest.raises(ub.InputError, match=r"."):
        systemd.prepare(name)
    with pytest.raises(ub.InputError, match=r"."):
        systemd.command_line(["unbloat", "load", name])


HOSTILE = r"""
name = "a\u001b[31mRED\u001b]0;pwned\u0007 \u202e \u009b31m \uffff 漢字"
duration = "300ms"
[link.bottleneck]
rate = "10mbit"
delay = "5ms"
queue = { limit = "50p" }
[[flows]]
name = "f\u001b[2J"
cc = "reno"
[[flows]]
name = "<script>alert(1)</script>"
cc = "reno"
[sweep]
a = [{ label = "x\u001b[5mblink\nnewline", seed = 2 }, { label = "<img src=x onerror=alert(2)>", seed = 3 }]
"""
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\uffff]")


@pytest.mark.parametrize("kinds", [["queue", "cwnd", "rtt_cdf"], ["bars"]])
def test_names_do_not_get_into_pictures_as_they_are(tmp_path: Path, kinds: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = ub.scenario(HOSTILE).run(series="10ms")
        for suffix in ("svg", "png", "pdf"):
            save(results.plot(*kinds), tmp_path / f"x.{suffix}")
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert not STEERING.search(text) and xml.etree.ElementTree.fromstring(text) is not None
    assert r"x\x1b[5mblink" in text and "&lt;img src=x" in text


def test_names_do_not_get_into_pages_and_tables_as_they_are(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(HOSTILE, encoding="utf-8")
    ran = cli("run", "x.toml", "-o", "out", "--figure", "x.svg")
    assert ran.returncode == 0 and ran.stderr == snapshot("unbloat: wrote out\nunbloat: wrote x.svg\n")
    assert cli("report", "out", "-o", "x.html").returncode == 0
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    for text in (ran.stdout, page, cli("export", "out", "--latex").stdout):
        assert not STEERING.search(text)
    assert "<script>alert" not in page and "<img src=x" not in page
    assert "\n" + r"x\x1b[5mblink\nnewline        0 " in ran.stdout


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x9b", "\u202e"])
def test_messages_are_safe_where_nobody_escapes_them(character: str) -> None:
    """In a notebook, such as those of the core."""
    with pytest.raises(ub.InputError) as refusal:
        ub.scenario("home-dsl", {"link.bottleneck.rate": f"1{character}mbit"}).run()
    assert character not in str(refusal.value) and ascii(character)[1:-1] in str(refusal.value)


@pytest.mark.parametrize("title", [r"$\frac{$", "$$", "$x$ and $y", r"\$"])
def test_a_name_is_no_formula(small: Path, tmp_path: Path, title: str) -> None:
    small.write_text(SMALL.replace('"small"', f"'{title}'"))
    save(ub.scenario(small).run(series="100ms").plot("cwnd"), tmp_path / "x.svg")
    assert title in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize(
    ("member", "is_taken"),
    [
        ("./boot/vmlinuz-6.1", True),
        ("usr/lib/modules/6.1/kernel/net/ipv4/x.ko", True),
        ("./lib/modules/6.1/kernel/lib/x.ko.xz", True),
        ("/boot/vmlinuz-6.1", False),
        ("../boot/vmlinuz-6.1", False),
        ("x/boot/vmlinuz-6.1", False),
        ("./boot/vmlinuz-6.1/../../x", False),
        ("./lib/modules/6.1/kernel/net/../../../../x", False),
        ("./lib/modules/6.1/kernel/net/ipv4/../x", False),
        ("./lib/modules/../kernel/net/x", False),
    ],
)
def test_a_package_writes_where_it_should(member: str, is_taken: bool) -> None:
    assert bool(kernels.NEEDED.fullmatch(member)) == is_taken


# ---------------------------------------------------------------- The command line


def test_an_interrupt_while_modules_are_loaded_is_no_traceback(small: Path, tmp_path: Path) -> None:
    """The first half second of a command is spent with that."""
    (tmp_path / "shlex.py").write_text("import signal; signal.raise_signal(signal.SIGINT)\n")
    command = [sys.executable, "-m", "unbloat", "run", str(small)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "unbloat: interrupted\n")
    (tmp_path / "shlex.py").unlink()
    (tmp_path / "typer.py").write_text("import signal; signal.raise_signal(signal.SIGINT)\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "unbloat: interrupted\n")


def test_closed_streams_are_nobody_s(small: Path) -> None:
    words = f"{' '.join(PROGRAM)} run {small} --no-cache --json"
    done = subprocess.run(["sh", "-c", f"{words} 2>&-"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and '"goodput_mbps"' in done.stdout
    done = subprocess.run(["sh", "-c", f"{words} <&-"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and '"goodput_mbps"' in done.stdout


@pytest.mark.parametrize("jobs", [0, -1, -5])
def test_fewer_than_one_process_is_a_sentence(cli: Cli, small: Path, jobs: int) -> None:
    for command in ("run", "sweep"):
        done = cli(command, small, "-j", jobs)
        assert done.returncode == 2 and "--jobs" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("step", ["0s", "1ns", "100ns", "-1s", "1", "fast"])
def test_a_series_that_no_machine_can_hold_is_a_sentence(cli: Cli, small: Path, step: str) -> None:
    done = cli("run", small, f"--series={step}")
    assert done.returncode == 2 and done.stderr.startswith("unbloat: series: ") and done.stderr.count("\n") == 1
    if step in ("0s", "1ns", "100ns"):
        with pytest.raises(ub.InputError, match=r"."):
            ub.scenario(small).run(series=step)


def test_the_shortest_step_goes_with_the_number_of_flows_and_links(small: Path) -> None:
    small.write_text(SMALL + "count = 1000\n")
    with refused(
        ub.InputError,
        snapshot(
            "series: a step of 100us is too short for 2 s, 1000 flows and 2 directions of links; use at least 200400 ns (at most 10,000,000 samples)"
        ),
    ):
        ub.scenario(small).run(series="100us")
    links = "".join(f'[link.l{n}]\nrate = "10mbit"\ndelay = "1ms"\nqueue = {{}}\n' for n in range(50))
    small.write_text(SMALL + 'count = 10\naccess = { rate = "10mbit" }\n' + links)
    with refused(
        ub.InputError,
        snapshot(
            "series: a step of 20us is too short for 2 s, 10 flows and 112 directions of links; use at least 24400 ns (at most 10,000,000 samples)"
        ),
    ):
        ub.scenario(small).run(series="20us")


def test_repeats_have_a_bound(small: Path) -> None:
    for repeat in (0, 10**20):
        with pytest.raises(ub.InputError, match=r"^repeat"):
            ub.scenario(small).run(repeat=repeat)


def test_a_name_that_is_not_there_is_told_with_the_nearest(cli: Cli) -> None:
    done = cli("run", "home-dls")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: home-dls: no such file, and no such scenario in `unbloat list` (did you mean home-dsl?)"
    )
    assert stderr_of(done) == snapshot(
        "unbloat: home-dls: no such file, and no such scenario in `unbloat list` (did you mean home-dsl?)"
    )
    assert stderr_of(cli("run", "xyz")) == snapshot(
        "unbloat: xyz: no such file, and no such scenario in `unbloat list`"
    )


def test_a_queue_without_an_end_is_doubted(cli: Cli, small: Path) -> None:
    small.write_text(SMALL.replace('{ limit = "30kb" }', "{}"))
    doubt = f'{small}:7: link.bottleneck.queue: has no limit and never drops; write one such as limit = "100kb"'
    for command in ("run", "sweep"):
        done = cli(command, small)
        assert done.returncode == 0 and f"warning: {doubt}" in done.stdout
    small.write_text(SMALL)
    assert "warning" not in cli("run", small).stdout


def test_bytes_that_are_no_text_are_a_sentence(small: Path) -> None:
    odd = os.fsdecode(b"./\xff.bpf.c")
    for words in (["--cc", odd], ["--set", f"flows.0.cc={odd}"]):
        done = subprocess.run([*PROGRAM, "run", str(small), *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and "UTF-8" in done.stderr
