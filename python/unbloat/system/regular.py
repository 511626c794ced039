"""Files that are read because another file names them: none of them is a device or a pipe."""

from __future__ import annotations

import os
import stat
from errno import EPERM
from pathlib import Path
from typing import IO

from unbloat._core import InputError

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFSOCK: "a socket",
}


def refuse_special(file: Path) -> None:
    """Raise `InputError` for what is there and is no regular file: to read it might never end."""
    with open_regular(file):
        pass


def open_regular(file: Path) -> IO[bytes]:
    """Open a file to read; raises `InputError` if it cannot be opened, or is no regular file."""
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
