"""Where things are: the folders that come with the package, and the user's cache."""

import os
from difflib import get_close_matches
from pathlib import Path

from unbloat._core import InputError

DATA = Path(__file__).resolve().parent / "data"
"""In a checkout symbolic links to the folders at its root, in an installed package their copies."""
ALGORITHMS = DATA / "algorithms"
PAPERS = DATA / "papers"
SCENARIOS = DATA / "scenarios"


def cache_folder() -> Path:
    """Where finished runs are kept: `$UNBLOAT_CACHE`, or `unbloat` in the user's cache folder."""
    if own := os.environ.get("UNBLOAT_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "unbloat"
    except RuntimeError:
        raise InputError("this user has no home folder to keep runs in: set UNBLOAT_CACHE to a folder") from None


def find_scenario(name: str) -> Path:
    """A path as it is, or the shipped scenario of that name; raises `InputError` if there is neither."""
    path = Path(name)
    if path.exists():
        return path
    wanted = name.removesuffix(".toml")
    names = [file.stem for file in sorted(SCENARIOS.glob("*.toml"))]
    if wanted in names:
        return SCENARIOS / f"{wanted}.toml"
    near = get_close_matches(wanted, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise InputError(f"{name}: there is no such file, and no scenario of that name in `unbloat list`{hint}")
