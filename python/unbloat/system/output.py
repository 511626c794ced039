"""Files that are written for the user: their folders are made, and what cannot be written is a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOTDIR
from pathlib import Path

from unbloat._core import InputError


@contextmanager
def writing(file: Path) -> Iterator[Path]:
    """Make the folder of a file that is written within the context.

    Raises `InputError` if the file or its folder cannot be written.
    """
    try:
        file.absolute().parent.mkdir(parents=True, exist_ok=True)
        yield file
    except OSError as error:
        where = f" ({error.filename})" if error.filename and Path(error.filename) != file else ""
        is_no_folder = isinstance(error, FileExistsError | NotADirectoryError) and error.errno
        reason = "a file is where a folder is needed" if is_no_folder else (error.strerror or str(error)).lower()
        raise InputError(f"{file}: cannot be written: {reason}{where}") from None


def room_for(*files: Path | None) -> None:
    """Make the folders of files, before the work that they are written for; raises `InputError` likewise."""
    for file in filter(None, files):
        with writing(file):
            if file.is_dir():
                raise IsADirectoryError(None, "it is a folder", str(file))


def room_within(folder: Path | None) -> None:
    """Make a folder, before the work whose files it is for; raises `InputError` likewise."""
    if folder is not None:
        with writing(folder):
            if folder.exists() and not folder.is_dir():
                raise NotADirectoryError(ENOTDIR, "", str(folder))
            folder.mkdir(exist_ok=True)


def write_text(file: Path, text: str) -> None:
    """Write a text into a file."""
    with writing(file):
        file.write_text(text, encoding="utf-8")
