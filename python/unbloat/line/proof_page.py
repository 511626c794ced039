"""A proof in words, for a terminal and as a page: before, after, the difference with its interval, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from unbloat._core import __version__
from unbloat.line.commands import Cure
from unbloat.line.prove import Ending, Proof
from unbloat.line.switchback import CONFIDENCE, SIDES, Change, Quantity, Side, Verdict
from unbloat.report.report import Code, Facts, Picture, Report, Table
from unbloat.report.table import Column, Marked
from unbloat.system.legible import count_of, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unbloat.report.page import Page

DIGITS = 3
"""Digits of measured values."""
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "better": ("better", "reproduced"),
    "worse": ("worse", "not reproduced"),
    "alike": ("no difference of interest", ""),
    "unclear": ("not clear", ""),
}
"""Each verdict in words, with the kind whose colour a page gives it."""
ENDINGS: dict[Ending, str] = {
    "clear": "the result is clear",
    "turns": "the budget has no turn left",
    "seconds": "the budget has no time for another turn",
    "bytes": "the budget has no bytes for another turn",
    "silence": "the line gave no answer for several turns",
}


def report_of(proof: Proof, cure: Cure, outcome: str = "") -> Report:
    """Lay a proof out for a terminal, with all turns as its data.

    Parameters
    ----------
    proof : Proof
        A proof that is over.
    cure : Cure
        The cure that it tried.
    outcome : str
        A sentence about what the computer has now.

    """
    return Report([*sentences_of(proof, cure.name, outcome), _table(proof)], proof.to_dict())


def page_of(proof: Proof, cure: Cure, server: str, outcome: str = "", now: datetime | None = None) -> Page:
    """Lay a proof out as a page; `server` is the far end as the user named it."""
    from unbloat.report.page import Page, Section, inline

    goal = proof.changes[0].quantity
    figure = inline(_figure(proof), f"Values of each turn, before and with {cure.name}", 0)
    sections = [
        Section("Turns", [Picture("", "Each turn's value; lines are the medians of both sides", figure, is_wide=True)]),
        Section("Numbers", [_table(proof)]),
        Section("What the interval means", [MEANING.format(percent=round(100 * CONFIDENCE))]),
        Section("By hand", [Code(f"{cure.command}\n# undo:\n{cure.undo}")]),
    ]
    facts = [
        ("The cure", f"{cure.name}: `{cure.command}`"),
        ("The question", f"Does it change the {goal.name} of the line to {server}, and at what cost?"),
        ("Turns", _turns(proof)),
    ]
    made = f"Made by unbloat {__version__}, {(now or datetime.now(UTC)):%Y-%m-%d %H:%M} UTC"
    answer = sentences_of(proof, cure.name, outcome)
    return Page("unbloat · a cure proved", cure.name, [Facts(facts)], answer, sections, made)


MEANING = (
    "Turns with and without the cure followed each other in random order. A line that changes by itself thus favours "
    "neither side. If the cure changed nothing, one proof in twenty at most would call a winner, whatever the line "
    "does and whenever the proof stops. The interval of a change that is the same in all turns holds it in {percent} % "
    "of all proofs."
)


# ---------------------------------------------------------------- Words


def sentences_of(proof: Proof, cure: str, outcome: str = "") -> list[str]:
    """Write what a proof found: the goal, the costs, the effort, and the outcome."""
    goal, *others = proof.changes
    effort = (
        f"The proof took {_turns(proof)}, and ended because {ENDINGS[proof.ending]}."
        if proof.ending
        else f"The proof has taken {_turns(proof)} so far."
    )
    costs = [f"{_capital(_change(other))}." for other in others]
    return [f"{_answer(goal, cure)} {_capital(_change(goal))}.", *costs, " ".join(filter(None, [effort, outcome]))]


def _answer(goal: Change, cure: str) -> str:
    name = goal.quantity.name
    return {
        "better": f"{cure} helps.",
        "worse": f"{cure} makes the line worse.",
        "alike": f"{cure} does not change the {name} by as much as {_amount(goal.quantity, goal.quantity.smallest)}.",
        "unclear": f"The turns do not show whether {cure} helps.",
    }[goal.verdict]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _change(change: Change) -> str:
    """Write a change, such as `loaded RTT: 205 ms before, 43 ms after, 79 % less (51 % to 93 % less)`."""
    quantity = change.quantity
    medians = [f"{_value(quantity, change.median[side])} {side}" for side in SIDES if change.median[side] is not None]
    by = [] if change.estimate is None else [f"{_directed(quantity, change.estimate)} ({span(change)})"]
    return f"{quantity.name}: {', '.join([*medians, *by]) or 'no values'}"


def _value(quantity: Quantity, value: float | None) -> str:
    return "" if value is None else f"{measured(value, DIGITS)} {quantity.unit}".rstrip()


def span(change: Change) -> str:
    """Write the interval of a change in words, such as `51 % to 93 % less`."""
    quantity, low, high = change.quantity, change.low, change.high
    is_open = low == -math.inf or (quantity.scale == "ratio" and low <= -1), math.isinf(high)
    if all(is_open):
        return "too few turns for an interval"
    if is_open[1]:
        return f"at most {_directed(quantity, low)}" if low < 0 else f"at least {_directed(quantity, low)}"
    if is_open[0]:
        return f"at least {_directed(quantity, high)}" if high < 0 else f"at most {_directed(quantity, high)}"
    if low * high > 0:
        near, far = sorted((low, high), key=abs)
        return f"{_amount(quantity, near)} to {_directed(quantity, far)}"
    return f"between {_directed(quantity, low)} and {_directed(quantity, high)}"


def _directed(quantity: Quantity, change: float) -> str:
    return f"{_amount(quantity, change)} {'less' if change < 0 else 'more'}"


def _amount(quantity: Quantity, change: float) -> str:
    if quantity.scale == "ratio":
        return f"{100 * abs(change):.2g} %" if abs(change) < 0.095 else f"{100 * abs(change):.0f} %"
    return _value(quantity, abs(change))


def _turns(proof: Proof) -> str:
    sides = {side: sum(taken.side == side for taken in proof.turns) for side in SIDES}
    number = f"{count_of(len(proof.turns), 'turn')} ({sides['before']} before, {sides['after']} with the cure)"
    return f"{number}, {proof.seconds:.0f} s and {proof.bytes / 1e6:.0f} MB"


def _table(proof: Proof) -> Table:
    changes = proof.changes

    def column(head: str, cells: Iterator[object]) -> Column:
        return Column(head, "", list(cells), is_right=True)

    return Table(
        [
            Column("quantity", "", [change.quantity.name for change in changes]),
            column("before", (_value(change.quantity, change.median["before"]) for change in changes)),
            column("after", (_value(change.quantity, change.median["after"]) for change in changes)),
            column("change", (_signed(change, change.estimate) for change in changes)),
            column("interval from", (_signed(change, change.low) for change in changes)),
            column("to", (_signed(change, change.high) for change in changes)),
            Column("verdict", "", [Marked([VERDICTS[change.verdict]]) for change in changes]),
        ]
    )


def _signed(change: Change, value: float | None) -> str:
    if value is None or math.isinf(value):
        return "-"
    return f"{'-' if value < 0 else '+'}{_amount(change.quantity, value)}"


# ---------------------------------------------------------------- The picture


def _figure(proof: Proof) -> Figure:
    """Draw each turn's values over time, and the medians of both sides."""
    from matplotlib.figure import Figure

    from unbloat.report.figures.style import COLOURS, GREY, MARKERS, SIZES, drawing

    size = SIZES["page"]
    colours: dict[Side, str] = {"before": GREY, "after": COLOURS[0]}
    with drawing(size):
        figure = Figure(figsize=(size.width, size.height(len(proof.changes))), layout="constrained")
        figure.subplots(len(proof.changes), sharex=True)
        for axes, change in zip(figure.axes, proof.changes, strict=True):
            for number, side in enumerate(SIDES):
                points = [
                    (taken.start_s, value)
                    for taken in proof.turns
                    if taken.side == side and (value := taken.turn.values.get(change.quantity.name)) is not None
                ]
                times, values = [start for start, _ in points], [value for _, value in points]
                axes.plot(times, values, MARKERS[number], color=colours[side], label=side)
                if (middle := change.median[side]) is not None:
                    axes.axhline(middle, color=colours[side], linewidth=0.8)
            axes.set_ylabel(f"{change.quantity.name} ({change.quantity.unit})")
            # From zero on, with room for the highest marker.
            low, high = axes.get_ylim()
            axes.set_ylim(min(0.0, low), max(0.0, high) * 1.05)
        figure.axes[-1].set_xlabel("time (s)")
        figure.axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    return figure
