"""Papers: what they printed, and what comes out when their experiments run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbloat.api.paged import Paged
from unbloat.papers import paper as papers
from unbloat.papers import reproduce as reproduction
from unbloat.papers.kernel import KernelResults
from unbloat.papers.reproduce import paper_of, reproduce, reproduce_on_kernel
from unbloat.scenarios.checks import On, backend_named, check_jobs, check_kernel

if TYPE_CHECKING:
    from unbloat.report.page import Page


class Reproduction(Paged, reproduction.Reproduction):
    """A paper's numbers and statements with their verdicts, as `Paper.reproduce` returns them.

    Attributes
    ----------
    judged : list
        The paper, then the paper in each of its other readings, each with its verdicts.
    measurements : list of dict
        What was measured for each of them, by scenario.
    extra_tables : list
        The tables beyond the paper, where they were asked for.

    """

    def _page(self) -> Page:
        from unbloat.papers.page import page_of  # It draws the figures, which take a while to load.

        return page_of(self)


@dataclass(frozen=True, repr=False)
class Paper:
    """A published paper; `ub.paper` finds one.

    Examples
    --------
    >>> p = ub.paper("clpc")
    >>> p.title, len(p.ids)

    """

    _name: str

    @cached_property
    def _paper(self) -> papers.Paper:
        return paper_of(self._name)

    @property
    def name(self) -> str:
        """The name of the paper's folder."""
        return self._paper.name

    @property
    def title(self) -> str:
        """The paper's title."""
        return self._paper.title

    @property
    def authors(self) -> str:
        """The paper's authors."""
        return self._paper.authors

    @property
    def where(self) -> str:
        """The journal or conference of the paper, with its date."""
        return self._paper.where

    @property
    def ids(self) -> list[str]:
        """The ids of its numbers and statements, as `claim` takes them."""
        return self._paper.ids()

    def reproduce(
        self,
        set: Mapping[str, object] | None = None,
        *,
        table: str | None = None,
        claim: str | None = None,
        full: bool = False,
        choices: bool = False,
        on: On = "simulator",
        kernel: str | None = None,
        jobs: int | None = None,
        cache: bool | None = None,
    ) -> Reproduction | KernelResults:
        """Run what the paper's numbers and statements need, and judge them.

        Parameters
        ----------
        set : dict, optional
            Keys of the paper's scenarios to set anew, as in `Scenario.run`. The reasons that the paper's file gives for
            what differs are left out then.
        table : str, optional
            Only numbers and statements whose ids begin with this, such as "table2" or "table2.I".
        claim : str, optional
            Only the number or statement with this id, and the runs that it needs.
        full : bool
            Repeat undecided cases up to the paper's own number of runs.
        choices : bool
            Add tables of what the paper's open choices change. Only for the simulator.
        on : {"simulator", "sim", "kernel", "vm"}
            Where to run it. The kernel and guests repeat what the paper's `kernel.toml` names.
        kernel, jobs, cache
            As in `Scenario.run`.

        Returns
        -------
        Reproduction or KernelResults
            The verdicts. The simulator gives a `Reproduction`: `report()` returns text, Markdown and JSON, `to_html()`
            writes a page, `draw()` draws the figures. A kernel gives `KernelResults`. Its verdicts are in `kernel`,
            those of the simulator in `simulated` (with the paper's TCP) and `matched` (with the kernel's settings).
            `failing()` of both lists what is not reproduced.

        Raises
        ------
        InputError
            If the folder is wrong, has nothing with the id that is asked for, or has no `kernel.toml` that covers it.
        RunError
            If a run fails.

        Examples
        --------
        >>> found = ub.paper("cubic-plus").reproduce(claim="abstract.I.500")
        >>> print(found.report().text())
        >>> found.to_html("cubic-plus.html")
        >>> ub.paper("cubic-plus").reproduce({"flows.0.initial_window": 2}, claim="abstract.I.500").failing()

        """
        check_kernel(kernel, backend := backend_named(on))
        check_jobs(jobs)
        chosen = paper_of(self._paper, set, table=table, claim=claim, full=full)
        if backend == "simulator":
            found = reproduce(chosen, full=full, extra_tables=choices, cache=cache, jobs=jobs)
            return Reproduction(found.judged, found.measurements, found.extra_tables)
        return reproduce_on_kernel(chosen, backend, kernel_release=kernel, cache=cache, jobs=jobs)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle keeps: the paper's files are read again."""
        return {"_name": self._name}

    def __repr__(self) -> str:
        return f"<unbloat.Paper {self.name!r}: {self.title}>"


def paper(name: str | Path) -> Paper:
    """Find a paper.

    Parameters
    ----------
    name : str or path
        The name of one that comes with the package, or a folder with a `published.toml`.

    Returns
    -------
    Paper

    Raises
    ------
    InputError
        If there is no such paper, or its file is wrong.

    Examples
    --------
    >>> ub.paper("clpc").authors

    """
    found = Paper(str(name))
    _ = found._paper  # Mistakes are reported now, not at the first use.
    return found
