"""The papers of this repository: their files, their pages, the commands behind their reasons, and the reference."""

import fnmatch
import os
import re
import shlex
import tomllib
from pathlib import Path

import msgspec
import pytest
from made_up_paper import measurements_named
from unbloat._core import InputError
from unbloat.claims.quantities import markdown, quantity_named
from unbloat.cli.app import main
from unbloat.papers import kernel, read
from unbloat.papers.extra_tables import ChoicesFile
from unbloat.papers.kernel import Plan
from unbloat.papers.paper import cells_of
from unbloat.papers.read import PublishedFile
from unbloat.report.report import part_of
from unbloat.runs import experiment

PAPERS = Path(__file__).resolve().parents[1] / "papers"
FOLDERS = sorted(file.parent for file in PAPERS.glob("*/published.toml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_paper_in_the_repository_reads_and_names_quantities_that_exist(folder):
    paper = read.load(folder)
    assert paper.name == folder.name
    for table in paper.tables:
        for group in table.groups:
            for row in group.rows:
                quantity_named(row.quantity)
    for _, _, call in measurements_named(paper):
        quantity_named(call.name)


def test_cubic_plus_holds_every_row_of_its_tables():
    paper = read.load(PAPERS / "cubic-plus")
    numbers = {
        table.id: sum(len(column) for group in table.groups for row in group.rows for column in row.printed())
        for table in paper.tables
    }
    assert numbers == {
        "table2": 4 * 4 * 3,  # settings, criteria, protocols
        "table3": 4 * (6 + 6 + 3),  # throughput and loss per flow, delay per pair
        "table4": 2 * 4,
        "table5": 4 * 4 * 3,
        "figure7": 16,
    }
    statements = [claim for group in paper.statements for claim in group.claims]
    printed = {claim.published for claim in statements if claim.published}
    assert printed >= {"81.86", "98.14", "87", "42", "71", "8.12", "82.08", "17.41", "7.14", "20"}
    assert printed >= {"67.52", "72.65", "87.74", "75.47", "43.90", "13.64", "3.08"}
    assert len(statements) == 141


def test_elastic_tcp_holds_every_number_of_its_text():
    paper = read.load(PAPERS / "elastic-tcp")
    assert (paper.seeds, paper.full) == (5, 30)
    rows = {table.id: [row for group in table.groups for row in group.rows] for table in paper.tables}
    assert [len(rows[table]) for table in ("table4", "figure13c")] == [8, 3]
    claims = [claim for group in paper.statements for claim in group.claims]
    printed = {claim.published for claim in claims if claim.published and claim.id.startswith("fig")}
    windows = {"31000", "30000", "25000", "26000", "1000", "10", "40", "35", "50"}
    assert printed == windows | {"22", "40", "50", "80", "47", "66", "5", "29"}
    testbed = {claim.published for claim in claims if claim.published and claim.id.startswith("testbed")}
    assert testbed == {"14", "13", "154", "23", "81", "0.01", "0.1", "0.3", "0.7", "1", "1.4", "2.1"}


def test_clpc_holds_every_number_of_its_text():
    paper = read.load(PAPERS / "clpc")
    claims = [claim for group in paper.statements for claim in group.claims]
    assert sorted(claim.published for claim in claims if claim.published) == ["0.6", "0.6", "25", "25", "80"]
    assert {claim.id.partition(".")[0].rstrip("ab") for claim in claims} >= {f"fig{number}" for number in range(5, 13)}
    assert {figure.id.rstrip("ab") for figure in paper.figures} == {f"figure{number}" for number in range(5, 13)}


def test_rtac_holds_every_number_of_its_text():
    paper = read.load(PAPERS / "rtac")
    (table,) = paper.tables
    rows = [row.printed() for group in table.groups for row in group.rows]
    assert [[printed.value for column in row for printed in column if printed] for row in rows] == [
        [55, 52, 51],
        [223, 89, 71],
        [18.9, 18.5, 18.8],
        [337, 32, 37.8],
    ]
    claims = [claim for group in paper.statements for claim in group.claims]
    printed = sorted(float(claim.published) for claim in claims if claim.published)
    assert printed == [1.5, 2, 2, 4.4, 6, 11, 15, 37, 50, 96, 96, 120, 380]
    figures = {int(claim.id.partition(".")[0].removeprefix("fig")) for claim in claims if claim.id.startswith("fig")}
    assert figures == set(range(1, 20)) - {9}  # Figure 2.9 is a drawing of the set-up.


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_reason_is_for_a_claim_that_exists(folder):
    paper = read.load(folder)
    ids = [claim.id for group in paper.statements for claim in group.claims]
    for table in paper.tables:
        for group in table.groups:
            for row in group.rows:
                ids += [cell.id for column in cells_of(table, group, row) for cell in column]
    for reason in paper.reasons:
        for pattern in reason.claims:
            assert fnmatch.filter(ids, pattern), pattern


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_page_is_one_screen_and_shows_every_main_claim(folder):
    paper, page = read.load(folder), (folder / "README.md").read_text()
    words = re.sub(r"<!--.*?-->|\]\([^)]*\)", " ", page, flags=re.DOTALL).split()
    assert len([word for word in words if re.search(r"\w", word)]) <= 900
    table = page.partition("| main claim |")[2].partition("\n\n")[0]
    for claim in (claim for group in paper.statements for claim in group.claims if claim.main):
        assert re.sub(r" \([^()]*\)$", "", claim.says) in table, claim.id
    shown = {Path(name).name for name in re.findall(r"!\[[^\]]*\]\((figures/[^)]*)\)", page)}
    assert shown == {file.name for file in (folder / "figures").iterdir()}
    assert re.search(r"^Made by `unbloat reproduce \S+ --page`", page, re.MULTILINE)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_list_of_papers_has_every_answer(folder):
    answer = read.load(folder).answer
    entry = part_of((PAPERS / "README.md").read_text(), folder.name)
    words = " ".join(entry.split())
    assert all(" ".join(said.split()) in words for said in (answer.mechanism, answer.works, answer.use_for))


def commands():
    """Yield every command behind a reason, with the file that it stands in."""
    for folder in FOLDERS:
        paper = read.load(folder)
        plans = [kernel.load(paper).reasons] if (folder / kernel.FILE).exists() else []
        for reasons in (paper.reasons, *(reading.reasons for reading in paper.readings), *plans):
            for reason in reasons:
                yield from ((folder.name, " ".join(reason.claims), line) for line in lines_of(reason.command))


def lines_of(command):
    return [line.strip() for line in command.strip().splitlines()] or [""]


@pytest.mark.parametrize(("paper", "claims", "command"), [*commands()])
def test_the_command_of_every_reason_comes_to_its_runs(paper, claims, command, monkeypatch, tmp_path, capsys):
    """What is wrong with a paper's name, an id, a key or a value would end it before any run."""
    assert command, f"{paper}: the reason for {claims} has no command"

    def run_all(*_, **__):
        raise InputError("the first run")

    monkeypatch.setattr(experiment, "run_all", run_all)
    monkeypatch.setattr(experiment.Manner, "where", lambda self: ["a guest"] if self.on == "vm" else [])
    monkeypatch.setattr(experiment.Manner, "guest", lambda _: None)
    monkeypatch.setenv("UNBLOAT_CACHE", str(tmp_path))
    monkeypatch.chdir(PAPERS.parent)
    program, *words = shlex.split(command)
    assert program == "unbloat"
    assert main(words) == 2
    assert "the first run" in capsys.readouterr().err, command


REFERENCE = PAPERS.parent / "docs/reference/papers.md"


def test_the_reference_has_the_table_of_measurements():
    page = REFERENCE
    begin, end = "<!-- begin measurements -->\n", "\n<!-- end measurements -->"
    before, _, rest = page.read_text().partition(begin)
    table, _, after = rest.partition(end)
    if os.environ.get("REGENERATE"):
        page.write_text(f"{before}{begin}{markdown()}{end}{after}")
    else:
        assert table == markdown(), "REGENERATE=1 writes it anew"


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("published.toml", PublishedFile), ("choices.toml", ChoicesFile), ("kernel.toml", Plan)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_reference_shows_every_key_in_files_that_can_be_read(heading, kind):
    text = REFERENCE.read_text().partition(f"## {heading}\n")[2]
    example = text.partition("```toml\n")[2].partition("```")[0]
    msgspec.convert(tomllib.loads(example), kind)
    missing = {name for name in keys_of(kind) if not re.search(rf"\b{name}\b", text)}
    assert not missing


def keys_of(kind, seen=None):
    """Yield the keys of a record and of all records in it, as files spell them."""
    seen = set() if seen is None else seen
    for part in parts_of(msgspec.inspect.type_info(kind)):
        if part.cls not in seen:
            seen.add(part.cls)
            for field in part.fields:
                yield field.encode_name
                for inner in parts_of(field.type):
                    yield from keys_of(inner.cls, seen)


def parts_of(found):
    """Yield the records in a type: itself, in a list, or one of several."""
    if isinstance(found, msgspec.inspect.StructType):
        yield found
    for name in ("item_type", "types"):
        inner = getattr(found, name, ())
        for each in inner if isinstance(inner, tuple) else (inner,):
            yield from parts_of(each)
