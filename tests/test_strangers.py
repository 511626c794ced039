"""Files as others publish them: headers in the current folder, -I and -D, other programs beside the control."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of

STRANGERS = Path(__file__).parents[1] / "crates/mechanism/tests/sources/strangers"
RUN = ("run", "home-dsl", "-t", "20s")


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STRANGERS / "own_headers", tmp_path / "own_headers"))


def test_headers_in_the_current_folder_stay_out(cli: Cli, tmp_path: Path, headers: Path) -> None:
    for header in headers.glob("*.h"):
        shutil.copy(header, tmp_path)
    shutil.copy(headers / "helpers.bpf.c", tmp_path)
    done = cli(*RUN, "--cc", "./helpers.bpf.c", "--json")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


def test_folders_of_headers_and_macros_are_options_and_keys(cli: Cli, tmp_path: Path, headers: Path) -> None:
    file = "own_headers/options.bpf.c"
    done = cli(*RUN, "--cc", file)
    assert done.returncode == 2 and "windows.h: No such file or directory" in done.stderr
    assert cli(*RUN, "--cc", file, "-I", "own_headers/include").returncode == 0
    # The file's own header asks for a macro now.
    header = headers / "include/windows.h"
    header.write_text("#define LEAST_WINDOW WANTED\n")
    done = cli(*RUN, "--cc", file, "-I", "own_headers/include", "--no-cache")
    assert done.returncode == 2 and "WANTED" in done.stderr
    (tmp_path / "line.toml").write_text(
        'duration = "20s"\n[compile]\ninclude = ["own_headers/include"]\ndefine = ["WANTED=4"]\n'
        f'[link.b]\nrate = "5mbit"\ndelay = "10ms"\nqueue = {{ limit = "20p" }}\n[[flows]]\ncc = "{file}"\n'
    )
    (few,) = json.loads(cli("run", "line.toml", "--json").stdout)["runs"]
    (many,) = json.loads(cli("run", "line.toml", "-D", "WANTED=30", "--json").stdout)["runs"]
    assert many["flows"][0] != few["flows"][0], "the cache tells macros apart"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('compile.include=["nowhere"]', snapshot("unbloat: compile.include: the folder nowhere does not exist")),
        (
            'compile.define=["1A=2"]',
            snapshot('unbloat: compile.define: "1A=2" is not a macro; write "NAME" or "NAME=VALUE"'),
        ),
    ],
)
def test_wrong_options_are_told(cli: Cli, key: str, said: str) -> None:
    done = cli("run", "home-dsl", "--set", key)
    assert done.returncode == 2 and stderr_of(done) == said


def test_other_programs_in_the_file_are_named(cli: Cli) -> None:
    done = cli(*RUN, "--cc", STRANGERS / "companion.bpf.c")
    assert done.returncode == 0, done.stderr
    assert stderr_of(done) == snapshot(
        'unbloat: ROOT/crates/mechanism/tests/sources/strangers/companion.bpf.c: the simulator never calls fixed_rate_setsockopt (line 46, SEC("cgroup/setsockopt")): it runs the callbacks of congestion controls only'
    )


def test_a_shift_beyond_the_number_is_refused_with_its_line(cli: Cli) -> None:
    done = cli("run", "home-dsl", "-t", "20s", "--cc", STRANGERS / "shift.bpf.c")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        'unbloat: flows.0.cc: ROOT/crates/mechanism/tests/sources/strangers/shift.bpf.c:22: cong_avoid of "shift" shifts a number by 40 bits, beyond its width; C leaves the result undefined, and a kernel computes another one'
    )


def test_our_headers_bring_no_warnings(cli: Cli) -> None:
    for name in ("ring_output", "connections"):
        done = cli(*RUN, "--cc", STRANGERS / f"{name}.bpf.c", "--no-cache")
        assert done.returncode == 0 and "warning" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            "{kind=cake}",
            snapshot(
                "unbloat: --set link.b.queue={kind=cake}: is not a table in TOML (...): names need quotes: --set 'link.b.queue={kind=\"cake\"}'"
            ),
        ),
        (
            '{kind="cake"',
            snapshot(
                'unbloat: --set link.b.queue={kind="cake": is not a table in TOML (...), which is written {name = "text", other = 1}'
            ),
        ),
        (
            '{kind="cake", kind="cake"}',
            snapshot(
                'unbloat: --set link.b.queue={kind="cake", kind="cake"}: is not a table in TOML (...), which is written {name = "text", other = 1}'
            ),
        ),
    ],
)
def test_a_table_on_the_command_line_that_is_none_is_told(cli: Cli, value: str, told: str) -> None:
    done = cli("run", "home-dsl", "--set", f"link.b.queue={value}")
    assert done.returncode == 2
    # The brackets hold the words of Python's own parser.
    assert re.sub(r" in TOML \(.*?\)", " in TOML (...)", stderr_of(done)) == told


@pytest.mark.skipif(os.geteuid() != 0, reason="loads into the running kernel")
def test_the_running_kernel_is_asked_before_any_guest(cli: Cli) -> None:
    """A helper that no control may call compiles, and the verifier's answer needs no guest."""
    release = os.uname().release
    file = STRANGERS / "coarse_clock.bpf.c"
    checks = json.loads(cli("check", file, "--json").stdout)["checks"]
    assert [check["answer"] for check in checks] == ["yes"] * 3
    assert checks[-1]["what"] == f"Linux {release}, which runs here, takes {file}"
