"""`unbloat list`, `unbloat show` and `unbloat keys`: what there is, and everything about one thing."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import JsonOption, catalogue_names
from unbloat.cli.terminal import say, say_json, tell, wrapped
from unbloat.scenarios.checks import did_you_mean
from unbloat.scenarios.keys import absence_of, keys_of, kind_of
from unbloat.system.core_types import Mechanism, Parameter, ScenarioKey
from unbloat.system.renamed import kind_of_today

if TYPE_CHECKING:
    from unbloat.scenarios.catalogue import BesideTable, Entry, OfTable

Thing = dict[str, Any]
"""An entry of the catalogue with its `kind` and `path`, and what a scenario or a paper has besides."""

TITLES = {
    "scenarios": "scenarios",
    "congestion_controls": "congestion controls",
    "window_controllers": "window controllers",
    "classifiers": "classifiers",
    "queues": "queue disciplines",
    "links": "link models",
    "papers": "papers",
    "suites": "suites",
}
"""The kinds of the catalogue, with what their sections are called."""


def word_of(kind: str) -> str:
    """Return the word of a command line for a kind of the catalogue."""
    return kind.replace("_", "-")


KINDS = {word_of(kind): kind for kind in TITLES}
"""The kinds of the catalogue by their words on the command line."""

LIST_EXAMPLES = """\
unbloat list
unbloat list scenarios"""
SHOW_EXAMPLES = """\
unbloat show home-dsl
unbloat show ./mine.bpf.c
cp "$(unbloat show --path reno)" mine.bpf.c"""
KEYS_EXAMPLES = """\
unbloat keys
unbloat keys flows
unbloat keys link.bottleneck.rate"""

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        help="A name from `unbloat list`, a scenario file, or a .bpf.c file.",
        autocompletion=catalogue_names,
        show_default=False,
    ),
]


# ---------------------------------------------------------------- unbloat list


def list_command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help=f"List only one kind: {', '.join(KINDS)}.",
            autocompletion=lambda incomplete: [kind for kind in KINDS if kind.startswith(incomplete)],
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List scenarios, congestion controls, window controllers, classifiers, queues, links, papers, suites.

    `unbloat show NAME` describes one of them, with its parameters.
    """
    from unbloat.scenarios.catalogue import catalogue

    chosen = None if kind is None else KINDS.get(word_of(kind_of_today(kind)))
    if kind is not None and chosen is None:
        names = [entry["name"] for entries in catalogue().values() for entry in entries]
        more = f"; `unbloat show {kind}` shows it" if kind in names else did_you_mean(kind, [*KINDS, *names])
        raise InputError(f"list: unknown kind {kind}{more}; valid: {', '.join(KINDS)}")
    say_what_compiles()
    found = catalogue() if chosen is None else {chosen: catalogue()[chosen]}
    say_json(found) if as_json else say(screen(found))


def say_what_compiles() -> None:
    """Tell why it takes some seconds the first time: what mechanisms say of themselves is in their compiled files."""
    from unbloat.system.paths import ALGORITHMS, cache_folder

    kept: list[Path] = []
    with suppress(InputError, OSError):
        kept = list(cache_folder("mechanisms").iterdir())
    if len(kept) < len(list(ALGORITHMS.glob("*/*.bpf.c"))):
        tell("compiles the mechanisms that come along; this takes some seconds, once")


def screen(found: Mapping[str, Sequence[Entry | Mechanism]]) -> str:
    """Draw the catalogue as text: a section for each kind that has something, a line for each thing."""
    names = max(len(entry["name"]) for entries in found.values() for entry in entries)
    sections = [
        "\n".join(
            [TITLES[kind], *(f"  {entry['name']:{names}}  {in_short(entry['about'], names + 4)}" for entry in entries)]
        )
        for kind, entries in found.items()
        if entries
    ]
    return "\n\n".join([*sections, "`unbloat show NAME` shows all about one of them."])


def in_short(about: str, taken: int) -> str:
    """Return as much of a line about a thing as fits beside what is taken."""
    width = max(40, min(120, shutil.get_terminal_size((100, 24)).columns)) - taken
    return textwrap.shorten(about, width, placeholder=" ...")


# ---------------------------------------------------------------- unbloat show


def show_command(
    name: NameArgument,
    as_path: Annotated[bool, typer.Option("--path", help="Print only the path of its file or folder.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one of them: its file, its parameters, its flows."""
    if as_path:
        say("\n".join(str(thing["path"]) for thing in things(name) if thing["path"]))
    else:
        show_things(name, as_json)


def show_things(name: str, as_json: bool) -> None:
    """Print all that has this name."""
    found = things(name)
    say_json({"things": found}) if as_json else say("\n\n".join(map(page, found)))


def things(name: str) -> list[Thing]:
    """Describe everything of this name, the congestion control first; raises `InputError` if there is nothing."""
    if Path(name).is_file():
        return [from_file(Path(name))]
    from unbloat.scenarios.catalogue import catalogue

    say_what_compiles()
    found = catalogue()
    named = [(kind, entry) for kind, entries in found.items() for entry in entries if entry["name"] == name]
    if not named:
        names = [entry["name"] for entries in found.values() for entry in entries]
        raise InputError(f"{name}: no such file, and no such name in `unbloat list`{did_you_mean(name, names)}")
    return [described(kind, entry) for kind, entry in named]


def from_file(file: Path) -> Thing:
    """Describe a file of the user's: a congestion control, or a scenario."""
    if file.suffix == ".c":
        from unbloat.scenarios.catalogue import control

        return {"kind": "congestion_controls", "path": str(file), **control(file)}
    return {"kind": "scenarios", "name": file.stem, "path": str(file), **scenario_of(file)}


def described(kind: str, entry: Entry | Mechanism) -> Thing:
    """Add to an entry of the catalogue what it is, and where."""
    from unbloat.system.paths import ALGORITHMS, PAPERS, SCENARIOS, SUITES

    paths = {
        "congestion_controls": ALGORITHMS / "congestion" / f"{entry['name']}.bpf.c",
        "window_controllers": ALGORITHMS / "window" / f"{entry['name']}.bpf.c",
        "classifiers": ALGORITHMS / "classify" / f"{entry['name']}.bpf.c",
        "scenarios": SCENARIOS / f"{entry['name']}.toml",
        "papers": PAPERS / entry["name"],
        "suites": SUITES / entry["name"],
    }
    path = paths.get(kind)
    more = INSIDE[kind](path) if path and kind in INSIDE else {}
    return {"kind": kind, "path": str(path.resolve()) if path else None, **entry, **more}


def paper_at(folder: Path) -> Thing:
    """Describe a paper: its answer, the names of its parts, its main claims, and what it takes to repeat it."""
    from unbloat.papers.batches import batches_of
    from unbloat.papers.paper import flowing
    from unbloat.papers.read import load

    paper = load(folder)
    points = [point for batch in batches_of(paper) for point in batch.points()]
    main = [claim for each in paper.statements for claim in each.claims if claim.main]
    return {
        "answer": {"Mechanism": flowing(paper.answer.mechanism), **paper.answer.said()} if paper.answer else {},
        "parts": paper.starts(),
        "main claims": [{"name": claim.id, "says": claim.says} for claim in main],
        "ids": paper.ids(),
        "cost": {
            "grid_points": len(points),
            "simulated_s": sum(point.duration_s for point in points),
            "most_repeats": paper.seeds,
        },
    }


def suite_at(folder: Path) -> Thing:
    """Describe a suite: its criteria, and the mechanisms that it judges."""
    from unbloat.suites.suite import suite_of

    suite = suite_of(folder)
    return {
        "judges": suite.content.suite.judges,
        "criteria": [{"name": each.id, "says": each.title, "source": each.source} for each in suite.criteria],
    }


def suite_lines(thing: Thing) -> list[str]:
    """Draw the criteria of a suite."""
    criteria = [line for each in thing["criteria"] for line in wrapped(f"{each['name']}: {each['says']}", 2, 4)]
    return [
        "\n".join(["Judges", *wrapped(", ".join(f"{each}s" for each in thing["judges"]), 2)]),
        "\n".join(["Criteria (judge --criterion)", *criteria]),
    ]


def paper_lines(thing: Thing) -> list[str]:
    """Draw a paper's answer, the names of its parts, and what they take."""
    cost = thing["cost"]
    takes = (
        f"{cost['grid_points']} grid points of {cost['simulated_s']:,.0f} s in all, "
        f"each {cost['most_repeats']} times at most"
    )
    claims = [line for each in thing["main claims"] for line in wrapped(f"{each['name']}: {each['says']}", 2, 4)]
    answer = [line for term, said in thing["answer"].items() for line in wrapped(f"{term}: {said}", 2, 4)]
    return [
        *(["\n".join(["Answer", *answer])] if answer else []),
        "\n".join(["Parts (reproduce --table)", *wrapped(", ".join(thing["parts"]), 2)]),
        *(["\n".join(["Main statements (reproduce --claim)", *claims])] if claims else []),
        "\n".join(["Numbers and statements (reproduce --claim)", *wrapped(", ".join(thing["ids"]), 2)]),
        "\n".join(["Takes", *wrapped(takes, 2)]),
    ]


def scenario_of(file: Path) -> Thing:
    """Describe a scenario: its grid, its links and its groups of flows."""
    from unbloat.scenarios.catalogue import opening_comment, summary

    return {"about": opening_comment(file.read_text()), **summary(file)}


INSIDE: dict[str, Callable[[Path], Thing]] = {"scenarios": scenario_of, "papers": paper_at, "suites": suite_at}
"""Functions that describe the contents of a kind's files."""


def page(thing: Thing) -> str:
    """Describe one thing completely."""
    kind = TITLES[thing["kind"]].removesuffix("s")
    head = [f"{thing['name']} · {kind}", *([thing["path"]] if thing["path"] else [])]
    parts = ["\n".join(head), thing.get("prose") or "\n".join(wrapped(thing["about"], 0))]
    if thing.get("parameters"):
        parts.append(
            "\n".join(["Parameters", *(line for each in thing["parameters"] for line in parameter_lines(each))])
        )
    if thing["kind"] == "papers":
        parts += paper_lines(thing)
    if thing["kind"] == "suites":
        parts += suite_lines(thing)
    for title in ("run", "links", "flows", "axes"):
        if thing.get(title):
            parts.append("\n".join([title.capitalize(), *(line for row in thing[title] for line in row_lines(row))]))
    return "\n\n".join(parts)


def row_lines(row: Mapping[str, Any]) -> list[str]:
    """Write a part of a scenario on a line: what it is called, and its settings."""
    name = f"{row['name']}: " if row["name"] else ""
    return wrapped(name + ", ".join(f"{key} {value}" for key, value in row.items() if key != "name"), 2, 4)


def parameter_lines(parameter: Parameter | OfTable | BesideTable) -> list[str]:
    """Draw one parameter: its default and range, where it has them, and what it means."""
    setting = ""
    if "default" in parameter:
        bounds = "" if parameter["lowest"] == "false" else f", {parameter['lowest']} to {parameter['highest']}"
        setting = f" = {parameter['default']}{bounds}"
    elif "absence" in parameter:
        setting = f" ({kind_of(parameter)}; {absence_of(parameter)})"
    return wrapped(f"{parameter['name']}{setting}: {parameter['about']}", 2, 4)


# ---------------------------------------------------------------- unbloat keys


def sections(incomplete: str) -> list[str]:
    """List the sections of the scenario file."""
    names = dict.fromkeys(key["section"] for key in _core.scenario_keys())
    return [name for name in names if name.startswith(incomplete)]


def keys_command(
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION|KEY",
            help="List only one section or key: flows, queue, link.bottleneck.rate, ...",
            autocompletion=sections,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the keys of a scenario file: values, defaults, meanings."""
    chosen = keys_of(section) if section else _core.scenario_keys()
    if as_json:
        say_json({"keys": chosen})
        return
    more = [] if section else ["`unbloat keys SECTION` and `unbloat keys KEY` also show ranges and choices."]
    say("\n\n".join([keys_screen(chosen, detailed=section is not None), *more]))


def keys_screen(chosen: Iterable[ScenarioKey], *, detailed: bool) -> str:
    """Draw keys by their sections."""
    by_section: dict[str, list[ScenarioKey]] = {}
    for key in chosen:
        by_section.setdefault(key["section"], []).append(key)
    parts = []
    for section, inside in by_section.items():
        title = f"[{section}]" if section else "at the top"
        parts.append("\n".join([title, *(line for key in inside for line in key_lines(key, detailed))]))
    return "\n\n".join(parts)


def key_lines(key: ScenarioKey, detailed: bool) -> list[str]:
    """Draw one key."""
    if not detailed:
        return wrapped(f"{key['name']} ({value_of(key)}): {key['meaning']}", 2, 4)
    return wrapped(f"{key['name']} ({kind_of(key)}; {absence_of(key)}): {key['meaning']}", 2, 4)


EXAMPLES_OF_KINDS = {
    "rate": "10mbit",
    "time": "10ms",
    "size": "64kb",
    "limit": "100p, 64kb or 1bdp",
    "share": "1%",
    "frequency": "5/s",
    "drift": "10ppm",
    "signal": "-70dbm",
    "flag": "true or false",
    "start": "1s or 0s..1s",
}
"""A value of each kind that has a unit."""


def value_of(key: ScenarioKey) -> str:
    """Show a value that a key may have, and its default or that it is required."""
    absence = key["absence"]
    default = absence.get("default") if isinstance(absence, dict) else None
    kind = key["kind"] if isinstance(key["kind"], str) else next(iter(key["kind"]))
    said = absence if isinstance(absence, str) else f"default {default}" if default is not None else ""
    return ", ".join(filter(None, [EXAMPLES_OF_KINDS.get(kind, kind), said]))
