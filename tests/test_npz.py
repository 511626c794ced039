"""Series are written as NumPy writes them, byte for byte, and NumPy reads them."""

import io
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from unbloat.runs import npz
from unbloat.runs.store import UNREADABLE


@pytest.mark.parametrize("dtype", ["<f8", "<u4", "<u8", "|u1"])
@pytest.mark.parametrize("length", [0, 1, 9, 10, 99_999, 100_000])
def test_the_header_is_that_of_numpy(dtype: str, length: int) -> None:
    theirs = io.BytesIO()
    array = np.zeros(length, dtype)
    np.lib.format.write_array(theirs, array, version=(1, 0))
    assert npz.header(dtype, array.nbytes) + array.tobytes() == theirs.getvalue()


def test_numpy_reads_what_was_written(tmp_path: Path) -> None:
    arrays = {
        "flows.time_s": np.array([0.1, np.nan, -np.inf]),
        "flows.flow": np.array([0, 2**32 - 1], "<u4"),
        "links.bytes": np.array([2**64 - 1], "<u8"),
        "rtt.subject": np.array([], "<u4"),
    }
    file = tmp_path / "series.npz"
    with file.open("wb") as target:
        npz.write(target, [(name, array.dtype.str, array.tobytes()) for name, array in arrays.items()])
    with np.load(file) as read:
        assert list(read.files) == list(arrays)
        for name, array in arrays.items():
            assert read[name].dtype == array.dtype
            np.testing.assert_array_equal(read[name], array)


def test_what_repeats_is_packed(tmp_path: Path) -> None:
    file = tmp_path / "series.npz"
    with file.open("wb") as target:
        npz.write(target, [("flows.flow", "<u4", bytes(400_000))])
    with ZipFile(file) as archive:
        assert [entry.compress_type for entry in archive.infolist()] == [ZIP_DEFLATED]
    assert file.stat().st_size < 4000


def test_what_is_found_whole_is_what_was_written(tmp_path: Path) -> None:
    """A bit of any byte is turned over."""
    arrays = {"flows.time_s": np.arange(20) / 3, "flows.flow": np.arange(20, dtype="<u4"), "links.bytes": np.zeros(300)}
    file = tmp_path / "series.npz"
    with file.open("wb") as target:
        npz.write(target, [(name, array.dtype.str, array.tobytes()) for name, array in arrays.items()])
    whole = file.read_bytes()
    found_whole = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        file.write_bytes(damaged)
        try:
            npz.check(file.read_bytes())
        except UNREADABLE:
            continue
        found_whole += 1
        with np.load(file) as read:
            assert list(read.files) == list(arrays)
            assert all(np.array_equal(read[name], array) for name, array in arrays.items())
    assert 0 < found_whole < len(whole), "some fields nobody reads, such as the time"


@pytest.mark.parametrize("change", [lambda whole: b"#!/bin/sh\n" + whole, lambda whole: whole[:-1], lambda _: b""])
def test_damage_is_seen(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "series.npz"
    with file.open("wb") as target:
        npz.write(target, [("flows.flow", "<u4", bytes(400))])
    npz.check(file.read_bytes())
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(UNREADABLE):
        npz.check(file.read_bytes())
