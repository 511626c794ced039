"""NumPy's files of arrays (`.npz`), written and checked without NumPy: to load it takes longer than many a run."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

MAGIC = b"\x93NUMPY\x01\x00"
ALIGNMENT = 64
BEGINNING = b"PK\x03\x04"
"""Of an archive; zipfile passes over whatever stands before, NumPy does not."""
END = struct.Struct("<4s4H2LH")
"""Of an archive; the fourth short number says how many entries it has, of which zipfile passes over damaged ones."""


def write(file: IO[bytes], arrays: Iterable[tuple[str, str, bytes]]) -> None:
    """Write arrays of one dimension, each given by its name, its NumPy type such as `<f8`, and its bytes."""
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, dtype, data in arrays:
            archive.writestr(f"{name}.npy", header(dtype, len(data)) + data)


@contextmanager
def damage_is_an_error() -> Iterator[None]:
    """Raise `ValueError` for what reading a damaged file raises."""
    try:
        yield
    except (BadZipFile, zlib.error) as error:
        raise ValueError("the arrays are damaged") from error


def check(data: bytes) -> None:
    """Read a file's bytes to the end; raises `ValueError` if they are damaged."""
    with damage_is_an_error(), ZipFile(BytesIO(data)) as archive:
        *_, entries, _, _, _ = END.unpack(data[-END.size :])
        if archive.testzip() or entries != len(archive.infolist()) or not data.startswith(BEGINNING):
            raise BadZipFile


def header(dtype: str, size: int) -> bytes:
    """Return what stands before an array's `size` bytes: version 1.0 of the format in NumPy's NEP 1."""
    length = size // int(dtype[2:])
    said = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({length},), }}"
    before = len(MAGIC) + struct.calcsize("<H")
    room = -(before + len(said) + 1) % ALIGNMENT
    return MAGIC + struct.pack("<H", len(said) + room + 1) + said.encode() + b" " * room + b"\n"
