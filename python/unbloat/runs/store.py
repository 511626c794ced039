"""Finished runs on disk, under the hash of everything that they depend on.

What only series or a temporary folder need is loaded for them: it takes longer than all else that a process with a
short run does.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from unbloat import _core
from unbloat.scenario.identity import code_hash, hash_files
from unbloat.scenario.recording import Columns
from unbloat.system.paths import ALGORITHMS

if TYPE_CHECKING:
    import numpy as np

Tables = dict[str, dict[str, "np.ndarray[Any, Any]"]]
"""A run's series as they are read: by table and column an array."""


def key_of(cell: _core.Cell, where: Sequence[str] = (), code: str | None = None) -> str:
    """Name the run of `cell`: the same scenario, parameters, seed, code and place give the same key, nothing else does.

    `where` identifies what a run in that place depends on besides: nothing in the simulator. `code` is `code_hash()`.
    """
    parts = [cell.json(), code or code_hash(), hash_files(cell.sources(ALGORITHMS)), *where]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class Store:
    """A folder of finished runs.

    Files appear whole or not at all, so it survives any end of any process and of the machine. What cannot be read,
    because a disk or a person has damaged it, counts as absent and is run again.
    """

    def __init__(self, folder: Path | None) -> None:
        """Use `folder`, or without one a temporary folder that goes away with this object."""
        if folder is None:
            from unbloat.system.scratch import Scratch

            self._scratch = Scratch()
            folder = self._scratch.folder
        self.folder = folder

    def has(self, key: str, series_ns: int | None, since_ns: int = 0) -> bool:
        """Return whether the run is here, kept after `since_ns`, and its series at that step if one is named."""
        try:
            kept_ns = self._record(key).stat().st_mtime_ns
            unsealed(self._record(key).read_bytes())
            if series_ns is not None:
                from unbloat.runs import npz

                npz.check(self._series(key, series_ns))
        except UNREADABLE:
            return False
        return kept_ns > since_ns

    def record(self, key: str) -> dict[str, Any]:
        """Read the records of a run."""
        record: dict[str, Any] = json.loads(unsealed(self._record(key).read_bytes()))
        return record

    def series(self, key: str, series_ns: int) -> Tables:
        """Read the series of a run."""
        import numpy as np

        from unbloat.runs import npz

        tables: Tables = {}
        with npz.damage_is_an_error(), np.load(self._series(key, series_ns)) as columns:
            for name in columns.files:
                table, column = name.split(".")
                tables.setdefault(table, {})[column] = columns[name]
        return tables

    def put(self, key: str, record: str, series_ns: int | None, columns: Columns | None) -> None:
        """Keep a run; the record comes last, since it is what makes a run count as finished."""
        if series_ns is not None and columns is not None:
            from unbloat.runs import npz

            arrays = [(f"{t}.{c}", *column) for t, table in columns.items() for c, column in table.items()]
            write_whole(self._series(key, series_ns), lambda file: npz.write(file, arrays))
        write_whole(self._record(key), lambda file: file.write(sealed(record.encode())))

    def take_out(self, key: str) -> str:
        """Return the record of a run as it was stored, and forget the run."""
        record = unsealed(self._record(key).read_bytes()).decode()
        self._record(key).unlink()
        return record

    def _record(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _series(self, key: str, series_ns: int) -> Path:
        return self.folder / key[:2] / f"{key}.{series_ns}.npz"


UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, RuntimeError)
"""What reading a damaged file may raise: NumPy and zipfile take what they read at its word."""
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


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file beside `path` and rename it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.parent / f".new-{os.urandom(8).hex()}"
    try:
        with open(new, "xb", opener=for_this_user) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # Or else a power cut may leave the new name with nothing in it.
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def for_this_user(name: str, flags: int) -> int:
    """Open a file that nobody else may read."""
    return os.open(name, flags, mode=0o600)
