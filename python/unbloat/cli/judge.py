"""`unbloat judge CANDIDATE`: the criteria of a suite, and which of them a mechanism meets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unbloat._core import InputError
from unbloat.cli import FAILED
from unbloat.cli.options import (
    OUTPUT,
    WHAT,
    CacheOption,
    JobsOption,
    JsonOption,
    KernelOption,
    OnOption,
    keeping_runs,
    listed,
)
from unbloat.cli.terminal import say, say_json, tell
from unbloat.system.files import room_for

JUDGE_EXAMPLES = """\
unbloat judge bbr
unbloat judge ./mine.bpf.c --page card.html --badge card.svg
unbloat judge cubic,bbr,vegas --criterion bufferbloat,harm_cubic
unbloat judge kernel:bbr --on vm"""

CandidateArgument = Annotated[
    str,
    typer.Argument(
        metavar="CANDIDATE",
        help="A congestion control, a window controller or a queue discipline: its name, a .bpf.c file or kernel:NAME. "
        "Several, separated by commas, are put side by side.",
    ),
]
SuiteOption = Annotated[
    str,
    typer.Option("--suite", metavar="NAME", help="A suite of `unbloat list`, or its folder.", rich_help_panel=WHAT),
]
CriterionOption = Annotated[
    list[str] | None,
    typer.Option("--criterion", metavar="ID,...", help="Only these criteria.", rich_help_panel=WHAT),
]
PageOption = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", help="Write an HTML page.", rich_help_panel=OUTPUT)
]
BadgeOption = Annotated[
    Path | None, typer.Option("--badge", metavar="FILE", help="Write an SVG badge.", rich_help_panel=OUTPUT)
]


def judge_command(
    candidate: CandidateArgument,
    suite: SuiteOption = "rfc9743",
    criterion: CriterionOption = None,
    on: OnOption = "simulator",
    kernel: KernelOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = None,
    as_json: JsonOption = False,
    page: PageOption = None,
    badge: BadgeOption = None,
) -> int | None:
    """Judge by a suite's criteria whether a mechanism is safe to use.

    The status is 1 if the candidate fails a criterion.
    """
    names = listed([candidate], "CANDIDATE")
    if badge and len(names) > 1:
        raise InputError("--badge is for one candidate")
    for file in (page, badge):
        room_for(file)
    from unbloat.api.suite import judge
    from unbloat.suites.card import side_by_side

    criteria = listed(criterion, "--criterion") or None
    with keeping_runs(cache):
        cards = [judge(name, suite, criteria=criteria, on=on, kernel=kernel, jobs=jobs, cache=cache) for name in names]
    report = cards[0].report() if len(cards) == 1 else side_by_side(cards)
    say_json(report.data) if as_json else say(report.text())
    if page:
        from unbloat.suites.page import page_of

        page_of(cards).write(page)
        tell(f"wrote {page}")
    if badge:
        cards[0].write_badge(badge)
        tell(f"wrote {badge}")
    return FAILED if any(card.failed for card in cards) else None
