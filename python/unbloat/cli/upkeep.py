"""`unbloat doctor`, `unbloat cache` and `unbloat clean`: a machine's abilities, and files that earlier runs left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import JsonOption
from unbloat.cli.terminal import say, say_json, wrapped
from unbloat.system.core_types import Check

# ---------------------------------------------------------------- unbloat doctor

DOCTOR_EXAMPLES = "unbloat doctor"


def doctor_command(as_json: JsonOption = False) -> None:
    """Report what this machine can do and what is missing."""
    from unbloat.api.doctor import checks

    found = checks()
    say_json({"checks": found}) if as_json else say(doctor_screen(found))


WISHES = {
    "simulate (unbloat run)": ("the simulator",),
    "run real Linux TCP in a guest (--on vm)": ("--on vm",),
    "run this kernel's TCP (--on kernel, shell)": ("testbed",),
    "load into this kernel (load, attach)": ("loading", "loading files of your own", "load --dev", "load --persist"),
    "compare with Linux's own, for developers": ("comparisons", "trying by hand"),
}
"""Wishes of users, each with the purposes of the checks that it takes; the first purpose decides."""


def doctor_screen(checks: Sequence[Check]) -> str:
    """Say for each purpose whether this machine is fit for it, then list its checks."""
    wishes = {wish: [check for check in checks if purposes_of(check) & {*of}] for wish, of in WISHES.items()}
    known = {purpose for of in WISHES.values() for purpose in of}
    wishes |= {purpose: [c] for c in checks for purpose in purposes_of(c) - known}
    answers = (
        line
        for wish, found in wishes.items()
        if found
        for line in wrapped(f"{wish}: {answer_of(found, WISHES.get(wish, (wish,))[0])}", 0, 4)
    )
    parts = ["\n".join(answers)]
    for wish, found in wishes.items():
        if found:
            parts.append("\n".join([wish, *(line for check in found for line in check_lines(check))]))
    return "\n\n".join(parts)


def purposes_of(check: Check) -> set[str]:
    """Return what a check is needed for."""
    return set(check["needed_for"].split(", "))


def answer_of(checks: Sequence[Check], first: str) -> str:
    """Say whether this machine supports a purpose, and what is missing for it or a part of it."""
    missing: dict[str, list[str]] = {}
    for check in checks:
        if check["there"] is False and not check["optional"]:
            for purpose in purposes_of(check):
                missing.setdefault(purpose, []).append(check["what"])
    lacking = {purpose: in_short(names) for purpose, names in missing.items()}
    if first in lacking:
        return f"no, this is missing: {lacking[first]}"
    parts = [f"not {purpose}, for which this is missing: {names}" for purpose, names in lacking.items()]
    return ", but ".join(["yes", *parts])


def in_short(names: Sequence[str]) -> str:
    """List names; many are counted."""
    return ", ".join(names) if len(names) <= MOST_MISSING else f"{len(names)} things, listed below"


MOST_MISSING = 4
"""More missing things are counted, not named."""


def check_lines(check: Check) -> list[str]:
    """Draw one check: is it there, what was found, what is to be done."""
    there = {True: "yes", False: "no", None: "?"}[check["there"]]
    found = "" if check["found"] in ("yes", "") else f", {check['found']}"
    remedy = wrapped(f"what to do: {check['remedy']}", 4, 2) if check["remedy"] else []
    return [*wrapped(f"{there}: {check['what']}{found}", 2, 4), *remedy]


# ---------------------------------------------------------------- unbloat cache

UNITS_S = {"h": 3600, "d": 86400, "w": 7 * 86400}
CACHE_EXAMPLES = """\
unbloat cache
unbloat cache prune --unused 2w
unbloat cache clear"""


def cache_command(
    action: Annotated[
        Literal["show", "prune", "clear"],
        typer.Argument(
            metavar="[ACTION]",
            help="show: list stored files. prune: remove files that no command used lately. clear: remove everything.",
        ),
    ] = "show",
    unused: Annotated[
        str | None,
        typer.Option(
            "--unused",
            metavar="TIME",
            help="With prune: remove files that no command used for this long, such as 12h or 2w. Default: 30d.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show or remove the stored runs, kernels and guests.

    The cache is in ~/.cache/unbloat, or in the folder that UNBLOAT_CACHE names. Commands recreate removed files when
    they need them.
    """
    from unbloat.system import paths
    from unbloat.system.paths import cache_folder

    if unused is not None and action != "prune":
        raise InputError(f"cache --unused only works with prune, not with {action}")
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
    say_json(whole) if as_json else say(before + cache_screen(rows))


def cache_screen(rows: list[dict[str, Any]]) -> str:
    """Draw the kinds of kept files as a table."""
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


# ---------------------------------------------------------------- unbloat clean

CLEAN_EXAMPLES = "sudo unbloat clean"


def clean_command(as_json: JsonOption = False) -> None:
    """Remove leftovers of killed runs from the kernel and the disk.

    Every run does this first, except for cures of `unbloat line --prove`, which only this command and the next proof
    undo. The cache stays; `unbloat cache` manages it.
    """
    from unbloat.line import apply
    from unbloat.system import scratch

    removed = [f"temporary folder {folder}" for folder in scratch.sweep()]
    removed += _core.clean()
    removed += apply.sweep()
    if as_json:
        say_json({"removed": removed})
    else:
        say("\n".join(f"removed {what}" for what in removed) or "nothing was left behind")
