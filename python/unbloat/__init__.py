"""unbloat: a test bench for TCP congestion control against bufferbloat.

    scenario(NAME | FILE | rate=, rtt=, ...)   a Scenario: keys(), check(), set(), run()
    Scenario.run(cc=, repeat=, on=, series=)   Results: flows, links, stats, series(), plot(), compare(), save()
    evaluate(SCENARIOS, SETS)                  thousands of short runs as one frame
    judge(NAME | FILE)                         a Card: is this congestion control safe to use?
    test(FOLDER)                               scenarios with [expect] as tests: Tested
    read(FOLDER)                               Results that were saved
    compare(A, B)                              a Comparison: table, is_within, plot()
    paper(NAME)                                a Paper: reproduce() judges what it printed
    line(SERVER)                               a Line: your own, measured; results, fit, choose(), save()
    catalogue(KIND), doctor()                  what there is by name, and what this machine can do, as frames

>>> import unbloat as ub
>>> s = ub.scenario("home-dsl")                       # or ub.scenario(rate="20mbit", rtt="40ms")
>>> r = s.run(cc=["cubic", "vegas"], series="100ms")  # repeat=10 gives intervals; on="vm" takes real Linux TCP
>>> r.runs, r.flows, r.links                          # data frames: one row per run, flow, link
>>> r.series("links")                                 # the queues over time
>>> r.stats                                           # each grid point's metrics: mean, deviation and 95 % interval
>>> r.compare(between="cc").table                     # two labels of an axis, metric by metric
>>> r.plot("queue_delay", over="time")                # a matplotlib figure
>>> r.save("results"); r = ub.read("results")         # Parquet files, and the same object again
>>> p = ub.paper("clpc")                              # p.reproduce() judges each of its numbers

Errors are `InputError` and `RunError`, both of them `Error`. `help(unbloat.scenario)` and so on have more.
"""

from importlib import import_module

_WHERE = {
    **dict.fromkeys(("Error", "InputError", "RunError", "__version__"), "_core"),
    **dict.fromkeys(("Paper", "Reproduction", "paper"), "api.paper"),
    **dict.fromkeys(("Results", "read"), "api.results"),
    **dict.fromkeys(("Scenario", "scenario"), "api.scenario"),
    **dict.fromkeys(("Comparison", "compare"), "api.comparison"),
    **dict.fromkeys(("Line", "line"), "api.line"),
    **dict.fromkeys(("Failure", "IdenticalRepeats", "Record", "UnsoundRun"), "results.record"),
    "About": "results.files",
    "Answer": "line.answer",
    "Choice": "line.choose",
    "KernelResults": "papers.kernel",
    "Report": "report.report",
    "catalogue": "api.catalogue",
    "doctor": "api.doctor",
    "evaluate": "api.evaluate",
    **dict.fromkeys(("Card", "judge"), "api.suite"),
    **dict.fromkeys(("Tested", "test"), "api.testing"),
}
"""The module that each name comes from; `__init__.pyi` has the same for editors and type checkers."""

__all__: list[str] = []
"""Empty, because `help(unbloat)` would show every name here in full, some thousand lines."""


def __dir__() -> list[str]:
    """List the names for completion, though most modules are not loaded yet."""
    return sorted(_WHERE)


def __getattr__(name: str) -> object:
    """Load a name's module when it is first used: numpy alone takes longer than most commands."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
