"""Abilities of this machine, and the packages that would add more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from unbloat import _core
from unbloat.guest import doctor as of_guests

if TYPE_CHECKING:
    import pandas as pd


def checks() -> list[dict[str, Any]]:
    """Check what each way to run, and to load, needs."""
    return [*json.loads(_core.kernel_doctor()), *map(dict, of_guests.doctor())]


def doctor() -> pd.DataFrame:
    """Report what this machine can do, and what is missing, as `unbloat doctor` does.

    Returns
    -------
    pandas.DataFrame
        One row per check: `what`, `needed_for`, `there` (empty where that takes root's rights to know), `optional`,
        `found`, `remedy`.

    Examples
    --------
    >>> ub.doctor().query("there == False and not optional")[["what", "remedy"]]

    """
    import pandas as pd

    types = {
        "what": "str",
        "needed_for": "str",
        "there": "boolean",
        "optional": "bool",
        "found": "str",
        "remedy": "object",
    }
    found = checks()
    return pd.DataFrame({name: pd.Series([each[name] for each in found], dtype=kind) for name, kind in types.items()})
