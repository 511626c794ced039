"""Where things are: the folders that come with the package, and the user's cache."""

import os
import stat
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from unbloat._core import InputError

DATA = Path(__file__).resolve().parents[1] / "data"
"""In a checkout symbolic links to the folders at its root, in an installed package their copies."""
ALGORITHMS = DATA / "algorithms"
PAPERS = DATA / "papers"
SCENARIOS = DATA / "scenarios"


def cache_folder(kind: str = "") -> Path:
    """Where finished runs are kept: `$UNBLOAT_CACHE`, or `unbloat` in the user's cache folder; made if it is missing.

    `kind` is a folder in it, which whoever writes there makes. Raises `InputError` if others may write to either: what
    stands there is taken as this user's, and run.
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
        raise InputError("this user has no home folder to keep runs in: set UNBLOAT_CACHE to a folder") from None


def _refuse_of_others(folder: Path) -> None:
    """Raise `InputError` if anyone but this user and root may put files into a folder."""
    state = folder.stat()
    if state.st_uid not in (0, os.geteuid()):
        raise InputError(
            f"the cache folder {folder} belongs to another user (uid {state.st_uid}), who could have you run what "
            "stands there: set UNBLOAT_CACHE to a folder of your own"
        )
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(
            f"others may write to the cache folder {folder}, and could have you run what stands there: "
            f"chmod go-w {folder}, or set UNBLOAT_CACHE to a folder of your own"
        )


def find_scenario(name: str) -> Path:
    """Return a path if it exists, or the shipped scenario of that name; raises `InputError` if neither exists."""
    path = Path(name)
    if not name:
        raise InputError("a scenario's name is missing: there is nothing between the quotes")
    if path.is_dir():
        raise InputError(f"{name}: is a folder, and no scenario")
    if name.partition("#")[0].endswith(".c"):
        raise InputError(f"{name}: is a congestion control, and no scenario: run one with it, as home-dsl --cc {name}")
    if path.exists():
        return path
    wanted = name.removesuffix(".toml")
    names = [file.stem for file in sorted(SCENARIOS.glob("*.toml"))]
    if wanted in names:
        return SCENARIOS / f"{wanted}.toml"
    beside = [str(path.with_suffix(".toml"))] if path.name and path.with_suffix(".toml").is_file() else []
    near = beside or get_close_matches(wanted, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise InputError(f"{name}: there is no such file, and no scenario of that name in `unbloat list`{hint}")
