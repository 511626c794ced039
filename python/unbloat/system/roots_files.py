"""Files that root runs or reads at every boot: root alone may change them, everybody may read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from unbloat.system.output import sync
from unbloat.system.removal import remove_from
from unbloat.system.scratch import Scratch

FILE, FOLDER = 0o644, 0o755
"""The modes, whatever the umask of whoever writes."""
MOST_LINKS = 40
"""How many symbolic links the kernel follows on one way (MAXSYMLINKS)."""


def changeable(path: Path) -> Path | None:
    """Return the first folder, file or link on the way to `path` that others than root could replace or write to."""
    return next(filter(_is_of_others, _way(path)), None)


def changeable_within(folder: Path) -> Path | None:
    """Return what others could change of a folder, of the way to it, or of the ways on which its links lead."""
    parts = (changeable(part) if part.is_symlink() else part for part in sorted(folder.rglob("*")))
    return changeable(folder) or next((part for part in parts if part and _is_of_others(part)), None)


def _is_of_others(part: Path) -> bool:
    state = part.lstat()
    if state.st_uid != 0 or stat.S_ISLNK(state.st_mode):
        return state.st_uid != 0
    is_open = state.st_mode & stat.S_IWOTH or (state.st_mode & stat.S_IWGRP and state.st_gid != 0)
    # Of a sticky folder others can replace only what is theirs, which is looked at next.
    return bool(is_open) and not (stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_ISVTX)


def _way(path: Path) -> Iterator[Path]:
    """Yield what the kernel passes on the way to a path: folders, links, what they lead to; all that is there."""
    ahead = list(reversed(path.absolute().parts))
    place, links = Path("/"), 0
    while ahead:
        part = ahead.pop()
        place = place.parent if part == ".." else place / part
        if not os.path.lexists(place):
            return
        yield place
        if place.is_symlink():
            links += 1
            if links > MOST_LINKS:
                return
            ahead += reversed(place.readlink().parts)
            place = place.parent


def write_file(path: Path, text: str) -> None:
    """Write a file whole: what was there before counts until then."""
    _make(path.parent)
    with closing(Scratch(within=path.parent)) as scratch:
        draft = scratch.folder / path.name
        draft.write_text(text, encoding="utf-8")
        draft.chmod(FILE)
        sync(draft)
        draft.replace(path)
        sync(path.parent)


def write_folder(folder: Path, files: Iterable[Path]) -> None:
    """Put copies of files into a folder in place of what was there; each is below it where it was below the root."""
    place = folder.parent
    _make(place)
    with closing(Scratch(within=place)) as scratch:
        draft = scratch.folder / folder.name
        for file in files:
            copy = place_below(draft, file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        for part in (draft, *draft.rglob("*")):
            part.chmod(FOLDER if part.is_dir() else FILE)
            sync(part)
        remove_from(place, folder.name)
        draft.rename(folder)
        sync(place)


def _make(folder: Path) -> None:
    """Make a folder, and those above it, if they are not there."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=FOLDER, exist_ok=True)
        folder.chmod(FOLDER)


def place_below(folder: Path, file: Path) -> Path:
    """Return where a copy of a file is below a folder, which no `..` of the file's path leaves."""
    return folder / os.path.normpath(file.absolute()).lstrip("/")
