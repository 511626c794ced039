"""Traces and result files that somebody has damaged or made to do harm: each is read, or refused by a sentence."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import unbloat as ub
from conftest import Cli
from inline_snapshot import snapshot
from sentences import refused, stderr_of
from unbloat.comparison import trace
from unbloat.system import machine

TOOLS = Path(__file__).parents[1] / "tools"
MUTANTS = 150

SECTION = (
    "0a0d0d0a7c0000004d3c2b1a01000000ffffffffffffffff0200090073696d756c617465640000000300320074686520544350206f662074"
    "686520756e626c6f61742073696d756c61746f722c20617320696e204c696e757820362e3132000004000d00756e626c6f617420302e312e"
    "30000000000000007c000000"
)
SHORT_OPTION = (
    f"{SECTION}010000005000000065000000ffff00000200070073656e646572730003001e007468652073656e646572732720696e7465726661"
    "63657320696e20227422000009000000000000000000000050000000"
)
"""A pcapng whose interface says its unit of time (if_tsresol) in no byte."""
SHORT_SCALE = (
    "d4c3b2a1020004000000000000000000ffff00007100000000000000000000004c0000004c00000000000000000000000000000000000800"
    "4500003c00004000400626ba0a0000010a0000029c401389bcc38a6000000000a0c2fffffa040000020405b40402080a000f4240000000000"
    "3020303"
)
"""A pcap whose SYN has a window scale in no byte."""
PCAP_HEADER = 24
"""Bytes before the first packet of such a file."""


def fuzzer() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("fuzz_inputs", str(TOOLS / "fuzz-inputs"))
    spec = importlib.util.spec_from_loader("fuzz_inputs", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["x.pcapng", "x.pcap"])
def test_damaged_traces_are_read_or_refused(small: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name == "x.pcapng":
        ub.scenario(small, {"duration": "200ms"}).run(pcap=file, pcap_links=True)
    else:
        whole = bytes.fromhex(SHORT_SCALE)
        file.write_bytes(whole + 2 * whole[PCAP_HEADER:])
    outcomes = [fuzzer().outcome(file, seed) for seed in range(MUTANTS)]
    assert {*outcomes} == {"read", "refused"}


def test_damaged_tables_are_read_or_refused(sweep: Path, tmp_path: Path) -> None:
    ub.scenario(sweep, {"duration": "1s"}).run(series="100ms").save(tmp_path / "out")
    outcomes = [fuzzer().outcome(tmp_path / "out", seed) for seed in range(MUTANTS // 3)]
    assert {*outcomes} == {"read", "refused"}


def test_options_of_wrong_lengths_do_not_count(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "scale.pcap").write_bytes(bytes.fromhex(SHORT_SCALE))
    (flow,) = trace.read(tmp_path / "scale.pcap").flows
    assert flow.packets[0].window == 0xFFFF and flow.packets[0].tsval is not None
    (tmp_path / "short.pcapng").write_bytes(bytes.fromhex(SHORT_OPTION))
    done = cli("compare", "--packets", "short.pcapng", "scale.pcap")
    assert done.returncode == 2
    assert done.stderr == snapshot("unbloat: short.pcapng: not a packet trace (pcapng or pcap): it has wrong lengths\n")


def test_a_pipe_is_no_trace(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file, told in {
        "pipe": snapshot("unbloat: pipe: is a pipe, and not a file"),
        "/dev/zero": snapshot("unbloat: /dev/zero: is a device, and not a file"),
        "cache": snapshot("unbloat: cache: is a folder, and not a file"),
    }.items():
        done = cli("compare", "--packets", file, file)
        assert (done.returncode, stderr_of(done)) == (2, told)


@pytest.fixture
def saved(small: Path, tmp_path: Path) -> Path:
    ub.scenario(small).run(series=True).save(tmp_path / "out")
    return tmp_path / "out"


def test_more_rows_than_there_is_memory_for_are_not_read(
    cli: Cli, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All alike, so that they take next to nothing on the disk."""
    file = saved / "flow_series.parquet"
    row = pq.read_table(file).slice(0, 1)
    million = row.take(pa.array([0] * 1_000_000))
    with pq.ParquetWriter(file, million.schema) as writer:
        for _ in range(20):
            writer.write_table(million)
    assert file.stat().st_size < 1_000_000
    monkeypatch.setattr(machine, "free_memory", lambda: 4_000_000_000)
    with refused(
        ub.InputError,
        snapshot(
            "TMP/out/flow_series.parquet: has 20,000,000 rows of 14 columns, which take about 4.48 GB of memory; more than 2 GB, half of what is free, is not read"
        ),
    ):
        ub.read(saved).series("flows")
    assert len(ub.read(saved)) == 1, "which needs no series"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("runs", snapshot("unbloat: out/runs.parquet: not a Parquet file, or damaged")),
        ("flows", snapshot("unbloat: out/flows.parquet: not a Parquet file, or damaged")),
        ("links", snapshot("unbloat: out/links.parquet: not a Parquet file, or damaged")),
        ("stats", snapshot("unbloat: out/stats.parquet: not a Parquet file, or damaged")),
        ("link_series", snapshot("unbloat: out/link_series.parquet: not a Parquet file, or damaged")),
    ],
)
def test_a_damaged_table_is_named(cli: Cli, saved: Path, name: str, told: str) -> None:
    file = saved / f"{name}.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    for command in (["report"], ["plot", "-o", "x.svg"], ["export", "--csv"]):
        done = cli(*command, "out")
        assert done.returncode == 2 and "\n" not in done.stderr.rstrip()
        assert stderr_of(done).rpartition(": ")[0] == told, "then Arrow's own words"


def test_a_table_of_other_columns_is_named(cli: Cli, saved: Path) -> None:
    for name, command, told in (
        (
            "link_series",
            ["plot", "-o", "x.svg"],
            snapshot(
                "unbloat: out/link_series.parquet: is not a file that `unbloat run` wrote with -o or printed with --json: run is missing or has another type"
            ),
        ),
        (
            "flows",
            ["export", "--csv"],
            snapshot(
                "unbloat: out/flows.parquet: is not a file that `unbloat run` wrote with -o or printed with --json: it has no run"
            ),
        ),
    ):
        file = saved / f"{name}.parquet"
        table = pq.read_table(file)
        other = table.rename_columns([f"_{column}" for column in table.column_names])
        pq.write_table(other.replace_schema_metadata(table.schema.metadata), file)
        done = cli(*command, "out")
        assert (done.returncode, stderr_of(done)) == (2, told)


def test_a_pipe_among_results_is_passed_over(saved: Path) -> None:
    os.mkfifo(saved / "x.json")
    assert len(ub.read(saved)) == 1


def test_memory_is_told_in_words() -> None:
    assert [machine.bytes_in_words(size) for size in (2e3, 5.5e6, 1.64e9, 3e12)] == [
        "2 kB",
        "5.5 MB",
        "1.64 GB",
        "3 TB",
    ]
    assert 0 < machine.memory_bound() <= machine.free_memory()
