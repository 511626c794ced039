"""Thousands of short runs as one frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat._core import InputError, RunError
from unbloat.api.scenario import Scenario
from unbloat.results.axes import columns_of
from unbloat.results.metrics import FLOW_METRICS, LINK_METRICS, USER_PERCEIVED, of_frame, with_meanings
from unbloat.runs import batch
from unbloat.scenarios.checks import check_jobs
from unbloat.scenarios.chosen import refuse_lists
from unbloat.scenarios.source import source_of
from unbloat.system import machine

if TYPE_CHECKING:
    import pandas as pd

Scenarios = Scenario | str | Path | Mapping[str, Any]
"""One scenario, as `ub.scenario` takes it."""
NUMBERS = (
    *("duration_s", "data_packets", "jain_index"),
    *(metric.name for metric in FLOW_METRICS if metric.name not in USER_PERCEIVED),
    *(metric.name for metric in LINK_METRICS),
)
"""Columns that every frame has; those of applications come behind them where there are some."""


def evaluate(
    scenarios: Scenarios | Sequence[Scenarios],
    set: Sequence[Mapping[str, object]] | None = None,
    *,
    jobs: int | None = None,
    cache: bool | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Simulate thousands of short runs, and return a row for each.

    Use it for searches and fits: processes stay for the next call, and many runs share a message. `Scenario.run` tells
    more about fewer runs: each flow and link, time series, repeats.

    Parameters
    ----------
    scenarios : Scenario, path, str or dict, or a sequence of these
        Scenarios to run, with every grid point of a sweep.
    set : sequence of dict, optional
        Keys to set, as in `Scenario.run`. Each scenario runs once with each dictionary.
    jobs : int, optional
        Largest number of processes. Default: one for each core.
    cache : bool, optional
        False: reuse no run and store none.
    progress : bool, optional
        Show a progress bar. Default: on a terminal and in a notebook.

    Returns
    -------
    pandas.DataFrame
        One row per run: `run`, `scenario`, the keys that were set, the axes, `seed`, `failed` (why it has no result).
        Metrics of all flows together follow, and metrics of the busiest bottleneck, which the column `link` names.
        Every number is a float.

    Raises
    ------
    InputError
        If the input is to blame for every run.
    RunError
        If every run fails.

    Examples
    --------
    >>> limits = [{"link.bottleneck.queue.limit": f"{size}kb"} for size in range(16, 257, 16)]
    >>> found = ub.evaluate("home-dsl", limits)
    >>> found.plot("queue_delay_ms_mean", "goodput_mbps", kind="scatter")

    """
    check_jobs(jobs)
    several = [scenarios] if isinstance(scenarios, Scenario | str | Path | Mapping) else list(scenarios)
    sets = [{}] if set is None else list(set)
    for keys in sets:
        refuse_lists(keys)
    bases = [each._source if isinstance(each, Scenario) else source_of(each) for each in several]
    items = [(base, keys) for base in bases for keys in sets]
    sources = [source_of(base, keys) if keys else base for base, keys in items]
    rows = batch.run_all(sources, jobs or machine.processors(), is_kept=cache is not False, progress=progress)
    if rows and all("error" in row for row in rows):
        kind = InputError if all(row["wrong_input"] for row in rows) else RunError
        raise kind(rows[0]["error"])
    return frame(rows, [keys for _, keys in items])


def frame(rows: Sequence[Mapping[str, Any]], keys: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Lay rows out; `keys` has what was set for each item."""
    import pandas as pd

    def column(name: str, values: Sequence[object]) -> pd.Series:
        return pd.Series(values, dtype=of_frame(name))

    values = [row.get("values", {}) for row in rows]
    more = [name for name in dict.fromkeys(name for each in values for name in each) if name not in (*NUMBERS, "link")]
    own = [keys[row["item"]] for row in rows]
    taken = {"run", "scenario", "seed", "failed", "link", *NUMBERS, *more, *(key for each in own for key in each)}
    columns: dict[str, Any] = {
        "run": pd.Series(range(len(rows)), dtype="int64"),
        "scenario": column("scenario", [row.get("scenario") for row in rows]),
        **{
            key: pd.Series([each.get(key) for each in own])
            for key in dict.fromkeys(key for each in own for key in each)
        },
        **columns_of([row.get("axes", {}) for row in rows], taken),
        "seed": pd.Series([row.get("seed", -1) for row in rows], dtype="int64"),
        "failed": column("failed", [row.get("error") for row in rows]),
        "link": column("link", [each.get("link") for each in values]),
    }
    for name in (*NUMBERS, *more):
        columns[name] = column(name, [each.get(name) for each in values])
    return with_meanings(pd.DataFrame(columns), "runs")
