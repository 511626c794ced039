"""Checks of values that a user chooses among a few, and the words of their sentences."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal, get_args

from unbloat import _core
from unbloat._core import InputError

Backend = Literal["simulator", "kernel", "vm"]
"""The backends that run a scenario."""
BACKENDS: tuple[Backend, ...] = get_args(Backend)
On = Literal[Backend, "sim"]
"""A backend as users name it; `sim` is short for `simulator`."""


def backend_named(on: str) -> Backend:
    """Return the backend that a user names; raises `InputError` for an unknown name."""
    wanted = one_of("on", "simulator" if on == "sim" else on, BACKENDS)
    return next(each for each in BACKENDS if each == wanted)


def one_of(what: str, value: str, allowed: Sequence[str]) -> str:
    """Return `value` if it is allowed; otherwise raises `InputError` with the allowed values."""
    if value not in allowed:
        raise InputError(f"{what}: unknown value {value}{did_you_mean(value, allowed)}; valid: {', '.join(allowed)}")
    return value


def names_in(*texts: str | Iterable[str]) -> list[str]:
    """List names, which may be given one by one, in lists, or with commas between them."""
    each = [name for text in texts for name in ([text] if isinstance(text, str) else text)]
    return [name.strip() for text in each for name in text.split(",") if name.strip()]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Offer the name that is spelled most like a word; empty if none is."""
    near = get_close_matches(word, list(names), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def check_kernel(kernel: str | None, on: str) -> None:
    """Refuse a kernel for a backend that has no choice of kernels."""
    if kernel is not None and on != "vm":
        raise InputError(f"kernel {kernel}: only guests (--on vm) run a chosen kernel, not runs --on {on}")


def whole(what: str, value: object) -> int:
    """Return a whole number, NumPy's too; raises `InputError` for anything else."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{what}: must be a whole number, not {value!r:.40}") from None


def check_jobs(jobs: int | None) -> None:
    """Refuse a number of processes below one."""
    if jobs is not None and whole("jobs", jobs) < 1:
        raise InputError(f"jobs {jobs}: at least one process must run; the default is one for each core")


def time_ns(text: str, option: str) -> int:
    """Read the time of an option or argument, in nanoseconds; raises `InputError` for any other text."""
    try:
        return _core.duration_ns(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
