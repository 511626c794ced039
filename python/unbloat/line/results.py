"""A measurement as results like any other: a run for each phase, with flows, links and time series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from unbloat import _core
from unbloat.line.measurement import DIRECTIONS, Direction, Measurement, PhaseName
from unbloat.line.summary import LOADS, PACKET, Loaded, bounds_of, loss_percent_of, opinion, probes_of, summary
from unbloat.results.files import SERIES, About
from unbloat.results.metrics import COLUMNS
from unbloat.results.record import Record
from unbloat.results.rows import Flow, Link, Run
from unbloat.results.run_set import RunSet, SeriesKind

if TYPE_CHECKING:
    import pandas as pd

FLOWS: tuple[str, ...] = ("download", "upload", "probes")
"""The flows of each phase: what all connections of a direction carry together, and the probes."""
LINKS: dict[Direction, str] = {"up": "line", "down": "line.reverse"}
"""Directions as a scenario of the line names them."""
STEP_S = 0.1
"""The step of the time series."""


def results_of(measurement: Measurement) -> RunSet:
    """Return a run for each phase, with the axis `phase`.

    A value that no client can know, such as the packets that a far end sent, is missing.
    """
    phases: list[PhaseName] = list(measurement.phases["phase"])
    loads = summary(measurement).loads
    records = [
        Record({"phase": phase}, _run(measurement, phase, [loads.get((phase, way)) for way in DIRECTIONS]))
        for phase in phases
    ]
    about = About(
        scenario=f"line to {measurement.about.server}",
        axes=("phase",),
        on="line",
        version=_core.__version__,
        time=measurement.about.started,
    )

    def series(kind: SeriesKind) -> pd.DataFrame:
        import pandas as pd

        parts = [_series(measurement, phase, kind).assign(run=number) for number, phase in enumerate(phases)]
        frame = pd.concat(parts, ignore_index=True).assign(seed=1, sound=True)
        columns = [column.name for column in COLUMNS[SERIES[kind]] if column.name not in ("run", "seed", "sound")]
        return frame.reindex(columns=["run", "seed", "sound", *columns])

    return RunSet(records, about, series, is_recorded=True)


def _run(measurement: Measurement, phase: PhaseName, loads: Sequence[Loaded | None]) -> Run:
    start, stop = bounds_of(measurement, phase, 0.0)
    about = measurement.about
    numbers = dict(zip(DIRECTIONS, loads, strict=True))
    run = {
        "scenario": f"line to {about.server}",
        "on": "line",
        "kernel": None,
        "seed": 1,
        "duration_s": stop - start,
        "jain_index": None,
        "sound": True,
        "unsound_because": None,
        "lateness_us_p99": None,
        "cpu_idle_percent": None,
        "version": _core.__version__,
        "data_packets": None,
        "packet_ms": None,
        "warmup_s": 0.0,
        "groups": [1] * len(FLOWS),
        "flows": [
            *(_transfer(measurement, phase, way, numbers[way], at) for at, way in enumerate(DIRECTIONS)),
            _probes(measurement, phase, len(DIRECTIONS)),
        ],
        "links": [_link(measurement, phase, way, numbers[way]) for way in ("up", "down")],
    }
    return cast(Run, run)


def _flow(number: int, **known: Any) -> Flow:
    """Return the row of a flow; columns that are not known are missing."""
    names = [name for name in Flow.__annotations__ if name in Flow.__required_keys__]
    return cast(Flow, {**dict.fromkeys(names), "flow": number, "name": FLOWS[number], **known})


def _transfer(measurement: Measurement, phase: PhaseName, way: Direction, load: Loaded | None, number: int) -> Flow:
    rate = load.rate_mbps if load else None
    rows = measurement.transfers
    rows = rows[(rows["phase"] == phase) & (rows["direction"] == way)]
    known = rows.dropna(subset="retransmits").groupby("connection")["retransmits"].last()
    return _flow(
        number,
        cc=measurement.about.cc if way == "up" else measurement.about.far_cc,
        goodput_mbps=(rate or 0.0) / PACKET,
        throughput_mbps=rate or 0.0,
        retransmitted_packets=int(known.sum()) if len(known) else None,
        connected=not rows.empty or None,
        **_spread("rtt_ms", rows["rtt_ms"].dropna(), ("mean", "p50", "p95", "p99", "max", "min")),
    )


def _probes(measurement: Measurement, phase: PhaseName, number: int) -> Flow:
    probes = probes_of(measurement, phase, 0.0)
    rtt = probes["rtt_ms"]
    loss = loss_percent_of(measurement, probes)
    return _flow(
        number,
        cc="",
        sent_packets=len(rtt),
        lost_packets=None if loss is None else int(rtt.isna().sum()),
        loss_percent=loss,
        opinion_score=opinion(probes),
        **_spread("rtt_ms", rtt.dropna(), ("mean", "p50", "p95", "p99", "max", "min")),
    )


def _link(measurement: Measurement, phase: PhaseName, way: Direction, load: Loaded | None) -> Link:
    queueing = _queueing(measurement, phase, way)["delay_ms"].dropna()
    rate = load.rate_mbps if load else None
    names = [name for name in Link.__annotations__ if name in Link.__required_keys__]
    known = {"link": LINKS[way], "rate_mbps_mean": rate}
    spread = _spread("queue_delay_ms", queueing, ("mean", "p50", "p95", "p99", "max"))
    return cast(Link, {**dict.fromkeys(names), **known, **spread})


def _queueing(measurement: Measurement, phase: PhaseName, way: Direction) -> pd.DataFrame:
    """Return by how much probes of a phase were later than the fastest of the measurement, one way."""
    probes = measurement.probes
    own = probes_of(measurement, phase, 0.0)
    column = f"{way}_ms"
    delays = own[column] - probes[column].min() if column in own else own["rtt_ms"] * float("nan")
    return own[["sent_s"]].assign(delay_ms=delays)


def _spread(name: str, values: pd.Series[float], kinds: Sequence[str]) -> dict[str, float | None]:
    """Return the columns of a distribution."""

    def of(kind: str) -> float | None:
        if values.empty:
            return None
        if kind.startswith("p"):
            return float(values.quantile(int(kind[1:]) / 100))
        return float(getattr(values, kind)())

    return {f"{name}_{kind}": of(kind) for kind in kinds}


def _series(measurement: Measurement, phase: PhaseName, kind: SeriesKind) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    start, stop = bounds_of(measurement, phase, 0.0)
    if kind == "rtt":
        return _bins(probes_of(measurement, phase, 0.0)["rtt_ms"].dropna()).assign(flow=len(DIRECTIONS))
    if kind == "queue_delay":
        ways = [_bins(_queueing(measurement, phase, way)["delay_ms"].dropna()).assign(link=LINKS[way]) for way in LINKS]
        return pd.concat(ways, ignore_index=True)
    times = np.arange(start + STEP_S, stop, STEP_S)
    parts = []
    for number, way in enumerate(DIRECTIONS):
        carried = np.zeros(len(times) + 1)
        rows = measurement.transfers
        rows = rows[(rows["phase"] == phase) & (rows["direction"] == way)]
        for _, own in rows.groupby("connection"):
            carried += np.interp([start, *times], own["time_s"], own["bytes"], left=0.0)
        rate = np.diff(carried) * 8 / 1e6 / STEP_S
        if kind == "flows" and (phase, way) in LOADS:
            parts.append(pd.DataFrame({"time_s": times - start, "flow": number, "goodput_mbps": rate}))
        if kind == "links":
            throughput = rate * PACKET
            late = _queueing(measurement, phase, way).dropna()
            delay_ms = np.interp(times, late["sent_s"], late["delay_ms"]) if len(late) else np.full(len(times), np.nan)
            # What a packet finds before it in the queue leaves during its wait.
            queue_bytes = np.round(delay_ms * float(np.mean(throughput)) * 125)
            columns = {"link": LINKS[way], "queue_bytes": queue_bytes, "throughput_mbps": throughput}
            parts.append(pd.DataFrame({"time_s": times - start, **columns}))
    if kind == "flows":
        own = probes_of(measurement, phase, 0.0).dropna(subset="rtt_ms")
        rtt = {"time_s": own["sent_s"] - start, "flow": len(DIRECTIONS), "rtt_ms": own["rtt_ms"]}
        parts.append(pd.DataFrame({**rtt, "srtt_ms": own["rtt_ms"]}))
    return pd.concat(parts, ignore_index=True)


def _bins(values: pd.Series[float]) -> pd.DataFrame:
    """Count values in bins that are 2 % wide, as upper bounds."""
    import numpy as np
    import pandas as pd

    least = 0.01
    upper = least * 1.02 ** np.ceil(np.log(np.maximum(values, least) / least) / np.log(1.02))
    counts = pd.Series(upper).value_counts().sort_index()
    return pd.DataFrame({"upper_ms": counts.index.astype(float), "count": counts.to_numpy()})
