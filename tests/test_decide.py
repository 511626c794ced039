"""`--full`: repeats until the verdicts are sure, and intervals over grid points with unequal numbers of repeats."""

import pytest
from made_up_runs import measured_run, measurements
from unbloat.claims.batches import RepeatRule
from unbloat.claims.verdicts import SURE
from unbloat.papers import read
from unbloat.papers.batches import measure_until_sure
from unbloat.papers.judge import judge
from unbloat.results.statistics import estimate

SCENARIO = """
duration = "1s"
link.bottleneck = { rate = "1mbit", delay = "10ms", queue = { limit = "10p" } }
flows = [{ cc = "reno" }]
[sweep]
"link.bottleneck.queue.limit" = ["1p", "2p", "3p"]
"flows.0.cc" = ["reno", "cubic"]
"""
PUBLISHED = """
paper = { name = "noisy", title = "Two controls", authors = "A. Author", where = "Journal, 2020" }
bounds = { relative = 0.1, index = 0.04 }
runs = { seeds = 3, full = 24, series = {} }
[[statements]]
where = "section 1"
scenario = "grid"
claims = [CLAIM]
"""
BUFFERS = ("1p", "2p", "3p")
NOISE = (1.0, -1.0, 0.5, -0.5, 0.8, -0.8)
"""By the seed: what the draws of a run add, of some size."""


def paper(folder, claim):
    (folder / "grid.toml").write_text(SCENARIO)
    (folder / "published.toml").write_text(PUBLISHED.replace("CLAIM", claim))
    return read.load(folder).with_all_repeats()


class Pretended:
    """Gives every run a utilisation, from a mean and a spread for each grid point, and counts what is asked for."""

    def __init__(self, cells):
        self.points = cells
        self.made = []

    def __call__(self, _, seeds, only):
        runs = []
        for (buffer, cc), (mean, spread) in self.points.items():
            axes = {"link.bottleneck.queue.limit": buffer, "flows.0.cc": cc}
            if only(axes):
                runs += [run(axes, seed, mean + spread * NOISE[seed % len(NOISE)]) for seed in seeds]
        self.made += [(each.axes["link.bottleneck.queue.limit"], each.axes["flows.0.cc"], each.seed) for each in runs]
        return runs

    def repeats(self):
        """Count the runs of each grid point."""
        return {cell: sum(each[:2] == cell for each in self.made) for cell in self.points}


def run(axes, seed, utilisation):
    link = {"utilisation_percent": utilisation}
    return measured_run(axes, seed, {"seed": seed, "flows": [], "links": [link], "sound": True})


EVERY = """{ id = "all", says = "Cubic uses more", over = ["link.bottleneck.queue.limit"], take = "every", \
holds = "utilisation(cubic) > utilisation(reno)" }"""


def test_only_grid_points_on_which_a_verdict_hangs_are_run_more_often(tmp_path):
    cells = {(buffer, cc): (50.0, 0.0) for buffer in BUFFERS for cc in ("reno", "cubic")}
    cells["1p", "cubic"] = (80.0, 0.01)  # sure at once
    cells["2p", "cubic"] = (52.0, 1.5)  # sure after some more
    cells["3p", "cubic"] = (50.01, 1.0)  # never
    pretended = Pretended(cells)
    asked = paper(tmp_path, EVERY)
    found = measure_until_sure(asked, pretended)
    made = pretended.repeats()
    assert made["1p", "cubic"] == 3 and made["3p", "cubic"] == 24 and 3 < made["2p", "cubic"] < 24
    assert {made[buffer, "reno"] for buffer in BUFFERS} == {2}
    assert len(pretended.made) == len(set(pretended.made))
    (judged,) = judge(asked, found).claims()
    assert (judged.verdict, judged.measured) == ("undecided", "in 2 of 3 grid points, open at 3p")


def test_what_would_be_said_at_95_percent_is_not_sure_before_the_last_repeats(tmp_path):
    """Three repeats with means 1.3 apart: an interval of 95 % leaves zero out, one of 99.9 % does not."""
    cells = {(buffer, cc): (50.0, 0.0) for buffer in BUFFERS for cc in ("reno", "cubic")}
    cells |= {(buffer, "cubic"): (53.0, 0.6) for buffer in BUFFERS}
    values = [3 + 0.6 * NOISE[seed] for seed in (1, 2, 3)]
    assert estimate(values).low > 0 > estimate(values, SURE).low
    pretended = Pretended(cells)
    found = measure_until_sure(paper(tmp_path, EVERY), pretended)
    assert set(pretended.repeats().values()) == {2, 6}
    assert judge(paper(tmp_path, EVERY), found).counts()["reproduced"] == 1


LARGEST = """{ id = "most", says = "Cubic uses up to 30 points more", over = ["link.bottleneck.queue.limit"], \
take = "largest", quantity = "utilisation(cubic) - utilisation(reno)", published = "30", unit = "%" }"""


def test_places_that_are_surely_not_the_largest_are_not_run_on(tmp_path):
    cells = {(buffer, cc): (50.0, 0.0) for buffer in BUFFERS for cc in ("reno", "cubic")}
    cells["1p", "cubic"] = (51.0, 0.01)
    cells["2p", "cubic"] = (83.0, 3.0)  # its bound ends at 33
    pretended = Pretended(cells)
    asked = paper(tmp_path, LARGEST)
    found = measure_until_sure(asked, pretended)
    made = pretended.repeats()
    assert made["2p", "cubic"] == 24 and made["1p", "cubic"] <= 12
    (judged,) = judge(asked, found).claims()
    own = [33 + 3 * NOISE[seed % len(NOISE)] for seed in range(1, 25)]
    assert judged.half_width == pytest.approx(estimate(own).half_width)


def test_an_interval_of_several_grid_points_takes_the_repeats_that_all_of_them_have():
    few = [run({"cc": "a"}, seed, float(seed)) for seed in (1, 2, 3)]
    many = [run({"cc": "b"}, seed, float(seed % 5)) for seed in range(1, 9)]
    still = [run({"cc": "c"}, seed, 7.0) for seed in (1, 2)]
    runs = measurements("grid", few + many + still)
    assert runs.shared([["a"], ["b"], ["c"]]).seeds == [1, 2, 3]
    assert runs.shared([["b"], ["c"]]).seeds == list(range(1, 9))
    assert len(runs.shared([["a"]]).pick(["b"])) == 3


def test_the_stages_end_at_what_the_paper_made():
    assert list(RepeatRule(30, 3).looks()) == [6, 12, 30]
    assert list(RepeatRule(10, 10).looks()) == [] == list(RepeatRule(5).looks())
    assert list(RepeatRule(5).at_first()) == [range(1, 3), range(3, 6)]
    assert list(RepeatRule(1).at_first()) == [range(1, 2)]
