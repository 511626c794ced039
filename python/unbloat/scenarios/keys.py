"""The keys of a scenario file: what each means, what it takes, what holds without it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypedDict

from unbloat import _core
from unbloat._core import InputError
from unbloat.scenarios.checks import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from unbloat.system.core_types import ScenarioKey


class Takes(TypedDict):
    """The values that a key takes, and what counts without it."""

    kind: str | dict[Literal["choice"], list[str]]
    range: str
    absence: str | dict[Literal["default", "means"], str]


def table(section: str | None = None) -> pd.DataFrame:
    """List the keys of a scenario, or those of a section, as a frame; raises `InputError` for an unknown one."""
    import pandas as pd

    rows = [
        (key["section"], key["name"], kind_of(key), absence_of(key), key["meaning"])
        for key in (keys_of(section) if section else _core.scenario_keys())
    ]
    return pd.DataFrame(rows, columns=["section", "key", "takes", "without", "meaning"])


def keys_of(name: str) -> list[ScenarioKey]:
    """Pick a section, with those below it, or keys of this name; raises `InputError` if there are none.

    A key may be written as `--set` has it, with the user's own names and numbers: `link.bottleneck.rate`.
    """
    every = _core.scenario_keys()
    inside = [key for key in every if key["section"] == name or key["section"].startswith(f"{name}.")]
    dotted = [key for key in every if name in (f"{key['section']}.{key['name']}", key["name"])]
    if not inside and not dotted and (place := placed(name, every)) and place != name:
        return keys_of(place)
    if not inside and not dotted:
        names = dict.fromkeys([*(key["section"] for key in every if key["section"]), *(key["name"] for key in every)])
        there = ", ".join(
            dict.fromkeys(key["section"] for key in every if key["section"] and ":" not in key["section"])
        )
        hint = did_you_mean(name, list(names))
        raise InputError(f"keys: unknown section or key {name}{hint}; sections: {there}")
    return inside or dotted


def placed(name: str, every: Iterable[ScenarioKey]) -> str | None:
    """Find the section or the key that a dotted key such as `flows.0.access.rate` lies in, or None."""
    keys_of_section: dict[str, set[str]] = {}
    for key in every:
        keys_of_section.setdefault(key["section"], set()).add(key["name"])
    section = ""
    parts = [part for part in name.removeprefix("sweep.").split(".") if not part.isdigit() and part != "*"]
    for number, part in enumerate(parts):
        own = f"{section}.NAME" if section else "NAME"
        if (is_last := number == len(parts) - 1) and part in keys_of_section[
            own if own in keys_of_section else section
        ]:
            return f"{own if own in keys_of_section else section}.{part}".lstrip(".")
        below = (f"{section}.{part}" if section else part, own, part)
        found = next((each for each in below if each in keys_of_section), None)
        if found is None:
            # Parameters of a control are a table with keys of its own.
            return f"{section}.{part}" if not is_last and part in keys_of_section[section] else None
        section = found
    return section or None


def kind_of(key: Takes) -> str:
    """Say what values a key takes."""
    kind = key["kind"]
    if isinstance(kind, dict) and "choice" in kind:
        return f"one of {', '.join(kind['choice'])}"
    name = kind if isinstance(kind, str) else next(iter(kind))
    lowest, dots, highest = key["range"].partition("..")
    return f"{name}, {lowest} to {highest}" if dots else name


def absence_of(key: Takes) -> str:
    """Describe what applies where a key is not set."""
    absence = key["absence"]
    if isinstance(absence, str):
        return absence
    return f"default {absence['default']}" if "default" in absence else f"without: {absence['means']}"
