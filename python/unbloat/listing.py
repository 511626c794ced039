"""What there is to run: mechanisms, queue disciplines, link models, scenarios, papers."""

from __future__ import annotations

import json
import shutil
import textwrap
import tomllib
from pathlib import Path
from typing import Any

from unbloat import _core
from unbloat.places import ALGORITHMS, PAPERS, SCENARIOS
from unbloat.results import one_of

Entry = dict[str, Any]
"""A thing's `name`, a line `about` it, and where it has them its `parameters`."""

QUEUES = {"droptail": "first in, first out; what finds the queue full is dropped; marks ECN above a threshold"}
LINKS = {"rate": "a transmitter of constant rate", "trace": "recorded delivery opportunities, as of a cellular link"}
IMPAIRMENTS = ("rates", "outages", "loss", "jitter", "reorder", "duplicate")
"""Keys of a link that are models too, as the scenario reader's own register describes them."""
TITLES = {
    "mechanisms": "congestion controls",
    "queues": "queue disciplines",
    "links": "link models",
    "scenarios": "scenarios",
    "papers": "papers",
}


def catalogue() -> dict[str, list[Entry]]:
    """Give everything that there is by kind, each with its name and a line about it."""
    keys = json.loads(_core.scenario_keys())
    return {
        "mechanisms": json.loads(_core.mechanisms(ALGORITHMS)),
        "queues": queues(keys),
        "links": links(keys),
        "scenarios": scenarios(),
        "papers": papers(),
    }


def queues(keys: list[Entry]) -> list[Entry]:
    """Give the queue disciplines, from the scenario reader's own register."""
    kinds = {key["section"]: key for key in keys if key["name"] == "kind"}
    disciplines = kinds["queue"]["kind"]["choice"]
    sections = {name: "queue" if name in QUEUES else name for name in disciplines}
    return [
        {
            "name": name,
            "about": QUEUES.get(name, kinds[section]["meaning"]),
            "parameters": table_keys(keys, section),
        }
        for name, section in sections.items()
    ]


def links(keys: list[Entry]) -> list[Entry]:
    """Give the models of links: transmitters, and what may impair either direction."""
    transmitters: list[Entry] = [{"name": name, "about": about, "parameters": []} for name, about in LINKS.items()]
    own = {key["name"]: key["meaning"] for key in keys if key["section"] == "link.NAME"}
    impairments: list[Entry] = []
    for name in IMPAIRMENTS:
        beside = [{"name": key, "about": about} for key, about in own.items() if key.startswith(f"{name}_")]
        parameters = beside + table_keys(keys, name)
        impairments.append({"name": name, "about": own[name], "parameters": parameters})
    return transmitters + impairments


def table_keys(keys: list[Entry], section: str) -> list[Entry]:
    """Give what the table of a queue, or of a link's impairment, may hold."""
    own = [key for key in keys if key["section"] == section and key["name"] != "kind"]
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
