"""Comparisons of results: two sets, three, or two labels of one set's axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat._core import InputError
from unbloat.comparison import tolerance
from unbloat.comparison.compare import Options, Part, Side, Source, dict_of, metrics_of, parts_of
from unbloat.comparison.difference import SweepComparison
from unbloat.comparison.reports import by_intervals, three_sets, within_tolerances
from unbloat.report.report import Report
from unbloat.results.axes import columns_of
from unbloat.results.grid_points import PointKey
from unbloat.results.statistics import Tolerance
from unbloat.scenarios.checks import names_in

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from unbloat.report.figures.kinds import Width

Labels = str | Sequence[str] | Mapping[str, str | Sequence[str]]
"""An axis with two of its labels."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results B against A, and where there are three C against B.

    Attributes
    ----------
    parts : tuple
        B against A; and C against B.

    """

    parts: tuple[Part, ...]

    @property
    def method(self) -> str:
        """How: by the `intervals` of repeated runs, or within a `tolerance`."""
        return "intervals" if isinstance(self.parts[0], SweepComparison) else "tolerance"

    @property
    def is_within(self) -> bool:
        """True if both sides have the same sound grid points, and each difference is within its tolerance or explained.

        Two sweeps agree if no more metrics exceed their intervals than chance explains. They do not agree if
        single runs differ, or runs that are all alike: such a difference may be chance.
        """
        return all(part.is_within for part in self.parts)

    def counts(self) -> dict[str, int]:
        """Count the verdicts of B against A."""
        return self.parts[0].counts()

    @property
    def table(self) -> pd.DataFrame:
        """One row per grid point and metric.

        - Keys: `scenario`, the axes, `comparison` ("B - A"), `of`, `metric`.
        - Means and their intervals: `a`, `b`, `a_half_width`, `b_half_width`.
        - Difference: `difference`, `half_width` (of its 95 % interval; empty without repeats), `ratio` (B over A).
        - Verdict: `differs` (it exceeds its tolerance or its interval; empty where that is open).
        """
        import pandas as pd

        rows = list(self._rows())
        taken = {"scenario", *(name for _, row in rows[:1] for name in row)}
        keys = pd.DataFrame(
            {"scenario": [key.scenario for key, _ in rows], **columns_of([key.axes for key, _ in rows], taken)}
        )
        return pd.concat([keys, pd.DataFrame([row for _, row in rows])], axis=1)

    def _rows(self) -> Iterator[tuple[PointKey, dict[str, Any]]]:
        for letters, part in zip(LETTERS, self.parts, strict=False):
            for point in part.points:
                for metric in metrics_of(point):
                    a, b, between = metric["a"], metric["b"], metric["difference"] or {}
                    yield (
                        point.place,
                        {
                            "comparison": f"{letters[1]} - {letters[0]}",
                            "of": metric["of"],
                            "metric": metric["metric"],
                            "a": a["mean"],
                            "b": b["mean"],
                            "a_half_width": a["half_width"],
                            "b_half_width": b["half_width"],
                            "difference": between.get("mean"),
                            "half_width": between.get("half_width"),
                            "ratio": metric["ratio"],
                            "differs": metric["differs"],
                        },
                    )

    def as_dict(self) -> dict[str, Any]:
        """Return what `unbloat compare --json` prints: the same shape for every kind of comparison."""
        first = self.parts[0]
        sides = [*first.sides, *(part.sides[1] for part in self.parts[1:])]
        idle = [part.idle_reasons for part in self.parts if isinstance(part, tolerance.Comparison)]
        return {
            "method": self.method,
            "tolerances": {} if isinstance(first, SweepComparison) else {c.name: str(c.near) for c in first.criteria},
            "sets": [{"name": side.name, "on": side.on, "kernel": side.kernel or None} for side in sides],
            "comparisons": [
                {"a": letters[0], "b": letters[1], **dict_of(part)}
                for letters, part in zip(LETTERS, self.parts, strict=False)
            ],
            "idle_reasons": [reason.text for reason in idle[0] if all(reason in each for each in idle)] if idle else [],
        }

    def report(self) -> Report:
        """Lay it out as text, Markdown, HTML or JSON."""
        return report_of(self)

    def plot(self, *, width: Width = "page", metrics: str | Sequence[str] = (), title: str | None = None) -> Figure:
        """Draw B over A with the tolerance around equality, or each grid point's change with its interval.

        Parameters
        ----------
        width : {"page", "slide", "column"}
            Where it is looked at: size and type go by it.
        metrics : str or sequence of str
            Which of the compared metrics, a panel each.
        title : str, optional
            In place of the names of both sets.

        Returns
        -------
        matplotlib.figure.Figure

        """
        from unbloat.comparison.figures import draw  # matplotlib takes a while to load

        return draw(self.parts[0], width, names_in(metrics), title)

    def __repr__(self) -> str:
        first = self.parts[0]
        sides = [*first.sides, *(part.sides[1] for part in self.parts[1:])]
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items())
        how = "by intervals" if self.method == "intervals" else "within tolerances"
        return f"<unbloat.Comparison of {' and '.join(side.name for side in sides)} {how}: {counts}>"

    def __str__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()


LETTERS = (("A", "B"), ("B", "C"))


def compare(
    a: Source,
    b: Source | None = None,
    c: Source | None = None,
    *,
    between: Labels | None = None,
    tolerance: Mapping[str, Tolerance] | None = None,
    spread: Source | None = None,
    reasons: str | Path | None = None,
    metrics: Sequence[str] = (),
) -> Comparison:
    """Compare results grid point by grid point and metric by metric: B with A, and C with B.

    The confidence intervals of metrics decide about two sweeps, and about two labels of one set. Tolerances decide
    about everything else, and wherever you give `tolerance`, `spread` or `reasons`. Default tolerances: goodput 3 %,
    mean queueing delay 10 % or one packet's transmission time, lost and retransmitted packets a factor of 1.5.

    Parameters
    ----------
    a, b, c : Results or path
        Results, or a file or folder that `Results.save` or `-o` wrote. Without `b`, name two labels of A.
    between : str or sequence or dict, optional
        `AXIS=LABEL_A,LABEL_B` compares grid points of A that have the first label with grid points of B (or of A) that
        have the second. `("AXIS", "LABEL_A", "LABEL_B")` and `{"AXIS": ["LABEL_A", "LABEL_B"]}` mean the same. The name
        of an axis with two labels is enough. Two labels of one set are meant to differ, so no tolerance applies to
        them.
    tolerance : mapping, optional
        Allowed differences, by short names of metrics: a share such as "5%" or 0.05, or a factor such as "1.5x".
        Other metrics keep their defaults. A named metric without a default joins the comparison.
    spread : Results or path, optional
        Runs of the same grid points along an axis that should make no difference. Their range explains differences.
    reasons : path, optional
        A TOML file with reasons for differences outside the tolerances.
    metrics : sequence of str
        Metrics that `print` shows, such as `completion`. With tolerances, the comparison uses only these.

    Returns
    -------
    Comparison
        `table` has a row per grid point and metric, `is_within` says whether nothing differs, `print` lays it out.

    Raises
    ------
    InputError
        If the sets have no grid point in common, or the arguments do not go together.

    Examples
    --------
    >>> s = ub.scenario("home-dsl")
    >>> small, large = (s.run({"flows.0.initial_window": size}) for size in (2, 10))
    >>> ub.compare(small, large, tolerance={"goodput": "5%", "rtt": "10%"}).is_within

    """
    options = Options(spread, None if reasons is None else Path(reasons), _as_typed(between), tolerance, metrics)
    sets = [Side.of(each) for each in (a, b, c) if each is not None]
    return Comparison(parts_of(sets, options))


def _as_typed(between: Labels | None) -> str | None:
    """Write an axis and its labels as the command line has them."""
    match between:
        case None | str():
            return between
        case Mapping():
            ((axis, labels),) = between.items() if len(between) == 1 else [("", between)]
            if not axis:
                raise InputError(f"between: takes one axis, not {len(between)}: {', '.join(between)}")
            return f"{axis}={','.join(names_in(labels))}"
        case _:
            axis, *labels = map(str, between)
            return f"{axis}={','.join(labels)}" if labels else axis


def report_of(comparison: Comparison) -> Report:
    """Lay a comparison out."""
    match comparison.parts:
        case (tolerance.Comparison() as first, tolerance.Comparison() as second):
            parts = three_sets(first, second)
        case (tolerance.Comparison() as only,):
            parts = within_tolerances(only)
        case (SweepComparison() as only, *_):
            parts = by_intervals(only)
    return Report(parts, comparison.as_dict())
