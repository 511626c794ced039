"""Arguments that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from unbloat.scenario.checks import BACKENDS

JOBS = "number of processes (default: one for each core; with --on kernel one, because runs disturb each other)"


def kernel_argument(add: Callable[..., object]) -> None:
    """Describe `--kernel`."""
    about = "the kernel of --on vm: a release such as 6.1, or an image (default: the newest there is)"
    add("--kernel", metavar="RELEASE|FILE", help=about)


def assignment(text: str) -> tuple[str, str]:
    """Split KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE, such as link.bottleneck.rate=10mbit")
    return key.strip(), value.strip()


def backend_argument(add: Callable[..., object]) -> None:
    """Describe `--on`, and with it `--kernel`."""
    where = (
        "simulator; kernel: the running kernel's TCP over emulated links, in real time, as root; "
        "vm: a stock kernel's TCP likewise, in a guest with virtual time"
    )
    add("--on", choices=BACKENDS, default="simulator", help=f"{where} (default: %(default)s)")
    kernel_argument(add)


def cache_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe `--no-cache` and `--cache`."""
    add = parser.add_mutually_exclusive_group().add_argument
    add("--no-cache", dest="cache", action="store_false", default=None, help="run afresh, and keep nothing")
    add(
        "--cache",
        action="store_true",
        default=None,
        help="take kept runs of --on kernel too, if code and kernel are the same",
    )
