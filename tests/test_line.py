"""`unbloat line`: what it prints and saves, within its budget, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import stderr_of
from test_serve import Serve, serve  # noqa: F401
from unbloat import Line as Measured
from unbloat import read, scenario
from unbloat.cli.line import _answered
from unbloat.line.answer import Answer
from unbloat.line.client import Clocks
from unbloat.line.fitted import write_scenario
from unbloat.line.model import Line, Plan, Side, simulate


def test_a_line_is_measured_within_its_budget(serve: Serve, cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    _, port = serve()
    measured = tmp_path / "measured"
    words = ("line", "--server", f"127.0.0.1:{port}", "--budget", "20mb", "--json", "--no-fit", "-o", measured)
    found = json.loads(cli(*words).stdout)
    assert found["bytes"] <= 20e6
    assert found["idle_rtt_ms"] > 0
    assert set(found["both"]) == {"up", "down"}
    again = json.loads(cli("line", "--again", measured, "--no-fit", "--json").stdout)
    assert again == found
    runs = read(measured)
    assert list(runs.runs["phase"]) == ["idle", "down", "up", "both"]
    assert runs.flows.query("phase == 'down' and name == 'download'")["goodput_mbps"].gt(0).all()
    assert {"rtt_ms", "goodput_mbps"} <= set(runs.series("flows"))


def test_a_clock_that_jumps_and_a_computer_that_slept_are_named() -> None:
    before = Clocks(1e9, 50.0, 70.0)
    assert before.notes(Clocks(1e9 + 40.2, 90.0, 110.0)) == []
    assert before.notes(Clocks(1e9 - 3560, 90.0, 110.0)) == snapshot(
        ["this computer's clock jumped by -3600 s, which the measured times do not follow"]
    )
    assert before.notes(Clocks(1e9 + 640, 90.0, 710.0)) == snapshot(
        ["this computer slept for 600 s during the measurement: measure again"]
    )


def test_the_far_end_sends_with_the_control_that_the_user_asks_for(
    serve: Serve,  # noqa: F811
    cli: Cli,
    tmp_path: Path,
) -> None:
    _, port = serve("--cc", "reno")
    measured = tmp_path / "measured"
    words = ("line", "--server", f"127.0.0.1:{port}", "--budget", "5mb", "--no-fit", "-o", measured, "--far-cc")
    done = cli(*words, "reno")
    assert done.returncode == 0
    assert set(read(measured).flows.query("name == 'download'")["cc"]) == {"reno"}
    done = cli(*words, "vegas")
    assert (done.returncode, stderr_of(done).replace(str(port), "PORT")) == snapshot(
        (
            1,
            "unbloat: 127.0.0.1:PORT: the far end does not offer the congestion control vegas; it offers: reno",
        )
    )


def test_a_simulated_line_is_fitted_and_cured(cli: Cli, tmp_path: Path) -> None:
    side = Side(rate_bps=5e6, buffer_bytes=256_000)
    simulate(Line(side, replace(side, rate_bps=2e7, buffer_bytes=512_000), 0.04)).save(tmp_path / "line.json")
    found = json.loads(cli("line", "--again", "line.json", "--for", "call", "--json").stdout)
    least, most = found["fit"]["link.line.rate"]
    assert least <= 5e6 <= most
    assert found["queue"]["kind"] == "fifo" and found["fit"]["fits"]
    assert Path(found["scenario"]).name == "line.toml"
    assert found["cures"] and all(
        {"name", "command", "for", "cost_percent", "sure"} <= set(cure) for cure in found["cures"]
    )
    assert cli("check", "line.toml").returncode == 0


def test_measured_lines_are_compared_load_by_load(cli: Cli, tmp_path: Path) -> None:
    side = Side(rate_bps=5e6, buffer_bytes=256_000)
    for name, buffer_bytes in (("before", 256_000), ("after", 32_000)):
        line = Line(replace(side, buffer_bytes=buffer_bytes), replace(side, rate_bps=2e7), 0.04)
        ub.Line(simulate(line)).save(tmp_path / name)
    shown = cli("compare", "before", "after").stdout
    head, table, advice = shown.split("\n\n")
    assert (head, advice) == snapshot(
        (
            """\
A: before, simulated
B: after, simulated\
""",
            "Each is one measurement, and lines change by themselves: --prove tells a cure's effect from chance.\n",
        )
    )
    assert [line[:26].rstrip() for line in table.splitlines()[2:12]] == snapshot(
        [
            "idle        RTT     ms",
            "            call    MOS",
            "down        rate    Mbit/s",
            "            RTT     ms",
            "            added   ms",
            "            jitter  ms",
            "            RPM",
            "            loss    %",
            "            call    MOS",
            "up          rate    Mbit/s",
        ]
    )
    rows = json.loads(cli("compare", "before", "after", "--json").stdout)["rows"]
    (added,) = [row for row in rows if (row["load"], row["quantity"]) == ("up", "added_ms")]
    assert added["differences"] == [added["values"][1] - added["values"][0]]
    assert added["differences"][0] < -100
    assert "tolerance" in cli("compare", "before", "after", "--tolerance", "goodput=50%").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], snapshot("unbloat: line: give one of --server HOST, --again FOLDER, --fit CAPTURE, --watch and --undo")),
        (
            ["--server", "a b"],
            snapshot('unbloat: "a b": a server is a host such as far.example, 192.0.2.1:4043 or [2001:db8::1]:4043'),
        ),
        (
            ["--server", "a", "--budget", "10kb"],
            snapshot("unbloat: --budget 10kb is too small: a measurement needs at least 1mb"),
        ),
        (["--server", "a", "--budget", "10s"], snapshot('unbloat: --budget 10s is not a size such as "20mb" or "1gb"')),
        (["--server", "a", "--duration", "1s"], snapshot("unbloat: --duration 1s is not between 10s and 600s")),
        (["--server", "a", "--duration", "1mb"], snapshot('unbloat: --duration 1mb is not a time such as "60s"')),
        (["--again", "a", "--far-cc", "reno"], snapshot("unbloat: line: --far-cc needs --server")),
        (["--again", "missing.json"], snapshot("unbloat: missing.json: cannot be read: no such file or directory")),
        (
            ["--server", "a", "--again", "missing.json"],
            snapshot("unbloat: line: give one of --server HOST, --again FOLDER, --fit CAPTURE, --watch and --undo"),
        ),
    ],
)
def test_wrong_words_are_refused(words: list[str], sentence: str, cli: Cli) -> None:
    done = cli("line", *words)
    assert done.returncode == 2
    assert stderr_of(done) == sentence


@pytest.mark.parametrize(
    ("server", "sentence"),
    [
        ("127.0.0.1:1", snapshot("unbloat: 127.0.0.1:1: nothing listens there: start `unbloat serve` at the far end")),
        (
            "no-such-host.invalid",
            snapshot(
                "unbloat: no-such-host.invalid: the name cannot be resolved: failed to lookup address information: Name or service not known"
            ),
        ),
    ],
)
def test_a_server_that_is_away_is_a_sentence(server: str, sentence: str, cli: Cli) -> None:
    done = cli("line", "--server", server)
    assert done.returncode == 1
    assert stderr_of(done) == sentence


def test_a_capture_is_fitted(cli: Cli, tmp_path: Path) -> None:
    scenario(rate="5mbit", rtt="40ms", duration="10s").run(pcap=tmp_path / "upload.pcapng")
    found = json.loads(cli("line", "--fit", "upload.pcapng", "--for=", "--json").stdout)
    least, most = found["fit"]["link.line.rate"]
    assert least <= 5e6 <= most
    assert found["down"] is None and found["up"]["rate_mbps"] == pytest.approx(5, rel=0.05)


@pytest.mark.parametrize(
    ("step", "is_shown", "missing", "keys"),
    [
        ("unbloat.line.fit.fit", True, "no line is fitted", None),
        ("unbloat.line.fit.fit", False, "no line is fitted", ["down", "up"]),
        ("unbloat.line.choose.choose", True, "no cure is ranked", None),
        ("unbloat.line.choose.choose", False, "no cure is ranked", ["down", "fit", "up"]),
    ],
)
def test_an_interrupt_leaves_what_is_known(
    step: str,
    is_shown: bool,
    missing: str,
    keys: list[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    simple: Path,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupted)
    folder = tmp_path / "mine"
    with pytest.raises(KeyboardInterrupt) as end:
        _answered(None, simple, None, "call", 1, 1.0, None, folder, is_shown=is_shown)
    assert end.value.__notes__ == [missing]
    assert Measured.read(folder).measurement.about.server == "simulated"
    assert (folder / "line.toml").exists() == (missing == "no cure is ranked")
    said = capsys.readouterr().out
    if keys is None:
        assert "simulated: " in said and ("The fitted line is in " in said) == (missing == "no cure is ranked")
    else:
        assert sorted({"up", "down", "fit"} & json.loads(said).keys()) == keys


@pytest.fixture(scope="module")
def simple(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure a slow line in the simulator; return the file."""
    path = tmp_path_factory.mktemp("simple") / "measurement.json"
    side = Side(rate_bps=1e6, buffer_bytes=30_000)
    simulate(Line(side, side, 0.02), Plan(both_s=0.0)).save(path)
    return path


def test_a_line_that_nothing_explains_says_so_first(simple: Path) -> None:
    measured = Measured.read(simple)
    nearest = replace(measured.fit, fits=False, why_not=("the rate is unknown",), residual_percent=40.0)
    assert write_scenario(nearest).splitlines()[:3] == snapshot(
        [
            "# No line explains what `unbloat line` measured. This is the nearest: forward is up, reverse is down.",
            "# Goodput and delays differ by 40 % on average.",
            "# The rate is unknown.",
        ]
    )
    text = Answer(measured.measurement, measured.summary, nearest, Path("line.toml")).judged_text()
    assert text.splitlines()[1:] == snapshot(
        [
            "line.toml has the nearest line, which does not explain the measurement: it differs from the measurement by 40.0 %.",
            "No line explains the measurement, so no cure is simulated:",
            "* the rate is unknown.",
        ]
    )
