"""Result files with anything in them are read, or refused with a sentence; never a traceback."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import unbloat as ub
from conftest import SMALL, Cli
from inline_snapshot import snapshot
from sentences import plain, refused
from unbloat.api.comparison import compare, report_of
from unbloat.results import files

ODD: list[Any] = [
    *(0, -1, 10**400, 0.5, 1e308, float("nan"), float("inf"), True, None, "", "reno", "\x1b[2J"),
    *([], [[]], [1], [None], {}, {"a": 1}, [{}], [{"link": "a"}]),
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a tree: what holds it, and the key or number there."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(entries):
        yield value, key
        yield from places(inner)


def compared(a: Path, **options: Any) -> dict[str, Any]:
    """Give what `unbloat compare --json` prints, which has to be JSON."""
    data = report_of(compare(a, **options)).data
    json.dumps(data, allow_nan=False)
    return data


@pytest.mark.parametrize("kind", ["run", "sweep"])
def test_damaged_results_are_a_sentence(sweep: Path, tmp_path: Path, kind: str) -> None:
    two = SMALL + '[[flows]]\ncc = "cubic"\n[sweep]\n"flows.0.cc" = ["reno", "cubic"]\n'
    sweep.write_text(two)
    whole = (
        ub.scenario(sweep).run().as_dict()
        if kind == "run"
        else ub.scenario(sweep, {"link.bottleneck.loss": "1%"}).run(repeat=2).as_dict()
    )
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(whole))
    ways: list[dict[str, object]] = [{"b": good}, {"between": "cc=reno,cubic"}, {"b": good, "spread": good}]
    for way in ways:
        compared(good, **way)
    draw, refused = random.Random(3), 0
    for number in range(120):
        tree = json.loads(json.dumps(whole))
        for _ in range(draw.choice([1, 1, 3])):
            parent, key = draw.choice(list(places(tree)))
            if draw.random() < 0.3:
                del parent[key]
            else:
                parent[key] = copy.deepcopy(draw.choice(ODD))
        bad.write_text(json.dumps(tree))
        try:
            compared(bad, **ways[number % len(ways)])
        except ub.InputError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) < 1000
    assert 20 < refused < 120


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b"",
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: line 1 is not JSON"
            ),
        ),
        (
            b"[]",
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: it is laid out differently"
            ),
        ),
        (
            b"{}",
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: it has no runs"
            ),
        ),
        (
            b'{"runs": 1}',
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: it is laid out differently"
            ),
        ),
        (
            b'{"runs": [[]]}',
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: it is laid out differently"
            ),
        ),
        (
            b"[" * 50_000,
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: maximum recursion depth exceeded while decoding a JSON array from a unicode string"
            ),
        ),
        (
            b"\xff",
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
            ),
        ),
        (
            b"NaN",
            snapshot(
                "TMP/x.json: is not a file that `unbloat run` wrote with -o or printed with --json: it is laid out differently"
            ),
        ),
    ],
)
def test_what_is_no_result_is_a_sentence(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(content)
    with refused(ub.InputError, told):
        files.read(file)
    tables = tmp_path / "tables"
    tables.mkdir()
    for name in ("runs", "flows", "links"):
        (tables / f"{name}.parquet").write_bytes(content)
    with pytest.raises(ub.InputError) as refusal:
        files.read(tables)
    # Then PyArrow's own words.
    assert ": ".join(plain(refusal.value).split(": ")[:2]) == snapshot(
        "TMP/tables/runs.parquet: not a Parquet file, or damaged"
    )


def test_a_run_without_flows_is_one_all_the_same(cli: Cli, small: Path, tmp_path: Path) -> None:
    """None arrived."""
    text = SMALL.replace('cc = "reno"', 'cc = "reno"\narrivals = { rate = "0.000001/s" }\nsize = "1kb"')
    small.write_text(text)
    assert cli("run", small, "-o", "none").returncode == 0
    done = cli("compare", "none", "none", "--json")
    assert done.returncode == 0 and done.stderr == ""
    assert len(files.read(tmp_path / "none")) == 1
