"""The contents of a suite: criteria, each with rules over the scenarios of its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from unbloat._core import InputError
from unbloat.claims.expressions import ClaimError, calls, states
from unbloat.claims.quantities import quantity_named
from unbloat.claims.units import in_own_units
from unbloat.scenarios.checks import did_you_mean
from unbloat.suites.candidate import Kind
from unbloat.system.paths import SUITES, suite_names
from unbloat.system.toml_file import Keys, toml_file

FILE = "suite.toml"
"""The file of a suite's folder that holds its criteria."""


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement about the candidate in some settings of a scenario."""

    scenario: str
    """The name of a scenario file beside the suite, without its ending."""
    holds: str
    """The statement, such as `queue_delay(candidate) <= 50ms`."""
    why: str
    """The source of the threshold, or the reason for it."""
    at: list[str] = []
    """Labels that the settings have."""
    over: list[str] = []
    """Axes that span the settings; without any there is one setting."""
    among: list[str] = []
    """Labels of which a setting must have one; without any, every setting counts."""

    @property
    def claim(self) -> str:
        """The statement with each number in the unit of its measurement."""
        return in_own_units(self.holds, lambda name: quantity_named(name).unit)


class Criterion(Struct, frozen=True, forbid_unknown_fields=True):
    """A property that a mechanism should have."""

    id: str
    title: str
    """The criterion as a statement about the candidate."""
    source: str
    """The document and section that asks for it."""
    rules: list[Rule]


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """The suite's name, title, source and candidates."""

    name: str
    title: str
    source: str
    judges: list[Kind]
    """The kinds of mechanisms that it judges."""
    text: str = ""
    """Paragraphs for readers of the card."""


Seeds = Annotated[int, Meta(ge=1, le=1000)]


class BackendRuns(Struct, frozen=True, forbid_unknown_fields=True):
    """How the scenarios run in another place than the simulator."""

    seeds: Seeds = 1
    """Repeats there."""
    overrides: dict[str, dict[str, Any]] = {}
    """Keys to set anew there, by scenario, such as a shorter `duration`."""


class Runs(Struct, frozen=True, forbid_unknown_fields=True):
    """How the scenarios run."""

    seeds: Seeds
    """Repeats in the simulator."""
    difference: Annotated[float, Meta(ge=0, lt=1)]
    """Smallest difference of interest, as a share of the larger value."""
    series: dict[str, str] = {}
    """Steps of time series, by scenario."""
    vm: BackendRuns = BackendRuns()
    """Seeds and keys for guests, where a run takes much longer."""
    kernel: BackendRuns = BackendRuns()
    """Seeds and keys for the running kernel, where a run takes real time."""

    def on_backend(self, on: str) -> BackendRuns:
        """Return how the scenarios run on a backend."""
        return {"vm": self.vm, "kernel": self.kernel}.get(on, BackendRuns(self.seeds))


class SuiteFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    suite: Head
    runs: Runs
    criteria: list[Criterion]


@dataclass(frozen=True)
class Suite:
    """A suite and its folder."""

    folder: Path
    content: SuiteFile

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.content.suite.name

    @property
    def criteria(self) -> Sequence[Criterion]:
        """The criteria, in the file's order."""
        return self.content.criteria

    @cached_property
    def ids(self) -> list[str]:
        """The ids of the criteria."""
        return [each.id for each in self.criteria]

    def only(self, ids: Sequence[str]) -> Suite:
        """Return the suite with some criteria; raises `InputError` for an unknown id."""
        for name in ids:
            if name not in self.ids:
                offers = did_you_mean(name, self.ids) or f"; valid: {', '.join(self.ids)}"
                raise InputError(f"suite {self.name}: unknown criterion {name}{offers}")
        criteria = [each for each in self.criteria if each.id in ids]
        return Suite(self.folder, SuiteFile(self.content.suite, self.content.runs, criteria))

    def scenarios(self) -> list[str]:
        """List the scenarios that the rules measure."""
        return list(dict.fromkeys(rule.scenario for each in self.criteria for rule in each.rules))

    def file_of(self, scenario: str) -> Path:
        """Return the file of a scenario."""
        return self.folder / f"{scenario}.toml"


def suite_of(name: str | Path) -> Suite:
    """Find a suite by its folder's path, or by its name among the shipped ones.

    Raises
    ------
    InputError
        No such suite, or its file is wrong.

    """
    folder = next((each for each in (Path(name), SUITES / name) if (each / FILE).exists()), None)
    if folder is None:
        known = suite_names()
        others = f"suites: {', '.join(known)}, or a folder with a {FILE}"
        raise InputError(f"unknown suite {name}{did_you_mean(str(name), known)}; {others}")
    file = toml_file(folder / FILE, "a suite's folder holds its criteria there")
    suite = Suite(folder, file.convert(SuiteFile))
    for keys, sentence in _mistakes(suite):
        raise file.wrong(keys, sentence)
    return suite


def _mistakes(suite: Suite) -> Iterator[tuple[Keys, str]]:
    seen: set[str] = set()
    known = suite.scenarios()
    for where in ("vm", "kernel"):
        for name in suite.content.runs.on_backend(where).overrides:
            if name not in known:
                yield (
                    ("runs", where, "overrides", name),
                    f"no rule is about a scenario {name}{did_you_mean(name, known)}",
                )
    for number, criterion in enumerate(suite.criteria):
        if criterion.id in seen:
            yield ("criteria", number, "id"), f"another criterion has the id {criterion.id} already"
        seen.add(criterion.id)
        for place, rule in enumerate(criterion.rules):
            keys = ("criteria", number, "rules", place)
            if not suite.file_of(rule.scenario).is_file():
                yield (*keys, "scenario"), f"no file {rule.scenario}.toml beside it"
            try:
                if not states(rule.claim):
                    yield (*keys, "holds"), f"`{rule.holds}` states nothing; write a comparison"
                for call in calls(rule.claim):
                    quantity_named(call.name)
            except ClaimError as error:
                yield (*keys, "holds"), str(error)
