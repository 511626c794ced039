"""The command line: what it prints, how it ends, what it says when something is wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Cli
from inline_snapshot import snapshot
from leftovers import PATIENCE_S
from sentences import stderr_of

RUN_KEYS = {"scenario", "on", "seed", "duration_s", "jain_index", "sound", "flows", "links"}
FLOW_KEYS = {
    *("flow", "cc", "goodput_mbps", "throughput_mbps", "sent_packets", "lost_packets", "retransmitted_packets"),
    *("loss_percent", "cwnd_packets_mean", "completion_s"),
    *(f"rtt_ms_{what}" for what in ("mean", "p50", "p95", "p99", "max")),
}
LINK_KEYS = {
    *("link", "drops", "utilisation_percent", "queue_percent_mean"),
    *(f"queue_delay_ms_{what}" for what in ("mean", "p50", "p95", "p99", "max")),
}


def test_run_prints_a_table_with_units(cli: Cli, small: Path) -> None:
    done = cli("run", small)
    assert done.returncode == 0
    assert done.stdout == snapshot("""\
small · 2.00 s · seed 1 · simulator
4 Mbit/s · RTT 20 ms · buffer 30 kB (3 BDP)

flow  cc    goodput  RTT mean   p95   max  loss  retransmissions     cwnd
             Mbit/s        ms    ms    ms     %          packets  packets
────  ────  ───────  ────────  ────  ────  ────  ───────────────  ───────
   0  reno     3.80      63.9  82.1  82.2  4.55               32     22.5

link        utilisation  queue  queueing delay   p95   max    drops
                      %      %              ms    ms    ms  packets
──────────  ───────────  ─────  ──────────────  ────  ────  ───────
bottleneck         99.0   65.5            39.2  57.9  57.9       32
""")
    assert done.stderr == ""


def test_the_table_says_over_which_path_and_what_flows_are_called(cli: Cli, small: Path) -> None:
    small.write_text(f'{small.read_text()}name = "backup"\n')
    lines = cli("run", small, "--cc", "reno,cubic").stdout.splitlines()
    assert lines[1] == snapshot("4 Mbit/s · RTT 20 ms · buffer 30 kB (3 BDP)")
    # The axis says which congestion control a flow has, so that no column needs to.
    assert lines[3].split()[:3] == ["cc", "flow", "goodput"]
    assert [line.split()[:3] for line in lines[6:8]] == [["reno", "0", "backup"], ["cubic", "0", "backup"]]
    changed = cli("run", small, "--set", "sweep.link.bottleneck.queue.limit=['15kb', '60kb']").stdout.splitlines()
    assert changed[1] == snapshot("4 Mbit/s · RTT 20 ms · buffer swept")


def test_json_has_the_names_that_scripts_rely_on(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert run.keys() >= RUN_KEYS
    assert run["flows"][0].keys() >= FLOW_KEYS
    assert run["links"][0].keys() >= LINK_KEYS
    assert (run["scenario"], run["on"], run["seed"], run["sound"]) == ("small", "simulator", 1, True)
    assert 3.0 < run["flows"][0]["goodput_mbps"] < 4.0


def test_set_seed_and_cc_win_over_the_file(cli: Cli, small: Path) -> None:
    done = cli("run", small, "--json", "--set", "link.bottleneck.rate=2mbit", "--seed", "7", "--cc", "cubic")
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["seed"], run["flows"][0]["cc"]) == (7, "cubic")
    assert run["flows"][0]["goodput_mbps"] < 2


def test_a_sweep_is_a_row_for_each_grid_point_with_its_axes(cli: Cli, sweep: Path) -> None:
    runs = json.loads(cli("run", sweep, "--json").stdout)["runs"]
    cells = [tuple(run["axes"].values()) for run in runs]
    assert cells == [("reno", "15kb"), ("reno", "60kb"), ("cubic", "15kb"), ("cubic", "60kb")]
    table = cli("run", sweep).stdout
    assert "4 runs of 2.00 s" in table and "limit" in table and "60kb" in table


def test_an_own_file_runs_like_a_built_in_one(cli: Cli, small: Path, tmp_path: Path) -> None:
    from unbloat.system.paths import ALGORITHMS

    (tmp_path / "mine.bpf.c").write_text((ALGORITHMS / "congestion" / "reno.bpf.c").read_text())
    built_in = json.loads(cli("run", small, "--json").stdout)["runs"][0]
    own = json.loads(cli("run", small, "--cc", "./mine.bpf.c", "--json").stdout)["runs"][0]
    assert own["flows"][0]["goodput_mbps"] == built_in["flows"][0]["goodput_mbps"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["--set", "link.bottleneck.rat=2mbit"],
            snapshot(
                "unbloat: link.bottleneck.rat: unknown key (did you mean rate?); valid keys: rate, trace, wifi, signal, phy_rate, frame_errors, lte, snr, cqi, delay, queue, loss, reverse, rates, jitter, jitter_distribution, jitter_reorder, reorder, reorder_gap, reorder_by, duplicate, outages, policer, delays, handover, slot, script"
            ),
        ),
        (
            ["--set", "link.bottleneck.rate=2mbot"],
            snapshot(
                'unbloat: link.bottleneck.rate: "2mbot" is not a rate (did you mean mbit?); units: bit, kbit, mbit, gbit, tbit (kibit and so on for 1024), and bps to tbps for bytes a second'
            ),
        ),
        (
            ["--set", "nonsense"],
            snapshot("unbloat: --set: nonsense is not KEY=VALUE, such as link.bottleneck.rate=10mbit"),
        ),
        (
            ["--cc", "cubik"],
            snapshot(
                "unbloat: unknown congestion control cubik (did you mean cubic?); `unbloat list congestion-controls` shows all"
            ),
        ),
        (["--cc", "./none.bpf.c"], snapshot("unbloat: flows.0.cc: the file ./none.bpf.c does not exist")),
        (["--figure", "out.gif"], snapshot("unbloat: out.gif: the ending: unknown value gif; valid: svg, png, pdf")),
        (
            ["--figure", "out.svg", "--plot", "cwmd"],
            snapshot(
                "unbloat: plot: unknown value cwmd (did you mean cwnd?); valid: cwnd, rtt, queue, queue_delay, goodput, throughput, send_queue, send_buffer, rtt_cdf, rtt_ccdf, rtt_box, queue_delay_cdf, queue_delay_ccdf, queue_delay_box, lines, bars, heatmap, delay_throughput, box, ecdf, eccdf, mesh, comparison, cdf, ccdf"
            ),
        ),
        (
            ["--plot", "cwnd"],
            snapshot("unbloat: --plot needs --figure with the name of a file that ends in .svg, .png or .pdf"),
        ),
        (
            ["--series", "soon"],
            snapshot('unbloat: series: "soon" is not a time; write a number and its unit, such as "10ms"'),
        ),
        (
            ["--on", "moon"],
            snapshot(
                "unbloat: --on: 'moon' is not one of 'simulator', 'sim', 'kernel', 'vm'; see `unbloat run --help`"
            ),
        ),
    ],
)
def test_wrong_input_is_a_sentence_and_status_2(cli: Cli, small: Path, args: list[str], said: str) -> None:
    done = cli("run", small, *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert stderr_of(done) == said


def test_a_mistake_in_the_file_is_named_with_its_line(cli: Cli, small: Path) -> None:
    small.write_text(small.read_text().replace('"4mbit"', '"4"'))
    done = cli("run", small)
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        'unbloat: TMP/small.toml:5: link.bottleneck.rate: "4" needs a unit; units of a rate: bit, kbit, mbit, gbit, tbit (kibit and so on for 1024), and bps to tbps for bytes a second'
    )


def test_a_missing_file_is_status_2(cli: Cli) -> None:
    done = cli("run", "nowhere.toml")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot("unbloat: nowhere.toml: no such file, and no such scenario in `unbloat list`")


def test_packets_that_cannot_be_written_are_status_2(cli: Cli, small: Path) -> None:
    (small.parent / "folder").mkdir()
    done = cli("run", small, "--pcap", "folder")
    assert done.returncode == 2
    assert done.stderr == snapshot("unbloat: folder: cannot be written: it is a folder\n")


def test_a_full_disk_is_a_sentence(small: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "unbloat", "run", str(small)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, snapshot("unbloat: no space left on device\n"))


def test_a_control_that_crashes_is_status_2_and_a_sentence(cli: Cli, small: Path, tmp_path: Path) -> None:
    from unbloat.system.paths import ALGORITHMS

    reno = (ALGORITHMS / "congestion" / "reno.bpf.c").read_text()
    crash = "tcp_sk(sk);\n\t*(volatile int *)8 = 1;"
    (tmp_path / "crash.bpf.c").write_text(reno.replace("tcp_sk(sk);", crash, 1))
    done = cli("run", small, "--cc", "./crash.bpf.c")
    assert done.returncode == 2
    assert stderr_of(done) == snapshot(
        'unbloat: flows.0.cc: ./crash.bpf.c:47: cong_avoid of "reno" accesses invalid memory (SIGSEGV)'
    )


def test_an_interrupt_is_status_130_and_leaves_no_process(small: Path) -> None:
    long = ["--set", "duration=100000s", "--no-cache"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unbloat", "run", str(small), *long], stderr=subprocess.PIPE, text=True
    )
    workers = wait_for_children(process.pid)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert said.count("\n") == 1 and "interrupted" in said
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def wait_for_children(pid: int) -> list[int]:
    for _ in range(200):
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        if children:
            return children
        time.sleep(0.05)
    raise AssertionError("the run never started a process")


def test_list_names_everything(cli: Cli) -> None:
    found = json.loads(cli("list", "--json").stdout)
    assert {"reno", "cubic", "cubic_plus", "vegas"} <= {entry["name"] for entry in found["congestion_controls"]}
    assert {"home-dsl", "transatlantic-1g"} <= {entry["name"] for entry in found["scenarios"]}
    assert "cubic-plus" in {entry["name"] for entry in found["papers"]}
    assert all(entry["about"] for entries in found.values() for entry in entries)
    text = cli("list").stdout
    assert all(entry["name"] in text for entries in found.values() for entry in entries)


def test_the_queues_are_the_reader_s(cli: Cli) -> None:
    from unbloat import _core

    keys = _core.scenario_keys()
    (kind,) = [key["kind"] for key in keys if key["section"] == "queue" and key["name"] == "kind"]
    found = json.loads(cli("list", "--json").stdout)
    assert [entry["name"] for entry in found["queues"]] == kind["choice"]


def test_a_shipped_scenario_is_known_by_name(cli: Cli) -> None:
    assert cli("run", "home-dsl", "--set", "duration=20s").returncode == 0


def test_output_into_a_closed_pipe_is_no_error(small: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "unbloat", "run", str(small)], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert done.stderr == ""


def test_show_tells_all_about_one_thing(cli: Cli) -> None:
    said = cli("show", "cubic_plus").stdout
    assert "threshold = " in said and "Parameters" in said
    done = cli("list", "cubik")
    assert (done.returncode, stderr_of(done)) == (
        2,
        snapshot(
            "unbloat: list: unknown kind cubik (did you mean cubic?); valid: scenarios, congestion-controls, window-controllers, classifiers, queues, links, papers, suites"
        ),
    )
    assert stderr_of(cli("list", "cubic_plus")) == snapshot(
        "unbloat: list: unknown kind cubic_plus; `unbloat show cubic_plus` shows it; valid: scenarios, congestion-controls, window-controllers, classifiers, queues, links, papers, suites"
    )
