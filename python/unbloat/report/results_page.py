"""Results as a page: what was asked, the answer, pictures, tables, what went wrong, and how to run it again."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING

from unbloat._core import InputError, __version__
from unbloat.report import results_tables as tables
from unbloat.report.advice import OPEN, advice_of, title_of
from unbloat.report.figures.draw import Choice, draw
from unbloat.report.figures.grid import ordered
from unbloat.report.figures.kinds import Width
from unbloat.report.figures.style import SIZES
from unbloat.report.figures.sweeps import has_numbers
from unbloat.report.page import Page, Section, inline
from unbloat.report.report import Code, Facts, Fold, Heading, Listing, Part, Picture, Table
from unbloat.report.verdicts import experiments_of
from unbloat.results.files import About
from unbloat.results.metrics import MANY, METRICS
from unbloat.results.record import SEED, place, why_unsound
from unbloat.results.run_set import RunSet
from unbloat.scenarios.catalogue import opening_comment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 400
"""Longer tables of single flows are left to the result files."""
KEPT = 12
"""Letters of a hash that a page shows."""
PERCEIVED_DRAWN = ("rating", "page_load_s_mean", "startup_s", "stalled_percent")
MOST_PERCEIVED = 3
"""The largest number of waits of applications to draw."""
FEW = 4
"""Grid points whose names find room in a narrow picture."""
WITH_PANELS = 3
"""Axes of a sweep from which on a picture has panels for the labels of some."""
OF_POINTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "delay_throughput": ("Goodput over queueing delay: better is up and to the right", ()),
    "goodput": ("Goodput of each grid point", ("goodput",)),
    "queue_delay": ("Mean queueing delay of each grid point", ("queue_delay",)),
}
OVER_TIME = {
    "queue_delay": "Queueing delay over time",
    "goodput": "Goodput of each flow over time",
    "cwnd": "Congestion windows over time",
    "queue_delay_cdf": "How many of the packets wait how long",
}


def page_of(results: RunSet) -> Page:
    """Lay results out."""
    sections = [
        Section("Pictures", list(_pictures(results))),
        Section("Numbers", list(_tables(results))),
        Section("Unsound or failed", _doubts(results)),
        Section("Run it again", list(_again(results))),
    ]
    return Page("unbloat · results", _title(results), _asked(results), advice_of(results), sections, _made(results))


def _title(results: RunSet) -> str:
    names = dict.fromkeys(str(record.run["scenario"]) for record in results.records)
    return ", ".join(names) or results.about.source or "A scenario"


def _each(results: RunSet) -> Iterator[tuple[str, RunSet]]:
    """Yield the parts that can be compared, each with its title where there are several."""
    parts = [each for each in experiments_of(results) if each.points]
    for part in parts:
        yield title_of(part, parts) if len(parts) > 1 else "", part.results
    if not parts:
        yield "", results


# ---------------------------------------------------------------- What was asked


def _asked(results: RunSet) -> list[Part]:
    parts = experiments_of(results)
    if len(parts) > 1:  # What is known of how they were made is of the first only.
        compared = [(title_of(each, parts), _compared(each.results)) for each in parts if each.points]
        return [Facts([*((title, said) for title, said in compared if said), ("Runs", _runs(results))])]
    about = results.about
    facts = [("What runs", sentence)] if (sentence := opening_comment(about.scenario).partition("  ")[0]) else []
    facts += [(f"The link {name}", said) for name, said in links_of(about, _axes(results))]
    changed = {key: value for key, value in about.overrides.items() if not key.startswith("sweep.")}
    facts += [("Changed", ", ".join(f"`{key}` {value}" for key, value in changed.items()))] if changed else []
    facts += [("Compared", f"`{axis}`: {', '.join(labels)}") for axis, labels in _axes(results).items()]
    return [Facts([*facts, ("Runs", _runs(results))])]


def _compared(results: RunSet) -> str:
    return "; ".join(f"`{axis}`: {', '.join(labels)}" for axis, labels in _axes(results).items())


def _axes(results: RunSet) -> dict[str, list[str]]:
    """Return the axes and their labels."""
    labels: dict[str, dict[str, None]] = {}
    for axes in [*(each.axes for each in results.records), *(each.axes for each in results.failures)]:
        for axis, label in axes.items():
            labels.setdefault(axis, {})[label] = None
    return {axis: list(found) for axis, found in labels.items() if axis != SEED or len(found) <= tables.LISTED}


def _runs(results: RunSet) -> str:
    total = len(results.records) + len(results.failures)
    sizes = sorted({len(point.records) + len(point.failures) for point in results.points})
    each = " to ".join("one" if size == 1 else str(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
    parts = [str(total) if len(results.points) == 1 else f"{total}, {each} of each grid point"]
    if results.records:
        places = dict.fromkeys((record.run["on"], record.run.get("kernel")) for record in results.records)
        where = (" ".join(filter(None, (_where(on), kernel))) for on, kernel in places)
        parts += [f"{tables.duration(results)} each", " and ".join(where)]
    return ", ".join(parts)


def _where(on: str) -> str:
    return {"simulator": "simulated", "kernel": "real Linux TCP, on", "vm": "in a guest, on"}.get(on, on)


# ---------------------------------------------------------------- Pictures and tables


def _pictures(results: RunSet) -> Iterator[Picture]:
    numbers = count()
    for title, part in _each(results):
        for caption, figure in _figures(part):
            is_wide = figure.get_figwidth() > SIZES["column"].width
            whole = f"{title}: {caption}" if title else caption
            svg = inline(figure, f"{caption}: {title or _title(part)}", next(numbers))
            yield Picture("", whole, svg, is_wide=is_wide)


def _figures(results: RunSet) -> Iterator[tuple[str, Figure]]:
    """Draw the grid points, where there are several, and where series were recorded of a few runs, these."""
    if len(results.points) > 1 and len(results.records) > 1:
        over = "lines" if has_numbers(results.records) else "bars"
        for kind, (caption, metrics) in _of_points(results).items():
            # A column has no room for the names of many points, nor for panels beside each other.
            is_simple = len(results.points) <= FEW or (metrics and len(ordered(results.records)) < WITH_PANELS)
            width: Width = "column" if is_simple else "page"
            try:
                yield caption, draw(results, [over if metrics else kind], Choice(width, metrics, title=""))
            except InputError:
                continue  # The grid points have no such value, or are too many for a picture; the tables have them all.
    if results.has_series and 0 < len(results.records) <= MANY:
        for kind, caption in OVER_TIME.items():
            yield caption, draw(results, [kind], Choice("column", title=""))


def _of_points(results: RunSet) -> Mapping[str, tuple[str, Sequence[str]]]:
    """Return the pictures of grid points, each with its caption and metrics; with applications what people wait for."""
    perceived = [METRICS[name] for name in tables.perceived_of(results) if name in PERCEIVED_DRAWN][:MOST_PERCEIVED]
    if not perceived:
        return OF_POINTS
    of_perceived = {
        each.key: (f"{each.title.removesuffix(' mean').capitalize()} of each grid point", (each.key,))
        for each in perceived
    }
    return {**of_perceived, "queue_delay": OF_POINTS["queue_delay"]}


def _tables(results: RunSet) -> Iterator[Part]:
    if not results.records:
        return
    for title, part in _each(results):
        yield from [Heading(title)] if title else []
        yield from _numbers(part)
    yield Fold("What the numbers mean", [Facts(list(_meanings()))])


def _numbers(results: RunSet) -> Iterator[Part]:
    columns = tables.points_columns(results)
    is_repeated = any(len(point.sound) > 1 for point in results.points)
    title = "Each grid point: the mean of its runs ± its 95 % confidence interval" if is_repeated else "Each grid point"
    table = Table(columns, title if len(results.points) > 1 or is_repeated else "All flows")
    rows = len(columns[0].cells)
    yield table if rows <= OPEN else Fold(f"{title} ({rows} rows)", [table])
    details = {
        "Every flow of every run": tables.flows_columns,
        "Every link of every run": tables.links_columns,
    }
    for name, columns_of in details.items():
        columns = columns_of(results, titled=True)
        rows = len(columns[0].cells)
        if 0 < rows <= ROWS:
            yield Fold(f"{name} ({rows} rows)", [Table(columns, name)])
        elif rows:
            yield f"{name}: {rows} rows, which are in the result files."


def _meanings() -> Iterator[tuple[str, str]]:
    shown = (
        *tables.FLOW_COLUMNS,
        *tables.LINK_COLUMNS,
        *tables.POINT_COLUMNS,
        *tables.REAL_COLUMNS,
    )
    for name in dict.fromkeys(shown):
        metric = METRICS[name]
        yield f"{metric.title}{f' ({metric.unit})' if metric.unit else ''}", metric.definition


# ---------------------------------------------------------------- What went wrong, how to repeat it


def _doubts(results: RunSet) -> list[Part]:
    parts: list[Part] = []
    unsound = [
        f"{place(record.axes)}seed {record.run['seed']}: {why_unsound(record.run)}"
        for record in results.records
        if not record.is_sound
    ]
    failed = [f"{place(each.axes)}seed {each.seed}: {each.reason}" for each in results.failures]
    for head, sentences in (("Unsound, and not counted", unsound), ("Failed", failed)):
        if sentences:
            parts.append(Listing(head, tables.shortened(sentences)))
    if remarks := results.remarks():
        parts.append(Listing("To be known", remarks))
    if not parts:
        parts.append("Every run finished and is sound.")
    return parts


def _again(results: RunSet) -> Iterator[Part]:
    about = results.about
    if len(experiments_of(results)) > 1:
        yield "These are the runs of several commands; this was the first."
    if about.command:
        yield Code(about.command)
    facts = [("unbloat", about.version), ("Hash of its code", about.code[:KEPT]), ("Kernel", ", ".join(about.kernel))]
    facts += [(f"Hash of `{name}`", hashed[:KEPT]) for name, hashed in about.controls.items()]
    host = {**about.host, **({"python": f"Python {about.host['python']}"} if about.host.get("python") else {})}
    facts += [("Machine", ", ".join(filter(None, map(str, host.values())))), ("Time", about.time)]
    if known := [(term, said) for term, said in facts if said]:
        yield Facts(known)
    if about.scenario:
        # The page may be sent to others, so it does not say in which folder the file is.
        name = f" `{PurePath(about.source).name}`" if about.source else ""
        yield Fold(f"The scenario{name}", [Code(about.scenario.strip())])


def _made(results: RunSet) -> str:
    return f"Made by unbloat {__version__}" + (f" from runs of {results.about.time}" if results.about.time else "")


# ---------------------------------------------------------------- Settings of links


SHOWN = 6
"""The largest number of values of a setting to list."""
SWEEP = "sweep."
Flat = dict[str, object]
"""Settings by the words of their keys."""


def links_of(about: About, labels: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield each link with its settings, by the labels of the axes that ran; nothing for an unknown scenario."""
    try:
        scenario = tomllib.loads(about.scenario)
        overrides = {key: tomllib.loads(f"value = {text}")["value"] for key, text in about.overrides.items()}
    except tomllib.TOMLDecodeError:
        return
    sweep = dict(_sweep_axes(scenario.pop("sweep", {})))
    for key, value in overrides.items():
        if key.startswith(SWEEP):
            sweep[key.removeprefix(SWEEP)] = value
        else:
            _set(scenario, key.split("."), value)
    swept = [_changed(scenario, axis, sweep.get(axis), known) for axis, known in labels.items()]
    for name, link in _links(scenario).items():
        base = dict(_flat(link))
        grids = [[dict(_flat(_links(each).get(name))) for each in settings] for settings in swept]
        keys = dict.fromkeys([*base, *(key for grid in grids for each in grid for key in each)])
        yield name, ", ".join(filter(None, (_said(key, base, grids) for key in keys)))


def _links(scenario: Mapping[str, object]) -> Mapping[str, object]:
    links = scenario.get("link")
    return links if isinstance(links, Mapping) else {}


def _sweep_axes(sweep: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield the axes, whose names may be written as tables in tables."""
    for key, value in sweep.items():
        if isinstance(value, Mapping) and "from" not in value:
            yield from _sweep_axes(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _changed(
    scenario: Mapping[str, object], axis: str, values: object, labels: Sequence[str]
) -> list[dict[str, object]]:
    """Return the scenario with each label of an axis: a case by its name, or the value itself."""
    cases = (
        {each.get("label"): each for each in values if isinstance(each, Mapping)} if isinstance(values, list) else {}
    )
    found = []
    for label in labels:
        changed: dict[str, object] = copy.deepcopy(dict(scenario))
        for key, value in cases[label].items() if label in cases else [(axis, label)]:
            if isinstance(value, Mapping) and "." not in key:
                for below, each in _flat(value):  # A table behind a bare key adds to what is there.
                    _set(changed, [key, *below.split()], each)
            elif key != "label":
                _set(changed, key.split("."), value)
        found.append(changed)
    return found


def _set(scenario: dict[str, object], way: Sequence[str], value: object) -> None:
    """Set a key in place, as `--set` does; `*` is every key of a table, and other values have none."""
    first, *rest = way
    for key in list(scenario) if first == "*" else [first]:
        if not rest:
            scenario[key] = copy.deepcopy(value)
        elif isinstance(below := scenario.setdefault(key, {}), dict):
            _set(below, rest, value)


def _flat(table: object, before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items() if isinstance(table, Mapping) else ():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key} ")
        elif not isinstance(value, list):
            yield f"{before}{key}", value


def _said(key: str, base: Flat, grids: list[list[Flat]]) -> str:
    """Write a setting: its value, or the values that the axes give it."""
    touching = [grid for grid in grids if any(each.get(key) != base.get(key) for each in grid)]
    values = dict.fromkeys(each.get(key) for grid in touching for each in grid) or {base.get(key): None}
    known = [str(value) for value in values if value is not None]
    if len(values) == 1:
        return f"{key} {known[0]}" if known else ""
    listed = f" ({', '.join(known)})" if len(known) == len(values) <= SHOWN else ""
    return f"{key} varied{listed}"
