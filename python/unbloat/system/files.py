"""Files of the user's: reading refuses devices and pipes, writing leaves a whole file or none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from errno import ENOTDIR, EPERM
from pathlib import Path
from typing import IO

from unbloat._core import InputError
from unbloat.system.scratch import BESIDE, Scratch

# ---------------------------------------------------------------- Reading


KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFSOCK: "a socket",
}


def refuse_special(file: Path) -> None:
    """Raise `InputError` for a path that exists and is not a regular file: reading it might never end."""
    with open_regular(file):
        pass


def open_regular(file: Path) -> IO[bytes]:
    """Open a file to read; raises `InputError` if opening fails, or if it is not a regular file."""
    try:
        # Without waiting for the other end of a pipe.
        opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    kind = stat.S_IFMT(os.fstat(opened).st_mode)
    if kind != stat.S_IFREG:
        os.close(opened)
        raise InputError(f"{file}: is {KINDS.get(kind, 'something else')}, and not a file")
    return os.fdopen(opened, "rb")


def read_own(file: Path) -> bytes:
    """Read a regular file that nobody but this user and root can have written; raises `OSError` for any other."""
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(opened, "rb") as content:
        state = os.fstat(opened)
        is_own = state.st_uid in (0, os.geteuid()) and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not (is_own and stat.S_ISREG(state.st_mode)):
            raise PermissionError(EPERM, "others may have written it", str(file))
        return content.read()


# ---------------------------------------------------------------- Writing


PROBE = 1 << 16
"""Bytes that a disk must have room for when a command begins that will write there."""

DESCRIPTORS = (Path("/dev/fd"), Path("/proc/self/fd"))
"""Folders of open files, such as those of a shell: whatever is open there is written to."""


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Make the folder of a file that is written within the context.

    Raises `InputError` if the file or its folder cannot be written.
    """
    try:
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        is_ours = error.filename is None or BESIDE in str(error.filename) or Path(error.filename) == file
        where = "" if is_ours else f" ({error.filename})"
        is_no_folder = isinstance(error, FileExistsError | NotADirectoryError) and error.errno
        reason = "a file is where a folder is needed" if is_no_folder else (error.strerror or str(error)).lower()
        raise InputError(f"{file}: cannot be written: {reason}{where}") from None


class Drafts:
    """Files that are written beside their places, and renamed there when they are finished.

    A process that ends in between leaves the file that was there before, or none.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, Scratch] = {}
        """By the folder of the places, where their drafts are."""
        self._places: dict[Path, Path] = {}

    def of(self, file: Path) -> Path:
        """Return what to write to in place of a file: a draft, or the file itself if it is a device or a pipe."""
        place = file.resolve()
        is_open = file.absolute().parent in DESCRIPTORS or str(file) in ("/dev/stdout", "/dev/stderr")
        if is_open or (place.exists() and not place.is_file()):
            return file
        if place.parent not in self._folders:
            self._folders[place.parent] = Scratch(within=place.parent)
        draft = self._folders[place.parent].folder / str(len(self._places))
        self._places[draft] = place
        return draft

    def publish(self, draft: Path) -> None:
        """Put a finished draft in its place; what was there before keeps its permissions."""
        if place := self._places.get(draft):
            if place.exists():
                draft.chmod(stat.S_IMODE(place.stat().st_mode))
            sync(draft)
            draft.replace(place)

    def close(self) -> None:
        """Remove the drafts that were not published."""
        for scratch in self._folders.values():
            scratch.close()


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Yield the path of a draft, which becomes `file` when the context ends without an error."""
    with writing(file), closing(Drafts()) as drafts:
        draft = drafts.of(file)
        yield draft
        drafts.publish(draft)


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk: or else a power cut may leave the new name with nothing in it."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def room_for(*files: Path | None) -> None:
    """Make the folders of files, before the work that they are written for.

    Raises `InputError` if a file or its folder cannot be written, or if the disk is full.
    """
    for file in filter(None, files):
        with writing(file):
            if file.is_dir():
                raise IsADirectoryError(None, "it is a folder", str(file))
            with closing(Drafts()) as drafts:
                draft = drafts.of(file)
                if draft != file:
                    _probe(draft)


def room_within(folder: Path | None) -> None:
    """Make a folder, before the work whose files it is for; raises `InputError` if it cannot be written to."""
    if folder is not None:
        with writing(folder):
            if folder.exists() and not folder.is_dir():
                raise NotADirectoryError(ENOTDIR, "", str(folder))
            folder.mkdir(exist_ok=True)
            with closing(Scratch(within=folder.absolute())) as scratch:
                _probe(scratch.folder / "probe")


def _probe(file: Path) -> None:
    """Raise the error of a folder that takes no file."""
    file.write_bytes(b"\0" * PROBE)
    sync(file)


def write_text(file: Path, text: str) -> None:
    """Write a text into a file."""
    with whole(file) as draft:
        draft.write_text(text, encoding="utf-8")
