"""`unbloat reproduce`: which runs it asks for, what it prints, the page it writes."""

import json
import logging
import re
from functools import cache
from pathlib import Path

import pytest
import unbloat as ub
from inline_snapshot import snapshot
from made_up_paper import ANSWER, PUBLISHED, READING, measurements_named, write_paper
from made_up_runs import measured_run
from sentences import plain, refused
from unbloat.claims import batches as repeated
from unbloat.claims.batches import RepeatRule, simulator
from unbloat.claims.quantities import quantity_named
from unbloat.cli.app import main
from unbloat.papers import batches, extra_tables, read, reproduce
from unbloat.scenarios.source import source_of
from unbloat.system.paths import PAPERS

CHOICES = """
[[tables]]
id = "packets"
title = "Packet sizes"
text = "Smaller packets."
seeds = 1
settings = [{ name = "10 KB", scenario = "two", at = ["10kb"] }]
columns = [{ name = "throughput", quantity = "throughput", unit = "Mb/s" }]
rows = [
    { name = "as it is", at = ["reno"] },
    { name = "small", at = ["reno"], set = { "flows.0.packet" = "500b" } },
]
"""

PAGE = """# Tiny
<!-- begin main: unbloat reproduce tiny --page -->
old
<!-- end main -->
kept
"""


FIGURES = ["figure1.svg", "figure2.svg", "ratios.svg"]
MAIN = PUBLISHED.replace('id = "delay"', 'id = "delay", main = true') + ANSWER
"""The paper with a main claim and what its page needs."""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNBLOAT_CACHE", str(tmp_path / "cache"))
    return write_paper(tmp_path, {"choices.toml": CHOICES, "README.md": PAGE})


def test_the_command_prints_tables_claims_and_counts(tiny, capsys):
    assert main(["reproduce", str(tiny)]) == 0
    assert capsys.readouterr().out == snapshot("""\
A. Author: Two congestion controls on a line
Journal, 2020

After each measured number: = reproduced, ~ direction only, x not reproduced, X not reproduced and off by a factor of 2
or more, ? undecided, because its interval crosses a bound or two values are alike, ! not judged, because it comes from
an unsound run. The interval after ± is the 95 % confidence interval over repeats.

4 published numbers and statements: 3 reproduced, 0 direction only, 1 not reproduced, 0 undecided. Of the 4 that can be
decided, 3 are reproduced (75 %).

Table 1. Throughput
                               reno                vegas
                          published  measured  published  measured
────────────────────────  ─────────  ────────  ─────────  ────────
10 KB: throughput (Mb/s)        1.9    1.98 =        0.5       2 X

Statements of the text

  = Vegas queues shorter
      section 2: delay: 15.374 < 53.147 ms: reproduced
  = Reno's window falls
      section 2: window: 38 >= 1 times: reproduced

What did not come out as published, and why

* not yet explained
    `table1.10-KB.throughput.vegas` X
Figures: results/tiny/ratios.svg, results/tiny/figure1.svg, results/tiny/figure2.svg
""")
    assert sorted(file.name for file in (tiny.parent / "results/tiny").iterdir()) == FIGURES


def test_python_gets_what_the_command_prints(tiny, capsys, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("unbloat"), "handlers", [])
    caplog.set_level("INFO", "unbloat")
    found = ub.paper(tiny).reproduce(jobs=1)
    assert capsys.readouterr().out == "" and caplog.messages == snapshot(["12 runs of 8000 packets at most: 0:01"])
    assert found.paper.name == "tiny" and found.extra_tables == []
    assert repr(found) == snapshot("<unbloat.Reproduction of tiny: 3 reproduced, 1 not reproduced>")
    assert "<table>" in found._repr_html_()
    assert main(["reproduce", str(tiny), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.as_dict()
    with refused(
        ub.InputError,
        snapshot("nothing of tiny begins with `tab9`; valid beginnings: table1, figure1, figure2, delay, window"),
    ):
        ub.paper(tiny).reproduce(table="tab9")


def test_a_part_is_drawn_if_that_is_asked_for(tiny):
    assert main(["reproduce", str(tiny), "--claim", "window"]) == 0
    assert not (tiny.parent / "results").exists()


def test_a_part_that_is_nothing_but_a_figure_is_drawn(tiny, capsys):
    assert main(["reproduce", str(tiny), "--table", "figure1"]) == 0
    assert (tiny.parent / "results/tiny/figure1.svg").exists()
    assert capsys.readouterr().out == snapshot("""\
A. Author: Two congestion controls on a line
Journal, 2020

After each measured number: = reproduced, ~ direction only, x not reproduced, X not reproduced and off by a factor of 2
or more, ? undecided, because its interval crosses a bound or two values are alike, ! not judged, because it comes from
an unsound run. The interval after ± is the 95 % confidence interval over repeats.

This part has no published number or statement: it is a figure.
Figures: results/tiny/figure1.svg
""")
    assert main(["reproduce", str(tiny), "--table", "figure1", "--json", "-o", "drawn"]) == 0
    assert [file.name for file in Path("drawn").iterdir()] == ["figure1.svg"]


def test_figures_of_a_part_with_numbers_are_told(tiny, capsys):
    text = (tiny / "published.toml").read_text().replace('id = "delay"', 'id = "figure1.delay"')
    (tiny / "published.toml").write_text(text)
    assert main(["reproduce", str(tiny), "--table", "figure1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == snapshot("-o DIR draws figure1.")
    assert not (tiny.parent / "results").exists()


def forecast(capsys):
    """Give what is said before the runs."""
    return capsys.readouterr().err.splitlines()[0]


def test_runs_are_counted_beforehand(tiny, capsys):
    assert main(["reproduce", str(tiny), "-j", "1"]) == 0
    assert forecast(capsys) == snapshot("unbloat: 12 runs of 8000 packets at most: 0:01")
    (tiny / "published.toml").write_text(PUBLISHED + ANSWER)
    assert main(["reproduce", str(tiny), "-j", "1", "--page"]) == 0
    assert forecast(capsys) == snapshot("unbloat: all 12 runs are cached")
    assert main(["reproduce", str(tiny), "-j", "1", "--page", "--choices"]) == 0
    # The table beyond the paper has two grid points; one of them is a grid point of the paper too, the other has packets of 500 B.
    assert forecast(capsys) == snapshot("unbloat: 1 of 14 runs are new, with 2000 packets at most: 0:00")
    assert main(["reproduce", str(tiny), "-j", "1", "--choices"]) == 0
    assert forecast(capsys) == snapshot("unbloat: all 2 runs are cached")
    assert main(["reproduce", str(tiny), "-j", "1", "--choices", "--no-cache"]) == 0
    assert forecast(capsys) == snapshot("unbloat: 2 runs of 2667 packets at most: 0:00")


def test_the_json_is_nothing_but_the_promised_object(tiny, capsys):
    assert main(["reproduce", str(tiny), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["paper", "claims", "counts", "counts_by_kind", "set", "readings"]
    assert [claim["id"] for claim in data["claims"]] == [
        "table1.10-KB.throughput.reno",
        "table1.10-KB.throughput.vegas",
        "delay",
        "window",
    ]
    assert data["claims"][0]["published"] == 1.9
    assert data["claims"][0]["measured"] == pytest.approx(2.0, rel=0.05)
    assert not (tiny.parent / "results").exists(), "a script that asks for claims is drawn no figures"
    assert main(["reproduce", str(tiny), "--json", "--output", "drawn"]) == 0
    assert (tiny.parent / "drawn/figure1.svg").exists()


def test_a_part_is_picked_by_its_id(tiny, capsys):
    assert main(["reproduce", str(tiny), "--json", "--table", "table1"]) == 0
    assert len(json.loads(capsys.readouterr().out)["claims"]) == 2
    assert main(["reproduce", str(tiny), "--table", "table9"]) == 2
    assert capsys.readouterr().err == snapshot(
        "unbloat: nothing of tiny begins with `table9`; valid beginnings: table1, figure1, figure2, delay, window\n"
    )


def test_the_page_gets_its_marked_parts_and_keeps_the_rest(tiny, capsys):
    (tiny / "published.toml").write_text(MAIN)
    (tiny.parent / "README.md").write_text("<!-- begin tiny -->\n<!-- end tiny -->\n")
    assert main(["reproduce", str(tiny), "--page", "--choices"]) == 0
    page, entry = ((folder / "README.md").read_text() for folder in (tiny, tiny.parent))
    assert re.sub("unbloat [0-9].*", "unbloat X.", page) == snapshot("""\
# Tiny
<!-- begin main: unbloat reproduce tiny --page -->

| question | answer |
| --- | --- |
| Works as published | Partly: it waits less. |
| Use it for | Short queues. |
| Do not use it for | Lines with Reno. |
| Depends on | The buffer. |
| Evidence in guest and kernel | not run |

1 main claim: 1 reproduced, 0 direction only, 0 not reproduced, 0 undecided.

![Main claims: green is what the paper says, dots are what was measured](figures/claims.svg)

| main claim | published | measured | verdict |
| --- | --- | --- | --- |
| Vegas queues shorter |  | 15.4 < 53.1 ms | reproduced |

| counted apart | published | decided | reproduced | main claims reproduced |
| --- | ---: | ---: | ---: | ---: |
| the mechanism's own | 4 | 4 | 3 (75 %) | 1 of 1 |

![Throughput](figures/figure1.svg)

Made by `unbloat reproduce tiny --page`, unbloat X.

<!-- end main -->
kept
""")
    assert entry == snapshot("""\
<!-- begin tiny -->

Vegas looks at delay.

* **Works as published**: Partly: it waits less.
* **Use it for**: Short queues.
* **Do not use it for**: Lines with Reno.
* **Depends on**: The buffer.

1 main claim: 1 reproduced, 0 direction only, 0 not reproduced, 0 undecided.

<!-- end tiny -->
""")
    assert sorted(file.name for file in (tiny / "figures").iterdir()) == ["claims.svg", "figure1.svg"]
    report = Path("results/tiny/report.html").read_text()
    assert "10 KB: throughput (Mb/s)" in report and "<td>1.9" in report.replace(' class="number"', "")
    assert "Packet sizes" in report
    capsys.readouterr()
    assert main(["reproduce", str(tiny), "--page"]) == 0
    assert (tiny / "README.md").read_text() == page, "the same runs write the same page"
    assert "Packet sizes" not in Path("results/tiny/report.html").read_text()


def test_another_reading_is_judged_apart(tiny, capsys):
    (tiny / "published.toml").write_text(PUBLISHED + READING)
    assert main(["reproduce", str(tiny), "--json", "-o", "drawn"]) == 0
    told = json.loads(capsys.readouterr().out)
    as_printed, halved = told["claims"][0], told["readings"]["slow"]["claims"][0]
    assert (as_printed["id"], as_printed["reason"]) == (halved["id"], "")
    assert halved["measured"] == pytest.approx(as_printed["measured"] / 2, rel=0.05)
    assert halved["reason"] == "Half the rate."
    slow = [file.replace(".", "-slow.") for file in FIGURES]
    assert {file.name for file in Path("drawn").iterdir()} == {*FIGURES, *slow}
    assert main(["reproduce", str(tiny), "--table", "table1"]) == 0
    assert "\n\nA slow link\n\nThe paper's two megabits are one.\n" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_refused_before_any_run(tiny, capsys):
    assert main(["reproduce", str(tiny), "--page"]) == 2
    assert plain(capsys.readouterr().err) == snapshot(
        "unbloat: TMP/tiny/published.toml: a page needs the table [answer]\n"
    )
    (tiny / "published.toml").write_text(MAIN)
    (tiny / "README.md").write_text("# Tiny\n")
    assert main(["reproduce", str(tiny), "--page"]) == 2
    assert plain(capsys.readouterr().err) == snapshot(
        "unbloat: TMP/tiny/README.md: has no part marked `<!-- begin main -->` to `<!-- end main -->`\n"
    )
    (tiny / "published.toml").write_text(MAIN.replace('["figure1"]', '["figure3"]'))
    assert main(["reproduce", str(tiny)]) == 2
    assert plain(capsys.readouterr().err) == snapshot(
        "unbloat: TMP/tiny/published.toml:43: answer.figures.0: unknown figure figure3; valid: figure1, figure2\n"
    )


def test_a_reading_of_what_is_not_there_is_named(tiny, capsys):
    (tiny / "published.toml").write_text(PUBLISHED + READING.replace('["two"]', '["tow"]'))
    assert main(["reproduce", str(tiny)]) == 2
    assert plain(capsys.readouterr().err) == snapshot(
        "unbloat: TMP/tiny/published.toml:41: readings.0.scenarios.0: unknown scenario `tow`; valid: two\n"
    )


def test_all_repeats_say_first_how_long_they_take(tiny, capsys):
    assert main(["reproduce", str(tiny), "--full"]) == 2
    assert capsys.readouterr().err == snapshot("unbloat: tiny always makes all its repeats, 3\n")
    (tiny / "published.toml").write_text(PUBLISHED.replace("seeds = 3", "seeds = 3, full = 4"))
    assert main(["reproduce", str(tiny), "--full", "--choices"]) == 2
    assert main(["reproduce", str(tiny), "--full", "-j", "1"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "16 runs" in line]
    # How long they take depends on the machine.
    assert [line.rpartition(": ")[0] for line in told] == snapshot(
        ["unbloat: 4 grid points, 3 to 4 times each where they draw anything, 2 of at most 16 runs kept"]
    )


NUMBER = "table1.10-KB.throughput.reno"


@pytest.mark.parametrize(("name", "cells"), [(NUMBER, 2), ("delay", 2), ("window", 1)])
def test_one_number_or_statement_needs_its_own_runs_only(tiny, caplog, name, cells):
    caplog.set_level("INFO", "unbloat")
    found = ub.paper(tiny).reproduce(claim=name, jobs=1)
    assert [claim.id for claim in found.judged[0].claims()] == [name]
    assert f"{3 * cells} runs" in caplog.text
    assert len({repeated.place_of(run.axes) for run in found.measurements[0]["two"].runs}) == cells


def test_a_number_that_is_not_there_is_told_with_those_alike(tiny, capsys):
    with refused(ub.InputError, snapshot("tiny has no number or statement `dealy`; did you mean delay?")):
        ub.paper(tiny).reproduce(claim="dealy")
    with refused(
        ub.InputError, snapshot("claim delay: it is one number or statement, so that table table1 cannot narrow it")
    ):
        ub.paper(tiny).reproduce(claim="delay", table="table1")
    found = ub.paper(tiny).reproduce(table="table1.10-KB.throughput.v")
    assert [claim.id for claim in found.judged[0].claims()] == ["table1.10-KB.throughput.vegas"]


def test_keys_set_anew_are_judged_without_the_paper_s_reasons(tiny):
    reason = '[[reasons]]\nclaims = ["*"]\ntext = "As it is."\n'
    (tiny / "published.toml").write_text(PUBLISHED.replace("1.9", "1.7") + reason)
    as_printed = ub.paper(tiny).reproduce(claim=NUMBER)
    halved = ub.paper(tiny).reproduce({"link.bottleneck.rate": "1mbit"}, claim=NUMBER)
    (before,), (after,) = as_printed.failing(), halved.failing()
    assert after.measured == pytest.approx(before.measured / 2, rel=0.05)
    assert (before.reason, after.reason) == ("As it is.", "")
    assert as_printed.as_dict()["set"] == {} and halved.as_dict()["set"] == {"link.bottleneck.rate": "1mbit"}
    told = halved.report().text().split("\n\n")
    assert [part for part in told if "1mbit" in part] == snapshot(["With link.bottleneck.rate = 1mbit."])
    assert told[-1] == snapshot("""\
* with your settings
    `table1.10-KB.throughput.reno` x\
""")


def test_the_command_line_picks_sets_and_checks(tiny, capsys):
    assert main(["reproduce", str(tiny), "--claim", "delay", "--check", "--json"]) == 0
    assert [claim["id"] for claim in json.loads(capsys.readouterr().out)["claims"]] == ["delay"]
    slower = ["--set", "link.bottleneck.rate=1mbit", "--json"]
    assert main(["reproduce", str(tiny), "--claim", NUMBER, "--check", *slower]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["set"] == {"link.bottleneck.rate": "1mbit"}
    assert [claim["verdict"] for claim in told["claims"]] == ["not reproduced"]
    assert main(["reproduce", str(tiny), "--claim", NUMBER, *slower]) == 0
    capsys.readouterr()
    for options in (["--page", "--claim", "delay"], ["--choices", "--set", "duration=1s"]):
        assert main(["reproduce", str(tiny), *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    for option in ("--check", "--json"):
        assert main(["reproduce", str(tiny), "--choices", option]) == 2
    assert {*capsys.readouterr().err.splitlines()} == snapshot(
        {"unbloat: --choices prints tables without verdicts: leave --check, --json and -o out"}
    )


def test_a_report_is_written_in_four_ways(tiny):
    report = ub.paper(tiny).reproduce(claim="delay").report()
    assert "= Vegas queues shorter\n      section 2: delay: " in report.text()
    assert "| = Vegas queues shorter | section 2 | delay | " in report.markdown()
    assert '<span class="reproduced mark" title="reproduced">=</span> Vegas queues shorter' in report.html()
    assert json.loads(report.json())["claims"][0]["verdict"] == "reproduced"


def test_choices_are_printed_alone(tiny, capsys):
    assert main(["reproduce", str(tiny), "--choices"]) == 0
    words = capsys.readouterr().out
    assert words.startswith("Packet sizes\n\nSmaller packets.\n\n10 KB\n")
    assert "reproduced" not in words
    assert main(["reproduce", str(tiny), "--choices", "--table", "packets"]) == 0
    assert capsys.readouterr().out in words
    assert main(["reproduce", str(tiny), "--choices", "--table", "packet"]) == 2
    assert capsys.readouterr().err == snapshot(
        "unbloat: tiny: table: unknown value packet (did you mean packets?); valid: packets\n"
    )


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "cubicplus",
            snapshot(
                "unbloat: unknown paper `cubicplus` (did you mean cubic-plus?); papers: bbr3, clpc, copa, cubic-plus, dtpa, elastic-tcp, hystartpp, illinois, ledbat-pp, rledbat, rtac, search, sorpc, or a folder with a published.toml\n"
            ),
        ),
        (
            "tiny",
            snapshot("""\
unbloat: 12 runs of 8000 packets at most: 0:01
unbloat: two: 20kb needs a label of each of flows.0.cc
"""),
        ),
    ],
)
def test_wrong_input_ends_with_status_2_and_a_sentence(tiny, capsys, name, told):
    (tiny / "published.toml").write_text(PUBLISHED.replace("queue_delay(reno)", "queue_delay()"))
    assert main(["reproduce", name]) == 2
    assert plain(capsys.readouterr().err) == told


def test_only_grid_points_that_draw_are_run_with_more_seeds(tmp_path):
    asked = []

    def simulate(batch, seeds, only):
        places = [{"cc": cc} for cc in ("steady", "random") if only({"cc": cc})]
        asked.append((list(seeds), [place["cc"] for place in places]))
        return [
            measured_run(place, seed, {"seed": seed, "value": seed if place["cc"] == "random" else 0})
            for place in places
            for seed in seeds
        ]

    measured = repeated.measure([repeated.Batch("b", tmp_path)], RepeatRule(5), simulate)
    assert asked == [([1, 2], ["steady", "random"]), ([3, 4, 5], ["random"])]
    assert len(measured["b"].pick(["random"])) == 5
    assert len(measured["b"].pick(["steady"])) == 2


OPEN = """
[[perturbations]]
scenarios = ["two"]
sets = [{}, { "flows.0.start" = "3ms" }]
"""


def test_repeats_differ_in_what_the_paper_leaves_open(tiny):
    """A control that draws nothing has three runs in place of two, of which the third begins as the first did."""
    (tiny / "published.toml").write_text(PUBLISHED + OPEN)
    needed = batches.batches_of(read.load(tiny).claim("delay"))
    measured = repeated.measure(needed, RepeatRule(3), simulator(cache=None, jobs=1))
    used = {run.seed: run.run["links"][0]["utilisation_percent"] for run in measured["two"].pick(["vegas"])}
    assert sorted(used) == [1, 2, 3]
    assert used[1] == used[3] != used[2]


def test_perturbations_are_of_scenarios_that_there_are(tiny, capsys):
    (tiny / "published.toml").write_text(PUBLISHED + OPEN.replace('"two"', '"too"'))
    assert main(["reproduce", "tiny"]) == 2
    assert plain(capsys.readouterr().err) == snapshot(
        "unbloat: tiny/published.toml:38: perturbations.0.scenarios.0: unknown scenario `too`; valid: two\n"
    )


PAPER_NAMES = sorted(file.parent.name for file in PAPERS.glob("*/published.toml"))


@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_the_choices_of_every_paper_name_settings_and_quantities_that_exist(paper):
    read_paper = read.load(reproduce.folder_of(paper))
    for table in extra_tables.load(read_paper.folder):
        needed = extra_tables.batches(table, read_paper)
        picked = repeated.measure(needed, RepeatRule(1), pretend)
        assert all(len(picked[batch.name].runs) == 1 for batch in needed)
        assert all(quantity_named(column.quantity) for column in table.columns)


def pretend(batch, seeds, only):
    """Give an empty run for every grid point asked for: the files are read, with their overrides, but not simulated."""
    axes = all_axes(source_of(batch.source, batch.repeated([1])))
    return [measured_run(labels, 1, {}) for labels in axes if only(labels)]


@cache
def all_axes(source):
    """Give the axes of each grid point; several tables have the same grid."""
    return [repeated.without_repeat(dict(cell.axes)) for cell in source.points()]


@pytest.mark.parametrize("name", PAPER_NAMES)
def test_every_label_of_a_paper_picks_one_grid_point(name):
    itself = read.load(reproduce.folder_of(name))
    for paper in (itself, *itself.other_readings()):
        check_labels(paper)


def check_labels(paper):
    measured = repeated.measure(batches.batches_of(paper), RepeatRule(1), pretend)
    for table in paper.tables:
        for group in table.groups:
            for row in group.rows:
                for column in table.columns:
                    assert measured[group.scenario].pick([*group.at, *row.at, column])
    for statements, claim, call in measurements_named(paper):
        runs = measured[statements.scenario]
        for labels in runs.labels(claim.over, statements.at):
            assert runs.pick([*statements.at, *labels, *call.labels])
    for figure in paper.figures:
        for panel in figure.panels:
            for line in figure.lines or [bar.at for bar in figure.bars]:
                at = [*panel.at, *([line] if isinstance(line, str) else line)]
                # The groups of a distribution are groups of flows.
                is_of_one_cell = figure.by or figure.kind == "ecdf"
                labels = [at] if is_of_one_cell else [[*at, group] for group in figure.groups]
                assert all(measured[panel.scenario].pick(each) for each in labels)
