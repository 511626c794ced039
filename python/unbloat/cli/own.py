"""`unbloat new` and `unbloat check`: files of the user's own, to begin with, and checked before anything is run."""

from __future__ import annotations

import logging
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from unbloat import _core
from unbloat._core import Error, InputError, RunError
from unbloat.cli import WRONG_INPUT
from unbloat.cli.options import DefineOption, IncludeOption, JsonOption, compile_keys, listed
from unbloat.cli.terminal import say, say_json
from unbloat.scenarios import controls
from unbloat.scenarios.checks import Backend
from unbloat.system.files import room_within, write_text

# ---------------------------------------------------------------- unbloat new

TEMPLATES = Path(__file__).parent / "templates"
SUFFIXES = {"scenario": ".toml", "control": ".bpf.c", "paper": ""}
NEXT = {
    "scenario": "run it: unbloat run {path}",
    "control": "run it: unbloat run home-dsl --cc {path}; check that kernels take it: unbloat check {path}",
    "paper": "write down what the paper prints in {path}/published.toml, then: unbloat reproduce {path}",
}
LONGEST = 15
"""Characters of a congestion control's name in the kernel."""
NEW_EXAMPLES = """\
unbloat new scenario my-line
unbloat new control mine
unbloat new paper papers/mine"""


def new_command(
    kind: Annotated[
        Literal["scenario", "control", "paper"],
        typer.Argument(
            metavar="KIND", help="What to write: a scenario, a congestion control, or a paper.", show_default=False
        ),
    ],
    name: Annotated[Path, typer.Argument(metavar="NAME", help="Name or path of the template.", show_default=False)],
) -> None:
    """Write a template for a scenario, a congestion control or a paper."""
    suffix = SUFFIXES[kind]
    path = name if name.name.endswith(suffix) else name.with_name(name.name + suffix)
    if path.exists():
        raise InputError(f"new: {path} exists already; choose another name, or remove it")
    template = TEMPLATES / f"{kind}{suffix}"
    if kind == "paper":
        room_within(path)
        for file in sorted(template.iterdir()):
            write_template(file, path / file.name, path)
    else:
        write_template(template, path, path)
    say(f"wrote {path}; {NEXT[kind].format(path=typed(path))}")


def typed(path: Path) -> str:
    """Write a path as commands take it for a file and not for a name."""
    return shlex.quote(str(path) if path.is_absolute() else f"./{path}")


def write_template(template: Path, file: Path, called: Path) -> None:
    """Write a template with the names filled in."""
    name = called.name.removesuffix(".bpf.c").removesuffix(".toml")
    identifier = re.sub(r"\W", "_", name, flags=re.ASCII)
    identifier = (f"_{identifier}" if identifier[:1].isdigit() else identifier)[:LONGEST]
    text = template.read_text(encoding="utf-8")
    for word, value in (("NAME", name), ("IDENTIFIER", identifier), ("FILE", typed(called))):
        text = re.sub(rf"\b{word}\b", value.replace("\\", r"\\"), text)
    write_text(file, text)


# ---------------------------------------------------------------- unbloat check

RUNS = "runs on "
BTF = Path("/sys/kernel/btf/vmlinux")
"""The types of the running kernel, without which it loads no congestion control."""
PLACE = re.compile(r"^<text>:\d+: flows\.0\.cc: ", re.MULTILINE)
"""The place in a sentence about a congestion control: the trial's text, which the user has not seen."""
CHECK_EXAMPLES = """\
unbloat check my-line.toml
unbloat check ./mine.bpf.c
unbloat check ./mine.bpf.c --kernel 6.1,6.12"""


@dataclass(frozen=True)
class Finding:
    """One question, its answer, and remarks."""

    what: str
    answer: str
    """yes, no, or ? where it could not be found out."""
    why: str = ""


def check_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A scenario file, or a .bpf.c file.", show_default=False)],
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            "--kernel",
            metavar="RELEASE|FILE,...",
            help="Kernels whose verifiers check a congestion control, in guests. Default: the running kernel as root, "
            "otherwise the kernels on this machine, or else the distribution's.",
        ),
    ] = None,
    include: IncludeOption = None,
    define: DefineOption = None,
    as_json: JsonOption = False,
) -> int | None:
    """Check a scenario, or a congestion control for simulator and kernels.

    For a scenario, the command reads every grid point and reports where the scenario can run. A congestion control is
    compiled for simulator and kernel, with warnings, and runs in the simulator for a moment. Then a kernel's verifier
    checks it: that of the running kernel as root, otherwise those of kernels in guests. The status is 2 after an error.
    """
    is_control = file.partition("#")[0].endswith(".c")
    if kernel and not is_control:
        raise InputError("check --kernel: only a congestion control is shown to kernels")
    try:
        keys = compile_keys(include, define)
        if keys and not is_control:
            raise InputError("check: -I and -D are for a congestion control; a scenario has [compile]")
        findings = list(of_control(file, listed(kernel, "--kernel"), keys) if is_control else of_scenario(file))
    except InputError as error:
        if not as_json or not Path(file).is_file():
            raise
        findings = [Finding("can be read", "no", str(error))]
    say_json({"checks": [asdict(each) for each in findings]}) if as_json else say(findings_screen(findings))
    return WRONG_INPUT if is_wrong(findings) else None


def is_wrong(findings: list[Finding]) -> bool:
    """Return whether the file fails; a scenario that runs on one backend only does not."""
    places = [finding for finding in findings if finding.what.startswith(RUNS)]
    rest = [finding for finding in findings if finding not in places]
    runs_nowhere = bool(places) and not any(finding.answer == "yes" for finding in places)
    return runs_nowhere or any(finding.answer == "no" for finding in rest)


def findings_screen(findings: list[Finding]) -> str:
    """Draw what was found."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.answer}: {finding.what}")
        lines += [f"    {line}" for line in finding.why.splitlines()]
    return "\n".join(lines)


# ---------------------------------------------------------------- A scenario


def of_scenario(file: str) -> Iterator[Finding]:
    """Read it, and ask for each backend."""
    from unbloat.api.scenario import expectations_in
    from unbloat.scenarios.checks import BACKENDS
    from unbloat.scenarios.source import source_of

    source = source_of(file)
    points = source.points()
    expectations_in(source)
    axes = ", ".join(axis for axis, _ in points[0].axes)
    runs, each = (f"{len(points)} runs over {axes}", " each") if axes else ("one run", "")
    yield Finding("can be read", "yes", f"{runs}, {points[0].duration_s:g} s{each}")
    for doubt in dict.fromkeys(doubt for point in points for doubt in point.doubts):
        yield Finding("is meant so", "?", doubt)
    options = {str(control): options_of(point) for point in points for control in point.own_controls}
    for control, keys in options.items():
        yield from compiled(control, keys)
    for on in BACKENDS:
        yield asked(f"{RUNS}{on}", partial(ask_all, points, on))


def options_of(point: _core.GridPoint) -> dict[str, object]:
    """Return what a run's compiler is given, as keys of a scenario."""
    folders, definitions = point.compiler_options
    return compile_keys([str(folder) for folder in folders], definitions)


def ask_all(points: Sequence[_core.GridPoint], on: str) -> None:
    """Raise `InputError` if this backend lacks something that one of the grid points asks for."""
    for point in points:
        point.check(on)
        if on == "simulator":
            controls.refuse_the_kernels_own(point)
    if on != "simulator":
        from unbloat.system.paths import ALGORITHMS

        # Some mechanisms are for the simulator only. Grid points mostly share theirs; a user's own are asked apart.
        for point in {tuple(point.controls): point for point in points if not point.own_controls}.values():
            point.objects(ALGORITHMS)


# ---------------------------------------------------------------- A congestion control


def of_control(control: str, kernels: list[str], keys: dict[str, object]) -> Iterator[Finding]:
    """Compile it for both, run it for a moment, show it to kernels, first to the running one if that may be asked."""
    findings = list(compiled(control, keys))
    yield from findings
    if findings[-1].answer == "yes":
        from unbloat.scenarios.catalogue import trial

        running = [] if kernels else list(taken_by_this(control, keys))
        yield from running
        if not any(finding.answer != "?" for finding in running):
            (point,) = trial(control, keys)
            yield from taken_by(control, point, kernels)


def compiled(control: str, keys: dict[str, object]) -> Iterator[Finding]:
    """Compile it for the simulator and run it for a moment; compile it for kernels."""
    from unbloat.scenarios.catalogue import trial
    from unbloat.system.paths import ALGORITHMS

    (point,) = trial(control, keys)
    yield asked(f"{control} compiles for the simulator, and runs there", lambda: run_apart(control, keys))
    yield asked(f"{control} compiles to BPF", lambda: point.objects(ALGORITHMS))


def run_apart(control: str, keys: dict[str, object], on: Backend = "simulator") -> None:
    """Run it for a moment, in a process of its own: it may end that."""
    from unbloat.runs.experiment import Manner, execute
    from unbloat.scenarios.catalogue import trial_text
    from unbloat.scenarios.source import source_of

    execute(source_of(trial_text(control), keys), Manner(on, None, False, False, None))


def taken_by_this(control: str, keys: dict[str, object]) -> Iterator[Finding]:
    """Run it for a moment with this kernel's TCP, where this process may load programs."""
    if os.geteuid() == 0 and BTF.exists():
        what = f"Linux {os.uname().release}, which runs here, takes {control}"
        finding = asked(what, lambda: run_apart(control, keys, "kernel"))
        yield replace(finding, why="--kernel 6.1,6.12 shows it to others") if finding.answer == "yes" else finding


def asked(what: str, question: Callable[[], object]) -> Finding:
    """Answer a question by trying; what compilers warn of is said with it."""
    try:
        with warnings_caught() as warnings:
            question()
    except InputError as error:
        return Finding(what, "no", PLACE.sub("", str(error)))
    except Error as error:
        return Finding(what, "?", PLACE.sub("", str(error)))
    return Finding(what, "yes", "\n".join(warnings))


@contextmanager
def warnings_caught() -> Iterator[list[str]]:
    """Collect what compilers warn of, in this process or in others that it starts, in place of showing it."""
    caught: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: caught.append(record.getMessage())  # type: ignore[method-assign]
    propagates, controls.log.propagate = controls.log.propagate, False
    controls.log.addHandler(handler)
    try:
        yield caught
    finally:
        controls.log.removeHandler(handler)
        controls.log.propagate = propagates
        for path, text in _core.take_warnings():
            caught.append(f"{path}: {text.rstrip()}")


def taken_by(control: str, point: _core.GridPoint, kernels: list[str]) -> Iterator[Finding]:
    """Run it for a moment in a guest of each kernel."""
    from unbloat.guest import guest

    for wanted in kernels or releases_here():
        try:
            release = guest.kernel_named(wanted).release
        except Error as error:
            yield Finding(f"{f'Linux {wanted}' if wanted else 'a kernel'} takes {control}", "?", str(error))
            continue
        finding = asked(f"Linux {release} takes {control}", partial(run_in_guest, point, wanted))
        # Compiler warnings were shown already.
        yield replace(finding, why="") if finding.answer == "yes" else finding


def run_in_guest(point: _core.GridPoint, kernel: str | None) -> None:
    """Run it there."""
    from unbloat.guest import guest
    from unbloat.runs.progress import prepared
    from unbloat.scenarios.portable import Recording

    there = prepared(kernel)
    try:
        guest.run(there, point, Recording(), lambda share: None)
    except RunError as error:  # What libbpf does not know how to load, such as a function that no kernel has.
        raise InputError(str(error)) from None


def releases_here() -> list[str | None]:
    """List the kernels that need not be fetched, the newest of each series; without any, the default."""
    from unbloat.guest.kernels import OLDEST, kernels_here, numbers

    series = {
        numbers(kernel.release)[:2]: kernel.release
        for kernel in sorted(kernels_here(), key=lambda kernel: numbers(kernel.release))
        if numbers(kernel.release)[:2] >= OLDEST
    }
    return [*series.values()] or [None]
