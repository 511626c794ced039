"""What to run: a scenario's file or text, with the keys that the user sets anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unbloat import _core
from unbloat.system.paths import find_scenario


@dataclass(frozen=True)
class Source:
    """A scenario by its path or its text, and what overrides it; small enough to hand to another process."""

    path: str | None
    text: str | None
    overrides: tuple[tuple[str, str], ...] = ()

    def cells(self) -> list[_core.Cell]:
        """Read it; every mistake in it is in the `InputError`."""
        if self.text is not None:
            return _core.parse(self.text, Path.cwd(), self.overrides)
        return _core.load(self.path or "", self.overrides)


def source_of(what: str | Path, overrides: Mapping[str, object] | None = None) -> Source:
    """Tell a text (it has lines) from a path, and from the name of a shipped scenario."""
    pairs = tuple((key, as_toml(value)) for key, value in (overrides or {}).items())
    if isinstance(what, str) and "\n" in what:
        return Source(None, what, pairs)
    return Source(str(find_scenario(str(what))), None, pairs)


def as_toml(value: object) -> str:
    """Write a Python value as an override has it: text as it is, truth in lower case, lists and tables as TOML's."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_quoted(entry)}" for key, entry in value.items()) + " }"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else as_toml(value)
