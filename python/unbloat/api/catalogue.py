"""Scenarios, mechanisms and queue disciplines by name, as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbloat.scenarios import catalogue as entries
from unbloat.scenarios.checks import one_of

if TYPE_CHECKING:
    import pandas as pd


def catalogue(kind: str | None = None) -> pd.DataFrame:
    """List everything that there is by name, as `unbloat list` does.

    Parameters
    ----------
    kind : str, optional
        Only scenarios, papers, controls, receivers, classifiers, queues or links.

    Returns
    -------
    pandas.DataFrame
        One row per thing: `kind`, `name`, `about` (a line), `parameters` (their names, with blanks between them).

    Raises
    ------
    InputError
        If there is no such kind.

    Examples
    --------
    >>> ub.catalogue("queues")["name"].tolist()[:3]
    ['droptail', 'red', 'codel']

    """
    import pandas as pd

    found = entries.catalogue()
    wanted = found if kind is None else {kind: found[one_of("kind", kind, list(found))]}
    rows = [
        (each_kind, entry["name"], entry["about"], " ".join(each["name"] for each in entry.get("parameters", [])))
        for each_kind, listed in wanted.items()
        for entry in listed
    ]
    return pd.DataFrame(rows, columns=["kind", "name", "about", "parameters"], dtype="str")
