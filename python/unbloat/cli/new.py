"""`unbloat new KIND NAME`: a scenario, a congestion control or a paper to begin with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from unbloat._core import InputError
from unbloat.cli.terminal import say
from unbloat.system.files import room_within, write_text

TEMPLATES = Path(__file__).parent / "templates"
SUFFIXES = {"scenario": ".toml", "control": ".bpf.c", "paper": ""}
NEXT = {
    "scenario": "run it: unbloat run {path}",
    "control": "run it: unbloat run home-dsl --cc {path}; check that kernels take it: unbloat check {path}",
    "paper": "write down what the paper prints in {path}/published.toml, then: unbloat reproduce {path}",
}
LONGEST = 15
"""Characters of a congestion control's name in the kernel."""
EXAMPLES = """\
unbloat new scenario my-line
unbloat new control mine
unbloat new paper papers/mine"""


def command(
    kind: Annotated[
        Literal["scenario", "control", "paper"],
        typer.Argument(metavar="KIND", help="scenario, control (a congestion control) or paper.", show_default=False),
    ],
    name: Annotated[
        Path, typer.Argument(metavar="NAME", help="Its name, with a folder before it if you like.", show_default=False)
    ],
) -> None:
    """Write a template of a scenario, a congestion control or a paper."""
    suffix = SUFFIXES[kind]
    path = name if name.name.endswith(suffix) else name.with_name(name.name + suffix)
    if path.exists():
        raise InputError(f"new: {path} is there already, and is not overwritten")
    template = TEMPLATES / f"{kind}{suffix}"
    if kind == "paper":
        room_within(path)
        for file in sorted(template.iterdir()):
            write(file, path / file.name, path)
    else:
        write(template, path, path)
    say(f"wrote {path}; {NEXT[kind].format(path=typed(path))}")


def typed(path: Path) -> str:
    """Write a path as commands take it for a file and not for a name."""
    return shlex.quote(str(path) if path.is_absolute() else f"./{path}")


def write(template: Path, file: Path, called: Path) -> None:
    """Write a template with the names filled in."""
    name = called.name.removesuffix(".bpf.c").removesuffix(".toml")
    identifier = re.sub(r"\W", "_", name, flags=re.ASCII)
    identifier = (f"_{identifier}" if identifier[:1].isdigit() else identifier)[:LONGEST]
    text = template.read_text(encoding="utf-8")
    for word, value in (("NAME", name), ("IDENTIFIER", identifier), ("FILE", typed(called))):
        text = re.sub(rf"\b{word}\b", value.replace("\\", r"\\"), text)
    write_text(file, text)
