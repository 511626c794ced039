"""Names that lead out of a folder or begin an option: every command refuses them and changes nothing else."""

import json
import sys
from pathlib import Path

import pytest
from conftest import SMALL
from inline_snapshot import snapshot
from kernel_sandbox import Sandbox
from sentences import stderr_of
from test_kernel_commands import users_file
from unbloat._core import InputError, control_name
from unbloat.system import scratch

pytest_plugins = ["kernel_sandbox"]

HOSTILE = [
    "..", ".", "...", "a/b", "../x", "/x", "x/..", "x/.", "", "a\nb", "-x", "zz-x", "sixteen_letters_", "%", "%n",
    "a b", "ä", "a\x1bb", "a\u202eb", "$(x)", "*", "x" * 300, "x" * 70_000,
]  # fmt: skip
"""No operating system passes on a zero in an argument; that one is asked about within a process."""
PRECIOUS = ["/var/lib/important/data", "/var/lib/unbloat/of_another/var/data", "/etc/systemd/system/important.service"]
SPOTS = "/var/lib /etc/systemd/system /run /sys/fs/bpf"


@pytest.fixture
def spots(sandbox: Sandbox) -> Sandbox:
    """Put files where a careless path would lead; give a listing of all that could be hurt."""
    for path in PRECIOUS:
        assert not sandbox("sh", "-c", f"mkdir -p $(dirname {path}) && echo precious >{path}").returncode

    def listing() -> str:
        find = f"find {SPOTS} -not -name '*.debug' -printf '%M %U %s %p %l\\n' | sort; sha256sum {' '.join(PRECIOUS)}"
        done = sandbox("sh", "-c", find)
        assert all(f"  {path}" in done.stdout for path in PRECIOUS), done.stderr
        return done.stdout

    return listing


@pytest.mark.parametrize("name", [*HOSTILE, "a\0"])
def test_no_control_has_such_a_name(name: str) -> None:
    with pytest.raises(InputError):
        control_name(name)


@pytest.mark.parametrize("name", ["..", "."])
def test_a_control_that_is_to_be_kept_under_such_a_name(
    installed: Sandbox, spots: Sandbox, tmp_path: Path, name: str
) -> None:
    """The folder of the copies was that of the name, and was emptied: `..` was /var/lib."""
    before = spots()
    users_file(tmp_path, "mine")
    done = installed("load", "./mine.bpf.c", "--as", name, "--persist")
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done).replace(f'"{name}"', "NAME", 1) == snapshot(
        'unbloat: NAME cannot name a congestion control: a name has 1 to 15 characters, which are ASCII letters, digits, "_" and ".", but not dots alone'
    )
    assert spots() == before
    users_file(tmp_path, name)
    for command in (["load", "./mine.bpf.c", "--persist"], ["load", "./mine.bpf.c"], ["check", "./mine.bpf.c"]):
        done = installed(*command)
        assert done.returncode == 2
        assert f'"{name}"' in done.stderr + done.stdout
        assert spots() == before
    done = installed("unload", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done).replace(f" {name};", " NAME;") == snapshot(
        "unbloat: unknown congestion control NAME; `unbloat load` has loaded nothing"
    )
    assert spots() == before


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "/x", "a\0"])
def test_nothing_is_removed_by_such_a_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "inside" / "a").mkdir(parents=True)
    (tmp_path / "x").touch()
    with pytest.raises(ValueError):
        scratch.remove_from(tmp_path / "inside", name)
    assert (tmp_path / "inside" / "a").is_dir() and (tmp_path / "x").exists()


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (kept / "folder").mkdir(parents=True)
    (kept / "file").touch()
    place = tmp_path / "place"
    (place / "whole" / "deep").mkdir(parents=True)
    (place / "whole" / "deep" / "link").symlink_to(kept)
    (place / "link").symlink_to(kept)
    (place / "file").symlink_to(kept / "file")
    for name in ("whole", "link", "file", "gone already"):
        scratch.remove_from(place, name)
    scratch.remove_from(tmp_path / "nowhere", "x")
    assert list(place.iterdir()) == []
    assert sorted(kept.iterdir()) == [kept / "file", kept / "folder"]


# ---------------------------------------------------------------- Every command that takes a name

CALL_EACH = """
import json, os, sys
import unbloat.system.systemd, unbloat.scenarios.catalogue, unbloat.runs, unbloat.papers.reproduce
from unbloat.cli.app import COMMANDS, main
[entry.command() for entry in COMMANDS]
for words in json.load(open(sys.argv[1])):
    read, write = os.pipe()
    if not (child := os.fork()):
        os.close(read), os.dup2(os.open(os.devnull, os.O_RDWR), 0), os.dup2(write, 1), os.dup2(write, 2)
        os.close(write)
        status = 99
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(status or 0)
    os.close(write)
    with open(read, errors="replace") as said:
        text = said.read(100_000)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text]))
"""
NAME = "<name>"
FORMS = [
    f"load {NAME}", f"load {NAME} --persist", f"load reno --as {NAME} --persist", f"load reno --as {NAME} --default",
    f"load mine.bpf.c --as {NAME} --persist", f"load mine.bpf.c#{NAME} --persist", f"load reno --param {NAME}=1",
    f"load rtac_auto --dev {NAME} --persist", f"load sorpc --dev {NAME} --persist", f"load {NAME} --dev lo",
    f"load rtac_auto --dev lo --cgroup {NAME}", f"unload {NAME}", f"unload {NAME} --drain --keep-unit",
    f"unload {NAME} --dev lo", f"unload sorpc --dev {NAME}", f"unload rtac_auto --dev {NAME}", f"attach {NAME}",
    f"attach {NAME} --everyone", f"attach reno {NAME}", f"detach {NAME}", f"status --measure {NAME}",
    f"show {NAME}", f"show --path {NAME}", f"list {NAME}", f"check {NAME}", f"cache {NAME}",
    f"cache prune --unused {NAME}", f"clean {NAME}", f"run {NAME}", f"run small.toml --cc {NAME}",
    f"run small.toml --cc {NAME} --on kernel", f"run small.toml --cc kernel:{NAME} --on kernel",
    f"run small.toml --window-controller {NAME}", f"run small.toml --cc mine.bpf.c#{NAME}", f"sweep small.toml --cc {NAME},reno",
    f"shell small.toml --cc {NAME} -- true", f"shell {NAME} -- true", f"reproduce {NAME}", f"report {NAME}",
    f"compare {NAME} {NAME}", f"plot {NAME} -o picture.svg", f"export {NAME} --csv", f"new {NAME} x",
]  # fmt: skip


FEW = ["..", ".", "a/b", "../x", "", "a\nb", "-x", "zz-x", "sixteen_letters_", "%n", "ä", "x" * 300]
"""One of each kind: the commands are many."""


@pytest.mark.parametrize("command", sorted({form.split()[0] for form in FORMS}))
def test_no_command_changes_anything_for_such_a_name(
    installed: Sandbox, sandbox: Sandbox, spots: Sandbox, tmp_path: Path, command: str
) -> None:
    here = tmp_path / "one" / "here"
    here.mkdir(parents=True)
    users_file(here, "mine")
    (here / "small.toml").write_text(SMALL)
    for folder in (here, here.parent, tmp_path):
        (folder / "x").write_text("precious")
    forms = [form.split() for form in FORMS if form.split()[0] == command]
    calls = [[word.replace(NAME, name) for word in form] for form in forms for name in FEW]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    before = spots(), listing(here.parent)
    environment = {"PYTHONPATH": str(tmp_path / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    program = ["env", f"--chdir={here}", sys.executable, "-c", CALL_EACH, tmp_path / "calls.json"]
    answers = sandbox(*program, **environment)
    found = [json.loads(line) for line in answers.stdout.splitlines()]
    assert len(found) == len(calls), answers.stderr
    for call, (status, said) in zip(calls, found, strict=True):
        assert status in (0, 1, 2) and "Traceback" not in said and "panicked" not in said, (call, said)
        assert status or command not in ("load", "unload", "attach", "detach"), (call, said)
    assert (spots(), listing(here.parent)) == before


def listing(folder: Path) -> dict[Path, tuple[int, bytes]]:
    """Describe what is in a folder."""
    return {path: (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*")}
