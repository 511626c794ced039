"""Sentences and screens as snapshots have them: whole, and without the folders of this run."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def plain(text: object) -> str:
    """Give a text in which the tests' folders are TMP, and the checkout is ROOT."""
    folders = Path(os.environ["UNBLOAT_CACHE"]).parents[1]  # Each test has its cache in a folder of its own.
    return re.sub(rf"{re.escape(str(folders))}/[^/\s:]+", "TMP", str(text)).replace(str(ROOT), "ROOT")


def stderr_of(done: "subprocess.CompletedProcess[str]") -> str:
    """Give what a command wrote to stderr, plain, without the end of its last line."""
    assert done.stderr.endswith("\n"), done.stderr
    return plain(done.stderr.removesuffix("\n"))


@contextmanager
def refused(kind: type[Exception], told: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an exception with exactly this sentence."""
    with pytest.raises(kind) as refusal:
        yield refusal
    assert plain(refusal.value) == told
