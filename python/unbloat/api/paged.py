"""Results, reproductions and cards write themselves as one HTML page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat.report.page import Page


class Paged(ABC):
    """Something with a page of its own."""

    @abstractmethod
    def _page(self) -> Page:
        """Lay out the page."""

    def to_html(self, file: str | Path | None = None) -> str | None:
        """Write one HTML page that needs nothing else: question, answer, pictures, tables, open points.

        Parameters
        ----------
        file : path, optional
            Where to write it; its folder is made if it is missing.

        Returns
        -------
        str or None
            The page; None where it is written to a file.

        """
        page = self._page()
        if file is None:
            return page.html()
        page.write(Path(file))
        return None
