"""The records of short runs, thousands of them, in one file: a file of its own for each would take longer than the run.

A batch is kept in one transaction of SQLite's, so that a process that is killed leaves the batches before, whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from unbloat.runs.store import sealed, unsealed
from unbloat.system.paths import cache_folder
from unbloat.system.scratch import remove_from

FOLDER, NAME = "all", "records.sqlite"
"""SQLite may have a journal beside the file: both go with their folder."""
PATIENCE_S = 60.0
"""How long to wait for another process that writes."""
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
        """Begin a new file in place of a damaged one."""
        with suppress(OSError):
            remove_from(file.parent.parent, FOLDER)
        return self._opened(file)

    def _opened(self, file: Path) -> sqlite3.Connection | None:
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = sqlite3.connect(file, timeout=PATIENCE_S)
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error):
            return None
        return connection
