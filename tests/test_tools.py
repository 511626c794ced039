"""The programs in tools/ and benches/, which the documentation calls by their path."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAMS = [path for folder in ("tools", "benches") for path in (ROOT / folder).iterdir() if path.is_file()]


@pytest.mark.parametrize("path", sorted(PROGRAMS), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_names_its_interpreter_can_be_called(path: Path) -> None:
    with path.open("rb") as file:
        assert os.access(path, os.X_OK) == (file.read(2) == b"#!")
