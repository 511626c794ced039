"""Scenarios with expectations as tests: a folder of them runs, each statement of `[expect]` being a test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from unbloat._core import Error, InputError
from unbloat.api.scenario import Scenario, expectations_in
from unbloat.claims.expectations import Judged
from unbloat.claims.expectations import Verdict as OfResults
from unbloat.scenarios.checks import On
from unbloat.scenarios.source import Source, source_of
from unbloat.system.files import write_text

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal[OfResults, "error"]
"""The result of a test; `error` if its scenario is wrong or could not run."""


@dataclass(frozen=True)
class Case:
    """A test: a statement about the results of a scenario."""

    file: str
    name: str
    """The statement's key and the labels of its grid points; empty where the scenario could not be read or run."""
    statement: str
    measured: str
    """The comparisons with the measured values, or the reason why there are none."""
    verdict: Verdict
    is_bad_input: bool = False
    """The scenario is wrong."""

    @property
    def title(self) -> str:
        """The file and the name."""
        return f"{self.file}::{self.name}" if self.name else self.file


@dataclass(frozen=True)
class OfFile:
    """The tests of a file."""

    file: str
    cases: tuple[Case, ...]
    seconds: float


@dataclass(frozen=True, repr=False)
class Tested:
    """The tests of a folder, as `ub.test` returns them."""

    files: tuple[OfFile, ...]

    @property
    def cases(self) -> list[Case]:
        """Every test."""
        return [case for each in self.files for case in each.cases]

    @property
    def failed(self) -> list[Case]:
        """The tests that failed, or could not be judged."""
        return [case for case in self.cases if case.verdict not in ("met", "open")]

    @property
    def table(self) -> pd.DataFrame:
        """One row per test: `file`, `name`, `statement`, `measured`, `verdict`."""
        import pandas as pd

        names = ("file", "name", "statement", "measured", "verdict")
        return pd.DataFrame([{name: getattr(case, name) for name in names} for case in self.cases], columns=names)

    def counts(self) -> dict[str, int]:
        """Count the tests by their verdicts, those that occur."""
        verdicts = [case.verdict for case in self.cases]
        return {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}

    def as_dict(self) -> dict[str, object]:
        """Return what `unbloat test --json` prints."""
        cases = [{name: value for name, value in vars(case).items() if name != "is_bad_input"} for case in self.cases]
        return {"tests": cases, "counts": self.counts()}

    def write_junit(self, file: str | Path) -> None:
        """Write the tests as JUnit XML, which continuous integration reads.

        Parameters
        ----------
        file : path
            Its folder is made if it is missing.

        """
        root = ElementTree.Element("testsuites", name="unbloat")
        for each in self.files:
            suite = ElementTree.SubElement(root, "testsuite", name=each.file, time=f"{each.seconds:.3f}")
            suite.attrib |= {"tests": str(len(each.cases)), **_junit_counts(each.cases)}
            for case in each.cases:
                _add(suite, case)
        ElementTree.indent(root)
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        write_text(Path(file), ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")

    def __repr__(self) -> str:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items())
        return f"<unbloat.Tested: {counts or 'no test'}>"


ELEMENTS: dict[Verdict, str] = {
    "failed": "failure",
    "no result": "error",
    "unsound": "error",
    "error": "error",
    "open": "skipped",
}
"""The element of JUnit's that says what became of a test; a test that is met has none."""
ATTRIBUTES = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def _junit_counts(cases: Sequence[Case]) -> dict[str, str]:
    elements = [ELEMENTS.get(case.verdict) for case in cases]
    return {attribute: str(elements.count(element)) for element, attribute in ATTRIBUTES.items()}


def _add(suite: ElementTree.Element, case: Case) -> None:
    found = ElementTree.SubElement(suite, "testcase", classname=case.file, name=case.name or "scenario")
    if element := ELEMENTS.get(case.verdict):
        ElementTree.SubElement(found, element, message=case.measured).text = case.statement


def test(
    *paths: str | Path,
    pattern: str = "",
    on: On = "simulator",
    kernel: str | None = None,
    repeat: int | None = None,
    jobs: int | None = None,
    cache: bool | None = None,
    watch: Callable[[OfFile], object] | None = None,
) -> Tested:
    r"""Run every scenario below some folders that has an `[expect]`, and judge its statements.

    A scenario that is wrong, or that cannot run, is a test with the verdict `error`; the others run all the same.

    Parameters
    ----------
    *paths : path
        Scenario files, and folders that are searched for `*.toml`.
    pattern : str
        Only tests whose `FILE::NAME` contains this text, whatever its case.
    on, kernel, repeat, jobs, cache
        As in `Scenario.run`.
    watch : callable, optional
        Called with the tests of each file once it has run.

    Returns
    -------
    Tested

    Raises
    ------
    InputError
        If a path does not exist, or nothing below the paths is a test.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = ub.scenario("home-dsl").text + "[expect]\nfilled = 'utilisation > 90%'"
    >>> _ = Path("home.toml").write_text(text)
    >>> report = ub.test("home.toml", pattern="filled")
    >>> report.write_junit("report.xml")

    """
    files = []
    for file in _files(paths):
        begun = time.monotonic()
        cases = [case for case in _cases(file, pattern, on, kernel, repeat, jobs, cache) if _is_named(case, pattern)]
        if cases:
            files.append(OfFile(str(file), tuple(cases), time.monotonic() - begun))
            if watch:
                watch(files[-1])
    if not files:
        named = f" whose name contains {pattern!r}" if pattern else ""
        raise InputError(f"test: no scenario in {', '.join(map(str, paths))} has an [expect] with a statement{named}")
    return Tested(tuple(files))


def _files(paths: Sequence[str | Path]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from (file for file in sorted(path.rglob("*.toml")) if _mentions_expectations(file))
        elif path.exists():
            yield path
        else:
            raise InputError(f"test: {path}: no such file or folder")


def _mentions_expectations(file: Path) -> bool:
    try:
        return "expect" in file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False


def _cases(
    file: Path,
    pattern: str,
    on: On,
    kernel: str | None,
    repeat: int | None,
    jobs: int | None,
    cache: bool | None,
) -> Iterator[Case]:
    name = str(file)
    try:
        source = source_of(name)
        expected = expectations_in(source)
        if not any(pattern.lower() in f"{name}::{each.title}".lower() for each in expected):
            return
        results = _ran(source, on, kernel, repeat, jobs, cache)
    except Error as error:
        yield Case(name, "", "", str(error), "error", is_bad_input=isinstance(error, InputError))
        return
    yield from (Case(name, each.title, each.statement, each.measured, each.verdict) for each in results)


def _ran(
    source: Source, on: On, kernel: str | None, repeat: int | None, jobs: int | None, cache: bool | None
) -> Sequence[Judged]:
    # With repeats a run that fails leaves the others their verdicts.
    return Scenario(source).run(on=on, kernel=kernel, repeat=repeat, jobs=jobs, cache=cache).expectations


def _is_named(case: Case, pattern: str) -> bool:
    return pattern.lower() in case.title.lower()
