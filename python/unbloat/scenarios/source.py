"""What to run: a scenario's file, text or dictionary, with the keys that the user sets anew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat._core import InputError
from unbloat.scenarios.toml import inline, written
from unbloat.system.paths import find_scenario

NAME = "scenario"
"""Of a dictionary that has none: results and pictures show it."""
PLACE = re.compile(r"^<text>(:\d+)?: ", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A scenario by its path or its text, and what overrides it; small enough to hand to another process."""

    path: str | None
    text: str | None
    overrides: tuple[tuple[str, str], ...] = ()
    is_written: bool = False
    """The text was written here for a dictionary, so that its lines mean nothing to the user."""

    def cells(self) -> list[_core.Cell]:
        """Read it; every mistake in it is in the `InputError`."""
        if self.text is None:
            return _core.load(self.path or "", self.overrides)
        with self.placing_errors():
            return _core.parse(self.text, Path.cwd(), self.overrides)

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
    """Return whether a string is a scenario's text: it has lines, or sets a key and is no file."""
    return "\n" in what or ("=" in what and not Path(what).exists())


def as_toml(value: object, key: str = "") -> str:
    """Write the value of a key as an override has it: text as it is, everything else as TOML's."""
    return (
        value if isinstance(value, str) else json.loads(text) if (text := inline(value, key)).startswith('"') else text
    )
