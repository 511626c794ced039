"""The catalogue of mechanisms, queue disciplines, link models, scenarios, papers and suites."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired, TypedDict, final

from unbloat import _core
from unbloat._core import InputError
from unbloat.scenarios.keys import Takes
from unbloat.scenarios.source import source_of
from unbloat.system.core_types import Mechanism, Parameter, ScenarioKey
from unbloat.system.paths import ALGORITHMS, PAPERS, SCENARIOS, SUITES


@final
class OfTable(Takes):
    """A key of the table of a queue or of a link's impairment."""

    name: str
    about: str


@final
class BesideTable(TypedDict):
    """A key beside the table of a link's impairment."""

    name: str
    about: str


class Entry(TypedDict):
    """A scenario, a mechanism, a discipline, a model of a link, a paper or a suite."""

    name: str
    about: str
    """A line about it."""
    prose: NotRequired[str]
    parameters: NotRequired[Sequence[Parameter | OfTable | BesideTable]]


QUEUES = {"droptail": "first in, first out; a packet that finds the queue full is dropped; marks ECN above a threshold"}
LINKS = {
    "rate": "a transmitter of constant rate",
    "trace": "recorded delivery opportunities, as of a cellular link",
    "wifi": "the air of a Wi-Fi cell, which an access point and its stations share frame by frame",
    "mesh": "the air of a mesh of IEEE 802.15.4 radios, whose nodes forward packets along a tree",
    "lte": "an LTE cell, whose base station divides subframes among its users and repeats what was not decoded",
}
OF_MEMBERS = {"wifi": ("signal", "phy_rate", "frame_errors"), "lte": ("snr", "cqi")}
"""Keys of a link that say how the station or the user of a cell transmits, by the kind of the cell."""
IMPAIRMENTS = (
    "rates",
    "outages",
    "loss",
    "jitter",
    "reorder",
    "duplicate",
    "policer",
    "delays",
    "handover",
    "slot",
    "script",
)
"""Keys of a link that are models too, as the scenario reader's own schema describes them."""


def catalogue() -> dict[str, Sequence[Entry | Mechanism]]:
    """List everything that there is by kind, each with its name, a line about it, and its parameters if it has some."""
    keys = _core.scenario_keys()
    return {
        "scenarios": scenarios(),
        "congestion_controls": _core.mechanisms(ALGORITHMS),
        "window_controllers": _core.window_controllers(ALGORITHMS),
        "classifiers": _core.classifiers(ALGORITHMS),
        "queues": queues(keys),
        "links": links(keys),
        "papers": papers(),
        "suites": suites(),
    }


def queues(keys: Sequence[ScenarioKey]) -> list[Entry]:
    """List the queue disciplines, from the scenario reader's own schema."""
    kinds = {key["section"]: key for key in keys if key["name"] == "kind"}
    of_queues = kinds["queue"]["kind"]
    disciplines = of_queues["choice"] if isinstance(of_queues, dict) else []
    sections = {name: "queue" if name in QUEUES else name for name in disciplines}
    return [
        {
            "name": name,
            "about": QUEUES.get(name, kinds[section]["meaning"]),
            "parameters": table_keys(keys, section),
        }
        for name, section in sections.items()
    ]


def links(keys: Sequence[ScenarioKey]) -> list[Entry]:
    """List the models of links: transmitters, and what may impair either direction."""
    of_links = table_keys(keys, "link.NAME")
    transmitters: list[Entry] = [
        {
            "name": name,
            "about": about,
            "parameters": table_keys(keys, f"{name}.NAME")
            + [key for key in of_links if key["name"] in OF_MEMBERS.get(name, ())],
        }
        for name, about in LINKS.items()
    ]
    own = {key["name"]: key["meaning"] for key in keys if key["section"] == "link.NAME"}
    impairments: list[Entry] = []
    for name in IMPAIRMENTS:
        beside: list[BesideTable] = [
            {"name": key, "about": about} for key, about in own.items() if key.startswith(f"{name}_")
        ]
        impairments.append({"name": name, "about": own[name], "parameters": [*beside, *table_keys(keys, name)]})
    return transmitters + impairments


def table_keys(keys: Sequence[ScenarioKey], section: str) -> list[OfTable]:
    """List what the table of a queue, or of a link's impairment, may hold."""
    own = [key for key in keys if key["section"] == section and key["name"] != "kind"]
    return [
        {
            "name": key["name"],
            "about": key["meaning"],
            "kind": key["kind"],
            "range": key["range"],
            "absence": key["absence"],
        }
        for key in own
    ]


def scenarios() -> list[Entry]:
    """List the shipped scenarios, each described by the comment that opens its file."""
    return [
        {"name": file.stem, "about": opening_comment(file.read_text())}
        for file in sorted(SCENARIOS.glob("*.toml"), key=_stem)
    ]


def _stem(file: Path) -> str:
    return file.stem


def control(file: Path) -> Mechanism:
    """Describe a user's congestion control, as the core describes shipped ones.

    The core reads a folder with controls and the contract's headers, so the file gets its own folder. Its includes are
    looked for beside the file. Raises `InputError` if it does not compile.
    """
    import tempfile  # Half of what it takes to list everything.

    name = file.name.removesuffix(".c").removesuffix(".bpf")
    with tempfile.TemporaryDirectory(prefix="unbloat-show-") as temporary:
        folder = Path(temporary)
        (folder / "include").symlink_to(ALGORITHMS / "include")
        (folder / "congestion").mkdir()
        for beside in file.absolute().parent.iterdir():
            if not beside.name.endswith(".bpf.c"):
                (folder / "congestion" / beside.name).symlink_to(beside)
        place = folder / "congestion" / f"{name}.bpf.c"
        place.symlink_to(file.absolute())
        try:
            (found,) = _core.mechanisms(folder)
        except InputError as error:
            raise InputError(str(error).replace(str(place), str(file))) from None
    return found


def control_files(control: str) -> list[Path]:
    """List the files that a congestion control of the user's is written in, headers beside it included."""
    (point,) = trial(control)
    return point.sources(ALGORITHMS)


def trial(control: str, overrides: Mapping[str, object] | None = None) -> list[_core.GridPoint]:
    """Return a short run to try a congestion control: two flows over a link that drops packets of both."""
    from unbloat.scenarios.source import as_toml

    pairs = [(key, as_toml(value, key)) for key, value in (overrides or {}).items()]
    return _core.parse(trial_text(control), Path.cwd(), pairs)


def trial_text(control: str) -> str:
    """Write that run as a scenario's text."""
    if "/" not in control and Path(control.partition("#")[0]).is_file():
        control = f"./{control}"
    return f"{TRIAL}cc = {json.dumps(control)}\n"


TRIAL = """\
duration = "500ms"
[link.bottleneck]
rate = "5mbit"
delay = "5ms"
queue = { limit = "10p" }
[[flows]]
count = 2
"""


def opening_comment(text: str) -> str:
    """Join the comment lines at the top of a file; two blanks separate its paragraphs."""
    words = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        words.append(line.lstrip("# "))
    return " ".join(words)


def papers() -> list[Entry]:
    """List the papers that can be repeated."""
    entries: list[Entry] = []
    for file in sorted(PAPERS.glob("*/published.toml")):
        paper = _head_of(file, "paper")
        about = f"{paper['title']} ({paper['authors']}; {paper['where']})"
        entries.append({"name": file.parent.name, "about": about})
    return entries


def suites() -> list[Entry]:
    """List the suites of criteria."""
    heads = ((file.parent.name, _head_of(file, "suite")) for file in sorted(SUITES.glob("*/suite.toml")))
    return [{"name": name, "about": f"{head['title']} ({head['source']})"} for name, head in heads]


def _head_of(file: Path, table: str) -> dict[str, str]:
    """Read a table of a TOML file; the rest, which is long, only if that table is not the first."""
    text = file.read_text(encoding="utf-8")
    first = re.split(rf"^\[(?!{table}\])", text, maxsplit=1, flags=re.MULTILINE)[0]
    head: dict[str, str] | None = tomllib.loads(first).get(table)
    return head or dict(tomllib.loads(text)[table])


TOP = ("duration", "warmup", "seed", "profile", "emulator")

Row = dict[str, str]
"""A part of a scenario: its `name`, and its settings by their keys."""


def summary(file: Path) -> dict[str, Any]:
    """Summarise a scenario file; raises `InputError` for any other file."""
    points = source_of(file).points()
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        "title": points[0].name,
        "grid_points": len(points),
        "run": [row("", {key: data[key] for key in TOP if key in data})],
        "links": [
            *(row(f"wifi.{name}", table) for name, table in data.get("wifi", {}).items()),
            *(row(name, table) for name, table in data["link"].items()),
        ],
        "flows": [row(f"flows.{number}", table) for number, table in enumerate(data["flows"])],
        "axes": [{"name": axis, "labels": ", ".join(labels)} for axis, labels in _axes(points[0].axes, points).items()],
    }


def _axes(names: list[tuple[str, str]], points: list[Any]) -> dict[str, list[str]]:
    return {name: list(dict.fromkeys(dict(point.axes)[name] for point in points)) for name, _ in names}


def row(name: str, table: Mapping[str, Any]) -> Row:
    """Write a table's settings, those of tables within under dotted keys."""
    return {"name": name, **dict(_settings(table, ""))}


def _settings(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{before}{key}.")
        elif isinstance(value, list):
            yield f"{before}{key}", f"({len(value)})" if value and isinstance(value[0], Mapping) else ", ".join(value)
        else:
            yield f"{before}{key}", str(value).lower() if isinstance(value, bool) else str(value)
