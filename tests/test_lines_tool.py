"""`tools/lines`: what it stores, and goes on with after an interruption; the page that it writes."""

import json
import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import line_cures
import pytest
from unbloat.lab.line_grades import Outcome
from unbloat.lab.lines import Line, line
from unbloat.line.computer import NEEDS, Computer
from unbloat.line.cures import cures
from unbloat.line.home import home_of
from unbloat.line.trials import LEAVE
from unbloat.scenarios.source import Source

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools/lines"))
Files = TOOL["Files"]
READY = [each for each in (line(1, number) for number in range(20)) if each.truth.kind == "fifo"][:2]
PART = f"lines on vm from {READY[0].number}"
MARKS = f"<!-- begin {PART}: tools/lines writes it -->\n<!-- end {PART} -->\n"


def right(of: Line) -> Outcome:
    """Make an outcome that is right."""
    assert of.truth.up.rate_mbps and of.truth.down.rate_mbps
    return {
        "answer": {
            "idle_rtt_ms": of.truth.base_rtt_ms,
            "up": {"rate_mbps": of.truth.up.rate_mbps[0]},
            "down": {"rate_mbps": of.truth.down.rate_mbps[0]},
            "queue": {"kind": "fifo"},
        }
    }


def lines(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, ROOT / "tools/lines", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


def test_stored_outcomes_are_not_measured_again(tmp_path: Path) -> None:
    for each in READY:
        Files(tmp_path, each, "vm").keep(right(each))
    page = tmp_path / "page.md"
    page.write_text(MARKS)
    done = lines(1, "--first", READY[0].number, "--on", "vm", "--store", tmp_path, "--page", page)
    assert done.returncode == 0, done.stderr
    assert "1 of 200 lines have an outcome." in done.stdout
    text = page.read_text()
    assert f"    tools/lines 1 --first {READY[0].number} --on vm --page " in text
    assert "| class | - | at least 90 % | 1 | 1 | 100 | yes |" in text


def test_only_stored_outcomes_are_shown_if_so_asked(tmp_path: Path) -> None:
    Files(tmp_path, READY[1], "vm").keep(right(READY[1]))
    count = READY[1].number - READY[0].number + 1
    done = lines(count, "--first", READY[0].number, "--on", "vm", "--store", tmp_path, "--stored")
    assert done.returncode == 0, done.stderr
    assert "1 of 200 lines have an outcome." in done.stdout


def test_a_line_that_is_drawn_otherwise_is_another(tmp_path: Path) -> None:
    first = READY[0]
    Files(tmp_path, first, "vm").keep(right(first))
    changed = Line(first.number, first.text + "\n", first.truth)
    assert Files(tmp_path, first, "vm").read() == right(first)
    assert Files(tmp_path, changed, "vm").read() is None and Files(tmp_path, first, "kernel").read() is None


def test_an_interrupted_write_leaves_no_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(tmp_path, READY[0], "vm")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        files.keep(right(READY[0]))
    assert files.read() is None


def test_a_page_without_the_part_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(MARKS)
    done = lines(1, "--store", tmp_path / "store", "--page", tmp_path / "page.md")
    assert done.returncode == 2 and done.stderr.startswith("lines: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "store").exists()


def test_proofs_by_turns_have_the_sign_that_flows_side_by_side_get_wrong() -> None:
    found = TOOL["proved"](line(1, 22))
    assert not found["named_a_winner"]
    effects = found["effects"]
    assert effects["beside"] > 1 and effects["true"] < -0.02 and effects["switchback"] < 0


def test_simulated_samples_are_stored_with_their_waits(tmp_path: Path) -> None:
    slow = min(READY, key=lambda each: each.truth.down.rate_mbps or (1e9,))
    files = Files(tmp_path, slow, "simulator")
    seconds = TOOL["measure"](slow, files, "simulator")
    waits = TOOL["waits_of"](slow, files, "simulator")
    assert set(waits) == {"down", "up", "both"} and seconds > 20
    assert waits["down"]["median_ms"] > 1
    assert json.loads(files.measurement.read_text())["phases"]["phase"] == ["idle", "down", "up", "both"]


def test_cures_are_ranked_on_the_fit_and_scored_on_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = min(READY, key=lambda each: each.truth.down.rate_mbps or (1e9,))
    files = Files(tmp_path, slow, "simulator")
    files.fitted.write_text(slow.text)
    monkeypatch.setattr(line_cures, "DEBIAN", Computer("eth0", "cubic", ("cubic",), dict.fromkeys(NEEDS, False)))
    fit = {"link.line.delay": [slow.truth.base_rtt_ms / 2e3] * 2, "fits": True, "residual_percent": 0.1}
    outcome = {"answer": {"fit": fit, "queue": {"where": "beyond"}}, "loop_s": 40.0}
    TOOL["add_cures"](slow, files, outcome, has_fall=False)
    able = {"cake on the router", "fq_codel on the router", "tcp_notsent_lowat"}
    assert set(outcome["scores"]) == {LEAVE, *able} and outcome["scores"][LEAVE] == 0
    assert {each["name"] for each in outcome["answer"]["cures"] if each["draws"]} == {LEAVE, *able}
    assert outcome["loop_s"] > 40 and files.read() == outcome
    del outcome["scores"]
    fit["link.line.rate"] = [1e5, None]
    TOOL["add_cures"](slow, files, outcome, has_fall=False)
    assert {each["name"] for each in outcome["answer"]["cures"] if each["draws"]} == {LEAVE, "tcp_notsent_lowat"}
    assert set(outcome["scores"]) == {LEAVE, *able}, "a shaper that was not tried may have been the best"
    del outcome["scores"]
    fit["fits"] = False
    TOOL["add_cures"](slow, files, outcome, has_fall=True)
    assert "scores" not in outcome and "fall_ms" not in outcome, "nothing fits, so nothing is ranked"


def test_the_fall_in_delay_is_that_of_the_loads_which_a_cure_reaches_and_a_kernel_can_show_it() -> None:
    home = home_of(tomllib.loads(READY[0].text), (), "cubic")
    (cake,) = (cure for cure in cures(line_cures.DEBIAN, 1e6, 16e6) if cure.name == "cake")
    asked: list[str] = []

    def shown(source: Source) -> float:
        asked.extend(role for role in ("uploads", "downloads") if f'"{role}"' in (source.text or ""))
        return 100.0 if len(asked) % 2 else 50.0

    assert line_cures.fall_ms(home, cake, {"up": (3.0, 7.0), "down": (1.0, 2.0)}, shown) == 50.0
    assert asked == ["uploads"] * 2 * line_cures.RUNS
    for cure in cures(line_cures.DEBIAN, 1e6, 16e6):

        def loads(source: Source) -> float:
            (point,) = source.points()
            point.check("vm")
            return 0.0

        if cure.keys is not None:
            line_cures.fall_ms(home, cure, {"up": (3.0, 7.0), "down": (1.0, 2.0)}, loads)
    assert line_cures.load_s(1e6) == line_cures.load_s(None) == (3.333, 6.667), "as long as a measurement's load"
    assert line_cures.load_s(50e6) == (1.569, 3.137) and line_cures.load_s(1e9) == (1.0, 2.0)
