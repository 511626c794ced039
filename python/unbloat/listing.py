"""What there is to run: mechanisms, queue disciplines, link models, scenarios, papers."""

from __future__ import annotations

import json
import shutil
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat.places import PAPERS, SCENARIOS

Entry = dict[str, Any]
"""A thing's `name`, a line `about` it, and where it has them its `parameters`."""

QUEUES = {"droptail": "first in, first out; what finds the queue full is dropped; marks ECN above a threshold"}
LINKS = {"rate": "a transmitter of constant rate", "trace": "recorded delivery opportunities, as of a cellular link"}
TITLES = {
    "queues": "queue disciplines",
    "links": "link models",
    "scenarios": "scenarios",
    "papers": "papers",
}


def catalogue() -> dict[str, list[Entry]]:
    """Give everything that there is by kind, each with its name and a line about it."""
    keys = json.loads(_core.scenario_keys())
    return {
        "queues": [{"name": name, "about": about, "parameters": queue_keys(keys)} for name, about in QUEUES.items()],
        "links": [{"name": name, "about": about, "parameters": []} for name, about in LINKS.items()],
        "scenarios": scenarios(),
        "papers": papers(),
    }


def queue_keys(keys: list[Entry]) -> list[Entry]:
    """Give what a queue's table may hold, from the scenario reader's own register."""
    own = [key for key in keys if key["section"] == "queue" and key["name"] != "kind"]
    return [{"name": key["name"], "about": key["meaning"]} for key in own]


def scenarios() -> list[Entry]:
    """Give the scenarios that come along; the comment that opens a file says what it is."""
    return [{"name": file.stem, "about": opening_comment(file)} for file in sorted(SCENARIOS.glob("*.toml"))]


def opening_comment(file: Path) -> str:
    """Join the comment lines at the top of a file."""
    words = []
    for line in file.read_text().splitlines():
        if not line.startswith("#"):
            break
        words.append(line.lstrip("# "))
    return " ".join(words)


def papers() -> list[Entry]:
    """Give the papers that can be repeated."""
    entries = []
    for file in sorted(PAPERS.glob("*/published.toml")):
        paper = tomllib.loads(file.read_text())["paper"]
        about = f"{paper['title']} ({paper['authors']}; {paper['where']})"
        entries.append({"name": file.parent.name, "about": about})
    return entries


def screen(found: dict[str, list[Entry]]) -> str:
    """Draw the catalogue as text, a section for each kind that has something."""
    width = shutil.get_terminal_size((100, 24)).columns
    names = max(len(entry["name"]) for entries in found.values() for entry in entries)
    sections = []
    for kind, entries in found.items():
        lines = [line for entry in entries for line in entry_lines(entry, names, width)]
        if lines:
            sections.append("\n".join([TITLES[kind], *lines]))
    return "\n\n".join(sections)


def entry_lines(entry: Entry, names: int, width: int) -> list[str]:
    """Draw one entry: its name, the line about it, its parameters under it."""
    indent = " " * (names + 4)
    lines = textwrap.wrap(entry["about"], max(40, width), initial_indent=indent, subsequent_indent=indent)
    lines = lines or [indent]
    lines[0] = f"  {entry['name']:{names}}  {lines[0][len(indent) :]}".rstrip()
    for parameter in entry.get("parameters", []):
        text = f"{parameter['name']}: {parameter['about']}"
        lines += textwrap.wrap(text, max(40, width), initial_indent=indent + "  ", subsequent_indent=indent + "    ")
    return lines
