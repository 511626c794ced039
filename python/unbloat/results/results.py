"""What the runs came to, as data frames, JSON, Parquet files and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

Series = dict[str, dict[str, "np.ndarray[Any, Any]"]]
"""The time series of a run: the tables `flows`, `links`, `rtt` and `queue_delay`, each a dictionary of columns."""


@dataclass(frozen=True)
class Record:
    """One finished run."""

    axes: dict[str, str]
    """The axes of the sweep with this run's labels; empty without a sweep."""
    run: dict[str, Any]
    """The records, under the names that `unbloat run --json` prints."""


class Results:
    """The runs of one scenario.

    `summary` has a row per flow, `links` per link, `runs` per run; the axes of a sweep are columns of each.
    """

    def __init__(
        self, records: Sequence[Record], fetch_series: Callable[[], list[Series]], doubts: Sequence[str] = ()
    ) -> None:
        """Hold finished runs; `fetch_series` is called when their inside is first asked for."""
        self.records = list(records)
        self.doubts = list(doubts)
        """What in the scenario may well not be meant, a sentence each."""
        self._fetch_series = fetch_series
        self._series: list[Series] | None = None

    @property
    def axes(self) -> list[str]:
        """The axes of the sweep."""
        return list(self.records[0].axes)

    @property
    def runs(self) -> pd.DataFrame:
        """One row per run; `attrs["axes"]` names the columns that are axes, in the Parquet file too."""
        table = frame([{**head, **scalars(record)} for head, record in self._heads()])
        table.attrs["axes"] = self.axes
        return table

    @property
    def summary(self) -> pd.DataFrame:
        """One row per flow of every run."""
        return frame([{**head, **flow} for head, record in self._heads() for flow in record.run["flows"]])

    @property
    def links(self) -> pd.DataFrame:
        """One row per link of every run, the bottleneck first."""
        return frame([{**head, **link} for head, record in self._heads() for link in record.run["links"]])

    @property
    def series(self) -> pd.DataFrame:
        """The flows over time: window, data in flight, RTT, goodput and more, one row per flow and step."""
        return self._table("flows", [])

    @property
    def link_series(self) -> pd.DataFrame:
        """The links over time: queue, drops, throughput, one row per link and step."""
        return self._table("links", self._link_names())

    @property
    def rtt_distribution(self) -> pd.DataFrame:
        """How many RTT samples of each flow lie at or under `upper_ms` and above the bin before."""
        return self._table("rtt", []).rename(columns={"subject": "flow"})

    @property
    def queue_delay_distribution(self) -> pd.DataFrame:
        """How many packets of each link waited `upper_ms` or less, and more than the bin before."""
        return self._table("queue_delay", self._link_names()).rename(columns={"subject": "link"})

    def plot(self, *kinds: str) -> Figure:
        """Draw `cwnd`, `rtt`, `queue`, `goodput`, `rtt_cdf` or `queue_delay_cdf`, several under one another."""
        from unbloat.report.figures import draw  # matplotlib takes a while to load

        return draw(self, kinds)

    def as_dict(self) -> dict[str, Any]:
        """Give what `unbloat run --json` prints; the axes of a sweep are each run's `axes`."""
        return {"runs": [{"axes": record.axes, **record.run} for record in self.records]}

    def save(self, folder: str | Path) -> list[Path]:
        """Write `runs`, `flows`, `links` and the series as Parquet files; give their paths."""
        tables = {
            "runs": self.runs,
            "flows": self.summary,
            "links": self.links,
            "flow_series": self.series,
            "link_series": self.link_series,
            "rtt_distribution": self.rtt_distribution,
            "queue_delay_distribution": self.queue_delay_distribution,
        }
        return save_tables(tables, folder)

    def __repr__(self) -> str:
        name = self.records[0].run["scenario"]
        return f"<unbloat results of {name!r}: {len(self.records)} runs, {len(self.summary)} flows>"

    def _repr_html_(self) -> str:
        return str(self.summary.to_html(index=False))

    def _heads(self) -> Iterator[tuple[dict[str, Any], Record]]:
        """Give each run with the columns that tell it from the others."""
        for number, record in enumerate(self.records):
            yield {"run": number, **record.axes, "seed": record.run["seed"]}, record

    def _link_names(self) -> list[str]:
        return [link["link"] for link in self.records[0].run["links"]]

    def _table(self, name: str, subjects: Sequence[str]) -> pd.DataFrame:
        """Join one table of all runs' series; `subjects` replaces the links' numbers by their names."""
        if self._series is None:
            self._series = self._fetch_series()
        import pandas as pd

        parts = []
        for (head, _), series in zip(self._heads(), self._series, strict=True):
            part = pd.DataFrame(series[name])
            for place, (column, value) in enumerate(head.items()):
                part.insert(place, column, value)
            parts.append(part)
        table = pd.concat(parts, ignore_index=True)
        if subjects:
            column = "link" if "link" in table else "subject"
            table[column] = table[column].map(dict(enumerate(subjects)))
        return table


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Make a data frame; pandas takes longer to load than most runs take, and the command line often needs none."""
    import pandas as pd

    return pd.DataFrame(rows)


def save_tables(tables: Mapping[str, pd.DataFrame], folder: str | Path) -> list[Path]:
    """Write each as a Parquet file of its name; give their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{name}.parquet": table for name, table in tables.items()}
    for file, table in files.items():
        table.to_parquet(file, index=False)
    return list(files)


def scalars(record: Record) -> dict[str, Any]:
    """Give a run's own columns, without those of its flows and links."""
    return {name: value for name, value in record.run.items() if not isinstance(value, list)}


def why_unsound(run: Mapping[str, Any]) -> str:
    """Give the reason why a run that is not sound is not."""
    why: str | None = run.get("unsound_because")
    return why or "the machine could not keep up"
