"""How a page tells of a scenario's links: with overrides applied, and what a sweep changes as varied."""

import pytest
from inline_snapshot import snapshot
from unbloat.report.results_page import links_of
from unbloat.results.files import About

SCENARIO = """
[link.path]
rate  = "1gbit"
delay = "10ms"
queue = { kind = "droptail", limit = "1bdp" }
[link.path.reverse]
rate = "16mbit"
"""
SWEEPS = """
[sweep]
"link.path.delay" = ["10ms", "30ms"]
link.path.queue.limit = { from = "1p", to = "4p", factor = 2 }
path = [
    { label = "fibre" },
    { label = "satellite", "link.path.rate" = "18mbit", "link.path.queue" = { kind = "cake" } },
    { label = "bare", link.path.rate = "2mbit" },
]
"""


def told(labels: dict[str, list[str]] | None = None, **overrides: str) -> str:
    about = About(SCENARIO + SWEEPS, overrides={key.replace("__", "."): text for key, text in overrides.items()})
    ((name, said),) = links_of(about, labels or {})
    assert name == "path"
    return said


def test_without_a_sweep_it_is_as_the_file_says() -> None:
    assert told() == snapshot("rate 1gbit, delay 10ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit")


def test_what_is_set_anew_is_told_as_it_is_set() -> None:
    assert told(link__path__rate='"5mbit"') == snapshot(
        "rate 5mbit, delay 10ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"
    )
    assert told(link__path__queue='{ kind = "cake" }') == snapshot(
        "rate 1gbit, delay 10ms, queue kind cake, reverse rate 16mbit"
    )
    assert told(**{"link__*__delay": '"3ms"'}) == snapshot(
        "rate 1gbit, delay 3ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"
    )


@pytest.mark.parametrize(
    ("axis", "labels", "words"),
    [
        (
            "link.path.delay",
            ["10ms", "30ms"],
            snapshot(
                "rate 1gbit, delay varied (10ms, 30ms), queue kind droptail, queue limit 1bdp, reverse rate 16mbit"
            ),
        ),
        (
            "link.path.delay",
            ["30ms"],
            snapshot("rate 1gbit, delay 30ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"),
        ),
        (
            "link.path.queue.limit",
            ["1p", "2p", "4p"],
            snapshot(
                "rate 1gbit, delay 10ms, queue kind droptail, queue limit varied (1p, 2p, 4p), reverse rate 16mbit"
            ),
        ),
        (
            "path",
            ["fibre", "satellite", "bare"],
            snapshot(
                "rate varied (1gbit, 18mbit, 2mbit), delay 10ms, queue kind varied (droptail, cake), queue limit varied, reverse rate 16mbit"
            ),
        ),
        (
            "path",
            ["fibre", "satellite"],
            snapshot(
                "rate varied (1gbit, 18mbit), delay 10ms, queue kind varied (droptail, cake), queue limit varied, reverse rate 16mbit"
            ),
        ),
        (
            "path",
            ["bare"],
            snapshot("rate 2mbit, delay 10ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"),
        ),
        (
            "flows.0.cc",
            ["cubic", "vegas"],
            snapshot("rate 1gbit, delay 10ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"),
        ),
    ],
)
def test_what_a_sweep_changes_is_varied(axis: str, labels: list[str], words: str) -> None:
    assert told({axis: labels}) == words


def test_many_values_are_not_listed() -> None:
    assert told({"link.path.delay": [f"{n}ms" for n in range(1, 9)]}) == snapshot(
        "rate 1gbit, delay varied, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"
    )


def test_an_axis_that_is_set_with_the_command_counts_too() -> None:
    cases = '[{ label = "a", "link.path.rate" = "1mbit" }, { label = "b", "link.path.rate" = "2mbit" }]'
    assert told({"queue": ["a", "b"]}, sweep__queue=cases) == snapshot(
        "rate varied (1mbit, 2mbit), delay 10ms, queue kind droptail, queue limit 1bdp, reverse rate 16mbit"
    )


def test_an_unknown_scenario_has_no_links() -> None:
    assert list(links_of(About(), {})) == [] and list(links_of(About("[link"), {})) == []
