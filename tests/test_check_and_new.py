"""`unbloat new` and `unbloat check`: what is begun from a template runs, and what will not is told beforehand."""

import json
from pathlib import Path

import guests
import pytest
from conftest import Cli
from inline_snapshot import snapshot
from sentences import plain, stderr_of


def checks(cli: Cli, *words: object) -> dict[str, dict[str, str]]:
    done = cli("check", *words, "--json")
    found = {check["what"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == (2 if any(check["answer"] == "no" for check in found.values()) else 0), done.stdout
    return found


@pytest.fixture
def mine(cli: Cli, tmp_path: Path) -> Path:
    assert cli("new", "control", "mine").returncode == 0
    return tmp_path / "mine.bpf.c"


# ---------------------------------------------------------------- unbloat new


def test_a_new_scenario_runs(cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "scenario", "line")
    assert done.stdout == snapshot("wrote line.toml; run it: unbloat run ./line.toml\n")
    text = (tmp_path / "line.toml").read_text()
    assert text.startswith("# line: ") and 'name     = "line"' in text and "unbloat run ./line.toml" in text
    (run,) = json.loads(cli("run", "line.toml", "-t", "8s", "--json").stdout)["runs"]
    assert len(run["flows"]) == 2 and run["sound"]
    # What stands there as a comment is right too.
    (tmp_path / "line.toml").write_text(text.replace("# [sweep]", "[sweep]").replace('# "', '"'))
    found = checks(cli, "line.toml")
    assert found["can be read"]["why"] == snapshot("9 runs over flows.0.cc, link.bottleneck.queue.limit, 30 s each")


def test_a_new_control_runs_and_describes_itself(cli: Cli, mine: Path) -> None:
    said = cli("show", "./mine.bpf.c").stdout
    assert [line for line in said.splitlines() if line.startswith("  beta ")] == snapshot(
        ["  beta = 70%, 10% to 100%: window that a loss leaves"]
    )
    (run,) = json.loads(cli("run", "home-dsl", "-t", "20s", "--cc", "./mine.bpf.c", "--json").stdout)["runs"]
    assert run["flows"][0]["goodput_mbps"] > 0.5


def test_a_new_paper_is_reproduced(cli: Cli, tmp_path: Path) -> None:
    assert cli("new", "paper", "papers/mine").returncode == 0
    found = json.loads(cli("reproduce", "papers/mine", "--json").stdout)
    assert found["paper"] == "mine" and len(found["claims"]) == 3
    assert sum(found["counts"].values()) == 3
    assert cli("reproduce", "papers/mine", "--page").returncode == 0
    page = (tmp_path / "papers" / "mine" / "README.md").read_text()
    assert "| Reno waits no longer than CUBIC |" in page and "What the control does" not in page
    assert "goodput" in (tmp_path / "results" / "mine" / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["control", "mine"], snapshot("unbloat: new: mine.bpf.c exists already; choose another name, or remove it")),
        (
            ["experiment", "line"],
            snapshot(
                "unbloat: KIND: 'experiment' is not one of 'scenario', 'control', 'paper'; see `unbloat new --help`"
            ),
        ),
    ],
)
def test_new_overwrites_nothing(cli: Cli, mine: Path, words: list[str], said: str) -> None:
    before = mine.read_text()
    done = cli("new", *words)
    assert (done.returncode, done.stdout) == (2, "") and stderr_of(done) == said
    assert mine.read_text() == before


def test_names_with_blanks_are_quoted(cli: Cli) -> None:
    assert cli("new", "control", "my own").stdout == snapshot(
        "wrote my own.bpf.c; run it: unbloat run home-dsl --cc './my own.bpf.c'; check that kernels take it: unbloat check './my own.bpf.c'\n"
    )


def test_a_name_becomes_one_that_c_and_the_kernel_take(cli: Cli, tmp_path: Path) -> None:
    assert cli("new", "control", "2-my-very-long-control").returncode == 0
    text = (tmp_path / "2-my-very-long-control.bpf.c").read_text()
    assert "tcp_congestion_ops _2_my_very_long = {" in text and '.name = "_2_my_very_long",' in text


# ---------------------------------------------------------------- unbloat check


def test_a_scenario_is_told_where_it_runs(cli: Cli, small: Path) -> None:
    found = checks(cli, small)
    assert {what: check["answer"] for what, check in found.items()} == {
        "can be read": "yes",
        "runs on simulator": "yes",
        "runs on kernel": "yes",
        "runs on vm": "yes",
    }
    small.write_text(small.read_text().replace('cc = "reno"', 'cc = "kernel:reno"'))
    done = cli("check", small)
    assert done.returncode == 0, "it runs somewhere"
    assert plain(done.stdout) == snapshot("""\
yes: can be read
    one run, 2 s
no: runs on simulator
    TMP/small.toml:10: flows.0.cc: kernel:reno belongs to a kernel and runs with --on kernel or --on vm only
yes: runs on kernel
yes: runs on vm
""")


def test_a_scenario_that_cannot_be_read_is_a_finding(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('duration = "1s"\n')
    done = cli("check", "bad.toml", "--json")
    (check,) = json.loads(done.stdout)["checks"]
    assert done.returncode == 2 and check["answer"] == "no"
    assert check["why"] == snapshot("""\
bad.toml: flows: is missing; write tables: the flow groups, one [[flows]] each
bad.toml: link: is missing; write a table: the links\
""")


CALL = """\
duration = "2s"
[host.pc]
[link.line]
rate  = "5mbit"
delay = "15ms"
queue = { limit = "100p" }
[[flows]]
host = "pc"
cc   = "cubic"
[[flows]]
host = "pc"
app  = "voice"
"""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            '"dtpa_auto"',
            snapshot(
                "TMP/small.toml:10: flows.0.cc: dtpa_auto runs in the simulator only: no kernel tells a sender what the other nodes of its mesh send"
            ),
        ),
        (
            '"reno"\nprofile = "lln"',
            snapshot(
                'TMP/small.toml:11: flows.0.profile: the kernel\'s TCP always recovers by proportional rate reduction; leave profile.prr as in profile "linux", or simulate'
            ),
        ),
        (
            '"reno"\npacket = "500b"\nreceive_window = "1kb"',
            snapshot(
                "TMP/small.toml:12: flows.0.receive_window: must be at least 1152b on a kernel, whose receivers have no smaller buffer; leave it out, or simulate"
            ),
        ),
    ],
)
def test_what_no_kernel_has_runs_in_the_simulator_only(cli: Cli, small: Path, change: str, why: str) -> None:
    small.write_text(small.read_text().replace('"reno"', change))
    done = cli("check", small, "--json")
    said = {check["what"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0 and said["runs on simulator"]["answer"] == "yes"
    for on in ("kernel", "vm"):
        assert said[f"runs on {on}"]["answer"] == "no" and plain(said[f"runs on {on}"]["why"]) == why


def test_a_flow_without_a_control_is_no_obstacle(cli: Cli, mine: Path) -> None:
    """A call is datagrams; beside it a control of the user's has its name all the same."""
    file = mine.parent / "call.toml"
    file.write_text(CALL)
    done = cli("check", file)
    assert done.returncode == 0, done.stderr
    done = cli("run", file, "--set", "flows.0.cc=./mine.bpf.c", "--json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert {flow["cc"] for flow in run["flows"]} == {"mine", "none"}


def test_a_scenario_s_own_control_is_compiled(cli: Cli, small: Path, mine: Path) -> None:
    small.write_text(small.read_text().replace('cc = "reno"', 'cc = "./mine.bpf.c"'))
    assert len(checks(cli, small)) == 6
    mine.write_text(mine.read_text().replace("tp->snd_ssthresh)", "tp->snd_ssthresh", 1))
    found = checks(cli, small)
    assert sorted(check["answer"] for check in found.values()).count("no") == 2


@pytest.mark.usefixtures("no_guest")
def test_a_control_that_crashes_ends_its_own_process_only(cli: Cli, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("state->acked += acked;", "*(volatile int *)8 = 1;", 1))
    found = checks(cli, "./mine.bpf.c")
    check = found["./mine.bpf.c compiles for the simulator, and runs there"]
    assert check["answer"] == "no" and "SIGSEGV" in check["why"]


def test_a_mistake_in_a_scenario_has_its_line(cli: Cli, small: Path) -> None:
    small.write_text(small.read_text().replace('"4mbit"', '"4"'))
    done = cli("check", small)
    assert (done.returncode, done.stdout) == (2, "")
    assert stderr_of(done) == snapshot(
        'unbloat: TMP/small.toml:5: link.bottleneck.rate: "4" needs a unit; units of a rate: bit, kbit, mbit, gbit, tbit (kibit and so on for 1024), and bps to tbps for bytes a second'
    )


@pytest.mark.usefixtures("no_guest")
def test_warnings_of_both_compilers_are_shown(cli: Cli, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("state->acked = 0;", "int *odd = 5; state->acked = 0;", 1))
    found = checks(cli, "mine.bpf.c", "--kernel", "9.9")
    for compiler in ("mine.bpf.c compiles for the simulator, and runs there", "mine.bpf.c compiles to BPF"):
        assert found[compiler]["answer"] == "yes"
        assert "mine.bpf.c:39" in found[compiler]["why"] and "warning: " in found[compiler]["why"]
    (verifier,) = [check for what, check in found.items() if " takes " in what]
    assert verifier["answer"] == "?" and verifier["why"]


@pytest.mark.usefixtures("no_guest")
def test_what_only_a_kernel_refuses_is_found_before_it_is_loaded(cli: Cli, mine: Path) -> None:
    mine.write_text(mine.read_text().replace("beta / 100, 2U", "beta * 0.01, 2.0"))
    found = checks(cli, "./mine.bpf.c")
    assert found["./mine.bpf.c compiles to BPF"]["answer"] == "no"
    assert "mine.bpf.c:" in found["./mine.bpf.c compiles to BPF"]["why"]
    assert not [what for what in found if " takes " in what], "there is nothing to show to a verifier"


def test_the_verifier_of_a_kernel_is_asked_in_a_guest(cli: Cli, mine: Path, cache: Path) -> None:
    kernel = guests.booted(cache)
    found = checks(cli, "./mine.bpf.c", "--kernel", kernel)
    taken = [check["answer"] for what, check in found.items() if " takes " in what]
    assert taken == ["yes"]
    # Past both compilers, for which the member is constant.
    mine.write_text(mine.read_text().replace("state->acked += acked;", "*(__u32 *)&tp->snd_una = ack;", 1))
    found = checks(cli, "./mine.bpf.c", "--kernel", f"{kernel},9.9")
    refused = [check for what, check in found.items() if " takes " in what]
    assert [check["answer"] for check in refused] == ["no", "?"]
    assert "no write support to tcp_sock" in refused[0]["why"]


def test_only_controls_are_shown_to_kernels(cli: Cli, small: Path) -> None:
    done = cli("check", small, "--kernel", "6.1")
    assert done.returncode == 2 and stderr_of(done) == snapshot(
        "unbloat: check --kernel: only a congestion control is shown to kernels"
    )
