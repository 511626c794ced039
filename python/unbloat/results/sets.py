"""Parquet files that belong together: put into a folder of the user's as one, and read as one.

Whenever a process ends, by a signal or with the power, the folder has the old set or the new one. The new tables are
written beside the old ones into a folder of their own. The new set counts from the moment when that is renamed to
`WAITING`. From then on readers take the files there, and the next writer finishes what was cut short.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from unbloat._core import InputError
from unbloat.system import machine
from unbloat.system.files import refuse_special, sync, writing
from unbloat.system.scratch import BESIDE, Scratch

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

WAITING = ".unbloat-set"
"""The folder of a set whose tables are not all in their places yet. An empty file stands for a table that it lacks."""
IDENTITY = b"unbloat_set"
"""The key in the schema's metadata that names the set, the same in all of its tables."""


# ---------------------------------------------------------------- Writing


def put(folder: Path, names: Iterable[str], tables: Mapping[str, pa.Table]) -> list[Path]:
    """Write tables, and remove those of `names` that an earlier set had besides; return the paths.

    Raises `InputError` if the folder cannot be made or written to.
    """
    import pyarrow.parquet

    with writing(folder):
        folder.mkdir(exist_ok=True)
        with closing(Scratch(within=folder.absolute())) as scratch:
            new = scratch.folder / "set"
            new.mkdir()
            for name in names:
                file = _file(new, name)
                if name in tables:
                    pyarrow.parquet.write_table(tables[name], file)
                else:
                    file.touch()
                sync(file)
            sync(new)
            with _alone(folder):
                _finish(folder)
                new.rename(folder / WAITING)
                sync(folder)
                _finish(folder)
    return [_file(folder, name) for name in tables]


def _finish(folder: Path) -> None:
    """Put the tables that wait in their places, in the order in which a process before may have begun."""
    waiting = folder / WAITING
    for file in sorted(waiting.glob("*.parquet")):
        if file.stat().st_size:
            file.replace(folder / file.name)
        else:
            (folder / file.name).unlink(missing_ok=True)
            file.unlink()
    with suppress(FileNotFoundError):
        waiting.rmdir()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait until no other process puts a set in its place there."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # A file system without locks.
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.parquet"


# ---------------------------------------------------------------- Reading


def found(path: Path, name: str) -> set[Path]:
    """Find the tables of this name in a folder and below it, each named by its place, also while it waits."""
    files = path.rglob(f"{name}.parquet")
    folders = {file.parent.parent if file.parent.name == WAITING else file.parent for file in files}
    drafts = {each for each in folders if any(part.startswith(BESIDE) for part in each.relative_to(path).parts)}
    return {_file(folder, name) for folder in folders - drafts}


@dataclass(frozen=True)
class Table:
    """A table of a set, of which only the end has been read, which says what it holds."""

    file: Path
    rows: int
    columns: int
    size: int
    """Size of the columns before compression, bytes."""
    identity: bytes | None

    def read(self) -> pa.Table:
        """Read it; raises `InputError` if it is damaged, or has more than this machine can hold as rows."""
        import pyarrow.parquet

        self._refuse_large(PYTHON_BYTES)
        with damage(self.file):
            # `read_table` would load pandas, which takes longer than the reading.
            return pyarrow.parquet.ParquetFile(self.file).read()

    def frame(self) -> pd.DataFrame:
        """Read it as a data frame; raises `InputError` if it is damaged."""
        import pyarrow.parquet

        self._refuse_large(FRAME_BYTES)
        with damage(self.file):
            frame: pd.DataFrame = pyarrow.parquet.ParquetFile(self.file).read().to_pandas()
            return frame

    def _refuse_large(self, bytes_per_value: int) -> None:
        needed = max(self.rows * self.columns * bytes_per_value, self.size)
        if needed > machine.memory_bound():
            raise InputError(
                f"{self.file}: has {self.rows:,} rows of {self.columns} columns, which take about "
                f"{machine.bytes_in_words(needed)} of memory; more than "
                f"{machine.bytes_in_words(machine.memory_bound())}, half of what is free, is not read"
            )


PYTHON_BYTES, FRAME_BYTES = 100, 16
"""Bytes of a value as a Python object, and as a number in Arrow's table together with pandas' copy."""


def opened(folder: Path, names: Iterable[str]) -> dict[str, Table]:
    """Find the tables of a set; raises `InputError` if one is damaged, or if they are of two sets."""
    files = {name: file for name in names if (file := _place(folder, name))}
    tables = {name: _opened(file) for name, file in files.items()}
    for first, other in pairwise(tables.values()):
        if other.identity != first.identity:
            raise InputError(
                f"{folder}: contains tables of two runs: {other.file.name} was not written with {first.file.name}; "
                "run again with -o, or give each run its own folder"
            )
    return tables


def _place(folder: Path, name: str) -> Path | None:
    """Return where a table is: among those that wait, or in its place."""
    waiting, there = _file(folder / WAITING, name), _file(folder, name)
    with suppress(OSError):
        return waiting if waiting.stat().st_size else None
    return there if there.exists() else None


def _opened(file: Path) -> Table:
    import pyarrow.parquet

    refuse_special(file)
    with damage(file), pyarrow.parquet.ParquetFile(file) as parquet:
        about = parquet.metadata
        size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
        identity = (parquet.schema_arrow.metadata or {}).get(IDENTITY)
        return Table(file, about.num_rows, about.num_columns, size, identity)


@contextmanager
def damage(file: Path) -> Iterator[None]:
    """Raise `InputError` for what reading a damaged file raises; it names the file."""
    import pyarrow

    try:
        yield
    except MemoryError:
        raise InputError(
            f"{file}: needs more memory than this computer has: its counts of rows or bytes are wrong"
        ) from None
    except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError, NotImplementedError) as error:
        why = str(error).split("\n")[0][:200]
        raise InputError(f"{file}: not a Parquet file, or damaged: {why}") from None
