"""Arguments and options that several commands have, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unbloat._core import LINUX, InputError
from unbloat.system import paths
from unbloat.system.machine import Ended

if TYPE_CHECKING:
    from unbloat.api.results import Results

WORD = re.compile(r"[A-Za-z_][\w./:-]*")
WHAT, WHERE, OUTPUT = "What is run", "Where and how", "What comes out"
"""Headings of options."""


# ---------------------------------------------------------------- Completion of names


def scenario_names(incomplete: str) -> list[str]:
    """List the shipped scenarios."""
    return [name for name in paths.scenario_names() if name.startswith(incomplete)]


def paper_names(incomplete: str) -> list[str]:
    """List the shipped papers."""
    return [name for name in paths.paper_names() if name.startswith(incomplete)]


def control_names(incomplete: str) -> list[str]:
    """List the shipped congestion controls, after those that were typed already."""
    return _behind_commas(paths.mechanism_names("congestion"), incomplete)


def window_controller_names(incomplete: str) -> list[str]:
    """List the shipped window controllers, after those that were typed already."""
    return _behind_commas(paths.mechanism_names("window"), incomplete)


def key_names(incomplete: str) -> list[str]:
    """List the scenario's keys as `--set` takes them, for its first group of flows and the shared link."""
    from unbloat import _core

    below = {"": "", "link.NAME": "link.bottleneck.", "link.NAME.reverse": "link.bottleneck.reverse."}
    below |= {"queue": "link.bottleneck.queue.", "flows": "flows.0.", "access": "flows.0.access."}
    below |= {"profile": "profile.", "loss": "link.bottleneck.loss."}
    keys = [key for key in _core.scenario_keys() if key["section"] in below]
    names = [f"{below[key['section']]}{key['name']}=" for key in keys]
    return [name for name in names if name.startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """List the metrics, after those that were typed already."""
    from unbloat.results.metrics import BY_KEY

    return _behind_commas(BY_KEY, incomplete)


def plot_kinds(incomplete: str) -> list[str]:
    """List the kinds of pictures, after those that were typed already."""
    from unbloat.report.figures.kinds import KINDS, SHORT

    return _behind_commas((*KINDS, *SHORT), incomplete)


MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metrics",
        metavar="NAME,...",
        help="Metrics of the table, such as goodput,queue_delay_p95. Files and JSON contain every metric.",
        autocompletion=metric_names,
        rich_help_panel=OUTPUT,
    ),
]


def _behind_commas(names: Iterable[str], incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def catalogue_names(incomplete: str) -> list[str]:
    """List the names of everything in the catalogue."""
    from unbloat.scenarios.catalogue import catalogue

    names = [entry["name"] for entries in catalogue().values() for entry in entries]
    return [name for name in names if name.startswith(incomplete)]


# ---------------------------------------------------------------- What is run

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario file, or the name of one from `unbloat list`.",
        autocompletion=scenario_names,
        show_default=False,
    ),
]
RESULTS = "Results: a folder that `-o` wrote, a parent of several, or a file with the output of `--json`."
ResultsArgument = Annotated[Path, typer.Argument(metavar="RESULTS", help=RESULTS, show_default=False)]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="AXIS=LABEL,...",
        help="Use only the grid points with these labels of an axis, such as cc=cubic,vegas. Repeat it for more axes.",
    ),
]
ControlOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cc",
        "-C",
        metavar="NAME|FILE,...",
        help="Congestion control of every flow: a name, or your own .bpf.c file. Several give one run each.",
        autocompletion=control_names,
        rich_help_panel=WHAT,
    ),
]
WindowControllerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--window-controller",
        metavar="NAME|FILE,...",
        help="Window controller of every receiver: a name or a file. Several give one run each.",
        autocompletion=window_controller_names,
        rich_help_panel=WHAT,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the scenario (`unbloat keys` lists them), or an axis: sweep.KEY=[...].",
        autocompletion=key_names,
        rich_help_panel=WHAT,
    ),
]
RttOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rtt",
        metavar="TIME,...",
        help="Round-trip time of the empty path, such as 40ms. Several give one run each.",
        rich_help_panel=WHAT,
    ),
]
DurationOption = Annotated[
    str | None,
    typer.Option("-t", "--duration", metavar="TIME", help="Duration of each run, such as 30s.", rich_help_panel=WHAT),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="Seed of all random draws.", rich_help_panel=WHAT)
]

IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "-I",
        "--include",
        metavar="DIR",
        help="Add a folder to the search path for headers of your own .bpf.c files, like a compiler's -I.",
        rich_help_panel=WHAT,
    ),
]
DefineOption = Annotated[
    list[str] | None,
    typer.Option(
        "-D",
        "--define",
        metavar="NAME[=VALUE]",
        help="Define a macro for your own .bpf.c files, like a compiler's -D.",
        rich_help_panel=WHAT,
    ),
]


def compile_keys(include: Sequence[str] | None, define: Sequence[str] | None) -> dict[str, object]:
    """Return the keys of a scenario that `-I` and `-D` stand for."""
    keys = {"compile.include": include, "compile.define": define}
    return {key: list(values) for key, values in keys.items() if values}


def assigned(assignments: Sequence[str] | None) -> dict[str, object]:
    """Collect the keys that `--set` names."""
    return {key: quoted(key, value) for key, value in map(_assignment, assignments or [])}


def quoted(key: str, value: str) -> str:
    """Return the value of `--set`; raises `InputError` for a list or a table of names without quotes."""
    words = [word.strip() for word in value.strip("[] ").split(",")]
    is_list = value.startswith("[") and value.endswith("]")
    if value.startswith("{"):
        refuse_no_table(key, value)
    if is_list and all(WORD.fullmatch(word) for word in words) and not {*words} <= {"true", "false", "inf", "nan"}:
        right = ", ".join(f'"{word}"' for word in words)
        raise InputError(f"--set {key}={value}: names in a list need quotes: --set '{key}=[{right}]'")
    return value


def refuse_no_table(key: str, value: str) -> None:
    """Raise `InputError` for text that begins like a table and is not valid, and offer a valid table."""
    import tomllib

    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError as error:
        what = str(error).partition(" (at ")[0]
        right = re.sub(r"(=\s*)([A-Za-z_][\w./:-]*)(?=\s*[,}])", r'\1"\2"', value)
        try:
            tomllib.loads(f"value = {right}")
        except tomllib.TOMLDecodeError:
            right = ""
        hint = (
            f": names need quotes: --set '{key}={right}'" if right else ', which is written {name = "text", other = 1}'
        )
        raise InputError(f"--set {key}={value}: is not a table in TOML ({what}){hint}") from None


def chosen(results: Results, only: Sequence[str] | None) -> Results:
    """Pick the grid points of results that `--only` names."""
    wanted = labels_in(only)
    return results.only(wanted) if wanted else results


def labels_in(only: Sequence[str] | None) -> dict[str, list[str]]:
    """Collect the labels by axes that `--only` names."""
    wanted: dict[str, list[str]] = {}
    for text in only or []:
        axis, labels = split_pair(text, "--only", "AXIS=LABEL,...", "cc=cubic,vegas")
        wanted.setdefault(axis, []).extend(listed([labels], "--only"))
    return wanted


def _assignment(text: str) -> tuple[str, str]:
    """Split a key and its value; a key needs no quotes here, unlike in a file."""
    key, value = split_pair(text, "--set", "KEY=VALUE", "link.bottleneck.rate=10mbit")
    bare = key.replace('"', "").replace("'", "")
    if bare != key:
        raise InputError(f"--set: {key} has quotes in the key; leave them out: {bare}=VALUE")
    return key, value


def split_pair(text: str, option: str, form: str, example: str) -> tuple[str, str]:
    """Split the text of an option of the form NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InputError(f"{option}: {text} is not {form}, such as {example}")
    return name.strip(), value.strip()


def metrics_listed(names: Sequence[str] | None) -> list[str]:
    """Split what `--metrics` was given; raises `InputError` for an unknown one."""
    from unbloat.results.metrics import metric_named

    return [metric_named(name).key for name in listed(names, "--metrics")]


def listed(texts: Sequence[str] | None, option: str) -> list[str]:
    """Split lists at commas, except in the name of a file that exists."""
    values: list[str] = []
    for text in texts or []:
        values += [text] if Path(text).is_file() else [value.strip() for value in text.split(",")]
    if "" in values:
        raise InputError(f'{option}: a name is missing before or after a comma in "{",".join(values)}"')
    return values


# ---------------------------------------------------------------- Where and how

OnOption = Annotated[
    Literal["simulator", "sim", "kernel", "vm"],
    typer.Option(
        "--on",
        metavar="sim|kernel|vm",
        help="sim: the simulator. kernel: this kernel's TCP over emulated links, as root. vm: a stock kernel's TCP in "
        "a guest, without root. (default: sim)",
        show_default=False,
        rich_help_panel=WHERE,
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="RELEASE|FILE",
        help=f"Kernel for --on vm: a release such as 6.1, or an image. Default: {LINUX}, if your distribution has it.",
        rich_help_panel=WHERE,
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N",
        min=1,
        help="Number of processes. Default: one for each core; one with --on kernel, where runs disturb each other.",
        rich_help_panel=WHERE,
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="--cache also reuses finished runs of --on kernel, if code and kernel are unchanged. --no-cache runs "
        "everything again and stores nothing.",
        show_default=False,
        rich_help_panel=WHERE,
    ),
]


@contextmanager
def keeping_runs(cache: bool | None) -> Iterator[None]:
    """Add a note on cached runs to an interruption, if the cache has any."""
    try:
        yield
    except (KeyboardInterrupt, Ended) as end:
        if cache is not False:
            end.add_note("finished runs are cached")
        raise


# ---------------------------------------------------------------- What comes out

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]
