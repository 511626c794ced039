"""The proof of a cure: turns of the line before and after, measured until the difference is clear or a budget ends."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from unbloat._core import InputError

if TYPE_CHECKING:
    from unbloat.line.switchback import Change, Quantity, Side, Verdict

Ending = Literal["clear", "turns", "seconds", "bytes", "silence"]
"""Why a proof ended: its goal was clear, a budget would not have held another turn, or the line gave no values."""
MOST_SILENT = 3
"""Turns without a value of the goal, one after the other, that end a proof."""


@dataclass(frozen=True)
class Budget:
    """The limits of a proof, or of one turn."""

    turns: int = 40
    seconds: float = math.inf
    bytes: float = math.inf


@dataclass(frozen=True)
class Turn:
    """What a turn measured."""

    values: Mapping[str, float | None]
    """Each quantity's value by its name; none or missing if the line did not give it."""
    bytes: int = 0
    """Bytes that the turn sent and received, with headers."""


@dataclass(frozen=True)
class FinishedTurn:
    """A turn that is over, and when it was."""

    side: Side
    chance: float
    """How likely `after` was when the side was drawn."""
    start_s: float
    """When it began, in seconds since the proof did."""
    seconds: float
    turn: Turn


@dataclass(frozen=True)
class Proof:
    """A proof, over or not."""

    changes: tuple[Change, ...]
    """The change of each quantity; the first is the goal, each other one a cost."""
    turns: tuple[FinishedTurn, ...]
    seed: int
    washout_s: float
    seconds: float
    """How long it took."""
    ending: Ending | None = None
    """Why it ended; none while it goes on."""

    @property
    def verdict(self) -> Verdict:
        """What the goal's interval shows."""
        return self.changes[0].verdict

    @property
    def bytes(self) -> int:
        """Bytes of all turns."""
        return sum(taken.turn.bytes for taken in self.turns)

    @property
    def costs(self) -> tuple[Change, ...]:
        """Quantities other than the goal that the cure clearly makes worse."""
        return tuple(change for change in self.changes[1:] if change.verdict == "worse")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, all turns included."""
        return {
            "verdict": self.verdict,
            "ending": self.ending,
            "changes": [change.to_dict() for change in self.changes],
            "seconds": self.seconds,
            "bytes": self.bytes,
            "seed": self.seed,
            "washout_s": self.washout_s,
            "turns": [asdict(taken) for taken in self.turns],
        }


def prove(
    measure: Callable[[Side, Budget], Turn],
    switch: Callable[[Side], object],
    quantities: Sequence[Quantity],
    budget: Budget,
    *,
    washout_s: float = 2.0,
    seed: int | None = None,
    watch: Callable[[Proof], object] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Proof:
    """Take turns until the goal's interval is clear, and leave the line as it was before.

    Parameters
    ----------
    measure : callable
        Measures one turn within the budget that it is given: the rest of the whole one.
    switch : callable
        Gives the line its former state, or the cure; it does nothing if the line has that already.
    quantities : sequence of Quantity
        The goal, then quantities that may be a cost.
    budget : Budget
        The limits of the whole proof. A turn begins only if there is room for one as large as any before it.
    washout_s : float
        The pause before each turn, in which queues drain and the line is switched; switching may take longer. Without
        switching the pause is as long: what a turn finds must not depend on the side before it.
    seed : int, optional
        The order of the turns. Default: one that nobody knows before.
    watch : callable, optional
        Receives the proof after each turn.
    clock : callable
        Tells the time in seconds.
    sleep : callable
        Waits for a number of seconds.

    Raises
    ------
    InputError
        No quantity, or a budget without turns.

    """
    from unbloat.line.switchback import Order, Switchback

    if not quantities or budget.turns < 1:
        raise InputError("a proof needs a quantity to compare, and a budget of one turn at least")
    seed = secrets.randbits(32) if seed is None else seed
    order, switchbacks = Order(seed), [Switchback(quantity) for quantity in quantities]
    taken: list[FinishedTurn] = []
    start = clock()

    def proof(ending: Ending | None) -> Proof:
        changes = tuple(switchback.change for switchback in switchbacks)
        return Proof(changes, tuple(taken), seed, washout_s, clock() - start, ending)

    try:
        # A first time shows that the cure can be loaded; it may compile, which takes longer than any other time.
        switch("after")
        slowest = _timed(switch, "before", clock)
        end = clock()
        while True:
            pause, left = max(washout_s, slowest), _left(budget, taken, clock() - start + slowest)
            ending = _ending(switchbacks[0].verdict, taken, quantities[0], left, pause)
            if ending:
                break
            draw = order.draw()
            slowest = max(slowest, _timed(switch, draw.side, clock))
            sleep(max(0.0, end + pause - clock()))
            begun = clock()
            turn = measure(draw.side, _left(budget, taken, begun - start + slowest))
            end = clock()
            taken.append(FinishedTurn(draw.side, draw.chance, begun - start, end - begun, turn))
            for switchback in switchbacks:
                switchback.add(draw, turn.values.get(switchback.quantity.name))
            if watch:
                watch(proof(None))
    finally:
        switch("before")
    return proof(ending)


def _left(budget: Budget, taken: Sequence[FinishedTurn], seconds: float) -> Budget:
    used = sum(each.turn.bytes for each in taken)
    return Budget(budget.turns - len(taken), max(0.0, budget.seconds - seconds), max(0.0, budget.bytes - used))


def _timed(switch: Callable[[Side], object], side: Side, clock: Callable[[], float]) -> float:
    """Switch, and return how long that took."""
    begun = clock()
    switch(side)
    return clock() - begun


def _ending(
    verdict: Verdict, taken: Sequence[FinishedTurn], goal: Quantity, left: Budget, pause: float
) -> Ending | None:
    """Return why no further turn follows; none if one does."""
    if verdict != "unclear":
        return "clear"
    if left.turns < 1:
        return "turns"
    if left.seconds <= pause + max((each.seconds for each in taken), default=0.0):
        return "seconds"
    if left.bytes <= 0 or left.bytes < max((each.turn.bytes for each in taken), default=0):
        return "bytes"
    if len(taken) >= MOST_SILENT and all(each.turn.values.get(goal.name) is None for each in taken[-MOST_SILENT:]):
        return "silence"
    return None
