"""The type of each column of frames and files, whatever values it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unbloat.results.metrics import NUMBERS

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS = {
    *("scenario", "on", "kernel", "unsound_because", "version", "failed"),
    *("cc", "name", "mesh", "node", "parent", "link", "queue_kind", "of", "metric"),
}
FLAGS = {"connected", "sound"}
COUNTS = {
    *("flow", "n", "hops", "data_packets", "limit_bytes", "limit_packets"),
    *("sent_packets", "lost_packets", "retransmitted_packets", "timeouts", "loss_events"),
    *("stalls", "quality_switches", "unfinished", "skipped"),
    *("drops", "wire_losses", "duplicates", "retries", "marks"),
    *("overflows", "frames", "frame_retries", "channel_failures", "unacknowledged"),
}


def of_frame(column: str) -> Any:
    """Return the type of a data frame's column; None for one that is not known, whose values say it."""
    import pandas as pd

    if column in TEXTS:
        return pd.Series(["text"]).dtype  # Of pandas 3 its own, of pandas 2 that of objects.
    if column in FLAGS:
        return "boolean"
    if column in COUNTS:
        return "Int64"
    return "float64" if column in NUMBERS else None


def of_file(column: str) -> pa.DataType | None:
    """Return the type of a Parquet file's column likewise."""
    import pyarrow

    if column in TEXTS:
        return pyarrow.string()
    if column in FLAGS:
        return pyarrow.bool_()
    if column in COUNTS:
        return pyarrow.int64()
    return pyarrow.float64() if column in NUMBERS else None
