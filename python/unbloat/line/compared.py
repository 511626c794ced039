"""Measured lines side by side: rates, delays, losses and responsiveness of every load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from unbloat.line.measurement import SAMPLES, About, Measurement, read_measurement
from unbloat.line.summary import LOADS, Summary, summary
from unbloat.report.table import Column, render


class Quantity(NamedTuple):
    """A number of a loaded line."""

    field: str
    """The attribute of `Loaded`."""
    words: str
    unit: str
    digits: int


QUANTITIES = (
    Quantity("rate_mbps", "rate", "Mbit/s", 2),
    Quantity("loaded_rtt_ms", "RTT", "ms", 1),
    Quantity("added_ms", "added", "ms", 1),
    Quantity("jitter_ms", "jitter", "ms", 1),
    Quantity("rpm", "RPM", "", 0),
    Quantity("loss_percent", "loss", "%", 2),
    Quantity("mos", "call", "MOS", 2),
)
IDLE = (Quantity("idle_rtt_ms", "RTT", "ms", 1), Quantity("idle_mos", "call", "MOS", 2))
"""Attributes of `Summary`."""
LETTERS = "ABC"
ADVICE = "Each is one measurement, and lines change by themselves: --prove tells a cure's effect from chance."


@dataclass(frozen=True)
class Row:
    """A number of every line."""

    load: str
    quantity: Quantity
    values: tuple[float | None, ...]

    @property
    def differences(self) -> list[float | None]:
        """Each line's value less that of the line before."""
        pairs = zip(self.values, self.values[1:], strict=False)
        return [None if before is None or now is None else now - before for before, now in pairs]

    def json(self) -> dict[str, Any]:
        """Return it as `unbloat compare --json` prints it."""
        return {"load": self.load, "quantity": self.quantity.field, "values": list(self.values)} | {
            "differences": self.differences
        }


@dataclass(frozen=True)
class ComparedLines:
    """Two or three measured lines."""

    names: tuple[str, ...]
    abouts: tuple[About, ...]
    summaries: tuple[Summary, ...]

    @property
    def rows(self) -> list[Row]:
        """The numbers that at least one of the lines has."""
        return [row for row in self._rows() if any(value is not None for value in row.values)]

    def _rows(self) -> Iterator[Row]:
        for quantity in IDLE:
            yield Row("idle", quantity, tuple(getattr(each, quantity.field) for each in self.summaries))
        for phase, way in LOADS:
            loads = [each.loads.get((phase, way)) for each in self.summaries]
            for quantity in QUANTITIES:
                values = tuple(getattr(load, quantity.field) if load else None for load in loads)
                yield Row(phase if phase == way else f"{phase}: {way}", quantity, values)

    def json(self) -> dict[str, Any]:
        """Return what `unbloat compare --json` prints."""
        sets = [
            {"name": name, "server": about.server, "device": about.device, "started": about.started}
            for name, about in zip(self.names, self.abouts, strict=True)
        ]
        return {"method": "lines", "sets": sets, "rows": [row.json() for row in self.rows]}

    def text(self) -> str:
        """Lay it out for a person."""
        rows = self.rows
        heads = [
            f"{letter}: {', '.join(filter(None, [name, about.server, about.device, about.started]))}"
            for letter, name, about in zip(LETTERS, self.names, self.abouts, strict=False)
        ]
        # A load's name stands in its first row only.
        loads = [row.load if at == 0 or rows[at - 1].load != row.load else "" for at, row in enumerate(rows)]
        columns = [
            Column("load", "", loads),
            Column("of", "", [row.quantity.words for row in rows]),
            Column("in", "", [row.quantity.unit for row in rows]),
            *(self._column(letter, rows, at) for at, letter in enumerate(LETTERS[: len(self.names)])),
        ]
        for at in range(1, len(self.names)):
            cells = [_rounded(row.differences[at - 1], row.quantity) for row in rows]
            columns.append(Column(f"{LETTERS[at]} - {LETTERS[at - 1]}", "", cells))
        return "\n".join([*heads, "", render(columns), "", ADVICE])

    def _column(self, letter: str, rows: Sequence[Row], at: int) -> Column:
        return Column(letter, "", [_rounded(row.values[at], row.quantity) for row in rows])


def _rounded(value: float | None, quantity: Quantity) -> float | int | None:
    return None if value is None else round(value, quantity.digits or None)


def is_line(path: Path) -> bool:
    """Return whether a folder has a measured line."""
    return (path / SAMPLES).is_file()


def compare_lines(paths: Sequence[Path]) -> ComparedLines:
    """Read measured lines that `unbloat line -o` saved; raises `InputError` for another folder."""
    measured: list[Measurement] = [read_measurement(path / SAMPLES) for path in paths]
    summaries = tuple(summary(each) for each in measured)
    return ComparedLines(tuple(map(str, paths)), tuple(each.about for each in measured), summaries)
