"""unbloat: a laboratory for end-host mechanisms against bufferbloat.

>>> import unbloat as ub
>>> r = ub.run("scenario.toml")
>>> r.summary          # one row per flow
>>> r.links            # one row per link
>>> r.series           # the flows' windows, RTTs and goodputs over time
>>> r.plot("queue")    # a matplotlib figure
"""

from unbloat._core import Error, InputError, RunError, __version__
from unbloat.listing import catalogue
from unbloat.results import Results
from unbloat.runner import run

__all__ = ["Error", "InputError", "Results", "RunError", "__version__", "catalogue", "run"]
