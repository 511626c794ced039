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
    from unbloat.listing import catalogue
    from unbloat.results import Results
    from unbloat.runner import run
    from unbloat.sweep_results import Sweep
    from unbloat.sweep_runs import sweep

__all__ = ["Error", "InputError", "Results", "RunError", "Sweep", "__version__", "catalogue", "run", "sweep"]

_WHERE = {
    **dict.fromkeys(("Error", "InputError", "RunError", "__version__"), "_core"),
    "Results": "results",
    "Sweep": "sweep_results",
    "catalogue": "listing",
    "run": "runner",
    "sweep": "sweep_runs",
}


def __getattr__(name: str) -> object:
    """Load a name's module when it is first used: numpy alone takes longer than most commands."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
