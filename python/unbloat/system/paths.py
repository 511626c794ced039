"""Where things are: the folders that come with the package, and the user's cache with what it holds."""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from unbloat._core import InputError
from unbloat.system.scratch import remove_from

DATA = Path(__file__).resolve().parents[1] / "data"
"""In a checkout symbolic links to the folders at its root, in an installed package their copies."""
ALGORITHMS = DATA / "algorithms"
PAPERS = DATA / "papers"
SCENARIOS = DATA / "scenarios"
SUITES = DATA / "suites"


def mechanism_names(kind: str) -> list[str]:
    """List the shipped mechanisms of a folder: `congestion`, `window` or `classify`."""
    return sorted(file.name.removesuffix(".bpf.c") for file in ALGORITHMS.glob(f"{kind}/*.bpf.c"))


MACROS = {"WINDOW_CONTROL(": "window", "CLASSIFIER(": "classify"}
"""The macro that a mechanism's file ends with, and the folder of the shipped ones of that kind."""


def kind_of_file(file: Path) -> str:
    """Return the folder in which a mechanism of this kind would be shipped: `congestion`, `window` or `classify`."""
    text = file.read_text(encoding="utf-8", errors="replace")
    return next((folder for macro, folder in MACROS.items() if macro in text), "congestion")


def paper_names() -> list[str]:
    """List the shipped papers."""
    return sorted(file.parent.name for file in PAPERS.glob("*/published.toml"))


def suite_names() -> list[str]:
    """List the shipped suites."""
    return sorted(file.parent.name for file in SUITES.glob("*/suite.toml"))


def scenario_names() -> list[str]:
    """List the shipped scenarios."""
    return sorted(file.stem for file in SCENARIOS.glob("*.toml"))


def cache_folder(kind: str = "") -> Path:
    """Return the cache: `$UNBLOAT_CACHE`, or `unbloat` in the user's cache folder. Creates it if it is missing.

    `kind` is a folder in it, which its first writer creates. Raises `InputError` if others may write to either, because
    unbloat takes files there as this user's, and runs them.
    """
    folder = _cache_path()
    with suppress(OSError):  # Whoever writes there will say why that cannot be.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_of_others(folder)
        _refuse_of_others(folder / kind)
    return folder / kind


def _cache_path() -> Path:
    if own := os.environ.get("UNBLOAT_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "unbloat"
    except RuntimeError:
        raise InputError("this user has no home folder for the cache: set UNBLOAT_CACHE to a folder") from None


def _refuse_of_others(folder: Path) -> None:
    """Raise `InputError` if anyone but this user and root may put files into a folder."""
    state = folder.stat()
    if state.st_uid not in (0, os.geteuid()):
        raise InputError(
            f"the cache folder {folder} belongs to another user (uid {state.st_uid}), whose files you would run: "
            "set UNBLOAT_CACHE to a folder of your own"
        )
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(
            f"other users may write to the cache folder {folder}, whose files you run: "
            f"chmod go-w {folder}, or set UNBLOAT_CACHE to a folder of your own"
        )


def find_scenario(name: str) -> Path:
    """Return a path if it exists, or the shipped scenario of that name; raises `InputError` if neither exists."""
    path = Path(name)
    if not name:
        raise InputError("the scenario's name is empty")
    if path.is_dir():
        raise InputError(f"{name}: is a folder, not a scenario")
    if name.partition("#")[0].endswith(".c"):
        raise InputError(
            f"{name}: is a congestion control, not a scenario: run one with it, such as home-dsl --cc {name}"
        )
    if path.exists():
        return path
    wanted = name.removesuffix(".toml")
    if wanted in (names := scenario_names()):
        return SCENARIOS / f"{wanted}.toml"
    beside = [str(path.with_suffix(".toml"))] if path.name and path.with_suffix(".toml").is_file() else []
    near = beside or get_close_matches(wanted, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise InputError(f"{name}: no such file, and no such scenario in `unbloat list`{hint}")


# ---------------------------------------------------------------- What the cache holds


@dataclass(frozen=True)
class Kind:
    """One folder of the cache."""

    folder: str
    about: str
    pattern: str
    """The pattern of the files or folders that are stored or removed as a whole there."""


KINDS = (
    Kind("runs", "finished runs and their time series", "??/*"),
    Kind("short-runs", "records of short runs", "*"),
    Kind("mechanisms", "compiled congestion controls", "*"),
    Kind("kernels", "kernels for guests", "*"),
    Kind("guests", "booted guests", "*"),
)
LOCKS = (".lock",)
"""Files that processes lock while they are at work."""


@dataclass(frozen=True)
class Thing:
    """A file or a folder of the cache."""

    path: Path
    size: int
    """In bytes."""
    used: float
    """When it was read or written last, in seconds since 1970, as well as the file system knows."""

    def remove(self) -> None:
        """Remove it; another process may have done so."""
        remove_from(self.path.parent, self.path.name)


def things(kind: Kind) -> list[Thing]:
    """List what there is of a kind."""
    folder = cache_folder(kind.folder)
    return [thing for path in folder.glob(kind.pattern) if path.name not in LOCKS for thing in _thing(path)]


def _thing(path: Path) -> Iterator[Thing]:
    with suppress(FileNotFoundError):  # Another process has just removed it.
        files = [each for each in path.rglob("*") if not each.is_dir()] if path.is_dir() else [path]
        states = [file.lstat() for file in files]
        # Listing a folder changes its access time, so for folders only the time of modification is of use.
        used = max([path.lstat().st_mtime, *(state.st_atime for state in states)])
        yield Thing(path, sum(state.st_size for state in states), used)


def prune(unused_s: float = -math.inf) -> dict[str, list[Thing]]:
    """Remove what was not used for so long, by default all; return what was removed, by folder."""
    since = time.time() - unused_s
    gone = {kind.folder: [thing for thing in things(kind) if thing.used < since] for kind in KINDS}
    for removed in gone.values():
        for thing in removed:
            thing.remove()
    return gone
