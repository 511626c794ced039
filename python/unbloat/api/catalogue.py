"""Scenarios, mechanisms and queue disciplines by name, as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unbloat.scenarios import catalogue as entries
from unbloat.scenarios.checks import one_of
from unbloat.system.renamed import kind_of_today

if TYPE_CHECKING:
    import pandas as pd


def catalogue(kind: str | None = None) -> pd.DataFrame:
    """List everything that there is by name, as `unbloat list` does.

    Parameters
    ----------
    kind : str, optional
        Only scenarios, papers, suites, congestion_controls, window_controllers, classifiers, queues or links.

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
    ['droptail', 'drophead', 'red']

    """
    import pandas as pd

    found = entries.catalogue()
    kinds = list(found) if kind is None else [one_of("kind", kind_of_today(kind), list(found))]
    rows = [
        (each_kind, entry["name"], entry["about"], " ".join(each["name"] for each in entry.get("parameters", [])))
        for each_kind in kinds
        for entry in found[each_kind]
    ]
    return pd.DataFrame(rows, columns=["kind", "name", "about", "parameters"], dtype="str")
