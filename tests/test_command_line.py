"""The command line itself: its help, its names, its options in short, what it does when something is misspelled."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from sentences import refused, stderr_of
from unbloat.cli.app import COMMANDS, Entry, app, examples_of
from unbloat.cli.upkeep import doctor_screen
from unbloat.system.paths import ALGORITHMS, SCENARIOS

HEAVY = ("pandas", "pyarrow", "matplotlib", "dask", "distributed", "scipy", "numpy", "rich", "asyncio")
NAMES = [entry.name for entry in COMMANDS]


def context_of(entry: Entry) -> click.Context:
    return click.Context(entry.command(), info_name=entry.name, parent=click.Context(click.Command("unbloat")))


# ---------------------------------------------------------------- Help


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_the_list_of_commands_says_what_each_says_of_itself(entry: Entry) -> None:
    assert (entry.command().help or "").partition("\n")[0] == entry.about


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_examples_are_commands_that_there_are(entry: Entry) -> None:
    """They are read as the command line reads them; what they do is not done."""
    examples = examples_of(entry.command())
    assert examples
    for example in examples:
        words = shlex.split(re.sub(r".*\$\((.*?)\).*", r"\1", example))
        words = words[words.index("unbloat") + 1 :]
        assert words[0] in NAMES, example
        if words[0] == entry.name:
            entry.command().make_context(entry.name, words[1:])


@pytest.mark.parametrize("command", ["", *NAMES])
def test_help_fits_80_columns_and_every_option_is_explained(cli: Cli, command: str) -> None:
    done = cli(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Examples:" in done.stdout and "unbloat" in done.stdout
    assert "\033" not in done.stdout


@pytest.mark.parametrize("entry", COMMANDS, ids=NAMES)
def test_every_argument_and_option_has_a_sentence(entry: Entry) -> None:
    for parameter in entry.command().get_params(context_of(entry)):
        assert getattr(parameter, "help", None), parameter.name


@pytest.mark.parametrize("words", [["--help"], ["list"], ["--version"], ["run", "--help"]])
def test_what_is_asked_for_often_loads_no_large_library(words: list[str], small: Path) -> None:
    script = f"""
import sys
from unbloat.cli.entry import main
sys.argv = ["unbloat", *{words!r}]
try:
    main()
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # Before it may stand that mechanisms are compiled, once.
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("words", [["--help"], ["list"], ["--version"]])
def test_what_runs_nothing_loads_neither_tables_nor_the_options_of_runs(words: list[str]) -> None:
    script = f"""
import sys
from unbloat.cli.entry import main
sys.argv = ["unbloat", *{words!r}]
try:
    main()
finally:
    loaded = [name for name in sys.modules if name.startswith(("unbloat.report", "unbloat.runs", "unbloat.cli.run"))]
    print(loaded, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # Before it may stand that mechanisms are compiled, once.
    assert done.stderr.splitlines()[-1] == "[]"


def on_a_terminal(*words: str, folder: Path | None = None, **environment: str) -> str:
    """Call `unbloat` with a terminal of 80 columns for its output; give what it wrote there."""
    here, there = pty.openpty()
    whole = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment}
    command = [sys.executable, "-m", "unbloat", *words]
    with subprocess.Popen(command, stdout=there, stderr=there, stdin=there, env=whole, cwd=folder) as process:
        os.close(there)
        said = b""
        while True:
            try:
                part = os.read(here, 1 << 16)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            said += part
    os.close(here)
    assert process.returncode == 0
    return said.decode().replace("\r\n", "\n")


def test_a_terminal_has_colours_unless_its_user_wants_none() -> None:
    assert "\033[1mExperiments" in on_a_terminal("--help")
    assert "\033[" not in on_a_terminal("--help", NO_COLOR="1")


def widest(screen: str) -> int:
    """The longest line, as a terminal shows it in the end, when the bar is gone; the tests' long paths do not count."""
    lines = [re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", line) for line in screen.split("\n")]
    return max(len(re.sub(r"/\S{60,}", "", line.rpartition("\r")[2])) for line in lines)


def test_every_table_fits_a_terminal_of_80_columns(sweep: Path, tmp_path: Path) -> None:
    loss = ["--set", "link.bottleneck.loss=0.1%", "-t", "3s"]
    said = on_a_terminal("run", str(sweep), "--cc", "reno,cubic_plus", *loss)
    assert widest(said) <= 80 and said.count("goodput") == 1 and "RTT" in said and "mean" in said
    said = on_a_terminal("sweep", str(sweep), "-n", "3", "-o", "out", *loss, folder=tmp_path)
    assert widest(said) <= 80 and "±" in said
    assert widest(on_a_terminal("compare", str(tmp_path / "out"), "--between", "cc=reno,cubic")) <= 80
    for words in (["doctor"], ["list"], ["keys"], ["show", "cake"], ["cache"]):
        assert widest(on_a_terminal(*words)) <= 80, words


def test_what_the_doctor_found_is_folded_and_a_long_path_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    image = f"/home/{'name' * 20}/.cache/unbloat/kernels/6.1.0-56-amd64/boot/vmlinuz-6.1.0-56-amd64"
    kernel = {"what": "kernel for a guest", "needed_for": "--on vm", "there": True, "optional": True, "remedy": None}
    lacking = [
        {"what": f"qdisc {kind}", "needed_for": "comparisons", "there": False, "found": "the kernel lacks it"}
        | {
            "optional": False,
            "remedy": f"boot a kernel with sch_{kind}: this one lacks the module, and none is to be had for it",
        }
        for kind in ("netem", "fq", "fq_codel", "pie", "red", "prio")
    ]
    screen = doctor_screen([*lacking, {**kernel, "found": f"6.1.0-56-amd64 ({image})"}])
    wide = [line.strip() for line in screen.split("\n") if len(line) > 80]
    assert wide == [f"({image})"]


def test_what_is_made_when_it_is_needed_is_not_missing() -> None:
    mounted = {"what": "BPF file system", "needed_for": "loading", "there": False, "found": "/sys/fs/bpf"}
    compiler = {"what": "clang", "needed_for": "own files", "there": False, "found": "not on the path"}
    answers = doctor_screen(
        [
            {**mounted, "optional": True, "remedy": "mount it"},
            {**compiler, "optional": False, "remedy": "install it"},
        ]
    ).split("\n")
    assert answers[:2] == [
        snapshot("load into this kernel (load, attach): yes"),
        snapshot("own files: no, this is missing: clang"),
    ]


def test_a_pipe_gets_tables_whole(cli: Cli, sweep: Path) -> None:
    said = cli("run", sweep, "--set", "sweep.flows.0.cc=['reno', 'cubic', 'vegas']").stdout
    (heads,) = [line for line in said.splitlines() if "goodput" in line]
    assert "cwnd" in heads


# ---------------------------------------------------------------- Slips


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runn"], snapshot("unbloat: unknown command runn (did you mean run?); `unbloat --help` lists the commands")),
        (
            ["run", "--figur", "x"],
            snapshot("unbloat: run has no option --figur (did you mean --figure?); see `unbloat run --help`"),
        ),
        (
            ["run", "home-dsl", "-cc", "vegas"],
            snapshot("unbloat: run has no option -c (did you mean --cc?); see `unbloat run --help`"),
        ),
        (
            ["run"],
            snapshot("unbloat: run needs SCENARIO, such as `unbloat run home-dsl`; see `unbloat run --help`"),
        ),
        (
            ["run", "home-dls"],
            snapshot(
                "unbloat: home-dls: no such file, and no such scenario in `unbloat list` (did you mean home-dsl?)"
            ),
        ),
        (
            ["run", "home-dsl", "--cc", "cubicplus"],
            snapshot(
                "unbloat: unknown congestion control cubicplus (did you mean cubic_plus?); `unbloat list congestion-controls` shows all"
            ),
        ),
        (
            ["run", "home-dsl", "--set", "link.bottleneck.rat=1mbit"],
            snapshot(
                "unbloat: link.bottleneck.rat: unknown key (did you mean rate?); valid keys: rate, trace, wifi, signal, phy_rate, frame_errors, lte, snr, cqi, delay, queue, loss, reverse, rates, jitter, jitter_distribution, jitter_reorder, reorder, reorder_gap, reorder_by, duplicate, outages, policer, delays, handover, slot, script"
            ),
        ),
        (
            ["run", "home-dsl", "--set", "link.bottleneck.queue.kind=fq_codl"],
            snapshot(
                'unbloat: link.bottleneck.queue.kind: must be one of droptail, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, kernel:fq_codel, kernel:codel, kernel:pie, kernel:fq_pie, kernel:red, kernel:prio, kernel:pfifo_fast, kernel:cake, kernel:pfifo, kernel:bfifo, not "fq_codl" (did you mean fq_codel?)'
            ),
        ),
        (
            ["run", "home-dsl", "--set", 'sweep."flows.0.cc"=["reno"]'],
            snapshot(
                'unbloat: --set: sweep."flows.0.cc" has quotes in the key; leave them out: sweep.flows.0.cc=VALUE'
            ),
        ),
        (
            ["list", "cubicplus"],
            snapshot(
                "unbloat: list: unknown kind cubicplus (did you mean cubic_plus?); valid: scenarios, congestion-controls, window-controllers, classifiers, queues, links, papers, suites"
            ),
        ),
        (
            ["list", "fq_codl"],
            snapshot(
                "unbloat: list: unknown kind fq_codl (did you mean fq_codel?); valid: scenarios, congestion-controls, window-controllers, classifiers, queues, links, papers, suites"
            ),
        ),
        (
            ["list", "scenaros"],
            snapshot(
                "unbloat: list: unknown kind scenaros (did you mean scenarios?); valid: scenarios, congestion-controls, window-controllers, classifiers, queues, links, papers, suites"
            ),
        ),
        (
            ["keys", "flws"],
            snapshot(
                "unbloat: keys: unknown section or key flws (did you mean flows?); sections: compile, wifi, wifi.NAME, link, link.NAME, link.NAME.reverse, rates, delays, outages, handover, slot, script, policer, loss, lte, lte.NAME, mesh, mesh.NAME, mesh.NAME.nodes, mesh.NAME.nodes.NAME, down, queue, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, host, host.NAME, tcp_wmem, flows, arrivals, pareto, lognormal, exponential, access, tcp_rmem, clock, profile, writes, messenger, game, upload, writer, web, video, voice, ping, udp"
            ),
        ),
        (
            ["keys", "recieve_window"],
            snapshot(
                "unbloat: keys: unknown section or key recieve_window (did you mean receive_window?); sections: compile, wifi, wifi.NAME, link, link.NAME, link.NAME.reverse, rates, delays, outages, handover, slot, script, policer, loss, lte, lte.NAME, mesh, mesh.NAME, mesh.NAME.nodes, mesh.NAME.nodes.NAME, down, queue, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, host, host.NAME, tcp_wmem, flows, arrivals, pareto, lognormal, exponential, access, tcp_rmem, clock, profile, writes, messenger, game, upload, writer, web, video, voice, ping, udp"
            ),
        ),
        (
            ["run", "home-dsl", "-j", "0"],
            snapshot("unbloat: --jobs: 0 is not in the range x>=1; see `unbloat run --help`"),
        ),
        (
            ["run", "home-dsl", "-j", "-1"],
            snapshot("unbloat: --jobs: -1 is not in the range x>=1; see `unbloat run --help`"),
        ),
        (
            ["run", "home-dsl", "--seed", "one"],
            snapshot("unbloat: --seed: 'one' is not a valid integer; see `unbloat run --help`"),
        ),
        (
            ["run", "home-dsl", "--cc", "cubic,,reno"],
            snapshot('unbloat: --cc: a name is missing before or after a comma in "cubic,,reno"'),
        ),
        (
            ["run", "home-dsl", "--set", "sweep.seed=[one, two]"],
            snapshot(
                'unbloat: --set sweep.seed=[one, two]: names in a list need quotes: --set \'sweep.seed=["one", "two"]\''
            ),
        ),
        (
            ["run", "home-dsl", "--cc", "cubicc"],
            snapshot(
                "unbloat: unknown congestion control cubicc (did you mean cubic?); `unbloat list congestion-controls` shows all"
            ),
        ),
        (["load", "cubicc"], snapshot("unbloat: unknown name cubicc (did you mean cubic?); `unbloat list` shows all")),
        (["load", "drwaa"], snapshot("unbloat: unknown name drwaa (did you mean drwa?); `unbloat list` shows all")),
        (
            ["load", "nonesuch"],
            snapshot(
                "unbloat: unknown name nonesuch; congestion controls: agile_sd, bbr, bbr3, clpc, compound, compound_ns2, copa, cubic, cubic_hystartpp, cubic_plus, cubic_search, dctcp, dtpa, dtpa_auto, elastic, elastic_plus, htcp, illinois, ledbat, ledbat_pp, reno, reno_plus, tcp_lp, vegas, vegas_plus, veno, westwood; window controllers: autotuning, drwa, rledbat, rtac, rtac_auto, static; classifiers: pfifo_fast, single, sorpc, sorpc_fair; or the path of a .bpf.c file"
            ),
        ),
        (
            ["run", "reno.bpf.c"],
            snapshot(
                "unbloat: reno.bpf.c: is a congestion control, not a scenario: run one with it, such as home-dsl --cc reno.bpf.c"
            ),
        ),
        (["run", ""], snapshot("unbloat: the scenario's name is empty")),
        (["run", "."], snapshot("unbloat: .: is a folder, not a scenario")),
        (
            ["run", "home-dsl", "--kernel", "6.1"],
            snapshot("unbloat: kernel 6.1: only guests (--on vm) run a chosen kernel, not runs --on simulator"),
        ),
        (
            ["reproduce", "cubic-plus", "--claim", "nix"],
            snapshot("unbloat: cubic-plus has no number or statement `nix`; `unbloat show cubic-plus` lists them"),
        ),
        (
            ["keys", "link.bottleneck.nix"],
            snapshot(
                "unbloat: keys: unknown section or key link.bottleneck.nix; sections: compile, wifi, wifi.NAME, link, link.NAME, link.NAME.reverse, rates, delays, outages, handover, slot, script, policer, loss, lte, lte.NAME, mesh, mesh.NAME, mesh.NAME.nodes, mesh.NAME.nodes.NAME, down, queue, drophead, red, codel, fq_codel, pie, fq_pie, prio, pfifo_fast, cake, host, host.NAME, tcp_wmem, flows, arrivals, pareto, lognormal, exponential, access, tcp_rmem, clock, profile, writes, messenger, game, upload, writer, web, video, voice, ping, udp"
            ),
        ),
        (["compare", "--packets", "a.pcapng"], snapshot("unbloat: compare --packets takes two packet traces, A and B")),
        (
            ["attach", "reno", "some.slice", "--everyone"],
            snapshot("unbloat: --everyone means the root group, and some.slice is another: name one of them"),
        ),
    ],
)
def test_a_slip_is_one_sentence_that_says_what_was_meant(cli: Cli, words: list[str], said: str) -> None:
    done = cli(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["run", "home-dsl", "-o", "file"],
            snapshot("unbloat: FILE: cannot be written: a file is where a folder is needed"),
        ),
        (
            ["run", "home-dsl", "--figure", "file/x.svg"],
            snapshot("unbloat: FILE: cannot be written: a file is where a folder is needed (TMP/file)"),
        ),
        (
            ["run", "home-dsl", "--pcap", "file/x.pcapng"],
            snapshot("unbloat: FILE: cannot be written: a file is where a folder is needed (TMP/file)"),
        ),
        (
            ["sweep", "home-dsl", "-o", "file/x"],
            snapshot("unbloat: FILE: cannot be written: a file is where a folder is needed (TMP/file)"),
        ),
        (
            ["plot", "nix", "-o", "file/x.svg"],
            snapshot("unbloat: FILE: cannot be written: a file is where a folder is needed (TMP/file)"),
        ),
        (
            ["new", "paper", "file/mine"],
            snapshot("unbloat: FILE: cannot be written: a file is where a folder is needed (TMP/file)"),
        ),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(cli: Cli, tmp_path: Path, words: list[str], told: str) -> None:
    (tmp_path / "file").touch()
    done = cli(*words)
    assert done.returncode == 2
    assert stderr_of(done).replace(f" {words[-1]}: ", " FILE: ") == told


def test_folders_are_made_for_what_is_written(cli: Cli, small: Path, tmp_path: Path) -> None:
    written = ("a/out", "b/x.svg", "c/x.pcapng")
    done = cli("run", small, "-o", written[0], "--figure", written[1], "--pcap", written[2])
    assert done.returncode == 0, done.stderr
    for words in (["plot", "a/out"], ["export", "a/out", "--csv"], ["report", "a/out"]):
        file = f"made/{words[0]}/x.{'html' if words[0] == 'report' else 'svg'}"
        assert cli(*words, "-o", file).returncode == 0
        written += (file,)
    assert all((tmp_path / name).exists() for name in written)
    with refused(ub.InputError, snapshot("TMP/small.toml: cannot be written: a file is where a folder is needed")):
        ub.read(tmp_path / "a/out").save(small)


def test_keys_are_found_as_they_are_set(cli: Cli) -> None:
    for name, section in (
        ("link.bottleneck.rate", "[link.NAME]\n  rate ("),
        ("link.rate", "[link.NAME]\n  rate ("),
        ("flows.0.cc", "[flows]\n  cc ("),
        ("sweep.flows.*.params.beta", "[flows]\n  params ("),
        ("flows.0.access.rate", "[access]\n  rate ("),
        ("link.line.reverse.queue.limit", "[queue]\n  limit ("),
        ("host.phone", "[host.NAME]\n  classifier ("),
    ):
        assert cli("keys", name).stdout.startswith(section), name
    assert cli("keys").stdout.splitlines()[-1] == snapshot(
        "`unbloat keys SECTION` and `unbloat keys KEY` also show ranges and choices."
    )


def test_a_paper_shows_what_its_parts_are_called(cli: Cli) -> None:
    said = cli("show", "cubic-plus").stdout
    assert "abstract.I.500" in said
    assert [line for line in said.splitlines() if line and line[0] != " "][-4:] == snapshot(
        [
            "Parts (reproduce --table)",
            "Main statements (reproduce --claim)",
            "Numbers and statements (reproduce --claim)",
            "Takes",
        ]
    )
    (thing,) = json.loads(cli("show", "cubic-plus", "--json").stdout)["things"]
    assert thing["cost"]["grid_points"] == 78 and "abstract.I.500" in thing["ids"] and "fig6" in thing["parts"]


def test_a_scenario_without_its_ending_is_told_with_it(cli: Cli, small: Path) -> None:
    done = cli("run", small.stem)
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == snapshot(
        "unbloat: small: no such file, and no such scenario in `unbloat list` (did you mean small.toml?)"
    )


def test_help_and_version_are_commands_too(cli: Cli) -> None:
    assert cli("help", "run").stdout == cli("run", "--help").stdout
    assert cli("help").stdout == cli("--help").stdout
    assert cli("version").stdout == cli("--version").stdout


def test_alone_it_says_what_there_is(cli: Cli) -> None:
    done = cli()
    assert done.returncode == 2
    assert "Experiments:" in done.stdout and "Examples:" in done.stdout


# ---------------------------------------------------------------- Completion


def completions(*words: str) -> list[str]:
    """Ask as bash does."""
    line = " ".join(["unbloat", *words])
    environment = {
        **os.environ,
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_UNBLOAT_COMPLETE": "complete_bash",
    }
    done = subprocess.run(
        [sys.executable, "-m", "unbloat"], capture_output=True, text=True, check=False, env=environment
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sw"], ["sweep"]),
        (["run", "home-d"], ["home-dsl", "home-dsl-both-ways"]),
        (["run", "home-dsl", "--cc", "cubic_p"], ["cubic_plus"]),
        (["run", "home-dsl", "--cc", "vegas,cubic_p"], ["vegas,cubic_plus"]),
        (["run", "home-dsl", "--window-controller", "drwa,rtac_"], ["drwa,rtac_auto"]),
        (["run", "home-dsl", "--set", "link.bottleneck.ra"], ["link.bottleneck.rate=", "link.bottleneck.rates="]),
        (["run", "home-dsl", "--fig"], ["--figure"]),
        (["reproduce", "clp"], ["clpc"]),
        (["show", "fq_c"], ["fq_codel"]),
        (["run", "home-dsl", "--plot", "queue,rtt_c"], ["queue,rtt_cdf", "queue,rtt_ccdf"]),
        (["plot", "results", "heat"], ["heatmap"]),
        (["plot", "results", "bars", "--metrics", "good"], ["goodput"]),
        (["keys", "lognor"], ["lognormal"]),
        (
            ["sweep", "home-dsl", "-m", "goodput,queue_delay_p"],
            [f"goodput,queue_delay_p{share}" for share in (50, 95, 99)],
        ),
    ],
)
def test_a_shell_completes(words: list[str], offered: list[str]) -> None:
    assert completions(*words) == offered


# ---------------------------------------------------------------- Options in short


def runs(cli: Cli, *words: object) -> list[dict[str, object]]:
    done = cli("run", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["runs"]
    return found


def test_several_controls_are_run_side_by_side(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine, or not.bpf.c").write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    found = runs(cli, small, "--cc", "reno,vegas", "--cc", "./mine, or not.bpf.c")
    assert [run["axes"] for run in found] == [
        {"flows.*.cc": "reno"},
        {"flows.*.cc": "vegas"},
        {"flows.*.cc": "mine, or not"},
    ]


def test_controls_take_the_place_of_the_file_s_own(cli: Cli, sweep: Path) -> None:
    found = runs(cli, sweep, "--cc", "vegas,bbr", "--set", "link.bottleneck.queue.limit=30kb")
    assert [(run["axes"], run["flows"][0]["cc"]) for run in found] == [  # type: ignore[index]
        ({"flows.0.cc": "vegas"}, "vegas"),
        ({"flows.0.cc": "bbr"}, "bbr"),
    ]
    sweep.write_text(sweep.read_text().replace("[sweep]", '[[flows]]\ncc = "reno"\n[sweep]'))
    done = cli("run", sweep, "--cc", "vegas,bbr")
    assert done.returncode == 2 and stderr_of(done) == snapshot(
        "unbloat: cc: the scenario has a sweep over flows.0.cc already, and other flows too; say which of them get which: --set 'sweep.flows.0.cc=[...]'"
    )
    with refused(
        ub.InputError,
        snapshot(
            "cc: the scenario has a sweep over flows.0.cc already, and other flows too; say which of them get which: --set 'sweep.flows.0.cc=[...]'"
        ),
    ):
        ub.scenario(sweep).run(cc=["vegas", "bbr"])


def test_window_controllers_are_chosen_as_congestion_controls_are(cli: Cli, small: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.c").write_text((ALGORITHMS / "window" / "static.bpf.c").read_text())
    found = runs(cli, small, "--window-controller", "static", "--window-controller", "./mine.bpf.c,rtac_auto")
    assert [run["axes"] for run in found] == [
        {"flows.*.window_controller": name} for name in ("static", "mine", "rtac_auto")
    ]
    static, mine, _ = (run["flows"][0] for run in found)  # type: ignore[index]
    assert static["goodput_mbps"] == mine["goodput_mbps"] and static["receiver_rtt_ms_mean"] >= static["rtt_ms_min"]
    (one,) = runs(cli, small, "--window-controller", "static")
    assert one["axes"] == {} and one["flows"][0]["goodput_mbps"] == static["goodput_mbps"]  # type: ignore[index]
    done = cli("run", small, "--window-controller", "statik")
    assert (done.returncode, stderr_of(done)) == (
        2,
        snapshot(
            'unbloat: flows.0.window_controller: unknown window controller "statik" (did you mean static?); valid: autotuning, drwa, rledbat, rtac, rtac_auto, static, or the path of a .bpf.c file'
        ),
    )


def test_one_control_needs_no_grid(cli: Cli, sweep: Path) -> None:
    assert [run["axes"] for run in runs(cli, sweep, "--cc", "vegas")] == [
        {"link.bottleneck.queue.limit": "15kb"},
        {"link.bottleneck.queue.limit": "60kb"},
    ]


def test_a_round_trip_time_is_that_of_the_empty_path(cli: Cli, small: Path, tmp_path: Path) -> None:
    # A window that never fills the link sees the path alone, but for its own packets' transmission.
    slow = tmp_path / "slow.toml"
    slow.write_text(
        SMALL.replace('cc = "reno"', 'cc = "reno"\nsize = "1b"\naccess = { rate = "1gbit", delay = "3ms" }')
    )
    for file in (small, slow):
        found = runs(cli, file, "--rtt", "20ms,100ms", "--set", "flows.0.size=1b")
        assert [run["axes"] for run in found] == [{"rtt": "20ms"}, {"rtt": "100ms"}]
        rtts = [run["flows"][0]["rtt_ms_mean"] for run in found]  # type: ignore[index]
        assert rtts[0] == pytest.approx(20, abs=0.5) and rtts[1] == pytest.approx(100, abs=0.5)
    (one,) = runs(cli, slow, "--rtt", "20ms")
    assert one["axes"] == {} and one["flows"][0]["rtt_ms_mean"] == pytest.approx(20, abs=0.5)  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "rtt", "said"),
    [
        ("", "soon", snapshot('unbloat: rtt: "soon" is not a time; write a number and its unit, such as "10ms"')),
        (
            'access = { rate = "1gbit", delay = "30ms" }',
            "40ms",
            snapshot("unbloat: rtt: 40ms is too short: the senders' own links take 60ms of it"),
        ),
        (
            '[[flows]]\ncc = "reno"\naccess = { rate = "1gbit", delay = "1ms" }',
            "40ms",
            snapshot(
                "unbloat: rtt: the flows of small have round-trip times of their own, as their access links differ: set the delay of the link, link.bottleneck.delay"
            ),
        ),
        (
            '[link.second]\nrate = "1mbit"\ndelay = "1ms"\nqueue = {}',
            "40ms",
            snapshot(
                "unbloat: rtt: small has the links bottleneck, second: set the delay of each with --set link.NAME.delay"
            ),
        ),
    ],
)
def test_a_round_trip_time_that_cannot_be(cli: Cli, small: Path, change: str, rtt: str, said: str) -> None:
    small.write_text(f"{SMALL}\n{change}\n")
    done = cli("run", small, "--rtt", rtt)
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == said


def test_duration_and_backend_have_short_names(cli: Cli, small: Path) -> None:
    (run,) = runs(cli, small, "-t", "1s", "--on", "sim", "-C", "cubic")
    assert (run["duration_s"], run["on"]) == (1.0, "simulator")


def test_a_sweep_shows_the_metrics_that_are_asked_for(cli: Cli, sweep: Path) -> None:
    said = cli("sweep", sweep, "--metrics", "goodput,rtt_ms_p95").stdout
    heads = next(line for line in said.splitlines() if "goodput" in line)
    assert "RTT p95" in heads and "loss" not in heads
    done = cli("sweep", sweep, "-m", "godput")
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == snapshot(
        "unbloat: unknown metric godput (did you mean goodput?); the metrics are bitrate, buffer, buffered_windows, buffered_windows_p10, buffered_windows_p25, buffered_windows_p50, buffered_windows_p75, buffered_windows_p90, completion, cpu_idle, cwnd, delay, delay_max, delay_p50, delay_p95, delay_p99, drops, duplicates, goodput, jain, lateness_p99, loss, loss_events, losses, marks, opinion, page_load, page_load_max, page_load_p50, page_load_p95, page_load_p99, queue_bytes, queue_delay, queue_delay_max, queue_delay_p50, queue_delay_p95, queue_delay_p99, rating, rating_in, rating_out, receiver_rtt, response, response_max, response_p50, response_p95, response_p99, retransmissions, retries, rtt, rtt_max, rtt_min, rtt_p50, rtt_p95, rtt_p99, sent, skipped, sndbuf, sndbuf_half_full, sndbuf_half_full_after, sndbuf_p10, sndbuf_p25, sndbuf_p50, sndbuf_p75, sndbuf_p90, stalled, stalls, startup, switches, throughput, timeouts, unfinished, utilisation, wait, wire_losses, wmem_queued"
    )


def test_what_was_written_is_said(cli: Cli, small: Path) -> None:
    done = cli("run", small, "-o", "out", "--figure", "x.svg")
    assert done.stderr == snapshot("unbloat: wrote out\nunbloat: wrote x.svg\n")
    packets = cli("run", small, "--cc", "reno,cubic", "--pcap", "p.pcapng")
    assert packets.stderr == snapshot("unbloat: wrote p-0.pcapng\nunbloat: wrote p-1.pcapng\n")
    assert (small.parent / "p-1.pcapng").is_file()


# ---------------------------------------------------------------- Looking things up


def test_a_kind_can_be_listed_alone(cli: Cli) -> None:
    said = cli("list", "scenarios").stdout
    assert "home-dsl" in said and "cubic_plus" not in said
    names = [entry["name"] for entry in json.loads(cli("list", "scenarios", "--json").stdout)["scenarios"]]
    assert names == sorted(names) and "home-dsl" in names


def test_one_thing_as_json_is_one_thing(cli: Cli) -> None:
    (thing,) = json.loads(cli("show", "cubic_plus", "--json").stdout)["things"]
    assert (thing["name"], thing["kind"]) == ("cubic_plus", "congestion_controls")
    assert any(parameter["name"] == "threshold" for parameter in thing["parameters"])


def test_a_paper_does_not_hide_the_control_of_its_name(cli: Cli) -> None:
    said = cli("show", "clpc").stdout
    assert "target = 25ms" in said and "Computer Communications" in said


def test_a_file_of_ones_own_is_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("const volatile __u32 gain = 7;\n")
    text = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    (tmp_path / "mine.bpf.c").write_text(re.sub(r"(#include <bpf/bpf_tracing.h>)", r'\1\n#include "own.h"', text))
    said = cli("show", "./mine.bpf.c")
    assert "Parameters" in said.stdout and "gain = 7" in said.stdout, said.stderr
    (tmp_path / "mine.bpf.c").write_text("nonsense\n" + text)
    said = cli("show", "./mine.bpf.c")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("unbloat: mine.bpf.c ") and "unbloat-show" not in said.stderr


def test_a_scenario_is_shown_with_file_links_and_flows(cli: Cli, sweep: Path) -> None:
    said = " ".join(cli("show", "home-dsl").stdout.split())
    assert str((SCENARIOS / "home-dsl.toml").resolve()) in said
    assert "rate 1mbit" in said and "queue.limit 256kb" in said and "size 500kb" in said
    said = cli("show", sweep).stdout
    assert [line for line in said.splitlines() if "flows.0.cc" in line] == snapshot(
        ["  flows.0.cc: labels reno, cubic"]
    )
    assert cli("show", "--path", "reno").stdout == f"{(ALGORITHMS / 'congestion' / 'reno.bpf.c').resolve()}\n"


def test_every_scenario_and_queue_can_be_shown(cli: Cli) -> None:
    found = json.loads(cli("list", "--json").stdout)
    from unbloat.cli.listing import page, things

    for kind in ("scenarios", "queues", "links", "papers"):
        for entry in found[kind]:
            assert entry["name"] in "".join(map(page, things(entry["name"])))


def test_a_queue_s_keys_have_units_ranges_and_defaults(cli: Cli) -> None:
    said = cli("show", "codel").stdout
    assert [line for line in said.splitlines() if line.startswith("  target ")] == snapshot(
        ["  target (time, 1us to 1000s; default 5ms): acceptable standing queueing delay"]
    )


def test_keys_say_what_may_stand_there_and_what_holds_without(cli: Cli) -> None:
    said = cli("keys", "flows").stdout
    assert [line for line in said.splitlines() if line.startswith("  count ")] == snapshot(
        ["  count (integer, 1 to 1000000; default 1): number of flows in the group"]
    )
    assert "link.NAME" not in said
    assert "[codel]" in cli("keys", "target").stdout
    every = cli("keys").stdout
    assert "[link.NAME.reverse]" in every and "[flows]" in every
    (key,) = json.loads(cli("keys", "receive_window", "--json").stdout)["keys"]
    assert key["section"] == "flows"


# ---------------------------------------------------------------- Interruptions


def test_only_commands_that_keep_runs_say_so() -> None:
    """Before, `load` and `run --no-cache` said that runs were kept."""
    import signal

    from unbloat.cli.options import keeping_runs

    notes = []
    for cache in (None, False):
        with pytest.raises(KeyboardInterrupt) as caught, keeping_runs(cache):
            signal.raise_signal(signal.SIGINT)
        notes.append(getattr(caught.value, "__notes__", []))
    assert notes == snapshot([["finished runs are cached"], []])


def test_the_program_is_the_app() -> None:
    """Whatever makes pages of the commands reads this."""
    import typer

    command = typer.main.get_command(app)
    assert isinstance(command, click.Group)
    assert command.list_commands(click.Context(command)) == NAMES


def test_the_first_list_says_what_takes_so_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from unbloat.cli.listing import say_what_compiles
    from unbloat.system.paths import ALGORITHMS

    monkeypatch.setenv("UNBLOAT_CACHE", str(tmp_path))
    say_what_compiles()
    said = "unbloat: compiles the mechanisms that come along; this takes some seconds, once\n"
    assert capsys.readouterr() == ("", said)
    (tmp_path / "mechanisms").mkdir()
    for file in ALGORITHMS.glob("*/*.bpf.c"):
        (tmp_path / "mechanisms" / file.name).touch()
    say_what_compiles()
    assert capsys.readouterr() == ("", "")
