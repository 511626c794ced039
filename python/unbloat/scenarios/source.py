"""The source of a scenario: a file, a text or a dictionary, with the keys that the user sets anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from unbloat import _core
from unbloat._core import InputError
from unbloat.system import renamed
from unbloat.system.paths import find_scenario

NAME = "scenario"
"""The name of a dictionary without one. Results and pictures show it."""
PLACE = re.compile(r"^<text>(:\d+)?: ", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A scenario by its path or its text, and what overrides it; small enough to hand to another process."""

    path: str | None
    text: str | None
    overrides: tuple[tuple[str, str], ...] = ()
    is_written: bool = False
    """The text was written here for a dictionary, so that its lines mean nothing to the user."""

    def points(self) -> list[_core.GridPoint]:
        """Read it; every mistake in it is in the `InputError`."""
        if self.text is None:
            return _core.load(self.path or "", self.overrides, self._warn)
        with self.placing_errors():
            return _core.parse(self.text, Path.cwd(), self.overrides, self._warn)

    def _warn(self, sentence: str) -> None:
        renamed.warn(PLACE.sub("", sentence) if self.is_written else sentence)

    @contextmanager
    def placing_errors(self) -> Iterator[None]:
        """Have errors within the context name lines of the text only if the user wrote it."""
        try:
            yield
        except InputError as error:
            if not self.is_written:
                raise
            placed = InputError(PLACE.sub("", str(error)))
            placed.key = error.key
            raise placed from None

    @property
    def content(self) -> str:
        """The scenario's text, wherever it is."""
        return Path(self.path or "").read_text(encoding="utf-8") if self.text is None else self.text


What = Source | str | Path | Mapping[str, Any]
"""A scenario, as `source_of` takes it."""


def source_of(what: What, overrides: Mapping[str, object] | None = None) -> Source:
    """Make a source of a dictionary, a text, a path, the name of a shipped scenario, or of a source with more keys."""
    pairs = tuple((key, as_toml(value, key)) for key, value in (overrides or {}).items())
    if isinstance(what, Source):
        kept = tuple(pair for pair in what.overrides if pair[0] not in {key for key, _ in pairs})
        return replace(what, overrides=(*kept, *pairs))
    if isinstance(what, Mapping):
        return Source(None, written({"name": NAME, **what}), pairs, is_written=True)
    if isinstance(what, str) and is_text(what):
        return Source(None, what, pairs)
    return Source(str(find_scenario(str(what))), None, pairs)


def is_text(what: str) -> bool:
    """Return whether a string is a scenario's text: it has lines, or sets a key and names no file."""
    return "\n" in what or ("=" in what and not Path(what).exists())


def as_toml(value: object, key: str = "") -> str:
    """Write the value of a key as an override has it: text as it is, everything else as TOML's."""
    return (
        value if isinstance(value, str) else json.loads(text) if (text := inline(value, key)).startswith('"') else text
    )


UNITS = {
    "time": "s",
    "start": "s",
    "offset": "s",
    "rate": "bit",
    "size": "b",
    "sizes": "b",
    "limit": "b",
    "share": "%",
    "loss": "%",
    "frequency": "/s",
    "drift": "ppm",
    "signal": "dbm",
    "ratio": "db",
}
"""The unit of a bare number by the kind of its key: that of the columns of results."""
PREFIXED = {
    "bit": {"gbit": "1e9", "mbit": "1e6", "kbit": "1e3"},
    "s": {"s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9"},
    "b": {"gb": "1e9", "mb": "1e6", "kb": "1e3"},
}
"""The units that a number may have in place of its own, the largest first: they are read in legends and tables."""
RANGE = {"from", "to", "step"}
"""Keys of a range on an axis whose values are the axis's."""


def written(scenario: Mapping[str, Any]) -> str:
    """Write a scenario as a TOML document, with a line for each key at its top and for each group of flows.

    Raises `InputError` for a value that TOML does not have.
    """
    return "\n".join(_lines(scenario))


def _lines(scenario: Mapping[str, Any]) -> Iterator[str]:
    yield from _entries({key: value for key, value in scenario.items() if not _tables(value)}, "")
    for key, value in scenario.items():
        head = "[{}]" if isinstance(value, Mapping) else "[[{}]]"
        for table in _tables(value):
            yield head.format(_name(key))
            yield from _entries(table, f"{key}.")


def _entries(table: Mapping[str, Any], path: str) -> Iterator[str]:
    return (f"{_name(key)} = {inline(value, f'{path}{key}')}" for key, value in table.items())


def _tables(value: object) -> Sequence[Mapping[str, Any]]:
    """Return the tables that a value is made of; empty for any other value."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value) else []


def inline(value: object, key: str) -> str:
    """Write the value of a dotted key in one line."""
    if isinstance(value, range):
        value = list(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()  # Of NumPy and pandas.
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal():
            return _number(value, key)
        case str() | PurePath():
            return json.dumps(str(value), ensure_ascii=False)
        case Mapping():
            return f"{{ {', '.join(_inner(value, key))} }}"
        case list() | tuple():
            return f"[{', '.join(inline(each, key) for each in value)}]"
    raise InputError(f"{key}: {value!r} is not a value that a scenario can hold")


def _inner(table: Mapping[str, Any], key: str) -> Iterator[str]:
    for name, value in table.items():
        yield f"{_name(name)} = {inline(value, key if name in RANGE else f'{key}.{name}')}"


def _number(value: float | Decimal, key: str) -> str:
    """Write a number, with the unit of its key where that has one."""
    number = Decimal(repr(float(value)) if isinstance(value, float) else value)
    if not number.is_finite():
        raise InputError(f"{key}: {value} is not a number that a scenario can hold")
    unit = UNITS.get(kind_of(key))
    refuse_forgotten_unit(number, key, unit)
    return f'"{_quantity(number, unit)}"' if unit else _digits(number)


LEAST_RATE = 1000
"""Bit/s: a smaller number without a unit was probably meant in kbit/s or Mbit/s."""
MOST_DELAY = 10
"""Seconds: a larger number without a unit was probably meant in milliseconds."""


def refuse_forgotten_unit(number: Decimal, key: str, unit: str | None) -> None:
    """Raise `InputError` for a number whose unit was probably forgotten, with what to write."""
    last = key.rpartition(".")[2]
    bare = _digits(number)
    if unit == "bit" and 0 < number < LEAST_RATE:
        raise InputError(f'{key}: {bare} without a unit is {bare} bit/s; write "{bare}mbit", or "{bare}bit" for that')
    if unit == "s" and last in ("delay", "rtt") and number > MOST_DELAY:
        raise InputError(f'{key}: {bare} without a unit is {bare} seconds; write "{bare}ms", or "{bare}s" for that')


def _quantity(number: Decimal, unit: str) -> str:
    """Write a number with its unit, or with the largest one that makes it 1 at least, and no longer."""
    plain = f"{_digits(number)}{unit}"
    for prefixed, factor in PREFIXED.get(unit, {}).items():
        if abs(number) >= Decimal(factor):
            text = f"{_digits(number / Decimal(factor))}{prefixed}"
            return text if len(text) <= len(plain) else plain
    return plain


def _digits(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def kind_of(key: str) -> str:
    """Return the type of value that a dotted key takes, from the schema; empty for an unknown key."""
    *parents, name = key.split(".")
    if any(part == "maps" or part.endswith("params") for part in parents):
        return ""  # A mechanism's own.
    kinds = {section.rpartition(".")[2]: kind for section, kind in _kinds().get(name, {}).items()}
    return kinds.get(parents[-1] if parents else "", next(iter(kinds.values()), ""))


@cache
def _kinds() -> dict[str, dict[str, str]]:
    """Return the type of every key, by its name and then its section."""
    kinds: dict[str, dict[str, str]] = {}
    for key in _core.scenario_keys():
        if isinstance(key["kind"], str):
            kinds.setdefault(key["name"], {})[key["section"]] = key["kind"]
    return kinds


def _name(key: object) -> str:
    return json.dumps(str(key), ensure_ascii=False)
