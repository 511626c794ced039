"""Result files read back: what `unbloat run` or `unbloat sweep` wrote with `-o`, or printed with `--json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat._core import InputError
from unbloat.results.results import Record

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
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OSError) as error:
        written = "a file that `unbloat run` wrote with -o or printed with --json"
        raise InputError(f"{file}: is not {written} ({type(error).__name__}: {str(error)[:200]})") from None


def _record(run: dict[str, Any]) -> Record:
    return _checked(Record(run["axes"], {name: value for name, value in run.items() if name != "axes"}))


def _checked(record: Record) -> Record:
    """Give a record that has what comparisons look at; raises `ValueError` or `KeyError` otherwise."""
    run = record.run
    for axis, label in record.axes.items():
        _require(isinstance(label, str), f"axes.{axis}")
    for name in ("scenario", "on"):
        _require(isinstance(run[name], str), name)
    for name in ("unsound_because", "kernel"):
        _require(isinstance(run.get(name), str | None), name)
    _require(isinstance(run["sound"], bool), "sound")
    _require(isinstance(run["seed"], int), "seed")
    _require(is_number(run.get("packet_ms")), "packet_ms")
    _require(is_number(run.get("jain_index")), "jain_index")
    _require(isinstance(run["flows"], list), "flows")
    _require(isinstance(run["links"], list) and run["links"] != [], "links")
    for part, needed in (("flows", COUNTED), ("links", ("queue_delay_ms_mean",))):
        for row in run[part]:
            for name, value in row.items():
                right = isinstance(value, str) if name in NAMES else is_number(value)
                _require(right, f"{part}: {name}")
            missing = [name for name in needed if name not in row or (part == "flows" and row[name] is None)]
            _require(not missing, f"{part}: {', '.join(missing)}")
    if "repeat" in run:
        _require(isinstance(run["links"][0]["link"], str) and all("flow" in flow for flow in run["flows"]), "links")
    return record


NAMES = ("cc", "link")
"""What in the rows of flows and links is a word."""
COUNTED = ("goodput_mbps", "lost_packets", "retransmitted_packets")
"""What every flow has."""


def _require(right: bool, what: str) -> None:
    if not right:
        raise ValueError(f"{what} is missing, or something else stands there")


def is_number(value: object) -> bool:
    """Tell a number that can be reckoned with, or the absence of one."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST)


LARGEST = 1e100
"""What is larger is no figure of a run, and its square is infinite."""


def _read_tables(folder: Path) -> list[Record]:
    """Put the runs together again from the tables of `Results.save`."""
    import pandas as pd

    runs, flows, links = (pd.read_parquet(folder / name) for name in (RUNS, "flows.parquet", "links.parquet"))
    axes: list[str] = runs.attrs["axes"]
    parts = {"flows": _by_run(flows, axes), "links": _by_run(links, axes)}
    return [
        _checked(
            Record(
                {axis: str(row[axis]) for axis in axes},
                {**_without(row, axes), **{name: rows.get(row["run"], []) for name, rows in parts.items()}},
            )
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
