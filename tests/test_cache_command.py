"""`unbloat cache`: what is kept, what is removed, and that a removed run is done again."""

import json
import os
import time
from pathlib import Path

import pytest
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of

DAY_S = 86400


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which nothing is shared with other tests."""
    folder = tmp_path / "own-cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("UNBLOAT_CACHE", str(folder))
    return folder


def kinds(cli: Cli, *words: str) -> dict[str, tuple[int, int]]:
    """The number of things and their bytes, by the folder that they are in."""
    done = cli("cache", *words, "--json")
    assert done.returncode == 0, done.stderr
    return {each["folder"]: (each["number"], each["bytes"]) for each in json.loads(done.stdout)["kinds"]}


def test_what_is_kept_is_shown_and_cleared(cli: Cli, small: Path, own_cache: Path) -> None:
    assert {number for number, _ in kinds(cli).values()} == {0}
    first = cli("run", small).stdout
    found = kinds(cli)
    (record,) = own_cache.glob("runs/*/*.json")
    assert found["runs"] == (1, record.stat().st_size)
    assert found["mechanisms"][0] >= 1
    assert "finished runs" in cli("cache").stdout
    removed = kinds(cli, "clear")
    assert removed == found
    assert {number for number, _ in kinds(cli).values()} == {0}
    assert cli("run", small).stdout == first


def test_what_is_in_use_is_not_pruned(cli: Cli, small: Path, own_cache: Path) -> None:
    cli("run", small)
    cli("run", small, "--seed", "2")
    old, new = sorted(own_cache.glob("runs/*/*.json"))
    os.utime(old, (time.time() - 40 * DAY_S,) * 2)
    os.utime(new, (time.time() - 20 * DAY_S,) * 2)
    guest = own_cache / "guests" / "old"
    guest.mkdir(parents=True)
    (guest / "state").write_bytes(bytes(1000))
    for path in (guest / "state", guest):
        os.utime(path, (time.time() - 40 * DAY_S,) * 2)
    gone = kinds(cli, "prune")
    assert gone["runs"][0] == 1 and gone["guests"] == (1, 1000)
    assert not old.exists() and new.exists() and not guest.exists()
    assert kinds(cli, "prune", "--unused", "2w")["runs"][0] == 1
    assert not new.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["prune", "--unused", "soon"],
            snapshot("unbloat: cache --unused: soon is not a number of hours, days or weeks, such as 12h, 30d, 2w"),
        ),
        (
            ["clear", "--unused", "2w"],
            snapshot("unbloat: cache --unused only works with prune, not with clear"),
        ),
        (
            ["empty"],
            snapshot("unbloat: [ACTION]: 'empty' is not one of 'show', 'prune', 'clear'; see `unbloat cache --help`"),
        ),
    ],
)
def test_wrong_input(cli: Cli, words: list[str], said: str) -> None:
    done = cli("cache", *words)
    assert (done.returncode, done.stdout, stderr_of(done)) == (2, "", said)
