"""What `unbloat load --persist` writes for root to run at every boot, and what it runs: root's alone. Needs root."""

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from kernel_sandbox import Sandbox
from sentences import stderr_of
from test_kernel_commands import users_file
from unbloat.system import systemd

pytest_plugins = ["kernel_sandbox"]

NOBODY = 65534


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    (folder / "lib").mkdir(parents=True)
    return folder


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize(("mode", "owner"), [(0o777, 0), (0o755, NOBODY), (0o1777, NOBODY)])
def test_what_others_can_change_is_found(tmp_path: Path, place: Path, mode: int, owner: int) -> None:
    assert systemd.changeable(place / "lib") is None
    os.chown(place, owner, 0)
    place.chmod(mode)
    assert systemd.changeable(place / "lib") == place
    (tmp_path / "link").symlink_to(place / "lib")
    assert systemd.changeable(tmp_path / "link") == place
    assert systemd.changeable_within(tmp_path) == place


def test_a_group_may_be_others(place: Path) -> None:
    place.chmod(0o775)
    assert systemd.changeable(place / "lib") is None
    os.chown(place, 0, NOBODY)
    assert systemd.changeable(place / "lib") == place


def test_in_a_sticky_folder_others_replace_what_is_theirs(place: Path) -> None:
    place.chmod(0o1777)
    assert systemd.changeable(place / "lib") is None
    file = place / "file"
    file.touch()
    file.chmod(0o1666)
    assert systemd.changeable(file) == file, "that bit says nothing of a file"


def test_a_strangers_link_in_the_middle_is_found(tmp_path: Path, place: Path) -> None:
    """The first and the last of three are root's."""
    (place / "lib" / "python").touch()
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.symlink_to("place/lib")
    ours.symlink_to("theirs/../lib/python")
    assert systemd.changeable(ours) is None
    os.lchown(theirs, NOBODY, NOBODY)
    assert systemd.changeable(ours) == theirs
    assert systemd.changeable_within(tmp_path) == theirs


def test_ways_without_end_have_one(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    assert systemd.changeable(tmp_path / "round" / "x") is None
    assert systemd.changeable(tmp_path / "nowhere" / "x") is None


def modes(folder: Path) -> set[tuple[bool, str]]:
    parts = [folder, *folder.rglob("*")]
    return {(part.is_dir(), oct(stat.S_IMODE(part.lstat().st_mode))) for part in parts}


@pytest.mark.usefixtures("no_umask")
def test_modes_are_those_of_root_whatever_the_umask(tmp_path: Path) -> None:
    source = tmp_path / "source" / "mine.c"
    source.parent.mkdir()
    source.write_text("first")
    source.chmod(0o600)
    for text in ("first", "second"):
        source.write_text(text)
        systemd.write_file(tmp_path / "made" / "units" / "a.service", text)
        systemd.write_folder(tmp_path / "copies" / "a", [source, tmp_path / "source" / ".." / "source" / "mine.c"])
        assert modes(tmp_path / "made") == modes(tmp_path / "copies") == {(True, "0o755"), (False, "0o644")}
        assert (tmp_path / "made" / "units" / "a.service").read_text() == text
        copies = [path for path in (tmp_path / "copies").rglob("*") if path.is_file()]
        assert copies == [Path(f"{tmp_path}/copies/a{source}")] and copies[0].read_text() == text


def test_what_is_not_finished_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.c").write_text("kept")
    systemd.write_folder(tmp_path / "copies" / "a", [tmp_path / "mine.c"])
    systemd.write_file(tmp_path / "units" / "a.service", "kept")

    def full(_: Path) -> None:
        raise OSError("FULL")

    monkeypatch.setattr(systemd, "sync", full)
    (tmp_path / "mine.c").write_text("new")
    with pytest.raises(OSError, match="FULL"):
        systemd.write_folder(tmp_path / "copies" / "a", [tmp_path / "mine.c"])
    with pytest.raises(OSError, match="FULL"):
        systemd.write_file(tmp_path / "units" / "a.service", "new")
    files = [path for folder in ("copies", "units") for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert [file.read_text() for file in files] == ["kept", "kept"]


@pytest.mark.parametrize("path", ["/a/b.c", "/a/../../../b.c", "../../../../../../../../../../../../../../b.c", "b.c"])
def test_no_copy_leaves_its_folder(path: str) -> None:
    copy = systemd.place_below(Path("/copies/x"), Path(path))
    assert copy.parts[:3] == ("/", "copies", "x") and ".." not in copy.parts and copy.name == "b.c"


# ---------------------------------------------------------------- The command


def test_a_control_is_kept_for_the_next_boot_under_any_umask(
    installed: Sandbox, sandbox: Sandbox, tmp_path: Path, name: str
) -> None:
    below = tmp_path / "one" / "two"
    below.mkdir(parents=True)
    users_file(below.parent, name)
    before = os.umask(0)
    try:
        done = installed("load", "one/two/../mine.bpf.c", "--as", name, "--persist", PYTHONDONTWRITEBYTECODE="1")
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    unit = f"/etc/systemd/system/unbloat-{name}.service"
    assert sandbox("stat", "--format", "%A %U", unit).stdout == "-rw-r--r-- root\n"
    found = sandbox("find", "/var/lib/unbloat", "-printf", "%M %U\\n").stdout
    assert set(found.splitlines()) == {"drwxr-xr-x 0", "-rw-r--r-- 0"}
    assert f" load /var/lib/unbloat/{name}{tmp_path}/one/mine.bpf.c --as " in sandbox("cat", unit).stdout
    assert installed("unload", name).returncode == 0
    assert sandbox("find", "/var/lib/unbloat", "/etc/systemd/system", "-mindepth", "1").stdout == ""


SPOILS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file of the package": (lambda lib: os.chown(lib / "unbloat" / "__init__.py", NOBODY, 0), "unbloat/__init__.py"),
    "a folder of the package": (lambda lib: (lib / "unbloat" / "system").chmod(0o777), "unbloat/system"),
    "a link in the package": (lambda lib: (lib / "unbloat" / "x").symlink_to(stranger(lib)), "stranger"),
}


def stranger(lib: Path) -> Path:
    folder = lib.parent / "stranger"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    return folder


@pytest.mark.parametrize("what", SPOILS)
def test_nothing_that_others_can_change_is_run_at_boot(
    installed: Sandbox, sandbox: Sandbox, tmp_path: Path, name: str, what: str
) -> None:
    spoil, part = SPOILS[what]
    spoil(tmp_path / "lib")
    done = installed("load", "reno", "--as", name, "--persist")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{part}:" in done.stderr
    assert re.sub(rf"TMP/\S*{part}", "PART", stderr_of(done)) == snapshot(
        "unbloat: --persist: root would run TMP/lib/unbloat at every boot, and others can change PART: install unbloat where only root can write, as `sudo make install` does"
    )
    assert sandbox("ls", "/etc/systemd/system").stdout == ""


@pytest.mark.parametrize("folder", ["/var/lib/unbloat", "/etc/systemd/system"])
def test_no_unit_is_put_where_others_write(installed: Sandbox, sandbox: Sandbox, name: str, folder: str) -> None:
    sandbox("sh", "-c", f"mkdir -p {folder} && chmod 777 {folder}")
    done = installed("load", "reno", "--as", name, "--persist")
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done).replace(folder, "FOLDER") == snapshot(
        "unbloat: --persist: root would obey FOLDER at every boot, and others can change FOLDER: give it to root alone (chown -h root FOLDER, chmod go-w FOLDER)"
    )
    assert sandbox("find", folder, "-mindepth", "1").stdout == ""


def test_a_python_behind_a_strangers_link_is_not_run_at_boot(
    installed: Sandbox, sandbox: Sandbox, tmp_path: Path, name: str
) -> None:
    theirs = tmp_path / "theirs"
    theirs.symlink_to(sys.executable)
    os.lchown(theirs, NOBODY, NOBODY)
    (tmp_path / "python3").symlink_to(theirs)
    script = (
        f"import sys; sys.executable = '{tmp_path}/python3'; sys.argv = ['unbloat', *sys.argv[1:]]\n"
        "from unbloat.cli.entry import main\n"
        "sys.exit(main())"
    )
    call = [sys.executable, "-c", script, "load", "reno", "--as", name, "--persist"]
    done = sandbox(*call, PYTHONPATH=str(tmp_path / "lib"))
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == snapshot(
        "unbloat: --persist: root would run TMP/python3 at every boot, and others can change TMP/theirs: install unbloat where only root can write, as `sudo make install` does"
    )
