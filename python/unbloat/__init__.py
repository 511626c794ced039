"""unbloat: a laboratory for end-host mechanisms against bufferbloat.

>>> import unbloat as ub
>>> r = ub.run("scenario.toml")
>>> r.summary          # one row per flow
>>> r.links            # one row per link
>>> r.series           # the flows' windows, RTTs and goodputs over time
>>> r.plot("queue")    # a matplotlib figure
>>> s = ub.sweep("grid.toml", repeat=30)
>>> s.summary          # each metric of each cell: mean, deviation, 95 % confidence interval
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbloat._core import Error, InputError, RunError, __version__
    from unbloat.comparison.compare import compare
    from unbloat.papers.reproduce import reproduce, reproduce_on_kernel
    from unbloat.results.results import Results
    from unbloat.results.sweep import Sweep
    from unbloat.runs.experiment import run
    from unbloat.runs.sweep import sweep
    from unbloat.scenario.catalogue import catalogue

__all__ = [
    "Error",
    "InputError",
    "Results",
    "RunError",
    "Sweep",
    "__version__",
    "catalogue",
    "compare",
    "reproduce",
    "reproduce_on_kernel",
    "run",
    "sweep",
]

_WHERE = {
    **dict.fromkeys(("Error", "InputError", "RunError", "__version__"), "_core"),
    **dict.fromkeys(("reproduce", "reproduce_on_kernel"), "papers.reproduce"),
    "Results": "results.results",
    "Sweep": "results.sweep",
    "catalogue": "scenario.catalogue",
    "compare": "comparison.compare",
    "run": "runs.experiment",
    "sweep": "runs.sweep",
}


def __getattr__(name: str) -> object:
    """Load a name's module when it is first used: numpy alone takes longer than most commands."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
