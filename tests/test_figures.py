"""Figures: written in every format, the same each time, with units on their axes and a name on each line."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import unbloat as ub
from conftest import Cli
from unbloat.report.figures import KINDS, delay_ms, save, spaced

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


def test_a_queue_in_milliseconds_is_its_bytes_over_the_rate(small: Path) -> None:
    """A link of 4 Mbit/s that is busy sends 500 bytes a millisecond."""
    results = ub.run(small, series="10ms")
    link = results.link_series
    link = link[(link["link"] == "bottleneck") & link["time_s"].between(1, 1.5)]
    assert (link["queue_bytes"] > 5000).all()
    assert delay_ms(link)[:-10] == pytest.approx(link["queue_bytes"].to_numpy()[:-10] / 500, abs=3.1)


def test_a_queue_waits_for_a_link_that_is_down() -> None:
    """8 kbit/s are 1000 bytes a second; nothing is sent from the 3rd to the 5th second."""
    sent = [0.008, 0.008, 0.008, 0, 0, 0.008, 0.008]
    queue = [500, 0, 1500, 1500, 1500, 500, 100]
    link = pd.DataFrame({"time_s": np.arange(1.0, 8.0), "throughput_mbps": sent, "queue_bytes": queue})
    assert delay_ms(link) == pytest.approx([500, 0, 3500, 2500, 1500, 500, np.nan], nan_ok=True)


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
    with pytest.raises(ub.InputError, match="cwnd, rtt, queue, queue_delay, goodput"):
        ub.run(small).plot("pie")


def test_names_keep_their_distance() -> None:
    assert spaced([0.5, 0.5, 0.52], 0.1) == pytest.approx([0.5, 0.6, 0.7])
    assert spaced([0.95, 0.97], 0.1) == pytest.approx([0.9, 1.0])
