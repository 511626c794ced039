"""Result files read back: what `unbloat run` or `unbloat sweep` wrote with `-o`, or printed with `--json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat._core import InputError
from unbloat.results import Record

if TYPE_CHECKING:
    import pandas as pd

RUNS = "runs.parquet"


def read(path: Path) -> list[Record]:
    """Read every run of a file, or of all result files in a folder and below it; raises `InputError`."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if path.is_dir():
        files = sorted([*path.rglob(RUNS), *path.rglob("*.json")])
        if not files:
            raise InputError(f"{path}: holds no results; `unbloat run FILE -o {path}` writes them there")
        return [record for file in files for record in _read_file(file)]
    return _read_file(path)


def _read_file(file: Path) -> list[Record]:
    try:
        if file.suffix == ".parquet":
            return _read_tables(file.parent)
        return [_record(run) for run in json.loads(file.read_text(encoding="utf-8"))["runs"]]
    except (KeyError, TypeError, ValueError, OSError) as error:
        written = "a file that `unbloat run` wrote with -o or printed with --json"
        raise InputError(f"{file}: is not {written} ({type(error).__name__}: {error})") from None


def _record(run: dict[str, Any]) -> Record:
    return Record(run["axes"], {name: value for name, value in run.items() if name != "axes"})


def _read_tables(folder: Path) -> list[Record]:
    """Put the runs together again from the tables of `Results.save`."""
    import pandas as pd

    runs, flows, links = (pd.read_parquet(folder / name) for name in (RUNS, "flows.parquet", "links.parquet"))
    axes: list[str] = runs.attrs["axes"]
    parts = {"flows": _by_run(flows, axes), "links": _by_run(links, axes)}
    return [
        Record(
            {axis: str(row[axis]) for axis in axes},
            {**_without(row, axes), **{name: rows[row["run"]] for name, rows in parts.items()}},
        )
        for row in _rows(runs)
        if not row.get("failed")
    ]


def _by_run(table: pd.DataFrame, axes: list[str]) -> dict[int, list[dict[str, Any]]]:
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in _rows(table):
        rows.setdefault(row["run"], []).append(_without(row, axes))
    return rows


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Give the rows with None for what is missing."""
    rows = table.to_dict("records")
    return [{str(name): None if value != value else value for name, value in row.items()} for row in rows]


def _without(row: dict[str, Any], axes: list[str]) -> dict[str, Any]:
    """Leave out what tells the run from the others; an axis over the seed is the seed itself."""
    return {name: value for name, value in row.items() if name == "seed" or name not in ("run", *axes)}
