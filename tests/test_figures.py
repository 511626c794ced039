"""Figures: written in every format, the same each time, with units on their axes and a name on each line."""

from pathlib import Path

import pytest
import unbloat as ub
from conftest import Cli
from unbloat.report.figures import KINDS, save, spaced

MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", MAGIC)
def test_every_format_is_written(cli: Cli, small: Path, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"out.{kind}"
    assert cli("run", small, "--figure", file, "--plot", "cwnd,rtt,queue,goodput,cdf").returncode == 0
    assert file.read_bytes().startswith(MAGIC[kind])
    assert file.stat().st_size > 5000


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_line_and_units(small: Path, kind: str) -> None:
    (panel,) = ub.run(small, {"flows.0.count": 2}).plot(kind).axes
    assert all(len(line.get_xdata()) > 10 for line in panel.lines) and panel.lines
    units = {"cwnd": "packets", "queue": "KB", "goodput": "Mbit/s"}.get(kind, "ms")
    assert f"({units})" in panel.get_xlabel() + panel.get_ylabel()


def test_lines_are_named_beside_them_in_their_colour(sweep: Path) -> None:
    (panel,) = ub.run(sweep).plot("cwnd").axes
    colours = {line.get_color() for line in panel.lines}
    assert len(colours) == 4
    assert {note.get_color() for note in panel.texts} == colours
    assert {note.get_text() for note in panel.texts} >= {"reno 15kb", "cubic 60kb"}


def test_the_same_figure_is_the_same_bytes(small: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        save(ub.run(small).plot("queue"), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_kind_that_there_is_not_is_refused(small: Path) -> None:
    with pytest.raises(ub.InputError, match="cwnd, rtt, queue, goodput"):
        ub.run(small).plot("pie")


def test_names_keep_their_distance() -> None:
    assert spaced([0.5, 0.5, 0.52], 0.1) == pytest.approx([0.5, 0.6, 0.7])
    assert spaced([0.95, 0.97], 0.1) == pytest.approx([0.9, 1.0])
