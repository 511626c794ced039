"""Reasons for cells of a comparison that lie outside its tolerances: a file of `[[reasons]]`."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbloat._core import InputError


@dataclass(frozen=True)
class KnownReason:
    """Why figures of some cells lie apart."""

    text: str
    at: tuple[tuple[str, tuple[str, ...]], ...]
    """Per axis (its name, or the last part of it) the labels that are meant, with * and ? as in file names."""
    figures: tuple[str, ...]
    """The figures that are meant; all if empty."""
    scenario: str
    """The scenarios that are meant, as a pattern."""

    def matches(self, scenario: str, axes: Mapping[str, str], figure: str) -> bool:
        """Return whether it is about this figure of this cell."""
        return (
            fnmatch.fnmatchcase(scenario, self.scenario)
            and (not self.figures or figure in self.figures)
            and all(_lies_on(axes, axis, labels) for axis, labels in self.at)
        )


def _lies_on(axes: Mapping[str, str], name: str, labels: Sequence[str]) -> bool:
    return any(
        fnmatch.fnmatchcase(label, pattern)
        for axis, label in axes.items()
        if name in (axis, axis.rpartition(".")[2])
        for pattern in labels
    )


def read(file: Path, figures: Sequence[str]) -> list[KnownReason]:
    """Read a file of reasons about these figures; raises `InputError` with the file and the number of the reason."""
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8")).get("reasons")
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file}: {error}") from None
    if not isinstance(entries, list):
        raise InputError(f"{file}: holds no [[reasons]], each with `text` and, where it is about some cells only, `at`")
    return [_reason(entry, f"{file}: reason {number}", figures) for number, entry in enumerate(entries, 1)]


def _reason(entry: Any, where: str, figures: Sequence[str]) -> KnownReason:
    known = ("text", "at", "figures", "scenario")
    if unknown := [key for key in entry if key not in known]:
        raise InputError(f"{where}: no key `{unknown[0]}`; there are {', '.join(known)}")
    text = entry.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: `text` must say why, in a string")
    chosen = entry.get("figures", [])
    if not isinstance(chosen, list) or any(figure not in figures for figure in chosen):
        raise InputError(f"{where}: `figures` must be a list of {', '.join(figures)}")
    at = entry.get("at", {})
    if not isinstance(at, dict):
        raise InputError(f"{where}: `at` must be a table of axes and their labels, such as {{ cc = 'vegas' }}")
    places = tuple((axis, _labels(labels, f"{where}: at.{axis}")) for axis, labels in at.items())
    return KnownReason(" ".join(text.split()), places, tuple(chosen), str(entry.get("scenario", "*")))


def _labels(labels: Any, where: str) -> tuple[str, ...]:
    labels = [labels] if isinstance(labels, str) else labels
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{where}: must be a label or a list of labels, as strings")
    return tuple(labels)
