"""A process that does batches of short runs: it reads a line of JSON for each batch, and answers with a line of rows.

It reads scenarios and looks for kept records itself, so that all that another process has to do is to wait.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from unbloat import _core
from unbloat.results.bottleneck import busy_wait
from unbloat.results.metrics import LINK_METRICS, folded, number
from unbloat.results.rows import Run
from unbloat.runs.store import ShortStore, key_of
from unbloat.runs.worker import say, take_stdout
from unbloat.scenarios.identity import Code, refuse_changed
from unbloat.scenarios.source import Source
from unbloat.system.paths import ALGORITHMS

OF_LINKS = tuple(metric.name for metric in LINK_METRICS)
OF_RUNS = ("duration_s", "data_packets", "jain_index")


class Row(TypedDict):
    """A run: what it was, and its values or why it has none."""

    item: int
    scenario: NotRequired[str]
    axes: NotRequired[dict[str, str]]
    seed: NotRequired[int]
    values: NotRequired[dict[str, str | float | None]]
    run: NotRequired[Run]
    """The whole record, if the batch asks for it."""
    error: NotRequired[str]
    wrong_input: NotRequired[bool]


class Written(TypedDict):
    """A scenario as another process hands it over."""

    path: str | None
    text: str | None
    is_written: bool


class Batch(TypedDict):
    """Runs to do: the folder that paths are relative to, and each item's number, scenario and keys set anew."""

    folder: str
    is_kept: bool
    is_whole: bool
    """Whether rows have whole records in place of values."""
    items: list[tuple[int, Written, list[tuple[str, str]]]]


def main() -> None:
    """Do batch after batch until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent decides what an interrupt ends.
    answers = take_stdout()
    opening = json.loads(sys.stdin.readline())
    _core.end_with(opening["parent"])
    _core.watch_controls(answers.fileno())
    stores = {is_kept: ShortStore.of_cache(is_kept=is_kept) for is_kept in (True, False)}
    for line in sys.stdin:
        batch = json.loads(line)
        rows = run(batch, stores[batch["is_kept"]])
        for path, text in _core.take_warnings():
            say(answers, warned=str(path), text=text)
        say(answers, rows=rows)


def run(batch: Batch, store: ShortStore) -> list[Row]:
    """Do the runs that are not cached; return a row for each grid point."""
    os.chdir(batch["folder"])
    code = Code.now()
    rows: list[Row] = []
    points: list[tuple[Row, _core.GridPoint, str]] = []
    for item, source, overrides in batch["items"]:
        pairs = tuple((key, value) for key, value in overrides)
        scenario = Source(source["path"], source["text"], pairs, is_written=source["is_written"])
        try:
            found = scenario.points()
            for point in found:
                point.check("simulator")
        except _core.Error as error:
            rows.append(wrong({"item": item}, error))
            continue
        for point in found:
            row: Row = {"item": item, "scenario": point.name, "axes": dict(point.axes), "seed": point.seed}
            rows.append(row)
            points.append((row, point, key_of(point, code=code.hash)))
    records = simulated({key: point for _, point, key in points}, code, store)
    for row, _, key in points:
        record = records[key]
        if isinstance(record, _core.Error):
            wrong(row, record)
        elif batch["is_whole"]:
            row["run"] = json.loads(record)
        else:
            row["values"] = values_of(json.loads(record))
    return rows


def simulated(points: Mapping[str, _core.GridPoint], code: Code, store: ShortStore) -> dict[str, bytes | _core.Error]:
    """Return the record of each grid point by its key, and cache new ones."""
    known: dict[str, bytes | _core.Error] = {**store.get(points)}
    missing = {key: point for key, point in points.items() if key not in known}
    stamps = {key: code.stamp_with(point) for key, point in missing.items()}
    outcomes = _core.simulate_all(list(missing.values()), ALGORITHMS) if missing else []
    new: dict[str, bytes] = {}
    for key, outcome in zip(missing, outcomes, strict=True):
        if isinstance(outcome, str):
            new[key] = outcome.encode()
        else:
            known[key] = outcome
    try:
        for key in {tuple(missing[key].sources(ALGORITHMS)): key for key in new}.values():
            refuse_changed(missing[key], code.files, stamps[key])
    except _core.RunError as error:
        return {**known, **dict.fromkeys(new, error)}
    store.put(new)
    return {**known, **new}


def wrong(row: Row, error: _core.Error) -> Row:
    """Add why a run has no values to its row."""
    row["error"], row["wrong_input"] = str(error), isinstance(error, _core.InputError)
    return row


def values_of(run: Run) -> dict[str, str | float | None]:
    """Return a run's numbers: those of all flows together, and of the link whose busy queue packets wait longest in."""
    link = max(run["links"], key=busy_wait)
    return {
        **{name: number(run, name) for name in OF_RUNS},
        **folded(run["flows"]),
        "link": link["link"],
        **{name: number(link, name) for name in OF_LINKS if name in link},
    }


if __name__ == "__main__":
    main()
