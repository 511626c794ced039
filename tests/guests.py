"""The guests that tests share: one boot serves all of them, and the next time as well."""

from functools import cache
from pathlib import Path

from unbloat.guest import guest, kernels

KEPT = Path(__file__).parents[1] / "build/guests"
"""Kernels and booted guests, as the user's cache has them."""
ONE_AT_A_TIME = ("--jobs", "1")
"""Other tests have the other processors, and guests that share one take longer in all."""


@cache
def oldest_kernel() -> str:
    """Give the oldest kernel that the distribution has and that guests can have, such as 6.1."""
    return kernels.offered_series()[0]


def share(cache: Path) -> None:
    """Let a cache have the guests of all tests."""
    for name in ("kernels", "guests"):
        (KEPT / name).mkdir(parents=True, exist_ok=True)
        (cache / name).symlink_to(KEPT / name)


def booted(cache: Path, wanted: str | None = None) -> str:
    """Let a cache have the guests of all tests, one with this kernel or the oldest among them; give that kernel."""
    share(cache)
    kernel = wanted or oldest_kernel()
    guest.prepare(kernel, lambda _: None)
    return kernel
