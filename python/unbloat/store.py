"""Finished runs on disk, under the hash of everything that they depend on."""

import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from unbloat import _core
from unbloat.places import ALGORITHMS

Tables = dict[str, dict[str, "np.ndarray[Any, Any]"]]
"""A run's series: tables by name, each a dictionary of columns."""


@functools.cache
def code_hash() -> str:
    """Hash the compiled core and every file of `algorithms/`: what a run's outcome depends on besides its scenario."""
    files = [Path(_core.__file__), *sorted(p for p in ALGORITHMS.rglob("*") if p.is_file())]
    return hash_files(files)


def hash_files(files: Iterable[Path]) -> str:
    """Hash names and contents, so that no two lists of files look alike."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def key_of(cell: _core.Cell, where: Sequence[str] = ()) -> str:
    """Name the run of `cell`: the same scenario, parameters, seed, code and place give the same key, nothing else does.

    `where` identifies what a run in that place depends on besides: nothing in the simulator.
    """
    parts = [cell.json(), code_hash(), hash_files(cell.sources(ALGORITHMS)), *where]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class Store:
    """A folder of finished runs. Files appear whole or not at all, so it survives any end of any process."""

    def __init__(self, folder: Path | None) -> None:
        """Use `folder`, or without one a temporary folder that goes away with this object."""
        self._temporary = tempfile.TemporaryDirectory(prefix="unbloat-") if folder is None else None
        self.folder = Path(self._temporary.name) if self._temporary else Path(folder or "")

    def has(self, key: str, series_ns: int | None, since_ns: int = 0) -> bool:
        """Tell whether the run is here, kept after `since_ns`, and its series at that step if one is named."""
        try:
            kept_ns = self._record(key).stat().st_mtime_ns
        except FileNotFoundError:
            return False
        return kept_ns > since_ns and (series_ns is None or self._series(key, series_ns).exists())

    def record(self, key: str) -> dict[str, Any]:
        """Read the records of a run."""
        record: dict[str, Any] = json.loads(self._record(key).read_text())
        return record

    def series(self, key: str, series_ns: int) -> Tables:
        """Read the series of a run."""
        tables: Tables = {}
        with np.load(self._series(key, series_ns)) as columns:
            for name in columns.files:
                table, column = name.split(".")
                tables.setdefault(table, {})[column] = columns[name]
        return tables

    def put(self, key: str, record: str, series_ns: int | None, tables: Tables | None) -> None:
        """Keep a run; the record comes last, since it is what makes a run count as finished."""
        if series_ns is not None and tables is not None:
            columns: dict[str, Any] = {f"{t}.{c}": values for t, table in tables.items() for c, values in table.items()}
            write_whole(self._series(key, series_ns), lambda file: np.savez_compressed(file, **columns))
        write_whole(self._record(key), lambda file: file.write(record.encode()))

    def take_out(self, key: str) -> str:
        """Give the record of a run as it was put in, and forget the run."""
        record = self._record(key).read_text()
        self._record(key).unlink()
        return record

    def _record(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _series(self, key: str, series_ns: int) -> Path:
        return self.folder / key[:2] / f"{key}.{series_ns}.npz"


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file beside `path` and rename it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
