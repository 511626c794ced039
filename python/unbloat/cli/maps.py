"""The option of `unbloat load` that fills BPF maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from unbloat._core import InputError

MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="NAME[KEY]=VALUE",
        help="Put a value in a BPF map of the control; commas separate the members of a struct.",
    ),
]
ENTRY = re.compile(r"\s*([^\[\]=\s]+)\s*\[([^\[\]]*)\]\s*=(.*)", re.DOTALL)
# No number of a BPF map has more than 64 bits.
LEAST, MOST = -(1 << 63), (1 << 64) - 1


def entries(texts: Sequence[str] | None) -> list[tuple[str, str, list[int]]]:
    """Split what the option was given: map, key and the numbers of the value."""
    return [_entry(text) for text in texts or []]


def _entry(text: str) -> tuple[str, str, list[int]]:
    found = ENTRY.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        numbers = [int(number, 0) for number in found[3].split(",")]
    except ValueError:
        raise InputError(f"--map: {text} is not NAME[KEY]=VALUE with whole numbers, such as rates[0]=1250000") from None
    if not all(LEAST <= number <= MOST for number in numbers):
        raise InputError(f"--map: {text} is out of range: no number in a map has more than 64 bits")
    return found[1], found[2], numbers
