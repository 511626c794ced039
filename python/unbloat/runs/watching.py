"""Shows runs live, one after the other."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from unbloat import _core
from unbloat.report.live import Display, View
from unbloat.scenarios.controls import own_names
from unbloat.system.core_types import Step

WATCHED_S = 30.0
"""A simulation that is longer than this is shown faster than in real time: in as long as this."""


def pace_of(cell: _core.Cell, on: str) -> float:
    """Return how many seconds of a run may pass in one of real time."""
    return max(1.0, cell.duration_s / WATCHED_S) if on == "simulator" else 1.0


class Watching:
    """Shows one run after the other on stderr, as `Progress` tells how far they are."""

    def __init__(self, cells: Sequence[_core.Cell], on: str) -> None:
        """Expect the runs of these cells, one at a time."""
        self._cells = cells
        self._on = on
        self._run: int | None = None
        self._display: Display | None = None

    def step(self, run: int, step: Step) -> None:
        """Show what a run has come to."""
        if run != self._run:
            self.close()
            self._run, self._display = run, self._show(run)
        if self._display:
            self._display.show(step)

    def _show(self, run: int) -> Display:
        cell = self._cells[run]
        where = "simulated" if self._on == "simulator" else "real time, this kernel's TCP"
        number = f"run {run + 1} of {len(self._cells)}" if len(self._cells) > 1 else ""
        axes = " ".join(f"{axis}={label}" for axis, label in cell.axes)
        title = " · ".join(filter(None, (cell.name, number, axes, where)))
        view = View(title, flow_names(cell), cell.duration_s, pace_of(cell, self._on))
        return Display(sys.stderr, view, tells_pace=self._on == "simulator")

    def update(self, run: int, share: float) -> None:
        """Note that a run is this far; 1 is finished."""
        if share == 1 and run == self._run:
            self.close()

    def close(self) -> None:
        """Leave the last picture on the screen."""
        if self._display:
            self._display.close()
            self._display = None


def flow_names(cell: _core.Cell) -> list[str]:
    """Name the flows of a cell as pictures do: by group or congestion control, and by number where several share it."""
    groups = zip(cell.group_names, own_names(cell), cell.controls, strict=True)
    names = [name or own or written for name, own, (_, written) in groups]
    flows = [name for name, count in zip(names, cell.groups, strict=True) for _ in range(count)]
    counts = Counter(flows)
    return [f"{name} #{number}" if counts[name] > 1 else name for number, name in enumerate(flows)]
