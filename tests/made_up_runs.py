"""Records that no run has made, for what is said of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from unbloat.claims import series
from unbloat.claims.measurements import Measurements
from unbloat.results.grid_points import points_of
from unbloat.results.record import Record

CC = "flows.0.cc"


def flow(number: int, cc: str, goodput: float) -> dict[str, Any]:
    counts = {"sent_packets": 100, "lost_packets": 2, "retransmitted_packets": 2, "completion_s": None}
    return {"flow": number, "cc": cc, "goodput_mbps": goodput, **counts}


def run(
    axes: dict[str, str], delay: float, *flows: dict[str, Any], seed: int = 1, sound: bool = True, groups: Any = None
) -> Record:
    link = {"link": "bottleneck", "queue_delay_ms_mean": delay, "queue_delay_ms_p95": 2 * delay}
    return Record(
        axes,
        {
            **{"scenario": "made up", "on": "simulator", "seed": seed, "sound": sound, "duration_s": 10.0},
            **{"jain_index": 1.0, "groups": groups or [len(flows)], "flows": list(flows)},
            "links": [{**link, "utilisation_percent": 98.0}],
        },
    )


def in_turn(cc: str, first: float, second: float | None, seed: int = 1) -> Record:
    """Two flows that have a link of 10 Mbit/s one after the other; `second` is when the download ends, if it does."""
    flows = [
        flow(0, cc, first) | {"name": "backup", "throughput_mbps": first},
        flow(1, "cubic", 8.0) | {"name": "download", "throughput_mbps": 8.0, "completion_s": second},
    ]
    record = run({CC: cc}, 5.0, *flows, seed=seed, groups=[1, 1])
    record.run["links"][0] |= {"rate_mbps": 10.0, "limit_bytes": 64000}
    return record


def measured_run(
    axes: Mapping[str, str],
    seed: int,
    run: Mapping[str, Any],
    windows_of: Mapping[int, np.ndarray] | None = None,
    rates_of: Mapping[int, np.ndarray] | None = None,
) -> Record:
    """A run with the samples of its flows, by their numbers: rows as `WINDOW` and `RATE` have them."""
    samples: dict[int, dict[str, np.ndarray]] = {}
    for of, columns in ((windows_of, series.WINDOW), (rates_of, series.RATE)):
        for number, rows in (of or {}).items():
            samples.setdefault(number, {}).update(zip(columns, rows, strict=True))
    frames = [pd.DataFrame({"flow": number, **columns}) for number, columns in samples.items()]
    flows = [{"flow": number} for number in samples]
    own = {"scenario": "made up", "on": "simulator", "sound": True, "seed": seed, "flows": flows, **run}
    return Record(dict(axes), own, pd.concat(frames) if frames else None)


def mean(
    runs: Measurements, name: str, labels: Sequence[str], selectors: Mapping[str, Any] | None = None, unit: str = ""
) -> float:
    """The mean of a quantity over the seeds of a grid point."""
    return float(runs.means(name, labels, selectors, unit)[0])


def measurements(scenario: str, runs: Sequence[Record]) -> Measurements:
    """What claims are judged by, from runs in any order."""
    return Measurements(scenario, points_of(runs))
