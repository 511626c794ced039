"""Papers: what a folder must hold, how its runs are picked and measured, what a judged paper looks like."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from inline_snapshot import snapshot
from made_up_runs import mean, measured_run, measurements
from sentences import refused
from unbloat.claims.expressions import ClaimError
from unbloat.papers import judge, read, tables
from unbloat.papers.paper import PaperError
from unbloat.report.report import html_of


def run(axes, flows, *, seed=1, delay=10.0, jain=1.0, windows=None):
    rows = [
        {
            "flow": number,
            "cc": cc,
            "throughput_mbps": rate,
            "goodput_mbps": rate * 0.97,
            "sent_packets": 1000,
            "lost_packets": lost,
            "retransmitted_packets": lost,
            "completion_s": end,
            "rtt_ms_mean": 20.0,
            "cwnd_packets_mean": 10.0,
        }
        for number, (cc, rate, lost, end) in enumerate(flows)
    ]
    link = {
        "queue_delay_ms_mean": delay,
        "queue_bytes_mean": 1500.0,
        "queue_percent_mean": 3.0,
        "utilisation_percent": 99.0,
        "drops": 0,
    }
    return measured_run(axes, seed, {"seed": seed, "jain_index": jain, "flows": rows, "links": [link]}, windows)


SMALL_CUBIC = {"limit": "50kb", "protocol": "cubic"}
SMALL_VEGAS = {"limit": "50kb", "protocol": "vegas"}
LARGE_VEGAS = {"limit": "500kb", "protocol": "vegas"}


def grid():
    return measurements(
        "pair",
        [
            run(SMALL_CUBIC, [("cubic", 1.2, 10, None), ("reno", 0.8, 0, 30.0)], delay=100),
            run(SMALL_CUBIC, [("cubic", 0.8, 30, 9.0), ("reno", 1.0, 0, 40.0)], delay=300, seed=2),
            run(SMALL_VEGAS, [("vegas", 0.5, 0, None), ("reno", 1.5, 20, 20.0)], delay=5),
            run(LARGE_VEGAS, [("vegas", 0.4, 0, None), ("reno", 1.6, 20, 20.0)], delay=7),
        ],
    )


def steady():
    """The same, of repeats that draw nothing."""
    cubic = [("cubic", 1.1, 20, None), ("reno", 0.8, 0, 35.0)]
    return measurements(
        "pair",
        [
            run(SMALL_CUBIC, cubic, delay=200),
            run(SMALL_CUBIC, cubic, delay=200, seed=2),
            run(SMALL_VEGAS, [("vegas", 0.5, 0, None), ("reno", 1.5, 20, 20.0)], delay=5),
            run(LARGE_VEGAS, [("vegas", 0.4, 0, None), ("reno", 1.6, 20, 20.0)], delay=7),
        ],
    )


def test_labels_pick_a_grid_point_and_seeds_are_averaged():
    runs = grid()
    assert mean(runs, "queue_delay", ["50kb", "cubic"], {}) == 200
    assert mean(runs, "queue_delay", ["50kb", "cubic"], {}, "s") == pytest.approx(0.2)
    assert mean(runs, "throughput", ["50kb", "cubic"], {}) == pytest.approx(1.9)
    assert mean(runs, "throughput", ["50kb", "cubic"], {"flow": 2}) == pytest.approx(0.9)
    assert mean(runs, "throughput", ["50kb", "cubic"], {"cc": "reno"}) == pytest.approx(0.9)
    assert mean(runs, "loss", ["50kb", "cubic"], {}) == pytest.approx(1.0)
    assert mean(runs, "queue_delay", ["50kb", "vegas", "500kb"], {}) == 7, "a later label takes an earlier one's place"
    assert mean(runs, "completion", ["50kb", "cubic"], {"flow": 2}) == 35
    assert mean(runs, "completion", ["50kb", "cubic"], {"flow": 1}) == float("inf"), "one seed did not end"
    assert [each[0] for each in runs.means_of_flows("throughput", ["50kb", "cubic"])] == pytest.approx([1.1, 0.8])


def test_units_are_those_of_scenarios_and_a_number_without_one_has_the_name_that_papers_give_it():
    runs = grid()
    for name, unit, value in [
        ("throughput", "Mb/s", 1.9),
        ("throughput", "kb/s", 1900),
        ("queue_delay", "s", 0.2),
        ("queue_bytes", "KB", 1.5),
        ("jain", "index", mean(runs, "jain", ["50kb", "cubic"])),
    ]:
        assert mean(runs, name, ["50kb", "cubic"], unit=unit) == pytest.approx(value), unit


def test_of_several_links_the_bottleneck_counts():
    links = [
        {"link": name, "queue_delay_ms_mean": delay, "utilisation_percent": 90.0, "limit_packets": 9}
        for name, delay in (("edge", 1.0), ("core", 30.0))
    ]
    runs = [measured_run({"cc": cc}, 1, {"links": links}) for cc in ("reno", "cubic")]
    assert mean(measurements("pair", runs), "queue_delay", ["reno"]) == 30


@pytest.mark.parametrize(
    ("labels", "selectors", "unit", "says"),
    [
        (
            ["60kb", "cubic"],
            {},
            "",
            snapshot("pair: `60kb` is on 0 axes; the sweep's labels are 500kb, 50kb, cubic, vegas"),
        ),
        (["vegas"], {}, "", snapshot("pair: vegas needs a label of each of limit")),
        (["50kb", "cubic"], {"flow": 3}, "", snapshot("no flow of the run has flow=3")),
        (
            ["50kb", "cubic"],
            {"flwo": 1},
            "",
            snapshot("unknown selector `flwo`; valid: flow, name, cc, mesh, node, hops"),
        ),
        (["50kb", "cubic"], {}, "kB", snapshot("a quantity in Mbit/s cannot be given in kB")),
    ],
)
def test_what_does_not_exist_is_named(labels, selectors, unit, says):
    with refused(ClaimError, says):
        mean(grid(), "throughput", labels, selectors, unit)


def test_a_window_over_time_shows_its_falls_and_its_rests():
    times = np.arange(0, 1.0, 0.1)
    sizes = np.array([10, 20, 30, 27, 27, 27, 28, 40, 28, 29], dtype=float)
    runs = measurements("w", [run({"p": "x"}, [("x", 1, 0, None)], windows={0: np.array([times, sizes, 0 * sizes])})])
    assert mean(runs, "window_steps", ["x"], {"low": 0.88, "high": 0.92}) == 1
    assert mean(runs, "window_steps", ["x"], {"low": 0.6, "high": 0.8}) == 1
    assert mean(runs, "window_regrowths", ["x"], {"low": 0.6, "high": 0.8}) == 1
    assert mean(runs, "window_held", ["x"], {"seconds": 0.15}) == pytest.approx(100 * 0.2 / 0.9)
    assert mean(runs, "window_resumptions", ["x"], {"seconds": 0.15}) == 1
    assert mean(runs, "window_resumptions", ["x"], {"seconds": 0.25}) == 0


FILE = """
[paper]
name = "p"
title = "T"
authors = "A"
where = "J"
[bounds]
relative = 0.1
index = 0.0373
[runs]
seeds = 2
series = {}
[[tables]]
id = "t1"
title = "Table 1. Numbers"
columns = ["cubic", "vegas"]
groups = [{ name = "small", scenario = "pair", at = ["50kb"], rows = [
    { name = "throughput", quantity = "throughput", unit = "Mb/s", published = [["1??", "0.80"], ["0.50", "1.00"]] },
    { name = "delay", quantity = "queue_delay", unit = "s", published = ["0.20", "0.002"] },
] }]
[[statements]]
where = "section 1"
scenario = "pair"
at = ["50kb"]
claims = [
    { id = "c.less", says = "l", holds = "drops(vegas) > 9 * loss(cubic)", direction = "loss(vegas) <= loss(cubic)" },
    { id = "c.value", says = "about 200", quantity = "queue_delay(cubic)", published = "200", unit = "ms" },
    { id = "c.cut", says = "b", reduction = "queue_delay(vegas) / queue_delay(cubic)", published = "97.5", unit = "%" },
]
[[reasons]]
claims = ["c.*"]
text = "because"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pair.toml").touch()
    (tmp_path / "published.toml").write_text(FILE)
    return tmp_path


def test_a_paper_is_judged_whole(folder):
    result = judge.judge(read.load(folder), {"pair": steady()})
    verdicts = {claim.id: claim.verdict for claim in result.claims()}
    assert verdicts == {
        "t1.small.throughput.cubic.2": "reproduced",
        "t1.small.throughput.vegas.1": "reproduced",
        "t1.small.throughput.vegas.2": "direction only",
        "t1.small.delay.cubic": "reproduced",
        "t1.small.delay.vegas": "direction only",
        "c.less": "direction only",
        "c.value": "reproduced",
        "c.cut": "reproduced",
    }
    reasons = {claim.id: claim.reason for claim in result.claims() if claim.reason}
    assert reasons == {"c.less": "because"}, "what is reproduced needs no reason"


def test_repeats_that_scatter_leave_open_what_their_interval_crosses(folder):
    result = judge.judge(read.load(folder), {"pair": grid()})
    open_ones = {claim.id for claim in result.claims() if claim.verdict == "undecided"}
    assert open_ones == {"t1.small.delay.cubic", "t1.small.delay.vegas", "c.less", "c.value", "c.cut"}
    delay = next(claim for claim in result.claims() if claim.id == "c.value")
    # Student's t for one degree of freedom is 12.706, the standard error of 100 and 300 is 100.
    assert (delay.measured, delay.half_width) == (200, pytest.approx(1270.6, rel=1e-4))
    assert [line.strip() for line in tables.report_of(result).text().splitlines() if "200.0" in line] == snapshot(
        ["section 1: c.value: 200.0 ms published, 200 ± 1271 ms measured: undecided"]
    )


def unsound_vegas():
    runs = steady().runs
    why = {"sound": False, "unsound_because": "stood still"}
    doubtful = [replace(each, run=each.run | why) if each.axes == SMALL_VEGAS else each for each in runs]
    return measurements("pair", doubtful)


def test_what_comes_from_an_unsound_run_is_not_judged(folder):
    result = judge.judge(read.load(folder), {"pair": unsound_vegas()})
    unsound = {claim.id for claim in result.unsound()}
    assert unsound == {
        *("t1.small.throughput.vegas.1", "t1.small.throughput.vegas.2", "t1.small.delay.vegas"),
        *("c.less", "c.cut"),
    }
    assert result.counts() == {"reproduced": 3, "direction only": 0, "not reproduced": 0, "undecided": 0}
    assert tables.report_of(result).text() == snapshot("""\
A: T
J

After each measured number: = reproduced, ~ direction only, x not reproduced, X not reproduced and off by a factor of 2
or more, ? undecided, because its interval crosses a bound or two values are alike, ! not judged, because it comes from
an unsound run. The interval after ± is the 95 % confidence interval over repeats.

3 published numbers and statements: 3 reproduced, 0 direction only, 0 not reproduced, 0 undecided. 5 more come from
unsound runs and are not judged. Of the 3 that can be decided, 3 are reproduced (100 %).

Table 1. Numbers
                               cubic                     vegas
                           published     measured    published       measured
────────────────────────  ──────────  ───────────  ───────────  ─────────────
small: throughput (Mb/s)  1?? / 0.80  1.1 / 0.8 =  0.50 / 1.00  0.5 ! / 1.5 !
small: delay (s)                0.20        0.2 =        0.002        0.005 !

Statements of the text

  ! l
      section 1: c.less: 0 > 9 (false): unsound
  = about 200
      section 1: c.value: 200.0 ms published, 200 ms measured: reproduced
  ! b
      section 1: c.cut: 97.5 % published, 97.5 % measured: unsound

What did not come out as published, and why

* unsound run: 50kb, vegas: stood still
    `t1.small.throughput.vegas.1` !, `t1.small.throughput.vegas.2` !, `t1.small.delay.vegas` !, `c.less` !, `c.cut` !\
""")


def test_an_unsound_repeat_is_left_out_where_there_are_others():
    scattered = grid().runs
    scattered[0].run["sound"] = False
    runs = measurements("pair", scattered)
    assert mean(runs, "queue_delay", ["50kb", "cubic"], {}) == 300
    assert runs.why_unsound(["50kb", "cubic"]) == ""


def test_main_claims_stand_first(folder):
    (folder / "published.toml").write_text(FILE.replace('says = "b"', 'says = "b", main = true'))
    result = judge.judge(read.load(folder), {"pair": steady()})
    assert [claim.id for claim in result.main()] == ["c.cut"]
    report = tables.report_of(result)
    for words in (report.text(), report.markdown()):
        assert words.index("= b") < words.index("Table 1. Numbers") < words.rindex("= b")
    assert report.text().split("\n\n")[3:6] == snapshot(
        [
            "1 main claim: 1 reproduced, 0 direction only, 0 not reproduced, 0 undecided.",
            """\
  = b
      section 1: c.cut: 97.5 % published, 97.5 % measured: reproduced\
""",
            """\
8 published numbers and statements: 5 reproduced, 3 direction only, 0 not reproduced, 0 undecided. Of the 8 that can be
decided, 5 are reproduced (62 %).\
""",
        ]
    )
    assert [claim["id"] for claim in report.data["claims"] if claim["main"]] == ["c.cut"]


def test_several_claims_are_counted_over_what_can_be_decided(folder):
    (folder / "published.toml").write_text(FILE.replace('says = "', 'main = true, says = "'))
    judged = [judge.judge(read.load(folder), runs) for runs in ({"pair": grid()}, {"pair": steady()})]
    counts = [(tables.main_count(each), tables.counts_line(each)) for each in judged]
    assert counts == snapshot(
        [
            (
                "3 main claims: 0 reproduced, 0 direction only, 0 not reproduced, 3 undecided.",
                "8 published numbers and statements: 2 reproduced, 1 direction only, 0 not reproduced, 5 undecided. Of the 3 that can be decided, 2 are reproduced (67 %).",
            ),
            (
                "3 main claims: 2 reproduced, 1 direction only, 0 not reproduced, 0 undecided. Of the 3 that can be decided, 2 are reproduced (67 %).",
                "8 published numbers and statements: 5 reproduced, 3 direction only, 0 not reproduced, 0 undecided. Of the 8 that can be decided, 5 are reproduced (62 %).",
            ),
        ]
    )


def test_in_a_report_tables_fold(folder):
    figure = """
[[figures]]
id = "figure1"
title = "Figure 1. Delay"
kind = "bars"
quantity = "queue_delay"
unit = "ms"
groups = ["cubic", "vegas"]
bars = [{ name = "the flow" }]
panels = [{ name = "small", scenario = "pair", at = ["50kb"], published = [[200, nan]] }]
"""
    file = folder / "published.toml"
    file.write_text(FILE + figure)
    result = judge.judge(read.load(folder), {"pair": steady()})
    page = html_of([*tables.folded_tables(result), *tables.folded_reasons(result)])
    assert re.findall("<summary>(.*)</summary>", page) == snapshot(
        [
            "Table 1. Numbers (3 of 5 reproduced)",
            "Statements of the text (2 of 3 reproduced)",
            "2 reasons for 3 numbers and statements",
        ]
    )
    text = tables.report_of(result).text()
    assert "<summary>" not in text and "Figure 1" not in text, "nothing folds in a terminal, nor is drawn there"
    file.write_text(FILE + figure.replace("[[200, nan]]", "[[200]]"))
    with refused(
        PaperError,
        snapshot(
            "TMP/published.toml:42: figures.0.panels.0.published: it needs 1 lists, one for each bar or line, of 2 values, one for each group"
        ),
    ):
        read.load(folder)


def test_a_table_that_is_too_wide_for_a_terminal_has_a_line_for_each_number(folder, monkeypatch):
    report = tables.report_of(judge.judge(read.load(folder), {"pair": grid()}))
    assert "small: delay (s)" in report.text()
    monkeypatch.setattr("unbloat.report.report.screen_width", lambda: 80)
    lines = report.text().split("\n")
    (cubic,) = [line for line in lines if line.startswith("small: delay (s)")]
    assert cubic.split() == ["small:", "delay", "(s)", "cubic", "0.20", "0.2", "±", "1.3", "?"]
    assert lines[lines.index(cubic) + 1].split() == ["vegas", "0.002", "0.005", "?"]
    assert sum(" flow 2 " in line for line in lines) == 2, "equal flows have a line each"
    assert max(map(len, lines)) <= 80
    assert "| small: delay (s) | 0.20 | 0.2 ± 1.3 ? | 0.002 | 0.005 ? |" in report.markdown()


def test_the_json_has_the_promised_shape(folder):
    data = json.loads(json.dumps(judge.judge(read.load(folder), {"pair": steady()}).as_dict(), allow_nan=False))
    assert list(data) == ["paper", "claims", "counts", "counts_by_kind"]
    keys = ["id", "where", "published", "measured", "verdict", "reason", "half_width", "main", "kind"]
    assert all(list(c) == keys for c in data["claims"])
    assert data["counts"] == {"reproduced": 5, "direction only": 3, "not reproduced": 0, "undecided": 0}


APART = """
[[apart]]
as = "baseline"
claims = ["t1.*.cubic*", "c.cut"]
text = "CUBIC alone."
[[apart]]
as = "contradicted"
claims = ["c.cut"]
text = "Table 1 has\\nthe contrary."
"""


def test_kinds_are_counted_apart_and_the_last_one_that_names_a_claim_counts(folder):
    file = folder / "published.toml"
    file.write_text(FILE.replace('says = "b"', 'says = "b", main = true') + APART)
    result = judge.judge(read.load(folder), {"pair": steady()})
    kinds = {kind: [claim.id for claim in claims] for kind, claims in result.by_kind().items()}
    assert kinds == snapshot(
        {
            "own": [
                "t1.small.throughput.vegas.1",
                "t1.small.throughput.vegas.2",
                "t1.small.delay.vegas",
                "c.less",
                "c.value",
            ],
            "baseline": ["t1.small.throughput.cubic.2", "t1.small.delay.cubic"],
            "contradicted": ["c.cut"],
        }
    )
    assert tables.kinds_table(result).columns[1].cells == ("5", "2", "1")
    assert tables.main_count(result) == snapshot(
        "1 main claim; counted apart: 1 contradicted by another printed number."
    )
    report = tables.report_of(result)
    for words in (report.text(), report.markdown()):
        assert "Table 1 has the contrary." in words
    file.write_text(file.read_text().replace('["c.cut"]', '["c.cat"]'))
    with refused(PaperError, snapshot("TMP/published.toml:40: apart.1.claims.0: no number or statement matches c.cat")):
        read.load(folder)


@pytest.mark.parametrize(
    ("published", "factor"), [("200", None), ("90", 200 / 90), ("110", None), ("1000", 0.2), ("0", None)]
)
def test_a_miss_by_a_factor_of_two_is_marked(folder, published, factor):
    text = FILE.replace('published = "200", unit', f'published = "{published}", unit')
    (folder / "published.toml").write_text(text)
    result = judge.judge(read.load(folder), {"pair": steady()})
    (claim,) = [each for each in result.claims() if each.id == "c.value"]
    assert claim.factor == (pytest.approx(factor) if factor else None)
    assert tables.mark_of(claim) == ("X" if factor else "=" if published == "200" else "x")


def test_values_that_differ_by_less_than_one_per_cent_are_alike(folder):
    text = FILE.replace("drops(vegas) > 9 * loss(cubic)", "queue_delay(cubic) > 199")
    (folder / "published.toml").write_text(text)
    result = judge.judge(read.load(folder), {"pair": steady()})
    (claim,) = [each for each in result.claims() if each.id == "c.less"]
    assert (claim.verdict, claim.measured) == snapshot(("undecided", "200 > 199 ms (alike)"))
    (folder / "published.toml").write_text(text.replace("index = 0.0373", "index = 0.0373\ndifference = 0.001"))
    result = judge.judge(read.load(folder), {"pair": steady()})
    assert next(each.verdict for each in result.claims() if each.id == "c.less") == "reproduced"


def test_both_layouts_show_every_number_and_the_counts(folder):
    result = judge.judge(read.load(folder), {"pair": steady()})
    report = tables.report_of(result)
    for words in (report.text(), report.markdown(), re.sub(r"<[^>]*>", "", report.html())):
        assert all(shown in words for shown in ("1?? / 0.80", "1.1 / 0.8 =", "0.005 ~", "because", tables.UNEXPLAINED))
        assert all(f"{number} {verdict}" in words for verdict, number in result.counts().items())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            'columns = ["cubic", "vegas"]',
            'columns = ["cubic"]',
            snapshot("TMP/published.toml:18: tables.0.groups.0.rows.0.published: 2 values for 1 columns"),
        ),
        (
            'id = "c.value"',
            'id = "c.less"',
            snapshot("TMP/published.toml:27: statements.0.claims.1.id: another claim has the id c.less already"),
        ),
        (
            'published = "200", ',
            "",
            snapshot(
                "TMP/published.toml:27: statements.0.claims.1: claim c.value: `published` must be a number in quotes, as the paper prints it"
            ),
        ),
        (
            'quantity = "queue_delay(cubic)", ',
            "",
            snapshot(
                "TMP/published.toml:27: statements.0.claims.1: claim c.value needs one of holds, quantity, reduction"
            ),
        ),
        (
            'scenario = "pair"\nat',
            'scenario = "none"\nat',
            snapshot("TMP/published.toml:23: statements.0.scenario: no file none.toml beside it"),
        ),
        (
            "seeds = 2",
            "seed = 2",
            snapshot("TMP/published.toml:11: runs.seed: unknown key; valid: seeds, series, full"),
        ),
        (
            'title = "Table',
            'titel = "Table',
            snapshot("TMP/published.toml:15: tables.0.titel: unknown key; valid: id, title, columns, groups"),
        ),
        (
            "9 * loss(cubic)",
            "9 ** loss(cubic)",
            snapshot(
                "TMP/published.toml:26: statements.0.claims.0.holds: `9 ** loss(cubic)` in `drops(vegas) > 9 ** loss(cubic)`: valid: numbers, + - * /, comparisons, and, or, not, min, max, abs and measurements such as loss(cubic)"
            ),
        ),
    ],
)
def test_a_wrong_file_is_told_where_it_is_wrong(folder, old, new, says):
    assert FILE.count(old) == 1
    (folder / "published.toml").write_text(FILE.replace(old, new))
    with refused(PaperError, says):
        read.load(folder)
