"""Units of axes that suit what they show: 1 kbit/s and not 0.001 Mbit/s, 25 s and not 25 000 ms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.axis import Axis

STEPS = {
    "Mbit/s": ((1e-3, "Gbit/s", 1e4), (1.0, "Mbit/s", 1.0), (1e3, "kbit/s", 1e-3), (1e6, "bit/s", 0.0)),
    "Mb/s": ((1e-3, "Gb/s", 1e4), (1.0, "Mb/s", 1.0), (1e3, "kb/s", 1e-3), (1e6, "b/s", 0.0)),
    "ms": ((1e-3, "s", 1e4), (1.0, "ms", 0.1), (1e3, "\N{MICRO SIGN}s", 0.0)),
    "KB": ((1e-3, "MB", 1e4), (1.0, "KB", 0.0)),
}
"""By units: a factor, the unit that it leads to, and the largest value from which on that is used."""


def unit_for(unit: str, largest: float) -> tuple[float, str]:
    """Return a factor and the unit that suits values up to the largest one."""
    found = next(((factor, name) for factor, name, least in STEPS.get(unit, ()) if abs(largest) >= least), None)
    return found if found and largest else (1.0, unit)


def suit(axes: Axes) -> None:
    """Change the units of both axes of a panel, where others suit what they show."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "linear":
            _suit(axis)


def suit_together(panels: Sequence[Axes]) -> None:
    """Change the unit of what runs up in panels beside each other, of which the first alone bears its name."""
    largest = max(max(map(abs, axes.get_ylim())) for axes in panels)
    label = panels[0].get_ylabel()
    for axes in panels:
        axes.set_ylabel(label)
        _suit(axes.yaxis, largest)
    for axes in panels[1:]:
        axes.set_ylabel("")


def _multiplied(factor: float, value: float, _: float) -> str:
    return f"{value * factor:.6g}"


def _suit(axis: Axis, largest: float | None = None) -> None:
    label = axis.label.get_text()
    for unit in STEPS:
        factor, name = unit_for(unit, largest if largest is not None else max(map(abs, axis.get_view_interval())))
        if factor != 1 and f"({unit})" in label:
            axis.set_major_formatter(partial(_multiplied, factor))
            axis.set_label_text(label.replace(f"({unit})", f"({name})"))
