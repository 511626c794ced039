"""Results: the runs of an experiment, which compare and draw themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbloat.api.paged import Paged
from unbloat.results import files
from unbloat.results.metrics import Row
from unbloat.results.run_set import RunSet
from unbloat.results.statistics import Tolerance
from unbloat.scenarios.checks import names_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbloat.api.comparison import Comparison, Labels
    from unbloat.claims.expectations import Expectation, Judged
    from unbloat.report.figures.kinds import Width
    from unbloat.report.page import Page

NAMES = (
    *("records", "failures", "about", "axes", "runs", "flows", "links", "nodes", "stats", "series", "pooled"),
    *("only", "save", "as_dict", "remarks", "to_html"),
)
"""Public attributes that the classes above define."""


class Results(Paged, RunSet):
    """The runs of an experiment.

    Iterating gives each finished run as a `Record`; `results[0]` is the first, `len(results)` their number.

    Attributes
    ----------
    records : list of Record
        The finished runs: `record.axes` has the grid point's labels, `record.run` what `unbloat run --json` prints.
    failures : list of Failure
        The other runs, each with its `reason`. `run` collects them here with `repeat`, and raises the first without.
    about : About
        How the results were made: scenario, overrides, hashes of the code, host, command, time.
    expectations : list of Judged
        The statements of the scenario's `[expect]`, each with its `verdict`; empty for results that were read.

    Examples
    --------
    >>> import unbloat as ub
    >>> r = ub.scenario("home-dsl", {"sweep.flows.0.cc": ["cubic", "vegas"]}).run(series=True)
    >>> r.flows.query("sound").groupby("flows.0.cc", observed=True)["rtt_ms_mean"].mean()
    >>> r.save("home")
    >>> ub.read("home").plot("queue")

    """

    expectations: Sequence[Judged] = ()

    @classmethod
    def of(cls, runs: RunSet, expected: Sequence[Expectation] = ()) -> Results:
        """Take over what runs came to, and their series, and hold them against what is expected."""
        results = cls(runs.outcomes, runs.about, runs._fetch_series, is_recorded=runs._is_recorded)
        if expected:
            from unbloat.claims.expectations import judge  # NumPy takes a while to load.

            results.expectations = judge(expected, results)
        return results

    def as_dict(self) -> dict[str, list[Row]]:
        """Return what `--json` prints: `runs`, `failed`, `stats`, and with `[expect]` also `expectations`."""
        if not self.expectations:
            return super().as_dict()
        return {**super().as_dict(), "expectations": [vars(each) for each in self.expectations]}

    def __dir__(self) -> list[str]:
        """List the public names, for completion."""
        return [*NAMES, *(name for name in vars(Results) if name[0] != "_")]

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
            Results of the same grid points.
        between : str or sequence or dict, optional
            `AXIS=LABEL_A,LABEL_B`, `("AXIS", "LABEL_A", "LABEL_B")` or `{"AXIS": ["LABEL_A", "LABEL_B"]}`: compare A's
            grid points with one label with B's (by default A's own) with the other. An axis with just two labels needs
            no more than its name.
        tolerance : mapping, optional
            Allowed differences of metrics, as in `unbloat.compare`.
        metrics : sequence of str
            Metrics that `print` shows.

        Returns
        -------
        Comparison
            See `unbloat.compare`.

        Examples
        --------
        >>> r.compare(between="cc").table

        """
        from unbloat.api.comparison import compare  # Most results are never compared.

        return compare(self, other, between=between, tolerance=tolerance, metrics=metrics)

    def plot(
        self,
        *kinds: str | Sequence[str],
        over: str | None = None,
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
            Panels; by default those that show most of these results. Over time: `cwnd`, `rtt`, `queue` (bytes),
            `queue_delay`, `goodput`, `throughput` (of links), `send_queue` and `send_buffer` (of hosts' sockets).
            Distributions within runs: `rtt_cdf`, `rtt_ccdf`, `rtt_box`, `queue_delay_cdf` and so on.
            Metrics over a sweep: `bars`, `lines`, `heatmap`; over flows and runs: `box`, `ecdf`, `eccdf`. Goodput over
            delay, with an ellipse for repeats: `delay_throughput`. Of nodes: `mesh`. Two sets: `comparison`. Colours
            show the axis that is compared, dashes the next one. Further axes get panels of their own, and so do more
            than a dozen lines over time.
        over : str, optional
            "time", or an axis of the sweep for the x axis; `kinds` then are metrics, such as `goodput`. Over time,
            repeats give their mean and a band of one standard deviation.
        other : Results, optional
            The second set of a `comparison`.
        width : {"page", "slide", "column"}
            Place of the figure, which sets its size and the size of its text.
        metrics : str or sequence of str
            Metrics for the kinds that draw metrics, such as `goodput` or `rtt_p95`.
        x, y : str, optional
            Axes of the sweep on the x axis, and on the y axis of a heat map.
        title : str, optional
            Title. Default: the scenario's name.

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
        >>> r.plot("queue_delay", over="time")
        >>> s.plot("goodput", "rtt_p95", over="rate")
        >>> s.plot("lines", metrics=["goodput"], x="rate", width="column")

        """
        from unbloat.report.figures.draw import Choice, draw, meant  # matplotlib takes a while to load

        with self.naming_several():
            wanted, choice = meant(self, names_in(*kinds), Choice(width, names_in(metrics), x, y, title), over)
            if other is None:
                return draw(self, wanted, choice)
            from unbloat.comparison.figures import draw_sets

            return draw_sets(self, other, wanted, choice)

    def _page(self) -> Page:
        from unbloat.report.results_page import page_of  # It draws, and matplotlib takes a while to load.

        return page_of(self)


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
    >>> ub.scenario("home-dsl").run(series=True).save("home")
    >>> ub.read("home").series("links")

    """
    saved = files.load(Path(path))
    return Results(saved.outcomes, saved.about, saved.series, is_recorded=saved.series is not None)
