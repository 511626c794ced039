"""Removal of folders, none of which leaves the folder that it is in."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def remove_from(folder: Path, name: str) -> None:
    """Remove a file, a link or a whole folder of that name from `folder`, as far as this user may; it may be gone.

    Links go, what they lead to stays. Raises `ValueError` for a name that leads out of the folder.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} names nothing in a folder")
    with suppress(OSError):
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # It opens each folder below from the one above, and no link.
            shutil.rmtree(name, ignore_errors=True, dir_fd=here)
            os.unlink(name, dir_fd=here)
        finally:
            os.close(here)
