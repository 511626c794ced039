"""A paper's file with anything in it is read, or refused with a sentence; never a traceback."""

import copy
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
from inline_snapshot import snapshot
from made_up_paper import measurements_named
from sentences import refused
from unbloat._core import line_of
from unbloat.claims.expressions import ClaimError, calls, evaluate
from unbloat.claims.verdicts import Printed
from unbloat.papers import extra_tables, kernel, read
from unbloat.papers.batches import batches_of
from unbloat.papers.paper import PaperError
from unbloat.system.paths import PAPERS

PAPER = PAPERS / "clpc"
ODD: list[Any] = [
    *(0, -1, 10**30, 0.5, float("nan"), float("inf"), True, "", "1e400", "\x00", "x" * 1000, "min()", "((((", "a.b"),
    *([], [[]], [1], ["a"], [[["a"]]], {}, {"a": 1}, [{}], [{"id": 1}]),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A paper's folder with its scenarios, to put a file into."""
    for file in PAPER.glob("*.toml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree: what holds it, and the key or number there."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(entries):
        yield value, key
        yield from places(inner)


def read_all(folder: Path) -> None:
    """Read and look at everything, as `unbloat reproduce` does before it runs anything."""
    paper = read.load(folder)
    for part in (paper, *paper.other_readings()):
        batches_of(part)
        list(measurements_named(part))
        for row in (row for table in part.tables for group in table.groups for row in group.rows):
            row.printed()
    extra_tables.load(folder)
    kernel.load(paper)


@pytest.mark.parametrize("name", ["published.toml", "kernel.toml"])
def test_wrong_values_are_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    read_all(folder)
    draw = random.Random(7)
    text = (folder / name).read_text()
    parse, refused = tomllib.loads, 0
    for _ in range(60):
        tree = parse(text)
        for _ in range(draw.choice([1, 1, 2])):
            parent, key = draw.choice(list(places(tree)))
            if draw.random() < 0.2:
                del parent[key]
            elif draw.random() < 0.1 and isinstance(parent, dict):
                parent["nothing"] = copy.deepcopy(draw.choice(ODD))
            else:
                parent[key] = copy.deepcopy(draw.choice(ODD))
        monkeypatch.setattr(tomllib, "loads", lambda read, tree=tree: tree if read == text else parse(read))
        try:
            read_all(folder)
        except ub.InputError as error:
            refused += 1
            assert "\n" not in str(error) and str(folder / name) in str(error) and len(str(error)) < 1500
    assert refused > 25


@pytest.mark.parametrize("content", [b"\xff", b"a = [", b"a = " + b"[" * 5000, b"paper = 1", b"[paper]\n"])
def test_what_is_no_such_file_is_a_sentence(folder: Path, content: bytes) -> None:
    for name in ("published.toml", "kernel.toml"):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        with pytest.raises(ub.InputError, match=str(folder / name)):
            read_all(folder)
        (folder / name).write_bytes(before)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'published = "80"',
            "published = 80",
            snapshot("statements.17.claims.4.published: must be a text in quotes, not 80"),
        ),
        ("seeds  = ", 'seeds  = "5" # ', snapshot("runs.seeds: must be a whole number, not '5'")),
        ("seeds  = ", "seeds  = 0 # ", snapshot("runs.seeds: must be at least 1, not 0")),
        ("relative = ", "relative = true # ", snapshot("bounds.relative: must be a number, not True")),
    ],
)
def test_a_wrong_type_is_told_with_the_right_one(folder: Path, old: str, new: str, words: str) -> None:
    file = folder / "published.toml"
    text = file.read_text().replace(old, new, 1)
    file.write_text(text)
    with pytest.raises(PaperError) as refusal:
        read.load(folder)
    line = 1 + text[: text.index(new)].count("\n")
    place = f"{file}:{line}: "
    assert (str(refusal.value)[: len(place)], str(refusal.value)[len(place) :]) == (place, words)


SPREAD = """
[[tables]]
text = '''
[[tables]] # no such thing
'''
id = "a"
[[tables]]
id = "b"
groups = [{ name = "] #", rows = [
    { name = "one" },  # a remark with a [ in it
    { name = "two", published = ["1",
        2] },
] }]
inner.key = { "odd key" = 1 }
[[tables.more]]
id = "c"
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("tables",), 2),
        (("tables", 0, "id"), 6),
        (("tables", 1), 7),
        (("tables", 1, "groups", 0, "rows"), 9),
        (("tables", 1, "groups", 0, "rows", 1, "published", 1), 12),
        (("tables", 1, "inner", "key", "odd key"), 14),
        (("tables", 1, "more", 0, "id"), 16),
        (("tables", 1, "more", 0, "missing"), 15),
        (("nothing",), 1),
    ],
)
def test_a_key_has_its_line(keys: tuple[str | int, ...], line: int) -> None:
    assert line_of(SPREAD, [str(key) for key in keys]) == line


@pytest.mark.parametrize(
    "text", ["min()", "abs(1, 2)", "max(loss(a))", "1" + "+1" * 50_000, "(" * 3000, "\x00", "9" * 5000]
)
def test_a_claim_that_cannot_be_worked_out_is_a_sentence(text: str) -> None:
    with pytest.raises(ClaimError) as refusal:
        calls(text)
    assert len(str(refusal.value)) < 500


def test_numbers_beyond_all_measure_are_a_sentence() -> None:
    with refused(ClaimError, snapshot("`big() * 1.5` cannot be evaluated: int too large to convert to float")):
        evaluate("big() * 1.5", lambda *_: 10**400)


def test_a_printed_number_has_the_digits_that_it_shows() -> None:
    halves = {text: Printed.parse(text).half_unit for text in ("98", "0.43", "9.0e-5", "1.5e3")}
    assert halves == pytest.approx({"98": 0.5, "0.43": 0.005, "9.0e-5": 5e-7, "1.5e3": 50})
    for text in ("nan", "inf", "1_000", "", "1??"):
        with pytest.raises(ValueError, match="is not a decimal number"):
            Printed.parse(text)
