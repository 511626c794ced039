"""TOML files as records: what is missing, unknown or of another type is an error with file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from unbloat._core import InputError, line_of

Keys = Sequence[str | int]
"""A place in a file: names of tables and keys, and numbers of a list's entries from 0."""
T = TypeVar("T")


@dataclass(frozen=True)
class TomlFile:
    """A file that could be parsed."""

    path: Path
    text: str
    data: Mapping[str, object]
    complaint: type[InputError] = InputError
    """The class of the errors that it makes."""

    def convert(self, kind: type[T]) -> T:
        """Make the record of it; raises `InputError` for what is missing, unknown or of another type."""
        try:
            return msgspec.convert(self.data, kind)
        except msgspec.ValidationError as error:
            raise self._explained(str(error), kind) from None

    def wrong(self, keys: Keys, sentence: str) -> InputError:
        """Make the error for the value at a key."""
        where = f"{self.path}:{line_of(self.text, list(map(str, keys)))}" if keys else str(self.path)
        return self.complaint(": ".join(filter(None, [where, shortened(".".join(map(str, keys))), sentence])))

    def _explained(self, message: str, kind: type) -> InputError:
        """Say in words what msgspec found, such as "Expected `str`, got `float` - at `$.tables[0].title`"."""
        what, _, place = message.partition(" - at ")
        keys = _keys_of(place)
        if found := re.fullmatch(r"Object missing required field `(.*)`", what):
            return self.wrong(keys, f"`{found[1]}` is missing")
        if found := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL):
            known = _type_at(kind, keys)
            assert isinstance(known, inspect.StructType)
            names = ", ".join(field.name for field in known.fields)
            return self.wrong([*keys, found[1]], f"unknown key; valid: {names}")
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


def toml_file(path: Path, what: str, complaint: type[InputError] = InputError) -> TomlFile:
    """Read a file; raises `complaint` if it is missing or is not TOML. `what` is a sentence on what belongs there."""
    try:
        text = path.read_text(encoding="utf-8")
        return TomlFile(path, text, tomllib.loads(text), complaint)
    except FileNotFoundError:
        raise complaint(f"{path}: no such file; {what}") from None
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
        where, why = (f"{path}:{found[2]}", found[1]) if found else (str(path), str(error))
        raise complaint(f"{where}: not valid TOML: {why}") from None
    except (OSError, ValueError, RecursionError) as error:  # A `ValueError` is about bytes that are not UTF-8.
        raise complaint(f"{path}: {error}") from None


LONGEST = 80


def shortened(text: str) -> str:
    """Quote the beginning of what is long; line ends do not break the sentence."""
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


# ---------------------------------------------------------------- What msgspec says


def _keys_of(place: str) -> list[str | int]:
    """Read a place such as `$.tables[0].title`; it ends at the key of a free table, `[...]`."""
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
