"""The results of an experiment: made by `run` and `sweep`, read back from files, compared, drawn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from unbloat._core import InputError
from unbloat.results import files
from unbloat.results.about import About
from unbloat.results.axes import Only, axis_named, columns_of, picked
from unbloat.results.bottleneck import Bottlenecks
from unbloat.results.metrics import NUMBERS
from unbloat.results.record import (
    PARTS,
    SEED,
    Failure,
    Outcome,
    Record,
    never_connected,
    place,
    scalars,
    why_unsound,
)
from unbloat.results.repeats import Repeats, cells_of, stats_of, where
from unbloat.results.run_warnings import IdenticalRepeats, UnsoundRun
from unbloat.scenario.checks import count_of, names_in, one_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    from unbloat.comparison.compare import Comparison, Labels
    from unbloat.report.figures.kinds import Width
    from unbloat.results.nearness import Tolerance

SeriesKind = Literal["flows", "links", "rtt", "queue_delay"]
"""Flows and links over time; the distributions of RTTs and of queueing delays."""
KINDS: tuple[SeriesKind, ...] = get_args(SeriesKind)
Series = dict[str, dict[str, "np.ndarray[Any, Any]"]]
"""The time series of a run: a dictionary of columns for each kind."""
FetchSeries = Callable[[SeriesKind], "pd.DataFrame"]
"""Returns one kind of series of all runs, each row with the number of its run."""


class Results:
    """The runs of an experiment.

    Iterating gives each finished run as a `Record`; `results[0]` is the first, `len(results)` their number.

    Attributes
    ----------
    records : list of Record
        The finished runs: `record.axes` has the labels of its cell, `record.run` what `unbloat run --json` prints.
    failures : list of Failure
        The other runs, each with its `reason`. `run` raises the first failure; `sweep` collects them here.
    about : About
        How the results were made: scenario, overrides, hashes of the code, host, command, time.
    doubts : sequence of str
        Settings of the scenario that are allowed but probably not meant, a sentence each.

    Examples
    --------
    >>> import unbloat as ub
    >>> r = ub.run("home-dsl", {"sweep.flows.0.cc": ["cubic", "vegas"]}, series=True)
    >>> r.flows.query("sound").groupby("flows.0.cc", observed=True)["rtt_ms_mean"].mean()
    >>> r.save("home")
    >>> ub.read("home").plot("queue")

    """

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
        self._outcomes = list(outcomes)
        self.records = [outcome for outcome in self._outcomes if isinstance(outcome, Record)]
        self.failures = [outcome for outcome in self._outcomes if isinstance(outcome, Failure)]
        self.about = about or About()
        self.doubts = list(self.about.doubts)
        self._fetch_series = fetch_series
        self._is_recorded = is_recorded
        self._series: dict[SeriesKind, pd.DataFrame] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle keeps: the runs, and the series that no further run is needed for."""
        series = {kind: self.series(kind) for kind in KINDS} if self.has_series else self._series
        return {"outcomes": self._outcomes, "about": self.about, "doubts": self.doubts, "series": series}

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
        return {number: outcome for number, outcome in enumerate(self._outcomes) if isinstance(outcome, Record)}

    @cached_property
    def axes(self) -> list[str]:
        """The axes of the grid."""
        return list(dict.fromkeys(axis for outcome in self._outcomes for axis in outcome.axes))

    @cached_property
    def cells(self) -> list[Repeats]:
        """The cells of the grid in its order, each with its repeats."""
        return cells_of(self._outcomes)

    # ------------------------------------------------------------ Tables

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run, failed ones included: `scenario`, `on`, `duration_s`, `jain_index` and more.

        Like every table it begins with `run`, the axes, `repeat` (of a sweep), `seed` and `sound`. An axis is an
        ordered categorical; a second column has its numbers in base units, such as `link.bottleneck.rate_bps`. The
        reference of results defines every column.
        """
        return _joined(self._heads, self._own_columns())

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

        Warns of unsound runs likewise.
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
            Flows over time (`time_s`, `flow`, `cwnd_packets`, `rtt_ms`, ...), links over time (`time_s`, `link`,
            `queue_bytes`, ...), histogram of each flow's RTTs or of each link's queueing delays (`upper_ms`, `count`).

        Returns
        -------
        pandas.DataFrame
            One row per flow or link and step, or bin.

        Raises
        ------
        InputError
            If the runs recorded none and cannot do so any more: they are a sweep's, or were read from files without.

        """
        one_of("series", kind, KINDS)
        if kind not in self._series:
            if self._fetch_series is None:
                raise InputError(
                    "these results hold no time series, which `run` records where it is asked for them, or for files; "
                    "a sweep has lines, bars, heatmap, delay_throughput, box and ecdf to draw"
                )
            values = self._fetch_series(kind)
            self._series[kind] = self._with_heads(values["run"].tolist(), values.drop(columns="run"))
        return self._series[kind]

    def stats(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Estimate the mean of each metric over the sound runs of each cell.

        Parameters
        ----------
        by : str or sequence of str, optional
            Axes, by their names or the last part of them. Runs that agree on these are pooled, so that the deviation
            covers the other axes too. Then there is no interval: settings are chosen, and no sample of anything. By
            default every axis but the seed's.

        Returns
        -------
        pandas.DataFrame
            One row per cell and metric: the axes, `of` (all flows, one of them, a link), `metric`, `n`, `mean`,
            `deviation`, `ci95_low`, `ci95_high`. Runs that failed or are unsound do not count.

        Raises
        ------
        InputError
            If `by` names no axis.

        Examples
        --------
        >>> s = ub.sweep("grid.toml", repeat=30)
        >>> s.stats(by="cc").query("metric == 'goodput_mbps' and of == 'all flows'")

        """
        self._warn_of_unsound("left out of the statistics")
        return self._stats(by)

    # ------------------------------------------------------------ What is done with them

    def only(self, pick: Only | None = None, /, **labels: object) -> Results:
        """Choose cells of the grid.

        Parameters
        ----------
        pick : dict or callable, optional
            Labels by axes, or a function that gets the axes of a cell and returns whether it is wanted.
        **labels
            The same as a dictionary: axes by the last part of their names, each with a label or several. A number is
            one in base units.

        Returns
        -------
        Results
            The runs of these cells, with their series.

        Raises
        ------
        InputError
            If there is no such axis, label or cell.

        Examples
        --------
        >>> r.only(cc="cubic", rate=["1mbit", "2mbit"]).plot("box")

        """
        cells = [outcome.axes for outcome in self._outcomes]
        kept: Sequence[int] = range(len(cells))
        for choice in (pick, labels or None):
            if choice is not None:
                kept = sorted({*kept}.intersection(picked(choice, cells)))
        if not kept:
            raise InputError("only: picks no cell")
        return self.part(kept)

    def part(self, numbers: Sequence[int], without: Collection[str] = ()) -> Results:
        """Return runs by their numbers in the tables; axes that tell none of them apart may be left out."""
        place = {number: new for new, number in enumerate(numbers)}

        def fetched(kind: SeriesKind) -> pd.DataFrame:
            values = self.series(kind)
            mine = values[values["run"].isin(numbers)]
            return mine.assign(run=mine["run"].map(place))

        outcomes = [
            replace(each, axes={axis: label for axis, label in each.axes.items() if axis not in without})
            for each in (self._outcomes[number] for number in numbers)
        ]
        return Results(outcomes, self.about, fetched if self.can_have_series else None, is_recorded=self.has_series)

    def compare(
        self,
        other: Results | str | Path | None = None,
        *,
        between: Labels | None = None,
        tolerance: Mapping[str, Tolerance] | None = None,
        metrics: Sequence[str] = (),
    ) -> Comparison:
        """Compare these results (A) with others (B), or two labels of one of their axes.

        Parameters
        ----------
        other : Results or path, optional
            Results of the same cells.
        between : str or sequence or dict, optional
            `AXIS=LABEL_A,LABEL_B`, `("AXIS", "LABEL_A", "LABEL_B")` or `{"AXIS": ["LABEL_A", "LABEL_B"]}`: compare A's
            cells with one label with B's (by default A's own) with the other. An axis with just two labels needs no
            more than its name.
        tolerance : mapping, optional
            How far metrics may lie apart, as `unbloat.compare` has it.
        metrics : sequence of str
            What is laid out.

        Returns
        -------
        Comparison
            See `unbloat.compare`.

        Examples
        --------
        >>> r.compare(between="cc").table

        """
        from unbloat.comparison.compare import compare  # It knows how to compare results, which know nothing of it.

        return compare(self, other, between=between, tolerance=tolerance, metrics=metrics)

    def plot(
        self,
        *kinds: str | Sequence[str],
        other: Results | None = None,
        width: Width = "page",
        metrics: str | Sequence[str] = (),
        x: str | None = None,
        y: str | None = None,
        title: str | None = None,
    ) -> Figure:
        """Draw the runs.

        Parameters
        ----------
        *kinds : str or sequence of str
            A panel each; by default those that show most of these results. Over time: `cwnd`, `rtt`, `queue` (bytes),
            `queue_delay`, `goodput`, `throughput` (of links), `send_queue` and `send_buffer` (of hosts' sockets).
            Distributions within runs: `rtt_cdf`, `rtt_ccdf`, `rtt_box`, and likewise `queue_delay_cdf` and so on.
            Metrics over a sweep: `bars`, `lines`, `heatmap`; over flows and runs: `box`, `ecdf`, `eccdf`. Goodput over
            delay, with an ellipse for repeats: `delay_throughput`. Of nodes: `mesh`. Two sets: `comparison`. Colours
            are those of the axis that is compared, dashes of the next one; others, and more than a dozen lines over
            time, have panels of their own.
        other : Results, optional
            The second set of a `comparison`.
        width : {"page", "slide", "column"}
            Where it is looked at: size and type go by it.
        metrics : str or sequence of str
            What a kind that draws metrics draws, such as `goodput` or `rtt_p95`.
        x, y : str, optional
            The axes of the sweep that run across, and up in a heat map.
        title : str, optional
            In place of the scenario's name.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            If a kind, metric or axis is unknown, or these results have nothing of it to draw.

        Examples
        --------
        >>> r.plot("queue_delay", "goodput").savefig("home.pdf")
        >>> s.plot("lines", metrics=["goodput"], x="rate", width="column")

        """
        from unbloat.report.figures.draw import Choice, draw  # matplotlib takes a while to load

        with self.naming_several():
            return draw(self, names_in(*kinds), Choice(width, names_in(metrics), x, y, title), other)

    @contextmanager
    def naming_several(self) -> Iterator[None]:
        """Say with an error that these are the runs of several sweeps, if they are: that may be behind it."""
        try:
            yield
        except InputError as error:
            if len({(*where(each), *each.axes) for each in self._outcomes}) < 2:
                raise
            several = "these are the runs of several experiments, so take the folder of one"
            raise InputError(f"{error}; {several}") from None

    def to_html(self, file: str | Path | None = None) -> str | None:
        """Write the runs as one HTML page that needs nothing else: question, answer, pictures, tables, what is open.

        Parameters
        ----------
        file : path, optional
            Where to write it; its folder is made if it is missing.

        Returns
        -------
        str or None
            The page; None where it is written to a file.

        Examples
        --------
        >>> ub.read("home").to_html("home.html")

        """
        from unbloat.report.results_page import page_of  # It knows results, which know nothing of it.

        page = page_of(self)
        if file is None:
            return page.html()
        page.write(Path(file))
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return what `--json` prints.

        Returns
        -------
        dict
            `runs`: each with its `axes`, `flows` and `links`; `failed`: the runs without a result; `stats`: the rows of
            `stats()` where cells were repeated.

        """
        is_repeated = any("repeat" in record.run for record in self.records) or len(self.cells) < len(self.records)
        return {
            "runs": [{"axes": record.axes, **record.run} for record in self.records],
            "failed": [vars(failure) for failure in self.failures],
            "stats": [{**cell.axes, **row} for cell, row in self._stats_rows(self.cells)] if is_repeated else [],
        }

    def save(self, folder: str | Path) -> list[Path]:
        """Write everything as Parquet files, which pandas, polars, DuckDB and R read.

        Each has the units in the names of its columns, and says in the metadata of its Arrow schema how the results
        were made (key `unbloat`, JSON with the fields of `About`) and what each column means. Time series are written
        if they were recorded. Files that an earlier call left in the folder are replaced or removed.

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
        tables = {
            "runs": (self._heads, self._own_columns()),
            **{part: self._part(part) for part in PARTS if part != "nodes" or self._has_nodes},
            "stats": (self._stats(), {}),
        }
        if self.has_series:
            tables |= {files.SERIES[kind]: (self.series(kind), {}) for kind in KINDS}
        return files.write(Path(folder), tables, self.about)

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
        parts = [count_of(len(self.cells), "cell"), count_of(len(self.records), "run")]
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
        """Name the flows that never connected: a sentence for each cell that has some, or for all cells together."""
        said = [
            f"{place(cell.axes)}{sentence}"
            for cell in self.cells
            if (sentence := never_connected([record.run for record in cell.records]))
        ]
        if len(said) <= MOST_UNCONNECTED:
            return said
        return [f"{said[0]}; so it is in {len(said)} of {count_of(len(self.cells), 'cell')}"]

    def warn(self) -> Results:
        """Issue warnings where repeats are all the same."""
        for sentence in self._identical_repeats():
            warnings.warn(sentence, IdenticalRepeats, stacklevel=3)
        return self

    def _identical_repeats(self) -> list[str]:
        same = [cell for cell in self.cells if cell.are_alike and cell.records[0].run["on"] == "simulator"]
        return [_identical(len(same), len(self.cells))] if same else []

    def _unsound(self) -> list[Record]:
        return [record for record in self.records if not record.is_sound]

    def _warn_of_unsound(self, where: str, remedy: str = "") -> None:
        if unsound := self._unsound():
            number = f"{len(unsound)} of {len(self.records)}"
            why = why_unsound(unsound[0].run)
            warnings.warn(f"unsound runs {where}: {number}{remedy}; the first: {why}", UnsoundRun, stacklevel=4)

    # ------------------------------------------------------------ Parts of tables

    @cached_property
    def _heads(self) -> pd.DataFrame:
        """The columns that every table begins with, a row per run."""
        import pandas as pd

        rows = [outcome.run if isinstance(outcome, Record) else vars(outcome) for outcome in self._outcomes]
        columns: dict[str, Any] = {"run": range(len(rows)), **columns_of([outcome.axes for outcome in self._outcomes])}
        if any("repeat" in row for row in rows):
            columns["repeat"] = [row.get("repeat") for row in rows]
        columns["seed"] = [row["seed"] for row in rows]
        columns["sound"] = [bool(row.get("sound", False)) for row in rows]
        return pd.DataFrame(columns)

    def _own_columns(self) -> dict[str, list[Any]]:
        rows = [
            {**scalars(outcome), "failed": None} if isinstance(outcome, Record) else _scalars_of_failure(outcome)
            for outcome in self._outcomes
        ]
        return _columns(rows, without=list(map(str, self._heads)))

    def _rows(self, part: str) -> pd.DataFrame:
        return _joined(*self._part(part))

    def _part(self, part: str) -> tuple[pd.DataFrame, dict[str, list[Any]]]:
        """Collect the leading columns and the own columns of the rows of flows, links or nodes."""
        numbered = [(number, row) for number, record in self.by_number.items() for row in record.run.get(part, [])]
        heads = self._heads.iloc[[number for number, _ in numbered]].reset_index(drop=True)
        return heads, _columns([row for _, row in numbered])

    def _with_heads(self, runs: list[int], values: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        heads = self._heads.iloc[runs].reset_index(drop=True)
        own: pd.DataFrame = values.drop(columns=[name for name in values if name in heads]).reset_index(drop=True)
        return pd.concat([heads, own], axis="columns")

    def _stats(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        import pandas as pd

        names = [by] if isinstance(by, str) else by
        axes = None if names is None else [axis_named(name, self.axes) for name in names]
        rows = list(self._stats_rows(cells_of(self._outcomes, axes)))
        kept = [axis for axis in self.axes if (axis != SEED if axes is None else axis in axes)]
        several = [name for name in PLACE if len({getattr(cell, name) for cell, _ in rows}) > 1]
        columns = {
            **{name: [getattr(cell, name) for cell, _ in rows] for name in several},
            **columns_of([{axis: cell.axes[axis] for axis in kept if axis in cell.axes} for cell, _ in rows]),
            **({SEED: [cell.axes[SEED] for cell, _ in rows]} if SEED in kept else {}),
        }
        return _joined(pd.DataFrame(columns, index=range(len(rows))), _columns([row for _, row in rows], STATS))

    def _stats_rows(self, cells: Sequence[Repeats]) -> Iterator[tuple[Repeats, Mapping[str, Any]]]:
        bottlenecks = Bottlenecks.of(self.records)
        for cell in cells:
            yield from ((cell, row) for row in stats_of(cell, are_sums=bottlenecks.adds_up(cell.scenario)))


MOST_UNCONNECTED = 5
"""Of more cells with flows that never connected only the first is named."""
PLACE = ("scenario", "on", "kernel")
"""The columns that tell the cells of several experiments apart."""
MEANS = ("mean", "deviation", "ci95_low", "ci95_high")
STATS = ("of", "metric", "n", *MEANS)


def read(path: str | Path) -> Results:
    """Read results back.

    Parameters
    ----------
    path : path
        A folder that `Results.save` or `-o` wrote, or one above several; one of its Parquet files; or a file that
        `--json` printed. In a folder, runs that are there twice count once, and other programs' files are passed over.

    Returns
    -------
    Results
        The same as was saved. With several sets, `about` is that of the first, and there are no time series.

    Raises
    ------
    InputError
        If there is no such file, or it holds something else.

    Examples
    --------
    >>> ub.run("home-dsl", series=True).save("home")
    >>> ub.read("home").series("links")

    """
    saved = files.load(Path(path))
    return Results(saved.outcomes, saved.about, saved.series, is_recorded=saved.series is not None)


def of_runs(runs: Mapping[int, Series], links: Mapping[int, Sequence[str]], kind: SeriesKind) -> pd.DataFrame:
    """Join one kind of the series of runs, by their numbers; `links` has each run's names of links."""
    import pandas as pd

    subject = "flow" if kind in ("flows", "rtt") else "link"
    parts = []
    for number, series in runs.items():
        part = pd.DataFrame(series[kind]).rename(columns={"subject": subject})
        if subject == "link":
            part["link"] = part["link"].map(dict(enumerate(links[number])))
        part.insert(0, "run", number)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _columns(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str] = (), without: Collection[str] = ()
) -> dict[str, list[Any]]:
    """Turn rows into columns: those of `names`, or all that any row has."""
    wanted = names or [name for name in dict.fromkeys(name for row in rows for name in row) if name not in without]
    return {name: [row.get(name) for row in rows] for name in wanted}


def _joined(heads: pd.DataFrame, columns: Mapping[str, list[Any]]) -> pd.DataFrame:
    """Put heads before the other columns; numbers that are missing are NaN."""
    import pandas as pd

    own = {name: pd.Series(values, index=heads.index, dtype=_type(name, values)) for name, values in columns.items()}
    return pd.concat([heads, pd.DataFrame(own, index=heads.index)], axis="columns")


def _type(name: str, values: Sequence[Any]) -> str | None:
    """Return the type of a column whose values do not say it: one of numbers without any, or of means."""
    is_empty = name in NUMBERS and all(value is None for value in values)
    return "float" if is_empty or name in MEANS else None


def _scalars_of_failure(failure: Failure) -> dict[str, Any]:
    return {"scenario": failure.scenario, "on": failure.on, "kernel": failure.kernel, "failed": failure.reason}


def _identical(cells: int, of: int) -> str:
    which = "the repeats" if of == 1 else f"the repeats of {count_of(cells, 'cell')} of {of}"
    return (
        f"{which} differ by less than 0.01 %, so they say no more than one run: hardly anything in the scenario is "
        "random, as loss, jitter, arrivals or a start such as 0s..1s would be"
    )
