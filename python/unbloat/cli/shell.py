"""`unbloat shell`: any program behind an emulated link."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Literal

import typer

from unbloat import _core
from unbloat._core import InputError
from unbloat.cli.options import ControlOption, KernelOption, RttOption, ScenarioArgument, SetOption, assigned, listed
from unbloat.cli.terminal import tell

EXAMPLES = """\
sudo unbloat shell home-dsl --far 'iperf3 -s -1' -- iperf3 -c receiver
unbloat shell home-dsl --on vm --far 'iperf3 -s -1' -- iperf3 -c receiver
sudo unbloat shell home-dsl --live
sudo unbloat shell mobile-lte --at receiver"""


def command(
    context: typer.Context,
    scenario: ScenarioArgument,
    cc: ControlOption = None,
    rtt: RttOption = None,
    assignments: SetOption = None,
    on: Annotated[
        Literal["kernel", "vm"],
        typer.Option(
            "--on", metavar="kernel|vm", help="kernel: the running kernel, as root; vm: a stock kernel in a guest."
        ),
    ] = "kernel",
    kernel: KernelOption = None,
    at: Annotated[
        Literal["sender", "receiver"], typer.Option("--at", metavar="sender|receiver", help="At which end of the link.")
    ] = "sender",
    far: Annotated[
        str | None,
        typer.Option("--far", metavar="COMMAND", help="What to run at the other end meanwhile, such as 'iperf3 -s'."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Watch the link of such a shell, which runs in another terminal already."),
    ] = False,
) -> int:
    """Run a shell, or any program, behind an emulated link.

    Queues, rates, delays and losses are those of the scenario's link. Its flows and its duration are ignored, except
    that every connection made here uses the congestion control of the first flow. The two ends can reach each other,
    as "sender" and "receiver", and nothing else. The command ends when the program ends, with the program's status.

    To see the queue while you work there, run the same command with --live in a second terminal.

    On the running kernel this needs root. In a guest it does not: programs see the files of this machine, and what
    they write is lost when the guest ends.
    """
    from unbloat.cli import shell_live
    from unbloat.scenarios.checks import check_kernel
    from unbloat.scenarios.chosen import chosen_source
    from unbloat.system.paths import ALGORITHMS

    check_kernel(kernel, on)
    keys, times = assigned(assignments), listed(rtt, "--rtt") or None
    cells = chosen_source(scenario, keys, listed(cc, "--cc") or None, rtt=times).cells()
    if live:
        if on == "vm" or context.obj or far:
            raise InputError(
                "shell --live: watches a shell that runs on this machine already: start that in another terminal, with "
                "its program and without --live; a guest's cannot be watched"
            )
        shell_live.watch(cells[0].name)
        return 0
    if len(cells) > 1:
        axes = ", ".join(axis for axis, _ in cells[0].axes)
        raise InputError(f"{scenario}: has a sweep over {axes}; a shell has one link: choose with --set AXIS=VALUE")
    program = context.obj or [os.environ.get("SHELL") or "/bin/sh"]
    beyond = ["/bin/sh", "-c", far] if far else None
    if not context.obj:
        other = "receiver" if at == "sender" else "sender"
        tell(
            f"this shell is the {at} behind the link of {cells[0].name}, and can reach the {other} only; exit leaves it"
        )
    if on == "vm":
        return in_guest(kernel, cells[0], at, program, beyond)
    # An interrupt at the terminal is for the program, which would inherit SIG_IGN from us, but not a handler.
    signal.signal(signal.SIGINT, lambda *_: None)
    with closing(shell_live.Sender(cells[0].name, program)) as steps:
        status, unsound = cells[0].shell(
            ALGORITHMS, at=at, program=program, far=beyond, series_ns=shell_live.STEP_NS, steps=steps.tell
        )
    if unsound:
        tell(f"warning: unsound: {unsound}. What the program measured may come from this machine, not from the link")
    return status


def in_guest(kernel: str | None, cell: _core.Cell, at: str, program: Sequence[str], far: Sequence[str] | None) -> int:
    """Run the program in a guest; return its status."""
    from unbloat.guest.program import Link, run
    from unbloat.runs.progress import prepared
    from unbloat.system.paths import ALGORITHMS

    # What no guest can have is said before one is booted, as is what does not compile.
    cell.check_shell("vm")
    cell.objects(ALGORITHMS)
    return run(prepared(kernel), program, link=Link(cell, at, far))
