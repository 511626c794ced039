"""Finished runs on disk, under the hash of everything that they depend on.

Modules that only series or a temporary folder need are loaded for them: loading takes longer than the rest of a short
run's process.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

from unbloat import _core
from unbloat.results.rows import Run
from unbloat.scenarios.identity import code_hash, hash_files
from unbloat.scenarios.portable import Columns
from unbloat.system.files import read_own
from unbloat.system.paths import ALGORITHMS, cache_folder
from unbloat.system.scratch import remove_from

if TYPE_CHECKING:
    import pandas as pd


log = logging.getLogger(__name__)

Tables = dict[str, "pd.DataFrame"]
"""A run's series as they are read, by the names of their tables."""


def key_of(point: _core.GridPoint, where: Sequence[str] = (), code: str | None = None) -> str:
    """Name the run of `point`: only the same scenario, parameters, seed, code and place give the same key.

    `where` identifies what a run in that place depends on besides: nothing in the simulator. `code` is `code_hash()`.
    """
    parts = [point.json(), code or code_hash(), hash_files(point.sources(ALGORITHMS)), *where]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class Store:
    """A folder of finished runs.

    Files appear whole or not at all, so it survives any end of any process and of the machine. A damaged file counts as
    absent, and its run is done again.
    """

    def __init__(self, folder: Path | None, spare: Path | None = None) -> None:
        """Use `folder`, or without one a temporary folder that goes away with this object.

        Files that cannot be written there go to `spare`.
        """
        if folder is None:
            folder = self._temporary()
        self.folder = folder
        self.spare = spare

    @classmethod
    def of_cache(cls, folder: Path) -> Store:
        """Use a folder of the cache; while that takes no files, or few, a temporary folder takes them besides."""
        store = cls(folder)
        if not has_room(folder):
            store.spare = store._temporary()
        return store

    def _temporary(self) -> Path:
        from unbloat.system.scratch import Scratch

        self._scratch = Scratch()
        return self._scratch.folder

    def has(self, key: str, series_ns: int | None, since_ns: int = 0) -> bool:
        """Return whether the run is here, kept after `since_ns`, and its series at that step if one is named."""
        try:
            kept_ns = self._place(record_of(key)).stat().st_mtime_ns
            unsealed(read_own(self._place(record_of(key))))
            if series_ns is not None:
                series_unsealed(read_own(self._place(series_of(key, series_ns))))
        except UNREADABLE:
            return False
        return kept_ns > since_ns

    def record(self, key: str) -> Run:
        """Read the records of a run."""
        record: Run = json.loads(unsealed(read_own(self._place(record_of(key)))))
        return record

    def series(self, key: str, series_ns: int) -> Tables:
        """Read the series of a run."""
        return tables_of(series_unsealed(read_own(self._place(series_of(key, series_ns)))))

    def put(self, key: str, record: str, series_ns: int | None, columns: Columns | None) -> None:
        """Keep a run; the record comes last, since it is what makes a run count as finished."""
        try:
            self._put(self.folder, key, record, series_ns, columns)
        except OSError:
            if self.spare is None:
                raise
            self._put(self.spare, key, record, series_ns, columns)

    def _put(self, folder: Path, key: str, record: str, series_ns: int | None, columns: Columns | None) -> None:
        if series_ns is not None and columns is not None:
            data = arrow_of(columns)
            write_whole(folder / series_of(key, series_ns), lambda file: file.write(series_sealed(data)))
        write_whole(folder / record_of(key), lambda file: file.write(sealed(record.encode())))

    def take_out(self, key: str) -> str:
        """Return the record of a run as it was stored, and forget the run."""
        record = unsealed(read_own(self._place(record_of(key)))).decode()
        self._place(record_of(key)).unlink()
        return record

    def _place(self, name: str) -> Path:
        """Return where a file is: the spare folder has the files that could not be written to the other."""
        if self.spare is None or not (self.spare / name).exists():
            return self.folder / name
        tell_once(self.folder)
        return self.spare / name


def record_of(key: str) -> str:
    """Name the file of a run's record in the folder of a store."""
    return f"{key[:2]}/{key}.json"


def series_of(key: str, series_ns: int) -> str:
    """Name the file of a run's series."""
    return f"{key[:2]}/{key}.{series_ns}.arrow"


LITTLE = 1 << 30
"""Free bytes of a disk that counts as nearly full."""


def has_room(folder: Path) -> bool:
    """Return whether a folder takes files, and its disk will not soon be full."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= LITTLE
    except OSError:
        return False


@cache
def tell_once(folder: Path) -> None:
    """Say that a cache keeps nothing."""
    log.warning(
        "the cache %s cannot be written to, or its disk is full: results are not cached; "
        "UNBLOAT_CACHE names another folder",
        folder.parent,
    )


# ---------------------------------------------------------------- Files

UNREADABLE = (OSError, ValueError)
"""The exceptions that a damaged file raises."""
HEAD, MIDDLE, TAIL = b'{"sha256": "', b'", "record": ', b"}\n"
DIGITS = 64


def sealed(record: bytes) -> bytes:
    """Put a record, which is JSON, together with its hash; the result is JSON too."""
    return HEAD + hashlib.sha256(record).hexdigest().encode() + MIDDLE + record + TAIL


def unsealed(data: bytes) -> bytes:
    """Return the record without its checksum; raises `ValueError` if any byte has changed."""
    start = len(HEAD) + DIGITS + len(MIDDLE)
    record = data[start : -len(TAIL)]
    if data != sealed(record):
        raise ValueError("the record is damaged")
    return record


def series_sealed(data: bytes) -> bytes:
    """Put the hash of series before them."""
    return hashlib.sha256(data).digest() + data


def series_unsealed(data: bytes) -> memoryview:
    """Return series without their hash; raises `ValueError` if any byte has changed."""
    size = hashlib.sha256().digest_size
    series = memoryview(data)[size:]
    if data[:size] != hashlib.sha256(series).digest():
        raise ValueError("the series are damaged")
    return series


TABLE = b"table"
"""The key of an Arrow schema's metadata that names a run's table."""


def arrow_of(columns: Columns) -> bytes:
    """Write series as Arrow streams one after the other, a table each."""
    import pyarrow

    types = {"<f8": pyarrow.float64(), "<u4": pyarrow.uint32(), "<u8": pyarrow.uint64()}
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    sink = pyarrow.BufferOutputStream()
    for name, table in columns.items():
        schema = pyarrow.schema([(column, types[kind]) for column, (kind, _) in table.items()], {TABLE: name})
        arrays = [
            pyarrow.Array.from_buffers(types[kind], len(data) // int(kind[2:]), [None, pyarrow.py_buffer(data)])
            for kind, data in table.values()
        ]
        with pyarrow.ipc.new_stream(sink, schema, options=options) as writer:
            writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def tables_of(data: memoryview) -> Tables:
    """Read what `arrow_of` wrote."""
    import pyarrow

    source, tables = pyarrow.BufferReader(data), {}
    while source.tell() < source.size():
        with pyarrow.ipc.open_stream(source) as reader:
            table = reader.read_all()
        tables[table.schema.metadata[TABLE].decode()] = table.to_pandas()
    return tables


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file beside `path` and rename it there; a folder in its place goes."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.parent / f".new-{os.urandom(8).hex()}"
    try:
        with open(new, "xb", opener=for_this_user) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # Or else a power cut may leave the new name with nothing in it.
        if path.is_dir():
            remove_from(path.parent, path.name)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def for_this_user(name: str, flags: int) -> int:
    """Open a file that nobody else may read."""
    return os.open(name, flags, mode=0o600)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock, which ends with the process."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_whole(connection: sqlite3.Connection) -> bool:
    """Return whether SQLite finds no damage; close the file otherwise."""
    with suppress(sqlite3.Error):
        if connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",):
            return True
    connection.close()
    return False


FOLDER, NAME = "all", "records.sqlite"
"""SQLite may have a journal beside the file: both go with their folder."""
PATIENCE_S = 60.0
"""The longest wait for another process that writes."""
MOST_VALUES = 500
"""Keys of one question to SQLite."""


class ShortStore:
    """The file in a folder of the cache; what it cannot read or write counts as absent."""

    def __init__(self, folder: Path | None) -> None:
        """Open it, or keep nothing without a folder."""
        self._file = folder and folder / FOLDER / NAME
        self._open: sqlite3.Connection | None = None

    @classmethod
    def of_cache(cls, *, is_kept: bool) -> ShortStore:
        """Use the cache's file."""
        return cls(cache_folder("short-runs") if is_kept else None)

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the records that are there, by their keys."""
        wanted = list(keys)
        found: dict[str, bytes] = {}
        if (connection := self._connection()) is None:
            return found
        with self._errors_tolerated():
            for first in range(0, len(wanted), MOST_VALUES):
                some = wanted[first : first + MOST_VALUES]
                places = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, record FROM runs WHERE key IN ({places})", some)
                for key, record in rows:
                    with suppress(ValueError):  # Damaged: it is run again.
                        found[key] = unsealed(record)
        return found

    def put(self, records: Mapping[str, bytes]) -> None:
        """Keep records, all or none."""
        if records and (connection := self._connection()) is not None:
            rows = [(key, sealed(record)) for key, record in records.items()]
            with self._errors_tolerated(), connection:
                connection.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?)", rows)

    def _connection(self) -> sqlite3.Connection | None:
        if self._open is None and self._file is not None:
            self._open = self._opened(self._file) or self._afresh(self._file)
        return self._open

    @contextmanager
    def _errors_tolerated(self) -> Iterator[None]:
        """Go on after an error, with a new file if this one is damaged."""
        try:
            yield
        except sqlite3.OperationalError:
            return  # Another process writes for long, or the disk is full.
        except sqlite3.Error:
            if self._open is not None and self._file is not None:
                self._open.close()
                self._open = self._afresh(self._file)

    def _afresh(self, file: Path) -> sqlite3.Connection | None:
        """Begin a new file in place of a damaged one, unless another process has done so meanwhile."""
        with suppress(OSError), _locked(file.parent.parent):
            there = self._opened(file)
            if there is not None and _is_whole(there):
                return there
            remove_from(file.parent.parent, FOLDER)
            return self._opened(file)
        return None

    def _opened(self, file: Path) -> sqlite3.Connection | None:
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = sqlite3.connect(file, timeout=PATIENCE_S)
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error):
            return None
        return connection
