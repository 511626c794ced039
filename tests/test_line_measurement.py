"""Saved measurements of a line."""

import math
from pathlib import Path

import pytest
from unbloat import InputError
from unbloat.line.measurement import COLUMNS, About, measurement_of, read_measurement


def test_a_saved_measurement_is_read_back_with_what_is_missing(tmp_path: Path) -> None:
    probes: dict[str, list[object]] = {
        "phase": ["idle", "up"],
        "sent_s": [0.1, 3.5],
        "rtt_ms": [20.25, None],
        "up_ms": [10.125, None],
        "down_ms": [10.125, None],
    }
    written = measurement_of(About("far.example", notes=("the certificate is not verified",)), {"probes": probes})
    written.save(tmp_path / "line.json")
    read = read_measurement(tmp_path / "line.json")
    assert read.about == written.about
    assert read.probes["rtt_ms"].iloc[0] == 20.25
    assert math.isnan(read.probes["rtt_ms"].iloc[1])
    for name, columns in COLUMNS.items():
        assert list(getattr(read, name).columns) == list(columns)
        assert getattr(read, name).equals(getattr(written, name))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"about": {"notes": []}}', '{"about": {"server": "a", "notes": [], "x": 1}}']
)
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=f"{path}: not a measurement"):
        read_measurement(path)
