"""The congestion controls of a scenario's flows: what results call a user's own, and which axis they vary along."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from unbloat import _core
from unbloat._core import InputError
from unbloat.scenarios.checks import did_you_mean
from unbloat.scenarios.identity import SUFFIX
from unbloat.system.paths import mechanism_names

log = logging.getLogger(__name__)


def own_names(point: _core.GridPoint) -> list[str | None]:
    """Return the name of each group's congestion control if that is a file of the user's own, otherwise None.

    The name is the file's: its text may be a copy of another congestion control's that still has that one's name. Two
    of the same name are called as the scenario writes them.
    """
    short = [named(written) if kind == "file" else None for kind, written in point.controls]
    by_name: dict[str, set[tuple[str, str]]] = {}
    for control, name in zip(point.controls, short, strict=True):
        by_name.setdefault(name or control[1], set()).add(control)
    return [
        name and (name if len(by_name[name]) == 1 else written)
        for (_, written), name in zip(point.controls, short, strict=True)
    ]


def named(written: str) -> str:
    """Shorten `folder/mine.bpf.c` to `mine`, and `mine.bpf.c#other` to `mine#other`."""
    path, mark, chosen = written.partition("#")
    return f"{PurePath(path).name.removesuffix(SUFFIX)}{mark}{chosen}"


FILES = ("cc", "window_controller", "classifier", "trace")
"""Keys whose values may be files, by the last words of their names."""


def axes_of(points: Sequence[_core.GridPoint]) -> list[dict[str, str]]:
    """Return the axes of grid points with the labels that results have: files by their names, as `named` has them.

    A label keeps its path where two labels of its axis have one name.
    """
    labels: dict[str, dict[str, None]] = {}
    for point in points:
        for axis, label in point.axes:
            labels.setdefault(axis, {})[label] = None
    short = {axis: short_labels(axis, list(found)) for axis, found in labels.items()}
    return [{axis: short[axis][label] for axis, label in point.axes} for point in points]


def short_labels(axis: str, labels: Sequence[str]) -> dict[str, str]:
    """Return the short name of each label of an axis."""
    _, dot, key = axis.rpartition(".")
    names = {label: named(label) if dot and key in FILES else label for label in labels}
    count = Counter(names.values())
    return {label: name if count[name] == 1 else label for label, name in names.items()}


OF_TC = ("cake", "codel", "fq", "fq_codel", "fq_pie", "pie", "prio", "red", "sfq", "tbf")
"""Linux's queue disciplines that a user may take for something that `unbloat load` loads."""


def refuse_discipline(name: str, device: str | None) -> None:
    """Raise `InputError` for a queue discipline, with the command that sets it."""
    if name in OF_TC:
        shaped = " bandwidth 19mbit" if name == "cake" else ""
        command = f"tc qdisc replace dev {device or 'eth0'} root {name}{shaped}"
        rate = ". Set bandwidth to 95 % of the line's rate, so that the queue is here" if shaped else ""
        raise InputError(
            f"{name} is a queue discipline of Linux, which tc sets: sudo {command}{rate}. "
            "unbloat load takes congestion controls, window controllers and classifiers"
        )


def known_control(name: str) -> str:
    """Return the name of a congestion control; raises `InputError` if it is a misspelling of a shipped one."""
    names = mechanism_names("congestion")
    is_name = re.fullmatch(r"\w+", name) is not None
    if is_name and name not in names and (hint := did_you_mean(name, names)):
        raise InputError(f"unknown congestion control {name}{hint}; `unbloat list congestion-controls` shows all")
    return name


def refuse_the_kernels_own(point: _core.GridPoint) -> None:
    """Raise `InputError` if a flow has a congestion control that only kernels have."""
    for number, (kind, name) in enumerate(point.controls):
        if kind == "kernel":
            place = point.locate(f"flows.{number}.cc")
            raise InputError(f"{place}: kernel:{name} belongs to a kernel and runs with --on kernel or --on vm only")


def axis_over(key: str, point: _core.GridPoint) -> str:
    """Name the axis that runs several mechanisms of `key` side by side: the scenario's own, if it is for all flows.

    Raises `InputError` if its axis is about some flows only: whose should be which then?
    """
    axes = [axis for axis, _ in point.axes if re.fullmatch(rf"flows\.(\d+|\*)\.{key}", axis)]
    if not axes or axes == [f"flows.*.{key}"]:
        return f"sweep.flows.*.{key}"
    if len(point.controls) > 1:
        raise InputError(
            f"{key}: the scenario has a sweep over {', '.join(axes)} already, and other flows too; say which of them "
            f"get which: --set 'sweep.{axes[0]}=[...]'"
        )
    return f"sweep.{axes[0]}"


# ---------------------------------------------------------------- Warnings of compilers

_shown: set[tuple[str, str]] = set()


def show_warnings() -> None:
    """Log what compilers warned of, in this process, in mechanisms that they compiled nevertheless."""
    for path, text in _core.take_warnings():
        show_warning(str(path), text)


def show_warning(path: str, text: str) -> None:
    """Log a warning, once per file and text."""
    if (path, text) not in _shown:
        _shown.add((path, text))
        log.warning("%s: %s", path, text.rstrip())
