"""Files that a scenario names: what is no trace or no C is refused, and little of it is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from sentences import refused
from unbloat.system.paths import ALGORITHMS

SECRET = "root:*:20228:0:99999:7:::"


def test_little_is_shown_of_what_is_no_trace(small: Path, tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text(f"{SECRET}\n")
    small.write_text(SMALL.replace('rate  = "4mbit"', 'trace = "shadow"'))
    with refused(
        ub.InputError,
        snapshot(
            'TMP/small.toml:5: link.bottleneck.trace: TMP/shadow:1: "root:*" ... is not a whole number of milliseconds from 0 to 1000000000'
        ),
    ) as refusal:
        ub.scenario(small).run()
    assert SECRET[:7] not in str(refusal.value)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("/dev/zero", "it is a device"),
        ("/proc/self/environ", "the kernel makes it up"),
        ("pipe", "it is a pipe"),
        (".", "it is a folder"),
        ("binary", "it is no text"),
    ],
)
def test_what_is_no_regular_file_is_no_trace(small: Path, tmp_path: Path, file: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    small.write_text(SMALL.replace('rate  = "4mbit"', f'trace = "{file}"'))
    with pytest.raises(ub.InputError, match=f"link.bottleneck.trace: cannot read .*: {why}"):
        ub.scenario(small).run()


def test_what_is_no_c_file_is_no_control(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("text\n")
    (tmp_path / "binary.bpf.c").write_bytes(Path("/bin/true").read_bytes())
    os.mkfifo(tmp_path / "pipe.bpf.c")
    for file, why in {
        "./t.txt": "./t.txt is not a .bpf.c file",
        "./binary.bpf.c": "./binary.bpf.c is not C: there are zero bytes in it",
        "./pipe.bpf.c": "there is no file ./pipe.bpf.c",
    }.items():
        done = cli("run", small, "--cc", file)
        assert done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1


def test_what_a_compiler_says_is_bounded(cli: Cli, small: Path, tmp_path: Path) -> None:
    reno = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    (tmp_path / "mine.bpf.c").write_text(reno + "".join(f"wrong {'x' * 1000}{n} here;\n" for n in range(200)))
    done = cli("run", small, "--cc", "./mine.bpf.c")
    assert done.returncode == 2 and done.stderr.startswith("unbloat: flows.0.cc: ./mine.bpf.c ")
    assert len(done.stderr) < 12_000 and "more lines" in done.stderr
