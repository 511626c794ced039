"""`unbloat test PATH...`: scenarios with expectations as tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unbloat.cli import FAILED, WRONG_INPUT
from unbloat.cli.options import (
    OUTPUT,
    WHAT,
    CacheOption,
    JobsOption,
    JsonOption,
    KernelOption,
    OnOption,
    keeping_runs,
)
from unbloat.cli.run import RepeatOption
from unbloat.cli.terminal import say, say_json, tell
from unbloat.system.files import room_for
from unbloat.system.legible import count_of

if TYPE_CHECKING:
    from unbloat.api.testing import Case, OfFile

TEST_EXAMPLES = """\
unbloat test scenarios/
unbloat test scenarios/ -k delay --junit report.xml
unbloat test home.toml --repeat 10 --on vm"""

PathsArgument = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Scenario files, and folders that are searched for *.toml.")
]
PatternOption = Annotated[
    str,
    typer.Option("-k", metavar="TEXT", help="Only tests whose FILE::NAME contains this text.", rich_help_panel=WHAT),
]
JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the tests as JUnit XML.", rich_help_panel=OUTPUT),
]


def test_command(
    paths: PathsArgument,
    pattern: PatternOption = "",
    repeat: RepeatOption = None,
    on: OnOption = "simulator",
    kernel: KernelOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    junit: JunitOption = None,
    as_json: JsonOption = False,
) -> int | None:
    """Run scenarios as tests: each statement of their [expect] is one.

    The status is 1 if a statement is false or could not be judged, and 2 if a scenario is wrong.
    """
    room_for(junit)
    from unbloat.api.testing import Tested, test

    done: list[OfFile] = []

    def watch(files: OfFile) -> None:
        done.append(files)
        if not as_json:
            say(progress_of(files))

    try:
        with keeping_runs(cache):
            test(*paths, pattern=pattern, on=on, kernel=kernel, repeat=repeat, jobs=jobs, cache=cache, watch=watch)
    finally:  # An interrupt loses no test that is over.
        tested = Tested(tuple(done))
        if done:
            if junit:
                tested.write_junit(junit)
                tell(f"wrote {junit}")
            say_json(tested.as_dict()) if as_json else say(summary_of(tested.failed, tested.counts()))
    if any(case.is_bad_input for case in tested.cases):
        return WRONG_INPUT
    return FAILED if tested.failed else None


def progress_of(files: OfFile) -> str:
    """Write a line about a file: a sign for each test, as test runners do."""
    signs = "".join({"met": ".", "open": "?", "failed": "F"}.get(case.verdict, "E") for case in files.cases)
    return f"{files.file} {signs}"


def summary_of(failed: list[Case], counts: dict[str, int]) -> str:
    """Name what failed with what was measured, and count the verdicts."""
    lines = [f"{case.verdict}: {case.title}\n    {case.measured}" for case in failed]
    counted = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    return "\n".join(["", *lines, f"{count_of(sum(counts.values()), 'test')}: {counted}"])
