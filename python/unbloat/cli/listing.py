"""`unbloat list`: what there is, or everything about one thing."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap

from unbloat.cli.terminal import say
from unbloat.scenario.catalogue import Entry, catalogue
from unbloat.scenario.checks import one_of

TITLES = {
    "mechanisms": "congestion controls",
    "queues": "queue disciplines",
    "links": "link models",
    "scenarios": "scenarios",
    "papers": "papers",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe it to the command line."""
    parser.set_defaults(command=main)
    parser.add_argument("name", metavar="NAME", nargs="?", help="tell all about one thing, such as cubic_plus")
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(args: argparse.Namespace) -> None:
    """Print what there is."""
    found = catalogue()
    if args.json:
        say(json.dumps(found, indent=2))
    else:
        say(page(found, args.name) if args.name else screen(found))


def screen(found: dict[str, list[Entry]]) -> str:
    """Draw the catalogue as text, a section for each kind that has something."""
    names = max(len(entry["name"]) for entries in found.values() for entry in entries)
    sections = []
    for kind, entries in found.items():
        lines = [line for entry in entries for line in entry_lines(entry, names)]
        if lines:
            sections.append("\n".join([TITLES[kind], *lines]))
    return "\n\n".join(sections)


def entry_lines(entry: Entry, names: int) -> list[str]:
    """Draw one entry: its name, the line about it, the names of its parameters."""
    lines = wrapped(entry["about"], names + 4)
    lines[0] = f"  {entry['name']:{names}}  {lines[0].strip()}"
    if entry.get("parameters"):
        lines += wrapped("parameters: " + ", ".join(parameter["name"] for parameter in entry["parameters"]), names + 4)
    return lines


def wrapped(text: str, indent: int, hanging: int = 0) -> list[str]:
    """Break a text into lines as wide as the terminal."""
    width = max(40, min(120, shutil.get_terminal_size((100, 24)).columns))
    lines = textwrap.wrap(
        text, width, initial_indent=" " * indent, subsequent_indent=" " * (indent + hanging), break_on_hyphens=False
    )
    return lines or [""]


def page(found: dict[str, list[Entry]], name: str) -> str:
    """Tell everything about one thing; raises `InputError` if there is none of that name."""
    entries = {entry["name"]: entry for kind in found.values() for entry in kind}
    entry = entries[one_of("list", name, list(entries))]
    parts = [entry.get("prose") or entry["about"]]
    if entry.get("parameters"):
        parts.append("Parameters\n" + "\n".join(line for each in entry["parameters"] for line in parameter_lines(each)))
    return "\n\n".join(parts)


def parameter_lines(parameter: Entry) -> list[str]:
    """Draw one parameter: its default and range, where it has them, and what it means."""
    setting = ""
    if "default" in parameter:
        bounds = "" if parameter["lowest"] == "false" else f", {parameter['lowest']} to {parameter['highest']}"
        setting = f" = {parameter['default']}{bounds}"
    return wrapped(f"{parameter['name']}{setting}: {parameter['about']}", 2, 4)
