"""Names that lead out of a folder or begin an option: every command refuses them and changes nothing else."""

from pathlib import Path

import pytest
from kernel_sandbox import Sandbox
from test_kernel_commands import users_file
from unbloat._core import InputError, control_name
from unbloat.system import removal

pytest_plugins = ["kernel_sandbox"]

HOSTILE = [
    "..", ".", "...", "a/b", "../x", "/x", "x/..", "x/.", "", "a\nb", "-x", "zz-x", "sixteen_letters_", "%", "%n",
    "a b", "ä", "a\x1bb", "a\u202eb", "$(x)", "*", "x" * 300, "x" * 70_000,
]  # fmt: skip
"""No operating system passes a zero on in an argument; `control_name` is asked about that one too."""
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
    with pytest.raises(InputError, match="cannot name a congestion control: a name has 1 to 15 characters"):
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
    assert done.stderr.startswith(f'unbloat: "{name}" cannot name a congestion control: a name has 1 to 15 characters')
    assert spots() == before
    users_file(tmp_path, name)
    for command in (["load", "./mine.bpf.c", "--persist"], ["load", "./mine.bpf.c"], ["check", "./mine.bpf.c"]):
        done = installed(*command)
        assert done.returncode == 2
        assert (
            f'./mine.bpf.c has a congestion control with the name "{name}": a name has 1' in done.stderr + done.stdout
        )
        assert spots() == before
    done = installed("unload", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"unbloat: there is no congestion control {name}; `unbloat load` has loaded nothing")
    assert spots() == before


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "/x", "a\0"])
def test_nothing_is_removed_by_such_a_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "inside" / "a").mkdir(parents=True)
    (tmp_path / "x").touch()
    with pytest.raises(ValueError, match="names nothing in a folder"):
        removal.remove_from(tmp_path / "inside", name)
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
        removal.remove_from(place, name)
    removal.remove_from(tmp_path / "nowhere", "x")
    assert list(place.iterdir()) == []
    assert sorted(kept.iterdir()) == [kept / "file", kept / "folder"]
