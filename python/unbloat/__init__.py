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

from unbloat._core import Error, InputError, RunError, __version__
from unbloat.listing import catalogue
from unbloat.results import Results
from unbloat.runner import run
from unbloat.sweep import sweep
from unbloat.sweep_results import Sweep

__all__ = ["Error", "InputError", "Results", "RunError", "Sweep", "__version__", "catalogue", "run", "sweep"]
