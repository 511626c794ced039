"""NumPy's files of arrays (`.npz`), written without NumPy: to load it takes longer than many a run."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

MAGIC = b"\x93NUMPY\x01\x00"
ALIGNMENT = 64


def write(file: IO[bytes], arrays: Iterable[tuple[str, str, bytes]]) -> None:
    """Write arrays of one dimension, each given by its name, its NumPy type such as `<f8`, and its bytes."""
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, dtype, data in arrays:
            archive.writestr(f"{name}.npy", header(dtype, len(data)) + data)


def header(dtype: str, size: int) -> bytes:
    """Return what stands before an array's `size` bytes: version 1.0 of the format in NumPy's NEP 1."""
    length = size // int(dtype[2:])
    said = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({length},), }}"
    before = len(MAGIC) + struct.calcsize("<H")
    room = -(before + len(said) + 1) % ALIGNMENT
    return MAGIC + struct.pack("<H", len(said) + room + 1) + said.encode() + b" " * room + b"\n"
