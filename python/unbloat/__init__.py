"""unbloat: a laboratory for end-host mechanisms against bufferbloat.

>>> import unbloat as ub
>>> r = ub.run("scenario.toml")                # or ub.sweep("grid.toml", repeat=30)
>>> r.runs, r.flows, r.links                   # data frames: one row per run, flow, link
>>> r.series("links")                          # the queues over time
>>> r.stats()                                  # each metric of each cell: mean, deviation, 95 % confidence interval
>>> r.compare(between="cc").table              # two labels of an axis, metric by metric
>>> r.plot("queue")                            # a matplotlib figure
>>> r.save("results"); r = ub.read("results")  # Parquet files, and the same object again
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat._core import Error, InputError, RunError, __version__
    from unbloat.comparison.compare import Comparison, compare
    from unbloat.papers.kernel import KernelResults
    from unbloat.papers.reproduce import Reproduction, reproduce, reproduce_on_kernel
    from unbloat.results.about import About
    from unbloat.results.record import Failure, Record
    from unbloat.results.results import Results, read
    from unbloat.results.run_warnings import IdenticalRepeats, UnsoundRun
    from unbloat.runs.check import check
    from unbloat.runs.experiment import run
    from unbloat.runs.sweep import sweep
    from unbloat.scenario.catalogue import catalogue
    from unbloat.scenario.keys import keys

__all__ = [
    "About",
    "Comparison",
    "Error",
    "Failure",
    "IdenticalRepeats",
    "InputError",
    "KernelResults",
    "Record",
    "Reproduction",
    "Results",
    "RunError",
    "UnsoundRun",
    "__version__",
    "catalogue",
    "check",
    "compare",
    "keys",
    "read",
    "reproduce",
    "reproduce_on_kernel",
    "run",
    "sweep",
]

_WHERE = {
    **dict.fromkeys(("Error", "InputError", "RunError", "__version__"), "_core"),
    **dict.fromkeys(("Reproduction", "reproduce", "reproduce_on_kernel"), "papers.reproduce"),
    **dict.fromkeys(("IdenticalRepeats", "UnsoundRun"), "results.run_warnings"),
    **dict.fromkeys(("Results", "read"), "results.results"),
    **dict.fromkeys(("Comparison", "compare"), "comparison.compare"),
    "About": "results.about",
    "KernelResults": "papers.kernel",
    **dict.fromkeys(("Failure", "Record"), "results.record"),
    "catalogue": "scenario.catalogue",
    "check": "runs.check",
    "keys": "scenario.keys",
    "run": "runs.experiment",
    "sweep": "runs.sweep",
}


def __dir__() -> list[str]:
    """List the names for completion, though most modules are not loaded yet."""
    return __all__


def __getattr__(name: str) -> object:
    """Load a name's module when it is first used: numpy alone takes longer than most commands."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
