"""Result files: what `Results.save` and `-o` write, what is read back from them, and from what `--json` printed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from unbloat._core import InputError
from unbloat.results import sets
from unbloat.results.axes import is_of_axis, names_of
from unbloat.results.grid_points import together
from unbloat.results.metrics import COLUMNS, KINDS, NAMES, meaning
from unbloat.results.record import PARTS, SEED, Failure, Outcome, Record
from unbloat.results.rows import Run
from unbloat.system.files import open_regular
from unbloat.system.renamed import of_today

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


FORMAT = 1
"""Version of the metadata's layout, for later readers."""


@dataclass(frozen=True)
class About:
    """The origin of a set of results. Files hold it as JSON in the metadata of their Arrow schema, under `unbloat`."""

    scenario: str = ""
    """The scenario's text."""
    source: str = ""
    """The file that it was in; empty for a text or a dictionary."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """Keys that were set anew, as TOML."""
    axes: Sequence[str] = ()
    """The axes of the grid."""
    repeat: int | None = None
    """Runs planned for each grid point; None if each ran once, with the scenario's own seed."""
    on: str = ""
    """The backend: simulator, kernel or vm."""
    kernel: Sequence[str] = ()
    """The releases of the kernels whose TCP ran; none in the simulator."""
    version: str = ""
    """Version of unbloat."""
    code: str = ""
    """SHA-256 over the compiled core and the sources of every congestion control."""
    controls: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each source file of the congestion controls that ran, by its path."""
    host: Mapping[str, str] = field(default_factory=dict)
    """The machine that asked for the runs: its name, operating system, processor and Python."""
    command: str = ""
    """The command of the process that asked for them."""
    time: str = ""
    """When it did, as ISO 8601 in UTC. Kept runs may be older."""
    doubts: Sequence[str] = ()
    """Warnings about the scenario: what is allowed but probably not meant, a sentence each."""

    def json(self) -> str:
        """Write it."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def of_json(cls, text: str | bytes) -> About:
        """Read it; raises `ValueError` if it is something else."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as error:
            raise ValueError(f"in the metadata: {error}") from None


RUNS = "runs"
SERIES = {
    "flows": "flow_series",
    "links": "link_series",
    "rtt": "rtt_distribution",
    "queue_delay": "queue_delay_distribution",
}
"""The files of the time series, by their kind."""
TABLES = (RUNS, *PARTS, "stats", *SERIES.values())
"""Every file of a set of results."""
KEY = b"unbloat"
"""The key of `About` in the metadata of each file's Arrow schema."""


@dataclass(frozen=True)
class Saved:
    """The contents of a folder or file of results."""

    outcomes: list[Outcome]
    about: About
    series: Callable[[str], pd.DataFrame] | None


# ---------------------------------------------------------------- Writing


def write(folder: Path, tables: Mapping[str, pd.DataFrame], about: About) -> list[Path]:
    """Write each as a Parquet file of its name in place of an earlier set; return the paths.

    Raises `InputError` if the folder cannot be made or written to.
    """
    identity = secrets.token_hex(16)
    return sets.put(folder, TABLES, {name: _arrow(name, table, about, identity) for name, table in tables.items()})


def _arrow(name: str, frame: pd.DataFrame, about: About, identity: str) -> pa.Table:
    """Convert a table to Arrow, with the meaning of each column in its metadata."""
    import pyarrow

    whole = pyarrow.Table.from_pandas(frame, preserve_index=False)
    fields = [
        pyarrow.field(
            each.name,
            pyarrow.string() if KINDS.get(each.name) == "text" else each.type,
            metadata=meaning(name, each.name),
        )
        for each in whole.schema
    ]
    metadata = {KEY: about.json().encode(), sets.IDENTITY: identity.encode()}
    return whole.cast(pyarrow.schema(fields, metadata))


# ---------------------------------------------------------------- Reading


def read(path: Path) -> list[Record]:
    """Read every finished run of a file, or of a folder and below it; raises `InputError`."""
    return [outcome for outcome in load(path).outcomes if isinstance(outcome, Record)]


def load(path: Path) -> Saved:
    """Read a file, or all results in a folder and below it; raises `InputError`."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if not path.is_dir():
        return _read_file(path)
    files = [*sets.found(path, RUNS), *filter(_holds_runs, path.rglob("*.json"))]
    if not files:
        raise InputError(f"{path}: contains no results; `unbloat run FILE -o {path}` writes them there")
    found = {_name(file, path): _read_file(file) for file in sorted(files)}
    first, *others = found.values()
    if not others:
        return first
    outcomes = together({name: each.outcomes for name, each in found.items()})
    axes = list(dict.fromkeys(axis for outcome in outcomes for axis in outcome.axes))
    return Saved(outcomes, replace(_first(list(found.values())), axes=axes), None)


def _name(file: Path, below: Path) -> str:
    """Name a set of results by its place: a folder of tables, or a file that `--json` printed."""
    place = file.parent if file.suffix == ".parquet" else file
    return str((place.parent if place.name == sets.WAITING else place).relative_to(below))


def _first(found: Sequence[Saved]) -> About:
    """Return how the first set that says so was made."""
    return next((each.about for each in found if each.about != About()), About())


def _holds_runs(file: Path) -> bool:
    """Return whether this is a file that `--json` printed, and not one of another program."""
    try:
        with open_regular(file) as content:
            data = json.load(content)
    except (ValueError, RecursionError, InputError):
        return False
    runs = data.get("runs") if isinstance(data, dict) else None
    return isinstance(runs, list) and all(
        isinstance(run, dict) and {"axes", "flows", "links"} <= run.keys() for run in runs
    )


def _read_file(file: Path) -> Saved:
    saved = _read_as_written(file)
    outcomes = [
        replace(each, axes={of_today(axis): label for axis, label in each.axes.items()}) for each in saved.outcomes
    ]
    return replace(saved, outcomes=outcomes, about=replace(saved.about, axes=list(map(of_today, saved.about.axes))))


def _read_as_written(file: Path) -> Saved:
    with _sentence(file):
        if file.suffix == ".parquet":
            return _read_tables(file.parent)
        data = json.loads(file.read_text(encoding="utf-8"))
        failed = [Failure(**run) for run in data.get("failed", [])]
        return Saved([*(_checked(run.pop("axes"), run) for run in data["runs"]), *failed], About(), None)


@contextmanager
def _sentence(file: Path) -> Iterator[None]:
    """Raise `InputError`, which names the file, for what reading something else than results raises."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, OSError) as error:
        written = "a file that `unbloat run` wrote with -o or printed with --json"
        raise InputError(f"{file}: is not {written}: {_why(error)}") from None


def _why(error: Exception) -> str:
    """Describe what was wrong with a file of results."""
    match error:
        case json.JSONDecodeError():
            return f"line {error.lineno} is not JSON"
        case KeyError():
            return f"it has no {error.args[0]}"
        case AttributeError() | TypeError():
            return "it is laid out differently"
        case _:
            return str(error)[:200]


def _read_tables(folder: Path) -> Saved:
    """Put the runs together again from the tables of `write`."""
    there = sets.opened(folder, TABLES)
    if RUNS not in there:
        raise InputError(f"{folder}: lacks {RUNS}.parquet, which every set of results has")
    with _sentence(there[RUNS].file):
        runs = there[RUNS].read()
        if KEY not in (runs.schema.metadata or {}):
            raise ValueError("it lacks the scenario: perhaps an older version wrote it")
        about = About.of_json(runs.schema.metadata[KEY])
    parts: dict[str, dict[int, list[Any]]] = {}
    for part in PARTS:
        if part in there:
            with _sentence(there[part].file):
                parts[part] = _by_run(part, there[part].read(), about.axes)
        elif part != "nodes":  # Which are there only if there is a mesh.
            raise InputError(f"{folder}: lacks {part}.parquet, which every set of results has")
    with _sentence(there[RUNS].file):
        outcomes = [_outcome(row, about.axes, parts) for row in runs.to_pylist()]
    has_series = all(name in there for name in SERIES.values())
    return Saved(
        outcomes, about, (lambda kind: _series(there, kind, len(outcomes), about.axes)) if has_series else None
    )


def _series(there: Mapping[str, sets.Table], kind: str, runs: int, axes: Sequence[str]) -> pd.DataFrame:
    """Read time series; raises `InputError` if they belong to another number of runs."""
    from pandas.api.types import is_numeric_dtype

    name = SERIES[kind]
    frame = there[name].frame()
    with _sentence(there[name].file):
        for column in ("run", *(each.name for each in COLUMNS[name])):
            _require(column in frame and (column == "link" or is_numeric_dtype(frame[column])), column)
        _require(bool(frame["run"].isin(range(runs)).all()), "run")
    return frame.drop(columns=[each for each in map(str, frame) if is_of_axis(each, axes, NAMES[name])])


def _outcome(row: dict[str, Any], axes: Sequence[str], parts: Mapping[str, Mapping[int, list[Any]]]) -> Outcome:
    known = {axis: row[name] for axis, name in _names_in_runs(row, axes).items()}
    labels = {axis: str(label) for axis, label in known.items() if label is not None}
    if row["failed"]:
        return Failure(labels, *(row[name] for name in ("repeat", SEED, "failed", "scenario", "on", "kernel")))
    own = {name: value for name, value in _own(RUNS, row, axes).items() if name != "failed"}
    kept = {name: row[name] for name in ("repeat", SEED, "sound") if name in row}
    rows = {name: by_run.get(row["run"], []) for name, by_run in parts.items()}
    return _checked(labels, {**kept, **own, **rows})


def _names_in_runs(row: Mapping[str, Any], axes: Sequence[str]) -> dict[str, str]:
    """Return the column of each axis; in older files it has the whole name, or `axis.` before that."""
    names = names_of(axes, NAMES[RUNS])
    older = {axis: f"axis.{axis}" if f"axis.{axis}" in row else axis for axis in axes}
    return {axis: name if (name := names.get(axis, axis)) in row else older[axis] for axis in axes}


def _by_run(part: str, table: pa.Table, axes: Sequence[str]) -> dict[int, list[dict[str, Any]]]:
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        rows.setdefault(row["run"], []).append(_own(part, row, axes))
    return rows


def _own(table: str, row: Mapping[str, Any], axes: Sequence[str]) -> dict[str, Any]:
    """Drop the columns that every table begins with."""
    heads = ("run", "repeat", SEED, "sound")
    return {
        name: value for name, value in row.items() if name not in heads and not is_of_axis(name, axes, NAMES[table])
    }


# ---------------------------------------------------------------- Checking


def _checked(axes: dict[str, str], run: dict[str, Any]) -> Record:
    """Make a record of what has all that comparisons need; raises `ValueError` or `KeyError` otherwise."""
    for axis, label in axes.items():
        _require(isinstance(label, str), f"axes.{axis}")
    for name in ("scenario", "on", "sound", "seed"):
        _require(run[name] is not None, name)
    for name, value in run.items():
        _require(name in PARTS or name not in KINDS or _fits(name, value), name)
    _require(isinstance(run["flows"], list), "flows")
    _require(isinstance(run["links"], list) and run["links"] != [], "links")
    _require(isinstance(run.get("nodes", []), list), "nodes")
    for part, needed in (("flows", COUNTED), ("links", ("queue_delay_ms_mean",)), ("nodes", ("node", "energy_mj"))):
        for row in run.get(part, []):
            for name, value in row.items():
                _require(_fits(name, value), f"{part}: {name}")
            # On a measured line nobody knows what the far end lost.
            is_known = part == "flows" and run["on"] != "line"
            missing = [name for name in needed if name not in row or (is_known and row[name] is None)]
            _require(not missing, f"{part}: {', '.join(missing)}")
    if "repeat" in run:
        _require(all("link" in link for link in run["links"]) and all("flow" in flow for flow in run["flows"]), "links")
    return Record(axes, cast("Run", run))


def _fits(name: str, value: object) -> bool:
    """Return whether a value is of its column's kind, or is missing."""
    match KINDS.get(name, "number"):
        case "text":
            return isinstance(value, str | None)
        case "flag":
            return isinstance(value, bool | None)
        case "integers":
            return isinstance(value, list) and all(isinstance(each, int) for each in value)
        case "integer":
            return value is None or (is_number(value) and float(value).is_integer())  # type: ignore[arg-type]
        case _:
            return is_number(value)


COUNTED = ("goodput_mbps", "lost_packets", "retransmitted_packets")
"""Columns that every flow has."""


def _require(right: bool, what: str) -> None:
    if not right:
        raise ValueError(f"{what} is missing or has another type")


def is_number(value: object) -> bool:
    """Return whether a value is a number that can be calculated with, or is missing."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST)


LARGEST = 1e100
"""Larger numbers cannot be results of a run, and their squares are infinite."""
