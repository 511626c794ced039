"""`unbloat reproduce --on kernel` and `--on vm`: which runs they ask for, what stands beside what.

Kernels are simulated here.
"""

import dataclasses
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from made_up_paper import PUBLISHED, SCENARIO, write_paper
from sentences import plain
from unbloat._core import GridPoint
from unbloat.cli.app import main
from unbloat.papers import kernel as kernels
from unbloat.papers import read, readme
from unbloat.runs import experiment, pool
from unbloat.runs.store import Store
from unbloat.runs.task import Task, Watch
from unbloat.system.paths import PAPERS

PLAN = """
text = "The kernel's own TCP."
[[runs]]
scenario = "two"
side_by_side = 3
set = { profile = "linux", "link.bottleneck.rate" = "1900kbit" }
[[reasons]]
claims = ["table1.*"]
text = "The kernel is as it is."
"""
PAGE = "# Tiny\n<!-- begin kernel -->\n<!-- end kernel -->\n"


class Kernel:
    """Simulates what the kernel is asked for, and calls it the kernel's."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.processes: list[int] = []
        self.simulating: list[int] = []
        """How many processes simulated what stands beside the kernel's runs."""
        self.profiles: list[str] = []
        """Where each scenario's was written."""
        self.why: str | None = None
        self.stop_at = ""

    def run_all(self, folder: Path, tasks: Mapping[Task, GridPoint], processes: int, watch: Watch, *_: object) -> None:
        task, cell = next(iter(tasks.items()))
        if self.stop_at and task.on != "simulator" and self.stop_at in cell.locate("link"):
            raise KeyboardInterrupt
        simulated = {dataclasses.replace(task, on="simulator"): cell for task, cell in tasks.items()}
        pool.run_all(folder, simulated, 2, lambda *_: None)
        for each in tasks:
            if each.on != "simulator":
                self.rewrite(Store(folder), each)
            watch(each, 1)
        if task.on == "simulator":
            self.simulating.append(processes)
        else:
            self.tasks += tasks
            self.processes.append(processes)
            self.profiles.append(cell.locate("profile"))

    def rewrite(self, store: Store, task: Task) -> None:
        run = store.record(task.key)
        run |= {"on": task.on, "kernel": "6.1.0-9-amd64", "sound": self.why is None, "unsound_because": self.why}
        store.put(task.key, json.dumps(run), None, None)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made_up = Kernel()
    monkeypatch.setattr(experiment, "run_all", made_up.run_all)
    return made_up


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> Kernel:
    """Likewise, where a guest would be looked for and booted."""
    where = experiment.Manner.where
    monkeypatch.setattr(experiment.Manner, "where", lambda self: ["a guest"] if self.on == "vm" else where(self))
    monkeypatch.setattr(experiment.Manner, "guest", lambda _: None)
    return kernel


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_paper(tmp_path, {"kernel.toml": PLAN, "kernel.md": PAGE})


def test_the_kernel_runs_the_grid_points_once_as_the_plan_says(
    tiny: Path, kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(tiny), "--on", "kernel"]) == 0
    said = capsys.readouterr()
    assert plain(said.err) == snapshot("unbloat: 4 runs on the kernel, in real time: 0:08 if all are new\n")
    assert len(kernel.tasks) == 4 and kernel.processes == [3]
    assert kernel.profiles[0] == "profile"
    heads = [re.split("  +", line.strip()) for line in said.out.splitlines() if line.strip().startswith("published")]
    assert heads == snapshot([["published", "simulated", "simulated, kernel's settings", "kernel"]])


def test_the_json_has_all_three_verdicts(tiny: Path, kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", str(tiny), "--on", "kernel", "--table", "table1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [claim["id"] for claim in said["claims"]] == [
        "table1.10-KB.throughput.reno",
        "table1.10-KB.throughput.vegas",
    ]
    reno = said["claims"][0]
    assert reno["measured"] == pytest.approx(reno["simulated_with_its_settings"]["measured"])
    assert reno["measured"] != reno["simulated"]["measured"], "the paper's grid point is not the kernel's"
    assert {reno["verdict"], reno["simulated"]["verdict"]} == {"reproduced"}
    assert (said["on"], said["unsound"]) == ("kernel", [])


def test_the_page_counts_what_agrees_and_names_unsound_runs(
    tiny: Path, kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.why = "the machine was busy"
    assert main(["reproduce", str(tiny), "--on", "kernel", "--page"]) == 0
    page = (tiny / "kernel.md").read_text()
    # Verdicts that differ from the simulated ones would have a list: those of an unsound run do not.
    assert page == snapshot("""\
# Tiny
<!-- begin kernel -->

This machine's Linux 6.1.0-9-amd64: 0 of 0 verdicts are those of the simulator with the same settings; 0 of 0 numbers
and statements are reproduced.

Unsound runs, whose numbers are not judged:

* two, 10kb, reno: the machine was busy
* two, 10kb, vegas: the machine was busy
* two, 20kb, reno: the machine was busy
* two, 20kb, vegas: the machine was busy

<!-- end kernel -->
""")
    assert main(["reproduce", str(tiny), "--on", "kernel"]) == 0
    words = capsys.readouterr().out
    assert "The kernel's own TCP." in words
    numbers = [line for line in words.splitlines() if line.startswith("10 KB: throughput (Mb/s)")]
    assert all(line.endswith(" !") for line in numbers) and numbers


def test_in_a_guest_the_column_names_its_kernel_and_kept_runs_are_taken(
    tiny: Path, guest: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(tiny), "--on", "vm", "--json"]) == 0
    said = capsys.readouterr()
    # Four runs of 4 s; at 1.9 Mbit/s a guest takes 0.057 s of a processor for a second.
    assert plain(said.err) == snapshot(
        "unbloat: 4 runs in guests, 0:16 of their time: some 0:01 of a processor's if all are new\n"
    )
    assert (json.loads(said.out)["on"], json.loads(said.out)["kernel"]) == ("vm", "6.1.0-9-amd64")
    assert len(guest.tasks) == 4 and guest.processes == [min(4, len(os.sched_getaffinity(0)))]
    assert main(["reproduce", str(tiny), "--on", "vm"]) == 0
    assert "6.1.0-9-amd64" in capsys.readouterr().out
    assert len(guest.tasks) == 4, "the runs were kept"


def test_an_interrupted_reproduction_in_guests_goes_on(tiny: Path, guest: Kernel) -> None:
    guest.stop_at = "two.toml"
    assert main(["reproduce", str(tiny), "--on", "vm", "--jobs", "3"]) == 130
    guest.stop_at = ""
    assert main(["reproduce", str(tiny), "--on", "vm", "--jobs", "3"]) == 0
    assert guest.processes == [3]


def test_the_number_of_processes_holds_for_what_is_simulated_too(tiny: Path, kernel: Kernel) -> None:
    assert main(["reproduce", str(tiny), "--on", "kernel", "--jobs", "1"]) == 0
    assert set(kernel.simulating) == set(kernel.processes) == {1}


def test_an_unsound_number_fails_a_check_and_one_claim_needs_its_own_runs(
    tiny: Path, kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["reproduce", str(tiny), "--on", "kernel", "--claim", "delay", "--check", "--json"]
    assert main(options) == 0
    assert len(kernel.tasks) == 2
    kernel.why = "the machine was busy"
    assert main(options) == 1
    told = json.loads("{" + capsys.readouterr().out.rpartition("\n{")[2])
    assert [claim["verdict"] for claim in told["claims"]] == ["unsound"]
    assert set(told["counts"].values()) == {0}


def test_the_guest_s_page_is_its_own(tiny: Path, guest: Kernel) -> None:
    page = tiny / "kernel.md"
    page.write_text(f"{PAGE}<!-- begin vm -->\n<!-- end vm -->\n")
    assert main(["reproduce", str(tiny), "--on", "vm", "--page"]) == 0
    assert page.read_text().startswith(PAGE)
    assert readme.evidence(page) == snapshot(
        "Linux 6.1.0-9-amd64 in a guest: 4 of 4 verdicts are those of the simulator with the same settings; 3 of 4 numbers and statements are reproduced."
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, snapshot("unbloat: TMP/tiny/kernel.md: no such page to write to\n")),
        (
            "# Tiny\n",
            snapshot("unbloat: TMP/tiny/kernel.md: has no part marked `<!-- begin vm -->` to `<!-- end vm -->`\n"),
        ),
    ],
)
def test_a_page_that_cannot_be_written_to_is_refused_before_the_runs(
    tiny: Path, guest: Kernel, capsys: pytest.CaptureFixture[str], text: str | None, told: str
) -> None:
    (tiny / "kernel.md").unlink()
    if text:
        (tiny / "kernel.md").write_text(text)
    assert main(["reproduce", str(tiny), "--on", "vm", "--page"]) == 2
    assert plain(capsys.readouterr().err) == told and guest.tasks == []


@pytest.mark.parametrize(("backend", "kept"), [("kernel", ["both", "real"]), ("vm", ["both", "virtual"])])
def test_runs_and_reasons_hold_where_they_say(backend: str, kept: list[str]) -> None:
    named = [("both", ""), ("real", "kernel"), ("virtual", "vm")]
    runs = [kernels.Selection(name, on=on) for name, on in named]
    reasons = [kernels.KernelReason(["*"], text, on=on) for text, on in named]
    plan = kernels.Plan("", runs, reasons).on(backend)
    assert [run.scenario for run in plan.runs] == [reason.text for reason in plan.reasons] == kept


def test_what_no_kernel_tells_is_left_out(tiny: Path, kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    def told() -> set[str]:
        assert main(["reproduce", str(tiny), "--on", "kernel", "--json"]) == 0
        out = capsys.readouterr().out
        return {claim["id"] for claim in json.loads(out[out.index("{\n") :])["claims"]}

    everything = told()
    (tiny / "kernel.toml").write_text(f'without = ["delay"]\n{PLAN}')
    assert told() == everything - {"delay"} != everything
    assert main(["reproduce", str(tiny), "--on", "kernel", "--claim", "window"]) == 0, "a part lacks it anyhow"


def test_what_an_interrupted_reproduction_has_is_not_run_again(tiny: Path, kernel: Kernel) -> None:
    (tiny / "one.toml").write_text(SCENARIO.replace("4s", "3s"))
    (tiny / "published.toml").write_text(PUBLISHED.replace('scenario = "two"', 'scenario = "one"', 1))
    plan = PLAN.replace("[[reasons]]", '[[runs]]\nscenario = "one"\n[[reasons]]')
    (tiny / "kernel.toml").write_text(plan)
    kernel.stop_at = "one.toml"
    assert main(["reproduce", str(tiny), "--on", "kernel"]) == 130
    kernel.stop_at = ""
    assert len({task.key for task in kernel.tasks}) == len(kernel.tasks) == 4
    assert main(["reproduce", str(tiny), "--on", "kernel"]) == 0
    assert len(kernel.tasks) == 8, "the first file's runs are kept"
    assert main(["reproduce", str(tiny), "--on", "kernel"]) == 0
    assert len(kernel.tasks) == 16, "a finished reproduction is done again"


@pytest.mark.parametrize(
    ("plan", "args", "told"),
    [
        (
            None,
            [],
            snapshot(
                "unbloat: TMP/tiny/kernel.toml: no such file; it says which of the paper's runs the kernel repeats\n"
            ),
        ),
        (
            'text = ""\n[[runs]]\nscenario = "three"\n',
            [],
            snapshot(
                "unbloat: TMP/tiny/kernel.toml:3: runs.0.scenario: each [[runs]] names another scenario file of the folder, not three\n"
            ),
        ),
        (
            'text = ""\n[[runs]]\nscenario = "two"\njobs = 2\n',
            [],
            snapshot(
                "unbloat: TMP/tiny/kernel.toml:4: runs.0.jobs: unknown key; valid: scenario, at, side_by_side, set, on\n"
            ),
        ),
        (
            'text = ""\n[[runs]]\nscenario = "two"\nat = ["30kb"]\n',
            [],
            snapshot("unbloat: kernel.toml runs nothing that these tables and statements need\n"),
        ),
        (
            PLAN,
            ["--choices"],
            snapshot(
                "unbloat: reproduce --on kernel gives the paper's tables only, without --choices and without -o\n"
            ),
        ),
        (
            PLAN,
            ["--kernel", "6.1"],
            snapshot("unbloat: kernel 6.1: only guests (--on vm) run a chosen kernel, not runs --on kernel\n"),
        ),
        (
            PLAN.replace('["table1.*"]', '["table1.*"]\non = "moon"'),
            [],
            snapshot("unbloat: TMP/tiny/kernel.toml:9: reasons.0.on: must be one of kernel, vm, not moon\n"),
        ),
        (
            f'without = ["daley"]\n{PLAN}',
            [],
            snapshot("unbloat: TMP/tiny/kernel.toml:1: without.0: tiny has no table or statement daley\n"),
        ),
    ],
)
def test_mistakes_are_named(
    tiny: Path, capsys: pytest.CaptureFixture[str], plan: str | None, args: list[str], told: str
) -> None:
    if plan is None:
        (tiny / "kernel.toml").unlink()
    else:
        (tiny / "kernel.toml").write_text(plan)
    assert main(["reproduce", str(tiny), "--on", "kernel", *args]) == 2
    assert plain(capsys.readouterr().err) == told


def test_a_group_is_covered_if_all_labels_of_the_selection_are_its_own() -> None:
    one = kernels.Selection("two", ["10kb"])
    assert one.covers("two", ["10kb", "x"]) and not one.covers("two", ["20kb"]) and not one.covers("one", ["10kb"])


def test_the_papers_here_have_plans_that_can_be_read() -> None:
    from unbloat.system.paths import PAPERS

    paper = read.load(PAPERS / "cubic-plus")
    plan = kernels.load(paper)
    names = {group.name for table in plan.of(paper).tables for group in table.groups}
    assert {"I, 50 KB", "I, 500 KB"} <= names


def test_statements_have_the_three_measurements_beside_them(
    tiny: Path, kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(tiny), "--on", "kernel"]) == 0
    words = capsys.readouterr().out
    statements = words[words.index("Statements of the text") :].splitlines()[4:6]
    assert [re.split("  +", line) for line in statements] == snapshot(
        [
            ["Vegas queues shorter", "delay", "15.374 < 53.147 ms =", "17.353 < 57.368 ms =", "17.353 < 57.368 ms ="],
            ["Reno's window falls", "window", "38 >= 1 times =", "42 >= 1 times =", "42 >= 1 times ="],
        ]
    )


@pytest.mark.parametrize("on", ["kernel", "vm"])
@pytest.mark.parametrize("name", [folder.parent.name for folder in sorted(PAPERS.glob("*/kernel.toml"))])
def test_a_kernel_takes_every_run_of_a_plan(name: str, on: str) -> None:
    paper = read.load(PAPERS / name)
    plan = kernels.load(paper).on(on)
    cells = [cell for selection in plan.runs for cell in selection.points(paper)]
    assert cells or not plan.runs
    for cell in cells:
        cell.check(on)


@pytest.mark.parametrize("on", ["kernel", "vm"])
@pytest.mark.parametrize("name", [folder.parent.name for folder in sorted(PAPERS.glob("*/kernel.toml"))])
def test_what_a_plan_covers_asks_for_labels_that_it_runs(name: str, on: str) -> None:
    paper = read.load(PAPERS / name)
    plan = kernels.load(paper).on(on)
    part = plan.of(paper)
    settings = [(group.scenario, group.at) for table in part.tables for group in table.groups]
    settings += [(group.scenario, group.at) for group in part.statements]
    assert settings
    for scenario, at in settings:
        cells = [cell for selection in plan.runs if selection.scenario == scenario for cell in selection.points(paper)]
        labels = {label for cell in cells for label in dict(cell.axes).values()}
        assert set(at) <= labels, (scenario, at)
