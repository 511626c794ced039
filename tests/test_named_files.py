"""Files that a scenario names: what is no trace or no C is refused, and little of it is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from sentences import refused, stderr_of
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
    ("file", "told"),
    [
        ("/dev/zero", snapshot("TMP/small.toml:5: link.bottleneck.trace: cannot read /dev/zero: it is a device")),
        (
            "/proc/self/environ",
            snapshot(
                "TMP/small.toml:5: link.bottleneck.trace: cannot read /proc/self/environ: it is a virtual file of the kernel"
            ),
        ),
        ("pipe", snapshot("TMP/small.toml:5: link.bottleneck.trace: cannot read TMP/pipe: it is a pipe")),
        (".", snapshot("TMP/small.toml:5: link.bottleneck.trace: cannot read TMP/.: it is a folder")),
        ("binary", snapshot("TMP/small.toml:5: link.bottleneck.trace: cannot read TMP/binary: it is not UTF-8 text")),
    ],
)
def test_what_is_no_regular_file_is_no_trace(small: Path, tmp_path: Path, file: str, told: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    small.write_text(SMALL.replace('rate  = "4mbit"', f'trace = "{file}"'))
    with refused(ub.InputError, told):
        ub.scenario(small).run()


def test_what_is_no_c_file_is_no_control(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("text\n")
    (tmp_path / "binary.bpf.c").write_bytes(Path("/bin/true").read_bytes())
    os.mkfifo(tmp_path / "pipe.bpf.c")
    told = []
    for file in ("./t.txt", "./binary.bpf.c", "./pipe.bpf.c"):
        done = cli("run", small, "--cc", file)
        assert done.returncode == 2
        told.append(stderr_of(done))
    assert told == snapshot(
        [
            "unbloat: flows.0.cc: ./t.txt is not a .bpf.c file",
            "unbloat: flows.0.cc: ./binary.bpf.c is not C: it contains zero bytes",
            "unbloat: flows.0.cc: the file ./pipe.bpf.c does not exist",
        ]
    )


def test_what_a_compiler_says_is_bounded(cli: Cli, small: Path, tmp_path: Path) -> None:
    reno = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    (tmp_path / "mine.bpf.c").write_text(reno + "".join(f"wrong {'x' * 1000}{n} here;\n" for n in range(200)))
    done = cli("run", small, "--cc", "./mine.bpf.c")
    assert done.returncode == 2 and done.stderr.startswith("unbloat: flows.0.cc: ./mine.bpf.c ")
    assert len(done.stderr) < 12_000 and "more lines" in done.stderr
