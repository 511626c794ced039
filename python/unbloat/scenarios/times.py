"""Values of options and arguments that are times."""

from __future__ import annotations

from unbloat import _core
from unbloat._core import InputError


def time_ns(text: str, option: str) -> int:
    """Read the time that an option or argument was given, in nanoseconds. Raises `InputError` if it is none."""
    try:
        return _core.duration_ns(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
