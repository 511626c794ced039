"""Names of earlier releases, which this one still accepts, each with a warning.

The keys of scenarios are in the core's `RENAMED_KEYS`. Arguments of functions and options of commands follow from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from unbloat._core import RENAMED_KEYS

KINDS = {"controls": "congestion_controls", "receivers": "window_controllers"}
"""Kinds of the catalogue by their old names."""

P = ParamSpec("P")
R = TypeVar("R")


class OldNameWarning(FutureWarning):
    """A name of an earlier release was used; the next release refuses it."""


def warn(sentence: str, stacklevel: int = 3) -> None:
    """Issue the warning about an old name."""
    warnings.warn(sentence, OldNameWarning, stacklevel=stacklevel)


def say(old: str, new: str) -> str:
    """Write the warning about a name outside a scenario's file."""
    return f"{old} is called {new} now; the next release refuses the old name"


def of_today(key: str) -> str:
    """Return the dotted key, or the last parts of one, with the names that its parts have today."""
    return ".".join(RENAMED_KEYS.get(part, part) for part in key.split("."))


def option_of_today(option: str) -> str:
    """Return the name of an option, such as `--cc`, as it is today."""
    name = of_today(option.removeprefix("--").replace("-", "_")).replace("_", "-")
    return f"--{name}"


def kind_of_today(kind: str) -> str:
    """Return the name that a kind of the catalogue has today."""
    if (new := KINDS.get(kind)) is None:
        return kind
    warn(say(kind, new))
    return new


def accepting_old_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function take arguments under the names that they had."""

    @wraps(function)
    def accepting(*args: P.args, **given: P.kwargs) -> R:
        named: Mapping[str, Any] = given
        if not RENAMED_KEYS.keys().isdisjoint(named):
            for old in RENAMED_KEYS.keys() & named.keys():
                warn(say(old, RENAMED_KEYS[old]))
            if twice := [new for old, new in RENAMED_KEYS.items() if {old, new} <= named.keys()]:
                raise TypeError(f"{function.__name__}() got {twice[0]} under its old name too")
            named = {of_today(name): value for name, value in named.items()}
        return cast("Callable[..., R]", function)(*args, **named)

    return accepting
