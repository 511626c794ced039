"""The files that a run depends on besides its scenario: the core, algorithms/ and the user's own congestion controls.

A cached run has the hash of them all in its key. The process that does the run reads the files later. If a file has
changed in between, the result belongs to other files than the key says, and the cache refuses it.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unbloat import _core
from unbloat._core import RunError
from unbloat.system.paths import ALGORITHMS

SOURCES = (".c", ".h")
SUFFIX = ".bpf.c"
"""The suffix of the file of a congestion control."""


def code_files() -> list[Path]:
    """List the compiled core and every source in algorithms/, which a user's own file may include."""
    return [Path(_core.__file__), *sorted(path for path in ALGORITHMS.rglob("*") if path.suffix in SOURCES)]


def code_hash() -> str:
    """Hash the code: what a run depends on besides its scenario and files of the user's."""
    return code_hash_at(stamp(code_files()))


@functools.cache
def code_hash_at(_: str) -> str:
    """Hash the code, once for each stamp that it has: to read it all takes as long as many a run."""
    return hash_files(code_files())


def hash_files(files: Iterable[Path]) -> str:
    """Hash names and contents, so that no two lists of files look alike."""
    total = hashlib.sha256()
    for file in files:
        total.update(os.fsencode(file.name) + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def hashes(files: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file."""
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def built_in_hashes() -> dict[str, str]:
    """Return the SHA-256 of each congestion control in algorithms/, by its name."""
    files = sorted((ALGORITHMS / "congestion").glob(f"*{SUFFIX}"))
    return {file.name.removesuffix(SUFFIX): digest for file, digest in zip(files, hashes(files).values(), strict=True)}


def stamp(files: Iterable[Path]) -> str:
    """Identify the present state of files without reading them: any change to one of them gives another stamp.

    The time of the last change of a file's inode counts, which no program can set back.
    """
    states = []
    for file in files:
        state = file.stat()
        states.append(f"{file} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}")
    return hashlib.sha256("\n".join(states).encode(errors="surrogateescape")).hexdigest()


@dataclass(frozen=True)
class Code:
    """The files that all runs depend on, as they were when this was made."""

    files: Sequence[Path]
    stamp: str
    hash: str

    @classmethod
    def now(cls) -> Code:
        """Read it. The stamp comes first: a later change gives another stamp than the one here."""
        files = code_files()
        present = stamp(files)
        return cls(files, present, code_hash_at(present))

    def stamp_with(self, point: _core.GridPoint) -> str:
        """Return the stamp of all that a run of `point` depends on."""
        return f"{self.stamp}{stamp(point.sources(ALGORITHMS))}"


def refuse_changed(point: _core.GridPoint, files: Sequence[Path], before: str) -> None:
    """Raise `RunError` if any of `files` or of the grid point's own was changed since they had the stamp `before`."""
    sources = point.sources(ALGORITHMS)
    if f"{stamp(files)}{stamp(sources)}" != before:
        latest = max([*sources, *files], key=lambda file: file.stat().st_ctime_ns)
        raise RunError(f"{latest} changed after the runs had begun, so this result is not stored: start again")
