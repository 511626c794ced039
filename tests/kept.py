"""What tests keep for each other, and for the next time: kernels, booted guests, compiled mechanisms."""

from pathlib import Path

KEPT = Path(__file__).parents[1] / "build/test-cache"
"""In folders like those of the user's cache."""


def lend(cache: Path, *names: str) -> None:
    """Let a cache have these folders, unless it has its own."""
    for name in names:
        (KEPT / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (cache / name).exists():
            (cache / name).symlink_to(KEPT / name)
