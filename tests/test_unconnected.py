"""Flows whose SYNs get no answer, and long round trips: the tables say so in words and in plain numbers."""

import html
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from unbloat.report.names import size_words
from unbloat.results.record import never_connected
from unbloat.system.legible import measured

DEAF = {"link.bottleneck.loss": "100%"}


def test_a_flow_without_an_answer_never_connected(small: Path) -> None:
    (run,) = ub.scenario(small, DEAF).run()
    (flow,) = run.run["flows"]
    assert (flow["connected"], flow["sent_packets"], flow["loss_percent"]) == (False, 0, None)
    (run,) = ub.scenario(small).run()
    assert run.run["flows"][0]["connected"] is True


def warnings_in(screen: str) -> list[str]:
    return [line for line in screen.splitlines() if line.startswith("warning: ")]


def test_tables_and_pages_say_that_a_flow_never_connected(cli: Cli, small: Path, tmp_path: Path) -> None:
    done = cli("run", small, "--set", "link.bottleneck.loss=100%")
    assert warnings_in(done.stdout) == snapshot(
        ["warning: flow 0 never connected: the other end did not answer its SYNs"]
    )
    assert warnings_in(cli("run", small).stdout) == []
    axis = ("--set", "sweep.link.bottleneck.loss=['0%', '100%']")
    swept = cli("sweep", small, *axis, "--repeat", "2", "-o", tmp_path / "swept")
    (never, *_) = warnings_in(swept.stdout)
    assert never == snapshot(
        "warning: (100%) flow 0 never connected in 2 of 2 runs: the other end did not answer its SYNs"
    )
    assert cli("report", tmp_path / "swept", "-o", tmp_path / "page.html").returncode == 0
    assert never.removeprefix("warning: ") in html.unescape((tmp_path / "page.html").read_text())
    read = ub.read(tmp_path / "swept")
    assert read.flows["connected"].tolist() == [True, True, False, False]


def test_a_flow_that_begins_as_the_run_ends_is_not_named() -> None:
    def run(*connected: bool | None, groups: list[int]) -> dict[str, object]:
        return {"flows": [{"flow": n, "connected": each} for n, each in enumerate(connected)], "groups": groups}

    assert never_connected([run(True, False, groups=[2])]) == ""
    assert never_connected([run(True, None, groups=[1, 1])]) == ""
    assert never_connected([run(True, False, groups=[1, 1])]) == snapshot(
        "flow 1 never connected: the other end did not answer its SYNs"
    )
    assert never_connected([run(*[False] * 6, groups=[6])]) == snapshot(
        "flows 0, 1, 2, 3, ... never connected: the other end did not answer their SYNs"
    )


def test_round_trips_of_hours_are_plain_numbers(cli: Cli, small: Path) -> None:
    assert "RTT 7.2e+06 ms" not in (done := cli("run", small, "--set", "link.bottleneck.delay=3600s")).stdout
    assert "RTT 7200000 ms" in done.stdout or "RTT 7200010 ms" in done.stdout


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [(1234.0, 3, "1234"), (999.7, 3, "1000"), (2.5e2, 2, "250"), (0.00028, 2, "0.00028")],
)
def test_plain_numbers_have_no_power_of_ten(value: float, digits: int, written: str) -> None:
    assert measured(value, digits) == written
    assert size_words(999_900) == "1000 kB"
