"""The numbers of a measured line: rates, delays, losses, responsiveness, and how a call would sound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unbloat import _core
from unbloat.line.measurement import Direction, Measurement, PhaseName

if TYPE_CHECKING:
    import pandas as pd

LOADS: tuple[tuple[PhaseName, Direction], ...] = (("down", "down"), ("up", "up"), ("both", "down"), ("both", "up"))
"""The phases with load, each with its directions."""
WARM_UP = 1 / 3
"""The first part of a phase, in which connections still grow; rates and delays leave it out."""
TRIMMED = 0.95
"""Share of the delays that a trimmed mean keeps: the shortest (draft-ietf-ippm-responsiveness, TMP)."""
LONGEST_GAP_S = 0.5
"""The longest time for which a probe counts, as a computer that was suspended sends none."""
FRAME_MS = 20.0
"""Sound in a packet of a call; the packet leaves when that is over."""
PACKET = 1500 / 1448
"""IP bytes of a full packet for each byte of its payload, with TCP timestamps."""


@dataclass(frozen=True)
class Loaded:
    """One direction of a line under load."""

    rate_mbps: float | None
    """Rate with the headers of IP and TCP; None without a sample."""
    loaded_rtt_ms: float | None
    """Median round-trip time over the time of the load."""
    added_ms: float | None
    """How much longer that is than the least round-trip time of the measurement, that of the empty line.

    Where others use the line, the idle phase has a queue already; what they add counts too.
    """
    jitter_ms: float | None
    """Mean difference between the round-trip times of neighbouring probes."""
    rpm: float | None
    """Round trips per minute under working conditions (draft-ietf-ippm-responsiveness)."""
    confidence: str
    """Whether goodput and round-trip time were stable over the last intervals: high, medium or low."""
    loss_percent: float | None
    """Share of probes without an answer; None without a UDP echo, because TCP repeats what was lost."""
    mos: float | None
    """Mean opinion score of a call beside the load, from 1 to 4.5 (E-model, ITU-T G.107)."""


@dataclass(frozen=True)
class Summary:
    """A line in a few numbers."""

    idle_rtt_ms: float | None
    idle_mos: float | None
    """Mean opinion score of a call on the empty line."""
    loads: dict[tuple[PhaseName, Direction], Loaded]
    """The phases with load that were measured, and their directions."""


def summary(measurement: Measurement) -> Summary:
    """Compute the numbers of a measurement; those that lack samples are None."""
    idle = probes_of(measurement, "idle", 0.0)
    idle_rtt = _median(idle["rtt_ms"])
    least_rtt = _least(_all_probes(measurement)["rtt_ms"])
    loads = {
        (phase, direction): _loaded(measurement, phase, direction, least_rtt)
        for phase, direction in LOADS
        if (measurement.phases["phase"] == phase).any()
    }
    return Summary(idle_rtt, opinion(idle), loads)


def _loaded(measurement: Measurement, phase: PhaseName, direction: Direction, least_rtt: float | None) -> Loaded:
    probes = probes_of(measurement, phase, WARM_UP)
    rtt = median_over_time(probes)
    steps = probes["rtt_ms"].dropna().diff().abs().dropna()
    goodputs = _goodputs(measurement, phase, direction)
    return Loaded(
        rate_mbps=_rate_mbps(measurement, phase, direction),
        loaded_rtt_ms=rtt,
        added_ms=None if rtt is None or least_rtt is None else rtt - least_rtt,
        jitter_ms=float(steps.mean()) if len(steps) else None,
        rpm=_rpm(measurement, phase),
        confidence=_confidence(goodputs, probes),
        loss_percent=loss_percent_of(measurement, probes),
        mos=opinion(probes),
    )


def bounds_of(measurement: Measurement, phase: PhaseName, warm_up: float) -> tuple[float, float]:
    """Return when a phase begins and ends, without its first part; two NaN if it never began."""
    rows = measurement.phases[measurement.phases["phase"] == phase]
    if rows.empty:
        return math.nan, math.nan
    start, stop = float(rows["start_s"].iloc[0]), float(rows["stop_s"].iloc[-1])
    return start + warm_up * (stop - start), stop


def probes_of(measurement: Measurement, phase: PhaseName, warm_up: float) -> pd.DataFrame:
    """Return the probes of a phase; without a UDP echo, the TCP handshakes of its requests take their place."""
    start, stop = bounds_of(measurement, phase, warm_up)
    probes = _all_probes(measurement)
    return probes[probes["sent_s"].between(start, stop)].sort_values("sent_s")


def loss_percent_of(measurement: Measurement, probes: pd.DataFrame) -> float | None:
    """Return the share of a measurement's probes without an answer; None where they do not tell."""
    is_known = len(probes) and not measurement.probes.empty and not measurement.about.is_capture
    return float(100 * probes["rtt_ms"].isna().mean()) if is_known else None


def _all_probes(measurement: Measurement) -> pd.DataFrame:
    if not measurement.probes.empty:
        return measurement.probes
    new = measurement.requests[measurement.requests["kind"] == "foreign"]
    return new.rename(columns={"tcp_ms": "rtt_ms"})


def _rate_mbps(measurement: Measurement, phase: PhaseName, direction: Direction) -> float | None:
    """Return what all connections of a direction carried together, with headers."""
    warm, stop = bounds_of(measurement, phase, WARM_UP)
    start, _ = bounds_of(measurement, phase, 0.0)
    rows = measurement.transfers
    rows = rows[(rows["phase"] == phase) & (rows["direction"] == direction) & (rows["time_s"] <= stop)]
    steady = rows[rows["time_s"] >= warm]
    if steady["time_s"].nunique() < 2:  # The budget was used up within two samples: the growth counts too.
        carried = sum(float(own["bytes"].iloc[-1]) for _, own in rows.groupby("connection"))
        return carried * PACKET * 8 / 1e6 / (rows["time_s"].max() - start) if len(rows) else None
    carried = sum(float(own["bytes"].iloc[-1] - own["bytes"].iloc[0]) for _, own in steady.groupby("connection"))
    return carried * PACKET * 8 / 1e6 / float(steady["time_s"].max() - steady["time_s"].min())


INTERVALS = 8
"""Parts of a phase whose goodputs are compared."""


def _goodputs(measurement: Measurement, phase: PhaseName, direction: Direction) -> list[float]:
    """Return the bytes that each part of a phase carried, without its first part."""
    import numpy as np

    start, stop = bounds_of(measurement, phase, WARM_UP)
    rows = measurement.transfers
    rows = rows[(rows["phase"] == phase) & (rows["direction"] == direction)]
    if rows.empty or not stop > start:
        return []
    edges = np.linspace(start, stop, INTERVALS + 1)
    carried = np.zeros(INTERVALS)
    for _, own in rows.groupby("connection"):
        carried += np.diff(np.interp(edges, own["time_s"], own["bytes"]))
    return [float(each) for each in carried]


def _confidence(goodputs: list[float], probes: pd.DataFrame) -> str:
    """Say how many of goodput and round-trip time were stable: deviations of at most 5 and 20 % of the mean."""
    import numpy as np

    averages = np.convolve(goodputs, np.ones(4) / 4, "valid") if goodputs else np.zeros(0)
    delays = [float(np.median(part)) for part in np.array_split(probes["rtt_ms"].dropna(), 4) if len(part)]
    is_steady = [
        len(values) >= 4 and bool(np.std(values) <= share * np.mean(values))
        for values, share in ((averages, 0.05), (delays, 0.2))
    ]
    return ("low", "medium", "high")[sum(is_steady)]


def _rpm(measurement: Measurement, phase: PhaseName) -> float | None:
    """Return the responsiveness: a minute over the mean of requests on new and on loaded connections.

    Each part of a request counts if it began after the warm-up and before the load ended. If no part did, those of
    requests that began then count.
    """
    start, stop = bounds_of(measurement, phase, WARM_UP)
    new, own = (measurement.requests[measurement.requests["kind"] == kind] for kind in ("foreign", "self"))
    is_new = new["sent_s"].between(start, stop)
    began = new["sent_s"]
    parts = []
    for column in ("tcp_ms", "tls_ms", "http_ms"):
        is_within = began.between(start, stop)
        parts.append(_trimmed(new.loc[is_within if is_within.any() else is_new, column]))
        began = began + new[column] / 1e3
    parts.append(_trimmed(own.loc[own["sent_s"].between(start, stop), "http_ms"]))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    *foreign, loaded = known
    return 60_000 / (sum(foreign) / 6 + loaded / 2)


def _trimmed(values: pd.Series[float]) -> float | None:
    """Return the mean without the longest twentieth of the delays; of fewer than twenty, all count."""
    known = values.dropna().sort_values()
    return float(known.iloc[: math.ceil(TRIMMED * len(known))].mean()) if len(known) else None


def _least(values: pd.Series[float]) -> float | None:
    known = values.dropna()
    return float(known.min()) if len(known) else None


def _median(values: pd.Series[float]) -> float | None:
    known = values.dropna()
    return float(known.median()) if len(known) else None


def median_over_time(probes: pd.DataFrame) -> float | None:
    """Return the median round-trip time over time: each answer counts until the next probe is sent.

    A client probes less often while the rate is low, which is when the queue is longest. A median over probes would
    favour the short delays.

    Parameters
    ----------
    probes : pandas.DataFrame
        Probes in the order of `sent_s`, in seconds, with `rtt_ms`, which is missing where no answer came.

    Returns
    -------
    float or None
        Milliseconds; None without an answer.

    """
    import numpy as np

    gaps = probes["sent_s"].diff().shift(-1)
    weights = gaps.fillna(gaps.median()).clip(upper=LONGEST_GAP_S).fillna(1.0)
    answered = probes[probes["rtt_ms"].notna()].sort_values("rtt_ms")
    if answered.empty:
        return None
    delays = answered["rtt_ms"].to_numpy(float)
    share = np.cumsum(weights[answered.index].to_numpy(float))
    share /= share[-1]
    # Half of the time may end with a probe: then the median is between two.
    places = np.searchsorted(share, [0.5 - 1e-9, 0.5 + 1e-9]).clip(max=len(delays) - 1)
    return float(delays[places].mean())


def opinion(probes: pd.DataFrame) -> float | None:
    """Rate a call: the playout delay with the best rating, beyond which packets are lost to the call."""
    if probes.empty:
        return None
    arrived = 1 - float(probes["rtt_ms"].isna().mean())
    one_way = [column for column in ("up_ms", "down_ms") if column in probes and probes[column].notna().any()]
    delays = [probes[column].dropna() for column in one_way] or [probes["rtt_ms"].dropna() / 2]
    if any(each.empty for each in delays):
        return 1.0
    shares = [part / 100 for part in range(50, 101, 2)]
    return min(
        max(_core.call_rating(FRAME_MS + float(each.quantile(share)), 1 - share * arrived) for share in shares)
        for each in delays
    )
