"""The TOML files of a paper's folder, read into records; what is wrong is told with its file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from unbloat._core import InputError, line_of

Keys = Sequence[str | int]
"""Where something stands: names of tables and keys, and numbers of a list's entries from 0."""
T = TypeVar("T")


class PaperError(InputError):
    """A paper's folder that cannot be used: file, line, key and what is allowed, in one sentence."""


@dataclass(frozen=True)
class TomlFile:
    """A file that could be parsed."""

    path: Path
    text: str
    data: dict[str, Any]

    def convert(self, kind: type[T]) -> T:
        """Make the record of it; raises `PaperError` for what is missing, unknown or of another type."""
        try:
            return msgspec.convert(self.data, kind)
        except msgspec.ValidationError as error:
            raise self._explained(str(error), kind) from None

    def wrong(self, keys: Keys, sentence: str) -> PaperError:
        """Make the error for the value at a key."""
        where = f"{self.path}:{line_of(self.text, list(map(str, keys)))}" if keys else str(self.path)
        return PaperError(": ".join(filter(None, [where, shortened(".".join(map(str, keys))), sentence])))

    def _explained(self, message: str, kind: type) -> PaperError:
        """Say in words what msgspec found, such as "Expected `str`, got `float` - at `$.tables[0].title`"."""
        what, _, place = message.partition(" - at ")
        keys = _keys_of(place)
        if found := re.fullmatch(r"Object missing required field `(.*)`", what):
            return self.wrong(keys, f"`{found[1]}` is missing")
        if found := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL):
            known = _type_at(kind, keys)
            assert isinstance(known, inspect.StructType)
            names = ", ".join(field.name for field in known.fields)
            return self.wrong([*keys, found[1]], f"there is no such key; there are {names}")
        if what.startswith("Invalid enum value"):
            choice = _type_at(kind, keys)
            assert isinstance(choice, inspect.LiteralType)
            words = ", ".join(sorted(str(value) for value in choice.values if value))
            return self.wrong(keys, f"must be one of {words}, not {shortened(str(_at(self.data, keys)))}")
        if found := re.fullmatch(r"Expected `([^`]*)`, got .*", what):
            return self.wrong(keys, f"must be {_in_words(found[1])}, not {shortened(repr(_at(self.data, keys)))}")
        if found := re.fullmatch(r"Expected `\w+` ([<>]=?) (.*)", what):
            bound = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}[found[1]]
            return self.wrong(keys, f"must be {bound} {found[2]}, not {shortened(repr(_at(self.data, keys)))}")
        return self.wrong(keys, f"{what[0].lower()}{what[1:]}")


def read(path: Path, what: str) -> TomlFile:
    """Read a file; raises `PaperError` if it is not there, saying what it is, or is no TOML."""
    try:
        text = path.read_text(encoding="utf-8")
        return TomlFile(path, text, tomllib.loads(text))
    except FileNotFoundError:
        raise PaperError(f"{path}: no such file; {what}") from None
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
        where, why = (f"{path}:{found[2]}", found[1]) if found else (str(path), str(error))
        raise PaperError(f"{where}: this is no TOML: {why}") from None
    except (OSError, ValueError, RecursionError) as error:  # A `ValueError` says that it is no UTF-8.
        raise PaperError(f"{path}: {error}") from None


LONGEST = 80


def shortened(text: str) -> str:
    """Quote the beginning of what is long; line ends do not break the sentence."""
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


# ---------------------------------------------------------------- What msgspec says


def _keys_of(place: str) -> list[str | int]:
    """Read a place such as `$.tables[0].title`; it ends where a key of a free table would stand, `[...]`."""
    keys: list[str | int] = []
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", place):
        if index == "...":
            break
        keys.append(name or int(index))
    return keys


def _at(data: Any, keys: Keys) -> Any:
    for key in keys:
        data = data[key]
    return data


def _in_words(types: str) -> str:
    words = {
        "str": "a text in quotes",
        "int": "a whole number",
        "float": "a number",
        "bool": "true or false",
        "array": "a list",
        "object": "a table",
    }
    named = [words.get(each, each) for each in types.split(" | ") if each != "null"]
    return " or ".join(named)


def _type_at(kind: type, keys: Keys) -> inspect.Type:
    """Return the type of the value that a key takes."""
    found: inspect.Type = inspect.type_info(kind)
    for key in keys:
        if isinstance(found, inspect.UnionType):
            found = next(each for each in found.types if isinstance(each, inspect.StructType | inspect.ListType))
        if isinstance(found, inspect.StructType):
            found = next(field.type for field in found.fields if field.name == key)
        elif isinstance(found, inspect.ListType):
            found = found.item_type
    return found
