"""`unbloat cache`: show and remove what is kept."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import typer

from unbloat._core import InputError
from unbloat.cli.options import JsonOption
from unbloat.cli.terminal import say, say_json

UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400}
EXAMPLES = """\
unbloat cache
unbloat cache prune --unused 2w
unbloat cache clear"""


def command(
    action: Annotated[
        Literal["show", "prune", "clear"],
        typer.Argument(
            metavar="[ACTION]",
            help="show what is kept; prune: remove what has not been used lately; clear: remove everything.",
        ),
    ] = "show",
    unused: Annotated[
        str | None,
        typer.Option(
            "--unused",
            metavar="TIME",
            help="With prune: remove what has not been used for this long, such as 12h, 2w (default: 30d).",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is kept of earlier runs, or remove it.

    The cache is in ~/.cache/unbloat, or where UNBLOAT_CACHE says. Whatever is removed is made again when it is needed.
    """
    from unbloat.system import paths
    from unbloat.system.paths import cache_folder

    if unused is not None and action != "prune":
        raise InputError(f"cache --unused says what prune removes, and not what {action} does")
    if action == "show":
        found = {kind.folder: paths.things(kind) for kind in paths.KINDS}
        before = f"{cache_folder()}\n"
    else:
        found = paths.prune(seconds(unused or "30d")) if action == "prune" else paths.prune()
        before = "removed\n"
    sizes = {name: sum(thing.size for thing in things) for name, things in found.items()}
    rows = [
        {"folder": kind.folder, "about": kind.about, "number": len(found[kind.folder]), "bytes": sizes[kind.folder]}
        for kind in paths.KINDS
    ]
    whole = {"folder": str(cache_folder()), "action": action, "kinds": rows}
    say_json(whole) if as_json else say(before + screen(rows))


def screen(rows: list[dict[str, Any]]) -> str:
    """Draw it."""
    from unbloat.report.table import Column, render

    return render(
        [
            Column("what", "", [row["about"] for row in rows]),
            Column("number", "", [row["number"] for row in rows]),
            Column("size", "MB", [row["bytes"] / 1e6 for row in rows]),
        ]
    )


def seconds(text: str) -> float:
    """Read a time in hours, days or weeks."""
    found = re.fullmatch(r"(\d{1,6})([hdw])", text)
    if not found:
        raise InputError(f"cache --unused: {text} is not a number of hours, days or weeks, such as 12h, 30d, 2w")
    return int(found[1]) * UNITS_S[found[2]]
