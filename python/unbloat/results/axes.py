"""The axes of a grid as columns: ordered labels, and beside them numbers in base units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from unbloat._core import BASE_UNITS, InputError, quantity
from unbloat.results.record import SEED
from unbloat.scenarios.checks import did_you_mean
from unbloat.scenarios.controls import short_labels
from unbloat.system import renamed
from unbloat.system.legible import count_of

if TYPE_CHECKING:
    import pandas as pd


def base_values(labels: Iterable[str]) -> tuple[str, dict[str, float]] | None:
    """Return the base unit of all labels and the number for each; None unless every one is a quantity of one kind."""
    read = {label: quantity(label) for label in labels}
    units = {found[0] if found else None for found in read.values()}
    if len(units) != 1 or None in units:
        return None
    return str(units.pop()), {label: found[1] for label, found in read.items() if found}


def names_of(axes: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Name the columns of axes in a table whose other columns are `taken`.

    The last part of an axis's name is enough, `cc` for `flows.*.cc`. It is not if another axis ends in it, or if a
    column has this name, with a unit or without. A whole name that is taken gets `axis.` before it.
    """
    lasts = {axis: axis.rpartition(".")[2] for axis in axes}
    often = Counter(lasts.values())

    def is_clear(last: str) -> bool:
        return last.isidentifier() and often[last] == 1 and not any(name in taken for name in _with_units(last))

    return {
        axis: last if is_clear(last) else f"axis.{axis}" if axis in taken else axis
        for axis, last in lasts.items()
        if axis != SEED
    }


def _with_units(name: str) -> list[str]:
    return [name, *(f"{name}_{unit}" for unit in BASE_UNITS)]


def is_of_axis(column: str, axes: Iterable[str], taken: Collection[str]) -> bool:
    """Return whether a column of a file is an axis, or has the numbers of one; older files have whole names."""
    forms = (form for axis in axes for form in (axis.rpartition(".")[2], axis, f"axis.{axis}"))
    return column not in taken and any(column in _with_units(form) for form in forms)


def columns_of(
    axes: Sequence[Mapping[str, str]], taken: Collection[str], among: Iterable[str] = ()
) -> dict[str, pd.Series]:
    """Make the columns of a grid from each run's labels: an ordered categorical for each axis, and its numbers.

    The numbers are in base units, which the column's name ends in: `rate_bps`, `start_s`. Labels with numbers are
    ordered by them, others as the grid has them. `among` has axes that are not shown, but that names tell apart.
    """
    import pandas as pd

    columns: dict[str, pd.Series] = {}
    shown = dict.fromkeys(axis for labels in axes for axis in labels if axis != SEED)
    names = names_of(dict.fromkeys((*shown, *among)), taken)
    for axis in shown:
        labels = [run.get(axis) for run in axes]
        known = list(dict.fromkeys(label for label in labels if label is not None))
        values = base_values(known)
        order = sorted(known, key=values[1].__getitem__) if values else known
        name = names[axis]
        columns[name] = pd.Series(pd.Categorical(labels, categories=order, ordered=True))
        if values and f"{name}_{values[0]}" not in taken:
            numbers = values[1]
            columns[f"{name}_{values[0]}"] = pd.Series([numbers.get(label or "") for label in labels], dtype=float)
    return columns


def axis_named(name: str, axes: Iterable[str]) -> str:
    """Find an axis by its name or the last parts of it; raises `InputError` if there are none or several such axes."""
    names = list(axes)
    found = _ending_in(name, names)
    if not found and (found := _ending_in(new := renamed.of_today(name), names)):
        renamed.warn(renamed.say(name, new))
    if not found:
        there = f"valid: {', '.join(names)}" if names else "the results have no sweep"
        raise InputError(f"unknown axis {name}; {there}")
    if len(found) > 1:
        raise InputError(f"{name} means several axes of the sweep: {', '.join(found)}")
    return found[0]


def _ending_in(name: str, axes: Sequence[str]) -> list[str]:
    return [axis for axis in axes if axis == name] or [axis for axis in axes if axis.endswith(f".{name}")]


# ---------------------------------------------------------------- Choosing grid points

Pick = Callable[[Mapping[str, str]], bool]
"""Called with the axes of a grid point; returns whether it is wanted."""
Only = Pick | Mapping[str, object]
"""A choice of grid points: a function, or labels by axes, such as `{"cc": "cubic", "rate": ["1mbit", 2e6]}`."""


def picked(only: Only | None, points: Sequence[Mapping[str, str]]) -> list[int]:
    """Return the numbers of the grid points that are wanted; raises `InputError` if there are none."""
    wants = _by_labels(only, points) if isinstance(only, Mapping) else only
    found = [number for number, point in enumerate(points) if wants is None or wants(point)]
    if not found:
        first = ", ".join(f"{axis}={label}" for axis, label in points[0].items()) if points else ""
        raise InputError(
            f"only: no match among {count_of(len(points), 'grid point')}; the first has {first or 'no axes'}"
        )
    return found


def _by_labels(wanted: Mapping[str, object], points: Sequence[Mapping[str, str]]) -> Pick:
    labels: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, label in point.items():
            labels.setdefault(axis, {})[label] = None
    named = {axis_named(name, labels): values for name, values in wanted.items()}
    kept = {
        axis: {_label_of(axis, value, list(labels[axis])) for value in _several(values)}
        for axis, values in named.items()
    }
    return lambda axes: all(axes.get(axis) in chosen for axis, chosen in kept.items())


def _several(values: object) -> Iterable[object]:
    values = values.tolist() if hasattr(values, "tolist") else values
    return values if isinstance(values, Iterable) and not isinstance(values, str) else [values]


def _label_of(axis: str, value: object, labels: Sequence[str]) -> str:
    """Find the label that is a value, as it is written or as a quantity: a bare number is one in base units.

    A file may be written with its path, which labels leave out.
    """
    text = str(value)
    for written in (text, short_labels(axis, [text])[text]):
        if written in labels:
            return written
    number = float(value) if isinstance(value, int | float | Decimal) else None
    meant = quantity(text)
    for label in labels:
        found = quantity(label)
        if found and (found == meant or found[1] == number):
            return label
    raise InputError(f"only: {axis} is never {text}{did_you_mean(text, labels)}; valid: {', '.join(labels)}")
