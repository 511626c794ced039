"""Controls that do what no kernel lets them do: each gets its sentence, hurts nobody else, leaves nothing behind."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S, descendants, is_alive, wait_until
from sentences import plain, stderr_of
from unbloat.system.paths import ALGORITHMS

UNBLOAT = [sys.executable, "-m", "unbloat"]
Write = Callable[[str, str], Path]
BODY = "{ tcp_reno_cong_avoid(sk, ack, acked); }"
ONE = f"""
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
SEC("struct_ops") void BPF_PROG(grow, struct sock *sk, __u32 ack, __u32 acked)
{BODY}
SEC("struct_ops") __u32 BPF_PROG(keep, struct sock *sk) {{ return 2; }}
char _license[] SEC("license") = "GPL";
SEC(".struct_ops") struct tcp_congestion_ops mine = {{
	.cong_avoid = (void *)grow, .ssthresh = (void *)keep, .undo_cwnd = (void *)keep, .name = "mine" }};
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, body: str) -> Path:
        file = tmp_path / name
        file.write_text(ONE.replace(BODY, body))
        return file

    return write


FAULTS = {
    "zero": "{ tcp_sk(sk)->snd_cwnd = 0; }",
    "divides": "{ tcp_sk(sk)->snd_cwnd /= acked & 0; }",
    "beyond": "{ ((volatile __u64 *)inet_csk_ca(sk))[13] = 1; }",
    "foreign": "{ *(volatile int *)8 = 1; }",
    "nowhere": "{ ((void (*)(void))8)(); }",
    "illegal": "{ __builtin_trap(); }",
}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "zero",
            snapshot(
                'unbloat: flows.0.cc: ./bad.bpf.c:6: cong_avoid of "mine" left snd_cwnd = 0, which is not a valid window: the kernel warns about it (tcp_snd_cwnd_set, tcp_init_cwnd_reduction)'
            ),
        ),
        (
            "divides",
            snapshot(
                'unbloat: flows.0.cc: ./bad.bpf.c:7: cong_avoid of "mine" divides by zero; a kernel continues with 0, or with the dividend as the remainder, but the simulator stops'
            ),
        ),
        (
            "beyond",
            snapshot(
                'unbloat: flows.0.cc: ./bad.bpf.c:6: cong_avoid of "mine" wrote beyond its private state, which has 104 bytes'
            ),
        ),
        (
            "foreign",
            snapshot('unbloat: flows.0.cc: ./bad.bpf.c:6: cong_avoid of "mine" accesses invalid memory (SIGSEGV)'),
        ),
        (
            "nowhere",
            snapshot('unbloat: flows.0.cc: ./bad.bpf.c:6: cong_avoid of "mine" accesses invalid memory (SIGSEGV)'),
        ),
        (
            "illegal",
            snapshot(
                'unbloat: flows.0.cc: ./bad.bpf.c:6: cong_avoid of "mine" executes an invalid instruction (SIGILL)'
            ),
        ),
    ],
)
def test_a_fault_names_scenario_file_line_and_callback(
    cli: Cli, small: Path, write: Write, name: str, told: str
) -> None:
    file = write("bad.bpf.c", FAULTS[name])
    done = cli("run", small, "--cc", "./bad.bpf.c")
    assert done.returncode == 2, done.stderr
    assert stderr_of(done) == told
    line = 7 if name == "divides" else 6
    assert "flows.0.cc: " in done.stderr and f'{file.name}:{line}: cong_avoid of "mine"' in done.stderr


def test_the_other_grid_points_of_a_sweep_go_on(cli: Cli, small: Path, write: Write, tmp_path: Path) -> None:
    names = [f"./{name}.bpf.c" for name in FAULTS]
    for name in names:
        write(name, FAULTS[name[2:-6]])
    grid = json.dumps(["reno", *names, "vegas"])
    done = cli("sweep", small, "--set", f"sweep.flows.0.cc={grid}", "--json", "-j1")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert len(found["failed"]) == len(names)
    for name, failure in zip(names, found["failed"], strict=True):
        assert f"{name[2:]}:" in failure["reason"] and "cong_avoid" in failure["reason"]
    ran = cli("run", small, "--set", f'sweep.flows.0.cc=["reno", "{names[0]}"]')
    assert stderr_of(ran) == snapshot(
        'unbloat: flows.0.cc: ./zero.bpf.c:6: cong_avoid of "mine" left snd_cwnd = 0, which is not a valid window: the kernel warns about it (tcp_snd_cwnd_set, tcp_init_cwnd_reduction) (in the grid point flows.0.cc=./zero.bpf.c)'
    )


def test_a_loop_without_an_end_is_ended(cli: Cli, small: Path, write: Write) -> None:
    """By processor time: how long that takes depends on what else the machine does, whether it is does not."""
    write("loop.bpf.c", "{ for (volatile int i = 0; !i;) ; }")
    done = cli("run", small, "--cc", "./loop.bpf.c")
    assert done.returncode == 2, done.stderr
    assert stderr_of(done) == snapshot(
        'unbloat: flows.0.cc: ./loop.bpf.c:6: cong_avoid of "mine" has not returned within 3 s of processor time: an endless loop, which every kernel refuses'
    )


def test_warnings_are_shown_once_and_again_from_the_cache(cli: Cli, small: Path, write: Write) -> None:
    write("warns.bpf.c", "{ if (acked = 3) tcp_reno_cong_avoid(sk, ack, acked); }")
    for seed in ["1", "2"]:
        done = cli("sweep", small, "--cc", "./warns.bpf.c", "--repeat", "3", "-j2", "--seed", seed, "--json")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("warns.bpf.c: the compiler warns:") == 1, done.stderr
        assert "parentheses" in done.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in (ALGORITHMS / "congestion").glob("*.bpf.c")))
def test_no_compiler_warns_of_what_comes_with_unbloat(cli: Cli, small: Path, name: str) -> None:
    done = cli("run", small, "--cc", ALGORITHMS / "congestion" / name, "--set", "duration=1s", "--set", "warmup=0s")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_answers_that_are_not_the_workers_end_one_run(cli: Cli, small: Path, write: Write) -> None:
    """A control finds the pipe behind a descriptor that is not standard output."""
    call = '"=a"(r) : "a"(1), "D"(fd), "S"(junk), "d"(sizeof(junk) - 1) : "rcx", "r11", "memory"'
    loop = f'for (long r, fd = 3; fd < 20; fd++) asm volatile("syscall" : {call});'
    body = '{ static const char junk[] = "\\xff nonsense\\n"; ' + loop + " }"
    write("forges.bpf.c", body)
    done = cli("sweep", small, "--set", 'sweep.flows.0.cc=["reno", "./forges.bpf.c", "vegas"]', "--json", "-j1")
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    (failure,) = json.loads(done.stdout)["failed"]
    assert plain(failure["reason"]) == snapshot(
        "a congestion control, or another program, wrote into the run's answers"
    )


@pytest.mark.parametrize("number", [int(signal.SIGABRT), int(signal.SIGTERM), int(signal.SIGXCPU), 34, 40])
def test_a_worker_ended_by_any_signal_is_a_sentence(small: Path, number: int) -> None:
    from unbloat.runs.pool import Worker
    from unbloat.scenarios.source import source_of

    with Worker(source_of(small), small.parent) as worker:
        os.kill(worker._process.pid, number)
        with pytest.raises(ub.RunError) as failure:
            while True:
                list(worker.listen())
    assert "foreign memory" not in str(failure.value)
    name = f"signal {number}" if number == 40 else signal.Signals(number).name
    if number != signal.SIGTERM:  # That has the worker end all of its own.
        assert name in str(failure.value)


def running(*words: object, cwd: Path) -> subprocess.Popen[str]:
    command = [*UNBLOAT, *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=cwd, process_group=0)


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
)
def test_no_worker_outlives_its_parent(small: Path, number: signal.Signals, status: int) -> None:
    run = running("run", small, "--set", "duration=100000s", "--no-cache", cwd=small.parent)
    wait_until(lambda: any(is_worker(process) for process in descendants(run.pid)))
    started = descendants(run.pid)
    run.send_signal(number)
    _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == status and "Traceback" not in said, said
    wait_until(lambda: not any(is_alive(process) for process in started))


def is_worker(process: int) -> bool:
    """Has it opened what only a worker does, after it has said that it will end with its parent?"""
    try:
        return any(str(file.readlink()).endswith("/mem") for file in Path(f"/proc/{process}/fd").iterdir())
    except OSError:
        return False


SLOW = """#!/bin/sh
case "$*" in *" -c "*) case "$*" in *mine.bpf.c*|*program.c*) echo $$ >> COMPILING; sleep 1000 & wait;; esac;; esac
exec gcc "$@"
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_no_compiler_outlives_its_parent(
    cli: Cli, small: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The compiler is a script that waits for a child, as GCC's driver waits for cc1."""
    cache, compiling, compiler = tmp_path / "own-cache", tmp_path / "compiling", tmp_path / "slow-cc"
    compiler.write_text(SLOW.replace("COMPILING", str(compiling)))
    compiler.chmod(0o755)
    monkeypatch.setenv("UNBLOAT_CACHE", str(cache))
    monkeypatch.setenv("CC", str(compiler))
    write("mine.bpf.c", BODY)
    run = running("run", small, "--cc", "./mine.bpf.c", cwd=tmp_path)
    wait_until(lambda: compiling.exists() and any(is_sleep(process) for process in descendants(run.pid)))
    started = descendants(run.pid)
    assert list((cache / "mechanisms").glob("build-*"))
    run.send_signal(number)
    run.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not any(is_alive(process) for process in started))
    if number == signal.SIGKILL:  # Nobody was left to remove it; the next one does.
        monkeypatch.delenv("CC")
        assert cli("run", small).returncode == 0
    assert not list((cache / "mechanisms").glob("build-*"))


def is_sleep(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/comm").read_text() == "sleep\n"
    except OSError:
        return False


@pytest.mark.parametrize("mode", [0o775, 0o777, 0o1777])
def test_a_cache_that_others_may_write_is_refused(cli: Cli, small: Path, cache: Path, mode: int) -> None:
    """What is in it would run as whoever runs unbloat."""
    cache.chmod(mode)
    done = cli("run", small)
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: other users may write to the cache folder TMP/cache, whose files you run: chmod go-w TMP/cache, or set UNBLOAT_CACHE to a folder of your own"
    )
    assert not list(cache.rglob("*.json"))
    cache.chmod(0o755)
    assert cli("run", small).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_refused(cli: Cli, small: Path, cache: Path) -> None:
    os.chown(cache, 12345, -1)
    done = cli("run", small)
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: the cache folder TMP/cache belongs to another user (uid 12345), whose files you would run: set UNBLOAT_CACHE to a folder of your own"
    )


def test_a_new_cache_is_its_users_alone(cli: Cli, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = tmp_path / "deep" / "cache"
    monkeypatch.setenv("UNBLOAT_CACHE", str(new))
    before = os.umask(0o002)
    try:
        assert cli("run", small).returncode == 0 and cli("run", small).returncode == 0
    finally:
        os.umask(before)
    assert new.stat().st_mode & 0o777 == 0o700


def test_what_a_control_prints_does_not_stop_it(small: Path, write: Write, tmp_path: Path) -> None:
    """Its process is in the background of the terminal, which may stop who writes from there (`stty tostop`)."""
    write("talks.bpf.c", f'{{ bpf_printk("grows"); {BODY[2:]}')
    process, line = pty.fork()
    if process == 0:
        settings = termios.tcgetattr(0)
        settings[3] |= termios.TOSTOP
        termios.tcsetattr(0, termios.TCSANOW, settings)
        os.chdir(tmp_path)
        words = ["run", str(small), "--cc", "./talks.bpf.c"]
        os.execve(sys.executable, [*UNBLOAT, *words], {**os.environ, "UNBLOAT_PRINTK": "1"})
    seen = b""
    with suppress(OSError):  # The other side has closed the line.
        while read := os.read(line, 1 << 16):
            seen += read
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, seen
    assert b"grows" in seen
