"""`unbloat compare`: how runs find each other, what lies outside the tolerances, reasons, pages."""

import json
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import plain, refused, stderr_of
from unbloat.comparison.tolerance import CRITERIA, compare, read_reasons
from unbloat.results import files

NAMES = ("left", "right")


def run(
    cc: str = "reno", seed: int = 1, goodput: float = 10.0, delay: float | None = 50.0, **more: Any
) -> dict[str, Any]:
    """A run of two flows, as `unbloat run --json` prints it."""
    flow = {"goodput_mbps": goodput / 2, "lost_packets": more.get("lost", 40) / 2, "retransmitted_packets": 20}
    return {
        "axes": {"flows.0.cc": cc, "seed": str(seed)},
        "scenario": "two",
        "on": more.get("on", "simulator"),
        "seed": seed,
        "sound": "why" not in more,
        "unsound_because": more.get("why"),
        "packet_ms": more.get("packet_ms", 1.2),
        "flows": [flow, flow],
        "links": [{"queue_delay_ms_mean": delay}, {"queue_delay_ms_mean": 0.0}],
    }


def write(folder: Path, name: str, *runs: dict[str, Any]) -> Path:
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"runs": runs}))
    return file


def cells(said: dict[str, Any], number: int = 0) -> list[dict[str, Any]]:
    """The metrics of each grid point of a comparison that `--json` printed, by their names; of links the first one's."""
    listed = (cell["metrics"] for cell in said["comparisons"][number]["grid_points"])
    return [{each["metric"]: each for each in reversed(metrics)} for metrics in listed]


def outside(folder: Path, a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """The figures of one grid point that lie outside the tolerances."""
    (cell,) = compare(NAMES, *(files.read(write(folder, n, r)) for n, r in zip("ab", (a, b), strict=True))).points
    return [compared.criterion.name for compared in cell.outside]


@pytest.mark.parametrize(
    ("change", "far"),
    [
        ({"goodput": 10.29}, []),
        ({"goodput": 10.31}, ["goodput"]),
        ({"goodput": 9.69}, ["goodput"]),
        ({"delay": 55.0}, []),
        ({"delay": 55.1}, ["queue_delay"]),
        ({"delay": None}, ["queue_delay"]),
        ({"lost": 60}, []),
        ({"lost": 62}, ["losses"]),
        ({"lost": 26}, ["losses"]),
        ({"lost": 0}, ["losses"]),
    ],
)
def test_the_goal_has_sharp_edges(tmp_path: Path, change: dict[str, Any], far: list[str]) -> None:
    assert outside(tmp_path, run(), run(**change)) == far


def test_a_short_queue_may_differ_by_one_packet(tmp_path: Path) -> None:
    assert outside(tmp_path, run(delay=2.0), run(delay=3.19)) == []
    assert outside(tmp_path, run(delay=2.0), run(delay=3.3)) == ["queue_delay"]
    assert outside(tmp_path, run(delay=2.0, packet_ms=None), run(delay=3.19)) == ["queue_delay"]


def test_nothing_lost_on_both_sides_is_near(tmp_path: Path) -> None:
    assert outside(tmp_path, run(lost=0), run(lost=0)) == []


def test_python_compares_files(tmp_path: Path) -> None:
    a, b = write(tmp_path, "a", run()), write(tmp_path, "b", run(goodput=20.0))
    assert ub.compare(a, a).counts()["within"] == ub.compare(a, b).counts()["outside"] == 1
    three = ub.compare(a, b, b)
    assert [each.counts()["within"] for each in three.parts] == [0, 1]
    assert (ub.compare(a, a).is_within, three.is_within) == (True, False)
    with refused(
        ub.InputError,
        snapshot("compare needs two sets of results, or one and an axis with two of its labels (--between)"),
    ):
        ub.compare(a)


def test_seeds_are_repeats_and_their_means_are_compared(tmp_path: Path) -> None:
    a = write(tmp_path, "a", run(seed=1, goodput=9.0), run(seed=2, goodput=11.0))
    b = write(tmp_path, "b", run(seed=3, goodput=10.0))
    (cell,) = compare(NAMES, files.read(a), files.read(b)).points
    goodput = cell.compared[0]
    assert (goodput.a.mean, goodput.a.least, goodput.a.greatest) == (10.0, 9.0, 11.0)
    assert (goodput.a.n, goodput.b.n) == (2, 1) and cell.verdict == "within"


def test_grid_points_of_one_side_only_are_said(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("vegas"))
    write(tmp_path, "b", run("reno"), run("bbr"))
    done = cli("compare", "a.json", "b.json", "--json")
    said = json.loads(done.stdout)
    (both,) = said["comparisons"]
    assert [place["axes"] for place in both["only_a"]] == [{"flows.0.cc": "vegas"}]
    assert [place["axes"] for place in both["only_b"]] == [{"flows.0.cc": "bbr"}]
    assert cli("compare", "a.json", "b.json").stdout == snapshot("""\
A is a.json (simulator), B is b.json (simulator). x marks what lies outside the tolerances: goodput within 3 %, queueing
delay within 10 % or one packet's transmission time, losses and retransmissions within a factor of 1.5; B against A.

cc     goodput                queueing delay                   losses              retransmissions
      A Mbit/s     B       %            A ms     B       %  A packets   B   B / A        A packets   B   B / A
────  ────────  ────  ──────  ──────────────  ────  ──────  ─────────  ──  ──────  ───────────────  ──  ──────
reno      10.0  10.0  +0.0              50.0  50.0  +0.0           40  40  1.00                 40  40  1.00

Only in A:

* (two: vegas)

Only in B:

* (two: bbr)

1 grid point: 1 within the tolerances, 0 outside, 0 unsound; 1 of 1 with goodput and queueing delay within theirs.
""")


def test_unsound_runs_are_listed_and_not_judged(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run())
    write(tmp_path, "b", run(goodput=1.0, on="kernel", why="packets left 3 ms late"))
    assert cli("compare", "a.json", "b.json").stdout == snapshot("""\
A is a.json (simulator), B is b.json (kernel). x marks what lies outside the tolerances: goodput within 3 %, queueing
delay within 10 % or one packet's transmission time, losses and retransmissions within a factor of 1.5; B against A.

cc     goodput                 queueing delay                   losses              retransmissions
      A Mbit/s     B        %            A ms     B       %  A packets   B   B / A        A packets   B   B / A
────  ────────  ────  ───────  ──────────────  ────  ──────  ─────────  ──  ──────  ───────────────  ──  ──────  ───────
reno      10.0  1.00  -90.0 x            50.0  50.0  +0.0           40  40  1.00                 40  40  1.00    unsound

Unsound, and not judged:

* (two: reno) B: packets left 3 ms late

1 grid point: 0 within the tolerances, 0 outside, 1 unsound; 0 of 0 with goodput and queueing delay within theirs.
""")
    said = json.loads(cli("compare", "a.json", "b.json", "--json").stdout)
    assert [cell["verdict"] for cell in said["comparisons"][0]["grid_points"]] == ["unsound"]


def perturbed_run(goodput: float, label: str) -> dict[str, Any]:
    """The run of Reno once more, along an axis that should make no difference."""
    near = run("reno", goodput=goodput)
    return {**near, "axes": {**near["axes"], "farther": label}}


def test_what_perturbations_make_of_a_is_no_difference_of_b(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("cubic"))
    write(tmp_path, "b", run("reno", goodput=12.3), run("cubic", goodput=12.3))
    write(tmp_path, "spread", perturbed_run(9.0, "1 us"), perturbed_run(12.0, "5 us"))
    command = ("compare", "a.json", "b.json", "--spread", "spread.json")
    said = json.loads(cli(*command, "--json").stdout)
    first, second = cells(said)
    spread = first["goodput_mbps"]["spread"]
    assert (spread["words"], spread["least"], spread["greatest"]) == (snapshot("on A's side"), 9.0, 12.0)
    assert second["goodput_mbps"]["spread"] is None
    counts = said["comparisons"][0]["counts"]
    assert (counts["outside"], counts["outside, within the spread"], counts["outside without a reason"]) == (2, 1, 1)
    assert cli(*command).stdout == snapshot("""\
A is a.json (simulator), B is b.json (simulator). x marks what lies outside the tolerances: goodput within 3 %, queueing
delay within 10 % or one packet's transmission time, losses and retransmissions within a factor of 1.5; B against A.

cc      goodput                 queueing delay                   losses              retransmissions
       A Mbit/s     B        %            A ms     B       %  A packets   B   B / A        A packets   B   B / A
─────  ────────  ────  ───────  ──────────────  ────  ──────  ─────────  ──  ──────  ───────────────  ──  ──────  ──────────────────────────────
reno       10.0  12.3  +23.0 x            50.0  50.0  +0.0           40  40  1.00                 40  40  1.00    goodput 9.00..12.0 on A's side
cubic      10.0  12.3  +23.0 x            50.0  50.0  +0.0           40  40  1.00                 40  40  1.00    no reason

Outside the tolerances without a reason:

* (two: cubic) goodput

2 grid points: 0 within the tolerances, 2 outside (1 within the spread of one side, 1 without a reason), 0 unsound; 0 of
2 with goodput and queueing delay within theirs.
""")


def test_unsound_perturbed_runs_say_nothing(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run())
    write(tmp_path, "b", run(goodput=12.0))
    unsound = {**run(goodput=12.0, why="packets left 3 ms late"), "axes": perturbed_run(12.0, "1 us")["axes"]}
    write(tmp_path, "spread", perturbed_run(9.0, "5 us"), unsound)
    said = json.loads(cli("compare", "a.json", "b.json", "--spread", "spread.json", "--json").stdout)
    assert said["comparisons"][0]["counts"]["outside without a reason"] == 1


def test_a_spread_of_one_set_is_refused(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("cubic"))
    write(tmp_path, "spread", perturbed_run(9.0, "1 us"))
    done = cli("compare", "a.json", "--between", "cc=reno,cubic", "--spread", "spread.json")
    assert done.returncode == 2 and stderr_of(done) == snapshot(
        "unbloat: between and spread do not go together: the spread's runs are one set, not two"
    )


def test_a_spread_ends_where_the_goal_begins(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run())
    write(tmp_path, "b", run(goodput=12.4))
    write(tmp_path, "spread", perturbed_run(12.0, "1 us"))
    said = json.loads(cli("compare", "a.json", "b.json", "--spread", "spread.json", "--json").stdout)
    assert said["comparisons"][0]["counts"]["outside without a reason"] == 1


def test_of_three_sets_the_third_belongs_to_the_spread(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("cubic"))
    write(tmp_path, "b", run("reno", goodput=12.0), run("cubic"))
    write(tmp_path, "c", run("reno", goodput=9.0), run("cubic", goodput=8.0))
    write(tmp_path, "spread", perturbed_run(9.1, "1 us"))
    said = json.loads(cli("compare", "a.json", "b.json", "c.json", "--spread", "spread.json", "--json").stdout)
    spreads = [cell["goodput_mbps"]["spread"] for number in (0, 1) for cell in cells(said, number)]
    assert [each and (each["words"], each["least"], each["greatest"]) for each in spreads] == snapshot(
        [("on B's side", 9.0, 12.0), None, ("in A and B", 9.1, 12.0), None]
    )


def test_a_spread_of_something_else_is_refused(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"))
    write(tmp_path, "spread", run("vegas"))
    done = cli("compare", "a.json", "a.json", "--spread", "spread.json")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        "unbloat: no run of the spread belongs to a grid point of A or B; its first run is of (two: vegas)"
    )


REASONS = """
[[reasons]]
at      = { cc = ["ren*"] }
figures = ["goodput"]
text    = "Because
of this."

[[reasons]]
at   = { cc = "vegas" }
text = "Long gone."
""".replace('"Because\nof this."', '"""Because\nof this."""')


def test_reasons_stand_beside_what_is_outside(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("cubic"), run("vegas"))
    write(tmp_path, "b", run("reno", goodput=20.0, delay=10.0), run("cubic"), run("vegas"))
    (tmp_path / "why.toml").write_text(REASONS)
    said = json.loads(cli("compare", "a.json", "b.json", "--reasons", "why.toml", "--json").stdout)
    metrics = cells(said)[0]
    assert metrics["goodput_mbps"]["reason"] == "Because of this."
    assert metrics["queue_delay_ms_mean"]["reason"] is None
    assert said["idle_reasons"] == ["Long gone."]
    counts = said["comparisons"][0]["counts"]
    assert counts["outside"] == counts["outside without a reason"] == 1
    assert cli("compare", "a.json", "b.json", "--reasons", "why.toml").stdout == snapshot("""\
A is a.json (simulator), B is b.json (simulator). x marks what lies outside the tolerances: goodput within 3 %, queueing
delay within 10 % or one packet's transmission time, losses and retransmissions within a factor of 1.5; B against A.

cc      goodput                  queueing delay                    losses              retransmissions
       A Mbit/s     B         %            A ms     B        %  A packets   B   B / A        A packets   B   B / A
─────  ────────  ────  ────────  ──────────────  ────  ───────  ─────────  ──  ──────  ───────────────  ──  ──────  ──────────────
reno       10.0  20.0  +100.0 x            50.0  10.0  -80.0 x         40  40  1.00                 40  40  1.00    [1], no reason
cubic      10.0  10.0    +0.0              50.0  50.0   +0.0           40  40  1.00                 40  40  1.00
vegas      10.0  10.0    +0.0              50.0  50.0   +0.0           40  40  1.00                 40  40  1.00

[1] Because of this.

Outside the tolerances without a reason:

* (two: reno) queueing delay

Reasons that no grid point needs:

* Long gone.

3 grid points: 2 within the tolerances, 1 outside (1 without a reason), 0 unsound; 2 of 3 with goodput and queueing
delay within theirs.
""")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[[reason]]\n",
            snapshot(
                "TMP/why.toml: holds no [[reasons]], each with `text` and, where it is about some grid points only, `at`"
            ),
        ),
        (
            "[[reasons]]\nwhy = 'x'\n",
            snapshot("TMP/why.toml: reason 1: unknown key `why`; valid: text, at, figures, scenario"),
        ),
        ("[[reasons]]\ntext = ' '\n", snapshot("TMP/why.toml: reason 1: `text` must say why, in a string")),
        (
            "[[reasons]]\ntext = 'x'\nfigures = ['speed']\n",
            snapshot(
                "TMP/why.toml: reason 1: `figures` must be a list of goodput, queue_delay, losses, retransmissions"
            ),
        ),
        (
            "[[reasons]]\ntext = 'x'\nat = { cc = 3 }\n",
            snapshot("TMP/why.toml: reason 1: at.cc: must be a label or a list of labels, as strings"),
        ),
        ("[[reasons", snapshot("TMP/why.toml: Expected ']]' at the end of an array declaration (at end of document)")),
    ],
)
def test_mistakes_in_reasons_are_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "why.toml").write_text(text)
    with pytest.raises(ub.InputError, match=r"why\.toml") as caught:
        read_reasons(tmp_path / "why.toml", [criterion.name for criterion in CRITERIA])
    assert plain(caught.value) == words


def test_folders_files_and_what_is_printed_hold_the_same(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    cli("run", sweep, "-o", "folder")
    (tmp_path / "printed.json").write_text(cli("run", sweep, "--json").stdout)
    for left, right in (("folder", "printed.json"), ("folder/runs.parquet", "folder")):
        said = json.loads(cli("compare", left, right, "--json").stdout)
        ratios = {metric["ratio"] for cell in cells(said) for metric in cell.values()}
        assert len(cells(said)) == 4 and ratios == {1.0}


def test_two_labels_of_one_axis_can_be_compared(cli: Cli, sweep: Path) -> None:
    cli("run", sweep, "-o", "both")
    said = json.loads(cli("compare", "both", "--between", "cc=reno,cubic", "--json").stdout)
    assert [cell["axes"] for cell in said["comparisons"][0]["grid_points"]] == [
        {"link.bottleneck.queue.limit": "15kb"},
        {"link.bottleneck.queue.limit": "60kb"},
    ]
    reno, cubic = (json.loads(cli("run", sweep, "--cc", cc, "--json").stdout)["runs"] for cc in ("reno", "cubic"))
    delay = cells(said)[1]["queue_delay_ms_mean"]
    assert delay["a"]["mean"] == pytest.approx(reno[1]["links"][0]["queue_delay_ms_mean"])
    assert delay["b"]["mean"] == pytest.approx(cubic[1]["links"][0]["queue_delay_ms_mean"])


def test_a_page_gets_the_table_and_the_command(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("cubic"))
    write(tmp_path, "b", run("reno"), run("cubic", delay=90.0))
    page = tmp_path / "page.md"
    assert cli("compare", "a.json", "b.json", "--page", "page.md").returncode == 0
    first = page.read_text()
    assert first == snapshot("""\
# Compared

<!-- begin comparison -->

    unbloat compare a.json b.json --page page.md

A is a.json (simulator), B is b.json (simulator). x marks what lies outside the tolerances: goodput within 3 %, queueing
delay within 10 % or one packet's transmission time, losses and retransmissions within a factor of 1.5; B against A.

| cc | goodput A Mbit/s | B | % | queueing delay A ms | B | % | losses A packets | B | B / A | retransmissions A packets | B | B / A |  |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| reno | 10.0 | 10.0 | +0.0   | 50.0 | 50.0 | +0.0   | 40 | 40 | 1.00   | 40 | 40 | 1.00   |  |
| cubic | 10.0 | 10.0 | +0.0   | 50.0 | 90.0 | +80.0 x | 40 | 40 | 1.00   | 40 | 40 | 1.00   | no reason |

Outside the tolerances without a reason:

* (two: cubic) queueing delay

2 grid points: 1 within the tolerances, 1 outside (1 without a reason), 0 unsound; 1 of 2 with goodput and queueing
delay within theirs.
<!-- end comparison -->
""")
    page.write_text(f"My words.\n{first}")
    cli("compare", "a.json", "a.json", "--page", "page.md")
    second = page.read_text()
    assert second.startswith("My words.") and "+80.0" not in second


def test_three_sets_stand_side_by_side(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "a", run("reno"), run("cubic"))
    write(tmp_path, "b", run("reno", delay=90.0), run("cubic"))
    write(tmp_path, "c", run("reno", delay=91.0, why="late"))
    said = cli("compare", "a.json", "b.json", "c.json").stdout
    reno, cubic = (next(line for line in said.splitlines() if line.startswith(cc)) for cc in ("reno", "cubic"))
    assert reno.split()[4:7] == ["50.0", "90.0", "x"] and "91.0" in reno
    assert cubic.split()[1:5] == ["10.0", "10.0", "50.0", "50.0"], "C has no such grid point"
    assert said.split("\n\n")[1:] == snapshot(
        [
            """\
cc      goodput              queueing delay                   losses          retransmissions
       A Mbit/s     B     C            A ms       B     C  A packets   B   C        A packets   B   C
─────  ────────  ────  ────  ──────────────  ──────  ────  ─────────  ──  ──  ───────────────  ──  ──  ──────────────────
reno       10.0  10.0  10.0            50.0  90.0 x  91.0         40  40  40               40  40  40  no reason, unsound
cubic      10.0  10.0                  50.0    50.0               40  40                   40  40\
""",
            "Unsound, and not judged:",
            "* (two: reno) C: late",
            "Outside the tolerances without a reason:",
            "* (two: reno) queueing delay",
            """\
B against A: 2 grid points: 1 within the tolerances, 1 outside (1 without a reason), 0 unsound; 1 of 2 with goodput and
queueing delay within theirs.\
""",
            """\
C against B: 1 grid point: 0 within the tolerances, 0 outside, 1 unsound; 0 of 0 with goodput and queueing delay within
theirs.
""",
        ]
    )
    judged = json.loads(cli("compare", "a.json", "b.json", "c.json", "--json").stdout)
    verdicts = [[cell["verdict"] for cell in each["grid_points"]] for each in judged["comparisons"]]
    assert verdicts == [["outside", "within"], ["unsound"]]
    assert [each["name"] for each in judged["sets"]] == ["a.json", "b.json", "c.json"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["a.json", "a.json", "a.json", "--between", "cc=reno,reno"],
            snapshot("unbloat: compare takes one set of results or two with `between`, not three"),
        ),
        (
            ["a.json"],
            snapshot(
                "unbloat: compare needs two sets of results, or one and an axis with two of its labels (--between)"
            ),
        ),
        (["a.json", "none.json"], snapshot("unbloat: none.json: no such file or folder")),
        (
            ["a.json", "text.json"],
            snapshot(
                "unbloat: text.json: is not a file that `unbloat run` wrote with -o or printed with --json: it has no runs"
            ),
        ),
        (
            ["a.json", "empty"],
            snapshot("unbloat: empty: contains no results; `unbloat run FILE -o empty` writes them there"),
        ),
        (
            ["a.json", "other.json"],
            snapshot(
                "unbloat: a.json and other.json have no grid point in common: the first begins with (two: reno), the second with (two: bbr)"
            ),
        ),
        (
            ["a.json", "--between", "cc=reno"],
            snapshot("unbloat: between: cc=reno is not AXIS=LABEL_A,LABEL_B, such as cc=kernel:cubic,cubic"),
        ),
        (["a.json", "--between", "cc=reno,vegas"], snapshot("unbloat: between: cc is never vegas, only reno")),
        (
            ["a.json", "--between", "rate=1,2"],
            snapshot("unbloat: unknown axis rate; valid: flows.0.cc, seed"),
        ),
        (
            ["a.json", "a.json", "--page", "plain.md"],
            snapshot("unbloat: plain.md: has no part marked `<!-- begin comparison -->` to `<!-- end comparison -->`"),
        ),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(cli: Cli, tmp_path: Path, args: list[str], told: str) -> None:
    write(tmp_path, "a", run("reno"))
    write(tmp_path, "other", run("bbr"))
    (tmp_path / "text.json").write_text("{}")
    (tmp_path / "plain.md").write_text("My words.\n")
    (tmp_path / "empty").mkdir()
    done = cli("compare", *args)
    assert done.returncode == 2
    assert stderr_of(done) == told


def test_the_backends_are_named_with_their_kernels(cli: Cli, tmp_path: Path) -> None:
    runs = [run(on="vm") | {"kernel": release, "seed": seed} for seed, release in ((1, "6.1.0-9"), (2, "6.12.1-1"))]
    write(tmp_path, "a", run())
    write(tmp_path, "b", *runs)
    assert cli("compare", "a.json", "b.json").stdout.splitlines()[0] == snapshot(
        "A is a.json (simulator), B is b.json (vm 6.1.0-9, 6.12.1-1). x marks what lies outside the tolerances: goodput within 3"
    )
    sides = json.loads(cli("compare", "a.json", "b.json", "--json").stdout)
    assert tuple(each["kernel"] for each in sides["sets"]) == (None, "6.1.0-9, 6.12.1-1")


def test_tolerances_are_an_argument(tmp_path: Path) -> None:
    a, b = write(tmp_path, "a", run()), write(tmp_path, "b", run(goodput=10.4, lost=70, delay=50.6))

    def differs(**tolerance: float | str) -> list[str]:
        table = ub.compare(a, b, tolerance=tolerance).table
        return list(table[table["differs"]]["metric"])

    assert differs() == ["goodput_mbps", "lost_packets"]
    assert differs(goodput="5%") == differs(goodput=0.05) == ["lost_packets"]
    assert differs(goodput="5%", losses="2x") == []
    assert differs(goodput="3.9%", losses="80%") == ["goodput_mbps"]
    assert differs(goodput="5%", losses="2x", queue_delay="0%") == [], "a packet's time stays allowed"
    assert differs(goodput="5%", losses="2x", queue_bytes="1%", retransmitted_packets="1x") == []
    assert ub.compare(a, b, tolerance={"goodput": "5%"}).as_dict()["tolerances"] == snapshot(
        {
            "goodput": "within 5 %",
            "queue_delay": "within 10 % or one packet's transmission time",
            "losses": "within a factor of 1.5",
            "retransmissions": "within a factor of 1.5",
        }
    )


@pytest.mark.parametrize(
    ("tolerance", "words"),
    [
        ({"goodput": "5"}, snapshot('tolerance: goodput=5: must be a share such as "5%", or a factor such as "1.5x"')),
        (
            {"goodput": "much"},
            snapshot('tolerance: goodput=much: must be a share such as "5%", or a factor such as "1.5x"'),
        ),
        (
            {"goodput": "-5%"},
            snapshot('tolerance: goodput=-5%: must be a share such as "5%", or a factor such as "1.5x"'),
        ),
        (
            {"losses": "0.5x"},
            snapshot('tolerance: losses=0.5x: must be a share such as "5%", or a factor such as "1.5x"'),
        ),
        (
            {"losses": "nan%"},
            snapshot('tolerance: losses=nan%: must be a share such as "5%", or a factor such as "1.5x"'),
        ),
        ({"goodput": ""}, snapshot('tolerance: goodput=: must be a share such as "5%", or a factor such as "1.5x"')),
        (
            {"velocity": "5%"},
            snapshot(
                "tolerance: unknown metric velocity; the metrics are bitrate, buffer, buffered_windows, buffered_windows_p10, buffered_windows_p25, buffered_windows_p50, buffered_windows_p75, buffered_windows_p90, completion, cpu_idle, cwnd, delay, delay_max, delay_p50, delay_p95, delay_p99, drops, duplicates, goodput, jain, lateness_p99, loss, loss_events, losses, marks, opinion, page_load, page_load_max, page_load_p50, page_load_p95, page_load_p99, queue_bytes, queue_delay, queue_delay_max, queue_delay_p50, queue_delay_p95, queue_delay_p99, rating, rating_in, rating_out, receiver_rtt, response, response_max, response_p50, response_p95, response_p99, retransmissions, retries, rtt, rtt_max, rtt_min, rtt_p50, rtt_p95, rtt_p99, sent, skipped, sndbuf, sndbuf_half_full, sndbuf_half_full_after, sndbuf_p10, sndbuf_p25, sndbuf_p50, sndbuf_p75, sndbuf_p90, stalled, stalls, startup, switches, throughput, timeouts, unfinished, utilisation, wait, wire_losses, wmem_queued"
            ),
        ),
    ],
)
def test_wrong_tolerances_are_a_sentence(tmp_path: Path, tolerance: dict[str, str], words: str) -> None:
    a = write(tmp_path, "a", run())
    with refused(ub.InputError, words):
        ub.compare(a, a, tolerance=tolerance)


def test_every_comparison_has_the_same_shape(sweep: Path) -> None:
    """Runs, sweeps and three sets; whatever a script reads of one it can read of the others."""
    lossy = {"link.bottleneck.loss": "1%"}
    runs, swept = ub.scenario(sweep, lossy).run(), ub.scenario(sweep, lossy).run(repeat=2)
    said = [
        each.as_dict()
        for each in (
            ub.compare(runs, runs),
            ub.compare(swept, swept),
            ub.compare(runs, swept, runs),
            runs.compare(runs),
        )
    ]
    (shape,) = {tuple(tuple(each) for each in (one, one["sets"][0], *shapes(one["comparisons"][0]))) for one in said}
    assert shape[0] == ("method", "tolerances", "sets", "comparisons", "idle_reasons")
    assert [each["method"] for each in said] == ["tolerance", "intervals", "tolerance", "tolerance"]


def shapes(comparison: dict[str, Any]) -> list[dict[str, Any]]:
    cell = comparison["grid_points"][0]
    metric = cell["metrics"][0]
    return [comparison, cell, metric, metric["a"], metric["b"], metric["difference"]]


def test_results_compare_themselves(sweep: Path) -> None:
    results = ub.scenario(sweep).run()
    with refused(ub.InputError, snapshot("unknown axis rate; valid: flows.0.cc, link.bottleneck.queue.limit")):
        results.compare(between="rate")
    short = results.compare(between="cc")
    assert short.table.equals(results.compare(between="flows.0.cc=reno,cubic").table)
    assert short.method == "intervals" and short.counts()["exceed"] == 0, "they are meant to differ"
    assert results.compare(between="cc", tolerance={"goodput": "3%"}).method == "tolerance"
    for between in (("cc", "reno", "cubic"), ["cc"], {"cc": ["reno", "cubic"]}, {"flows.0.cc": "reno,cubic"}):
        assert results.compare(between=between).table.equals(short.table)
    with refused(ub.InputError, snapshot("between: takes one axis, not 2: cc, limit")):
        results.compare(between={"cc": "reno,cubic", "limit": "15kb,60kb"})
    goodput = results.flows.set_index(["cc", "limit"])["goodput_mbps"]
    (row,) = short.table.query("metric == 'goodput_mbps' and of == 'all flows'")[["a", "b"]].to_numpy().tolist()[:1]
    assert row == pytest.approx([goodput["reno", "15kb"], goodput["cubic", "15kb"]])
    assert str(short).split("\n\n")[0] == snapshot("""\
A is small with cc = reno (simulator), B is small with cc = cubic (simulator). Means ± half of the 95 % confidence
interval; * behind a difference: it exceeds its interval, ? a single run leaves that open. The intervals are those of
pairs: both sides have the same seeds.\
""")
    assert "<table>" in short._repr_html_()
    with refused(ub.InputError, snapshot("between: cc has 3 labels: name two, as cc=reno,cubic")):
        ub.scenario(sweep, {"sweep.flows.0.cc": ["reno", "cubic", "vegas"]}).run().compare(between="cc")
