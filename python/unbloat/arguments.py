"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from unbloat._core import InputError

BACKENDS = ("simulator", "kernel", "vm")


def kernel_argument(add: Callable[..., object]) -> None:
    """Describe `--kernel`."""
    about = "the kernel of --on vm: a release such as 6.1, or an image (default: the newest there is)"
    add("--kernel", metavar="RELEASE|FILE", help=about)


def check_kernel(kernel: str | None, on: str) -> None:
    """Refuse a kernel where there is no choice of one."""
    if kernel is not None and on != "vm":
        raise InputError(f"--kernel {kernel} chooses the kernel of --on vm; with --on {on} there is none to choose")


def assignment(text: str) -> tuple[str, str]:
    """Split KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE, such as link.bottleneck.rate=10mbit")
    return key.strip(), value.strip()
