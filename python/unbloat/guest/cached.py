"""Folders of the cache that take long to make: made aside, and put in their place when they are finished."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unbloat._core import RunError
from unbloat.system.scratch import remove_from

ASIDE = ".new-"
ABANDONED_S = 3600
"""What was begun longer ago than this was left by a killed process."""


@contextmanager
def made(place: Path) -> Iterator[Path]:
    """Yield a folder to fill, which then becomes `place`; what is needed on the way can be kept beside it.

    Raises `RunError` if there is no room on the disk, or no right to write there.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        forget_abandoned(place.parent)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=ASIDE) as aside:
            folder = Path(aside) / "made"
            folder.mkdir()
            yield folder
            publish(folder, place)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        raise RunError(f"{place.parent}: files for guests cannot be written there: {what}") from None


def publish(folder: Path, place: Path) -> None:
    """Put a finished folder in its place, unless another process has been quicker."""
    try:
        folder.rename(place)
    except OSError:
        if not place.is_dir():
            raise


def forget_abandoned(parent: Path) -> None:
    """Remove what processes have left that were killed at work."""
    for folder in parent.glob(f"{ASIDE}*"):
        if time.time() - last_use(folder) > ABANDONED_S:
            remove_from(parent, folder.name)


def last_use(folder: Path) -> float:
    """Return when a folder was touched last; long ago if another process has just removed it."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0
