"""What tests keep for each other, and for the next time: kernels, booted guests, compiled mechanisms."""

import time
from pathlib import Path

KEPT = Path(__file__).parents[1] / "build/test-cache"
"""In folders like those of the user's cache."""
WEEK_S = 7 * 24 * 3600


def lend(cache: Path, *names: str) -> None:
    """Let a cache have these folders, unless it has its own."""
    for name in names:
        (KEPT / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (cache / name).exists():
            (cache / name).symlink_to(KEPT / name)


def forget_old() -> None:
    """Remove what was compiled a week ago: files of tests, which are never there again, are among it."""
    for file in KEPT.glob("mechanisms/*.*"):
        if file.stat().st_mtime < time.time() - WEEK_S:
            file.unlink()
