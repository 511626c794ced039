"""The runs of an experiment as frames, statistics and files; `report` draws and `comparison` compares them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from unbloat._core import InputError
from unbloat.results import files
from unbloat.results.axes import Only, axis_named, columns_of, names_of, picked
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.files import About
from unbloat.results.grid_points import Repeats, points_of, stats_of, where
from unbloat.results.metrics import NAMES, Row, of_frame, with_meanings
from unbloat.results.record import (
    PARTS,
    SEED,
    Failure,
    IdenticalRepeats,
    Outcome,
    Part,
    Record,
    UnsoundRun,
    never_connected,
    place,
    rows_of,
    scalars,
    why_unsound,
)
from unbloat.scenarios.checks import one_of
from unbloat.system.legible import count_of

if TYPE_CHECKING:
    import pandas as pd

SeriesKind = Literal["flows", "links", "rtt", "queue_delay"]
"""Flows and links over time; the distributions of RTTs and of queueing delays."""
KINDS: tuple[SeriesKind, ...] = get_args(SeriesKind)
Series = dict[str, "pd.DataFrame"]
"""The time series of a run: a dictionary of columns for each kind."""


FetchSeries = Callable[[SeriesKind], "pd.DataFrame"]
"""Returns one kind of series of all runs, each row with the number of its run."""


class RunSet:
    """The runs of an experiment: records, frames, statistics, files."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        about: About | None = None,
        fetch_series: FetchSeries | None = None,
        *,
        is_recorded: bool = False,
    ) -> None:
        """Hold what every run came to, in the order of the grid.

        `fetch_series` is called when series are asked for; `is_recorded` says that this takes no further run.
        """
        self.outcomes = list(outcomes)
        self.records = [outcome for outcome in self.outcomes if isinstance(outcome, Record)]
        self.failures = [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]
        self.about = about or About()
        self.doubts = list(self.about.doubts)
        self._fetch_series = fetch_series
        self._is_recorded = is_recorded
        self._series: dict[SeriesKind, pd.DataFrame] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return what a pickle keeps: the runs, and the series that no further run is needed for."""
        series = {kind: self.series(kind) for kind in KINDS} if self.has_series else self._series
        return {"outcomes": self.outcomes, "about": self.about, "doubts": self.doubts, "series": series}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["outcomes"], state["about"])  # type: ignore[misc]
        self.doubts, self._series = state["doubts"], state["series"]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, number: int) -> Record:
        return self.records[number]

    @cached_property
    def by_number(self) -> dict[int, Record]:
        """The finished runs by their numbers in the tables, where failed runs have numbers too."""
        return {number: outcome for number, outcome in enumerate(self.outcomes) if isinstance(outcome, Record)}

    @cached_property
    def axes(self) -> list[str]:
        """The axes of the grid."""
        return list(dict.fromkeys(axis for outcome in self.outcomes for axis in outcome.axes))

    @cached_property
    def points(self) -> list[Repeats]:
        """The grid points in its order, each with its repeats."""
        return points_of(self.outcomes)

    # ------------------------------------------------------------ Tables

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run, failed ones included: `scenario`, `on`, `duration_s`, `jain_index` and more.

        Like every table it begins with `run`, the axes, `repeat` (with `repeat=`), `seed` and `sound`. An axis is an
        ordered categorical under the last part of its name where that is clear, such as `rate`. A second column has its
        numbers in base units, such as `rate_bps`. The reference of results defines every column.
        """
        return self._own()

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row per flow of every finished run: `flow`, `cc`, `goodput_mbps`, `rtt_ms_mean`, `completion_s` and more.

        Warns of unsound runs, whose numbers mean nothing: `flows.query("sound")` leaves them out.
        """
        self._warn_of_unsound("in this table", "; `.query('sound')` leaves them out")
        return self._rows("flows")

    @cached_property
    def links(self) -> pd.DataFrame:
        """One row per direction of every link: `link`, `utilisation_percent`, `drops` and more.

        Warns of unsound runs.
        """
        self._warn_of_unsound("in this table", "; `.query('sound')` leaves them out")
        return self._rows("links")

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """One row per node of every mesh: `node`, `hops`, `overflows`, `energy_mj` and more; empty without a mesh."""
        return self._rows("nodes")

    def series(self, kind: SeriesKind = "flows") -> pd.DataFrame:
        """Return time series or distributions of all runs.

        Without `series=...` in the call of `run`, the first call simulates again to record them, which may take as long
        as the runs did.

        Parameters
        ----------
        kind : {"flows", "links", "rtt", "queue_delay"}
            Flows over time (`time_s`, `flow`, `cwnd_packets`, ...), or links over time (`time_s`, `link`,
            `queue_bytes`, ...). The others are histograms of each flow's RTTs or link's delays (`upper_ms`, `count`).

        Returns
        -------
        pandas.DataFrame
            One row per flow or link and step, or bin.

        Raises
        ------
        InputError
            If the runs recorded none and cannot do so any more: they were read from files without.

        """
        import pandas as pd

        one_of("series", kind, KINDS)
        if kind not in self._series:
            if self._fetch_series is None:
                raise InputError(
                    "no time series recorded: run again with series, such as 100ms; figures without series: "
                    "lines, bars, heatmap, delay_throughput, box, ecdf"
                )
            values = self._fetch_series(kind)
            heads = self._heads(files.SERIES[kind]).iloc[values["run"].tolist()].reset_index(drop=True)
            own = values.drop(columns=[name for name in values if name in heads]).reset_index(drop=True)
            self._series[kind] = with_meanings(pd.concat([heads, own], axis="columns"), files.SERIES[kind])
        return self._series[kind]

    @cached_property
    def stats(self) -> pd.DataFrame:
        """Each grid point's metrics: the mean over the sound runs, with its deviation and 95 % confidence interval.

        One row per grid point and metric: the axes, `of` (all flows, one of them, a link), `metric`, `n`, `mean`,
        `deviation`, `ci95_low`, `ci95_high`. Runs that failed or are unsound do not count.
        """
        self._warn_of_unsound("left out of the statistics")
        return self._stats()

    def pooled(self, by: str | Sequence[str]) -> pd.DataFrame:
        """Estimate the mean of each metric over all grid points that agree on some axes.

        The deviation covers the other axes too. There is no interval: settings are chosen, and no sample of anything.

        Parameters
        ----------
        by : str or sequence of str
            These axes, by their names or the last part of them.

        Returns
        -------
        pandas.DataFrame
            The columns of `stats`.

        Raises
        ------
        InputError
            If `by` names no axis.

        Examples
        --------
        >>> r.pooled(by="cc").query("metric == 'goodput_mbps' and of == 'all flows'")

        """
        self._warn_of_unsound("left out of the statistics")
        return self._stats(by)

    # ------------------------------------------------------------ What is done with them

    def only(self, pick: Only | None = None, /, **labels: object) -> Self:
        """Choose grid points.

        Parameters
        ----------
        pick : dict or callable, optional
            Labels by axes; or a function that gets a grid point's axes and returns whether it is wanted.
        **labels : str or number, or a sequence of them
            A label or several of each axis, by the last part of its name. A number is in base units.

        Returns
        -------
        Results
            The runs of these grid points, with their series.

        Raises
        ------
        InputError
            If there is no such axis, label or grid point.

        Examples
        --------
        >>> r.only(cc="cubic", rate=["1mbit", "2mbit"]).plot("box")

        """
        points = [outcome.axes for outcome in self.outcomes]
        kept: Sequence[int] = range(len(points))
        for choice in (pick, labels or None):
            if choice is not None:
                kept = sorted({*kept}.intersection(picked(choice, points)))
        if not kept:
            raise InputError("only: picks no grid point")
        return self.part(kept)

    def part(self, numbers: Sequence[int], without: Collection[str] = ()) -> Self:
        """Return runs by their numbers in the tables; axes that tell none of them apart may be left out."""
        place = {number: new for new, number in enumerate(numbers)}

        def fetched(kind: SeriesKind) -> pd.DataFrame:
            values = self.series(kind)
            heads = [name for name in self._heads(files.SERIES[kind]) if name != "run"]
            mine = values[values["run"].isin(numbers)].drop(columns=heads)
            return mine.assign(run=mine["run"].map(place))

        outcomes = [
            replace(each, axes={axis: label for axis, label in each.axes.items() if axis not in without})
            for each in (self.outcomes[number] for number in numbers)
        ]
        fetch = fetched if self.can_have_series else None
        return type(self)(outcomes, self.about, fetch, is_recorded=self.has_series)

    @contextmanager
    def naming_several(self) -> Iterator[None]:
        """Say with an error that these are the runs of several sweeps, if they are: that may be behind it."""
        try:
            yield
        except InputError as error:
            if len({(*where(each), *each.axes) for each in self.outcomes}) < 2:
                raise
            several = "these are the runs of several experiments, so take the folder of one"
            raise InputError(f"{error}; {several}") from None

    def as_dict(self) -> dict[str, list[Row]]:
        """Return what `--json` prints.

        Returns
        -------
        dict
            `runs`: each with its `axes`, `flows` and `links`; `failed`: the runs without a result; `stats`: the rows of
            `stats` where grid points were repeated.

        """
        is_repeated = any("repeat" in record.run for record in self.records) or len(self.points) < len(self.records)
        return {
            "runs": [{"axes": record.axes, **record.run} for record in self.records],
            "failed": [vars(failure) for failure in self.failures],
            "stats": [{**point.axes, **row} for point, row in self._stats_rows(self.points)] if is_repeated else [],
        }

    def save(self, folder: str | Path) -> list[Path]:
        """Write everything as Parquet files, which pandas, polars, DuckDB and R read.

        Names of columns have their units. The metadata of the Arrow schema say how the results were made (key
        `unbloat`, JSON with the fields of `About`) and what each column means. Time series are written if they were
        recorded. Files that an earlier call left in the folder are replaced or removed.

        Parameters
        ----------
        folder : path
            Made if it is missing.

        Returns
        -------
        list of Path
            The files: `runs`, `flows`, `links`, `stats`, with a mesh `nodes`, and where there are series `flow_series`,
            `link_series`, `rtt_distribution`, `queue_delay_distribution`.

        """
        tables: dict[str, pd.DataFrame] = {"runs": self._own(), "stats": self._stats()}
        tables |= {part: self._rows(part) for part in PARTS if part != "nodes" or self._has_nodes}
        if self.has_series:
            tables |= {files.SERIES[kind]: self.series(kind) for kind in KINDS}
        return files.write(Path(folder), tables, replace(self.about, axes=self.axes))

    @property
    def _has_nodes(self) -> bool:
        return any(record.run.get("nodes") for record in self.records)

    @property
    def can_have_series(self) -> bool:
        """Return whether time series are at hand, or can be recorded."""
        return self._fetch_series is not None or self.has_series

    @property
    def has_series(self) -> bool:
        """Return whether time series are at hand, so that `series` needs no further run."""
        return self._is_recorded or len(self._series) == len(KINDS)

    # ------------------------------------------------------------ In a notebook

    def __repr__(self) -> str:
        name = self.records[0].run["scenario"] if self.records else self.about.source or "no scenario"
        parts = [count_of(len(self.points), "grid point"), count_of(len(self.records), "run")]
        parts += [f"{len(self.failures)} failed"] if self.failures else []
        parts += [f"{number} unsound"] if (number := len(self._unsound())) else []
        return f"<unbloat.Results of {name!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        is_repeated = any("repeat" in record.run for record in self.records)
        table = self._stats() if is_repeated else self._rows("flows")
        return f"<p>{escape(repr(self))}</p>\n{table.to_html(index=False, max_rows=60)}"

    # ------------------------------------------------------------ Warnings

    def remarks(self) -> list[str]:
        """List what a reader of the results should know, a sentence each.

        These are doubts, flows that never connected, and repeats that are all the same.
        """
        return [*self.doubts, *self.unconnected(), *self._identical_repeats()]

    def unconnected(self) -> list[str]:
        """Name the flows that never connected: a sentence for each grid point that has some, or one for all."""
        said = [
            f"{place(point.axes)}{sentence}"
            for point in self.points
            if (sentence := never_connected([record.run for record in point.records]))
        ]
        if len(said) <= MOST_UNCONNECTED:
            return said
        return [f"{said[0]}; so it is in {len(said)} of {count_of(len(self.points), 'grid point')}"]

    def warn(self) -> Self:
        """Issue warnings where repeats are all the same."""
        for sentence in self._identical_repeats():
            warnings.warn(sentence, IdenticalRepeats, stacklevel=3)
        return self

    def _identical_repeats(self) -> list[str]:
        same = [point for point in self.points if point.are_alike and point.records[0].run["on"] == "simulator"]
        return [_identical(len(same), len(self.points))] if same else []

    def _unsound(self) -> list[Record]:
        return [record for record in self.records if not record.is_sound]

    def _warn_of_unsound(self, where: str, remedy: str = "") -> None:
        if unsound := self._unsound():
            number = f"{len(unsound)} of {len(self.records)}"
            why = why_unsound(unsound[0].run)
            warnings.warn(f"unsound runs {where}: {number}{remedy}; the first: {why}", UnsoundRun, stacklevel=4)

    # ------------------------------------------------------------ Parts of tables

    def _heads(self, table: str) -> pd.DataFrame:
        """Make the columns that a table begins with, a row per run."""
        import pandas as pd

        rows = [outcome.run if isinstance(outcome, Record) else vars(outcome) for outcome in self.outcomes]
        axes = columns_of([outcome.axes for outcome in self.outcomes], NAMES[table])
        columns: dict[str, object] = {"run": range(len(rows)), **axes}
        if any("repeat" in row for row in rows):
            columns["repeat"] = [row.get("repeat") for row in rows]
        columns["seed"] = [row["seed"] for row in rows]
        columns["sound"] = [bool(row.get("sound", False)) for row in rows]
        return pd.DataFrame(columns)

    def _own(self) -> pd.DataFrame:
        """Make the table of runs."""
        heads = self._heads("runs")
        rows = [
            {**scalars(outcome), "failed": None} if isinstance(outcome, Record) else _scalars_of_failure(outcome)
            for outcome in self.outcomes
        ]
        return with_meanings(_joined(heads, rows, without=list(map(str, heads))), "runs")

    def _rows(self, part: Part) -> pd.DataFrame:
        """Make the table of flows, links or nodes; an axis whose labels a column of theirs has is left out."""
        numbered = [(number, row) for number, record in self.by_number.items() for row in rows_of(record.run, part)]
        heads = self._heads(part).iloc[[number for number, _ in numbered]].reset_index(drop=True)
        named = [
            name
            for axis, name in names_of(self.axes, NAMES[part]).items()
            if numbered and list(heads[name]) == [row.get(axis.rpartition(".")[2]) for _, row in numbered]
        ]
        return with_meanings(_joined(heads.drop(columns=named), [row for _, row in numbered]), part)

    def _stats(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        import pandas as pd

        names = [by] if isinstance(by, str) else by
        axes = None if names is None else [axis_named(name, self.axes) for name in names]
        rows = list(self._stats_rows(points_of(self.outcomes, axes)))
        kept = [axis for axis in self.axes if (axis != SEED if axes is None else axis in axes)]
        several = [name for name in PLACE if len({getattr(point, name) for point, _ in rows}) > 1]
        columns = {
            **{name: [getattr(point, name) for point, _ in rows] for name in several},
            **columns_of(
                [{axis: point.axes[axis] for axis in kept if axis in point.axes} for point, _ in rows],
                NAMES["stats"],
                among=self.axes,
            ),
            **({SEED: [point.axes[SEED] for point, _ in rows]} if SEED in kept else {}),
        }
        heads = pd.DataFrame(columns, index=range(len(rows)))
        return with_meanings(_joined(heads, [row for _, row in rows], STATS), "stats")

    def _stats_rows(self, points: Sequence[Repeats]) -> Iterator[tuple[Repeats, Row]]:
        bottlenecks = Bottlenecks.of(self.records)
        for point in points:
            yield from ((point, row) for row in stats_of(point, are_sums=bottlenecks.adds_up(point.scenario)))


MOST_UNCONNECTED = 5
"""Grid points with flows that never connected that a warning names; with more, it names the first only."""
PLACE = ("scenario", "on", "kernel")
"""The columns that tell the grid points of several experiments apart."""
STATS = ("of", "metric", "n", "mean", "deviation", "ci95_low", "ci95_high")


def of_runs(runs: Mapping[int, Series], links: Mapping[int, Sequence[str]], kind: SeriesKind) -> pd.DataFrame:
    """Join one kind of the series of runs, by their numbers; `links` has each run's names of links."""
    import pandas as pd

    subject = "flow" if kind in ("flows", "rtt") else "link"
    parts = []
    for number, series in runs.items():
        part = series[kind].rename(columns={"subject": subject})
        if subject == "link":
            part["link"] = part["link"].map(dict(enumerate(links[number])))
        part.insert(0, "run", number)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _joined(
    heads: pd.DataFrame, rows: Sequence[Row], names: Sequence[str] = (), without: Collection[str] = ()
) -> pd.DataFrame:
    """Put heads before the columns of rows: those of `names`, or all that any row has; missing numbers are NaN."""
    import pandas as pd

    wanted = names or [name for name in dict.fromkeys(name for row in rows for name in row) if name not in without]
    own = {name: pd.Series([row.get(name) for row in rows], index=heads.index, dtype=of_frame(name)) for name in wanted}
    return pd.concat([heads, pd.DataFrame(own, index=heads.index)], axis="columns")


def _scalars_of_failure(failure: Failure) -> Row:
    return {"scenario": failure.scenario, "on": failure.on, "kernel": failure.kernel, "failed": failure.reason}


def _identical(points: int, of: int) -> str:
    which = "the repeats" if of == 1 else f"the repeats of {count_of(points, 'grid point')} of {of}"
    return (
        f"{which} differ by less than 0.01 %, so they say no more than one run. Almost nothing in the "
        "scenario is random; add loss, jitter, arrivals or a start such as 0s..1s"
    )
