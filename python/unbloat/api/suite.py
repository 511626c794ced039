"""Suites: what a mechanism must show before it is used, judged by running it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbloat.api.paged import Paged
from unbloat.scenarios.checks import On, backend_named, check_jobs, check_kernel
from unbloat.suites import card as cards
from unbloat.suites.candidate import candidate_of
from unbloat.suites.judge import Manner
from unbloat.suites.judge import judge as judged
from unbloat.suites.suite import suite_of
from unbloat.system.files import write_text

if TYPE_CHECKING:
    import pandas as pd

    from unbloat.report.page import Page

DEFAULT = "rfc9743"
"""The suite of `judge` unless another is named."""


class Card(Paged, cards.Card):
    """The verdicts of a suite on a candidate, as `ub.judge` returns them.

    Attributes
    ----------
    rows : sequence of Judged
        Each rule in each setting: `where`, `words` with what was measured, `verdict`.
    failed : list of str
        The ids of the criteria that the candidate does not meet.

    """

    @property
    def table(self) -> pd.DataFrame:
        """One row per rule and setting: `id`, `setting`, `measured`, `unit`, `interval`, `rule`, `verdict` and more.

        The interval is of 95 %, as a list of its ends; None with a single run.
        """
        import pandas as pd

        return pd.DataFrame([row.as_dict() for row in self.rows])

    def _page(self) -> Page:
        from unbloat.suites.page import page_of  # It loads matplotlib for the look of the page.

        return page_of([self])

    def write_badge(self, file: str | Path) -> None:
        """Write an SVG badge: the candidate, the suite, and the number of criteria that it meets.

        Parameters
        ----------
        file : path
            Where to write it.

        """
        write_text(Path(file), cards.badge(self))

    def __repr__(self) -> str:
        return f"<unbloat.Card: {self.headline()}>"

    def __str__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()


def judge(
    candidate: str | Path,
    suite: str | Path = DEFAULT,
    *,
    criteria: Sequence[str] | None = None,
    on: On = "simulator",
    kernel: str | None = None,
    jobs: int | None = None,
    cache: bool | None = None,
) -> Card:
    """Judge a mechanism by the criteria of a suite.

    Parameters
    ----------
    candidate : str or path
        A congestion control, a window controller or a queue discipline by its name, or a `.bpf.c` file. With `on="vm"`
        or `on="kernel"` it may be a kernel's own: `kernel:NAME`.
    suite : str or path
        A shipped suite, such as "rfc9743", or a folder with a `suite.toml`.
    criteria : sequence of str, optional
        Only these criteria, by their ids.
    on, kernel, jobs, cache
        As in `Scenario.run`.

    Returns
    -------
    Card

    Raises
    ------
    InputError
        If the candidate, the suite or a criterion is unknown.
    RunError
        If every run fails. A setting of which a run fails, or that cannot run there, is left open.

    Examples
    --------
    >>> card = ub.judge("cubic", criteria=["collapse"])
    >>> card.table[["id", "setting", "measured", "verdict"]]

    """
    check_jobs(jobs)
    backend = backend_named(on)
    check_kernel(kernel, backend)
    chosen = suite_of(suite)
    judging = chosen.only(criteria) if criteria is not None else chosen
    who = candidate_of(str(candidate), tuple(chosen.content.suite.judges))
    rows = judged(judging, who, Manner(backend, kernel, cache, jobs))
    return Card(judging, who, backend, rows)
