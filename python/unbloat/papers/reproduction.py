"""What a repeated paper came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unbloat.claims.measurements import Measurements
from unbloat.papers import figures, tables
from unbloat.papers.extra_tables import Measured
from unbloat.papers.judge import Judged, JudgedPaper
from unbloat.papers.paper import Paper
from unbloat.report.report import Report


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A paper's numbers and statements with their verdicts, as `reproduce` returns them."""

    judged: list[JudgedPaper]
    """The paper, then the paper in each of its other readings."""
    measurements: list[Mapping[str, Measurements]]
    """What was measured for each of them, by scenario."""
    extra_tables: list[Measured] = field(default_factory=list)
    """The tables beyond the paper, where they were asked for."""

    @property
    def paper(self) -> Paper:
        """The paper in its main reading."""
        return self.judged[0].paper

    def draw(self, folder: Path) -> list[Path]:
        """Draw every figure of the paper.

        Parameters
        ----------
        folder : path
            Made if it is missing.

        Returns
        -------
        list of Path
            The SVG files.

        """
        pairs = zip(self.judged, self.measurements, strict=True)
        return [file for judged, measured in pairs for file in figures.draw(judged, measured, folder)]

    def report(self) -> Report:
        """Make a report of the verdicts and what they rest on, to be written as text, Markdown, HTML or JSON."""
        parts = [part for judged in self.judged for part in tables.report_of(judged).parts]
        return Report(parts, self.as_dict())

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.judged[0].counts().items() if number)
        return f"<unbloat.Reproduction of {self.paper.name}: {counts}>"

    def __str__(self) -> str:
        return self.report().text()

    def _repr_html_(self) -> str:
        return self.report().html()

    def failing(self) -> list[Judged]:
        """List the numbers and statements that are not reproduced, in the paper's own reading and the others."""
        return [each for judged in self.judged for each in judged.claims() if each.verdict != "reproduced"]

    def as_dict(self) -> dict[str, Any]:
        """Return what `unbloat reproduce --json` prints: the paper, and its alternative readings by their ids."""
        first, *others = self.judged
        readings = {each.paper.reading.id: each.as_dict() for each in others if each.paper.reading}
        return {**first.as_dict(), "set": dict(self.paper.changed), "readings": readings}
