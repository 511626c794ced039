"""The links of a scenario as its file and its overrides set them; what a sweep changes is shown as varied."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unbloat.results.about import About

SHOWN = 6
"""Not more values of a setting are listed."""
SWEEP = "sweep."
Flat = dict[str, object]
"""Settings by the words of their keys."""


def links_of(about: About, labels: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield each link with its settings, by the labels of the axes that ran; nothing for an unknown scenario."""
    try:
        scenario = tomllib.loads(about.scenario)
        overrides = {key: tomllib.loads(f"value = {text}")["value"] for key, text in about.overrides.items()}
    except tomllib.TOMLDecodeError:
        return
    sweep = dict(_axes(scenario.pop("sweep", {})))
    for key, value in overrides.items():
        if key.startswith(SWEEP):
            sweep[key.removeprefix(SWEEP)] = value
        else:
            _set(scenario, key.split("."), value)
    swept = [_changed(scenario, axis, sweep.get(axis), known) for axis, known in labels.items()]
    for name, link in scenario.get("link", {}).items():
        base = dict(_flat(link))
        grids = [[dict(_flat(each.get("link", {}).get(name, {}))) for each in settings] for settings in swept]
        keys = dict.fromkeys([*base, *(key for grid in grids for each in grid for key in each)])
        yield name, ", ".join(filter(None, (_said(key, base, grids) for key in keys)))


def _axes(sweep: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield the axes, whose names may be written as tables in tables."""
    for key, value in sweep.items():
        if isinstance(value, Mapping) and "from" not in value:
            yield from _axes(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _changed(scenario: Mapping[str, Any], axis: str, values: object, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Return the scenario with each label of an axis: a case by its name, or the value itself."""
    cases = (
        {each.get("label"): each for each in values if isinstance(each, Mapping)} if isinstance(values, list) else {}
    )
    found = []
    for label in labels:
        changed: dict[str, Any] = copy.deepcopy(dict(scenario))
        for key, value in cases[label].items() if label in cases else [(axis, label)]:
            if isinstance(value, Mapping) and "." not in key:
                for below, each in _flat(value):  # A table behind a bare key adds to what is there.
                    _set(changed, [key, *below.split()], each)
            elif key != "label":
                _set(changed, key.split("."), value)
        found.append(changed)
    return found


def _set(scenario: dict[str, Any], way: Sequence[str], value: object) -> None:
    """Set a key in place, as `--set` does; `*` is every key of a table, and what is no table has none."""
    first, *rest = way
    for key in list(scenario) if first == "*" else [first]:
        if not rest:
            scenario[key] = copy.deepcopy(value)
        elif isinstance(below := scenario.setdefault(key, {}), dict):
            _set(below, rest, value)


def _flat(table: object, before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items() if isinstance(table, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key} ")
        elif not isinstance(value, list):
            yield f"{before}{key}", value


def _said(key: str, base: Flat, grids: list[list[Flat]]) -> str:
    """Write a setting: its value, or the values that the axes give it."""
    touching = [grid for grid in grids if any(each.get(key) != base.get(key) for each in grid)]
    values = dict.fromkeys(each.get(key) for grid in touching for each in grid) or {base.get(key): None}
    known = [str(value) for value in values if value is not None]
    if len(values) == 1:
        return f"{key} {known[0]}" if known else ""
    listed = f" ({', '.join(known)})" if len(known) == len(values) <= SHOWN else ""
    return f"{key} varied{listed}"
