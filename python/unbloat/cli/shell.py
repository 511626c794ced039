"""`unbloat shell`: any program behind an emulated link."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from unbloat import InputError, _core
from unbloat.cli.options import assignment, kernel_argument
from unbloat.runs.progress import Waiting
from unbloat.scenario.checks import check_kernel
from unbloat.scenario.source import source_of
from unbloat.system.paths import ALGORITHMS

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

ENDS = ("sender", "receiver")
USAGE = """\
unbloat shell FILE [--on kernel|vm] [--kernel RELEASE|FILE] [--at sender|receiver] [--far COMMAND] [--cc NAME|FILE]
                     [--set KEY=VALUE] [-- COMMAND...]"""
ABOUT = """\
Puts a program behind the link of a scenario: queues, rates, delays and losses are the file's; its flows and its
duration do not matter, but the congestion control of its first flow is that of every connection made here. The two
ends can reach each other, as "sender" and "receiver", and nothing else. Ends with the program, with its status.
On the running kernel that needs root. In a guest it needs none: programs see the files of this machine, and what they
write is gone with the guest."""


def add(commands: Commands) -> None:
    """Describe it to the command line."""
    about = "a shell, or any program, behind an emulated link"
    _shell_arguments(commands.add_parser("shell", help=about, usage=USAGE, description=ABOUT))


def _shell_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=shell_command)
    add = parser.add_argument
    add("scenario", metavar="FILE", help="a scenario file, or the name of one from `unbloat list`")
    on = "kernel: the running kernel, as root; vm: a stock kernel in a guest (default: %(default)s)"
    add("--on", choices=["kernel", "vm"], default="kernel", help=on)
    kernel_argument(add)
    add("--at", choices=ENDS, default=ENDS[0], help="at which end of the link (default: %(default)s)")
    add("--far", metavar="COMMAND", help="what to run at the other end meanwhile, such as 'iperf3 -s'")
    add("--cc", metavar="NAME|FILE", help="congestion control of every connection")
    add("--set", metavar="KEY=VALUE", action="append", default=[], type=assignment, help="set a key of the scenario")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the words of `unbloat shell ... -- COMMAND...`; what stands behind the dashes is not ours to read."""
    if words[:1] != ["shell"] or "--" not in words:
        return list(words), []
    at = list(words).index("--")
    return list(words[:at]), list(words[at + 1 :])


def shell_command(args: argparse.Namespace) -> int:
    """Run the program; give its status."""
    check_kernel(args.kernel, args.on)
    overrides: dict[str, object] = dict(args.set)
    if args.cc:
        overrides["flows.*.cc"] = args.cc
    cells = source_of(args.scenario, overrides).cells()
    if len(cells) > 1:
        axes = ", ".join(axis for axis, _ in cells[0].axes)
        raise InputError(
            f"{args.scenario}: has a sweep over {axes}; a shell has one link: choose with --set AXIS=VALUE"
        )
    program = args.program or [os.environ.get("SHELL") or "/bin/sh"]
    far = ["/bin/sh", "-c", args.far] if args.far else None
    if args.on == "vm":
        return in_guest(args, cells[0], program, far)
    # An interrupt at the terminal is the program's. It must not inherit that we do not heed it, hence no SIG_IGN.
    signal.signal(signal.SIGINT, lambda *_: None)
    return cells[0].shell(ALGORITHMS, at=args.at, program=program, far=far)


def in_guest(args: argparse.Namespace, cell: _core.Cell, program: Sequence[str], far: Sequence[str] | None) -> int:
    """Run the program in a guest; give its status."""
    from unbloat.guest import guest
    from unbloat.guest.program import Link, run

    with closing(Waiting()) as say:
        prepared = guest.prepare(args.kernel, say)
    return run(prepared, program, link=Link(cell, args.at, far))
