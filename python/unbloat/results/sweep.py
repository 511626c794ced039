"""What a sweep came to, as data frames, JSON and Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat.results.metrics import metrics_of
from unbloat.results.results import Record, frame, save_tables, scalars

if TYPE_CHECKING:
    import pandas as pd

    from unbloat.results.statistics import Estimate


@dataclass(frozen=True)
class Failure:
    """A run without a result."""

    axes: dict[str, str]
    repeat: int
    seed: int
    reason: str
    """In a sentence."""


@dataclass(frozen=True)
class SweepCell:
    """All repeats of a cell."""

    axes: dict[str, str]
    records: list[Record]
    failures: list[Failure]

    @property
    def sound(self) -> list[Record]:
        """The runs that are to be believed."""
        return [record for record in self.records if record.run["sound"]]


class Sweep:
    """The runs of a sweep, and what their repeats say.

    `runs` has a row per run, failed ones included, `flows` per flow, `links` per link, `summary` per cell and metric.
    """

    def __init__(self, outcomes: Sequence[Record | Failure], doubts: Sequence[str] = ()) -> None:
        """Hold what every run came to, in the order of the grid."""
        self._outcomes = list(outcomes)
        self.doubts = list(doubts)
        """What in the scenario may well not be meant, a sentence each."""

    @property
    def axes(self) -> list[str]:
        """The axes of the grid."""
        return list(self._outcomes[0].axes)

    @property
    def records(self) -> list[Record]:
        """The finished runs."""
        return [outcome for outcome in self._outcomes if isinstance(outcome, Record)]

    @property
    def failures(self) -> list[Failure]:
        """The others."""
        return [outcome for outcome in self._outcomes if isinstance(outcome, Failure)]

    @property
    def cells(self) -> list[SweepCell]:
        """The cells of the grid in its order."""
        cells: dict[tuple[str, ...], SweepCell] = {}
        for outcome in self._outcomes:
            cell = cells.setdefault(tuple(outcome.axes.values()), SweepCell(outcome.axes, [], []))
            if isinstance(outcome, Record):
                cell.records.append(outcome)
            else:
                cell.failures.append(outcome)
        return list(cells.values())

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run; `failed` says why one has no result, and is empty otherwise."""
        rows = [{**head, **_own(outcome)} for head, outcome in self._heads()]
        table = frame(rows)
        table.attrs["axes"] = self.axes
        return table

    @property
    def flows(self) -> pd.DataFrame:
        """One row per flow of every finished run."""
        return frame([{**head, **flow} for head, record in self._finished() for flow in record.run["flows"]])

    @property
    def links(self) -> pd.DataFrame:
        """One row per link of every finished run, the bottleneck first."""
        return frame([{**head, **link} for head, record in self._finished() for link in record.run["links"]])

    @property
    def summary(self) -> pd.DataFrame:
        """One row per cell and metric: over how many runs, mean, standard deviation, 95 % confidence interval.

        `of` says what the metric is of: all flows, one of them, the bottleneck. Failed and unsound runs do not count.
        With a single run there is no deviation and no interval.
        """
        return frame(list(self._summary()))

    def as_dict(self) -> dict[str, Any]:
        """Give what `unbloat sweep --json` prints."""
        return {
            "runs": [{"axes": record.axes, **record.run} for record in self.records],
            "failed": [vars(failure) for failure in self.failures],
            "summary": list(self._summary()),
        }

    def save(self, folder: str | Path) -> list[Path]:
        """Write `runs`, `flows`, `links` and `summary` as Parquet files; give their paths."""
        tables = {"runs": self.runs, "flows": self.flows, "links": self.links, "summary": self.summary}
        return save_tables(tables, folder)

    def __repr__(self) -> str:
        return f"<unbloat sweep: {len(self.cells)} cells, {len(self.records)} runs, {len(self.failures)} failed>"

    def _repr_html_(self) -> str:
        return str(self.summary.to_html(index=False))

    def _heads(self) -> Iterator[tuple[dict[str, Any], Record | Failure]]:
        """Give each run with the columns that tell it from the others."""
        for number, outcome in enumerate(self._outcomes):
            own = outcome.run if isinstance(outcome, Record) else vars(outcome)
            yield {"run": number, **outcome.axes, "repeat": own["repeat"], "seed": own["seed"]}, outcome

    def _finished(self) -> Iterator[tuple[dict[str, Any], Record]]:
        for head, outcome in self._heads():
            if isinstance(outcome, Record):
                yield head, outcome

    def _summary(self) -> Iterator[dict[str, Any]]:
        for cell in self.cells:
            for (of, metric), estimate in estimates(cell.sound).items():
                yield {
                    **cell.axes,
                    "of": of,
                    "metric": metric,
                    "n": estimate.n,
                    "mean": estimate.mean,
                    "deviation": estimate.deviation,
                    "ci95_low": estimate.low,
                    "ci95_high": estimate.high,
                }


def _own(outcome: Record | Failure) -> dict[str, Any]:
    return {**scalars(outcome), "failed": None} if isinstance(outcome, Record) else {"failed": outcome.reason}


def estimates(records: Sequence[Record]) -> dict[tuple[str, str], Estimate]:
    """Sum the repeats of one cell up: by what a metric is of, and its name."""
    from unbloat.results.statistics import estimate

    return {where: estimate(by_seed.values()) for where, by_seed in values_by_seed(records).items()}


def values_by_seed(records: Sequence[Record]) -> dict[tuple[str, str], dict[int, float | None]]:
    """Give each metric of one cell by the seeds of its runs."""
    values: dict[tuple[str, str], dict[int, float | None]] = {}
    for record in records:
        for of, metrics in metrics_of(record.run):
            for metric, value in metrics.items():
                values.setdefault((of, metric), {})[record.run["seed"]] = value
    return values
