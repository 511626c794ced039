"""Abilities of this machine, and the packages that would add more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbloat import _core
from unbloat.guest import doctor as of_guests
from unbloat.system.core_types import Check

if TYPE_CHECKING:
    import pandas as pd


def checks() -> list[Check]:
    """Check what each way to run, and to load, needs."""
    return [*_core.kernel_doctor(), *of_guests.doctor()]


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

    types = {"what": "str", "needed_for": "str", "there": "boolean", "optional": "bool", "found": "str"}
    return pd.DataFrame(checks(), columns=[*types, "remedy"]).astype({**types, "remedy": "object"})
