"""What the compiled core returns has the types that its stub declares."""

from __future__ import annotations

import ast
import pickle
import sys
import typing
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
import unbloat
from conftest import SMALL
from kernel_sandbox import Sandbox
from unbloat import _core
from unbloat.system.core_types import Step
from unbloat.system.paths import ALGORITHMS

pytest_plugins = ["kernel_sandbox"]

STUB = Path(unbloat.__file__).with_name("_core.pyi")


@pytest.fixture(scope="module")
def stub() -> ModuleType:
    """The stub as a module: its classes and functions, without what they do."""
    module = ModuleType("core_stub")
    tree = ast.parse(STUB.read_text())
    tree.body.insert(1, ast.parse("from __future__ import annotations").body[0])
    sys.modules[module.__name__] = module  # Where the types that it names are looked for.
    exec(compile(tree, STUB, "exec"), vars(module))
    return module


def checked(stub: ModuleType, name: str, value: object) -> None:
    """Compare a value with what the stub says that this function returns; a dictionary has no key besides."""
    declared = typing.get_type_hints(getattr(stub, name), vars(stub))["return"]
    assert msgspec.convert(value, declared, strict=True) == value


@pytest.mark.parametrize("name", ["mechanisms", "window_controllers", "classifiers"])
def test_mechanisms(stub: ModuleType, name: str) -> None:
    found = getattr(_core, name)(ALGORITHMS)
    assert found
    checked(stub, name, found)


@pytest.mark.parametrize("name", ["record_columns", "folds", "scenario_keys", "series_columns", "kernel_doctor"])
def test_registers(stub: ModuleType, name: str) -> None:
    found = getattr(_core, name)()
    assert found
    checked(stub, name, found)


def test_steps() -> None:
    steps: list[Step] = []
    (cell,) = _core.parse(SMALL, Path.cwd(), [])
    cell.run(ALGORITHMS, series_ns=100_000_000, steps=steps.append)
    assert steps
    for step in steps:
        assert msgspec.convert(step, Step, strict=True) == step


IN_THE_KERNEL = """
import pickle, sys
from pathlib import Path
from unbloat import _core
from unbloat.system.core_types import Step
from unbloat.system.paths import ALGORITHMS
from unbloat.system.core_types import Step
file, name = Path(sys.argv[1]), sys.argv[2]
everyone = {"port": None, "dest": None, "cgroup": None, "router": False}
answers = []
def ask(function, *arguments, **options):
    answers.append((function, getattr(_core, function)(*arguments, **options)))
ask("kernel_load", ALGORITHMS, "clpc", [("target", "30ms")], name=name)
ask("kernel_status", measure_ns=1)
ask("kernel_unload", name)
ask("kernel_load_window", ALGORITHMS, "rtac", [("bdp", "68")], "lo", everyone)
ask("kernel_window_status")
ask("kernel_unload_window", "rtac")
ask("kernel_load_classifier", ALGORITHMS, "sorpc", [], "lo", rate="20mbit")
ask("kernel_classifier_status")
ask("kernel_unload_classifier", "sorpc")
ask("clean")
file.write_bytes(pickle.dumps(answers))
"""


def test_the_running_kernel(stub: ModuleType, sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    assert sandbox("ip", "link", "set", "lo", "up").returncode == 0
    done = sandbox(sys.executable, "-c", IN_THE_KERNEL, tmp_path / "answers", name)
    assert done.returncode == 0, done.stderr
    answers: list[tuple[str, list[object]]] = pickle.loads((tmp_path / "answers").read_bytes())
    assert {function for function, answer in answers if not answer} <= {"clean"}
    for function, answer in answers:
        checked(stub, function, answer)
