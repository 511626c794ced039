from unbloat import _core as _core
from unbloat._core import Error, InputError, RunError, __version__
from unbloat.api.catalogue import catalogue
from unbloat.api.comparison import Comparison, compare
from unbloat.api.doctor import doctor
from unbloat.api.evaluate import evaluate
from unbloat.api.line import Line, line
from unbloat.api.paper import Paper, Reproduction, paper
from unbloat.api.results import Results, read
from unbloat.api.scenario import Scenario, scenario
from unbloat.api.suite import Card, judge
from unbloat.api.testing import Tested, test
from unbloat.line.answer import Answer
from unbloat.line.choose import Choice
from unbloat.papers.kernel import KernelResults
from unbloat.report.report import Report
from unbloat.results.files import About
from unbloat.results.record import Failure, IdenticalRepeats, Record, UnsoundRun

__all__ = [
    "About",
    "Answer",
    "Card",
    "Choice",
    "Comparison",
    "Error",
    "Failure",
    "IdenticalRepeats",
    "InputError",
    "KernelResults",
    "Line",
    "Paper",
    "Record",
    "Report",
    "Reproduction",
    "Results",
    "RunError",
    "Scenario",
    "Tested",
    "UnsoundRun",
    "__version__",
    "catalogue",
    "compare",
    "doctor",
    "evaluate",
    "judge",
    "line",
    "paper",
    "read",
    "scenario",
    "test",
]
