"""The type of each column of frames and files, whatever values it has: that of its kind in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unbloat.results.metrics import KINDS

if TYPE_CHECKING:
    import pyarrow as pa


def of_frame(column: str) -> Any:
    """Return the type of a data frame's column; None for one that is not known, whose values say it."""
    import pandas as pd

    kind = KINDS.get(column)
    if kind == "text":
        return pd.Series(["text"]).dtype  # Of pandas 3 its own, of pandas 2 that of objects.
    return {"flag": "boolean", "integer": "Int64", "number": "float64"}.get(kind or "")


def of_file(column: str) -> pa.DataType | None:
    """Return the type of a Parquet file's column likewise."""
    import pyarrow

    types = {"text": pyarrow.string(), "flag": pyarrow.bool_(), "integer": pyarrow.int64(), "number": pyarrow.float64()}
    return types.get(KINDS.get(column, ""))
