"""The examples in the docstrings of what `import unbloat` gives run as they stand, one object's after the other."""

import doctest
import inspect
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import unbloat as ub
from unbloat.line.model import Line, Side, simulate

SCENARIO = """
duration = "2s"
[link.bottleneck]
rate = "2mbit"
delay = "10ms"
loss = "1%"
queue = { limit = "20kb" }
[[flows]]
[sweep]
"flows.0.cc" = ["cubic", "vegas"]
"""
RATES = '"link.bottleneck.rate" = ["1mbit", "2mbit"]\n'


def documented() -> Iterator[tuple[str, str]]:
    """List the docstrings with examples: the package's, those of its names and of the methods of its classes."""
    found = [("unbloat", inspect.getdoc(ub))]
    for name in dir(ub):
        value = getattr(ub, name)
        found.append((name, inspect.getdoc(value)))
        if inspect.isclass(value):
            methods = (method for method in dir(value) if not method.startswith("_"))
            found += [(f"{name}.{method}", inspect.getdoc(getattr(value, method))) for method in methods]
    return ((name, text) for name, text in found if text and ">>> " in text)


EXAMPLES = dict(documented())


def test_every_kind_of_object_has_examples() -> None:
    assert {
        "unbloat",
        "scenario",
        "Scenario.run",
        "compare",
        "Paper.reproduce",
        "Results.plot",
        "Results.pooled",
    } <= EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_docstring_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two repeats in place of more: thirty of each grid point are the same calls fifteen times."""
    monkeypatch.chdir(tmp_path)
    Path("scenario.toml").write_text(SCENARIO)
    Path("grid.toml").write_text(SCENARIO + RATES)
    names = {"ub": ub}
    if name.startswith("Results."):
        results = ub.scenario("grid.toml").run(series="100ms")
        results.save("home")
        names |= {"r": results, "s": ub.scenario("grid.toml").run(repeat=2)}
    if name == "Line":
        side = Side(rate_bps=5e6, buffer_bytes=64_000)
        ub.Line(simulate(Line(side, side, 0.04))).save("my-line")
    for example in doctest.DocTestParser().get_examples(EXAMPLES[name]):
        source = re.sub(r"repeat=\d+", "repeat=2", example.source)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(source, name, "single"), names)
        assert not example.want or printed.getvalue() == example.want
    plt.close("all")
