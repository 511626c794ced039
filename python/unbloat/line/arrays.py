"""The types of arrays of numbers and of truth values, for annotations: numpy is loaded where a function needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.floating[Any]]
    Flags = NDArray[np.bool_]
